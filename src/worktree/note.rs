//! What a fork is told whose conversation speaks of another tree than the one it works in.

use std::path::Path;

use super::Worktree;

/// For an agent that continues a conversation which was held in `parent_cwd`.
pub fn translation_note(parent_cwd: &Path, worktree: &Worktree) -> String {
    let (from, to) = (worktree.origin.display(), worktree.path.display());
    format!(
        "You now work in a git worktree of your own. The conversation so far was held in {parent}; \
         your working directory is {here}, on the branch {branch}.\n\
         - A path below {from} that was named above stands for the same path below {to}. \
         Translate it before you use it, and change nothing below {from}.\n\
         - The tree is that of commit {base}: changes that were not committed there are not here. \
         Read a file again before you edit it, also when you have seen it above.\n\
         - Nobody else sees what you do here until it is merged.",
        parent = parent_cwd.display(),
        here = worktree.inside(parent_cwd).display(),
        branch = worktree.branch,
        base = worktree.base.get(..12).unwrap_or(&worktree.base),
    )
}
