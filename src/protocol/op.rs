//! What a person or a script may ask of a session.

use serde::{Deserialize, Serialize};

use super::ask::Verdict;
use super::ids::{AgentId, AgentName, AskId, TaskId};
use super::task::Status;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Op {
    Say {
        to: AgentId,
        text: String,
        when: When,
    },
    Answer {
        ask: AskId,
        /// The version of the question that was answered.
        rev: u32,
        verdict: Verdict,
    },
    Interrupt {
        agent: AgentId,
    },
    Stop {
        agent: AgentId,
    },
    Mode {
        agent: AgentId,
        mode: Mode,
    },
    /// Holds the agent at its next boundary, and lets it go on.
    Pause {
        agent: AgentId,
    },
    Unpause {
        agent: AgentId,
    },
    /// Starts a teammate, or one that failed or left again, from its transcript.
    Spawn {
        wish: Box<SpawnWish>,
    },
    /// Asks a teammate to end, as the lead would.
    Shutdown {
        agent: AgentId,
        reason: String,
    },
    /// A change of the shared tasks.
    Task {
        change: Box<TaskChange>,
    },
    /// A call returns while what it started goes on in the background.
    Background {
        use_id: String,
    },
    /// The agent thinks with another model from its next turn on.
    Model {
        agent: AgentId,
        model: String,
    },
    /// A subagent works for the agent in the background: one of this kind, or a branch of the
    /// agent's own conversation.
    Delegate {
        agent: AgentId,
        kind: Option<String>,
        /// A few words, for people.
        description: String,
        prompt: String,
    },
    /// The person's own command is said to the agent: what it runs and reads first.
    Recipe {
        agent: AgentId,
        name: String,
        arguments: String,
    },
    /// The conversation is replaced by a summary of itself.
    Compact {
        agent: AgentId,
        /// What the summary should mind.
        wishes: Option<String>,
    },
}

/// A teammate that the person wants.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SpawnWish {
    pub name: String,
    /// Empty for one that only goes on.
    pub prompt: String,
    /// The kind of agent; a general one without.
    pub kind: Option<String>,
    pub model: Option<String>,
    pub mode: Option<Mode>,
    pub worktree: bool,
}

/// What the person may do to the shared tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum TaskChange {
    Create {
        subject: String,
        description: String,
        blocked_by: Vec<TaskId>,
    },
    Reword {
        id: TaskId,
        subject: Option<String>,
        description: Option<String>,
    },
    Status {
        id: TaskId,
        status: Status,
    },
    /// Makes it somebody's, or nobody's.
    Assign {
        id: TaskId,
        owner: Option<AgentName>,
    },
    /// Exactly these tasks block it from now on.
    BlockedBy {
        id: TaskId,
        blockers: Vec<TaskId>,
    },
    Delete {
        id: TaskId,
    },
}

/// How urgent a message to an agent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum When {
    /// Interrupts what the agent does.
    Now,
    /// At its next safe boundary.
    Next,
    /// At its next safe boundary, behind everything else.
    Later,
}

/// How an agent is allowed to act; the names are those of the settings files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Mode {
    #[default]
    Default,
    AcceptEdits,
    Plan,
    BypassPermissions,
    DontAsk,
    Delegate,
    Bubble,
}
