//! Git worktrees: a tree of its own for an agent that must not touch the main one.
//!
//! Invariant: [`create`] gives a tree that git itself calls a separate one, or an error; nobody
//! who asked for isolation runs without it. [`clean_up`] removes only what has no work in it.
//! Everything here blocks: callers on an async runtime use `spawn_blocking`.

mod changes;
mod cleanup;
mod create;
mod error;
mod git;
mod hold;
mod links;
mod list;
mod note;
mod review;
mod site;
mod slug;

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub use changes::{Changes, changes};
pub use cleanup::{Discarded, Outcome, clean_up, discard};
pub use create::{create, verify};
pub use error::WorktreeError;
pub use list::{Listed, examine, list, open};
pub use note::translation_note;
pub use review::{Preview, diff, merge, preview};
pub use slug::{BadSlug, Slug};

use crate::settings::layers::Settings;
use hold::Hold;

/// What every branch of ours begins with.
const PREFIX: &str = "worktree-";

/// Where worktrees are made, and what they share with the main tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Relative to the main tree.
    pub directory: PathBuf,
    /// Directories of the main tree that are linked instead of copied.
    pub links: Vec<PathBuf>,
    /// How long one git command may take.
    pub limit: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            directory: ".claude/worktrees".into(),
            links: vec!["node_modules".into()],
            limit: git::LIMIT,
        }
    }
}

impl From<&Settings> for Options {
    fn from(settings: &Settings) -> Self {
        let usual = Self::default();
        Self {
            directory: settings.worktree.directory.clone().unwrap_or(usual.directory),
            links: settings.worktree.symlink_directories.clone().unwrap_or(usual.links),
            limit: usual.limit,
        }
    }
}

/// A worktree that somebody works in. As long as the value lives, no other agent gets it and
/// `worktree clean` leaves it alone; the kernel sees to that when its process dies.
#[derive(Debug, Clone)]
pub struct Worktree {
    pub path: PathBuf,
    pub branch: String,
    /// The commit that it was made from: work is what lies beyond it.
    pub base: String,
    /// The main tree.
    pub repo: PathBuf,
    /// The tree that it was made from: the main one, or the worktree of a parent.
    pub origin: PathBuf,
    /// It was there already, with what an earlier agent did in it.
    pub reused: bool,
    /// What is not as it might be expected, for the agent and the person.
    pub warnings: Vec<String>,
    hold: Arc<Hold>,
}

impl Worktree {
    /// The directory in this tree that stands for `cwd` in the tree it was made from.
    pub fn inside(&self, cwd: &Path) -> PathBuf {
        let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
        match cwd.strip_prefix(&self.origin) {
            Ok(below) if self.path.join(below).is_dir() => self.path.join(below),
            Ok(_) | Err(_) => self.path.clone(),
        }
    }
}

/// Whether a path names something below a tree, and neither outside of it nor git's own.
fn is_plain_relative(path: &Path) -> bool {
    let mut parts = path.components().peekable();
    let plain =
        |part| matches!(part, Component::Normal(name) if !name.eq_ignore_ascii_case(".git"));
    parts.peek().is_some() && parts.all(plain)
}
