//! A task list as last seen. A file is read again only when it is another version than before.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};

use super::LARGEST;
use crate::protocol::graph::TaskSet;
use crate::protocol::ids::TaskId;
use crate::protocol::json;
use crate::protocol::task::Task;
use crate::store::error::{Damage, Problem, StoreError};
use crate::store::files::{self, Signature};

/// How long to wait before looking at half a file again.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// The list as last seen, file by file.
#[derive(Debug, Default)]
pub struct TaskCache {
    signatures: HashMap<TaskId, Signature>,
    tasks: TaskSet,
    problems: BTreeMap<TaskId, Problem>,
}

impl TaskCache {
    pub(super) fn tasks(&self) -> &TaskSet {
        &self.tasks
    }

    pub(super) fn problems(&self) -> impl Iterator<Item = &Problem> {
        self.problems.values()
    }

    /// Brings everything up to date with the directory.
    pub(super) fn scan(&mut self, dir: &Path) -> Result<(), StoreError> {
        let unreadable = |source| StoreError::io("read the directory", dir, source);
        let entries = match fs::read_dir(dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                *self = Self::default();
                return Ok(());
            }
            Err(error) => return Err(unreadable(error)),
        };
        let mut seen = HashMap::new();
        for entry in entries {
            let entry = entry.map_err(unreadable)?;
            let name = entry.file_name();
            let stem = name.to_str().and_then(|name| name.strip_suffix(".json"));
            if let Some(stem) = stem.filter(|stem| !stem.starts_with('.')) {
                seen.insert(TaskId::found(stem), entry.path());
            }
        }
        let known: Vec<TaskId> =
            self.signatures.keys().chain(self.problems.keys()).cloned().collect();
        let listed = self.tasks.iter().map(|task| task.id.clone());
        for gone in known.into_iter().chain(listed.collect::<Vec<_>>()) {
            if !seen.contains_key(&gone) {
                self.forget(&gone);
            }
        }
        self.refresh(seen.iter().map(|(id, path)| (id, path.as_path())).collect());
        Ok(())
    }

    fn forget(&mut self, id: &TaskId) {
        self.tasks.remove(id);
        self.signatures.remove(id);
        self.problems.remove(id);
    }

    /// Reads those tasks again whose files are other versions than before. Files that somebody
    /// may be writing are looked at again for a moment, all of them together.
    pub(super) fn refresh(&mut self, files: Vec<(&TaskId, &Path)>) {
        let since = Instant::now();
        let mut left = files;
        loop {
            left.retain(|(id, path)| self.refresh_one(id, path) == Seen::HalfWritten);
            if left.is_empty() || since.elapsed() > files::HALF_WRITTEN {
                return;
            }
            files::nap(LOOK_AGAIN);
        }
    }

    fn refresh_one(&mut self, id: &TaskId, path: &Path) -> Seen {
        let version = Signature::of(path);
        let settled = version.filter(Signature::is_settled);
        if settled.is_some() && self.signatures.get(id) == settled.as_ref() {
            return Seen::Whole;
        }
        // Looked at before it is read: if it changes in between, it is read once more next time.
        match settled {
            Some(settled) => self.signatures.insert(id.clone(), settled),
            None => self.signatures.remove(id),
        };
        let read = files::read_text(path, LARGEST).and_then(|text| match text {
            None => Ok(None),
            Some(text) => {
                parse(&text, id).map(Some).map_err(|damage| StoreError::broken(path, damage))
            }
        });
        match read {
            Ok(Some(task)) => {
                self.problems.remove(id);
                self.tasks.put(task);
            }
            Ok(None) => self.forget(id),
            Err(error) => {
                self.tasks.put_unreadable(id);
                if matches!(error, StoreError::Io { .. }) {
                    self.signatures.remove(id); // it may pass without the file changing
                }
                self.problems.insert(id.clone(), error.problem_of(path));
                let fresh = version.is_some_and(|file| file.age() < files::HALF_WRITTEN);
                return if fresh { Seen::HalfWritten } else { Seen::Whole };
            }
        }
        Seen::Whole
    }
}

/// What a look at a file showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// It is as it is, whole or broken.
    Whole,
    /// It is broken, but was written to a moment ago.
    HalfWritten,
}

/// The task that a file of this id holds.
pub(super) fn parse(text: &str, id: &TaskId) -> Result<Task, Damage> {
    let task: Task = json::from_text(text)?;
    if task.id == *id {
        return Ok(task);
    }
    Err(Damage::Misplaced(format!("task #{}", task.id)))
}
