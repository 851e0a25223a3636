//! Who works in which worktree, and what it was made from.
//!
//! One small file of ours for each worktree, in the directory that all trees of the repository
//! share. It records the base commit; whoever works in the tree has it locked, and the kernel
//! lets go when that process dies. All of them are opened and removed behind one gate, so nobody
//! can lock a file that has just been removed.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use super::error::WorktreeError;
use super::site::Site;

/// Held while worktrees of a repository are made or removed by us.
#[derive(Debug)]
pub struct Gate {
    dir: PathBuf,
    file: File,
}

/// One worktree, held.
#[derive(Debug)]
pub struct Hold {
    file: File,
    path: PathBuf,
}

impl Gate {
    /// As `enter`, for those who only look: a repository without records stays as it is.
    pub fn enter_if_there(site: &Site) -> Result<Option<Self>, WorktreeError> {
        records(site).is_dir().then(|| Self::enter(site)).transpose()
    }

    /// Waits for whoever is inside.
    pub fn enter(site: &Site) -> Result<Self, WorktreeError> {
        let dir = records(site);
        let refused = |source| WorktreeError::NotWritable { path: dir.clone(), source };
        fs::create_dir_all(&dir).map_err(refused)?;
        // No slug ends in `.lock`.
        let file = open(&dir.join("gate.lock")).map_err(refused)?;
        file.lock().map_err(refused)?;
        Ok(Self { dir, file })
    }

    /// The worktree of this name; `None` when somebody holds it.
    pub fn hold(&self, name: &str) -> Result<Option<Hold>, WorktreeError> {
        let path = self.dir.join(name);
        let refused = |source| WorktreeError::NotWritable { path: path.clone(), source };
        let file = open(&path).map_err(refused)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Hold { file, path })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(refused(source)),
        }
    }

    /// Whether there is a record of this name.
    pub fn knows(&self, name: &str) -> bool {
        self.dir.join(name).is_file()
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        // Said, not left to closing: a child that is just being started may have it open too.
        let _ = self.file.unlock();
    }
}

impl Hold {
    /// The base commit on record.
    pub fn base(&self) -> Option<String> {
        let mut text = String::new();
        let mut file = &self.file;
        file.rewind().and_then(|()| file.read_to_string(&mut text)).ok()?;
        let base = text.trim();
        let hex = base.len() >= 40 && base.chars().all(|c| c.is_ascii_hexdigit());
        hex.then(|| base.to_owned())
    }

    pub fn record(&self, base: &str) -> Result<(), WorktreeError> {
        let mut file = &self.file;
        let written = file.rewind().and_then(|()| self.file.set_len(0));
        written
            .and_then(|()| file.write_all(format!("{base}\n").as_bytes()))
            .map_err(|source| WorktreeError::NotWritable { path: self.path.clone(), source })
    }

    /// Forgets the worktree. Only behind the gate.
    pub fn forget(&self, _gate: &Gate) {
        // What stays behind is found again with the same name.
        let _ = fs::remove_file(&self.path);
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

fn records(site: &Site) -> PathBuf {
    site.common.join("quarterdeck/worktrees")
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
}
