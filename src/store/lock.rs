//! Locks around reading-changing-writing, among our own processes and with other programs.
//!
//! Two layers. A **domain** (one inbox, one roster, one task list) is entered with a `File::lock`
//! on a small file of ours: it excludes our processes and threads from each other, and the kernel
//! lets go of it when its holder dies. Inside it, the **lock directories** of the ecosystem
//! (`<target>.lock`, made with mkdir, stale after 10 s without a refresh) exclude everybody else.
//!
//! The domain's file records what its holder has made, below the home and nowhere else: whoever
//! enters after a crash finds the record of the dead one and clears up at once, without waiting
//! for anything to become stale.
//! Since a stale directory is only ever removed inside its domain, two of us cannot both take it
//! over. Everything here blocks; nothing here is held across an await.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::error::{LockError, StoreError};
use super::files::{self, Durability};
use super::lock_dir::{self, LockDir, below, recorded};
use super::lock_keeper;
use super::lock_wait::Wait;
use crate::protocol::ids::encoded;
use crate::settings::paths::Home;

/// A lock directory that nobody has touched for so long belongs to nobody.
const STALE: Duration = Duration::from_secs(10);

/// How long we wait for others: a crashed holder is stale after 10 s, and its first timestamp
/// may lie a second in the future.
const PATIENCE: Duration = Duration::from_secs(15);

/// The record of a domain in which something may be half done.
const UNMENDED: &[u8] = b"M\0";

/// The door to all domains of one home directory.
#[derive(Debug, Clone)]
pub struct Locks {
    home: PathBuf,
    dir: PathBuf,
    durability: Durability,
    patience: Duration,
}

/// A domain that we are in, with the lock directories we hold. Dropping it gives all back.
#[derive(Debug)]
pub struct Held {
    inner: Arc<Mutex<Inner>>,
    home: PathBuf,
    durability: Durability,
    /// One patience for all that is waited for.
    wait: Wait,
    /// Something that died left its work half done, and nobody has finished it yet.
    unmended: bool,
}

#[derive(Debug)]
pub(super) struct Inner {
    home: PathBuf,
    record: File,
    /// Where a lock directory is while nobody holds it.
    spare: PathBuf,
    taken: Vec<LockDir>,
}

impl Locks {
    pub fn new(home: &Home, durability: Durability) -> Self {
        let (dir, home) = (home.locks(), home.root().to_owned());
        Self { home, dir, durability, patience: PATIENCE }
    }

    /// What writes below these locks must survive.
    pub fn durability(&self) -> Durability {
        self.durability
    }

    /// The same locks with another limit on waiting.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    fn file(&self, domain: &[&str]) -> PathBuf {
        let parts: Vec<String> = domain.iter().map(|part| encoded(part)).collect();
        self.dir.join(parts.join("~"))
    }

    /// Waits until nobody else of ours is in the domain, and clears up after a dead one. For
    /// domains in which nothing can be half done: every change is one file.
    pub fn enter(&self, domain: &[&str]) -> Result<Held, StoreError> {
        let mut held = self.enter_unmended(domain)?;
        held.mended();
        Ok(held)
    }

    /// As `enter`, for domains in which several files change together: whoever enters looks at
    /// `is_unmended`.
    pub fn enter_unmended(&self, domain: &[&str]) -> Result<Held, StoreError> {
        self.enter_waiting(domain, Wait::new(self.patience))
    }

    /// Enters one more domain, within the patience that is left.
    pub fn enter_too(&self, domain: &[&str], first: &Held) -> Result<Held, StoreError> {
        let mut held = self.enter_waiting(domain, first.wait.clone())?;
        held.mended();
        Ok(held)
    }

    fn enter_waiting(&self, domain: &[&str], mut wait: Wait) -> Result<Held, StoreError> {
        let path = self.file(domain);
        let failed = |source| LockError::Io { lock: path.clone(), source };
        let mut record = loop {
            let record = open_record(&path, &self.dir)?;
            match record.try_lock() {
                // A team's files go when it is deleted: a lock on a file that is no longer
                // there excludes nobody.
                Ok(()) if is_at(&record, &path) => break record,
                Ok(()) => continue,
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(source)) => return Err(failed(source).into()),
            }
            if !wait.pause() {
                let age = fs::metadata(&path).map(|file| age(file.modified())).unwrap_or_default();
                let busy = LockError::Busy { what: domain.join(" "), age, waited: wait.waited() };
                return Err(busy.into());
            }
        };
        let mut left = Vec::new();
        record.read_to_end(&mut left).map_err(failed)?;
        if !left.is_empty() {
            tracing::info!(domain = %path.display(), "clearing up after a process that died");
            clear_up(&self.home, &left);
            // Until somebody has looked at what it left half done, whoever comes next must.
            record.set_len(0).and_then(|()| record.write_all(UNMENDED)).map_err(failed)?;
        }
        let home = self.home.clone();
        let spare = lock_dir::spare_of(&path);
        let inner = Inner { home: home.clone(), record, spare, taken: Vec::new() };
        let inner = Arc::new(Mutex::new(inner));
        lock_keeper::watch(&inner);
        let (durability, unmended) = (self.durability, !left.is_empty());
        Ok(Held { inner, home, durability, wait, unmended })
    }

    /// Removes the file of a domain and of all below it, when what they guard is gone.
    pub fn forget(&self, domain: &[&str]) {
        let path = self.file(domain);
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for entry in fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            let file = entry.file_name().to_string_lossy().into_owned();
            let below = file.strip_prefix(&name).is_some_and(|rest| rest.starts_with('~'));
            if file == name || below {
                // Somebody may have removed it before: the aim is that it is gone.
                let _ = match lock_dir::is_spare(&entry.path()) {
                    true => fs::remove_dir(entry.path()),
                    false => fs::remove_file(entry.path()),
                };
            }
        }
    }
}

