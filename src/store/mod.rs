//! Durable state: rosters, mailboxes, tasks, plans, transcripts, journals, asks.
//!
//! Everything here is synchronous and blocks for microseconds as a rule, for seconds when another
//! program holds a lock; async callers use `spawn_blocking`. What was acknowledged is on disk,
//! whatever dies afterwards.

pub mod error;
pub mod files;
pub mod lock;
mod lock_keeper;

pub use error::StoreError;
pub use files::Durability;

use crate::settings::paths::Home;
use lock::Locks;

/// All durable state below one home directory. Cheap to clone; every clone is the same state.
#[derive(Debug, Clone)]
pub struct Store {
    home: Home,
    locks: Locks,
}

impl Store {
    /// Opens a home directory, making it where it is missing.
    pub fn open(home: Home, durability: Durability) -> Result<Self, StoreError> {
        for dir in [home.teams(), home.task_lists()] {
            files::make_dir(&dir)?;
        }
        let locks = Locks::new(home.locks(), durability);
        Ok(Self { home, locks })
    }

    pub fn home(&self) -> &Home {
        &self.home
    }

    /// The locks of this home, for the modules that guard something of their own.
    pub fn locks(&self) -> &Locks {
        &self.locks
    }
}
