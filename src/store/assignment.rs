//! Changes of tasks that others must hear of. A task that changes hands is told to its new owner,
//! and whoever shows tasks is told of every one that was touched.

use super::error::StoreError;
use super::tasks::{Owner, TaskPatch, Updated};
use super::{Store, roster};
use crate::protocol::ids::{AgentName, TaskId, TeamDir};
use crate::protocol::message::Message;
use crate::protocol::task::Task;

/// A change and all that followed from it.
#[derive(Debug)]
pub struct Changed {
    pub updated: Updated,
    /// The tasks at the other ends of the new dependencies, as they are now.
    pub others: Vec<Task>,
    /// What the new owner was sent. A failure here does not undo the change.
    pub told: Option<Result<Message, StoreError>>,
}

impl Store {
    /// Changes a task of a list, and tells its owner if `by` gave it to somebody of the team.
    pub fn change_task(
        &self,
        list: &TeamDir,
        id: &TaskId,
        patch: &TaskPatch,
        by: &AgentName,
    ) -> Result<Changed, StoreError> {
        if let Some(Owner::Agent(owner)) = &patch.owner {
            self.may_own(list, owner)?;
        }
        let tasks = self.tasks(list);
        let updated = tasks.update(id, patch)?;
        // Also when it was theirs before: whoever asks again may do so because telling failed.
        let given_away = matches!(patch.owner, Some(Owner::Agent(_)));
        let told = match given_away && self.home().config(list).exists() {
            true => self.mail(list).assign(&updated.task, by).transpose(),
            false => None,
        };
        let ends = patch.add_blocks.iter().chain(&patch.add_blocked_by);
        Ok(Changed { others: self.as_they_are(list, ends)?, updated, told })
    }

    /// Deletes a task, and returns those that named it, as they are now.
    pub fn delete_task(&self, list: &TeamDir, id: &TaskId) -> Result<Vec<Task>, StoreError> {
        let tasks = self.tasks(list);
        let ends: Vec<TaskId> =
            tasks.look(|set| set.blockers(id).chain(set.blocked(id)).cloned().collect())?;
        tasks.delete(id)?;
        self.as_they_are(list, &ends)
    }

    /// Whether somebody can own tasks of a list: in a team, its members. A task that is given to
    /// nobody we know would wait for ever.
    pub fn may_own(&self, list: &TeamDir, name: &AgentName) -> Result<(), StoreError> {
        if !self.home().config(list).exists() {
            return Ok(());
        }
        match self.rosters().team(list) {
            Ok(team) => roster::member(&team, name).map(|_| ()),
            // Nobody knows who is in it; the tasks are there all the same.
            Err(StoreError::Broken { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn as_they_are<'i>(
        &self,
        list: &TeamDir,
        ids: impl IntoIterator<Item = &'i TaskId>,
    ) -> Result<Vec<Task>, StoreError> {
        let tasks = self.tasks(list);
        ids.into_iter().filter_map(|id| tasks.get(id).transpose()).collect()
    }
}
