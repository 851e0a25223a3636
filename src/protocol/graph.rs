//! The graph of a task list: which tasks wait for which. Pure functions over a set of tasks.
//!
//! An edge counts when either of its ends names it: a list that was interrupted in the middle of
//! a change, or written by a program that keeps one side only, reads the same as a whole one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

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

/// `blocker` must be completed before `waiting` can begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    pub blocker: TaskId,
    pub waiting: TaskId,
}

type Links = BTreeMap<TaskId, BTreeSet<TaskId>>;

/// The tasks of one list, with the questions that people and agents ask of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskSet {
    tasks: BTreeMap<TaskId, Arc<Task>>,
    /// Who waits for whom, both ways round; ids that no task has may be among them.
    blockers: Links,
    blocked: Links,
    /// Tasks that are there but cannot be read. Nobody knows that they are completed.
    unreadable: BTreeSet<TaskId>,
}

impl FromIterator<Task> for TaskSet {
    fn from_iter<I: IntoIterator<Item = Task>>(tasks: I) -> Self {
        let mut set = Self::default();
        tasks.into_iter().for_each(|task| set.put(task));
        set
    }
}

impl TaskSet {
    pub fn get(&self, id: &TaskId) -> Option<&Task> {
        self.tasks.get(id).map(Arc::as_ref)
    }

    /// By id.
    pub fn iter(&self) -> impl Iterator<Item = &Task> {
        self.tasks.values().map(Arc::as_ref)
    }

    /// Adds a task, or puts it in the place of its earlier version. Costs what its own edges
    /// cost, however long the list is.
    pub fn put(&mut self, task: Task) {
        self.remove(&task.id);
        self.unreadable.remove(&task.id);
        for edge in edges_of(&task) {
            self.blockers.entry(edge.waiting.clone()).or_default().insert(edge.blocker.clone());
            self.blocked.entry(edge.blocker).or_default().insert(edge.waiting);
        }
        self.tasks.insert(task.id.clone(), Arc::new(task));
    }

    /// Takes note of a task that is there but cannot be read.
    pub fn put_unreadable(&mut self, id: &TaskId) {
        self.remove(id);
        self.unreadable.insert(id.clone());
    }

    pub fn remove(&mut self, id: &TaskId) -> Option<Arc<Task>> {
        self.unreadable.remove(id);
        let gone = self.tasks.remove(id)?;
        for Edge { blocker, waiting } in edges_of(&gone) {
            let other = if blocker == *id { &waiting } else { &blocker };
            let still = self.tasks.get(other).is_some_and(|task| names(task, &blocker, &waiting));
            if !still {
                unlink(&mut self.blockers, &waiting, &blocker);
                unlink(&mut self.blocked, &blocker, &waiting);
            }
        }
        Some(gone)
    }

    /// What `id` waits for, finished or not.
    pub fn blockers(&self, id: &TaskId) -> impl Iterator<Item = &TaskId> {
        let named = self.blockers.get(id).into_iter().flatten();
        named.filter(|other| self.is_there(other))
    }

    /// What waits for `id`.
    pub fn blocked(&self, id: &TaskId) -> impl Iterator<Item = &TaskId> {
        let named = self.blocked.get(id).into_iter().flatten();
        named.filter(|other| self.is_there(other))
    }

    fn is_there(&self, id: &TaskId) -> bool {
        self.tasks.contains_key(id) || self.unreadable.contains(id)
    }

    /// Blockers of `id` that are not known to be completed. Completing a task does not change the files of
    /// those that wait for it, so this is the only meaning of "blocked".
    pub fn open_blockers(&self, id: &TaskId) -> Vec<TaskId> {
        let open = |id: &&TaskId| self.get(id).is_none_or(Task::is_open);
        self.blockers(id).filter(open).cloned().collect()
    }

    /// Free to be claimed: pending, nobody's, nothing open before it.
    pub fn is_ready(&self, task: &Task) -> bool {
        task.status == Status::Pending
            && task.owner().is_none()
            && !task.is_internal()
            && self.open_blockers(&task.id).is_empty()
    }

