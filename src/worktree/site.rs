//! Which repository a path belongs to, seen from wherever in it: the main tree, a linked
//! worktree, a submodule.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::WorktreeError;
use super::git::Git;
use super::{Options, is_plain_relative};

/// A repository and the place in it for worktrees.
#[derive(Debug, Clone)]
pub struct Site {
    /// The main tree, or of a bare repository the tree that we stand in.
    pub root: PathBuf,
    /// The tree that we stand in.
    pub origin: PathBuf,
    /// What all trees of the repository share.
    pub common: PathBuf,
    /// Where worktrees are put.
    pub dir: PathBuf,
    pub limit: Duration,
}

impl Site {
    pub fn find(from: &Path, options: &Options) -> Result<Self, WorktreeError> {
        if !is_plain_relative(&options.directory) {
            return Err(WorktreeError::BadDirectory { directory: options.directory.clone() });
        }
        let git = Git { dir: from, limit: options.limit };
        let absolute = ["rev-parse", "--path-format=absolute"];
        let ask = |what: &str| git.path(&[absolute[0], absolute[1], what]);
        let common = ask("--git-common-dir").map_err(|error| no_repository(error, from))?;
        let own = ask("--git-dir")?;
        let origin = match ask("--show-toplevel") {
            Ok(top) => top,
            Err(error) if error.said().contains("must be run in a work tree") => {
                return Err(WorktreeError::Bare { path: from.to_owned() });
            }
            Err(error) => return Err(error),
        };
        let common = real(common);
        let root = match real(own) == common {
            true => origin.clone(),
            false => main_tree(&common, options.limit).unwrap_or_else(|| origin.clone()),
        };
        let (root, origin) = (real(root), real(origin));
        let dir = root.join(&options.directory);
        Ok(Self { root, origin, common, dir, limit: options.limit })
    }

    pub fn git(&self) -> Git<'_> {
        Git { dir: &self.root, limit: self.limit }
    }

    /// The commit that the tree we stand in is at.
    pub fn head(&self) -> Result<String, WorktreeError> {
        let git = Git { dir: &self.origin, limit: self.limit };
        let head = git.text(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
        let none = |_| WorktreeError::NoCommit { repo: self.origin.clone() };
        head.map_err(|error| error.meaning(none))
    }
}

/// Links followed, where there is something; git may or may not have followed them.
pub fn real(path: PathBuf) -> PathBuf {
    path.canonicalize().unwrap_or(path)
}

/// The main tree of a repository, seen from a linked one. `None` where it has none.
fn main_tree(common: &Path, limit: Duration) -> Option<PathBuf> {
    let git = Git { dir: common, limit };
    // A submodule says itself where its tree is.
    let stated = git.bytes(&["config", "--file", "config", "core.worktree"]);
    if let Ok(stated) = stated {
        return Some(common.join(PathBuf::from(OsString::from_vec(stated))));
    }
    let bare = git.text(&["config", "--file", "config", "--type=bool", "core.bare"]);
    if bare.is_ok_and(|bare| bare == "true") {
        return None;
    }
    common.ends_with(".git").then(|| common.parent().map(Path::to_owned)).flatten()
}

fn no_repository(error: WorktreeError, path: &Path) -> WorktreeError {
    match error.said().contains("not a git repository") {
        true => WorktreeError::NotARepository { path: path.to_owned() },
        false => error,
    }
}
