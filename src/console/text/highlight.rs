//! Colours code, away from the draw path: a worker reads the code and says what its parts are,
//! and the theme says what such parts look like.
//!
//! What is not ready yet comes back plain, and the worker is asked for it. Everything has a bound:
//! the queue, what is remembered, how long a text or a line may be.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::syntax::{Paint, Painter};
use crate::console::view::theme::Theme;

/// Longer code stays plain.
const LONGEST_CODE: usize = 64 * 1024;
const LONGEST_LINE: usize = 4 * 1024;
/// How many texts wait for the worker at most, and how much is remembered.
const QUEUE: usize = 64;
const REMEMBERED: usize = 512;
/// How many lines a text may have grown since the worker saw it, to be shown with old colours.
const GROWN: usize = 8;

/// One handle for the whole console; clones share the worker and what it found.
#[derive(Clone)]
pub struct Pens {
    shared: Arc<Shared>,
    how: How,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Worker,
    AtOnce,
    Never,
}

struct Shared {
    known: Mutex<Known>,
    worker: OnceLock<Option<SyncSender<Job>>>,
    ready: Box<dyn Fn() + Send + Sync>,
    revision: AtomicU32,
    missed: AtomicU32,
}

/// What was found, by the hash of language and code; when it was used last.
#[derive(Default)]
struct Known {
    found: HashMap<u64, (Arc<[Paint]>, u64)>,
    asked: HashSet<u64>,
    clock: u64,
}

struct Job {
    key: u64,
    language: String,
    code: String,
}

impl std::fmt::Debug for Pens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pens").field("how", &self.how).finish_non_exhaustive()
    }
}

impl Pens {
    /// Colours with a worker, which begins with the first code there is. `ready` is called from
    /// its thread whenever something can be drawn anew.
    pub fn new(ready: impl Fn() + Send + Sync + 'static) -> Self {
        Self::with(How::Worker, Box::new(ready))
    }

    /// Colours within the call: for pictures that are made without a screen.
    pub fn at_once() -> Self {
        Self::with(How::AtOnce, Box::new(|| ()))
    }

    /// Leaves all code plain.
    pub fn never() -> Self {
        Self::with(How::Never, Box::new(|| ()))
    }

    fn with(how: How, ready: Box<dyn Fn() + Send + Sync>) -> Self {
        let shared = Shared {
            known: Mutex::default(),
            worker: OnceLock::new(),
            ready,
            revision: AtomicU32::new(0),
            missed: AtomicU32::new(0),
        };
        Self { shared: Arc::new(shared), how }
    }

    /// Changes whenever more code can be shown in colours.
    pub fn revision(&self) -> u32 {
        self.shared.revision.load(Ordering::Acquire)
    }

    /// How often something was not ready. Lines made while this grew depend on the revision.
    pub fn missed(&self) -> u32 {
        self.shared.missed.load(Ordering::Relaxed)
    }

    /// The lines of a piece of code, in colours if they are ready.
    pub fn code(&self, language: &str, code: &str, theme: &Theme) -> Vec<Line<'static>> {
        let paints = self.paints(language, code);
        let lines = code.strip_suffix('\n').unwrap_or(code).split('\n');
        let line = |(at, text): (usize, &str)| {
            Line::from(spans(text, paints.get(at), theme, Style::new()))
        };
        lines.enumerate().map(line).collect()
    }

    /// What the parts of each line are. Fewer lines than the code has, or none: not ready.
    pub(super) fn paints(&self, language: &str, code: &str) -> Arc<[Paint]> {
        if self.how == How::Never || !worth_it(language, code) {
            return Arc::default();
        }
        let (key, before) = keys(language, code);
        let mut known = self.shared.known();
        if let Some(found) = known.take_note_of(key) {
            return found;
        }
        if self.how == How::AtOnce {
            let found: Arc<[Paint]> = Painter::default().paint(language, code).into();
            known.remember(key, Arc::clone(&found));
            return found;
        }
        self.shared.missed.fetch_add(1, Ordering::Relaxed);
        let older = before.iter().find_map(|key| known.take_note_of(*key));
        if known.asked.insert(key) && !self.shared.ask(key, language, code) {
            known.asked.remove(&key);
        }
        older.unwrap_or_default()
    }
}

/// A line in the styles of its parts, over a ground.
pub(super) fn spans(
    text: &str,
    paint: Option<&Paint>,
    theme: &Theme,
    ground: Style,
) -> Vec<Span<'static>> {
    let mut spans = Vec::new();
    let mut from = 0;
    for (pen, end) in paint.into_iter().flatten() {
        let end = (*end).min(text.len());
        let Some(part) = text.get(from..end) else { break };
        super::wrap::push(&mut spans, part, ground.patch(pen.style(theme)));
        from = end;
    }
    super::wrap::push(&mut spans, text.get(from..).unwrap_or_default(), ground);
    spans
}

fn worth_it(language: &str, code: &str) -> bool {
    !language.is_empty()
        && code.len() <= LONGEST_CODE
        && code.split('\n').all(|line| line.len() <= LONGEST_LINE)
}

/// The key of a text, and of what it was some lines ago: code grows while it is spoken.
fn keys(language: &str, code: &str) -> (u64, Vec<u64>) {
    let mut hasher = DefaultHasher::new();
    language.hash(&mut hasher);
    let mut before = Vec::new();
    for line in code.split_inclusive('\n') {
        before.push(hasher.finish());
        line.hash(&mut hasher);
    }
    before.reverse();
    before.truncate(GROWN);
    (hasher.finish(), before)
}

impl Known {
    fn take_note_of(&mut self, key: u64) -> Option<Arc<[Paint]>> {
        self.clock += 1;
        let (found, used) = self.found.get_mut(&key)?;
        *used = self.clock;
        Some(Arc::clone(found))
    }

    fn remember(&mut self, key: u64, found: Arc<[Paint]>) {
        if self.found.len() >= REMEMBERED {
            let mut used: Vec<u64> = self.found.values().map(|(_, used)| *used).collect();
            used.sort_unstable();
            let old = used.get(used.len() / 2).copied().unwrap_or_default();
            self.found.retain(|_, (_, used)| *used > old);
        }
        self.clock += 1;
        self.asked.remove(&key);
        self.found.insert(key, (found, self.clock));
    }
}

impl Shared {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the worker has taken it. If not, the next drawing asks again.
    fn ask(self: &Arc<Self>, key: u64, language: &str, code: &str) -> bool {
        let start = || {
            let (send, jobs) = sync_channel(QUEUE);
            let shared = Arc::downgrade(self);
            let work = move || work(&jobs, &shared);
            thread::Builder::new().name("pens".into()).spawn(work).ok().map(|_| send)
        };
        let Some(worker) = self.worker.get_or_init(start) else { return false };
        let job = Job { key, language: language.to_owned(), code: code.to_owned() };
        worker.try_send(job).is_ok()
    }
}

/// Until nobody is left who could ask.
fn work(jobs: &Receiver<Job>, shared: &std::sync::Weak<Shared>) {
    let mut painter = Painter::default();
    while let Ok(job) = jobs.recv() {
        let found = painter.paint(&job.language, &job.code).into();
        let Some(shared) = shared.upgrade() else { return };
        shared.known().remember(job.key, found);
        shared.revision.fetch_add(1, Ordering::Release);
        (shared.ready)();
    }
}
