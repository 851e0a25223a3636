//! What an agent says and thinks: first live and in pieces, then whole.

use super::Transcript;
use crate::console::state::cell::{CellId, Kind};
use crate::console::state::words::{Words, brief};
use crate::protocol::content::{ChatMessage, Known};
use crate::protocol::event::Level;
use crate::protocol::time::Stamp;

impl Transcript {
    pub(super) fn speaking(&mut self, at: Stamp, more: &str) {
        self.answers();
        let said = || Kind::Said { text: Words::default(), live: true };
        let id = self.speaking.unwrap_or_else(|| self.add(at, said()));
        self.speaking = Some(id);
        self.change(id, |cell| {
            if let Kind::Said { text, .. } = &mut cell.kind {
                text.push(more);
            }
        });
    }

    pub(super) fn thinking(&mut self, at: Stamp, more: &str) {
        self.answers();
        let thought = || Kind::Thought { text: Words::default(), live: true };
        let id = self.thinking.unwrap_or_else(|| self.add(at, thought()));
        self.thinking = Some(id);
        self.change(id, |cell| {
            if let Kind::Thought { text, .. } = &mut cell.kind {
                text.push(more);
            }
        });
    }

    /// The answer is whole: it counts, not what was heard of it before.
    pub(super) fn spoke(&mut self, at: Stamp, message: &ChatMessage) {
        self.answers();
        for block in message.content.known() {
            match block {
                Known::Text { text } if !text.trim().is_empty() => {
                    let live = self.speaking.take();
                    self.whole(at, live, Kind::Said { text: Words::new(&text), live: false });
                }
                Known::Thinking { thinking, .. } if !thinking.trim().is_empty() => {
                    let live = self.thinking.take();
                    self.whole(
                        at,
                        live,
                        Kind::Thought { text: Words::new(&thinking), live: false },
                    );
                }
                Known::ToolUse { id, name, input } => self.wanted(at, &id, &name, &input),
                Known::Text { .. }
                | Known::Thinking { .. }
                | Known::RedactedThinking { .. }
                | Known::ToolResult { .. }
                | Known::Image { .. } => {}
            }
        }
        self.hush();
    }

    fn whole(&mut self, at: Stamp, live: Option<CellId>, kind: Kind) {
        match live {
            Some(id) => self.change(id, |cell| cell.kind = kind),
            None => {
                self.add(at, kind);
            }
        }
    }

    /// What was heard live stays as it is.
    pub(super) fn hush(&mut self) {
        for id in [self.speaking.take(), self.thinking.take()].into_iter().flatten() {
            self.change(id, |cell| {
                if let Kind::Said { live, .. } | Kind::Thought { live, .. } = &mut cell.kind {
                    *live = false;
                }
            });
        }
    }

    pub(super) fn restarted(&mut self, at: Stamp, why: &str) {
        for id in [self.speaking.take(), self.thinking.take()].into_iter().flatten() {
            self.change(id, |cell| cell.kind = Kind::Void);
        }
        self.notice(at, Level::Info, format!("the answer was cut off ({why}); asking again"));
    }

    pub(super) fn retrying(
        &mut self,
        at: Stamp,
        why: &str,
        until: Stamp,
        (attempt, of): (u32, u32),
    ) {
        let kind = Kind::Retry { why: brief(why), until, attempt, of, over: false };
        match self.retrying {
            Some(id) => self.change(id, |cell| cell.kind = kind),
            None => self.retrying = Some(self.add(at, kind)),
        }
    }

    /// Something came: there is nothing to count down to any more.
    pub(super) fn answers(&mut self) {
        let Some(id) = self.retrying.take() else { return };
        self.change(id, |cell| {
            if let Kind::Retry { over, .. } = &mut cell.kind {
                *over = true;
            }
        });
    }

    pub(super) fn turn_ended(
        &mut self,
        at: Stamp,
        outcome: &str,
        why: &str,
        rounds: u32,
        millis: u64,
    ) {
        self.hush();
        self.answers();
        let usd = self.usd.map(|now| now - self.usd_before.unwrap_or_default());
        let usd = usd.filter(|usd| *usd > 0.0);
        let (outcome, why) = (brief(outcome), brief(why));
        self.add(at, Kind::TurnEnd { outcome, why, rounds, millis, usd });
    }

    pub(super) fn ended(&mut self, at: Stamp, status: &str, why: &str) {
        self.hush();
        self.answers();
        self.waiting.clear();
        let because = if why.is_empty() { String::new() } else { format!(": {why}") };
        match status {
            "completed" => self.notice(at, Level::Info, format!("ended{because}")),
            "killed" => self.notice(at, Level::Warning, format!("was stopped{because}")),
            status => self.notice(at, Level::Error, format!("{status}{because}")),
        }
    }
}
