//! Shared task lists: one file per task, ids that count up and are never used again.
//!
//! Both ends of every dependency are written, and no cycle is ever let in. A task is changed by
//! patching its document inside its locks. All of ours that change a list take turns (one domain
//! per list); the lock directories tell other programs.

mod cache;
mod patch;

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

pub use cache::TaskCache;
pub use patch::{NewTask, Owner, TaskPatch};

use super::error::{Problem, StoreError};
use super::files;
use super::lock::Held;
use super::{Store, entry_of, roster};
use crate::protocol::graph::{Edge, TaskSet};
use crate::protocol::ids::{AgentName, TaskId, TeamDir};
use crate::protocol::json::{self, Json};
use crate::protocol::task::{Refusal, Status, Task};
use patch::{add_ids, apply, differences, edges, keep_ids};

const LARGEST: u64 = 16 << 20;

/// One task list: a team's, or a session's own.
#[derive(Debug)]
pub struct TaskList<'a> {
    store: &'a Store,
    list: TeamDir,
    cache: Arc<Mutex<TaskCache>>,
}

/// A task after a change, and the names of the fields that differ from before.
#[derive(Debug, Clone, PartialEq)]
pub struct Updated {
    pub task: Task,
    pub fields: Vec<&'static str>,
}

/// Whether somebody who is busy with another task may claim one more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    AnyNumber,
    OneAtATime,
}

impl<'a> TaskList<'a> {
    pub(super) fn new(store: &'a Store, list: TeamDir, cache: Arc<Mutex<TaskCache>>) -> Self {
        Self { store, list, cache }
    }

    fn path(&self, id: &TaskId) -> PathBuf {
        self.store.home().task(&self.list, id)
    }

    /// Lets `look` see the whole list as it is on disk now. Files that did not change since the
    /// last time are not read again.
    pub fn look<T>(&self, look: impl FnOnce(&TaskSet) -> T) -> Result<T, StoreError> {
        self.scan().map(|cache| look(cache.tasks()))
    }

    /// As `look`, after reading again only the tasks that are known to have changed.
    pub fn look_again<T>(&self, changed: &[TaskId], look: impl FnOnce(&TaskSet) -> T) -> T {
        let mut cache = entry_of(&self.cache);
        for id in changed {
            cache.refresh(id, &self.path(id));
        }
        look(cache.tasks())
    }

    /// What in the list could not be read when it was last looked at.
    pub fn problems(&self) -> Vec<Problem> {
        entry_of(&self.cache).problems().cloned().collect()
    }

    pub fn get(&self, id: &TaskId) -> Result<Option<Task>, StoreError> {
        files::read_parsed(&self.path(id), LARGEST, |text| cache::parse(text, id))
    }

    /// The task's document as it is on disk.
    pub fn document(&self, id: &TaskId) -> Result<Option<Json>, StoreError> {
        files::read_parsed(&self.path(id), LARGEST, Json::parse)
    }

    pub fn create(&self, new: &NewTask) -> Result<Task, StoreError> {
        let dir = self.store.home().tasks(&self.list);
        roster::make_task_dir(&dir)?;
        let mut held = self.enter()?;
        held.take(&dir.join(".lock"))?;
        let id = TaskId::from(self.highest_id()? + 1);
        let edges = edges(&id, &[], &new.blocked_by);
        let task = Task {
            id: id.clone(),
            subject: new.subject.clone(),
            description: new.description.clone(),
            active_form: new.active_form.clone(),
            owner: None,
            status: Status::Pending,
            blocks: Vec::new(),
            blocked_by: edges.iter().map(|edge| edge.blocker.clone()).collect(),
            metadata: new.metadata.clone(),
        };
        if !edges.is_empty() {
            // Nothing waits for a task that is not there yet, so only unknown ids can be wrong.
            let cache = self.scan()?;
            let missing = task.blocked_by.iter().find(|id| cache.tasks().get(id).is_none());
            if let Some(missing) = missing {
                return Err(StoreError::NoTask(missing.clone()));
            }
        }
        held.replace(&self.path(&id), json::to_pretty(&task).as_bytes())?;
        self.write_other_ends(&mut held, &id, &edges)?;
        Ok(task)
    }

    pub fn update(&self, id: &TaskId, patch: &TaskPatch) -> Result<Updated, StoreError> {
        let edges = edges(id, &patch.add_blocks, &patch.add_blocked_by);
        let mut held = self.enter()?;
        if !self.path(id).exists() {
            return Err(StoreError::NoTask(id.clone()));
        }
        if !edges.is_empty() {
            self.scan()?.tasks().check(&edges)?;
        }
        let updated = self.change(&mut held, id, |document, task| {
            apply(document, task, patch);
            add_ids(document, "blocks", &patch.add_blocks);
            add_ids(document, "blockedBy", &patch.add_blocked_by);
        })?;
        self.write_other_ends(&mut held, id, &edges)?;
        Ok(updated)
    }

