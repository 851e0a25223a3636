//! The worktrees of a repository that are ours: below the configured directory, on a branch of
//! ours or on our record.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::changes::{Changes, changes};
use super::create::base_of;
use super::error::WorktreeError;
use super::hold::Gate;
use super::site::{Site, real};
use super::{Options, PREFIX, Worktree};

/// One of our worktrees, as git knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub name: String,
    pub path: PathBuf,
    /// `None` when it is on no branch.
    pub branch: Option<String>,
    pub in_use: bool,
    /// Somebody deleted the directory by hand.
    pub missing: bool,
}

/// A tree of the repository, ours or not.
#[derive(Debug, Default)]
pub struct Entry {
    pub path: PathBuf,
    pub branch: Option<String>,
}

pub fn list(repo: &Path, options: &Options) -> Result<Vec<Listed>, WorktreeError> {
    let site = Site::find(repo, options)?;
    let gate = Gate::enter_if_there(&site)?;
    let dir = real(site.dir.clone());
    let mut found = Vec::new();
    for Entry { path, branch } in entries(&site)? {
        let name = match path.strip_prefix(&dir) {
            Ok(name) if name.components().count() == 1 => name.to_string_lossy().into_owned(),
            Ok(_) | Err(_) => continue,
        };
        let gate = gate.as_ref().filter(|gate| gate.knows(&name));
        if gate.is_none() && !branch.as_deref().is_some_and(|branch| branch.starts_with(PREFIX)) {
            continue;
        }
        let in_use = match gate {
            Some(gate) => gate.hold(&name)?.is_none(),
            None => false,
        };
        let missing = !path.join(".git").exists();
        found.push(Listed { name, path, branch, in_use, missing });
    }
    found.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(found)
}

/// Takes up a worktree that was listed, as [`super::create`] would, but for looking only.
pub fn open(repo: &Path, listed: &Listed, options: &Options) -> Result<Worktree, WorktreeError> {
    let site = Site::find(repo, options)?;
    let head = site.head()?;
    let gate = Gate::enter(&site)?;
    let Some(hold) = gate.hold(&listed.name)? else {
        return Err(WorktreeError::InUse { path: listed.path.clone() });
    };
    let branch = format!("{PREFIX}{}", listed.name);
    let branch = listed.branch.clone().unwrap_or(branch);
    // Without the directory, the repository itself answers.
    let place = if listed.missing { &site.root } else { &listed.path };
    let base = base_of(&hold, place, &branch, &head);
    Ok(Worktree {
        path: listed.path.clone(),
        branch,
        base,
        repo: site.root,
        origin: site.origin,
        reused: true,
        warnings: Vec::new(),
        hold: Arc::new(hold),
    })
}

/// What was done in a worktree that was listed, or why that cannot be told.
pub fn examine(repo: &Path, listed: &Listed, options: &Options) -> Result<Changes, String> {
    if listed.in_use {
        return Err("in use".to_owned());
    }
    if listed.missing {
        return Err("its directory is gone".to_owned());
    }
    let opened = open(repo, listed, options);
    opened.and_then(|tree| changes(&tree)).map_err(|error| error.to_string())
}

/// Every tree of the repository.
pub fn entries(site: &Site) -> Result<Vec<Entry>, WorktreeError> {
    let listed = site.git().bytes(&["worktree", "list", "--porcelain", "-z"])?;
    let mut entries: Vec<Entry> = Vec::new();
    for line in listed.split(|byte| *byte == 0) {
        if let Some(path) = line.strip_prefix(b"worktree ") {
            let path = PathBuf::from(OsStr::from_bytes(path));
            entries.push(Entry { path, branch: None });
        } else if let (Some(branch), Some(entry)) =
            (line.strip_prefix(b"branch refs/heads/"), entries.last_mut())
        {
            entry.branch = Some(String::from_utf8_lossy(branch).into_owned());
        }
    }
    Ok(entries)
}
