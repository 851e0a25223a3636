//! Files of the user, reached so that a path that was allowed cannot lead elsewhere meanwhile.
//!
//! Invariant: a path given here was followed through its links before it was decided upon, so no
//! part of it may be a link now. Its directory is opened under that condition once; everything
//! else is done by name within that handle.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

/// The largest file that is read as a whole: to be edited, replaced, or shown as an image.
pub const LARGEST: u64 = 32 * 1024 * 1024;

/// How many names of a directory are looked at for one that was meant.
const MOST_NAMES: usize = 10_000;

/// Why a file cannot be used, said so that a model can do better.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    #[error("there is no such file")]
    Missing,
    #[error("it is a directory; use Glob, or `ls` in the shell, to see what is in it")]
    Directory,
    #[error("it is a {0}, not a regular file")]
    Special(&'static str),
    #[error(
        "a part of its path became a link after this was allowed, so it was left alone; try again"
    )]
    Linked,
    #[error("a part of its path is not a directory")]
    NotBelow,
    #[error(
        "it has {size} bytes, and at most {LARGEST} are handled as a whole; use shell commands for it"
    )]
    TooLarge { size: u64 },
    #[error("it is read-only; change its permissions first if it may be changed")]
    ReadOnly,
    #[error("it has not been read yet; read it first, so that nothing unseen is lost")]
    Unread,
    #[error("it has changed since you read it; read it again before you change it")]
    Changed,
    #[error("it exists by now; read it before you change it")]
    Appeared,
    #[error("somebody else is writing it (`{0}` is beside it); try again")]
    Busy(String),
    #[error("interrupted before anything was written")]
    Stopped,
    #[error("cannot {what}: {source}")]
    Io { what: &'static str, source: io::Error },
}

impl Trouble {
    pub(super) fn io(what: &'static str) -> impl FnOnce(Errno) -> Self {
        move |errno| Self::of(what, errno)
    }

    fn of(what: &'static str, errno: Errno) -> Self {
        match errno {
            Errno::NOENT => Self::Missing,
            Errno::LOOP => Self::Linked,
            Errno::NOTDIR => Self::NotBelow,
            other => Self::Io { what, source: other.into() },
        }
    }
}

/// A name in a directory that is held open.
#[derive(Debug)]
pub struct Spot {
    pub(super) dir: OwnedFd,
    pub(super) name: OsString,
}

impl Spot {
    /// The place of a resolved path whose directory exists.
    pub fn reach(path: &Path) -> Result<Self, Trouble> {
        let (parent, name) = split(path)?;
        let dir = open_dir(parent).map_err(Trouble::io("open its directory"))?;
        Ok(Self { dir, name: name.to_owned() })
    }

    /// The place of a resolved path; directories on the way are made.
    pub fn reach_or_make(path: &Path) -> Result<Self, Trouble> {
        let (parent, name) = split(path)?;
        let dir = match open_dir(parent) {
            Err(Errno::NOENT) => walk(parent, Missing::Make),
            found => found,
        };
        let dir = dir.map_err(Trouble::io("make its directory"))?;
        Ok(Self { dir, name: name.to_owned() })
    }

    /// Opens the file to read. Looks at it first: to open a device may already do something, and
    /// to open a pipe may take for ever.
    pub fn open(&self) -> Result<(File, Stat), Trouble> {
        let stat = rustix::fs::statat(&self.dir, &self.name, AtFlags::SYMLINK_NOFOLLOW);
        regular(&stat.map_err(Trouble::io("look at it"))?)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened =
            rustix::fs::openat(&self.dir, &self.name, flags | OFlags::CLOEXEC, Mode::empty());
        let file = File::from(opened.map_err(Trouble::io("open it"))?);
        let stat = rustix::fs::fstat(&file).map_err(Trouble::io("look at it"))?;
        regular(&stat)?;
        Ok((file, stat))
    }

    /// The whole file, if it is not too large; `None` where there is none.
    pub fn load(&self) -> Result<Option<(Vec<u8>, Stat)>, Trouble> {
        match self.open() {
            Ok((file, stat)) => Ok(Some((read_whole(file, &stat)?, stat))),
            Err(Trouble::Missing) => Ok(None),
            Err(trouble) => Err(trouble),
        }
    }

    /// What else is in the directory, as far as it is text.
    pub fn neighbours(&self) -> Vec<String> {
        // The handle itself may be one that cannot list.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let listable = rustix::fs::openat(&self.dir, ".", flags, Mode::empty());
        let Ok(entries) = listable.and_then(Dir::new) else { return Vec::new() };
        let names = entries.take(MOST_NAMES).map_while(Result::ok);
        let names = names.filter_map(|entry| entry.file_name().to_str().map(str::to_owned).ok());
        names.filter(|name| name != "." && name != "..").collect()
    }
}

/// Opens what was found below a resolved path, in one step where that can be: many are opened
/// one after the other. Whether it is a regular file is for the caller to look.
pub fn open_plain(path: &Path) -> Result<File, Trouble> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => {}
            opened => return opened.map(File::from).map_err(Trouble::io("open it")),
        }
    }
    Spot::reach(path)?.open().map(|(file, _)| file)
}

