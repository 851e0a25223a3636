//! The console without a terminal: the real state, keys, drawing and session, driven by a script.
//! For pictures and for tests.
//!
//! Its clock does not run, but for a film. Times, durations and places are put in for those of the
//! machine, so that the same script draws the same picture wherever and however slowly it runs.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::BoxStream;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use regex::Regex;
use tokio::time::{Instant, timeout};

use super::keys::{Chord, Key};
use super::picture;
use super::runtime::Deck;
use super::state::State;
use super::state::asks::VISIBLE;
use super::text::highlight::Pens;
use super::update::{Effect, Msg};
use super::view::Cache;
use super::view::theme::Theme;
use crate::protocol::event::{Event, Fact};
use crate::protocol::ids::AskId;
use crate::protocol::time::Stamp;
use crate::session::Session;

/// When everything on a stage begins.
pub const START: Stamp = Stamp::from_millis(1_793_000_000_000);
/// Before the keys of a step: somebody who looks first.
const LOOK_MS: i64 = 500;
/// Between two keys of a script: somebody who types.
const BETWEEN_KEYS_MS: i64 = 40;
/// How far the clock is put on at the end of a step: what waits for quiet has it then.
const STEP_MS: i64 = 10_000;
/// What is shown for however long something took.
const TOOK_MS: u64 = 400;
/// Silence after which the clock is put on, in case what is waited for needs time to pass.
const SILENCE: Duration = Duration::from_millis(300);
/// Between two pictures of a film, and how long it looks at an ask before it answers.
const FRAME: Duration = Duration::from_millis(250);
const LOOKED_MS: i64 = 2_500;

/// Plans are filed under names that are made up anew each time.
static PLAN_NAME: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"plans/[a-z0-9-]+\.md").ok());

/// Why a script did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    #[error("waited {} seconds for `{wanted}`; this was seen:\n{seen}", waited.as_secs())]
    NotSeen { wanted: String, waited: Duration, seen: String },
    #[error("there is nothing to draw on: {0}")]
    Backend(String),
}

pub struct Stage<'a> {
    session: &'a dyn Session,
    events: BoxStream<'static, Arc<Event>>,
    deck: Deck,
    terminal: Terminal<TestBackend>,
    clock: Stamp,
    steps: i64,
    /// What stands for places of this machine.
    places: Vec<(String, String)>,
    reel: Option<Reel>,
    /// The console was left.
    pub is_over: bool,
}

/// A film that is being taken: what was seen when, and since when an ask is looked at.
struct Reel {
    pictures: Vec<(Buffer, Duration)>,
    last: Instant,
    asked: Option<(AskId, Stamp)>,
}

impl<'a> Stage<'a> {
    /// The state should begin at `START`.
    pub fn open(
        session: &'a dyn Session,
        state: State,
        theme: Theme,
        (columns, rows): (u16, u16),
    ) -> Result<Self, StageError> {
        let terminal = Terminal::new(TestBackend::new(columns, rows))
            .map_err(|error| StageError::Backend(error.to_string()))?;
        // Code has its colours in the first frame, and hours are those of nowhere.
        let cache = Cache::with_pens(Pens::at_once());
        let mut deck = Deck::with_cache(state, theme, cache);
        deck.absorb(Msg::Resized { columns, rows });
        Ok(Self {
            session,
            events: session.events(0),
            deck,
            terminal,
            clock: START,
            steps: 0,
            places: Vec::new(),
            reel: None,
            is_over: false,
        })
    }

    /// Shows `shown` wherever the session speaks of this place.
    #[must_use]
    pub fn showing(mut self, place: &Path, shown: &str) -> Self {
        let real = place.canonicalize().unwrap_or_else(|_| PathBuf::from(place));
        for path in [real.as_path(), place] {
            self.places.push((path.display().to_string(), shown.to_owned()));
        }
        self
    }

    /// Takes a film from here on: the clock runs, and what is asked for is allowed.
    #[must_use]
    pub fn filming(mut self) -> Self {
        self.reel = Some(Reel { pictures: Vec::new(), last: Instant::now(), asked: None });
        self
    }

    /// All that was seen, each with its time.
    pub fn film(&mut self) -> Vec<(Buffer, Duration)> {
        self.reel.take().map(|reel| reel.pictures).unwrap_or_default()
    }

    /// Presses keys, after a look at what is there: letters on an ask that was not seen are text.
    pub async fn press(&mut self, keys: &[Chord]) {
        if !keys.is_empty() && self.reel.is_none() {
            self.tick(LOOK_MS).await;
        }
        for key in keys {
            self.tick(BETWEEN_KEYS_MS).await;
            self.absorb(Msg::Key(*key)).await;
            if self.reel.is_some() {
                tokio::time::sleep(FRAME / 3).await;
                self.roll().await;
            }
        }
    }

    /// One picture of a film, if it is time for it.
    async fn roll(&mut self) {
        let Some(reel) = &mut self.reel else { return };
        let passed = reel.last.elapsed();
        if passed < FRAME / 3 {
            return;
        }
        reel.last = Instant::now();
        self.tick(i64::try_from(passed.as_millis()).unwrap_or_default()).await;
        self.answer().await;
        if self.draw().is_err() {
            return;
        }
        let seen = self.terminal.backend().buffer().clone();
        let Some(reel) = &mut self.reel else { return };
        match reel.pictures.last_mut() {
            Some((last, time)) if *last == seen => *time += passed,
            Some(_) | None => reel.pictures.push((seen, passed)),
        }
    }

