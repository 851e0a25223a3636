//! Short lines that tell what just happened, and go away by themselves.

use std::collections::VecDeque;

use crate::console::text::sanitize::one_line;
use crate::protocol::event::Level;
use crate::protocol::time::Stamp;

/// How long a line stays.
const STAYS_MS: i64 = 6_000;
const ERRORS_STAY_MS: i64 = 15_000;
/// More than these are not kept.
const KEPT: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub at: Stamp,
    pub level: Level,
    pub text: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notices {
    kept: VecDeque<Notice>,
}

impl Notices {
    pub fn push(&mut self, at: Stamp, level: Level, text: impl Into<String>) {
        let text = one_line(&text.into());
        self.kept.retain(|known| known.text != text);
        self.kept.push_back(Notice { at, level, text });
        while self.kept.len() > KEPT {
            self.kept.pop_front();
        }
    }

    /// Those that are still shown, the newest last.
    pub fn shown(&self, now: Stamp) -> impl DoubleEndedIterator<Item = &Notice> {
        self.kept.iter().filter(move |notice| notice.until() > now)
    }

    /// When the next one goes away.
    pub fn wake(&self, now: Stamp) -> Option<Stamp> {
        self.shown(now).map(Notice::until).min()
    }

    /// Everything that was said lately, the oldest first.
    pub fn all(&self) -> impl Iterator<Item = &Notice> {
        self.kept.iter()
    }

    /// None of them is shown any more.
    pub fn dismiss(&mut self) {
        self.kept.clear();
    }
}

impl Notice {
    fn until(&self) -> Stamp {
        let stays = match self.level {
            Level::Info | Level::Warning => STAYS_MS,
            Level::Error => ERRORS_STAY_MS,
        };
        Stamp::from_millis(self.at.millis() + stays)
    }
}
