//! What lies over the tasks while the person changes one.

use std::collections::BTreeSet;

use crate::console::keys::Context;
use crate::console::state::editor::Editor;
use crate::protocol::ids::TaskId;
use crate::protocol::task::Status;

#[derive(Debug, Clone, PartialEq)]
pub enum TaskDialog {
    Details { id: TaskId, scroll: usize },
    Status { id: TaskId, at: usize },
    Blockers(Blockers),
    New(Box<NewTask>),
    Delete { id: TaskId },
}

/// The statuses that can be given, with the letter that gives each.
pub const STATUSES: &[(char, Status, &str)] = &[
    ('p', Status::Pending, "pending"),
    ('i', Status::InProgress, "in progress"),
    ('c', Status::Completed, "completed"),
];

/// Which tasks a task waits for, while that is being chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Blockers {
    pub id: TaskId,
    pub chosen: BTreeSet<TaskId>,
    /// Which line of those that are offered.
    pub at: usize,
    /// Why the last choice cannot be.
    pub refused: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct NewTask {
    pub subject: Editor,
    pub description: Editor,
    pub in_description: bool,
    /// It waits for the task that was selected.
    pub after: Option<TaskId>,
    pub waits: bool,
}

impl NewTask {
    pub fn field(&mut self) -> &mut Editor {
        if self.in_description { &mut self.description } else { &mut self.subject }
    }
}

impl TaskDialog {
    /// Where its keys are read.
    pub const fn contexts(&self) -> &'static [Context] {
        match self {
            Self::Details { .. } => &[Context::Sheet],
            Self::Status { .. } | Self::Blockers(_) | Self::Delete { .. } => &[Context::List],
            // What a list does not mean is editing.
            Self::New(_) => &[Context::List, Context::Composer],
        }
    }

    /// The task that it is about.
    pub fn task(&self) -> Option<&TaskId> {
        match self {
            Self::Details { id, .. } | Self::Status { id, .. } | Self::Delete { id } => Some(id),
            Self::Blockers(blockers) => Some(&blockers.id),
            Self::New(_) => None,
        }
    }
}