    /// Takes a task for an agent: owner and `in_progress` in one step, so that of several who
    /// try exactly one gets it.
    pub fn claim(
        &self,
        id: &TaskId,
        agent: &AgentName,
        load: Load,
    ) -> Result<Result<Task, Refusal>, StoreError> {
        let mut held = self.enter()?;
        if !self.path(id).exists() {
            return Ok(Err(Refusal::NotFound));
        }
        held.take(&self.path(id))?;
        if let Err(refusal) = may_claim(self.scan()?.tasks(), id, agent, load) {
            return Ok(Err(refusal));
        }
        self.give(&mut held, id, agent).map(Ok)
    }

    /// Claims the lowest task that is free. `Ok(None)`: there is none.
    pub fn claim_next(
        &self,
        agent: &AgentName,
        load: Load,
    ) -> Result<Result<Option<Task>, Refusal>, StoreError> {
        let mut held = self.enter()?;
        let id = {
            let cache = self.scan()?;
            let ready = cache.tasks().iter().find(|task| cache.tasks().is_ready(task));
            let Some(task) = ready else { return Ok(Ok(None)) };
            if let Err(refusal) = may_claim(cache.tasks(), &task.id, agent, load) {
                return Ok(Err(refusal));
            }
            task.id.clone()
        };
        self.give(&mut held, &id, agent).map(|task| Ok(Some(task)))
    }

    fn give(&self, held: &mut Held, id: &TaskId, agent: &AgentName) -> Result<Task, StoreError> {
        let patch = TaskPatch {
            owner: Some(Owner::Agent(agent.clone())),
            status: Some(Status::InProgress),
            ..TaskPatch::default()
        };
        Ok(self.change(held, id, |document, task| apply(document, task, &patch))?.task)
    }

    /// Gives up all open tasks of an agent that left; returns them as they are now.
    pub fn unassign(&self, agent: &AgentName) -> Result<Vec<Task>, StoreError> {
        if !self.store.home().tasks(&self.list).is_dir() {
            return Ok(Vec::new());
        }
        let mut held = self.enter()?;
        let theirs: Vec<TaskId> = {
            let cache = self.scan()?;
            let open = |task: &&Task| task.is_open() && task.owner() == Some(agent);
            cache.tasks().iter().filter(open).map(|task| task.id.clone()).collect()
        };
        let patch = TaskPatch {
            owner: Some(Owner::Nobody),
            status: Some(Status::Pending),
            ..TaskPatch::default()
        };
        let released = theirs.iter().map(|id| {
            let change = |document: &mut Json, task: &Task| apply(document, task, &patch);
            Ok(self.change(&mut held, id, change)?.task)
        });
        released.collect()
    }

    /// Deletes a task and every mention of it. Its id is never given again.
    pub fn delete(&self, id: &TaskId) -> Result<(), StoreError> {
        let dir = self.store.home().tasks(&self.list);
        let path = self.path(id);
        let mut held = self.enter()?;
        if !path.exists() {
            return Err(StoreError::NoTask(id.clone()));
        }
        held.take(&dir.join(".lock"))?;
        held.take(&path)?;
        let mentions: Vec<TaskId> = {
            let cache = self.scan()?;
            let naming = |task: &&Task| {
                task.id != *id && (task.blocks.contains(id) || task.blocked_by.contains(id))
            };
            cache.tasks().iter().filter(naming).map(|task| task.id.clone()).collect()
        };
        let highest = self.highest_id()?.to_string();
        held.replace(&dir.join(".highwatermark"), highest.as_bytes())?;
        fs::remove_file(&path).map_err(|source| StoreError::io("delete", &path, source))?;
        for other in mentions {
            self.change(&mut held, &other, |document, _| {
                for key in ["blocks", "blockedBy"] {
                    keep_ids(document, key, |other| other != id);
                }
            })?;
        }
        Ok(())
    }

    /// Enters the list's domain, and mends what a process that died in it left half done.
    fn enter(&self) -> Result<Held, StoreError> {
        let mut held = self.store.locks().enter(&["tasks", self.list.as_str()])?;
        if held.after_crash() && self.store.home().tasks(&self.list).is_dir() {
            self.mend(&mut held)?;
        }
        Ok(held)
    }

