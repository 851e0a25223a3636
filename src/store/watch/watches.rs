//! Which directories the operating system reports events of, and where the events go.
//!
//! Each is watched by itself, never a tree, so that only the layout costs anything. Invariant:
//! whoever lists a directory has asked for its events before, so nothing falls between.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};

use notify::event::{AccessKind, AccessMode};
use notify::{Config, ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use super::Change;
use super::place::{Dir, Place};
use crate::settings::paths::Home;
use crate::store::files::Signature;

/// What wakes the worker.
#[derive(Debug)]
pub(super) enum Signal {
    Touched(Place),
    /// Something is told in another way: events were missed, or nobody listens any more.
    LookUp,
}

/// Takes events in. It runs on a thread that must never wait.
pub(super) struct Ear {
    pub(super) home: Home,
    pub(super) signals: SyncSender<Signal>,
    /// Events got lost: everything must be looked at.
    pub(super) missed: Arc<AtomicBool>,
}

pub(super) struct Watches {
    home: Home,
    /// `None` where there are no events to be had.
    watcher: Option<RecommendedWatcher>,
    held: HashMap<Dir, Held>,
    refusal: Refusal,
}

/// A directory that is watched.
struct Held {
    /// Tells it from another one in the same place.
    inode: u64,
    /// Its version when it was listed last; `None` if a later entry might not show.
    listed: Option<Signature>,
}

/// What is to be done about a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    /// It is not there.
    Missing,
    /// Nothing has come or gone since it was listed.
    AsListed,
    /// It must be listed now.
    ToList,
}

/// Events that cannot be had. One report is enough: the reason is the same for all directories.
enum Refusal {
    Never,
    Untold(Change),
    Told,
}

impl Ear {
    fn hear(&self, event: notify::Result<Event>) {
        let event = match event {
            Ok(event) if !event.need_rescan() => event,
            Ok(_) => return self.miss(),
            Err(error) => {
                tracing::warn!(%error, "events were lost");
                return self.miss();
            }
        };
        // Our own looking makes such events, and they mean nothing.
        let written = EventKind::Access(AccessKind::Close(AccessMode::Write));
        if event.kind.is_access() && event.kind != written {
            return;
        }
        for place in event.paths.iter().filter_map(|path| Place::of(path, &self.home)) {
            match self.signals.try_send(Signal::Touched(place)) {
                Ok(()) | Err(TrySendError::Disconnected(_)) => {}
                Err(TrySendError::Full(_)) => self.miss(),
            }
        }
    }

    fn miss(&self) {
        self.missed.store(true, Ordering::Release);
        // A full queue wakes the worker too, and what it takes out next is later than the flag.
        let _ = self.signals.try_send(Signal::LookUp);
    }
}

impl Watches {
    /// Without events at all, only scans tell anything.
    pub(super) fn none(home: Home) -> Self {
        Self { home, watcher: None, held: HashMap::new(), refusal: Refusal::Never }
    }

    /// With events, which this ear hears.
    pub(super) fn heard_by(ear: Ear) -> Self {
        let mut watches = Self::none(ear.home.clone());
        match RecommendedWatcher::new(move |event| ear.hear(event), Config::default()) {
            Ok(watcher) => watches.watcher = Some(watcher),
            Err(error) => watches.refused(&Dir::Home, &error),
        }
        watches
    }

    /// Makes sure that a directory is watched, if it is there. Whoever asks lists it then.
    pub(super) fn hold(&mut self, dir: &Dir, path: &Path) -> Presence {
        let Some(found) = fs::metadata(path).ok().filter(fs::Metadata::is_dir) else {
            if self.held.contains_key(dir) {
                self.let_go(dir);
            }
            return Presence::Missing;
        };
        let (inode, version) = (found.ino(), Signature::from(&found));
        let settled = Some(version).filter(Signature::is_settled);
        match self.held.get_mut(dir) {
            Some(held) if held.inode == inode => {
                let before = std::mem::replace(&mut held.listed, settled);
                let same = before == Some(version);
                return if same { Presence::AsListed } else { Presence::ToList };
            }
            Some(_) => self.let_go(dir),
            None => {}
        }
        let Some(watcher) = &mut self.watcher else { return Presence::ToList };
        match watcher.watch(path, RecursiveMode::NonRecursive) {
            Ok(()) => {
                self.held.insert(dir.clone(), Held { inode, listed: settled });
            }
            Err(error) if matches!(error.kind, ErrorKind::PathNotFound) => {
                return Presence::Missing;
            }
            Err(error) => self.refused(dir, &error),
        }
        Presence::ToList
    }

    /// For a directory that could not be listed.
    pub(super) fn list_again(&mut self, dir: &Dir) {
        if let Some(held) = self.held.get_mut(dir) {
            held.listed = None;
        }
    }

    /// Forgets a directory and everything below it.
    ///
    /// Also right for one that is still there: after an event about a directory nobody knows
    /// whether the watch is on the old one or on its successor, or was ended with the old one.
    pub(super) fn let_go(&mut self, dir: &Dir) {
        let (home, watcher) = (&self.home, &mut self.watcher);
        self.held.retain(|held, _| {
            let stays = !dir.holds(held);
            if let (false, Some(watcher)) = (stays, watcher.as_mut()) {
                // It ends by itself when its directory does, so it may be unknown by now.
                let _ = watcher.unwatch(&held.path(home));
            }
            stays
        });
    }

    fn refused(&mut self, dir: &Dir, error: &notify::Error) {
        if let Refusal::Never = self.refusal {
            let path = dir.path(&self.home);
            tracing::warn!(path = %path.display(), %error, "no events");
            let why = format!("changes are noticed late, since it cannot be watched: {error}");
            self.refusal = Refusal::Untold(Change::Trouble { path, why });
        }
    }

    /// What must be said about events that cannot be had, unless it was said before.
    pub(super) fn take_trouble(&mut self) -> Option<Change> {
        let Refusal::Untold(trouble) = &self.refusal else { return None };
        let trouble = trouble.clone();
        self.refusal = Refusal::Told;
        Some(trouble)
    }
}
