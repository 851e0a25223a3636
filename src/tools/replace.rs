//! Replaces a file of the user as a whole, and only if it is still what it was.
//!
//! The next content is prepared in `.<name>.quarterdeck-tmp` beside the file, which is locked
//! while its writer lives. That makes it a lock on the file too: between agents, and between
//! processes of ours. Whoever holds it compares the file with what it should be and renames. A
//! killed writer leaves the old file or the new one, and at most that one temporary file, which
//! the next writer of the same file finds unlocked and removes.
//!
//! Renaming gives the name to a new file: other hard links keep the old content. That a file is
//! never half written is worth more.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::io::Write;
use std::time::{Duration, Instant};

use rustix::fs::{Access, AtFlags, Gid, Mode, OFlags, RawMode, Stat, Uid};
use rustix::io::Errno;

use super::guarded::{Spot, Trouble};
use crate::model::Stop;
use crate::store::Durability;
use crate::store::files::nap;

/// How long another writer of the same file is waited for.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// The longest name that most file systems take, in bytes.
const LONGEST_NAME: usize = 255;
const ENDING: &str = ".quarterdeck-tmp";

const WRITE_BITS: RawMode = 0o222;
const PERMISSIONS: RawMode = 0o7777;
/// The set-user-id and set-group-id bits: they must not pass to another owner.
const SET_IDS: RawMode = 0o6000;

/// What a file was when its next content was made.
#[derive(Debug, Clone, Copy)]
pub enum Before<'a> {
    Nothing,
    Content(&'a [u8]),
}

/// Puts `after` in the place of `before`.
pub fn replace(
    spot: &Spot,
    before: Before<'_>,
    after: &[u8],
    durability: Durability,
    stop: &Stop,
) -> Result<(), Trouble> {
    // A new file gets what the user's mask leaves; what replaces an old one may hold secrets.
    let mode = match before {
        Before::Nothing => 0o666,
        Before::Content(_) => {
            writable(spot)?;
            0o600
        }
    };
    let mut next = Next::hold(spot, Mode::from_raw_mode(mode), stop)?;
    let stat = same(spot, before)?;
    next.fill(after, stat.as_ref(), durability)?;
    // Filling takes time on a slow disk: look again, so close to the rename as one can.
    same(spot, before)?;
    if stop.is_cancelled() {
        return Err(Trouble::Stopped);
    }
    next.take_place(before)?;
    if durability == Durability::PowerLoss {
        sync_dir(spot)?;
    }
    Ok(())
}

/// Renaming would get around the write protection of a file, so it is asked for.
fn writable(spot: &Spot) -> Result<(), Trouble> {
    let stat = rustix::fs::statat(&spot.dir, &spot.name, AtFlags::SYMLINK_NOFOLLOW);
    let stat = stat.map_err(|_| Trouble::Changed)?;
    // Root may write everything; a file without any write bit is still meant to be left alone.
    if stat.st_mode & WRITE_BITS == 0 {
        return Err(Trouble::ReadOnly);
    }
    match rustix::fs::accessat(&spot.dir, &spot.name, Access::WRITE_OK, AtFlags::empty()) {
        Ok(()) => Ok(()),
        Err(Errno::ACCESS | Errno::PERM | Errno::ROFS) => Err(Trouble::ReadOnly),
        Err(errno) => Err(Trouble::io("write it")(errno)),
    }
}

/// Makes sure that the file is what it was.
fn same(spot: &Spot, before: Before<'_>) -> Result<Option<Stat>, Trouble> {
    match (before, spot.load()?) {
        (Before::Nothing, None) => Ok(None),
        (Before::Nothing, Some(_)) => Err(Trouble::Appeared),
        (Before::Content(content), Some((now, stat))) if now == content => Ok(Some(stat)),
        (Before::Content(_), _) => Err(Trouble::Changed),
    }
}

/// The file that is about to take a place. Holding it is holding the lock.
struct Next<'a> {
    spot: &'a Spot,
    name: OsString,
    file: File,
    /// It has taken the place, and its own name is free again.
    placed: bool,
}

impl<'a> Next<'a> {
    fn hold(spot: &'a Spot, mode: Mode, stop: &Stop) -> Result<Self, Trouble> {
        let name = temporary(spot);
        let since = Instant::now();
        loop {
            if let Some(file) = create(spot, &name, mode)? {
                return Ok(Self { spot, name, file, placed: false });
            }
            if stop.is_cancelled() {
                return Err(Trouble::Stopped);
            }
            if since.elapsed() > PATIENCE {
                return Err(Trouble::Busy(name.to_string_lossy().into_owned()));
            }
            nap(LOOK_AGAIN);
        }
    }

    fn fill(
        &mut self,
        content: &[u8],
        old: Option<&Stat>,
        durability: Durability,
    ) -> Result<(), Trouble> {
        let failed = |source| Trouble::Io { what: "write it", source };
        self.file.write_all(content).map_err(failed)?;
        if let Some(stat) = old {
            self.resemble(stat)?;
        }
        match durability {
            Durability::PowerLoss => self.file.sync_all().map_err(failed),
            Durability::ProcessCrash => Ok(()),
        }
    }

