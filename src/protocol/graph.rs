//! The graph of a task list: which tasks wait for which. Pure functions over a set of tasks.
//!
//! An edge counts when either of its ends names it: a list that was interrupted in the middle of
//! a change, or written by a program that keeps one side only, reads the same as a whole one.

use std::collections::{BTreeMap, BTreeSet};

use super::ids::TaskId;
use super::task::{Status, Task, id_list};

/// Why a dependency cannot be added.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    #[error("there is no task #{0}")]
    Unknown(TaskId),
    #[error("that would be a cycle: {}", path(.0))]
    Cycle(Vec<TaskId>),
}

fn path(cycle: &[TaskId]) -> String {
    let steps: Vec<String> = cycle.iter().map(|id| format!("#{id}")).collect();
    steps.join(" → ")
}

/// Who blocks whom among the tasks of one list. Ids that no task has are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Graph {
    blockers: BTreeMap<TaskId, BTreeSet<TaskId>>,
    blocked: BTreeMap<TaskId, BTreeSet<TaskId>>,
}

impl Graph {
    pub fn of<'a>(tasks: impl IntoIterator<Item = &'a Task> + Clone) -> Self {
        let known: BTreeSet<&TaskId> = tasks.clone().into_iter().map(|task| &task.id).collect();
        let mut graph = Self::default();
        for id in &known {
            graph.blockers.entry((*id).clone()).or_default();
            graph.blocked.entry((*id).clone()).or_default();
        }
        for task in tasks {
            for blocker in task.blocked_by.iter().filter(|id| known.contains(id)) {
                graph.link(blocker, &task.id);
            }
            for waiting in task.blocks.iter().filter(|id| known.contains(id)) {
                graph.link(&task.id, waiting);
            }
        }
        graph
    }

    fn link(&mut self, blocker: &TaskId, waiting: &TaskId) {
        self.blockers.entry(waiting.clone()).or_default().insert(blocker.clone());
        self.blocked.entry(blocker.clone()).or_default().insert(waiting.clone());
    }

    /// What `id` waits for, finished or not.
    pub fn blockers(&self, id: &TaskId) -> impl Iterator<Item = &TaskId> {
        self.blockers.get(id).into_iter().flatten()
    }

    /// What waits for `id`.
    pub fn blocked(&self, id: &TaskId) -> impl Iterator<Item = &TaskId> {
        self.blocked.get(id).into_iter().flatten()
    }

    /// Adds `blocker` → `waiting`, or says why not.
    pub fn add(&mut self, blocker: &TaskId, waiting: &TaskId) -> Result<(), GraphError> {
        for id in [blocker, waiting] {
            if !self.blockers.contains_key(id) {
                return Err(GraphError::Unknown(id.clone()));
            }
        }
        if let Some(mut way) = self.way(waiting, blocker) {
            way.push(waiting.clone());
            return Err(GraphError::Cycle(way));
        }
        self.link(blocker, waiting);
        Ok(())
    }

    /// A way along the edges, both ends included.
    fn way(&self, from: &TaskId, to: &TaskId) -> Option<Vec<TaskId>> {
        let mut came_from: BTreeMap<&TaskId, &TaskId> = BTreeMap::new();
        let mut open = vec![from];
        while let Some(here) = open.pop() {
            if here == to {
                let mut way = vec![here.clone()];
                let mut at = here;
                while at != from {
                    at = came_from.get(at)?;
                    way.push(at.clone());
                }
                way.reverse();
                return Some(way);
            }
            for next in self.blocked(here) {
                if next != from && !came_from.contains_key(next) {
                    came_from.insert(next, here);
                    open.push(next);
                }
            }
        }
        None
    }

    /// All ids so that blockers come before what they block, lower ids first where both may.
    /// Ids on a cycle (other programs allow them) come last, in their order.
    pub fn in_order(&self) -> Vec<TaskId> {
        let mut waiting: BTreeMap<&TaskId, usize> =
            self.blockers.iter().map(|(id, blockers)| (id, blockers.len())).collect();
        let mut ready: BTreeSet<&TaskId> =
            waiting.iter().filter(|(_, left)| **left == 0).map(|(id, _)| *id).collect();
        let mut order = Vec::with_capacity(waiting.len());
        while let Some(id) = ready.pop_first() {
            waiting.remove(id);
            order.push(id.clone());
            for next in self.blocked(id) {
                if let Some(left) = waiting.get_mut(next) {
                    *left -= 1;
                    if *left == 0 {
                        ready.insert(next);
                    }
                }
            }
        }
        order.extend(waiting.into_keys().cloned());
        order
    }
}

