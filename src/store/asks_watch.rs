//! Says which asks of a session were touched, by whichever process, as soon as that happens.
//!
//! One directory is watched, and made again when it goes. What no event tells, a look at
//! everything finds every five seconds.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use notify::{Config, Event, RecommendedWatcher, RecursiveMode, Watcher};

use super::files;

/// How many events wait. When there are more, everything is looked at instead.
const QUEUE: usize = 1024;

/// How often everything is looked at, whatever the events say.
pub const SCAN: Duration = Duration::from_secs(5);

/// What may have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint {
    /// The file of this name.
    File(String),
    Everything,
}

/// A watch that goes on until it is dropped. Nothing is said after that.
#[derive(Debug)]
pub struct AskWatch {
    end: Arc<AtomicBool>,
    waker: SyncSender<Hint>,
    thread: Option<JoinHandle<()>>,
}

impl AskWatch {
    /// Reports what happens after this returns.
    pub fn start(
        dir: &Path,
        scan: Duration,
        hear: impl FnMut(&Hint) + Send + 'static,
    ) -> io::Result<Self> {
        let (waker, hints) = sync_channel(QUEUE);
        let (end, missed) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        // Events carry absolute paths, whatever was asked for.
        let dir = std::path::absolute(dir)?;
        let watcher = watcher(&dir, waker.clone(), Arc::clone(&missed));
        let mut worker = Worker { dir, watcher, inode: None, scan, hints, missed, hear };
        worker.hold();
        let ended = Arc::clone(&end);
        let thread = thread::Builder::new().name("asks".into());
        let thread = thread.spawn(move || worker.run(&ended))?;
        Ok(Self { end, waker, thread: Some(thread) })
    }
}

impl Drop for AskWatch {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Release);
        // When the queue is full the thread is awake, and sees that this is the end.
        let _ = self.waker.try_send(Hint::Everything);
        if let Some(thread) = self.thread.take() {
            // It ends, whatever it ended with.
            let _ = thread.join();
        }
    }
}

fn watcher(
    dir: &Path,
    signals: SyncSender<Hint>,
    missed: Arc<AtomicBool>,
) -> Option<RecommendedWatcher> {
    let own = dir.to_owned();
    let hear = move |event: notify::Result<Event>| {
        let hints: Vec<Hint> = match event {
            Ok(event) if event.need_rescan() => vec![Hint::Everything],
            // Our own looking makes such events.
            Ok(event) if event.kind.is_access() => Vec::new(),
            Ok(event) => event.paths.iter().map(|path| hint(&own, path)).collect(),
            Err(_) => vec![Hint::Everything],
        };
        for hint in hints {
            if signals.try_send(hint).is_err() {
                missed.store(true, Ordering::Release);
            }
        }
    };
    match RecommendedWatcher::new(hear, Config::default()) {
        Ok(watcher) => Some(watcher),
        Err(error) => {
            tracing::warn!(%error, "verdicts of other processes are noticed late");
            None
        }
    }
}

fn hint(dir: &Path, path: &Path) -> Hint {
    match path.strip_prefix(dir).ok().and_then(|name| name.to_str()) {
        Some(name) if !name.is_empty() => Hint::File(name.to_owned()),
        // The directory itself: its watch may have ended with it.
        Some(_) | None => Hint::Everything,
    }
}

struct Worker<F> {
    dir: PathBuf,
    /// `None` where there are no events to be had.
    watcher: Option<RecommendedWatcher>,
    /// Of the directory that is watched.
    inode: Option<u64>,
    scan: Duration,
    hints: Receiver<Hint>,
    missed: Arc<AtomicBool>,
    hear: F,
}

impl<F: FnMut(&Hint)> Worker<F> {
    fn run(mut self, end: &AtomicBool) {
        let mut scan_at = Instant::now() + self.scan;
        loop {
            let left = scan_at.saturating_duration_since(Instant::now());
            let hint = match self.hints.recv_timeout(left) {
                Ok(hint) => hint,
                Err(RecvTimeoutError::Timeout) => Hint::Everything,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            if end.load(Ordering::Acquire) {
                return;
            }
            let missed = self.missed.swap(false, Ordering::AcqRel);
            let hint = if missed { Hint::Everything } else { hint };
            if hint == Hint::Everything {
                self.hold();
                scan_at = Instant::now() + self.scan;
            }
            (self.hear)(&hint);
        }
    }

    /// Watches the directory that is there now.
    fn hold(&mut self) {
        if let Err(error) = files::make_dir(&self.dir) {
            tracing::warn!(%error, "asks cannot be watched");
            return;
        }
        let Some(watcher) = &mut self.watcher else { return };
        let inode = fs::metadata(&self.dir).ok().map(|found| found.ino());
        if inode == self.inode {
            return;
        }
        // It may have ended with the directory that it was on.
        let _ = watcher.unwatch(&self.dir);
        match watcher.watch(&self.dir, RecursiveMode::NonRecursive) {
            Ok(()) => self.inode = inode,
            Err(error) => tracing::warn!(%error, "verdicts of other processes are noticed late"),
        }
    }
}
