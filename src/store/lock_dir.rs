//! One lock directory of the ecosystem: whose it is, how it is recorded, where it waits.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{
    AtFlags, CWD, RenameFlags, Timespec, Timestamps, UTIME_NOW, renameat_with, utimensat,
};
use rustix::io::Errno;

use super::files;

/// Behind the name of a domain's file. The parts of such names do not begin with a dot.
const SPARE: &str = "~.spare";

/// A lock directory of ours, with what tells it from one that somebody else made later.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LockDir {
    pub(super) path: PathBuf,
    pub(super) inode: u64,
    pub(super) touched: SystemTime,
}

impl LockDir {
    pub(super) fn at(path: &Path) -> io::Result<Option<Self>> {
        // Not through a link: whatever bears the name, it is in the way.
        match fs::symlink_metadata(path) {
            Ok(found) => {
                let (inode, touched) = (found.ino(), found.modified()?);
                Ok(Some(Self { path: path.to_owned(), inode, touched }))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn is_ours(&self) -> bool {
        let found = Self::at(&self.path).ok().flatten();
        found.is_some_and(|it| it.inode == self.inode && it.touched == self.touched)
    }

    /// Removes the directory if it is still the one that was looked at.
    pub(super) fn remove(&self) -> bool {
        self.is_ours() && fs::remove_dir(&self.path).is_ok()
    }

    /// `L <inode> <nanoseconds> <path>`, ended by a zero byte, which no path contains.
    pub(super) fn entry(&self, home: &Path) -> Vec<u8> {
        let since = self.touched.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let mut entry = format!("L {} {} ", self.inode, since.as_nanos()).into_bytes();
        entry.extend_from_slice(below(home, &self.path).as_os_str().as_bytes());
        entry.push(0);
        entry
    }

    pub(super) fn from_entry(home: &Path, entry: &[u8]) -> Option<Self> {
        let mut fields = entry.splitn(4, |byte| *byte == b' ').skip(1);
        let mut number = || std::str::from_utf8(fields.next()?).ok()?.parse::<u128>().ok();
        let inode = u64::try_from(number()?).ok()?;
        let nanos = u64::try_from(number()?).ok()?;
        let path = recorded(home, fields.next()?, |name| name.ends_with(".lock"))?;
        let touched = SystemTime::UNIX_EPOCH + Duration::from_nanos(nanos);
        Some(Self { path, inode, touched })
    }

    /// The spare directory of a domain, as if it were made now.
    pub(super) fn ready(spare: &Path) -> io::Result<Self> {
        let fresh = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        let times = Timestamps { last_access: fresh, last_modification: fresh };
        match utimensat(CWD, spare, &times, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(()) => {}
            Err(Errno::NOENT) => make(spare)?,
            Err(error) => return Err(error.into()),
        }
        if !fs::symlink_metadata(spare)?.is_dir() {
            files::set_aside(spare).map_err(io::Error::other)?;
            make(spare)?;
        }
        Self::at(spare)?.ok_or_else(|| ErrorKind::NotFound.into())
    }

    /// Lets go of it. The spare's place is taken when several were held.
    pub(super) fn give_back(&self, spare: &Path) {
        if !self.is_ours() {
            return;
        }
        let back = renameat_with(CWD, &self.path, CWD, spare, RenameFlags::NOREPLACE);
        if back.is_err() {
            self.remove();
        }
    }
}

/// Makes a lock directory.
pub(super) fn make(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

/// Where the lock directory of a domain is while nobody holds it. No domain has such a name.
pub(super) fn spare_of(domain: &Path) -> PathBuf {
    let mut name = domain.as_os_str().to_owned();
    name.push(SPARE);
    PathBuf::from(name)
}

pub(super) fn is_spare(path: &Path) -> bool {
    path.as_os_str().as_bytes().ends_with(SPARE.as_bytes())
}

/// A path as it is recorded: relative to the home, so that a copy of a home speaks of itself.
pub(super) fn below<'p>(home: &Path, path: &'p Path) -> &'p Path {
    path.strip_prefix(home).unwrap_or(path)
}

/// A recorded path, if it leads to something below the home that only we make.
pub(super) fn recorded(home: &Path, bytes: &[u8], ours: impl Fn(&str) -> bool) -> Option<PathBuf> {
    let path = Path::new(OsStr::from_bytes(bytes));
    let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    let name = path.file_name()?.to_string_lossy();
    let path = home.join(path);
    // Through a linked directory it would lead elsewhere.
    let inside = path.parent()?.canonicalize().ok()?.starts_with(home.canonicalize().ok()?);
    (plain && inside && ours(&name)).then_some(path)
}
