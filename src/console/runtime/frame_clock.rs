//! Decides when to paint. Knows no terminal and reads no clock, so tests hand it instants.

use std::time::{Duration, Instant};

/// The shortest time between two frames.
pub const GAP: Duration = Duration::from_millis(16);

#[derive(Debug, Default)]
pub struct FrameClock {
    wanted: Option<Instant>,
    painted: Option<Instant>,
}

impl FrameClock {
    pub fn ask(&mut self, at: Instant) {
        let at = self.painted.map_or(at, |last| at.max(last + GAP));
        self.wanted = Some(self.wanted.map_or(at, |sooner| sooner.min(at)));
    }

    pub fn painted(&mut self, now: Instant) {
        (self.wanted, self.painted) = (None, Some(now));
    }

    pub fn asked(&self) -> bool {
        self.wanted.is_some()
    }

    pub async fn due(&self) {
        match self.wanted {
            Some(at) => tokio::time::sleep_until(at.into()).await,
            None => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_wishes_are_one_frame_and_frames_keep_their_distance() {
        let start = Instant::now();
        let mut clock = FrameClock::default();
        assert!(!clock.asked(), "nobody asked");
        clock.ask(start + GAP);
        clock.ask(start);
        assert_eq!(clock.wanted, Some(start), "the earliest counts");
        clock.painted(start);
        assert!(!clock.asked());
        clock.ask(start + Duration::from_millis(1));
        assert_eq!(clock.wanted, Some(start + GAP));
    }
}
