//! Durable state: rosters, mailboxes, tasks, plans, transcripts, journals, asks.
//!
//! Everything here is synchronous and blocks for microseconds as a rule, for seconds when another
//! program holds a lock; async callers use `spawn_blocking`. What was acknowledged is on disk,
//! whatever dies afterwards.

pub mod asks;
pub mod asks_watch;
pub mod assignment;
pub mod error;
pub mod files;
mod inbox_text;
pub mod journal;
mod journal_reader;
pub mod lines;
pub mod lock;
mod lock_dir;
mod lock_keeper;
mod lock_wait;
pub mod mailbox;
pub mod plans;
pub mod roster;
pub mod settings_file;
pub mod state;
pub mod tasks;
pub mod transcript;
pub mod watch;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use error::{Problem, Problems, StoreError};
pub use files::Durability;

use crate::protocol::ids::TeamDir;
use crate::protocol::team::Team;
use crate::settings::paths::Home;
use files::Signature;
use lock::Locks;
use mailbox::Mailbox;
use roster::Rosters;
use tasks::{TaskCache, TaskList};

/// All durable state below one home directory. Cheap to clone; every clone is the same state.
#[derive(Debug, Clone)]
pub struct Store {
    home: Home,
    locks: Locks,
    caches: Arc<Caches>,
}

/// What was read before and need not be read again while its file is the same.
#[derive(Debug, Default)]
struct Caches {
    teams: Mutex<HashMap<TeamDir, (Signature, Arc<Team>)>>,
    tasks: Mutex<HashMap<TeamDir, Arc<Mutex<TaskCache>>>>,
}

impl Store {
    /// The state below a home directory, which is made when something is first written to it.
    pub fn open(home: Home, durability: Durability) -> Self {
        let locks = Locks::new(&home, durability);
        Self { home, locks, caches: Arc::default() }
    }

    /// The same state, with another limit on waiting for locks.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.locks = self.locks.with_patience(patience);
        self
    }

    pub fn home(&self) -> &Home {
        &self.home
    }

    pub fn durability(&self) -> Durability {
        self.locks.durability()
    }

    /// The locks of this home, for the modules that guard something of their own.
    pub fn locks(&self) -> &Locks {
        &self.locks
    }

    pub fn rosters(&self) -> Rosters<'_> {
        Rosters::new(self)
    }

    pub fn mail(&self, team: &TeamDir) -> Mailbox<'_> {
        Mailbox::new(self, team.clone())
    }

    pub fn tasks(&self, list: &TeamDir) -> TaskList<'_> {
        let cache = Arc::clone(lock_cache(&self.caches.tasks).entry(list.clone()).or_default());
        TaskList::new(self, list.clone(), cache)
    }

    fn cached_team(&self, dir: &TeamDir) -> Option<(Signature, Arc<Team>)> {
        lock_cache(&self.caches.teams).get(dir).cloned()
    }

    fn cache_team(&self, dir: &TeamDir, team: Option<(Signature, Arc<Team>)>) {
        let mut teams = lock_cache(&self.caches.teams);
        match team {
            Some(known) => teams.insert(dir.clone(), known),
            None => teams.remove(dir),
        };
    }

    fn forget_team(&self, dir: &TeamDir) {
        lock_cache(&self.caches.teams).remove(dir);
        lock_cache(&self.caches.tasks).remove(dir);
    }
}

/// A cache is whole after every step, so one that a panic left behind can be used.
fn lock_cache<T>(cache: &Mutex<T>) -> MutexGuard<'_, T> {
    cache.lock().unwrap_or_else(PoisonError::into_inner)
}
