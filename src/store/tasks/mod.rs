//! Shared task lists: one file per task, ids that count up and are never used again.
//!
//! Both ends of every dependency are written, and no cycle is ever let in. A task is changed by
//! patching its document inside its locks. All of ours that change a list take turns (one domain
//! per list); the lock directories tell other programs.

mod cache;
mod patch;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

pub use cache::TaskCache;
pub use patch::{NewTask, Owner, TaskPatch};

use super::error::{Problem, StoreError};
use super::files;
use super::lock::Held;
use super::{Store, lock_cache, roster};
use crate::protocol::graph::{Edge, TaskSet};
use crate::protocol::ids::{AgentName, TaskId, TeamDir};
use crate::protocol::json::{self, Json, JsonError};
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
        let mut cache = lock_cache(&self.cache);
        let paths: Vec<PathBuf> = changed.iter().map(|id| self.path(id)).collect();
        cache.refresh(changed.iter().zip(&paths).map(|(id, path)| (id, path.as_path())).collect());
        look(cache.tasks())
    }

    /// What in the list could not be read when it was last looked at.
    pub fn problems(&self) -> Vec<Problem> {
        lock_cache(&self.cache).problems().cloned().collect()
    }

    pub fn get(&self, id: &TaskId) -> Result<Option<Task>, StoreError> {
        files::read_parsed(&self.path(id), LARGEST, |text| cache::parse(text, id))
    }

    /// The task's document as it is on disk.
    pub fn document(&self, id: &TaskId) -> Result<Option<Json>, StoreError> {
        files::read_parsed(&self.path(id), LARGEST, Json::parse)
    }

    /// Makes an empty list, for a session without a team. A team brings its own.
    pub fn make(&self) -> Result<(), StoreError> {
        roster::make_task_dir(&self.store.home().tasks(&self.list))
    }

    pub fn create(&self, new: &NewTask) -> Result<Task, StoreError> {
        let mut held = self.enter()?;
        let dir = self.dir()?;
        // The lock of the list last: others need it for every new task.
        self.take_all(&mut held, &new.blocked_by)?;
        held.take(&dir.join(".lock"))?;
        let id = TaskId::from(self.next_id()?);
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
        let text = json::to_pretty(&task);
        json::from_text::<Task>(&text).map_err(StoreError::Unreadable)?;
        held.replace(&self.path(&id), text.as_bytes())?;
        self.write_other_ends(&mut held, &id, &edges)?;
        Ok(task)
    }

    pub fn update(&self, id: &TaskId, patch: &TaskPatch) -> Result<Updated, StoreError> {
        let edges = edges(id, &patch.add_blocks, &patch.add_blocked_by);
        let mut held = self.enter()?;
        self.take_all(&mut held, std::slice::from_ref(id))?;
        if !edges.is_empty() {
            self.take_all(&mut held, &[&*patch.add_blocks, &patch.add_blocked_by].concat())?;
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

    /// Has exactly these tasks block a task from now on. Returns all that changed, as they are now.
    pub fn set_blockers(&self, id: &TaskId, wanted: &[TaskId]) -> Result<Vec<Task>, StoreError> {
        let mut held = self.enter()?;
        let before = self.get(id)?.ok_or_else(|| StoreError::NoTask(id.clone()))?.blocked_by;
        let new: Vec<TaskId> = wanted.iter().filter(|id| !before.contains(id)).cloned().collect();
        let gone: Vec<TaskId> = before
            .into_iter()
            .filter(|id| !wanted.contains(id) && self.path(id).exists())
            .collect();
        self.take_all(&mut held, &[std::slice::from_ref(id), &new, &gone].concat())?;
        let edges = edges(id, &[], &new);
        self.scan()?.tasks().check(&edges)?;
        let own = self.change(&mut held, id, |document, _| {
            keep_ids(document, "blockedBy", |other| wanted.contains(other));
            add_ids(document, "blockedBy", &new);
        })?;
        self.write_other_ends(&mut held, id, &edges)?;
        for other in &gone {
            self.change(&mut held, other, |document, _| {
                keep_ids(document, "blocks", |other| other != id);
            })?;
        }
        let others = new.iter().chain(&gone).filter_map(|id| self.get(id).ok().flatten());
        Ok([own.task].into_iter().chain(others).collect())
    }

    /// Takes the locks of all tasks that a change will touch, before it touches the first: what
    /// is refused then has not half happened. All of them must be there and readable.
    fn take_all(&self, held: &mut Held, ids: &[TaskId]) -> Result<(), StoreError> {
        for id in ids {
            if !self.path(id).exists() {
                return Err(StoreError::NoTask(id.clone()));
            }
            held.take(&self.path(id))?;
            self.get(id)?.ok_or_else(|| StoreError::NoTask(id.clone()))?;
        }
        Ok(())
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
        self.take_all(&mut held, std::slice::from_ref(id))?;
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
        let ready: Vec<TaskId> = {
            let cache = self.scan()?;
            let tasks = cache.tasks();
            tasks.iter().filter(|task| tasks.is_ready(task)).map(|task| task.id.clone()).collect()
        };
        // One that somebody else holds is passed over while there are others.
        let mut locked = Vec::new();
        let mut free = Vec::new();
        for id in ready {
            let taken = free.is_empty() && held.try_take(&self.path(&id))?;
            if taken { free.push(id) } else { locked.push(id) }
        }
        for id in free.into_iter().chain(locked) {
            held.take(&self.path(&id))?;
            match self.still_ready(&id, agent, load)? {
                Ok(true) => return self.give(&mut held, &id, agent).map(|task| Ok(Some(task))),
                Ok(false) => {}
                Err(busy) => return Ok(Err(busy)),
            }
        }
        Ok(Ok(None))
    }

    /// Whether a task can still be claimed, now that we have its lock: another program may have
    /// taken it while we waited.
    fn still_ready(
        &self,
        id: &TaskId,
        agent: &AgentName,
        load: Load,
    ) -> Result<Result<bool, Refusal>, StoreError> {
        let cache = self.scan()?;
        let ready = cache.tasks().get(id).is_some_and(|task| cache.tasks().is_ready(task));
        Ok(match may_claim(cache.tasks(), id, agent, load) {
            Err(busy @ Refusal::AgentBusy(_)) => Err(busy),
            outcome => Ok(ready && outcome.is_ok()),
        })
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
        let nobody = TaskPatch { owner: Some(Owner::Nobody), ..TaskPatch::default() };
        let unbegun = TaskPatch { status: Some(Status::Pending), ..nobody.clone() };
        let mut released = Vec::new();
        for id in theirs {
            // Another program may have given it away while we waited for its lock.
            let updated = self.change(&mut held, &id, |document, task| {
                match task.status {
                    _ if task.owner() != Some(agent) => {}
                    Status::Completed => {}
                    Status::Pending | Status::InProgress => apply(document, task, &unbegun),
                    // What it means is not ours to decide.
                    Status::Other => apply(document, task, &nobody),
                }
            });
            match updated {
                Ok(updated) if updated.task.owner().is_none() => released.push(updated.task),
                Ok(_) | Err(StoreError::NoTask(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(released)
    }

    /// Deletes a task and every mention of it. Its id is never given again.
    pub fn delete(&self, id: &TaskId) -> Result<(), StoreError> {
        let path = self.path(id);
        let mut held = self.enter()?;
        let dir = self.dir()?;
        if !path.exists() {
            return Err(StoreError::NoTask(id.clone()));
        }
        held.take(&path)?;
        let mut mentions: Vec<TaskId> = {
            let cache = self.scan()?;
            let names = |task: &Task| task.blocks.contains(id) || task.blocked_by.contains(id);
            let naming = cache.tasks().iter().filter(|task| task.id != *id && names(task));
            naming.map(|task| task.id.clone()).collect()
        };
        mentions.retain(|other| self.path(other).exists());
        self.take_all(&mut held, &mentions)?;
        held.take(&dir.join(".lock"))?;
        let highest = (self.next_id()? - 1).to_string();
        held.replace(&dir.join(".highwatermark"), highest.as_bytes())?;
        fs::remove_file(&path).map_err(|source| StoreError::io("delete", &path, source))?;
        held.secure_names(&path)?;
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
        let mut held = self.store.locks().enter_unmended(&["tasks", self.list.as_str()])?;
        if held.is_unmended() {
            if self.store.home().tasks(&self.list).is_dir() {
                self.mend(&mut held)?;
            }
            held.mended();
        }
        Ok(held)
    }

    /// The list's directory. It is not made here: a list that was deleted stays deleted.
    fn dir(&self) -> Result<PathBuf, StoreError> {
        let dir = self.store.home().tasks(&self.list);
        if !dir.is_dir() && !self.store.home().config(&self.list).exists() {
            return Err(StoreError::NoList);
        }
        roster::make_task_dir(&dir)?; // with its lock file, which other programs may lack
        Ok(dir)
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
            let task: Task = document.read().map_err(StoreError::Unreadable)?;
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

    /// One more than the highest id that was ever used: of a file, also one set aside, or noted
    /// when the task was deleted.
    fn next_id(&self) -> Result<u64, StoreError> {
        let dir = self.store.home().tasks(&self.list);
        let mut highest = self.noted_id(&dir.join(".highwatermark"))?;
        let unreadable = |source| StoreError::io("read the directory", &dir, source);
        for entry in fs::read_dir(&dir).map_err(unreadable)? {
            let name = entry.map_err(unreadable)?.file_name();
            let stem = name.to_str().and_then(|name| name.split_once(".json")).map(|(id, _)| id);
            highest = highest.max(stem.and_then(|id| id.parse().ok()).unwrap_or(0));
        }
        highest.checked_add(1).ok_or(StoreError::NoMoreIds { path: dir })
    }

    /// The highest id that is noted. A note that cannot be read is set aside; then ids that other
    /// tasks still name are the best that is known.
    fn noted_id(&self, path: &Path) -> Result<u64, StoreError> {
        let number = |text: &str| {
            text.trim().parse::<u64>().map_err(|_| JsonError {
                reason: "not a number".to_owned(),
                line: 1,
                column: 1,
            })
        };
        match files::read_parsed(path, 1 << 16, number) {
            Ok(noted) => return Ok(noted.unwrap_or(0)),
            Err(StoreError::Broken { .. }) => files::set_aside(path)?,
            Err(error) => return Err(error),
        };
        let cache = self.scan()?;
        let named =
            cache.tasks().iter().flat_map(|task| task.blocks.iter().chain(&task.blocked_by));
        Ok(named.filter_map(TaskId::number).max().unwrap_or(0))
    }

    fn scan(&self) -> Result<MutexGuard<'_, TaskCache>, StoreError> {
        let mut cache = lock_cache(&self.cache);
        cache.scan(&self.store.home().tasks(&self.list))?;
        Ok(cache)
    }
}

fn may_claim(tasks: &TaskSet, id: &TaskId, agent: &AgentName, load: Load) -> Result<(), Refusal> {
    let task = tasks.get(id).ok_or(Refusal::NotFound)?;
    if task.status == Status::Other {
        return Err(Refusal::ForeignStatus);
    }
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
