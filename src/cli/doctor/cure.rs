//! Puts right what was found, by the same ways that every change to the home goes.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use super::finding::Deed;
use crate::settings::layers;
use crate::store::mailbox::Which;
use crate::store::roster::{Activity, Deletion};
use crate::store::tasks::{Owner, TaskPatch};
use crate::store::{Store, files};
use crate::worktree::{self, Options, Outcome};

/// Why it could not be done, in words.
pub fn apply(store: &Store, deed: &Deed) -> Result<(), String> {
    let words = |error: crate::store::StoreError| error.to_string();
    match deed {
        Deed::Unlock { domain, target } => unlock(store, domain, target),
        Deed::Remove(path) => remove(path).map_err(|error| error.to_string()),
        Deed::SetAside { domain, path } => {
            let domain: Vec<&str> = domain.iter().map(String::as_str).collect();
            let mut held = store.locks().enter(&domain).map_err(words)?;
            held.take(path).map_err(|error| error.to_string())?;
            files::set_aside(path).map(|_| ()).map_err(words)
        }
        Deed::Rescue { team, agent } => {
            // Marks nothing; whoever writes to a broken inbox mends it first.
            let none = HashSet::new();
            store.mail(team).mark_read(agent, &Which::These(&none)).map(|_| ()).map_err(words)
        }
        Deed::Idle { team, name } => {
            let rosters = store.rosters();
            rosters.set_activity(team, name, Activity::Idle).map(|_| ()).map_err(words)
        }
        Deed::Release { list, task } => {
            let patch = TaskPatch {
                status: Some(crate::protocol::task::Status::Pending),
                owner: Some(Owner::Nobody),
                ..TaskPatch::default()
            };
            store.tasks(list).update(task, &patch).map(|_| ()).map_err(words)
        }
        Deed::Unassign { list, agent } => {
            store.tasks(list).unassign(agent).map(|_| ()).map_err(words)
        }
        Deed::DeleteTeam(team) => store.rosters().delete(team, Deletion::Forced).map_err(words),
        Deed::Worktree { repo, name } => clean(repo, name),
        Deed::Pane(id) => kill_pane(id).map_err(|error| error.to_string()),
    }
}

/// Takes the stale lock over, and lets go of it.
fn unlock(store: &Store, domain: &[String], target: &Path) -> Result<(), String> {
    let domain: Vec<&str> = domain.iter().map(String::as_str).collect();
    let mut held = store.locks().enter(&domain).map_err(|error| error.to_string())?;
    match held.try_take(target) {
        Ok(true) => Ok(()),
        Ok(false) => Err("it is in use, or not empty".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// A link is removed, never what it leads to.
fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path)?.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    }
}

fn clean(repo: &Path, name: &str) -> Result<(), String> {
    let words = |error: worktree::WorktreeError| error.to_string();
    let settings = layers::load(&layers::files(repo)).map_err(|error| error.to_string())?;
    let options = Options::from(&settings);
    let all = worktree::list(repo, &options).map_err(words)?;
    let Some(listed) = all.iter().find(|listed| listed.name == name) else { return Ok(()) };
    match worktree::clean_up(worktree::open(repo, listed, &options).map_err(words)?) {
        Outcome::Removed => Ok(()),
        Outcome::Kept { changes, why, .. } => Err(why.unwrap_or(changes.summary)),
    }
}

fn kill_pane(id: &str) -> io::Result<()> {
    let ran = Command::new("tmux").args(["kill-pane", "-t", id]).output()?;
    match ran.status.success() {
        true => Ok(()),
        false => Err(io::Error::other(String::from_utf8_lossy(&ran.stderr).trim().to_owned())),
    }
}
