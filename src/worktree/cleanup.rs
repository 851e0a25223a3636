//! The end of a worktree. What has work in it stays, whatever goes wrong.

use std::fs;
use std::path::{Path, PathBuf};

use super::changes::{Changes, changes, status};
use super::error::WorktreeError;
use super::git::Git;
use super::hold::Gate;
use super::site::Site;
use super::{Options, PREFIX, Worktree, links};

/// What became of a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It had no work in it, and is gone with its branch.
    Removed,
    Kept {
        path: PathBuf,
        branch: String,
        changes: Changes,
        /// Why it is still there although it has no changes that we know of.
        why: Option<String>,
    },
}

/// What was thrown away, and how to get at its commits again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discarded {
    pub branch: String,
    pub changes: Changes,
    /// The last commit, while git still has it.
    pub tip: Option<String>,
}

/// Removes the worktree if nothing was done in it.
pub fn clean_up(worktree: Worktree) -> Outcome {
    let mut seen = Changes::default();
    let why = match remove_unchanged(&worktree, &mut seen) {
        Ok(true) => return Outcome::Removed,
        Ok(false) => None,
        Err(error) => Some(error.to_string()),
    };
    Outcome::Kept { path: worktree.path, branch: worktree.branch, changes: seen, why }
}

/// Removes the worktree and its branch with all that was done. For a person who said so.
pub fn discard(worktree: &Worktree) -> Result<Discarded, WorktreeError> {
    let here = site(worktree)?;
    let gate = Gate::enter(&here)?;
    let git = here.git();
    let changes = match is_lost(worktree) {
        true => Changes::default(),
        false => changes(worktree)?,
    };
    let own = own_branch(worktree);
    let tip = git.text(&["rev-parse", "--verify", "--quiet", &format!("refs/heads/{own}")]).ok();
    git.change(&removal(&["--force"], &worktree.path))?;
    if tip.is_some() {
        git.change(&["branch", "-D", "--", &own])?;
    }
    worktree.hold.forget(&gate);
    Ok(Discarded { branch: own, changes, tip })
}

/// `false` when there is work in it.
fn remove_unchanged(worktree: &Worktree, seen: &mut Changes) -> Result<bool, WorktreeError> {
    let here = site(worktree)?;
    let gate = Gate::enter(&here)?;
    let git = here.git();
    if is_lost(worktree) {
        git.change(&removal(&[], &worktree.path))?;
    } else {
        *seen = changes(worktree)?;
        if !seen.is_empty() {
            return Ok(false);
        }
        remove(&git, worktree)?;
    }
    let kept = delete_branch(&git, worktree)?;
    worktree.hold.forget(&gate);
    match kept {
        None => Ok(true),
        Some(commits) => {
            seen.commits = commits;
            seen.summary = format!("{commits} commits on the branch; the directory is gone");
            Ok(false)
        }
    }
}

/// Git looks once more for changes, and refuses when it finds some. Our links would be such.
fn remove(git: &Git<'_>, worktree: &Worktree) -> Result<(), WorktreeError> {
    let links = status(worktree)?.links;
    for name in &links {
        // One that stays makes git refuse, and then the tree is kept.
        let _ = fs::remove_file(worktree.path.join(name));
    }
    let removed = match git.change(&removal(&[], &worktree.path)) {
        // It refuses any tree with submodules; that this one is clean, we have seen.
        Err(error) if error.said().contains("containing submodules") => {
            git.change(&removal(&["--force"], &worktree.path))
        }
        outcome => outcome,
    };
    if removed.is_err() {
        links::restore(&worktree.repo, &worktree.path, &links);
    }
    removed
}

/// Deletes our branch, unless it has commits beyond the base: then, how many.
fn delete_branch(git: &Git<'_>, worktree: &Worktree) -> Result<Option<u64>, WorktreeError> {
    let branch = own_branch(worktree);
    let full = format!("refs/heads/{branch}");
    let Ok(tip) = git.text(&["rev-parse", "--verify", "--quiet", &full]) else { return Ok(None) };
    let count = git.text(&["rev-list", "--count", &tip, "--not", &worktree.base, "--"])?;
    match count.parse() {
        Ok(0) => git.change(&["branch", "-D", "--", &branch]).map(|()| None),
        Ok(commits) => Ok(Some(commits)),
        Err(_) => Ok(Some(1)),
    }
}

fn removal<'a>(flags: &[&'a str], path: &'a Path) -> Vec<&'a std::ffi::OsStr> {
    let words = ["worktree", "remove"].into_iter().chain(flags.iter().copied());
    words.map(AsRef::as_ref).chain([path.as_os_str()]).collect()
}

/// The branch that we made for it, wherever the agent went since.
fn own_branch(worktree: &Worktree) -> String {
    let name = worktree.path.file_name().unwrap_or_default().to_string_lossy();
    format!("{PREFIX}{name}")
}

fn is_lost(worktree: &Worktree) -> bool {
    !worktree.path.join(".git").exists()
}

fn site(worktree: &Worktree) -> Result<Site, WorktreeError> {
    Site::find(&worktree.repo, &Options::default())
}
