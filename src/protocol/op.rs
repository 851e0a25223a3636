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
}

/// How urgent a message to an agent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum When {
    /// Interrupts what the agent does.
    Now,
    /// At its next safe boundary.
    Next,
    /// When it has nothing else to do.
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
