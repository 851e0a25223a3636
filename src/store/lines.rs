//! Files of JSON lines that only grow: the journal and the transcripts.
//!
//! Invariant: what was acknowledged is a whole line. A writer that died in the middle of one
//! leaves a torn end, which the next owner mends and every reader passes over. Knows nothing of
//! what the lines mean.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Take, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::IgnoredAny;

use super::error::{Damage, LockError, Problem, StoreError};
use super::files::{self, Durability};
use super::lock_wait::Wait;

/// A longer line is not read, and not written either.
pub const LONGEST: u64 = 64 * 1024 * 1024;

/// How much is looked at in one go.
const BLOCK: u64 = 64 * 1024;

/// A place between two lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Place {
    /// Bytes before it.
    pub offset: u64,
    /// Lines before it.
    pub line: u64,
}

/// A file of lines, opened by its one writer.
#[derive(Debug)]
pub struct LineFile {
    path: PathBuf,
    file: File,
    durability: Durability,
    /// Where a part of a line begins that could not be removed yet.
    torn_at: Option<u64>,
}

/// How long a lock may outlive its holder: a child that it was just starting when it was killed
/// has a copy of it for a moment.
const LET_GO: Duration = Duration::from_millis(400);

impl LineFile {
    /// Opens a file for writing at its end, makes it where it is missing, mends a torn end, and
    /// keeps everybody else from doing so until this is dropped.
    pub fn open(path: &Path, durability: Durability) -> Result<Self, StoreError> {
        let mut lines = Self::open_unmended(path, durability)?;
        let mut wait = Wait::new(LET_GO);
        loop {
            match lines.file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if wait.pause() => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(StoreError::InUse { path: path.to_owned() });
                }
                Err(TryLockError::Error(source)) => {
                    return Err(LockError::Io { lock: path.to_owned(), source }.into());
                }
            }
        }
        // Not before: what looks torn may be the line that the other one is writing.
        lines.mend()?;
        Ok(lines)
    }

    fn open_unmended(path: &Path, durability: Durability) -> Result<Self, StoreError> {
        if let Some(dir) = path.parent() {
            files::make_dir(dir)?;
        }
        let file = append_to(path).map_err(|source| StoreError::io("open", path, source))?;
        Ok(Self { path: path.to_owned(), file, durability, torn_at: None })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a line, whole or not at all. Returns the byte at which it begins.
    pub fn append(&mut self, mut line: String) -> Result<u64, StoreError> {
        let size = line.len() as u64;
        if size > LONGEST {
            let damage = Damage::TooLarge { size, limit: LONGEST };
            return Err(StoreError::broken(&self.path, damage));
        }
        if line.contains('\n') {
            let source = io::Error::new(ErrorKind::InvalidInput, "it would be more than one line");
            return Err(StoreError::io("write to", &self.path, source));
        }
        line.push('\n');
        self.append_bytes(line.as_bytes())
            .map_err(|source| StoreError::io("write to", &self.path, source))
    }

    fn append_bytes(&mut self, line: &[u8]) -> io::Result<u64> {
        if let Some(at) = self.torn_at {
            self.file.set_len(at)?;
            self.torn_at = None;
        }
        let before = self.file.metadata()?.len();
        if let Err(error) = self.file.write_all(line).and_then(|()| self.sync()) {
            if self.file.set_len(before).is_err() {
                self.torn_at = Some(before);
            }
            return Err(error);
        }
        Ok(before)
    }

    fn sync(&self) -> io::Result<()> {
        match self.durability {
            Durability::ProcessCrash => Ok(()),
            Durability::PowerLoss => self.file.sync_data(),
        }
    }

    /// Ends a last line that lacks only its newline, and cuts off one that is torn.
    fn mend(&mut self) -> Result<(), StoreError> {
        let failed = |source| StoreError::io("mend", &self.path, source);
        let length = self.file.metadata().map_err(failed)?.len();
        let start = last_line(&self.file, length).map_err(failed)?;
        if length == 0 && self.durability == Durability::PowerLoss {
            // It may be new, and its name must survive too.
            files::sync_dir_of(&self.path).map_err(failed)?;
        }
        if start == length {
            return Ok(());
        }
        if self.is_whole(start, length).map_err(failed)? {
            self.file.write_all(b"\n").and_then(|()| self.sync()).map_err(failed)?;
            return Ok(());
        }
        let aside = torn_part(&self.path);
        self.copy_to(&aside, start)
            .map_err(|source| StoreError::io("keep a torn line in", &aside, source))?;
        self.file.set_len(start).and_then(|()| self.sync()).map_err(failed)?;
        tracing::warn!(
            file = %self.path.display(), aside = %aside.display(), bytes = length - start,
            "the last line was torn and has been cut off"
        );
        Ok(())
    }

    fn is_whole(&self, start: u64, end: u64) -> io::Result<bool> {
        if end - start > LONGEST {
            return Ok(false);
        }
        let mut bytes = vec![0; usize::try_from(end - start).unwrap_or_default()];
        self.file.read_exact_at(&mut bytes, start)?;
        let text = std::str::from_utf8(&bytes);
        Ok(text.is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok()))
    }

    /// Puts everything from `start` on at the end of another file.
    fn copy_to(&self, aside: &Path, start: u64) -> io::Result<()> {
        let (mut torn, mut kept) = (&self.file, append_to(aside)?);
        torn.seek(SeekFrom::Start(start))?;
        io::copy(&mut torn, &mut kept)?;
        kept.write_all(b"\n")?;
        match self.durability {
            Durability::ProcessCrash => Ok(()),
            Durability::PowerLoss => kept.sync_all(),
        }
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)
}