/// A set of tasks with the questions that people and agents ask of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskSet {
    tasks: BTreeMap<TaskId, Task>,
    graph: Graph,
}

impl TaskSet {
    pub fn new(tasks: impl IntoIterator<Item = Task>) -> Self {
        let tasks: BTreeMap<TaskId, Task> =
            tasks.into_iter().map(|task| (task.id.clone(), task)).collect();
        let graph = Graph::of(tasks.values());
        Self { tasks, graph }
    }

    pub fn get(&self, id: &TaskId) -> Option<&Task> {
        self.tasks.get(id)
    }

    /// By id.
    pub fn iter(&self) -> impl Iterator<Item = &Task> {
        self.tasks.values()
    }

    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Blockers of `id` that are not completed. Completing a task does not change the files of
    /// those that wait for it, so this is the only meaning of "blocked".
    pub fn open_blockers(&self, id: &TaskId) -> Vec<TaskId> {
        let open = |id: &&TaskId| self.get(id).is_some_and(Task::is_open);
        self.graph.blockers(id).filter(open).cloned().collect()
    }

    /// Free to be claimed: pending, nobody's, nothing open before it.
    pub fn is_ready(&self, task: &Task) -> bool {
        task.status == Status::Pending
            && task.owner().is_none()
            && !task.is_internal()
            && self.open_blockers(&task.id).is_empty()
    }

    /// One line as lists show it: `#3 [pending] Task C (alice) [blocked by #1, #2]`.
    pub fn line(&self, task: &Task) -> String {
        let owner = task.owner().map(|owner| format!(" ({owner})")).unwrap_or_default();
        let open = self.open_blockers(&task.id);
        let blocked = match open.is_empty() {
            true => String::new(),
            false => format!(" [blocked by {}]", id_list(&open)),
        };
        format!("#{} [{}] {}{owner}{blocked}", task.id, task.status.as_str(), task.subject)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(id: u64, blocked_by: &[u64], status: Status) -> Task {
        Task {
            id: TaskId::from(id),
            subject: format!("Task {id}"),
            description: String::new(),
            active_form: None,
            owner: None,
            status,
            blocks: Vec::new(),
            blocked_by: blocked_by.iter().copied().map(TaskId::from).collect(),
            metadata: None,
        }
    }

    fn ids(ids: &[u64]) -> Vec<TaskId> {
        ids.iter().copied().map(TaskId::from).collect()
    }

    #[test]
    fn a_cycle_is_refused_and_named() {
        let tasks = [
            task(1, &[], Status::Pending),
            task(2, &[1], Status::Pending),
            task(3, &[2], Status::Pending),
        ];
        let mut graph = Graph::of(&tasks);
        let refused = graph.add(&TaskId::from(3), &TaskId::from(1)).unwrap_err();
        assert_eq!(refused.to_string(), "that would be a cycle: #1 → #2 → #3 → #1");
        let alone = graph.add(&TaskId::from(2), &TaskId::from(2)).unwrap_err();
        assert_eq!(alone.to_string(), "that would be a cycle: #2 → #2");
        let unknown = graph.add(&TaskId::from(9), &TaskId::from(2)).unwrap_err();
        assert_eq!(unknown.to_string(), "there is no task #9");
        assert_eq!(graph, Graph::of(&tasks), "a refused edge changes nothing");
    }

    #[test]
    fn blockers_come_first_and_cycles_do_not_hide_anyone() {
        let tasks = [
            task(1, &[4], Status::Pending),
            task(2, &[], Status::Pending),
            task(3, &[1, 2], Status::Pending),
            task(4, &[], Status::Pending),
            task(5, &[6], Status::Pending),
            task(6, &[5], Status::Pending),
        ];
        assert_eq!(Graph::of(&tasks).in_order(), ids(&[2, 4, 1, 3, 5, 6]));
    }

    #[test]
    fn blocked_means_an_open_blocker_however_the_files_say_it() {
        let mut one = task(1, &[], Status::Completed);
        one.blocks = ids(&[3]);
        let mut two = task(2, &[], Status::InProgress);
        two.blocks = ids(&[3]);
        // 3 itself names a finished blocker and one that is gone; 2 is named from the other side.
        let set = TaskSet::new([one, two, task(3, &[1, 77], Status::Pending)]);
        let three = set.get(&TaskId::from(3)).unwrap();
        assert_eq!(set.open_blockers(&three.id), ids(&[2]));
        assert!(!set.is_ready(three));
        assert_eq!(set.line(three), "#3 [pending] Task 3 [blocked by #2]");
    }
}
