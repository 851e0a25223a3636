//! How long to wait for a lock, and how.

use std::time::{Duration, Instant, SystemTime};

use super::files;

/// Waiting for somebody to let go: short naps first, then longer ones, never all in step.
#[derive(Debug, Clone)]
pub(super) struct Wait {
    since: Instant,
    limit: Duration,
    nap: Duration,
}

impl Wait {
    const SHORTEST: Duration = Duration::from_micros(50);
    const LONGEST: Duration = Duration::from_millis(5);

    pub(super) fn new(limit: Duration) -> Self {
        Self { since: Instant::now(), limit, nap: Self::SHORTEST }
    }

    pub(super) fn waited(&self) -> Duration {
        self.since.elapsed()
    }

    /// `false` when the time is over.
    pub(super) fn pause(&mut self) -> bool {
        if self.waited() >= self.limit {
            return false;
        }
        // The low digits of the clock are as good as dice here.
        let dice = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        files::nap(self.nap.mul_f64(0.5 + f64::from(dice.subsec_nanos() % 1000) / 1000.0));
        self.nap = (self.nap * 3 / 2).min(Self::LONGEST);
        true
    }
}
