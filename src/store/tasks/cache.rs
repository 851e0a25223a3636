//! A task list as last seen. A file is read again only when it is another version than before.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::LARGEST;
use crate::protocol::graph::TaskSet;
use crate::protocol::ids::TaskId;
use crate::protocol::json;
use crate::protocol::task::Task;
use crate::store::error::{Damage, Problem, StoreError};
use crate::store::files::{self, Signature};

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
        let mut seen = HashSet::new();
        for entry in entries {
            let entry = entry.map_err(unreadable)?;
            let name = entry.file_name();
            let stem = name.to_str().and_then(|name| name.strip_suffix(".json"));
            if let Some(stem) = stem.filter(|stem| !stem.starts_with('.')) {
                let id = TaskId::found(stem);
                self.refresh(&id, &entry.path());
                seen.insert(id);
            }
        }
        let known: Vec<TaskId> = self.tasks.iter().map(|task| task.id.clone()).collect();
        for gone in known.into_iter().filter(|id| !seen.contains(id)) {
            self.tasks.remove(&gone);
        }
        self.signatures.retain(|id, _| seen.contains(id));
        self.problems.retain(|id, _| seen.contains(id));
        Ok(())
    }

    /// Reads one task again if its file is another version than before.
    pub(super) fn refresh(&mut self, id: &TaskId, path: &Path) {
        let signature = Signature::of(path).filter(Signature::is_settled);
        if signature.is_some() && self.signatures.get(id) == signature.as_ref() {
            return;
        }
        // Looked at before it is read: if it changes in between, it is read once more next time.
        match signature {
            Some(signature) => self.signatures.insert(id.clone(), signature),
            None => self.signatures.remove(id),
        };
        self.problems.remove(id);
        match files::read_parsed(path, LARGEST, |text| parse(text, id)) {
            Ok(Some(task)) => self.tasks.put(task),
            Ok(None) => {
                self.tasks.remove(id);
            }
            Err(error) => {
                self.tasks.remove(id);
                self.problems.insert(id.clone(), error.problem_of(path));
            }
        }
    }
}

/// The task that a file of this id holds.
pub(super) fn parse(text: &str, id: &TaskId) -> Result<Task, Damage> {
    let task: Task = json::from_text(text)?;
    if task.id == *id {
        return Ok(task);
    }
    Err(Damage::Misplaced(format!("task #{}", task.id)))
}
