//! Who runs commands under which mark, written where the next start finds it.
//!
//! A killed program cannot clear up. Its ledger stays, and since the lock on it goes with the
//! process, anyone can tell that its owner is gone, and may end what carries its mark.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::tree::{Leader, Tree};
use crate::protocol::ids::SessionId;
use crate::settings::paths::Home;
use crate::store::files;

/// Longer than any ledger of ours.
const LONGEST: u64 = 64 * 1024;

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Entry {
    session: SessionId,
    mark: String,
    snapshot: PathBuf,
    /// The program itself. Earlier versions did not say.
    #[serde(default)]
    owner: Option<Leader>,
}

/// The ledger of a living shell. Locked for as long as this is held.
#[derive(Debug)]
pub(super) struct Ledger {
    path: PathBuf,
    _lock: File,
}

/// What was found and ended after owners that are gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Swept {
    pub shells: usize,
    pub processes: usize,
}

fn dir(home: &Home) -> PathBuf {
    home.ours().join("shells")
}

impl Ledger {
    pub(super) fn open(
        home: &Home,
        session: &SessionId,
        mark: &str,
        snapshot: &Path,
    ) -> io::Result<Self> {
        let dir = dir(home);
        files::make_dir(&dir).map_err(io::Error::other)?;
        let path = dir.join(format!("{}.json", mark.trim_end_matches('.')));
        let unready = files::temporary(&path);
        let mut file = files::create(&unready)?;
        file.lock()?;
        let entry = Entry {
            session: session.clone(),
            mark: mark.to_owned(),
            snapshot: snapshot.to_owned(),
            owner: Some(Leader::of(rustix::process::getpid())),
        };
        file.write_all(&serde_json::to_vec(&entry)?)?;
        // Under its name only now: whoever sees it sees it locked and whole.
        fs::rename(&unready, &path)?;
        Ok(Self { path, _lock: file })
    }

    pub(super) fn close(self) {
        // A ledger that stays is swept by the next start.
        let _ = fs::remove_file(&self.path);
    }
}

/// All that are ready; one that begins with a dot is still being written.
fn ledgers(home: &Home) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(dir(home)).into_iter().flatten().flatten();
    let ready = |path: &PathBuf| {
        path.file_name().is_some_and(|name| !name.as_encoded_bytes().starts_with(b"."))
    };
    entries.map(|entry| entry.path()).filter(ready)
}

fn read(file: &File) -> Option<Entry> {
    let mut text = Vec::new();
    file.take(LONGEST).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Those whose programs live.
fn held(home: &Home) -> impl Iterator<Item = Entry> {
    ledgers(home).filter_map(|path| {
        let file = files::open_to_read(&path).ok()?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => read(&file),
            Ok(()) | Err(TryLockError::Error(_)) => None,
        }
    })
}

/// The marks of shells whose programs live.
pub(super) fn living(home: &Home) -> Vec<String> {
    held(home).map(|entry| entry.mark).collect()
}

/// The programs that live and have a shell.
pub(super) fn owners(home: &Home) -> Vec<Leader> {
    held(home).filter_map(|entry| entry.owner).collect()
}

/// Ends what shells left behind whose owners are gone; of one session, or of all.
pub(super) fn sweep(home: &Home, session: Option<&SessionId>) -> Swept {
    let mut swept = Swept::default();
    for path in ledgers(home) {
        if let Some(processes) = sweep_one(home, &path, session) {
            swept.shells += 1;
            swept.processes += processes;
        }
    }
    swept
}

fn sweep_one(home: &Home, path: &Path, session: Option<&SessionId>) -> Option<usize> {
    let file = files::open_to_read(path).ok()?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => return None,
    }
    let entry = read(&file)?;
    // An empty mark would be everybody's.
    if entry.mark.len() < 36 || session.is_some_and(|session| *session != entry.session) {
        return None;
    }
    let tree = Tree { mark: entry.mark, leaders: Vec::new() };
    let processes = tree.living().len();
    tree.kill_now();
    if entry.snapshot.parent() == Some(super::snapshot::dir(home).as_path()) {
        // It may never have been written.
        let _ = fs::remove_file(&entry.snapshot);
    }
    fs::remove_file(path).ok()?;
    Some(processes)
}
