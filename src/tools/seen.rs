//! What an agent has read, so that it never overwrites what it has not seen.

use std::collections::HashMap;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::guarded::LARGEST;
use crate::protocol::time::Stamp;

/// The files an agent has read or written, by content. Paths are resolved ones. A clone is the
/// same memory in other hands.
#[derive(Debug, Clone, Default)]
pub struct ReadCache {
    files: Arc<Mutex<HashMap<PathBuf, u64>>>,
    /// Random, so that nobody can make a content that passes for another.
    keys: RandomState,
}

/// How a file stands to what the agent knows of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    Never,
    Changed,
    Same,
}

impl ReadCache {
    /// Takes note of a file as it is now.
    pub fn record(&self, path: &Path, content: &[u8]) {
        let digest = self.keys.hash_one(content);
        self.files().insert(path.to_owned(), digest);
    }

    /// Takes note of a file that was read or written at that time, if it is still as it was then:
    /// an agent that comes back knows what it knew.
    pub fn recall(&self, path: &Path, at: Stamp) {
        let unchanged = || -> io::Result<bool> {
            let about = fs::symlink_metadata(path)?;
            let changed = Stamp::from(about.modified()?);
            Ok(about.is_file() && about.len() <= LARGEST && changed <= at)
        };
        // Where a link leads now, it may not have led then.
        let is_itself = path.canonicalize().is_ok_and(|real| real == path);
        if is_itself
            && unchanged().unwrap_or(false)
            && let Ok(content) = fs::read(path)
        {
            self.record(path, &content);
        }
    }

    /// Whether the agent knows this content of the file.
    pub fn knows(&self, path: &Path, content: &[u8]) -> Known {
        let seen = self.files().get(path).copied();
        match seen {
            None => Known::Never,
            Some(seen) if seen == self.keys.hash_one(content) => Known::Same,
            Some(_) => Known::Changed,
        }
    }

    /// A copy for a subagent: it has seen what its parent saw, and learns on its own.
    #[must_use]
    pub fn copied(&self) -> Self {
        Self { files: Arc::new(Mutex::new(self.files().clone())), keys: self.keys.clone() }
    }

    fn files(&self) -> MutexGuard<'_, HashMap<PathBuf, u64>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
