//! What a playbook says: who acts, and what each of them does when.
//!
//! Plain data, made by [`Playbook::parse`] and complete: patterns are compiled, templates are
//! taken apart and every name in them is known.

use std::path::Path;
use std::time::Duration;

use regex::Regex;
use serde_json::Value;

use super::reading;
use super::template::Template;
use crate::model::request::{Caller, Purpose};
use crate::protocol::mistake::Mistake;

#[derive(Debug, Clone, Default)]
pub struct Playbook {
    pub name: String,
    /// One line for whoever chooses among playbooks.
    pub about: String,
    pub pace: Pace,
    pub actors: Vec<Actor>,
}

/// How fast an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pace {
    #[default]
    AtOnce,
    /// Characters per second.
    PerSecond(u32),
}

#[derive(Debug, Clone)]
pub struct Actor {
    pub who: Who,
    /// How a client that does not say who it is can be recognised.
    pub identify: Option<Regex>,
    pub turns: Vec<Turn>,
    pub line: usize,
}

/// Whom an actor plays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    /// Agents by their name.
    Named(Glob),
    /// Agents by their kind: `type:explore`.
    Kind(Glob),
    Fork,
    /// Requests that are no turn of an agent: `internal:compact`.
    Internal(Glob),
}

/// A word in which `*` stands for anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob(String);

#[derive(Debug, Clone)]
pub struct Turn {
    pub when: When,
    pub think: Option<Template>,
    pub say: Option<Template>,
    pub call: Vec<Call>,
    pub repeat: Repeat,
    pub usage: GivenUsage,
    pub fault: Option<Fault>,
    pub line: usize,
}

/// What must hold for a turn to be played: all of it. Nothing always holds.
#[derive(Debug, Clone, Default)]
pub struct When {
    pub user: Option<Regex>,
    pub result_of: Option<String>,
    pub error_of: Option<String>,
    pub mail_from: Option<Glob>,
    pub matching: Option<Regex>,
}

#[derive(Debug, Clone)]
pub struct Call {
    pub tool: String,
    pub input: Input,
}

/// The input of a call, with templates in its strings.
#[derive(Debug, Clone)]
pub enum Input {
    Text(Template),
    Fixed(Value),
    List(Vec<Input>),
    Map(Vec<(String, Input)>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    Once,
    Always,
}

/// Tokens to report instead of counted ones. With `input` given, the cache is left out unless it
/// is given as well.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GivenUsage {
    pub input: Option<u64>,
    pub output: Option<u64>,
    pub cache_write: Option<u64>,
    pub cache_read: Option<u64>,
}

/// Something that goes wrong the first `times` times a turn is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    pub kind: FaultKind,
    pub times: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// The server refuses.
    Status { status: u16, retry_after: Option<Duration> },
    /// The connection ends after so many bytes of the answer.
    CutAfter(usize),
    /// Nothing comes for a while.
    Stall(Duration),
    /// Something comes that is no answer.
    Garbage,
    /// The server refuses the conversation for its length.
    TooLong,
}

/// Why a playbook could not be read from a file.
#[derive(Debug, thiserror::Error)]
pub enum PlaybookError {
    #[error("cannot read {}: {source}", path.display())]
    Io { path: std::path::PathBuf, source: std::io::Error },
    #[error("{} has {}", path.display(), summary(mistakes))]
    Wrong { path: std::path::PathBuf, mistakes: Vec<Mistake> },
}

fn summary(mistakes: &[Mistake]) -> String {
    match mistakes {
        [] => "no mistakes".to_owned(),
        [only] => format!("a mistake: {only}"),
        [first, ..] => format!("{} mistakes; the first: {first}", mistakes.len()),
    }
}

impl Playbook {
    /// Reads a playbook, or finds everything that is wrong with it.
    pub fn parse(text: &str) -> Result<Self, Vec<Mistake>> {
        reading::playbook(text)
    }

