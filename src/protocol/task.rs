//! A task of a shared list: what is read from `tasks/<team>/<id>.json`.
//!
//! This is the typed view. Writing an existing task patches its document (`store::tasks`), so
//! fields that we do not know survive.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ids::{AgentName, TaskId};
use super::json::or_default;

/// The order of keys in a task file.
pub const TASK_KEYS: &[&str] = &[
    "id",
    "subject",
    "description",
    "activeForm",
    "owner",
    "status",
    "blocks",
    "blockedBy",
    "metadata",
];

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    pub id: TaskId,
    #[serde(default, deserialize_with = "or_default")]
    pub subject: String,
    #[serde(default, deserialize_with = "or_default")]
    pub description: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<AgentName>,
    #[serde(default, deserialize_with = "or_default")]
    pub status: Status,
    #[serde(default, deserialize_with = "or_default")]
    pub blocks: Vec<TaskId>,
    #[serde(default, deserialize_with = "or_default")]
    pub blocked_by: Vec<TaskId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    #[default]
    Pending,
    InProgress,
    Completed,
    /// A word of another program. Such a task is open, and nobody's to claim.
    #[serde(other, rename = "unknown")]
    Other,
}

impl Status {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Other => "unknown",
        }
    }
}

impl Task {
    /// Not completed: it still blocks what waits for it.
    pub fn is_open(&self) -> bool {
        self.status != Status::Completed
    }

    /// Bookkeeping of other programs (one per teammate they spawn), hidden from lists.
    pub fn is_internal(&self) -> bool {
        let mark = self.metadata.as_ref().and_then(|metadata| metadata.get("_internal"));
        mark == Some(&Value::Bool(true))
    }

    /// Some programs write an empty owner instead of none.
    pub fn owner(&self) -> Option<&AgentName> {
        self.owner.as_ref().filter(|owner| !owner.as_str().is_empty())
    }
}

/// Why a claim was refused; the words are the ecosystem's.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    NotFound,
    AlreadyClaimed(AgentName),
    AlreadyResolved,
    Blocked(Vec<TaskId>),
    /// Another program gave it a status that we do not know.
    ForeignStatus,
    /// The claimer has another open task (only where the caller asked to be told).
    AgentBusy(Vec<TaskId>),
}

impl Refusal {
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::NotFound => "task_not_found",
            Self::AlreadyClaimed(_) => "already_claimed",
            Self::AlreadyResolved => "already_resolved",
            Self::Blocked(_) => "blocked",
            Self::ForeignStatus => "unknown_status",
            Self::AgentBusy(_) => "agent_busy",
        }
    }
}

/// A list of ids for people: `#1, #2`.
pub fn id_list<'a>(ids: impl IntoIterator<Item = &'a TaskId>) -> String {
    let ids: Vec<String> = ids.into_iter().map(|id| format!("#{id}")).collect();
    ids.join(", ")
}
