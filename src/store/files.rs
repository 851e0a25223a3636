//! Reading, setting aside and replacing whole files. Knows nothing of what is in them.
//!
//! Invariant: a reader sees the old content or the new one, never a part. Other programs
//! truncate and rewrite in place, so a reader of ours that meets half a file looks again for a
//! moment before it believes it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::OFlags;

use super::error::{Damage, StoreError};
use crate::protocol::time::Stamp;

/// How long a file that does not parse may still be somebody's write in progress.
pub const HALF_WRITTEN: Duration = Duration::from_millis(200);

/// How long to wait before looking at such a file again.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// What a write must survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The end of any process, at any moment.
    #[default]
    ProcessCrash,
    /// A power failure too: every write waits for the disk.
    PowerLoss,
}

pub fn now() -> Stamp {
    Stamp::from(SystemTime::now())
}

/// Blocks this thread. The store is synchronous: callers on an async runtime use
/// `spawn_blocking`.
#[expect(clippy::disallowed_methods, reason = "nothing tells when another program lets go")]
pub fn nap(time: Duration) {
    std::thread::sleep(time);
}

/// Makes a directory and its parents where they are missing, for this user only.
pub fn make_dir(path: &Path) -> Result<(), StoreError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|source| StoreError::io("make the directory", path, source))
}

/// Opens whatever stands there without waiting for it: a pipe must not hold up a reader.
pub fn open_to_read(path: &Path) -> io::Result<File> {
    let at_once = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    OpenOptions::new().read(true).custom_flags(at_once).open(path)
}

/// The text of a file; `None` where there is no file.
pub fn read_text(path: &Path, limit: u64) -> Result<Option<String>, StoreError> {
    let Some(bytes) = read_bytes(path, limit)? else { return Ok(None) };
    let text = String::from_utf8(bytes).map_err(|error| {
        StoreError::broken(path, Damage::NotText(error.utf8_error().valid_up_to()))
    })?;
    Ok(Some(text))
}

/// The bytes of a file; `None` where there is no file.
pub fn read_bytes(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, StoreError> {
    let unreadable = |source| StoreError::io("read", path, source);
    let mut file = match open_to_read(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(StoreError::broken(path, Damage::NotAFile));
    }
    let size = metadata.len();
    if size > limit {
        return Err(StoreError::broken(path, Damage::TooLarge { size, limit }));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default() + 1);
    file.read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(Some(bytes))
}

/// Reads and parses without a lock, looking again while the file may be half written.
/// `None` where there is no file.
pub fn read_parsed<T, E: Into<Damage>>(
    path: &Path,
    limit: u64,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Result<Option<T>, StoreError> {
    patiently(|_| match read_text(path, limit)? {
        None => Ok(None),
        Some(text) => parse(&text).map(Some).map_err(|damage| StoreError::broken(path, damage)),
    })
}

/// Which of its tries an operation on a broken file is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Try {
    /// The file may be somebody's write in progress.
    Early,
    /// It has been broken for long enough to be believed.
    Last,
}

/// Repeats an operation while it meets a broken file that somebody may be writing. One that has
/// not been touched for a while is believed at once.
pub fn patiently<T>(
    mut operation: impl FnMut(Try) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let since = Instant::now();
    loop {
        let outcome = operation(Try::Early);
        let Err(StoreError::Broken { path, .. }) = &outcome else { return outcome };
        let fresh = Signature::of(path).is_some_and(|file| file.age() < HALF_WRITTEN);
        if !fresh || since.elapsed() > HALF_WRITTEN {
            return operation(Try::Last);
        }
        nap(LOOK_AGAIN);
    }
}

/// Moves a broken file (or whatever stands in its place) out of the way, keeping its content.
/// Only for a writer that holds the file's lock.
pub fn set_aside(path: &Path) -> Result<PathBuf, StoreError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut at = now().millis();
    let aside = loop {
        let aside = path.with_file_name(format!("{name}.broken-{at}"));
        if !aside.exists() {
            break aside;
        }
        at += 1;
    };
    fs::rename(path, &aside).map_err(|source| StoreError::io("set aside", path, source))?;
    tracing::warn!(file = %path.display(), aside = %aside.display(), "broken file set aside");
    Ok(aside)
}

/// The name under which the next content of a file is prepared. Always the same for a file, so
/// what a killed process left behind is overwritten, and never piles up.
pub fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.tmp"))
}

/// Opens a new, empty file for this user only, in the place of whatever was there.
pub fn create(path: &Path) -> io::Result<File> {
    let open = || OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    match open() {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        outcome => return outcome,
    }
    // A leftover may be a link or have another mode: a new file is certain to be ours.
    match fs::remove_file(path) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(_) if path.is_dir() => {
            set_aside(path).map_err(io::Error::other)?;
        }
        Err(error) => return Err(error),
    }
    open()
}

pub fn sync_dir_of(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |dir| File::open(dir)?.sync_all())
}

/// Tells one version of a file from another without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Signature {
    inode: u64,
    size: u64,
    /// Of the content, the name or the mode: a file made readable again is another version.
    changed: (i64, i64),
}

impl Signature {
    /// `None` where there is nothing, or no regular file.
    pub fn of(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().filter(fs::Metadata::is_file).as_ref().map(Self::from)
    }

    /// Whether every later write will show. For a moment after a write, another one may leave
    /// the same size and the same time: clocks of file systems tick every few milliseconds, some
    /// every other second.
    pub fn is_settled(&self) -> bool {
        let coarsest = if self.changed.1 == 0 { 2_000 } else { 50 };
        self.age() > Duration::from_millis(coarsest)
    }

    /// How long ago it was changed; a time in the future is no time at all.
    pub fn age(&self) -> Duration {
        let (seconds, nanos) = self.changed;
        let millis = now().millis() - (seconds * 1000 + nanos / 1_000_000);
        Duration::from_millis(u64::try_from(millis).unwrap_or(0))
    }
}

impl From<&fs::Metadata> for Signature {
    fn from(metadata: &fs::Metadata) -> Self {
        Self {
            inode: metadata.ino(),
            size: metadata.len(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}