/// Everything in an open file. One that grows meanwhile is not followed beyond the limit.
pub fn read_whole(file: File, stat: &Stat) -> Result<Vec<u8>, Trouble> {
    let size = u64::try_from(stat.st_size).unwrap_or_default();
    if size > LARGEST {
        return Err(Trouble::TooLarge { size });
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default() + 1);
    let read = file.take(LARGEST + 1).read_to_end(&mut bytes);
    read.map_err(|source| Trouble::Io { what: "read it", source })?;
    match u64::try_from(bytes.len()).unwrap_or(u64::MAX) {
        size if size > LARGEST => Err(Trouble::TooLarge { size }),
        _ => Ok(bytes),
    }
}

fn split(path: &Path) -> Result<(&Path, &OsStr), Trouble> {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => Ok((parent, name)),
        (Some(_) | None, _) => Err(Trouble::Directory),
    }
}

fn regular(stat: &Stat) -> Result<(), Trouble> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err(Trouble::Directory),
        FileType::Symlink => Err(Trouble::Linked),
        FileType::Fifo => Err(Trouble::Special("named pipe")),
        FileType::Socket => Err(Trouble::Special("socket")),
        FileType::CharacterDevice | FileType::BlockDevice => Err(Trouble::Special("device")),
        FileType::Unknown => Err(Trouble::Special("thing of unknown kind")),
    }
}

/// To work within a directory takes no right to list it.
#[cfg(target_os = "linux")]
const DIR: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const DIR: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

#[cfg(target_os = "linux")]
fn open_dir(path: &Path) -> Result<OwnedFd, Errno> {
    use rustix::fs::{ResolveFlags, openat2};
    plain(path)?;
    match openat2(CWD, path, DIR, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        // Kernels before 5.6, and sandboxes that do not know the call.
        Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => walk(path, Missing::Refuse),
        opened => opened,
    }
}

#[cfg(not(target_os = "linux"))]
fn open_dir(path: &Path) -> Result<OwnedFd, Errno> {
    walk(path, Missing::Refuse)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Make,
    Refuse,
}

/// Goes down from the root, one directory after the other, none of them a link.
fn walk(path: &Path, missing: Missing) -> Result<OwnedFd, Errno> {
    plain(path)?;
    let mut dir = rustix::fs::openat(CWD, "/", DIR, Mode::empty())?;
    for part in path.components().skip(1) {
        let name = Path::new(part.as_os_str());
        dir = match step(&dir, name) {
            Err(Errno::NOENT) if missing == Missing::Make => {
                match rustix::fs::mkdirat(&dir, name, Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => step(&dir, name)?,
                    Err(errno) => return Err(errno),
                }
            }
            stepped => stepped?,
        };
    }
    Ok(dir)
}

fn step(dir: &OwnedFd, name: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(dir, name, DIR | OFlags::NOFOLLOW, Mode::empty()).map_err(|errno| {
        // A link without following it is "not a directory"; say what it is.
        let link = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink);
        if errno == Errno::NOTDIR && link { Errno::LOOP } else { errno }
    })
}

/// Resolved paths are absolute and have nothing but names.
fn plain(path: &Path) -> Result<(), Errno> {
    let mut parts = path.components();
    let rooted = parts.next() == Some(Component::RootDir);
    let named = parts.all(|part| matches!(part, Component::Normal(_)));
    if rooted && named { Ok(()) } else { Err(Errno::INVAL) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn both_ways_down_follow_no_link() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("file"), "").unwrap();
        symlink(root.join("a"), root.join("link")).unwrap();
        for down in [open_dir, |path: &Path| walk(path, Missing::Refuse)] {
            let errno = |path: &str| down(&root.join(path)).map(|_| ()).err();
            assert_eq!(errno("a/b"), None);
            assert_eq!(errno("link"), Some(Errno::LOOP));
            assert_eq!(errno("link/b"), Some(Errno::LOOP));
            assert_eq!(errno("a/c"), Some(Errno::NOENT));
            assert_eq!(errno("file"), Some(Errno::NOTDIR));
            assert_eq!(errno("a/../a"), Some(Errno::INVAL));
            assert_eq!(down(Path::new("a")).map(|_| ()).err(), Some(Errno::INVAL));
            assert!(down(Path::new("/")).is_ok());
        }
    }

    #[test]
    fn directories_are_made_but_not_through_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir(root.join("outside")).unwrap();
        symlink(root.join("outside"), root.join("link")).unwrap();
        Spot::reach_or_make(&root.join("x/y/z/file")).unwrap();
        assert!(root.join("x/y/z").is_dir());
        let refused = Spot::reach_or_make(&root.join("link/new/file"));
        assert!(matches!(refused, Err(Trouble::Linked)), "{refused:?}");
        assert_eq!(fs::read_dir(root.join("outside")).unwrap().count(), 0);
    }
}
