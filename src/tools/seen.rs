//! What an agent has read, so that it never overwrites what it has not seen.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The files an agent has read or written, by content. Paths are resolved ones.
#[derive(Debug, Default)]
pub struct ReadCache {
    files: Mutex<HashMap<PathBuf, u64>>,
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
        self.files().insert(path.to_owned(), digest(content));
    }

    /// Whether the agent knows this content of the file.
    pub fn knows(&self, path: &Path, content: &[u8]) -> Known {
        match self.files().get(path) {
            None => Known::Never,
            Some(seen) if *seen == digest(content) => Known::Same,
            Some(_) => Known::Changed,
        }
    }

    /// A copy for a subagent: it has seen what its parent saw, and learns on its own.
    #[must_use]
    pub fn copied(&self) -> Self {
        Self { files: Mutex::new(self.files().clone()) }
    }

    fn files(&self) -> MutexGuard<'_, HashMap<PathBuf, u64>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn digest(content: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    hasher.finish()
}