    /// Owner and permissions of the file that it replaces, as far as this user may give them.
    fn resemble(&self, old: &Stat) -> Result<(), Trouble> {
        let own = rustix::fs::fstat(&self.file).map_err(Trouble::io("look at it"))?;
        let mut mode = old.st_mode & PERMISSIONS;
        if (own.st_uid, own.st_gid) != (old.st_uid, old.st_gid) {
            let (user, group) = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
            let both = rustix::fs::fchown(&self.file, Some(user), Some(group));
            if both.is_err() {
                mode &= !SET_IDS;
                // The group alone may still be one of ours. If not, the file is ours now.
                let _ = rustix::fs::fchown(&self.file, None, Some(group));
            }
        }
        rustix::fs::fchmod(&self.file, Mode::from_bits_truncate(mode))
            .map_err(Trouble::io("keep its permissions"))
    }

    fn take_place(mut self, before: Before<'_>) -> Result<(), Trouble> {
        let Spot { dir, name } = self.spot;
        let renamed = match before {
            Before::Content(_) => rustix::fs::renameat(dir, &self.name, dir, name),
            Before::Nothing => rename_to_new(self.spot, &self.name),
        };
        match renamed {
            Ok(()) => {
                self.placed = true;
                Ok(())
            }
            Err(Errno::EXIST) => Err(Trouble::Appeared),
            Err(errno) => Err(Trouble::io("put it in its place")(errno)),
        }
    }
}

impl Drop for Next<'_> {
    fn drop(&mut self) {
        if !self.placed {
            // Still locked, so it is ours. If it cannot be removed, the next writer tries again.
            let _ = rustix::fs::unlinkat(&self.spot.dir, &self.name, AtFlags::empty());
        }
    }
}

/// A new file under this name, locked; `None` while somebody else holds it.
fn create(spot: &Spot, name: &OsString, mode: Mode) -> Result<Option<File>, Trouble> {
    let failed = Trouble::io("make a file in its directory");
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::openat(&spot.dir, name, flags, mode) {
        Ok(made) => {
            let file = File::from(made);
            let locked = !matches!(file.try_lock(), Err(TryLockError::WouldBlock));
            // Until it was locked it looked like a leftover, and may have been removed as one.
            Ok((locked && is_named(spot, name, &file)).then_some(file))
        }
        Err(Errno::EXIST) => {
            remove_leftover(spot, name);
            Ok(None)
        }
        Err(errno) => Err(failed(errno)),
    }
}

/// Removes what a killed writer left: nobody has it locked. What is no regular file goes, too,
/// if it can; it is in the way under a name that is ours.
fn remove_leftover(spot: &Spot, name: &OsString) {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let dead = match rustix::fs::openat(&spot.dir, name, flags, Mode::empty()) {
        Ok(found) => {
            let file = File::from(found);
            // Under the lock, the name can only be taken away from it by us.
            file.try_lock().is_ok() && is_named(spot, name, &file) && {
                let _ = rustix::fs::unlinkat(&spot.dir, name, AtFlags::empty());
                true
            }
        }
        Err(Errno::LOOP) => {
            let _ = rustix::fs::unlinkat(&spot.dir, name, AtFlags::empty());
            true
        }
        Err(_) => false,
    };
    if dead {
        tracing::debug!(name = %name.display(), "removed what a killed writer had left");
    }
}

/// Whether the name still stands for this very file.
fn is_named(spot: &Spot, name: &OsString, file: &File) -> bool {
    let named = rustix::fs::statat(&spot.dir, name, AtFlags::SYMLINK_NOFOLLOW);
    let opened = rustix::fs::fstat(file);
    matches!((named, opened), (Ok(named), Ok(opened))
        if (named.st_dev, named.st_ino) == (opened.st_dev, opened.st_ino))
}

/// Renames, but never over something that has appeared meanwhile.
fn rename_to_new(spot: &Spot, from: &OsString) -> Result<(), Errno> {
    let Spot { dir, name } = spot;
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    match rustix::fs::renameat_with(dir, from, dir, name, rustix::fs::RenameFlags::NOREPLACE) {
        // Not every file system knows how; the look a moment ago must do there.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
        renamed => return renamed,
    }
    rustix::fs::renameat(dir, from, dir, name)
}

/// Always the same for a file, so that writers meet and leftovers never pile up.
fn temporary(spot: &Spot) -> OsString {
    let mut name = OsString::from(".");
    name.push(&spot.name);
    name.push(ENDING);
    if name.len() > LONGEST_NAME {
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(&spot.name);
        name = format!(".{hash:016x}{ENDING}").into();
    }
    name
}

fn sync_dir(spot: &Spot) -> Result<(), Trouble> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(&spot.dir, ".", flags, Mode::empty());
    let synced = opened.and_then(rustix::fs::fsync);
    synced.map_err(Trouble::io("wait for the disk"))
}
