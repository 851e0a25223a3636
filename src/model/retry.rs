//! Waiting and trying again: the one place where it is done, for all models.
//!
//! Only errors that pass are tried again, and only while nothing of the answer was shown. Every
//! wait is announced before it begins, and a stop ends it at once.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use futures::{StreamExt, stream};
use tokio::time::{Instant, sleep};

use super::http::setting;
use super::{Answer, Chunk, ModelError, Stop};

/// How long to go on trying.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Attempts in all, the first included.
    pub tries: u32,
    /// The first wait; each further one is twice as long.
    pub first_wait: Duration,
    /// No wait of our own choosing is longer.
    pub longest_wait: Duration,
    /// No attempt begins later than this after the first.
    pub total: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            tries: 10,
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(32),
            total: Duration::from_secs(600),
        }
    }
}

impl Policy {
    /// The usual way, with `QUARTERDECK_TRIES` attempts in all and `QUARTERDECK_RETRY_MS` as the
    /// first wait where they are set.
    pub fn from_env(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let number = |name| setting(&lookup, name).and_then(|text| text.parse::<u32>().ok());
        let usual = Self::default();
        let first_wait = number("QUARTERDECK_RETRY_MS").map(u64::from);
        Self {
            tries: number("QUARTERDECK_TRIES").filter(|tries| *tries > 0).unwrap_or(usual.tries),
            first_wait: first_wait.map_or(usual.first_wait, Duration::from_millis),
            ..usual
        }
    }

    /// Takes the first answer, whatever it is.
    pub fn once() -> Self {
        Self { tries: 1, ..Self::default() }
    }
}

/// The answer of the first attempt that does not fail in passing. `attempt` gets the number of
/// the attempt, from 1; what it returns begins when it is polled.
pub fn retrying(
    policy: Policy,
    stop: Stop,
    attempt: impl FnMut(u32) -> Answer + Send + 'static,
) -> Answer {
    let trying = Trying { attempt, stop, waits: Waits::new(policy), phase: Phase::Due };
    let next = |mut trying: Trying<_>| async move {
        let chunk = trying.next().await?;
        Some((chunk, trying))
    };
    stream::unfold(trying, next).boxed()
}

/// As `retrying`, for what comes in one piece. Nobody is told about the waits.
pub async fn until_done<T>(
    policy: Policy,
    mut attempt: impl AsyncFnMut(u32) -> Result<T, ModelError>,
) -> Result<T, ModelError> {
    let mut waits = Waits::new(policy);
    loop {
        let error = match attempt(waits.begin()).await {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        let Some(wait) = waits.after(&error) else { return Err(error) };
        tracing::debug!(%error, ?wait, "trying again");
        sleep(wait).await;
    }
}

/// The sentence for `Chunk::Retrying`: "overloaded, trying again in 4 s (2/10)".
pub fn sentence(why: &str, wait: Duration, attempt: u32, of: u32) -> String {
    let millis = wait.as_millis();
    let wait = match millis.div_ceil(1000) {
        _ if millis < 950 => format!("0.{} s", millis.div_ceil(100).max(1)),
        seconds @ ..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    };
    format!("{why}, trying again in {wait} ({attempt}/{of})")
}

/// An error in a few words, for `Chunk::Retrying`.
fn phrase(error: &ModelError) -> &'static str {
    match error {
        ModelError::RateLimited { .. } => "too many requests",
        ModelError::Overloaded { .. } => "overloaded",
        ModelError::Network { .. } => "no connection",
        ModelError::StreamBroken { .. } => "the answer was cut off",
        ModelError::Authentication { .. } => "the key was refused",
        ModelError::NotFound { .. } => "not found",
        ModelError::InvalidRequest { .. } => "the request was refused",
        ModelError::ContextTooLong { .. } => "the conversation is too long",
        ModelError::BadAnswer { .. } => "the answer could not be understood",
        ModelError::Stopped => "stopped",
    }
}

struct Trying<F> {
    attempt: F,
    stop: Stop,
    waits: Waits,
    phase: Phase,
}

enum Phase {
    /// The next attempt is due.
    Due,
    Waiting(Duration),
    Hidden(Answer),
    /// Something was shown: from here on, every error is the caller's.
    Shown(Answer),
    Over,
}

impl<F: FnMut(u32) -> Answer> Trying<F> {
    async fn next(&mut self) -> Option<Result<Chunk, ModelError>> {
        loop {
            match &mut self.phase {
                Phase::Over => return None,
                Phase::Due if self.stop.is_cancelled() => return self.stopped(),
                Phase::Due => self.phase = Phase::Hidden((self.attempt)(self.waits.begin())),
                Phase::Waiting(wait) => {
                    let waited = self.stop.run_until_cancelled(sleep(*wait)).await;
                    if waited.is_none() {
                        return self.stopped();
                    }
                    self.phase = Phase::Due;
                }
                Phase::Hidden(answer) | Phase::Shown(answer) => {
                    let next = self.stop.run_until_cancelled(answer.next()).await;
                    let Some(next) = next else { return self.stopped() };
                    return self.pass_on(next);
                }
            }
        }
    }

