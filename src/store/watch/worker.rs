//! The thread behind a watch: gathers events for a moment, looks, and says what is new.

use std::collections::BTreeSet;
use std::fs;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvError, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::model::Model;
use super::place::{Dir, Leaf, Place};
use super::watches::{Ear, Presence, Signal, Watches};
use super::{Change, Events, Pace};
use crate::settings::paths::Home;

/// How many events wait for the worker. When there are more it looks at everything instead.
const QUEUE: usize = 1024;

/// How much longer than a look took the next one waits at least, when files are long and change
/// all the time.
const REST: u32 = 9;
const LONGEST_REST: Duration = Duration::from_millis(250);

pub(super) struct Worker {
    home: Home,
    pace: Pace,
    signals: Receiver<Signal>,
    missed: Arc<AtomicBool>,
    changes: mpsc::Sender<Change>,
    watches: Watches,
    model: Model,
    /// What events of this window were about.
    touched: BTreeSet<Place>,
    window_ends: Option<Instant>,
    /// No window ends before this: looking must not take all the time there is.
    rests_until: Instant,
    look_again_at: Option<Instant>,
    scan_at: Option<Instant>,
}

impl Worker {
    /// Asks for events, then takes what is there for known. The sender wakes the worker.
    pub(super) fn new(
        home: Home,
        pace: Pace,
        changes: mpsc::Sender<Change>,
    ) -> (Self, SyncSender<Signal>) {
        let (waker, signals) = sync_channel(QUEUE);
        let missed = Arc::new(AtomicBool::new(false));
        let ear = Ear { home: home.clone(), signals: waker.clone(), missed: missed.clone() };
        let watches = match pace.events {
            Events::Wanted => Watches::heard_by(ear),
            Events::Unwanted => Watches::none(home.clone()),
        };
        let model = Model::new(home.clone(), pace.patience);
        let mut worker = Self {
            home,
            pace,
            signals,
            missed,
            changes,
            watches,
            model,
            touched: BTreeSet::new(),
            window_ends: None,
            rests_until: Instant::now(),
            look_again_at: None,
            scan_at: None,
        };
        let mut found = Vec::new();
        worker.visit(Dir::Home, &mut found);
        for leaf in &found {
            worker.model.learn(leaf);
        }
        (worker, waker)
    }

    pub(super) fn run(mut self) {
        self.scan_at = self.pace.scan.map(|interval| Instant::now() + interval);
        while self.step().is_continue() {}
    }

    fn step(&mut self) -> ControlFlow<()> {
        if let Some(trouble) = self.watches.take_trouble() {
            self.tell(trouble)?;
        }
        if !self.model.suspects().is_empty() {
            self.look_again_at.get_or_insert_with(|| Instant::now() + self.pace.look_again);
        }
        if let Some(signal) = self.wait()? {
            self.note(signal);
        }
        let now = Instant::now();
        let is_due = |at: &mut Option<Instant>| at.take_if(|at| *at <= now).is_some();
        if is_due(&mut self.window_ends) {
            self.look_at_touched()?;
            self.rests_until = Instant::now() + (now.elapsed() * REST).min(LONGEST_REST);
        }
        if is_due(&mut self.look_again_at) {
            self.look(&self.model.suspects().clone())?;
        }
        if is_due(&mut self.scan_at) {
            let mut leaves = BTreeSet::new();
            self.survey(Dir::Home, &mut leaves);
            self.look(&leaves)?;
            self.scan_at = self.pace.scan.map(|interval| Instant::now() + interval);
        }
        ControlFlow::Continue(())
    }

    /// Sleeps until something happens or is due. Breaks when nobody listens any more.
    fn wait(&self) -> ControlFlow<(), Option<Signal>> {
        let due = [self.window_ends, self.look_again_at, self.scan_at].into_iter().flatten().min();
        let signal = match due {
            None => self.signals.recv().map(Some).map_err(|RecvError| ()),
            Some(at) => {
                match self.signals.recv_timeout(at.saturating_duration_since(Instant::now())) {
                    Ok(signal) => Ok(Some(signal)),
                    Err(RecvTimeoutError::Timeout) => Ok(None),
                    Err(RecvTimeoutError::Disconnected) => Err(()),
                }
            }
        };
        match signal {
            Ok(signal) if !self.changes.is_closed() => ControlFlow::Continue(signal),
            Ok(_) | Err(()) => ControlFlow::Break(()),
        }
    }

    fn note(&mut self, signal: Signal) {
        match signal {
            Signal::Touched(place) => {
                self.touched.insert(place);
            }
            Signal::LookUp => {}
        }
        if self.missed.swap(false, Ordering::Acquire) {
            self.touched.insert(Place::Dir(Dir::Home));
        }
        if !self.touched.is_empty() {
            let soon = Instant::now() + self.pace.window;
            self.window_ends.get_or_insert(soon.max(self.rests_until));
        }
    }

    fn look_at_touched(&mut self) -> ControlFlow<()> {
        let mut dirs = Vec::new();
        let mut leaves = BTreeSet::new();
        for place in std::mem::take(&mut self.touched) {
            match place {
                Place::Dir(dir) => dirs.push(dir),
                Place::Leaf(leaf) => {
                    leaves.insert(leaf);
                }
            }
        }
        // All first: two of them may be one directory under its old and its new name.
        for dir in &dirs {
            self.watches.let_go(dir);
        }
        for dir in dirs {
            self.survey(dir, &mut leaves);
        }
        self.look(&leaves)
    }

    /// Gathers what may have changed below a directory.
    fn survey(&mut self, dir: Dir, leaves: &mut BTreeSet<Leaf>) {
        let mut found = Vec::new();
        self.visit(dir.clone(), &mut found);
        leaves.extend(found.into_iter().filter(|leaf| !self.model.knows(leaf)));
        // Only now: what was written after a look at it will be told by the watches.
        leaves.extend(self.model.outdated_below(&dir).cloned());
    }

    /// Watches a directory and those below it, and gathers at least the files that are new.
    fn visit(&mut self, dir: Dir, found: &mut Vec<Leaf>) {
        let path = dir.path(&self.home);
        let presence = self.watches.hold(&dir, &path);
        let places: Vec<Place> = match (presence, dir.fixed()) {
            (Presence::Missing, _) => return,
            (_, Some(fixed)) => fixed.into_iter().map(|(_, place)| place).collect(),
            // There are files only in it, and all of them are known.
            (Presence::AsListed, None) if matches!(dir, Dir::Inboxes(_) | Dir::List(_)) => return,
            (Presence::AsListed | Presence::ToList, None) => match fs::read_dir(&path) {
                Ok(entries) => {
                    let names = entries.filter_map(Result::ok).map(|entry| entry.file_name());
                    names.filter_map(|name| dir.child(name.to_str()?)).collect()
                }
                Err(_) => return self.watches.list_again(&dir),
            },
        };
        for place in places {
            match place {
                Place::Dir(dir) => self.visit(dir, found),
                Place::Leaf(leaf) => found.push(leaf),
            }
        }
    }

    fn look(&mut self, leaves: &BTreeSet<Leaf>) -> ControlFlow<()> {
        for leaf in leaves {
            for change in self.model.look(leaf) {
                self.tell(change)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Waits while the reader is slow. Breaks when there is none.
    fn tell(&self, change: Change) -> ControlFlow<()> {
        match self.changes.blocking_send(change) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}
