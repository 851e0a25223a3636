//! What a command prints, told while it runs: whole lines, a few times a second, and in all no
//! more than a journal can carry. The rest is in the file.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

/// How much of one command is told.
const BUDGET: usize = 64 * 1024;

/// How long text is gathered.
const PACE: Duration = Duration::from_millis(150);

/// How long a line may stay open before it is told in pieces.
const PATIENCE: Duration = Duration::from_millis(400);

/// How often a command that printed too much is still heard of.
const RARELY: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Speaker {
    to: mpsc::Sender<String>,
    pending: String,
    /// When the first of what is pending came.
    since: Option<Instant>,
    said: usize,
    /// Characters beyond the budget.
    unsaid: u64,
    counted: Option<Instant>,
}

impl Speaker {
    pub(super) fn new() -> (Self, mpsc::Receiver<String>) {
        let (to, heard) = mpsc::channel(64);
        let speaker =
            Self { to, pending: String::new(), since: None, said: 0, unsaid: 0, counted: None };
        (speaker, heard)
    }

    pub(super) fn take(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let room = BUDGET.saturating_sub(self.said + self.pending.len());
        let cut = (0..=room.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
        let cut = cut.unwrap_or_default();
        self.pending.push_str(&text[..cut]);
        self.unsaid += text[cut..].chars().count() as u64;
        self.since.get_or_insert_with(Instant::now);
    }

    /// When there is something to tell.
    pub(super) fn due(&self) -> Option<Instant> {
        let since = self.since?;
        if self.unsaid > 0 && self.pending.is_empty() {
            return Some(self.counted.map_or(since, |counted| counted + RARELY).max(since));
        }
        let open = !self.pending.contains('\n');
        Some(since + if open { PATIENCE } else { PACE })
    }

    pub(super) fn tell(&mut self) {
        let open = !self.pending.contains('\n');
        let patient = self.since.is_some_and(|since| since.elapsed() < PATIENCE);
        let cut = match self.pending.rfind('\n') {
            Some(line) => line + 1,
            None if open && patient && self.unsaid == 0 => 0,
            None => self.pending.len(),
        };
        let rest = self.pending.split_off(cut);
        let text = std::mem::replace(&mut self.pending, rest);
        self.since = (!self.pending.is_empty() || cut == 0).then(Instant::now);
        self.send(text);
        self.count();
    }

    fn count(&mut self) {
        let rarely = self.counted.is_none_or(|counted| counted.elapsed() >= RARELY);
        if self.unsaid > 0 && self.pending.is_empty() && rarely {
            self.counted = Some(Instant::now());
            self.send(format!("[{} more characters, not shown here]\n", self.unsaid));
        }
        if self.pending.is_empty() {
            self.since = None;
        }
    }

    fn send(&mut self, text: String) {
        if text.is_empty() {
            return;
        }
        self.said += text.len();
        // Who does not listen, or not fast enough, has the file.
        let _ = self.to.try_send(text);
    }

    /// The last of it.
    pub(super) fn finish(mut self) {
        let text = std::mem::take(&mut self.pending);
        self.send(text);
        if self.unsaid > 0 {
            self.send(format!("[{} more characters, not shown here]\n", self.unsaid));
        }
    }
}