    /// Allows what has been looked at for a while.
    async fn answer(&mut self) {
        let shown = self.deck.state.asks.dialog.is_some();
        let ask = self.deck.state.asks.shown().filter(|_| shown).map(|known| known.ask.id.clone());
        let Some(reel) = &mut self.reel else { return };
        match (&reel.asked, ask) {
            (Some((known, since)), Some(ask)) if *known == ask => {
                if self.clock.millis() - since.millis() >= LOOKED_MS {
                    reel.asked = None;
                    self.absorb(Msg::Key(Chord::plain(Key::Char('y')))).await;
                }
            }
            (_, ask) => reel.asked = ask.map(|ask| (ask, self.clock)),
        }
    }

    /// Takes part until a text is on the screen.
    pub async fn until(&mut self, wanted: &str, patience: Duration) -> Result<(), StageError> {
        let end = Instant::now() + patience;
        loop {
            if self.seen()?.contains(wanted) {
                self.steps += 1;
                return Ok(());
            }
            if Instant::now() >= end {
                let (wanted, seen) = (wanted.to_owned(), self.seen()?);
                return Err(StageError::NotSeen { wanted, waited: patience, seen });
            }
            self.roll().await;
            let silence = if self.reel.is_some() { FRAME } else { SILENCE };
            match timeout(silence, self.events.next()).await {
                Ok(Some(event)) => {
                    let event = self.placed(&event);
                    self.absorb(Msg::Event(event)).await;
                }
                Err(_) if self.reel.is_some() => {}
                // The end of a session is an answer, too: the text may be in it.
                Ok(None) => tokio::time::sleep(SILENCE).await,
                // No further than the step goes: how long a machine takes must not show.
                Err(_) if self.clock.millis() < self.due() => self.tick(STEP_MS / 10).await,
                Err(_) => {}
            }
        }
    }

    /// Takes part until nothing has happened for a while.
    pub async fn settle(&mut self) {
        while let Ok(Some(event)) = timeout(SILENCE, self.events.next()).await {
            let event = self.placed(&event);
            self.absorb(Msg::Event(event)).await;
        }
    }

    /// What is on the screen once the person had time to look at it.
    pub async fn picture(&mut self) -> Result<Buffer, StageError> {
        self.tick((self.due() - self.clock.millis()).max(0)).await;
        // A dialog that opened just now has been seen, too.
        self.tick(VISIBLE).await;
        self.draw()?;
        Ok(self.terminal.backend().buffer().clone())
    }

    /// The time that the clock has at the end of this step.
    fn due(&self) -> i64 {
        START.millis() + (self.steps + 1) * STEP_MS
    }

    pub fn seen(&mut self) -> Result<String, StageError> {
        self.draw()?;
        Ok(picture::text(self.terminal.backend().buffer()))
    }

    pub fn state(&self) -> &State {
        &self.deck.state
    }

    fn draw(&mut self) -> Result<(), StageError> {
        let Self { terminal, deck, .. } = self;
        let drawn = terminal.draw(|frame| deck.paint(frame));
        drawn.map(|_| ()).map_err(|error| StageError::Backend(error.to_string()))
    }

    async fn tick(&mut self, millis: i64) {
        self.clock = Stamp::from_millis(self.clock.millis() + millis);
        self.absorb(Msg::Tick(self.clock)).await;
    }

    async fn absorb(&mut self, msg: Msg) {
        let mut msgs = vec![msg];
        while let Some(msg) = msgs.pop() {
            for effect in self.deck.absorb(msg) {
                msgs.extend(self.carry_out(effect).await);
            }
        }
    }

    /// Only what concerns the session and the picture is done; the rest needs a desktop.
    async fn carry_out(&mut self, effect: Effect) -> Option<Msg> {
        match effect {
            Effect::Send(op) => {
                let refused = self.session.submit(op.clone()).await.err()?;
                Some(Msg::Refused { op: Box::new(op), why: refused.to_string() })
            }
            Effect::Theme(name) => {
                self.deck.wear(&name);
                None
            }
            Effect::Quit(_) => {
                self.is_over = true;
                None
            }
            Effect::Copy(_)
            | Effect::CopyArea(_)
            | Effect::Ring { .. }
            | Effect::Title(_)
            | Effect::OpenEditor { .. }
            | Effect::Shell
            | Effect::Redraw
            | Effect::Mouse(_)
            | Effect::Remember(_)
            | Effect::ListFiles
            | Effect::Look(_)
            | Effect::Merge(_)
            | Effect::Export { .. } => None,
        }
    }

    /// An event as it would be on the stage: at its time, in its place.
    #[expect(clippy::wildcard_enum_match_arm, reason = "no other fact holds a time")]
    fn placed(&self, event: &Arc<Event>) -> Arc<Event> {
        let mut placed = self.translated(event).unwrap_or_else(|| Event::clone(event));
        let at = if self.reel.is_some() { self.clock } else { START };
        placed.at = at;
        match &mut placed.fact {
            Fact::ToolEnded { millis, .. } | Fact::TurnEnded { millis, .. } => *millis = TOOK_MS,
            Fact::Asked { ask } => ask.at = at,
            _ => {}
        }
        Arc::new(placed)
    }

    fn translated(&self, event: &Event) -> Option<Event> {
        let mut text = serde_json::to_string(event).ok()?;
        for (place, shown) in &self.places {
            text = text.replace(place.as_str(), shown);
        }
        if let Some(name) = &*PLAN_NAME {
            text = name.replace_all(&text, "plans/plan.md").into_owned();
        }
        serde_json::from_str(&text).ok()
    }
}
