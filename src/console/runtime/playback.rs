//! The console on a recorded session: the same state and drawing, driven by a player instead of
//! a session. Going back means folding the events from the start, which is all there is to it.
//!
//! The player's keys come first; lists and pages keep theirs. An ask is only looked at, and
//! nothing is written anywhere.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::deck::Deck;
use super::effects::copy;
use super::input::Input;
use super::outside::{self, Job, Outcome};
use super::{Parting, Screen, Signals, files};
use crate::console::commands::export::exported;
use crate::console::keys::{Action, Chord, Context};
use crate::console::state::dialog::Dialog;
use crate::console::state::ui::Size;
use crate::console::state::{Opening, State};
use crate::console::term::alert::Terminal;
use crate::console::update::{Effect, MouseKind, Msg};
use crate::console::view::scrub::draw_scrub;
use crate::console::view::theme::Theme;
use crate::protocol::event::{Event, Level};
use crate::session::replay::{Mark, Player};
use crate::settings::layers::AskOpening;

/// No more frames than this are drawn while it plays.
const FRAME: Duration = Duration::from_millis(16);
/// How far a page goes, in thousandths of the recording.
const PAGE: usize = 50;

/// The console of a recording, without a terminal.
pub struct Playback {
    pub deck: Deck,
    pub player: Player,
    opening: Opening,
}

impl Playback {
    pub fn new(player: Player, opening: Opening, theme: Theme) -> Self {
        let deck = Deck::new(begun(&opening), theme);
        Self { deck, player, opening }
    }

    /// So much time has passed.
    pub fn advance(&mut self, time: Duration) {
        let happened = self.player.advance(time).to_vec();
        self.absorb(&happened);
        self.deck.absorb(Msg::Tick(self.player.now()));
    }

    fn absorb(&mut self, events: &[Arc<Event>]) {
        for event in events {
            // What the console would do is not done: it has been done already.
            self.deck.absorb(Msg::Tick(event.at));
            self.deck.absorb(Msg::Event(Arc::clone(event)));
        }
    }

    /// Brings the state to where the player is, having been at `before`.
    fn follow(&mut self, before: usize) {
        if self.player.at() < before {
            self.rewind();
        } else {
            let passed = self.player.played()[before..].to_vec();
            self.absorb(&passed);
        }
        self.deck.absorb(Msg::Tick(self.player.now()));
    }

    /// The state from the first event on; what the person looks at stays.
    fn rewind(&mut self) {
        let fresh = begun(&self.opening);
        let old = std::mem::replace(&mut self.deck.state, fresh);
        let played = self.player.played().to_vec();
        self.absorb(&played);
        let state = &mut self.deck.state;
        (state.size, state.ui, state.layers) = (old.size, old.ui, old.layers);
        if state.agents.get(&old.selected).is_some() {
            state.selected = old.selected;
        }
    }

    /// What the person does. Wishes come back that a recording can fulfil; what it cannot is said.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the rest is for the console")]
    pub fn hear(&mut self, msg: Msg) -> Vec<Effect> {
        let wishes = match msg {
            Msg::Key(chord) => self.key(chord),
            Msg::Paste(_) if !self.takes_text() => Vec::new(),
            Msg::Mouse(mouse)
                if mouse.row + 1 == self.deck.state.size.rows && mouse.kind == MouseKind::Down =>
            {
                let wide = usize::from(self.deck.state.size.columns).max(1);
                let before = self.player.at();
                self.player.seek_thousandths(usize::from(mouse.column) * 1000 / wide);
                self.follow(before);
                Vec::new()
            }
            other => self.deck.absorb(other),
        };
        wishes.into_iter().filter(|wish| self.can_fulfil(wish)).collect()
    }

    /// Whether a wish needs no session. Whoever wished for something else is told.
    fn can_fulfil(&mut self, wish: &Effect) -> bool {
        match wish {
            Effect::Quit(_)
            | Effect::Theme(_)
            | Effect::Redraw
            | Effect::Mouse(_)
            | Effect::Title(_)
            | Effect::Copy(_)
            | Effect::CopyArea(_)
            | Effect::OpenEditor { .. }
            | Effect::Shell
            | Effect::Export { .. } => true,
            Effect::Send(_) | Effect::Merge(_) | Effect::Look(_) => {
                self.deck.state.say(Level::Warning, "This is a recording: it takes no prompts.");
                false
            }
            // Nobody has to be called to what is over, and nothing is written that could be kept.
            Effect::Ring { .. } | Effect::Remember(_) | Effect::ListFiles => false,
        }
    }

