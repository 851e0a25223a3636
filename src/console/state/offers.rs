//! What the person can choose from beyond the session itself: kinds of agents, models, words of
//! their own, worktrees, sessions. Looked up outside and brought here.

use std::sync::Arc;

use crate::agent::recipes::Recipe;
use crate::protocol::ids::SessionId;
use crate::protocol::time::Stamp;

#[derive(Debug, Clone, Default)]
pub struct Offers {
    /// The kinds of agents that can be started.
    pub kinds: Vec<String>,
    /// Names of models.
    pub models: Vec<String>,
    /// The person's own commands and skills.
    pub recipes: Arc<[Recipe]>,
    /// Worktrees that agents left behind, once they were looked up.
    pub trees: Option<Vec<Tree>>,
}

/// A line of what was found on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    pub kind: CheckedKind,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckedKind {
    /// The name of what was looked at.
    Area,
    Fine,
    /// Works, but might be better or is good to know.
    Note,
    Wrong,
    /// What would put it right.
    Cure,
    /// The sum of it.
    End,
}

/// A worktree of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    pub name: String,
    pub branch: String,
    pub path: String,
    /// What is in it, or why that cannot be told.
    pub state: String,
}

/// An earlier session of this project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Past {
    pub id: SessionId,
    /// What was said first in it.
    pub first: String,
    pub changed: Stamp,
    /// Somebody has it open.
    pub is_running: bool,
}