    /// Whether these edges may be added, all together.
    pub fn check(&self, new: &[Edge]) -> Result<(), GraphError> {
        for id in new.iter().flat_map(|edge| [&edge.blocker, &edge.waiting]) {
            if !self.is_there(id) {
                return Err(GraphError::Unknown(id.clone()));
            }
        }
        for (at, edge) in new.iter().enumerate() {
            // What this edge would close into a circle, given the ones before it.
            if let Some(mut way) = self.way(&edge.waiting, &edge.blocker, &new[..at]) {
                way.push(edge.waiting.clone());
                return Err(GraphError::Cycle(way));
            }
        }
        Ok(())
    }

    /// A way along the edges and the `extra` ones, both ends included.
    fn way(&self, from: &TaskId, to: &TaskId, extra: &[Edge]) -> Option<Vec<TaskId>> {
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
            let added = extra.iter().filter(|edge| edge.blocker == *here).map(|e| &e.waiting);
            for next in self.blocked(here).chain(added) {
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
            self.tasks.keys().map(|id| (id, self.blockers(id).count())).collect();
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

    /// The longest chain of open tasks, each waiting for the one before it: what decides when all
    /// is done. Tasks that wait for themselves, as other programs allow, belong to none.
    pub fn critical_path(&self) -> Vec<TaskId> {
        let mut chains: BTreeMap<TaskId, (usize, Option<TaskId>)> = BTreeMap::new();
        let mut longest: Option<(usize, TaskId)> = None;
        for id in self.in_order() {
            let counts = |task: &Task| task.is_open() && !task.is_internal();
            if !self.get(&id).is_some_and(counts) {
                continue;
            }
            let before = self.blockers(&id).filter_map(|other| Some((chains.get(other)?.0, other)));
            // Of equally long ones the lowest id: `max_by_key` would keep the last.
            let before = before.min_by_key(|(length, _)| usize::MAX - length);
            let length = before.map_or(1, |(length, _)| length + 1);
            if longest.as_ref().is_none_or(|(most, _)| length > *most) {
                longest = Some((length, id.clone()));
            }
            let before = before.map(|(_, other)| other.clone());
            chains.insert(id, (length, before));
        }
        let mut path: Vec<TaskId> = longest.map(|(_, end)| end).into_iter().collect();
        while let Some((_, Some(before))) = path.last().and_then(|last| chains.get(last)) {
            path.push(before.clone());
        }
        path.reverse();
        path
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

/// The edges that a task itself names.
fn edges_of(task: &Task) -> impl Iterator<Item = Edge> {
    let before =
        task.blocked_by.iter().map(|id| Edge { blocker: id.clone(), waiting: task.id.clone() });
    let after = task.blocks.iter().map(|id| Edge { blocker: task.id.clone(), waiting: id.clone() });
    before.chain(after)
}

fn names(task: &Task, blocker: &TaskId, waiting: &TaskId) -> bool {
    (task.id == *waiting && task.blocked_by.contains(blocker))
        || (task.id == *blocker && task.blocks.contains(waiting))
}

fn unlink(links: &mut Links, from: &TaskId, to: &TaskId) {
    if let Some(ends) = links.get_mut(from) {
        ends.remove(to);
        if ends.is_empty() {
            links.remove(from);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn task(id: u64, blocked_by: &[u64], status: Status) -> Task {
        Task {
            id: TaskId::from(id),
            subject: format!("Task {id}"),
            description: String::new(),
            active_form: None,
            owner: None,
            status,
            blocks: Vec::new(),
            blocked_by: ids(blocked_by),
            metadata: None,
        }
    }

    fn ids(ids: &[u64]) -> Vec<TaskId> {
        ids.iter().copied().map(TaskId::from).collect()
    }

    fn edge(blocker: u64, waiting: u64) -> Edge {
        Edge { blocker: TaskId::from(blocker), waiting: TaskId::from(waiting) }
    }

    #[test]
    fn a_cycle_is_refused_and_named() {
        let set: TaskSet = [(1, &[][..]), (2, &[1]), (3, &[2]), (4, &[])]
            .map(|(id, before)| task(id, before, Status::Pending))
            .into_iter()
            .collect();
        let refused = |edges: &[Edge]| set.check(edges).unwrap_err().to_string();
        assert_eq!(refused(&[edge(3, 1)]), "that would be a cycle: #1 → #2 → #3 → #1");
        assert_eq!(refused(&[edge(2, 2)]), "that would be a cycle: #2 → #2");
        assert_eq!(refused(&[edge(9, 2)]), "there is no task #9");
        let together = refused(&[edge(3, 4), edge(4, 1)]);
        assert_eq!(together, "that would be a cycle: #1 → #2 → #3 → #4 → #1");
        assert_eq!(set.check(&[edge(3, 4), edge(1, 4)]), Ok(()));
    }

    #[test]
    fn blockers_come_first_and_cycles_do_not_hide_anyone() {
        let set: TaskSet = [(1, &[4][..]), (2, &[]), (3, &[1, 2]), (4, &[]), (5, &[6]), (6, &[5])]
            .map(|(id, before)| task(id, before, Status::Pending))
            .into_iter()
            .collect();
        assert_eq!(set.in_order(), ids(&[2, 4, 1, 3, 5, 6]));
    }

    #[test]
    fn blocked_means_an_open_blocker_however_the_files_say_it() {
        let mut one = task(1, &[], Status::Completed);
        one.blocks = ids(&[3]);
        let mut two = task(2, &[], Status::InProgress);
        two.blocks = ids(&[3]);
        // 3 itself names a finished blocker and one that is gone; 2 is named from the other side.
        let set: TaskSet = [one, two, task(3, &[1, 77], Status::Pending)].into_iter().collect();
        let three = set.get(&TaskId::from(3)).unwrap();
        assert_eq!(set.open_blockers(&three.id), ids(&[2]));
        assert!(!set.is_ready(three));
        assert_eq!(set.line(three), "#3 [pending] Task 3 [blocked by #2]");
        let mut broken = set.clone();
        broken.put_unreadable(&TaskId::from(1));
        assert_eq!(broken.open_blockers(&TaskId::from(3)), ids(&[1, 2]), "who knows");
    }

    #[test]
    fn the_critical_path_is_the_longest_chain_of_what_is_open() {
        let done = Status::Completed;
        let open = Status::Pending;
        let set: TaskSet = [
            (1, &[][..], done),
            (2, &[1], open),
            (3, &[2], open),
            (4, &[], open),
            (5, &[3, 4], open),
            (6, &[6], open),
        ]
        .map(|(id, before, status)| task(id, before, status))
        .into_iter()
        .collect();
        assert_eq!(set.critical_path(), ids(&[2, 3, 5]));
        assert_eq!(TaskSet::default().critical_path(), ids(&[]));
    }

    fn any_task() -> impl Strategy<Value = Task> {
        let few = || prop::collection::vec(0u64..8, 0..4);
        (0u64..8, few(), few()).prop_map(|(id, blocks, blocked_by)| Task {
            blocks: ids(&blocks),
            ..task(id, &blocked_by, Status::Pending)
        })
    }

    proptest! {
        /// However a set came about, it is the set of its tasks.
        #[test]
        fn changing_a_set_equals_making_it_anew(
            steps in prop::collection::vec((any_task(), any::<bool>()), 0..24)
        ) {
            let mut grown = TaskSet::default();
            for (task, stays) in steps {
                let id = task.id.clone();
                grown.put(task);
                if !stays {
                    grown.remove(&id);
                }
            }
            let anew: TaskSet = grown.iter().cloned().collect();
            prop_assert_eq!(grown, anew);
        }
    }
}