/// Where the torn ends of a file are kept.
fn torn_part(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".torn");
    PathBuf::from(name)
}

/// The byte behind the last newline.
fn last_line(file: &File, length: u64) -> io::Result<u64> {
    let mut end = length;
    while end > 0 {
        let start = end.saturating_sub(BLOCK);
        let mut block = vec![0; usize::try_from(end - start).unwrap_or_default()];
        file.read_exact_at(&mut block, start)?;
        if let Some(at) = block.iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

/// Reads whole lines, also from a file that somebody else is writing to.
#[derive(Debug)]
pub struct LineReader {
    path: PathBuf,
    source: BufReader<Take<File>>,
    place: Place,
    bytes: Vec<u8>,
}

/// One line, which may not be text.
#[derive(Debug)]
pub struct Line<'a> {
    pub at: Place,
    path: &'a Path,
    text: Result<&'a str, Damage>,
}

impl LineReader {
    /// `None` where there is no file. `from` must be a place that a reader or writer gave.
    pub fn open(path: &Path, from: Place) -> Result<Option<Self>, StoreError> {
        let opened = files::open_to_read(path).and_then(|mut file| {
            file.seek(SeekFrom::Start(from.offset))?;
            Ok(file)
        });
        match opened {
            Ok(file) => {
                let source = BufReader::with_capacity(BLOCK as usize, file.take(u64::MAX));
                Ok(Some(Self { path: path.to_owned(), source, place: from, bytes: Vec::new() }))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::io("read", path, error)),
        }
    }

    /// Reads nothing beyond this byte, whatever is written meanwhile.
    #[must_use]
    pub fn until(mut self, end: u64) -> Self {
        self.source.get_mut().set_limit(end.saturating_sub(self.place.offset));
        self
    }

    /// Where the next line begins. A torn end lies behind it.
    pub fn place(&self) -> Place {
        self.place
    }

    /// The next line that is not blank; `None` at the end or at a line without one.
    pub fn read(&mut self) -> Result<Option<Line<'_>>, StoreError> {
        let (at, size) = loop {
            let at = self.place;
            let filled = self.fill();
            let Some(length) =
                filled.map_err(|source| StoreError::io("read", &self.path, source))?
            else {
                return Ok(None);
            };
            self.place = Place { offset: at.offset + length, line: at.line + 1 };
            if length > LONGEST + 1 || !self.bytes.trim_ascii().is_empty() {
                break (at, length - 1);
            }
        };
        let text = match size > LONGEST {
            true => Err(Damage::TooLarge { size, limit: LONGEST }),
            false => std::str::from_utf8(self.bytes.trim_ascii_end())
                .map_err(|error| Damage::NotText(error.valid_up_to())),
        };
        Ok(Some(Line { at, path: &self.path, text }))
    }

    /// Reads up to and with the next newline and tells how long that was. What is too long is
    /// passed over, not kept.
    fn fill(&mut self) -> io::Result<Option<u64>> {
        let mut length = 0;
        loop {
            self.bytes.clear();
            let mut part = (&mut self.source).take(LONGEST + 1);
            let read = part.read_until(b'\n', &mut self.bytes)?;
            length += read as u64;
            if self.bytes.ends_with(b"\n") {
                return Ok(Some(length));
            }
            if read as u64 <= LONGEST {
                return Ok(None);
            }
        }
    }
}

impl Line<'_> {
    /// What the line says, or the problem to report when it says nothing of the kind.
    pub fn parse<T, E: Into<Damage>>(
        self,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<T, Problem> {
        let parsed = self.text.and_then(|text| parse(text).map_err(Into::into));
        parsed.map_err(|damage| skipped(self.path, self.at, &damage))
    }
}

/// The problem to report for a line that was passed over.
pub fn skipped(path: &Path, at: Place, damage: &Damage) -> Problem {
    let Place { offset, line } = at;
    Problem::new(path, format!("line {} (byte {offset}) was skipped: {damage}", line + 1))
}
