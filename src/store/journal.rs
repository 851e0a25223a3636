//! The journal of a session: every event, numbered, on disk before anyone hears of it.
//!
//! One process writes it, held by a lock on the file. A writer never waits for a reader: readers
//! take what is recent from memory and the rest from the file, each at its own speed.
//!
//! When the disk fails, events still reach the readers of this process. They wait in memory, at
//! most `MOST_WAITING`, and are written before the next one as soon as the disk takes them;
//! beyond that the oldest are lost, and `trouble` says how many.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::stream::BoxStream;
use serde::Deserialize;
use tokio::sync::watch;

use super::error::{Problems, StoreError};
use super::files::{self, Durability};
use super::journal_reader;
use super::lines::{LineFile, LineReader, Place};
use crate::protocol::event::{Event, Fact};
use crate::protocol::ids::{AgentId, SessionId};
use crate::protocol::json;
use crate::settings::paths::Home;

pub use super::journal_reader::{Batch, Follower, is_running, read_after};

/// How many events stay in memory for readers that keep up.
const RECENT: usize = 1024;

/// How many events may wait for a disk that takes none.
const MOST_WAITING: usize = 8192;

/// Every so many events, the place of one in the file is remembered.
const INDEX_STEP: u64 = 256;

/// How many events a reader takes from memory at once.
const HANDFUL: usize = 256;

/// The one writer of a session's events.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    writer: Mutex<Writer>,
    shared: Arc<Shared>,
    /// The newest number. Readers end when this is gone and they have everything.
    latest: watch::Sender<u64>,
    problems: Problems,
}

/// Why events are not on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// What the disk said last.
    pub reason: String,
    /// Events that wait in memory.
    pub waiting: usize,
    /// Events that will never be on disk.
    pub lost: u64,
}

impl Journal {
    /// Opens the journal of a session, made where it is missing, and goes on with its numbers.
    /// Refused while any process, this one too, has it open.
    pub fn open(
        home: &Home,
        session: &SessionId,
        durability: Durability,
    ) -> Result<Self, StoreError> {
        let path = home.journal(session);
        let opened = LineFile::open(&path, durability);
        if let Err(StoreError::InUse { .. }) = opened {
            return Err(StoreError::SessionRunning { session: session.clone() });
        }
        let lines = opened?;
        let (mut state, mut problems) = (State::default(), Problems::default());
        let mut reader = LineReader::open(&path, Place::default())?;
        while let Some(line) = reader.as_mut().map_or(Ok(None), LineReader::read)? {
            let at = line.at;
            match line.parse(json::from_text::<Numbered>) {
                Ok(Numbered { seq }) => state.found(seq, at),
                Err(problem) => problems.add(|| problem),
            }
        }
        state.end = reader.map_or_else(Place::default, |reader| reader.place());
        if problems.total > 0 {
            let (file, lines) = (path.display(), problems.total);
            tracing::warn!(%file, lines, "the journal has lines that are no events");
        }
        let (seq, end) = (state.latest, state.end);
        let shared = Arc::new(Shared { path: path.clone(), state: Mutex::new(state) });
        let writer = Mutex::new(Writer { lines, end, seq, backlog: Backlog::default() });
        Ok(Self { path, writer, shared, latest: watch::Sender::new(seq), problems })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes down that something happened, then tells the readers. Returns its number.
    pub fn emit(&self, agent: Option<&AgentId>, fact: Fact) -> u64 {
        let mut writer = self.writer();
        writer.seq = writer.seq.saturating_add(1);
        let seq = writer.seq;
        let event = Arc::new(Event { seq, at: files::now(), agent: agent.cloned(), fact });
        let written = writer.write(&event);
        self.shared.lock().publish(event, written);
        self.latest.send_replace(seq);
        seq
    }

    /// The number of the newest event; 0 before the first.
    pub fn latest(&self) -> u64 {
        *self.latest.borrow()
    }

    /// Every event with a larger number, in order, without gap or double, then the new ones as
    /// they come. Ends when the journal is dropped and everything was delivered. To be polled on
    /// a tokio runtime: what is no longer in memory is read on its blocking threads.
    pub fn after(&self, seq: u64) -> BoxStream<'static, Arc<Event>> {
        journal_reader::stream(Arc::clone(&self.shared), self.latest.subscribe(), seq)
    }

