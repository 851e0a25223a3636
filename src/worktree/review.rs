//! Looking at the work in a tree, and bringing a branch of ours into the main one.

use std::path::Path;

use super::error::WorktreeError;
use super::git::Git;

/// How a branch would come into the tree that is checked out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preview {
    pub branch: String,
    /// The branch that it would come into; nothing where none is checked out.
    pub into: String,
    /// What changes, file by file.
    pub stat: Vec<String>,
    /// Files that both sides changed in ways that do not fit.
    pub conflicts: Vec<String>,
    /// Commits that are not there yet.
    pub commits: u64,
}

const DIFF: [&str; 4] = ["diff", "--no-color", "--no-ext-diff", "--no-textconv"];

/// What was changed in the tree around `dir`, committed or not, that `main` does not have; in
/// `main` itself, what is in no commit. Names of files that git does not know come last.
pub fn diff(dir: &Path, main: &Path) -> Result<String, WorktreeError> {
    let git = Git::at(dir);
    let top = |dir: &Path| Git::at(dir).path(&["rev-parse", "--show-toplevel"]);
    let base = match top(dir)? == top(main)? {
        true => "HEAD".to_owned(),
        false => {
            let theirs = Git::at(main).text(&["rev-parse", "HEAD"])?;
            git.text(&["merge-base", "HEAD", &theirs])?
        }
    };
    let mut text = git.text(&[DIFF.as_slice(), &[&base, "--"]].concat())?;
    let unknown = git.text(&["ls-files", "--others", "--exclude-standard"])?;
    for name in unknown.lines() {
        text.push_str(&format!("\nuntracked: {name}"));
    }
    Ok(text.trim_matches('\n').to_owned())
}

/// What merging a branch into the tree at `main` would do. Changes nothing.
pub fn preview(main: &Path, branch: &str) -> Result<Preview, WorktreeError> {
    let git = Git::at(main);
    let name = format!("refs/heads/{branch}");
    git.text(&["rev-parse", "--verify", "--quiet", &name])?;
    let range = format!("HEAD...{name}");
    let stat = git.text(&[DIFF.as_slice(), &["--stat=80", &range, "--"]].concat())?;
    let merge = ["merge-tree", "--write-tree", "--name-only", "--no-messages", "HEAD", &name];
    let (fits, listed) = git.answer(&merge)?;
    // The first line is the tree that would come of it.
    let conflicts = match fits {
        true => Vec::new(),
        false => {
            listed.lines().skip(1).filter(|line| !line.is_empty()).map(str::to_owned).collect()
        }
    };
    let missing = format!("HEAD..{name}");
    let commits = git.text(&["rev-list", "--count", &missing, "--"])?;
    Ok(Preview {
        branch: branch.to_owned(),
        into: git.text(&["branch", "--show-current"])?,
        stat: stat.lines().map(str::to_owned).collect(),
        conflicts,
        commits: commits.trim().parse().unwrap_or_default(),
    })
}

/// Merges a branch into the tree at `main`. Whatever does not go through leaves it as it was.
pub fn merge(main: &Path, branch: &str) -> Result<(), WorktreeError> {
    let git = Git::at(main);
    let name = format!("refs/heads/{branch}");
    let message = format!("Merge branch '{branch}'");
    let merged = git.change(&["merge", "--no-ff", "--no-edit", "-m", &message, &name]);
    if merged.is_err() {
        // Nothing to take back where it refused to begin.
        let _ = git.change(&["merge", "--abort"]);
    }
    merged
}
