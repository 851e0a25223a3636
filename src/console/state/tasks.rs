//! The shared tasks as the console knows them: folded from events, with what the person has
//! selected. What follows from the tasks (order, claims, the critical path) is asked, not kept.

use std::collections::BTreeMap;

use crate::protocol::event::{Event, Fact};
use crate::protocol::graph::TaskSet;
use crate::protocol::ids::TaskId;
use crate::protocol::liveness;
use crate::protocol::task::{Status, Task};
use crate::protocol::time::Stamp;

pub mod dialog;
pub mod outline;

pub use dialog::TaskDialog;
pub use outline::{Row, Turn};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tasks {
    set: TaskSet,
    /// Grows with every change of the tasks: what is laid out is kept by it.
    revision: u64,
    /// Since when each has its status.
    since: BTreeMap<TaskId, Stamp>,
    pub selected: Option<TaskId>,
    /// Whether the chain that decides about the end is marked.
    pub shows_path: bool,
    /// How far the drawing was moved by hand, away from where it shows the selected task.
    pub pan: Pan,
    /// What lies over the tasks.
    pub dialog: Option<TaskDialog>,
}

/// A distance on the drawing, in cells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pan {
    pub x: i32,
    pub y: i32,
}

/// How far a task is, as the person needs to know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    Done,
    Working,
    /// Nobody has it and nothing stands in its way.
    Ready,
    /// Somebody has it and did not begin.
    Taken,
    Blocked(Vec<TaskId>),
    /// A status of another program.
    Foreign,
}

/// Whether whoever has a task still works on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    Held,
    /// The owner ended, left, or was never there.
    Gone,
    Failed,
    Silent {
        seconds: u64,
    },
}

impl Claim {
    pub fn is_stale(&self) -> bool {
        *self != Self::Held
    }
}

impl Tasks {
    pub fn absorb(&mut self, event: &Event) {
        match &event.fact {
            Fact::TaskChanged { task } => self.put(task.clone(), event.at),
            Fact::TaskDeleted { id } => self.remove(id),
            // Every team has a list of its own.
            Fact::TeamCreated { .. } | Fact::TeamDeleted { .. } => self.clear(),
            Fact::AgentStarted { .. }
            | Fact::AgentEnded { .. }
            | Fact::Queued { .. }
            | Fact::TurnStarted
            | Fact::Heard { .. }
            | Fact::Speaking { .. }
            | Fact::Thinking { .. }
            | Fact::Restarted { .. }
            | Fact::Retrying { .. }
            | Fact::Spoke { .. }
            | Fact::TurnEnded { .. }
            | Fact::Compacted { .. }
            | Fact::ModeChanged { .. }
            | Fact::WentIdle { .. }
            | Fact::Paused
            | Fact::Unpaused
            | Fact::MemberJoined { .. }
            | Fact::MemberLeft { .. }
            | Fact::MailSent { .. }
            | Fact::Asked { .. }
            | Fact::Settled { .. }
            | Fact::Decided { .. }
            | Fact::ToolStarted { .. }
            | Fact::ToolOutput { .. }
            | Fact::ToolEnded { .. }
            | Fact::Granted { .. }
            | Fact::Revoked { .. }
            | Fact::Notice { .. }
            | Fact::Unknown(_) => {}
        }
    }

    fn put(&mut self, task: Task, at: Stamp) {
        let before = self.set.get(&task.id).map(|known| known.status);
        if before != Some(task.status) {
            self.since.insert(task.id.clone(), at);
        }
        if self.selected.is_none() && !task.is_internal() {
            self.selected = Some(task.id.clone());
        }
        self.set.put(task);
        self.revision += 1;
    }

    /// A dialog about a task that is gone has nothing left to ask.
    fn close_orphan(&mut self) {
        let about = self.dialog.as_ref().and_then(TaskDialog::task);
        if about.is_some_and(|id| self.set.get(id).is_none()) {
            self.dialog = None;
        }
    }

    fn remove(&mut self, id: &TaskId) {
        let order = self.order();
        let next = order.iter().position(|known| known == id).map(|at| {
            let beside = order.get(at + 1).or_else(|| order.get(at.checked_sub(1)?));
            beside.cloned()
        });
        if self.set.remove(id).is_none() {
            return;
        }
        self.since.remove(id);
        if self.selected.as_ref() == Some(id) {
            self.selected = next.flatten();
        }
        self.close_orphan();
        self.revision += 1;
    }

    fn clear(&mut self) {
        *self =
            Self { revision: self.revision + 1, shows_path: self.shows_path, ..Self::default() };
    }

    pub fn set(&self) -> &TaskSet {
        &self.set
    }

    pub fn revision(&self) -> u64 {
        self.revision
    }

    pub fn get(&self, id: &TaskId) -> Option<&Task> {
        self.set.get(id)
    }

    pub fn selected(&self) -> Option<&Task> {
        self.selected.as_ref().and_then(|id| self.set.get(id))
    }

    /// Those that people see: not the bookkeeping of other programs.
    pub fn shown(&self) -> impl Iterator<Item = &Task> {
        self.set.iter().filter(|task| !task.is_internal())
    }

    pub fn is_empty(&self) -> bool {
        self.shown().next().is_none()
    }

    /// How many are completed, of how many.
    pub fn counts(&self) -> (usize, usize) {
        let done = self.shown().filter(|task| !task.is_open()).count();
        (done, self.shown().count())
    }

    /// Since when a task has its status.
    pub fn since(&self, id: &TaskId) -> Option<Stamp> {
        self.since.get(id).copied()
    }

    /// The indented list: what must be done first stands above.
    pub fn outline(&self) -> Vec<Row> {
        outline::of(&self.set)
    }

    /// The ids in the order of the list.
    pub fn order(&self) -> Vec<TaskId> {
        self.outline().into_iter().map(|row| row.id).collect()
    }

    /// Moves the selection along the list.
    pub fn step(&mut self, by: isize) {
        let order = self.order();
        let here = self.selected.as_ref().and_then(|id| order.iter().position(|one| one == id));
        let last = order.len().saturating_sub(1);
        let to = here.map_or(0, |at| at.saturating_add_signed(by).min(last));
        self.select(order.into_iter().nth(to));
    }

    pub fn select(&mut self, id: Option<TaskId>) {
        self.selected = id;
        self.pan = Pan::default();
    }

    pub fn stage(&self, task: &Task) -> Stage {
        match task.status {
            Status::Completed => Stage::Done,
            Status::InProgress => Stage::Working,
            Status::Other => Stage::Foreign,
            Status::Pending => {
                let blockers = self.set.open_blockers(&task.id);
                match (blockers.is_empty(), task.owner()) {
                    (false, _) => Stage::Blocked(blockers),
                    (true, Some(_)) => Stage::Taken,
                    (true, None) => Stage::Ready,
                }
            }
        }
    }

    /// Whether the owner of a task still works on it, given what is known of them. `None` where
    /// nobody has it, or nothing is left to do.
    pub fn claim(&self, task: &Task, owner: Option<&liveness::State>) -> Option<Claim> {
        task.owner().filter(|_| task.is_open())?;
        Some(match owner {
            None | Some(liveness::State::Ended) => Claim::Gone,
            Some(liveness::State::Failed(_)) => Claim::Failed,
            Some(liveness::State::Stalled { seconds }) => Claim::Silent { seconds: *seconds },
            Some(
                liveness::State::Working
                | liveness::State::WaitingForYou
                | liveness::State::WaitingForPeer(_)
                | liveness::State::Idle
                | liveness::State::Retrying { .. }
                | liveness::State::Paused,
            ) => Claim::Held,
        })
    }
}