    /// `None` while every event is on disk.
    pub fn trouble(&self) -> Option<Trouble> {
        self.writer().backlog.trouble()
    }

    /// Lines that were found when opening and are no events. The readers skip them.
    pub fn problems(&self) -> &Problems {
        &self.problems
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All that opening needs of an event.
#[derive(Deserialize)]
struct Numbered {
    seq: u64,
}

#[derive(Debug)]
struct Writer {
    lines: LineFile,
    end: Place,
    seq: u64,
    backlog: Backlog,
}

/// What came of writing: where lines were put, and how far everything is done with.
struct Written {
    placed: Vec<(u64, Place)>,
    end: Place,
    /// Up to this number nothing waits to be written.
    up_to: u64,
}

impl Writer {
    fn write(&mut self, event: &Arc<Event>) -> Written {
        let Self { lines, end, backlog, .. } = self;
        let mut placed = Vec::new();
        backlog.push(Arc::clone(event));
        backlog.write_out(|event| {
            let line = json::to_compact(event);
            let length = line.len() as u64 + 1;
            let offset = lines.append(line)?;
            placed.push((event.seq, Place { offset, line: end.line }));
            *end = Place { offset: offset + length, line: end.line + 1 };
            Ok(())
        });
        let up_to = backlog.waiting.front().map_or(event.seq, |first| first.seq - 1);
        Written { placed, end: self.end, up_to }
    }
}

/// Events on their way to the disk, oldest first. Empty after every write that succeeds.
#[derive(Debug, Default)]
struct Backlog {
    waiting: VecDeque<Arc<Event>>,
    lost: u64,
    reason: Option<String>,
}

impl Backlog {
    fn push(&mut self, event: Arc<Event>) {
        self.waiting.push_back(event);
    }

    /// Writes in order until all is written or the disk refuses.
    fn write_out(&mut self, mut write: impl FnMut(&Event) -> Result<(), StoreError>) {
        while let Some(event) = self.waiting.front() {
            match write(event) {
                Ok(()) => {}
                Err(error @ StoreError::Broken { .. }) => {
                    // The event itself is at fault: no disk will ever take it.
                    tracing::error!(seq = event.seq, %error, "an event cannot be journaled");
                    self.lost += 1;
                    self.reason = Some(error.to_string());
                }
                Err(error) => return self.refused(&error),
            }
            self.waiting.pop_front();
        }
        if self.lost == 0 && self.reason.take().is_some() {
            tracing::info!("the journal is whole again");
        }
    }

    fn refused(&mut self, error: &StoreError) {
        if self.waiting.len() == 1 {
            tracing::error!(%error, "events are kept in memory only");
        }
        self.reason = Some(error.to_string());
        while self.waiting.len() > MOST_WAITING {
            if self.lost == 0 {
                tracing::error!(%error, "events are being lost from the journal");
            }
            self.waiting.pop_front();
            self.lost += 1;
        }
    }

    fn trouble(&self) -> Option<Trouble> {
        let reason = self.reason.clone()?;
        Some(Trouble { reason, waiting: self.waiting.len(), lost: self.lost })
    }
}

/// What the readers see of a journal. Outlives it until the last of them has everything.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) path: PathBuf,
    state: Mutex<State>,
}

/// The newest events, and where the others are.
#[derive(Debug, Default)]
pub(super) struct State {
    /// Without gap, up to the newest.
    recent: VecDeque<Arc<Event>>,
    latest: u64,
    /// The place of one event in every `INDEX_STEP` or so, ascending.
    index: Vec<(u64, Place)>,
    /// The end of what is on disk.
    end: Place,
}

/// Where a reader finds what it does not have yet.
#[derive(Debug)]
pub(super) enum Source {
    Memory(Vec<Arc<Event>>),
    /// In the file between two places; from the number `first` on, in memory.
    File {
        from: Place,
        end: Place,
        first: u64,
    },
}

impl Shared {
    /// Held for moments only: emitting waits for it.
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes note of an event on disk.
    fn found(&mut self, seq: u64, at: Place) {
        self.latest = self.latest.max(seq);
        let due = self.index.last().is_none_or(|(last, _)| seq >= last.saturating_add(INDEX_STEP));
        if due {
            self.index.push((seq, at));
        }
    }