    /// Whether what lies on top is written into.
    fn takes_text(&self) -> bool {
        let state = &self.deck.state;
        let written = matches!(state.top(), Some(Dialog::Picker(_) | Dialog::Find(_)));
        state.asks.dialog.is_none() && (written || state.tasks.dialog.is_some())
    }

    fn key(&mut self, chord: Chord) -> Vec<Effect> {
        let state = &self.deck.state;
        if state.ui.prefix {
            return self.after_prefix(chord);
        }
        if self.takes_text() {
            return self.deck.absorb(Msg::Key(chord));
        }
        let is_page = state.asks.dialog.is_none() && state.contexts().contains(&Context::Sheet);
        let of_page = is_page && state.keymap.resolve(&[Context::Sheet], chord).is_some();
        let of_player = state.keymap.resolve(&[Context::Replay], chord).filter(|_| !of_page);
        if let Some((_, action)) = of_player {
            return self.control(action);
        }
        if state.asks.dialog.is_some() {
            return self.look_at_ask(chord);
        }
        match state.keymap.resolve(&state.contexts(), chord) {
            // Nothing is written here.
            None | Some((Context::Composer, _)) => Vec::new(),
            Some(_) => self.deck.absorb(Msg::Key(chord)),
        }
    }

    /// What an ask was can be read; it was answered long ago.
    fn look_at_ask(&mut self, chord: Chord) -> Vec<Effect> {
        let state = &self.deck.state;
        let meant = state.keymap.resolve(&[Context::Ask, Context::Everywhere], chord);
        match meant.map(|(_, action)| action) {
            Some(
                Action::Later
                | Action::Escape
                | Action::Up
                | Action::Down
                | Action::HalfPageUp
                | Action::HalfPageDown
                | Action::Redraw
                | Action::ToggleMouse,
            ) => self.deck.absorb(Msg::Key(chord)),
            Some(Action::FullView) => {
                if let Some(dialog) = self.deck.state.asks.dialog.as_mut() {
                    dialog.full = !dialog.full;
                }
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// What follows the prefix, but for what writes.
    fn after_prefix(&mut self, chord: Chord) -> Vec<Effect> {
        let state = &mut self.deck.state;
        let meant = state.keymap.resolve(&[Context::Prefix], chord).map(|(_, action)| action);
        let writes =
            matches!(meant, Some(Action::HistorySearch | Action::ExternalEditor | Action::Newline));
        if writes {
            state.ui.prefix = false;
            return Vec::new();
        }
        self.deck.absorb(Msg::Key(chord))
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the rest means nothing to a player")]
    fn control(&mut self, action: Action) -> Vec<Effect> {
        let before = self.player.at();
        let many = self.player.recording().events().len();
        let page = (many * PAGE / 1000).max(1);
        match action {
            Action::PlayOrPause => self.player.toggle(),
            Action::StepForward => self.player.step(1),
            Action::StepBack => self.player.step(-1),
            Action::PageUp => self.player.seek(before.saturating_sub(page)),
            Action::PageDown => self.player.seek(before + page),
            Action::Top => self.player.seek(0),
            Action::Bottom => self.player.seek(many),
            Action::Faster => self.player.faster(),
            Action::Slower => self.player.slower(),
            Action::NextAsk => self.jump(Mark::Ask),
            Action::NextMessage => self.jump(Mark::Message),
            Action::NextError => self.jump(Mark::Error),
            Action::NextTaskChange => self.jump(Mark::TaskChange),
            Action::Quit => return vec![Effect::Quit(Parting::End)],
            _ => {}
        }
        if self.player.at() != before {
            self.follow(before);
        }
        Vec::new()
    }

    fn jump(&mut self, mark: Mark) {
        if !self.player.next(mark) {
            self.deck.state.info(format!("No {} follows.", mark.name()));
        }
    }

    /// The screen, with the bar of the player at its foot.
    pub fn paint(&mut self, frame: &mut ratatui::Frame<'_>) {
        self.deck.paint(frame);
        let Deck { state, theme, .. } = &self.deck;
        draw_scrub(frame.area(), frame.buffer_mut(), &self.player, &state.keymap, theme);
    }
}

fn begun(opening: &Opening) -> State {
    let mut state = State::new(opening.clone());
    state.about.is_replay = true;
    // What was asked was answered: it is shown to whoever wants to see it, and to nobody else.
    state.asks.opening = Some(AskOpening::Manual);
    state
}

/// Shows a recording until the person leaves. What is exported goes to `project`.
pub async fn play(mut playback: Playback, mouse: bool, project: &Path) -> io::Result<()> {
    let mut signals = Signals::new()?;
    let mut screen = Screen::open(mouse)?;
    let mut input = Input::open();
    let mut last = Instant::now();
    loop {
        // A resize that came together with a key is not always told.
        let (columns, rows) = screen.size()?;
        if playback.deck.state.size != (Size { columns, rows }) {
            playback.hear(Msg::Resized { columns, rows });
        }
        screen.draw(|frame| playback.paint(frame))?;
        let due = playback.player.due_in().map(|due| due.clamp(FRAME, Duration::from_secs(1)));
        let msg = tokio::select! {
            biased;
            msg = input.next() => Some(msg),
            () = signals.next() => return Ok(()),
            () = tokio::time::sleep(due.unwrap_or(FRAME)), if due.is_some() => None,
        };
        let passed = last.elapsed();
        last = Instant::now();
        playback.advance(passed);
        let effects = match msg {
            None => Vec::new(),
            Some(None) => return Ok(()),
            Some(Some(msg)) => playback.hear(msg?),
        };
        for effect in effects {
            let is_over = match job_of(&effect) {
                Some(job) => {
                    !lend(job, &mut playback, &mut screen, &mut input, &mut signals).await?
                }
                None => carry_out(effect, &mut playback, &mut screen, project)?,
            };
            if is_over {
                return Ok(());
            }
            // While somebody else had the screen, nothing was played.
            last = Instant::now();
        }
    }
}

/// The program that a wish needs the terminal for.
fn job_of(wish: &Effect) -> Option<io::Result<Job>> {
    if let Effect::OpenEditor { text, ending, .. } = wish {
        return Some(outside::editor(text, ending));
    }
    (*wish == Effect::Shell).then(outside::shell)
}

/// Whether the person leaves.
fn carry_out(
    effect: Effect,
    playback: &mut Playback,
    screen: &mut Screen,
    project: &Path,
) -> io::Result<bool> {
    let terminal = Terminal::of(|name| std::env::var(name).ok());
    let told = match effect {
        Effect::Quit(_) => return Ok(true),
        Effect::Theme(name) => {
            playback.deck.wear(&name);
            None
        }
        Effect::Redraw => {
            screen.redraw()?;
            None
        }
        Effect::Mouse(on) => {
            screen.set_mouse(on)?;
            None
        }
        Effect::Title(title) => {
            screen.set_title(&title)?;
            None
        }
        Effect::Copy(text) => Some(copy(&text, &terminal, screen)?),
        Effect::CopyArea(drag) => {
            let text = playback.deck.text_of(&drag);
            Some(copy(&text, &terminal, screen)?)
        }
        Effect::Export { name } => {
            let session = &playback.deck.state.about.session;
            let text = exported(session, playback.player.played().iter().map(Arc::as_ref));
            Some(files::exported(project, &name, &text))
        }
        // `can_fulfil` has sorted these out; the others need the terminal, and `play` does them.
        Effect::Send(_)
        | Effect::Ring { .. }
        | Effect::Remember(_)
        | Effect::ListFiles
        | Effect::Look(_)
        | Effect::Merge(_)
        | Effect::OpenEditor { .. }
        | Effect::Shell => None,
    };
    if let Some(msg) = told {
        playback.deck.absorb(msg);
    }
    Ok(false)
}

/// Gives the terminal to a program until that ends. Whether there is still one to come back to.
async fn lend(
    job: io::Result<Job>,
    playback: &mut Playback,
    screen: &mut Screen,
    input: &mut Input,
    signals: &mut Signals,
) -> io::Result<bool> {
    let mut job = match job {
        Ok(job) => job,
        Err(error) => {
            playback.deck.state.say(Level::Error, error.to_string());
            return Ok(true);
        }
    };
    input.release();
    screen.lend();
    let ended = match job.start() {
        Ok(mut child) => tokio::select! {
            status = child.wait() => status.map(|status| Outcome { is_good: status.success() }),
            () = signals.last() => {
                child.kill().await?;
                return Ok(false);
            }
        },
        Err(error) => Err(error),
    };
    screen.take_back()?;
    input.take_back();
    if let Err(error) = ended.and_then(|outcome| job.result(outcome)) {
        playback.deck.state.say(Level::Error, format!("{}: {error}", job.name()));
    }
    let (columns, rows) = screen.size()?;
    for effect in playback.hear(Msg::TakenBack { columns, rows }) {
        if let Effect::Title(title) = effect {
            screen.set_title(&title)?;
        }
    }
    Ok(true)
}
