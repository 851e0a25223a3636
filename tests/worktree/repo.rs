//! A repository in a directory of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use quarterdeck::worktree::{Options, Slug, Worktree, WorktreeError, create};
use tempfile::TempDir;

pub struct Repo {
    _dir: TempDir,
    pub root: PathBuf,
}

impl Repo {
    /// With one commit: `shared.txt` with three lines, and `sub/inner.txt`.
    pub fn new() -> Self {
        let repo = Self::empty();
        repo.write("shared.txt", "one\ntwo\nthree\n");
        repo.write("sub/inner.txt", "inner\n");
        repo.commit("first");
        repo
    }

    /// Without any commit.
    pub fn empty() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = dir.path().canonicalize().expect("a directory").join("repo");
        fs::create_dir(&root).expect("a directory");
        git(&root, &["init", "--quiet"]);
        // For what the program commits itself: this machine may not know its user.
        git(&root, &["config", "user.name", "Ada"]);
        git(&root, &["config", "user.email", "ada@example.org"]);
        Self { _dir: dir, root }
    }

    /// The directory that the repository is in.
    pub fn beside(&self) -> &Path {
        self.root.parent().expect("a parent")
    }

    pub fn write(&self, name: &str, text: &str) {
        write(&self.root.join(name), text);
    }

    pub fn commit(&self, message: &str) {
        commit(&self.root, message);
    }

    pub fn git(&self, args: &[&str]) -> String {
        git(&self.root, args)
    }

    pub fn make(&self, name: &str) -> Result<Worktree, WorktreeError> {
        create(&self.root, &slug(name), &Options::default())
    }

    #[track_caller]
    pub fn made(&self, name: &str) -> Worktree {
        self.make(name).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn status(&self) -> String {
        self.git(&["status", "--porcelain", "--untracked-files=all"])
    }

    pub fn branches(&self) -> Vec<String> {
        let all = self.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
        all.lines().map(str::to_owned).collect()
    }

    pub fn trees(&self) -> usize {
        let all = self.git(&["worktree", "list", "--porcelain"]);
        all.lines().filter(|line| line.starts_with("worktree ")).count()
    }
}

pub fn slug(name: &str) -> Slug {
    Slug::new(name).expect("a good name")
}

pub fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
    fs::write(path, text).expect("written");
}

pub fn commit(dir: &Path, message: &str) {
    git(dir, &["add", "-A"]);
    git(dir, &["commit", "--quiet", "--allow-empty", "-m", message]);
}

/// Git without anybody's configuration.
#[track_caller]
pub fn git(dir: &Path, args: &[&str]) -> String {
    let ran = Command::new("git")
        .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"])
        .args(["-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always"])
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .expect("git runs");
    assert!(ran.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).expect("text")
}