impl Held {
    /// Whether somebody died in this domain, and nobody has looked since at what was half done.
    pub fn is_unmended(&self) -> bool {
        self.unmended
    }

    /// Says that what was half done is whole again, or that there is no such thing here.
    pub fn mended(&mut self) {
        self.unmended = false;
    }

    /// Takes the lock directory of a file if nobody has it now.
    pub fn try_take(&mut self, target: &Path) -> Result<bool, LockError> {
        let waiting = std::mem::replace(&mut self.wait, Wait::new(Duration::ZERO));
        let outcome = self.take(target);
        self.wait = waiting;
        match outcome {
            Ok(()) => Ok(true),
            Err(LockError::Held { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Takes the lock directory of a file, waiting for other programs to let go of it.
    pub fn take(&mut self, target: &Path) -> Result<(), LockError> {
        let mut name = target.as_os_str().to_owned();
        name.push(".lock");
        let path = PathBuf::from(name);
        let failed = |source| LockError::Io { lock: path.clone(), source };
        if self.inner().taken.iter().any(|held| held.path == path) {
            return Ok(());
        }
        loop {
            let mut found = Duration::ZERO;
            match LockDir::at(&path).map_err(failed)? {
                None if self.make(&path).map_err(failed)? => return Ok(()),
                None => {} // somebody was quicker
                Some(theirs) => {
                    found = age(Ok(theirs.touched));
                    if found > STALE && theirs.remove() {
                        tracing::info!(lock = %path.display(), age = ?found, "took over a stale lock");
                        continue;
                    }
                }
            }
            if !self.wait.pause() {
                let waited = self.wait.waited();
                return Err(LockError::Held { lock: path, age: found, waited });
            }
        }
    }

    /// Makes a lock directory, `false` if there is one. It is made under another name, recorded
    /// and then renamed: however soon we die, the record says whose it is. That other name is a
    /// place of the domain's own, to which it goes back afterwards: making and removing
    /// directories all the time is slow.
    fn make(&self, path: &Path) -> io::Result<bool> {
        let mut inner = self.inner();
        let mut ours = LockDir::ready(&inner.spare)?;
        ours.path = path.to_owned();
        inner.record.write_all(&ours.entry(&self.home))?;
        match renameat_with(CWD, &inner.spare, CWD, path, RenameFlags::NOREPLACE) {
            Ok(()) => {}
            Err(Errno::EXIST | Errno::NOTEMPTY) => return Ok(false),
            // Plain `rename` would replace an empty directory. Some file systems know no other,
            // and some homes are spread over several: there, a holder that dies right here is
            // only noticed when its lock is stale.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP | Errno::XDEV) => {
                match lock_dir::make(path) {
                    Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(false),
                    outcome => outcome?,
                }
            }
            Err(error) => return Err(error.into()),
        }
        let Some(there) = LockDir::at(path)? else { return Ok(false) };
        if there != ours {
            inner.record.write_all(&there.entry(&self.home))?;
        }
        inner.taken.push(there);
        Ok(true)
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts new content in the place of a file, whole or not at all.
    pub fn replace(&mut self, target: &Path, content: &[u8]) -> Result<(), StoreError> {
        self.replace_with(target, |file| file.write_all(content))
    }

    /// As `replace`, with content that `write` puts into the new file.
    pub fn replace_with(
        &mut self,
        target: &Path,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> Result<(), StoreError> {
        let temporary = files::temporary(target);
        let failed = |source| StoreError::io("write", target, source);
        self.note(&temporary).map_err(failed)?;
        let prepare = || {
            let mut file = files::create(&temporary)?;
            write(&mut file)?;
            match self.durability {
                Durability::ProcessCrash => Ok(()),
                Durability::PowerLoss => file.sync_all(),
            }
        };
        let placed = prepare().map_err(failed).and_then(|()| {
            self.confirm()?;
            fs::rename(&temporary, target).map_err(failed)
        });
        if placed.is_err() {
            // It is not there when creating it failed.
            let _ = fs::remove_file(&temporary);
        }
        placed?;
        self.secure_names(target)
    }

    /// Makes sure, where that is asked for, that names which came or went in the directory of
    /// `path`, and in those above it, survive a power failure.
    pub fn secure_names(&self, path: &Path) -> Result<(), StoreError> {
        if self.durability == Durability::ProcessCrash {
            return Ok(());
        }
        let above = path.ancestors().skip(1).take_while(|dir| dir.starts_with(&self.home));
        for dir in above {
            let synced = File::open(dir).and_then(|dir| dir.sync_all());
            synced.map_err(|source| StoreError::io("write", dir, source))?;
        }
        Ok(())
    }

    /// Records something that must be removed if we die before we let go.
    pub fn note(&self, leftover: &Path) -> io::Result<()> {
        let path = below(&self.home, leftover);
        let entry = [b"T ".as_slice(), path.as_os_str().as_bytes(), b"\0"].concat();
        self.inner().record.write_all(&entry)
    }

    /// Makes sure that no lock of ours was taken over (we may have been suspended for long).
    fn confirm(&self) -> Result<(), LockError> {
        let inner = self.inner();
        match inner.taken.iter().find(|held| !held.is_ours()) {
            None => Ok(()),
            Some(lost) => Err(LockError::Lost { lock: lost.path.clone() }),
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        lock_keeper::forget(&self.inner);
        let mut inner = self.inner();
        while let Some(held) = inner.taken.pop() {
            held.give_back(&inner.spare);
        }
        // A record that stays only makes the next one look for things that are gone already.
        let _ = inner.record.set_len(0);
        if self.unmended {
            let _ = inner.record.write_all(UNMENDED);
        }
        // The keeper may have the file open for a moment longer: let go now, not then.
        let _ = inner.record.unlock();
    }
}

impl Inner {
    /// Touches every lock directory, so that nobody thinks it stale.
    pub(super) fn refresh(&mut self) {
        if self.taken.is_empty() {
            return; // let go meanwhile: the record may be somebody else's by now
        }
        for held in &mut self.taken {
            if !held.is_ours() {
                continue; // `confirm` will find it
            }
            let touched = SystemTime::now();
            let done = File::open(&held.path).and_then(|dir| dir.set_modified(touched));
            if done.is_ok() {
                held.touched =
                    LockDir::at(&held.path).ok().flatten().map_or(touched, |d| d.touched);
            }
        }
        let home = self.home.clone();
        let entries: Vec<u8> = self.taken.iter().flat_map(|held| held.entry(&home)).collect();
        // Behind the old entries, which no longer match: whoever clears up uses the newest.
        let _ = self.record.write_all(&entries);
    }
}

/// Removes what a dead holder recorded. A torn last entry was never acted upon.
fn clear_up(home: &Path, record: &[u8]) {
    let leftover = |name: &str| {
        name.starts_with('.') && (name.ends_with(".tmp") || name.contains(".deleted-"))
    };
    let whole = record.split_inclusive(|byte| *byte == 0).filter_map(|e| e.strip_suffix(b"\0"));
    for entry in whole {
        if let Some(lock) = LockDir::from_entry(home, entry) {
            lock.remove();
        } else if let Some(path) = entry.strip_prefix(b"T ") {
            let Some(path) = recorded(home, path, leftover) else { continue };
            // It is there only if the holder died between making and renaming it.
            let _ = match fs::symlink_metadata(&path) {
                Ok(found) if found.is_dir() => fs::remove_dir_all(&path),
                Ok(_) => fs::remove_file(&path),
                Err(_) => Ok(()),
            };
        }
    }
}

fn open_record(path: &Path, dir: &Path) -> Result<File, StoreError> {
    let open = || {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).mode(0o600).open(path)
    };
    match open() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            files::make_dir(dir)?;
            open()
        }
        outcome => outcome,
    }
    .and_then(|record| match record.metadata()?.is_file() {
        true => Ok(record),
        false => Err(io::Error::new(ErrorKind::InvalidInput, "it is no regular file")),
    })
    .map_err(|source| LockError::Io { lock: path.to_owned(), source }.into())
}

fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(there)) => open.ino() == there.ino() && open.dev() == there.dev(),
        (Ok(_) | Err(_), _) => false,
    }
}

/// How long ago, where a time in the future (proper-lockfile sets such) is no time at all.
fn age(touched: io::Result<SystemTime>) -> Duration {
    touched.ok().and_then(|at| at.elapsed().ok()).unwrap_or_default()
}
