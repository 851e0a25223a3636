//! What was done in a worktree since it was made.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use serde::Serialize;

use super::error::WorktreeError;
use super::git::Git;
use super::{Worktree, links};

/// How many files a summary names.
const NAMED: usize = 8;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Changes {
    /// Commits beyond the base.
    pub commits: u64,
    /// Tracked files that differ from the base, committed or not.
    pub files: usize,
    pub insertions: u64,
    pub deletions: u64,
    /// Tracked files with changes that are in no commit.
    pub uncommitted: usize,
    /// Files that git does not know, without ignored ones and links of ours.
    pub untracked: usize,
    /// All this in a few lines, for whoever gets the result.
    pub summary: String,
}

impl Changes {
    /// Whether nothing would be lost with the worktree.
    pub fn is_empty(&self) -> bool {
        self.commits == 0 && self.uncommitted == 0 && self.untracked == 0
    }
}

pub fn changes(worktree: &Worktree) -> Result<Changes, WorktreeError> {
    let git = Git::at(&worktree.path);
    let commits = commits(&git, worktree)?;
    let Status { uncommitted, untracked, .. } = status(worktree)?;
    let diff = ["diff", "--numstat", "-z", "--no-renames", "--no-ext-diff", "--no-textconv"];
    let diff = git.bytes(&[diff.as_slice(), &[&worktree.base, "--"]].concat())?;
    let (mut insertions, mut deletions, mut names) = (0, 0, Vec::new());
    for entry in diff.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
        let entry = String::from_utf8_lossy(entry);
        let mut parts = entry.splitn(3, '\t');
        // `-` for binary files, which have no lines.
        let mut lines = || parts.next().and_then(|count| count.parse::<u64>().ok()).unwrap_or(0);
        insertions += lines();
        deletions += lines();
        names.extend(parts.next().map(str::to_owned));
    }
    let files = names.len();
    names.extend(untracked.iter().map(|path| path.display().to_string()));
    let mut changes = Changes {
        commits,
        files,
        insertions,
        deletions,
        uncommitted,
        untracked: untracked.len(),
        summary: String::new(),
    };
    changes.summary = summary(&changes, &names);
    Ok(changes)
}

/// Beyond the base, on the branch and wherever the tree is now.
fn commits(git: &Git<'_>, worktree: &Worktree) -> Result<u64, WorktreeError> {
    let branch = format!("refs/heads/{}", worktree.branch);
    let mut args = vec!["rev-list", "--count", "HEAD"];
    if git.text(&["rev-parse", "--verify", "--quiet", &branch]).is_ok() {
        args.push(&branch);
    }
    args.extend(["--not", &worktree.base, "--"]);
    let count = git.text(&args)?;
    count.parse().map_err(|_| WorktreeError::Git {
        command: "rev-list --count".to_owned(),
        said: format!("`{count}` is not a number"),
    })
}

/// What `git status` says.
#[derive(Debug, Default)]
pub(super) struct Status {
    uncommitted: usize,
    untracked: Vec<PathBuf>,
    /// Links of ours that git sees.
    pub links: Vec<PathBuf>,
}

pub(super) fn status(worktree: &Worktree) -> Result<Status, WorktreeError> {
    // The user's configuration may hide files or pair renames; here every one counts.
    let said = Git::at(&worktree.path).bytes(&[
        "status",
        "--porcelain=v1",
        "-z",
        "--untracked-files=all",
        "--ignore-submodules=none",
        "--no-renames",
    ])?;
    let mut status = Status::default();
    for entry in said.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
        let Some(name) = entry.strip_prefix(b"?? ") else {
            status.uncommitted += 1;
            continue;
        };
        let name = PathBuf::from(OsStr::from_bytes(name));
        let ours = links::is_ours(&worktree.repo, &worktree.path, &name);
        if ours { status.links.push(name) } else { status.untracked.push(name) }
    }
    Ok(status)
}

fn summary(changes: &Changes, names: &[String]) -> String {
    let many = |count: u64, what: &str| match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    };
    let mut parts = Vec::new();
    if changes.commits > 0 {
        parts.push(many(changes.commits, "commit"));
    }
    if changes.files > 0 {
        let files = many(changes.files as u64, "file");
        parts.push(format!("{files} changed (+{} -{})", changes.insertions, changes.deletions));
    }
    if changes.uncommitted > 0 {
        parts.push(format!("{} not committed", changes.uncommitted));
    }
    if changes.untracked > 0 {
        parts.push(format!("{} untracked", changes.untracked));
    }
    if parts.is_empty() {
        return "no changes".to_owned();
    }
    let mut text = parts.join(", ");
    if !names.is_empty() {
        let shown = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
        text.push_str(&format!(": {shown}"));
        if names.len() > NAMED {
            text.push_str(&format!(" and {} more", names.len() - NAMED));
        }
    }
    text
}