    fn pass_on(
        &mut self,
        next: Option<Result<Chunk, ModelError>>,
    ) -> Option<Result<Chunk, ModelError>> {
        match next {
            Some(Ok(chunk)) => {
                if shows(&chunk) {
                    self.phase = match std::mem::replace(&mut self.phase, Phase::Over) {
                        Phase::Hidden(answer) => Phase::Shown(answer),
                        phase
                        @ (Phase::Due | Phase::Waiting(_) | Phase::Shown(_) | Phase::Over) => phase,
                    };
                }
                Some(Ok(chunk))
            }
            Some(Err(error)) => Some(self.failed(error)),
            None => {
                self.phase = Phase::Over;
                None
            }
        }
    }

    fn failed(&mut self, error: ModelError) -> Result<Chunk, ModelError> {
        // Replacing the phase drops the answer, and with it the connection, before the wait.
        let phase = std::mem::replace(&mut self.phase, Phase::Over);
        let wait = match phase {
            Phase::Hidden(_) => self.waits.after(&error),
            Phase::Due | Phase::Waiting(_) | Phase::Shown(_) | Phase::Over => None,
        };
        let Some(wait) = wait else { return Err(error) };
        tracing::debug!(%error, ?wait, "trying again");
        self.phase = Phase::Waiting(wait);
        let (attempt, of) = (self.waits.begun + 1, self.waits.policy.tries);
        Ok(Chunk::Retrying { why: phrase(&error).to_owned(), wait, attempt, of })
    }

    fn stopped(&mut self) -> Option<Result<Chunk, ModelError>> {
        self.phase = Phase::Over;
        Some(Err(ModelError::Stopped))
    }
}

/// Whether a reader has seen something that cannot be taken back, or is done.
fn shows(chunk: &Chunk) -> bool {
    match chunk {
        Chunk::Text { .. }
        | Chunk::Thinking { .. }
        | Chunk::ToolStarted { .. }
        | Chunk::ToolInput { .. }
        | Chunk::Block { .. }
        | Chunk::Ended { .. } => true,
        Chunk::Started { .. } | Chunk::Retrying { .. } => false,
    }
}

/// Counts attempts and says how long to wait between them.
struct Waits {
    policy: Policy,
    begun: u32,
    since: Option<Instant>,
}

impl Waits {
    fn new(policy: Policy) -> Self {
        Self { policy, begun: 0, since: None }
    }

    fn begin(&mut self) -> u32 {
        self.since.get_or_insert_with(Instant::now);
        self.begun += 1;
        self.begun
    }

    /// How long to wait before the next attempt, or nothing: it is over.
    fn after(&self, error: &ModelError) -> Option<Duration> {
        if !error.is_passing() || self.begun >= self.policy.tries {
            return None;
        }
        let spent = self.since.map(|since| since.elapsed()).unwrap_or_default();
        let left = self.policy.total.checked_sub(spent).filter(|left| !left.is_zero())?;
        match error.retry_after() {
            // Coming sooner than the server wants would only annoy it.
            Some(wanted) if wanted > left => None,
            Some(wanted) if wanted >= self.policy.first_wait => Some(wanted),
            Some(_) | None => Some(self.backoff().min(left)),
        }
    }

    /// Twice as long each time, less up to a quarter, so that many agents that failed together
    /// do not all come back together.
    fn backoff(&self) -> Duration {
        let doublings = 1_u32.checked_shl(self.begun.saturating_sub(1)).unwrap_or(u32::MAX);
        let full = self.policy.first_wait.saturating_mul(doublings).min(self.policy.longest_wait);
        full.mul_f64(1.0 - 0.25 * chance())
    }
}

/// A number from 0 to 1. Chance of the hasher's seed: good enough to keep apart what waits.
fn chance() -> f64 {
    let bits = (RandomState::new().hash_one(0) >> 32) as u32;
    f64::from(bits) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_reads_well_for_waits_of_all_lengths() {
        let of = |millis| sentence("overloaded", Duration::from_millis(millis), 2, 10);
        assert_eq!(of(4_000), "overloaded, trying again in 4 s (2/10)");
        assert_eq!(of(3_100), "overloaded, trying again in 4 s (2/10)");
        assert_eq!(of(420), "overloaded, trying again in 0.5 s (2/10)");
        assert_eq!(of(0), "overloaded, trying again in 0.1 s (2/10)");
        assert_eq!(of(999), "overloaded, trying again in 1 s (2/10)");
        assert_eq!(of(600_000), "overloaded, trying again in 10 min (2/10)");
    }
}
