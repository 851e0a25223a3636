//! The console on a recorded session: the same state and drawing, driven by a player instead of
//! a session. Going back means folding the events from the start, which is all there is to it.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::deck::Deck;
use super::input::Input;
use super::{Parting, Screen, Signals};
use crate::console::keys::{Action, Chord, Context};
use crate::console::state::{Opening, State};
use crate::console::update::{Effect, MouseKind, Msg};
use crate::console::view::scrub::draw_scrub;
use crate::console::view::theme::Theme;
use crate::protocol::event::Event;
use crate::session::replay::{Mark, Player};

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

    /// What the person does. Wishes come back that a recording can fulfil.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the rest is for the console")]
    pub fn hear(&mut self, msg: Msg) -> Vec<Effect> {
        match msg {
            Msg::Key(chord) => self.key(chord),
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
        }
    }

    fn key(&mut self, chord: Chord) -> Vec<Effect> {
        let state = &self.deck.state;
        // Dialogs and panels have their keys; nothing is written here.
        let inner = state.contexts().into_iter();
        let inner: Vec<Context> = inner
            .filter(|context| !matches!(context, Context::Composer | Context::Everywhere))
            .collect();
        let is_asked = state.asks.dialog.is_some() || state.tasks.dialog.is_some();
        if is_asked || state.ui.prefix || state.keymap.resolve(&inner, chord).is_some() {
            return self.deck.absorb(Msg::Key(chord));
        }
        if let Some((_, action)) = state.keymap.resolve(&[Context::Replay], chord) {
            return self.control(action);
        }
        match chord.typed() {
            Some(_) if state.top().is_none() => Vec::new(),
            Some(_) | None => self.deck.absorb(Msg::Key(chord)),
        }
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
        draw_scrub(frame.area(), frame.buffer_mut(), &self.player, &self.deck.theme);
    }
}

fn begun(opening: &Opening) -> State {
    let mut state = State::new(opening.clone());
    state.about.is_replay = true;
    state
}

/// Shows a recording until the person leaves.
pub async fn play(mut playback: Playback, mouse: bool) -> io::Result<()> {
    let mut signals = Signals::new()?;
    let mut screen = Screen::open(mouse)?;
    let mut input = Input::open();
    let (columns, rows) = screen.size()?;
    playback.hear(Msg::Resized { columns, rows });
    let mut last = Instant::now();
    loop {
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
            if carry_out(effect, &mut playback, &mut screen)? {
                return Ok(());
            }
        }
    }
}

/// Whether the person leaves.
fn carry_out(effect: Effect, playback: &mut Playback, screen: &mut Screen) -> io::Result<bool> {
    match effect {
        Effect::Quit(_) => return Ok(true),
        Effect::Send(_) => {
            playback.deck.state.info("This is a recording: nothing can be asked of it.");
        }
        Effect::Theme(name) => playback.deck.wear(&name),
        Effect::Redraw => screen.redraw()?,
        Effect::Mouse(on) => screen.set_mouse(on)?,
        Effect::Title(title) => screen.set_title(&title)?,
        Effect::Copy(_)
        | Effect::CopyArea(_)
        | Effect::Ring { .. }
        | Effect::OpenEditor { .. }
        | Effect::Shell
        | Effect::Remember(_)
        | Effect::ListFiles
        | Effect::Export { .. } => {}
    }
    Ok(false)
}
