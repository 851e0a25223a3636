//! What can be changed about a task, and how a change is written into its document.

use serde_json::{Map, Value};

use crate::protocol::graph::Edge;
use crate::protocol::ids::{AgentName, TaskId};
use crate::protocol::json::Json;
use crate::protocol::task::{Status, TASK_KEYS, Task};

/// What a new task is made of.
#[derive(Debug, Clone, Default)]
pub struct NewTask {
    pub subject: String,
    pub description: String,
    pub active_form: Option<String>,
    pub blocked_by: Vec<TaskId>,
    pub metadata: Option<Map<String, Value>>,
}

/// What to change about a task. What is not mentioned stays.
#[derive(Debug, Clone, Default)]
pub struct TaskPatch {
    pub subject: Option<String>,
    pub description: Option<String>,
    pub active_form: Option<String>,
    pub status: Option<Status>,
    pub owner: Option<Owner>,
    pub add_blocks: Vec<TaskId>,
    pub add_blocked_by: Vec<TaskId>,
    /// Merged into what is there; `null` deletes a key.
    pub metadata: Option<Map<String, Value>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    Nobody,
    Agent(AgentName),
    /// Whoever begins with it, if it is nobody's yet.
    Taker(AgentName),
}

/// The edges of a task that gets these neighbours, each once.
pub(super) fn edges(id: &TaskId, blocks: &[TaskId], blocked_by: &[TaskId]) -> Vec<Edge> {
    let after = blocks.iter().map(|other| Edge { blocker: id.clone(), waiting: other.clone() });
    let before =
        blocked_by.iter().map(|other| Edge { blocker: other.clone(), waiting: id.clone() });
    let mut edges: Vec<Edge> = Vec::new();
    for edge in after.chain(before) {
        if !edges.contains(&edge) {
            edges.push(edge);
        }
    }
    edges
}

pub(super) fn add_ids<'i>(
    document: &mut Json,
    key: &str,
    ids: impl IntoIterator<Item = &'i TaskId>,
) {
    let mut ids = ids.into_iter().peekable();
    if ids.peek().is_none() {
        return;
    }
    if document.get(key).is_none_or(|list| !matches!(list, Json::Array(_))) {
        document.set(key, Json::Array(Vec::new()), TASK_KEYS);
    }
    let Some(list) = document.get_mut(key).and_then(Json::items_mut) else { return };
    for id in ids {
        if !list.iter().any(|known| names(known, id)) {
            list.push(Json::from(id.as_str()));
        }
    }
}

pub(super) fn keep_ids(document: &mut Json, key: &str, keep: impl Fn(&TaskId) -> bool) {
    if let Some(list) = document.get_mut(key).and_then(Json::items_mut) {
        list.retain(|entry| entry.read::<TaskId>().is_ok_and(|id| keep(&id)));
    }
}

fn names(entry: &Json, id: &TaskId) -> bool {
    entry.read::<TaskId>().is_ok_and(|known| known == *id)
}

/// Writes the plain fields of a patch into a task's document.
pub(super) fn apply(document: &mut Json, task: &Task, patch: &TaskPatch) {
    let texts = [
        ("subject", &patch.subject),
        ("description", &patch.description),
        ("activeForm", &patch.active_form),
    ];
    for (key, text) in texts {
        if let Some(text) = text {
            document.set(key, Json::from(text.as_str()), TASK_KEYS);
        }
    }
    match &patch.owner {
        Some(Owner::Agent(agent)) => document.set("owner", Json::from(agent.as_str()), TASK_KEYS),
        Some(Owner::Taker(agent)) if task.owner().is_none() => {
            document.set("owner", Json::from(agent.as_str()), TASK_KEYS);
        }
        Some(Owner::Nobody) => document.remove("owner"),
        Some(Owner::Taker(_)) | None => {}
    }
    if let Some(status) = patch.status.filter(|status| *status != task.status) {
        document.set("status", Json::from(status.as_str()), TASK_KEYS);
    }
    let Some(metadata) = &patch.metadata else { return };
    if document.get("metadata").is_none_or(|known| !matches!(known, Json::Object(_))) {
        document.set("metadata", Json::Object(Vec::new()), TASK_KEYS);
    }
    let Some(known) = document.get_mut("metadata") else { return };
    for (key, value) in metadata {
        if value.is_null() {
            known.remove(key);
        } else {
            known.set(key, Json::of(value), &[]);
        }
    }
}

pub(super) fn differences(before: &Task, after: &Task) -> Vec<&'static str> {
    let pairs = [
        ("subject", before.subject != after.subject),
        ("description", before.description != after.description),
        ("activeForm", before.active_form != after.active_form),
        ("owner", before.owner != after.owner),
        ("status", before.status != after.status),
        ("blocks", before.blocks != after.blocks),
        ("blockedBy", before.blocked_by != after.blocked_by),
        ("metadata", before.metadata != after.metadata),
    ];
    pairs.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}
