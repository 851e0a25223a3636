//! Why there is no worktree. Every message says what to do about it.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    #[error("git cannot be started ({source}); install it, or put it on the PATH")]
    NoGit { source: io::Error },
    #[error("{} is not in a git repository; run `git init` and make a commit, or work without a worktree", path.display())]
    NotARepository { path: PathBuf },
    #[error("{} is a bare repository; start from one of its worktrees", path.display())]
    Bare { path: PathBuf },
    #[error("the repository {} has no commit yet; make one, for example with `git commit --allow-empty -m start`", repo.display())]
    NoCommit { repo: PathBuf },
    #[error("the branch {branch} is checked out in {}; take another name, or remove that worktree", path.display())]
    BranchElsewhere { branch: String, path: PathBuf },
    #[error("{} already exists and is not a worktree of this repository; move it away, or take another name", path.display())]
    Taken { path: PathBuf },
    #[error("the worktree {} cannot be read ({said}); try `git worktree repair`, or move it away", path.display())]
    Broken { path: PathBuf, said: String },
    #[error("cannot write {} ({source}); make it writable, or set `worktree.directory`", path.display())]
    NotWritable { path: PathBuf, source: io::Error },
    #[error(
        "`{directory}` cannot hold worktrees: `worktree.directory` must be a path below the repository, without `..` and not in `.git`"
    )]
    BadDirectory { directory: PathBuf },
    #[error(
        "every name from {slug} to {slug}-{last} is in use by running agents; take another name"
    )]
    AllInUse { slug: String, last: usize },
    #[error("{} is in use by a running agent; stop it first", path.display())]
    InUse { path: PathBuf },
    #[error("{} is not a worktree of its own: git works in {} there", path.display(), top.display())]
    NotIsolated { path: PathBuf, top: PathBuf },
    #[error("`git {command}` took longer than {} s and was stopped; see whether a hook of the repository waits for something", limit.as_secs_f64())]
    TooSlow { command: String, limit: Duration },
    #[error("`git {command}` failed: {said}")]
    Git { command: String, said: String },
}

impl WorktreeError {
    /// Git's own words, where it spoke.
    pub(super) fn said(&self) -> &str {
        match self {
            Self::Git { said, .. } | Self::Broken { said, .. } => said,
            Self::NoGit { .. }
            | Self::NotARepository { .. }
            | Self::Bare { .. }
            | Self::NoCommit { .. }
            | Self::BranchElsewhere { .. }
            | Self::Taken { .. }
            | Self::NotWritable { .. }
            | Self::BadDirectory { .. }
            | Self::AllInUse { .. }
            | Self::InUse { .. }
            | Self::NotIsolated { .. }
            | Self::TooSlow { .. } => "",
        }
    }

    /// Where git spoke, what its words mean here.
    pub(super) fn meaning(self, meaning: impl FnOnce(String) -> Self) -> Self {
        if let Self::Git { said, .. } = self { meaning(said) } else { self }
    }

    /// Whether another git holds a lock that it will give back soon.
    pub(super) fn is_lock(&self) -> bool {
        let said = self.said();
        (said.contains(".lock'") && said.contains("File exists"))
            || said.contains("could not lock")
            || said.contains("cannot lock ref")
            || said.contains("unable to lock")
    }
}
