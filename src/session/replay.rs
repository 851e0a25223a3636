//! A recorded session: its journal, and a player that goes through it as time passes, faster,
//! step by step, or from one thing worth seeing to the next.
//!
//! The player knows no clock: it is told how much time has passed. Silences are cut short, for
//! nobody wants to watch one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::protocol::event::{Event, Fact, Level};
use crate::protocol::ids::AgentId;
use crate::protocol::time::Stamp;
use crate::store::StoreError;
use crate::store::journal::read_after;

/// Longer silences are passed over in this time.
const LONGEST_SILENCE_MS: i64 = 2_000;
const SPEEDS: &[f64] = &[0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

/// Why there is nothing to play.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{}: there is no event in it; give a session or the journal of one", .0.display())]
    Empty(PathBuf),
}

/// All events of a session, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    events: Vec<Arc<Event>>,
    /// Lines of the file that are no events.
    pub unreadable: u64,
}

impl Recording {
    pub fn read(file: &Path) -> Result<Self, ReplayError> {
        let batch = read_after(file, 0)?;
        if batch.events.is_empty() {
            return Err(ReplayError::Empty(file.to_owned()));
        }
        let unreadable = batch.problems.total;
        Ok(Self { events: batch.events.into_iter().map(Arc::new).collect(), unreadable })
    }

    pub fn events(&self) -> &[Arc<Event>] {
        &self.events
    }

    pub fn start(&self) -> Stamp {
        self.events.first().map_or(Stamp::from_millis(0), |event| event.at)
    }

    /// The agent that nobody started.
    #[expect(clippy::wildcard_enum_match_arm, reason = "only beginnings are looked for")]
    pub fn lead(&self) -> Option<&AgentId> {
        let mut started = self.events.iter().filter_map(|event| match &event.fact {
            Fact::AgentStarted { about } if about.parent.is_none() => event.agent.as_ref(),
            _ => None,
        });
        started.next().or_else(|| self.events.iter().find_map(|event| event.agent.as_ref()))
    }
}

/// Things worth jumping to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    Ask,
    Message,
    Error,
    TaskChange,
}

impl Mark {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the rest is no error")]
    pub fn is(self, fact: &Fact) -> bool {
        match self {
            Self::Ask => matches!(fact, Fact::Asked { .. }),
            Self::Message => matches!(fact, Fact::MailSent { .. }),
            Self::TaskChange => matches!(fact, Fact::TaskChanged { .. } | Fact::TaskDeleted { .. }),
            Self::Error => match fact {
                Fact::Notice { level, .. } => *level == Level::Error,
                Fact::ToolEnded { failed, .. } => *failed,
                Fact::TurnEnded { outcome, .. } => outcome == "failed",
                Fact::AgentEnded { status, .. } => status == "failed",
                Fact::Retrying { .. } => true,
                _ => false,
            },
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Message => "message",
            Self::Error => "error",
            Self::TaskChange => "change of a task",
        }
    }
}

/// Goes through a recording.
#[derive(Debug, Clone)]
pub struct Player {
    recording: Arc<Recording>,
    /// How many events have been played.
    at: usize,
    /// How far the time after the last of them has gone, in milliseconds of the recording.
    waited: f64,
    speed: f64,
    is_playing: bool,
}

impl Player {
    pub fn new(recording: Arc<Recording>, speed: f64) -> Self {
        Self { recording, at: 0, waited: 0.0, speed, is_playing: true }
    }

    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    /// The events played so far.
    pub fn played(&self) -> &[Arc<Event>] {
        &self.recording.events[..self.at]
    }

    pub fn at(&self) -> usize {
        self.at
    }

    pub fn speed(&self) -> f64 {
        self.speed
    }

    pub fn is_playing(&self) -> bool {
        self.is_playing && !self.is_over()
    }

    pub fn is_over(&self) -> bool {
        self.at >= self.recording.events.len()
    }

    /// What time it is in the recording.
    pub fn now(&self) -> Stamp {
        let last = self.played().last().map_or(self.recording.start(), |event| event.at);
        // Whole milliseconds are enough, and a silence is never longer than its limit.
        let waited = Duration::from_secs_f64(self.waited.max(0.0) / 1000.0).as_millis();
        let waited = i64::try_from(waited).unwrap_or_default();
        Stamp::from_millis(last.millis().saturating_add(waited))
    }

    /// The silence before the next event, in milliseconds of the recording.
    fn silence(&self) -> Option<f64> {
        let next = self.recording.events.get(self.at)?;
        let last = self.played().last().map_or(next.at, |event| event.at);
        let silence = (next.at.millis() - last.millis()).clamp(0, LONGEST_SILENCE_MS);
        Some(f64::from(i32::try_from(silence).unwrap_or_default()))
    }

    /// How long until the next event, as things stand.
    pub fn due_in(&self) -> Option<Duration> {
        if !self.is_playing() {
            return None;
        }
        let left = (self.silence()? - self.waited).max(0.0);
        Some(Duration::from_secs_f64(left / self.speed / 1000.0))
    }

    /// So much time has passed: the events that happened in it.
    pub fn advance(&mut self, time: Duration) -> &[Arc<Event>] {
        let from = self.at;
        if self.is_playing() {
            self.waited += time.as_secs_f64() * 1000.0 * self.speed;
            while let Some(silence) = self.silence() {
                if self.waited < silence {
                    break;
                }
                self.waited -= silence;
                self.at += 1;
            }
        }
        if self.is_over() {
            self.waited = 0.0;
        }
        &self.recording.events[from..self.at]
    }

    pub fn toggle(&mut self) {
        // At the end there is nothing to go on with: it begins again.
        if self.is_over() {
            self.seek(0);
            self.is_playing = true;
        } else {
            self.is_playing = !self.is_playing;
        }
    }

    pub fn pause(&mut self) {
        self.is_playing = false;
    }

    /// To the state after so many events.
    pub fn seek(&mut self, at: usize) {
        (self.at, self.waited) = (at.min(self.recording.events.len()), 0.0);
    }

    /// One event on or back, standing still.
    pub fn step(&mut self, by: isize) {
        self.pause();
        self.seek(self.at.saturating_add_signed(by));
    }

    /// To the part of the recording that is so many thousandths of its events from the start.
    pub fn seek_thousandths(&mut self, thousandths: usize) {
        self.seek(self.recording.events.len() * thousandths.min(1000) / 1000);
    }

    pub fn faster(&mut self) {
        let next = SPEEDS.iter().copied().find(|speed| *speed > self.speed);
        self.speed = next.unwrap_or(self.speed);
    }

    pub fn slower(&mut self) {
        let next = SPEEDS.iter().rev().copied().find(|speed| *speed < self.speed);
        self.speed = next.unwrap_or(self.speed);
    }

    /// To the next such event, and stands still there. `false` where none follows.
    pub fn next(&mut self, mark: Mark) -> bool {
        let rest = &self.recording.events[self.at..];
        let Some(ahead) = rest.iter().position(|event| mark.is(&event.fact)) else { return false };
        self.pause();
        self.seek(self.at + ahead + 1);
        true
    }
}