    /// Makes both ends of every dependency agree, and drops mentions of tasks that are gone.
    fn mend(&self, held: &mut Held) -> Result<(), StoreError> {
        // A file that is there but broken still counts as a task.
        let gone = |other: &TaskId| !self.path(other).exists();
        let uneven: Vec<(TaskId, [Vec<TaskId>; 2])> = {
            let cache = self.scan()?;
            let tasks = cache.tasks();
            let ends = |task: &Task| {
                let before: Vec<TaskId> = tasks.blockers(&task.id).cloned().collect();
                let after: Vec<TaskId> = tasks.blocked(&task.id).cloned().collect();
                let named = before.iter().all(|id| task.blocked_by.contains(id))
                    && after.iter().all(|id| task.blocks.contains(id));
                let there = !task.blocked_by.iter().chain(&task.blocks).any(gone);
                (!named || !there).then(|| (task.id.clone(), [before, after]))
            };
            tasks.iter().filter_map(ends).collect()
        };
        for (id, [before, after]) in uneven {
            self.change(held, &id, |document, _| {
                for (key, wanted) in [("blockedBy", &before), ("blocks", &after)] {
                    keep_ids(document, key, |other| !gone(other));
                    add_ids(document, key, wanted);
                }
            })?;
        }
        Ok(())
    }

    /// Patches one task inside its lock. A change that leaves it as it is writes nothing.
    fn change(
        &self,
        held: &mut Held,
        id: &TaskId,
        mut patch: impl FnMut(&mut Json, &Task),
    ) -> Result<Updated, StoreError> {
        let path = self.path(id);
        held.take(&path)?;
        files::patiently(|_| {
            let gone = || StoreError::NoTask(id.clone());
            let text = files::read_text(&path, LARGEST)?.ok_or_else(gone)?;
            let broken = |error| StoreError::broken(&path, error);
            let before =
                cache::parse(&text, id).map_err(|damage| StoreError::broken(&path, damage))?;
            let mut document = Json::parse(&text).map_err(broken)?;
            patch(&mut document, &before);
            let task: Task = document.read().map_err(broken)?;
            if task != before {
                held.replace(&path, document.pretty().as_bytes())?;
            }
            let fields = differences(&before, &task);
            Ok(Updated { task, fields })
        })
    }

    /// Writes the edges into the tasks at their other ends.
    fn write_other_ends(
        &self,
        held: &mut Held,
        id: &TaskId,
        edges: &[Edge],
    ) -> Result<(), StoreError> {
        for edge in edges {
            let (other, key) = match edge.blocker == *id {
                true => (&edge.waiting, "blockedBy"),
                false => (&edge.blocker, "blocks"),
            };
            self.change(held, other, |document, _| add_ids(document, key, [id]))?;
        }
        Ok(())
    }

    /// The highest id that was ever used: of a file, also one set aside, or noted when the task
    /// was deleted.
    fn highest_id(&self) -> Result<u64, StoreError> {
        let dir = self.store.home().tasks(&self.list);
        let noted = files::read_text(&dir.join(".highwatermark"), 64).ok().flatten();
        let noted = noted.and_then(|text| text.trim().parse().ok()).unwrap_or(0);
        let unreadable = |source| StoreError::io("read the directory", &dir, source);
        let mut highest: u64 = noted;
        for entry in fs::read_dir(&dir).map_err(unreadable)? {
            let name = entry.map_err(unreadable)?.file_name();
            let stem = name.to_str().and_then(|name| name.split_once(".json")).map(|(id, _)| id);
            highest = highest.max(stem.and_then(|id| id.parse().ok()).unwrap_or(0));
        }
        Ok(highest)
    }

    fn scan(&self) -> Result<MutexGuard<'_, TaskCache>, StoreError> {
        let mut cache = entry_of(&self.cache);
        cache.scan(&self.store.home().tasks(&self.list))?;
        Ok(cache)
    }
}

fn may_claim(tasks: &TaskSet, id: &TaskId, agent: &AgentName, load: Load) -> Result<(), Refusal> {
    let task = tasks.get(id).ok_or(Refusal::NotFound)?;
    if !task.is_open() {
        return Err(Refusal::AlreadyResolved);
    }
    if let Some(owner) = task.owner().filter(|owner| *owner != agent) {
        return Err(Refusal::AlreadyClaimed(owner.clone()));
    }
    let blockers = tasks.open_blockers(id);
    if !blockers.is_empty() {
        return Err(Refusal::Blocked(blockers));
    }
    if load == Load::OneAtATime {
        let busy =
            |other: &&Task| other.is_open() && other.owner() == Some(agent) && other.id != *id;
        let other: Vec<TaskId> = tasks.iter().filter(busy).map(|task| task.id.clone()).collect();
        if !other.is_empty() {
            return Err(Refusal::AgentBusy(other));
        }
    }
    Ok(())
}
