//! What can go wrong with the files, in words a person can act on.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::protocol::graph::GraphError;
use crate::protocol::ids::{AgentName, AskId, BadName, SessionId, TaskId, TeamName};
use crate::protocol::json::JsonError;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("cannot {action} {}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error("{} is broken: {source}", path.display())]
    Broken { path: PathBuf, source: Damage },
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Name(#[from] BadName),
    #[error("there is already a team in {}; choose another name or delete it first", dir.display())]
    TeamExists { dir: PathBuf },
    #[error("there is no team `{name}`{}", known_teams(known))]
    NoTeam { name: String, known: Vec<String> },
    #[error("team `{team}` has no member `{name}`; its members are: {}", known.join(", "))]
    NoMember { team: TeamName, name: AgentName, known: Vec<String> },
    #[error("the lead stays as long as its team; delete the team instead")]
    LeadStays,
    #[error(
        "team `{team}` still has {} member(s): {}; let them leave first, or use --force",
        names.len(), names.join(", ")
    )]
    StillMembers { team: TeamName, names: Vec<String> },
    #[error("there is no task #{0}")]
    NoTask(TaskId),
    #[error("the ids of the list are used up: see the highest number in {}", path.display())]
    NoMoreIds { path: PathBuf },
    #[error("this could not be read back: {0}")]
    Unreadable(JsonError),
    #[error("this text would be taken for a `{0}` of the team's protocol; say it in words")]
    Forged(&'static str),
    #[error("another program has {} open", path.display())]
    InUse { path: PathBuf },
    #[error("the task list is gone, and its team with it")]
    NoList,
    #[error(transparent)]
    Graph(#[from] GraphError),
    #[error("session `{session}` is already running; end it first, or resume another one")]
    SessionRunning { session: SessionId },
    #[error("there is an ask `{0}` already; a new version of it is a revision")]
    AskExists(AskId),
}

/// Why a file does not count as what it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    #[error(transparent)]
    Json(#[from] JsonError),
    #[error("not text (byte {0} is not UTF-8)")]
    NotText(usize),
    #[error("{size} bytes, more than the {limit} that such a file may have")]
    TooLarge { size: u64, limit: u64 },
    #[error("a directory, or something else that is no file, is where a file should be")]
    NotAFile,
    #[error("JSON, but not an object")]
    NotAnObject,
    #[error("it holds {0}, which belongs in a file of another name")]
    Misplaced(String),
}

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error(
        "{} is locked by another program; the lock is {:.1} s old and we waited {:.1} s. \
         If nothing else uses it, remove it and try again",
        lock.display(), age.as_secs_f64(), waited.as_secs_f64()
    )]
    Held { lock: PathBuf, age: Duration, waited: Duration },
    #[error(
        "another process of ours has been writing ({what}) for {:.1} s and we waited {:.1} s; \
         try again, or see whether it hangs",
        age.as_secs_f64(), waited.as_secs_f64()
    )]
    Busy { what: String, age: Duration, waited: Duration },
    #[error("the lock {} was taken over while we held it; nothing more was written", lock.display())]
    Lost { lock: PathBuf },
    #[error("cannot lock {}: {source}", lock.display())]
    Io { lock: PathBuf, source: io::Error },
}

fn known_teams(known: &[String]) -> String {
    match known.is_empty() {
        true => "; create one with `quarterdeck team create NAME`".to_owned(),
        false => format!("; there are: {}", known.join(", ")),
    }
}

impl StoreError {
    pub fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), source }
    }

    pub fn broken(path: &Path, source: impl Into<Damage>) -> Self {
        Self::Broken { path: path.to_owned(), source: source.into() }
    }
}

/// Something in a file that was passed over so that the rest could be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub path: PathBuf,
    pub what: String,
}

impl Problem {
    pub fn new(path: &Path, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), what: what.into() }
    }
}

/// How many problems are kept; the rest is only counted.
const MOST_PROBLEMS: usize = 100;

/// What was passed over in one place.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Problems {
    /// The first hundred.
    pub first: Vec<Problem>,
    pub total: u64,
}

impl Problems {
    /// Counts one more; it is made only if it is kept.
    pub fn add(&mut self, problem: impl FnOnce() -> Problem) {
        self.total += 1;
        if self.first.len() < MOST_PROBLEMS {
            self.first.push(problem());
        }
    }

    pub fn is_empty(&self) -> bool {
        self.total == 0
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.what)
    }
}

impl StoreError {
    /// This error as something that was passed over; `path` is what was being read.
    pub fn problem_of(&self, path: &Path) -> Problem {
        if let Self::Broken { source, .. } = self {
            return Problem::new(path, format!("broken: {source}"));
        }
        if let Self::Io { action, source, .. } = self {
            return Problem::new(path, format!("cannot {action}: {source}"));
        }
        Problem::new(path, self.to_string())
    }
}