    fn publish(&mut self, event: Arc<Event>, written: Written) {
        for (seq, at) in written.placed {
            self.found(seq, at);
        }
        self.end = written.end;
        self.latest = event.seq;
        self.recent.push_back(event);
        let on_disk = |event: &Arc<Event>| event.seq <= written.up_to;
        while self.recent.len() > RECENT && self.recent.front().is_some_and(on_disk) {
            self.recent.pop_front();
        }
    }

    /// Where the events after a number are.
    pub(super) fn source(&self, seq: u64) -> Source {
        let wanted = seq.saturating_add(1);
        let first = self.recent.front().map_or(self.latest.saturating_add(1), |event| event.seq);
        if wanted >= first {
            let known = usize::try_from(wanted - first).unwrap_or(usize::MAX);
            return Source::Memory(self.recent.iter().skip(known).take(HANDFUL).cloned().collect());
        }
        let behind = self.index.partition_point(|(indexed, _)| *indexed <= wanted);
        let from = behind.checked_sub(1).and_then(|at| self.index.get(at));
        Source::File { from: from.map_or_else(Place::default, |(_, at)| *at), end: self.end, first }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::event::Level;
    use std::io;

    fn event(seq: u64) -> Arc<Event> {
        let fact = Fact::Notice { level: Level::Info, text: seq.to_string() };
        Arc::new(Event { seq, at: files::now(), agent: None, fact })
    }

    fn full() -> StoreError {
        StoreError::io("write to", Path::new("x"), io::ErrorKind::StorageFull.into())
    }

    #[test]
    fn events_wait_for_the_disk_in_order() {
        let (mut backlog, mut disk) = (Backlog::default(), Vec::new());
        for seq in 1..=3 {
            backlog.push(event(seq));
            backlog.write_out(|_| Err(full()));
            assert_eq!(backlog.trouble().unwrap().waiting as u64, seq);
        }
        backlog.push(event(4));
        backlog.write_out(|event| {
            disk.push(event.seq);
            Ok(())
        });
        assert_eq!(disk, [1, 2, 3, 4]);
        assert_eq!(backlog.trouble(), None);
    }

    #[test]
    fn a_disk_that_stays_full_costs_the_oldest_and_says_so() {
        let mut backlog = Backlog::default();
        for seq in 1..=MOST_WAITING as u64 + 5 {
            backlog.push(event(seq));
            backlog.write_out(|_| Err(full()));
        }
        let trouble = backlog.trouble().unwrap();
        assert_eq!((trouble.waiting, trouble.lost), (MOST_WAITING, 5));
        assert_eq!(backlog.waiting.front().unwrap().seq, 6);
        backlog.write_out(|_| Ok(()));
        assert_eq!(
            backlog.trouble().map(|it| (it.waiting, it.lost)),
            Some((0, 5)),
            "not forgotten"
        );
    }

    #[test]
    fn an_event_that_no_disk_takes_does_not_hold_up_the_others() {
        let (mut backlog, mut disk) = (Backlog::default(), Vec::new());
        for seq in 1..=3 {
            backlog.push(event(seq));
        }
        let damage = super::super::error::Damage::NotAFile;
        backlog.write_out(|event| match event.seq {
            2 => Err(StoreError::broken(Path::new("x"), damage.clone())),
            seq => {
                disk.push(seq);
                Ok(())
            }
        });
        assert_eq!(disk, [1, 3]);
        assert_eq!(backlog.trouble().map(|it| (it.waiting, it.lost)), Some((0, 1)));
    }
}
