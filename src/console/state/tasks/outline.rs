//! The task graph as an indented list. Every task stands once, below the blocker that it waits
//! for longest; its other blockers are named beside it.

use std::collections::BTreeMap;

use crate::protocol::graph::TaskSet;
use crate::protocol::ids::TaskId;
use crate::protocol::task::Task;

/// One line of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub id: TaskId,
    /// The blocker that it stands below.
    pub parent: Option<TaskId>,
    /// What is drawn before it, from the left.
    pub turns: Vec<Turn>,
}

/// One step of indentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    Blank,
    /// A line that goes on below.
    Through,
    /// A branch, with more to come.
    Tee,
    /// The last branch.
    Corner,
}

pub fn of(set: &TaskSet) -> Vec<Row> {
    let tree = Tree::of(set);
    let mut rows = Vec::with_capacity(tree.order.len());
    // A stack, not a recursion: chains may be thousands long.
    let mut open: Vec<(&TaskId, Option<&TaskId>, Vec<Turn>)> =
        tree.roots.iter().rev().map(|id| (*id, None, Vec::new())).collect();
    while let Some((id, parent, turns)) = open.pop() {
        let children = tree.children.get(id).map_or(&[][..], Vec::as_slice);
        for (at, child) in children.iter().enumerate().rev() {
            let mut below: Vec<Turn> = turns.iter().map(|turn| turn.below()).collect();
            below.push(if at + 1 == children.len() { Turn::Corner } else { Turn::Tee });
            open.push((child, Some(id), below));
        }
        rows.push(Row { id: id.clone(), parent: parent.cloned(), turns });
    }
    rows
}

impl Turn {
    /// What stands below it, before what hangs there.
    const fn below(self) -> Self {
        match self {
            Self::Through | Self::Tee => Self::Through,
            Self::Blank | Self::Corner => Self::Blank,
        }
    }
}

struct Tree<'a> {
    order: Vec<&'a Task>,
    roots: Vec<&'a TaskId>,
    children: BTreeMap<&'a TaskId, Vec<&'a TaskId>>,
}

impl<'a> Tree<'a> {
    fn of(set: &'a TaskSet) -> Self {
        let in_order = set.in_order();
        let order: Vec<&Task> = in_order
            .iter()
            .filter_map(|id| set.get(id))
            .filter(|task| !task.is_internal())
            .collect();
        let mut depths: BTreeMap<&TaskId, usize> = BTreeMap::new();
        let mut roots = Vec::new();
        let mut children: BTreeMap<&TaskId, Vec<&TaskId>> = BTreeMap::new();
        for task in &order {
            // Only what stands above already: what would lead back is a cycle.
            let above = set.blockers(&task.id).filter_map(|id| Some((*depths.get(id)?, id)));
            let parent = above.max_by_key(|(depth, id)| (*depth, std::cmp::Reverse(*id)));
            depths.insert(&task.id, parent.map_or(0, |(depth, _)| depth + 1));
            match parent {
                None => roots.push(&task.id),
                Some((_, id)) => children.entry(id).or_default().push(&task.id),
            }
        }
        children.values_mut().for_each(|ids| ids.sort());
        roots.sort();
        Self { order, roots, children }
    }
}
