//! What a person or a script may ask of a session.

use serde::{Deserialize, Serialize};

use super::ask::Verdict;
use super::ids::{AgentId, AskId};

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
    /// A call returns while what it started goes on in the background.
    Background {
        use_id: String,
    },
    /// The conversation is replaced by a summary of itself.
    Compact {
        agent: AgentId,
        /// What the summary should mind.
        wishes: Option<String>,
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
