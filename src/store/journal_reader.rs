//! Reading a journal: as a stream beside its writer, or from the file when another process
//! writes it. Every reader gets each event once, in order, at its own speed.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::stream::{self, BoxStream, StreamExt};
use tokio::sync::watch;
use tokio::task;

use super::error::{Problems, StoreError};
use super::journal::{Shared, Source};
use super::lines::{LineReader, Place};
use crate::protocol::event::Event;
use crate::protocol::json;

/// A reader that lags takes so much from the file at once.
const CHUNK_EVENTS: usize = 256;
const CHUNK_BYTES: u64 = 1024 * 1024;

/// The events after a number, beside the writer.
pub(super) fn stream(
    shared: Arc<Shared>,
    latest: watch::Receiver<u64>,
    seq: u64,
) -> BoxStream<'static, Arc<Event>> {
    let reader = Reader { shared, latest, last: seq, place: Place::default(), ready: [].into() };
    stream::unfold(reader, Reader::next).boxed()
}

struct Reader {
    shared: Arc<Shared>,
    latest: watch::Receiver<u64>,
    /// The number up to which everything was delivered.
    last: u64,
    /// How far the file has been read.
    place: Place,
    ready: VecDeque<Arc<Event>>,
}

impl Reader {
    async fn next(mut self) -> Option<(Arc<Event>, Self)> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.last = event.seq;
                return Some((event, self));
            }
            // Before looking: what comes after the look wakes us.
            let latest = *self.latest.borrow_and_update();
            if latest <= self.last {
                // An error says that the writer is gone and nothing came since we looked.
                self.latest.changed().await.ok()?;
                continue;
            }
            let source = self.shared.lock().source(self.last);
            match source {
                Source::Memory(events) => self.ready.extend(events),
                Source::File { from, end, first } => {
                    self.read_file(from.max(self.place), end, first).await?;
                }
            }
        }
    }

    /// Makes the next chunk of the file ready. `None` when the runtime is ending.
    async fn read_file(&mut self, from: Place, end: Place, first: u64) -> Option<()> {
        let (path, last) = (self.shared.path.clone(), self.last);
        let reading = task::spawn_blocking(move || read_chunk(&path, from, end.offset, last));
        match reading.await.ok()? {
            Ok((batch, place)) => {
                self.place = place;
                self.ready.extend(batch.events.into_iter().map(Arc::new));
                for problem in batch.problems.first {
                    tracing::warn!(%problem, "not an event");
                }
                if self.ready.is_empty() && place.offset >= end.offset {
                    // What is neither in the file nor in memory is lost: go on behind it.
                    self.last = self.last.max(first.saturating_sub(1));
                }
            }
            Err(error) => {
                tracing::error!(%error, "a reader of the journal misses events");
                self.last = self.last.max(first.saturating_sub(1));
            }
        }
        Some(())
    }
}

/// Reads a part of the file, and tells where the next one begins.
fn read_chunk(path: &Path, from: Place, end: u64, last: u64) -> Result<(Batch, Place), StoreError> {
    let mut batch = Batch::default();
    let Some(reader) = LineReader::open(path, from)? else {
        return Err(StoreError::io("read", path, std::io::ErrorKind::NotFound.into()));
    };
    let mut reader = reader.until(end);
    let enough = from.offset.saturating_add(CHUNK_BYTES);
    while batch.events.len() < CHUNK_EVENTS && reader.place().offset < enough {
        if !batch.read_one(&mut reader, last)? {
            // Nothing whole follows, and what the writer acknowledged ends with a whole line.
            return Ok((batch, Place { offset: end, ..reader.place() }));
        }
    }
    Ok((batch, reader.place()))
}

/// Events from a file, and the lines that are none.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Batch {
    pub events: Vec<Event>,
    pub problems: Problems,
}

impl Batch {
    /// `false` at the end.
    fn read_one(&mut self, reader: &mut LineReader, after: u64) -> Result<bool, StoreError> {
        let Some(line) = reader.read()? else { return Ok(false) };
        let last = self.events.last().map_or(after, |event| event.seq);
        match line.parse(json::from_text::<Event>) {
            Ok(event) if event.seq > last => self.events.push(event),
            Ok(_) => {} // known already
            Err(problem) => self.problems.add(|| problem),
        }
        Ok(true)
    }
}

/// Reads the journal of a session that runs in another process, piece by piece as it grows.
#[derive(Debug, Clone)]
pub struct Follower {
    path: PathBuf,
    last: u64,
    place: Place,
}

impl Follower {
    pub fn after(path: impl Into<PathBuf>, seq: u64) -> Self {
        Self { path: path.into(), last: seq, place: Place::default() }
    }

    /// What came since the last time. Nothing while there is no file.
    pub fn read(&mut self) -> Result<Batch, StoreError> {
        let mut batch = Batch::default();
        let size = std::fs::metadata(&self.path).map_or(0, |file| file.len());
        if size < self.place.offset {
            self.place = Place::default(); // another file has taken its place
        }
        let Some(mut reader) = LineReader::open(&self.path, self.place)? else { return Ok(batch) };
        while batch.read_one(&mut reader, self.last)? {}
        self.place = reader.place();
        self.last = batch.events.last().map_or(self.last, |event| event.seq);
        Ok(batch)
    }
}

/// Whether a process has this journal open to write: the session runs.
pub fn is_running(path: &Path) -> bool {
    let Ok(file) = std::fs::File::open(path) else { return false };
    matches!(file.try_lock_shared(), Err(std::fs::TryLockError::WouldBlock))
}

/// All events with a larger number, for a reader that does not own the journal. None where there
/// is no file.
pub fn read_after(path: &Path, seq: u64) -> Result<Batch, StoreError> {
    Follower::after(path, seq).read()
}