    pub fn load(path: &Path) -> Result<Self, PlaybookError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| PlaybookError::Io { path: path.to_owned(), source })?;
        Self::parse(&text)
            .map_err(|mistakes| PlaybookError::Wrong { path: path.to_owned(), mistakes })
    }

    /// The actor who plays this caller: the first in the file.
    pub fn actor_of(&self, caller: &Caller) -> Option<usize> {
        self.actors.iter().position(|actor| actor.who.plays(caller))
    }
}

impl Who {
    pub fn plays(&self, caller: &Caller) -> bool {
        let fork = caller.purpose == Purpose::Fork || caller.agent == "fork";
        let turn = caller.purpose == Purpose::Turn && !fork;
        match self {
            Self::Named(name) => turn && name.matches(&caller.agent),
            Self::Kind(kind) => {
                let matches = |own: &String| kind.matches(&own.to_lowercase());
                turn && caller.agent_type.as_ref().is_some_and(matches)
            }
            Self::Fork => fork && matches!(caller.purpose, Purpose::Turn | Purpose::Fork),
            Self::Internal(purpose) => match caller.purpose {
                Purpose::Turn | Purpose::Fork => false,
                Purpose::Compact
                | Purpose::Title
                | Purpose::Summary
                | Purpose::SideQuestion
                | Purpose::Memory => purpose.matches(caller.purpose.as_str()),
            },
        }
    }
}

impl std::fmt::Display for Who {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Named(name) => f.write_str(name.as_str()),
            Self::Kind(kind) => write!(f, "type:{}", kind.as_str()),
            Self::Fork => f.write_str("fork"),
            Self::Internal(purpose) => write!(f, "internal:{}", purpose.as_str()),
        }
    }
}

impl Glob {
    pub fn new(pattern: impl Into<String>) -> Self {
        Self(pattern.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn matches(&self, word: &str) -> bool {
        let Some((head, rest)) = self.0.split_once('*') else { return self.0 == word };
        let Some(mut left) = word.strip_prefix(head) else { return false };
        let mut parts: Vec<&str> = rest.split('*').collect();
        let tail = parts.pop().unwrap_or_default();
        for part in parts {
            match left.find(part) {
                Some(at) => left = &left[at + part.len()..],
                None => return false,
            }
        }
        left.ends_with(tail)
    }
}

impl When {
    pub fn is_always(&self) -> bool {
        let Self { user, result_of, error_of, mail_from, matching } = self;
        user.is_none()
            && result_of.is_none()
            && error_of.is_none()
            && mail_from.is_none()
            && matching.is_none()
    }

    /// The names that its patterns give to what they found.
    pub fn groups(&self) -> impl Iterator<Item = &str> {
        let patterns = self.user.iter().chain(&self.matching);
        patterns.flat_map(|pattern| pattern.capture_names().flatten())
    }
}

impl Pace {
    pub fn new(per_second: u32) -> Self {
        if per_second == 0 { Self::AtOnce } else { Self::PerSecond(per_second) }
    }

    /// When so many characters have been written, from the first on.
    pub fn time_of(self, characters: usize) -> Duration {
        match self {
            Self::AtOnce => Duration::ZERO,
            Self::PerSecond(rate) => {
                let micros = (characters as u64).saturating_mul(1_000_000) / u64::from(rate);
                Duration::from_micros(micros)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        let table = [
            ("scout", "scout", true),
            ("scout", "scouts", false),
            ("*", "", true),
            ("worker-*", "worker-12", true),
            ("worker-*", "co-worker-1", false),
            ("*-*-x", "a-b-x", true),
            ("*-*-x", "a-x", false),
            ("a*a", "a", false),
            ("a*b*a", "aba", true),
        ];
        for (glob, word, expected) in table {
            assert_eq!(Glob::new(glob).matches(word), expected, "{glob} {word}");
        }
    }
}
