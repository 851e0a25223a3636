//! What was looked at, how it is, and what would put it right.

use std::path::PathBuf;

use crate::protocol::ids::{AgentName, TaskId, TeamDir};

pub struct Finding {
    pub area: &'static str,
    pub state: State,
    pub what: String,
    pub cure: Option<Cure>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Fine,
    /// Works, but might be better or is good to know.
    Note,
    Wrong,
}

pub struct Cure {
    /// What is done, as a wish: "remove it".
    pub words: String,
    /// Something that somebody wrote would be gone.
    pub asks: bool,
    pub deed: Deed,
}

pub enum Deed {
    /// A lock directory of nobody, beside the file that it locks.
    Unlock {
        domain: Vec<String>,
        target: PathBuf,
    },
    Remove(PathBuf),
    /// Renamed to `<name>.broken-<time>`, inside its domain.
    SetAside {
        domain: Vec<String>,
        path: PathBuf,
    },
    /// What is whole stays in the inbox, the rest is set aside.
    Rescue {
        team: TeamDir,
        agent: AgentName,
    },
    Idle {
        team: TeamDir,
        name: AgentName,
    },
    Release {
        list: TeamDir,
        task: TaskId,
    },
    Unassign {
        list: TeamDir,
        agent: AgentName,
    },
    DeleteTeam(TeamDir),
    Worktree {
        repo: PathBuf,
        name: String,
    },
    Pane(String),
}

impl State {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::Note => "note",
            Self::Wrong => "problem",
        }
    }
}

impl Finding {
    pub fn fine(area: &'static str, what: impl Into<String>) -> Self {
        Self { area, state: State::Fine, what: what.into(), cure: None }
    }

    pub fn note(area: &'static str, what: impl Into<String>) -> Self {
        Self { area, state: State::Note, what: what.into(), cure: None }
    }

    /// Something that only the person can put right.
    pub fn wrong(area: &'static str, what: impl Into<String>) -> Self {
        Self { area, state: State::Wrong, what: what.into(), cure: None }
    }

    #[must_use]
    pub fn with(mut self, words: impl Into<String>, deed: Deed) -> Self {
        self.cure = Some(Cure { words: words.into(), asks: false, deed });
        self
    }

    /// As `with`, for a deed after which something that somebody wrote is gone.
    #[must_use]
    pub fn asking(mut self, words: impl Into<String>, deed: Deed) -> Self {
        self.cure = Some(Cure { words: words.into(), asks: true, deed });
        self
    }
}
