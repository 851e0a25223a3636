//! The asks of a session, one file each: open until somebody settles them, kept afterwards.
//!
//! Invariant: an ask is settled once, in the version its judge saw. Who comes later is told who
//! was first. The files are ours alone, so entering their domain is all the locking they need.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Store;
use super::error::{Damage, Problem, StoreError};
use super::files;
use super::lock::Held;
use crate::protocol::ask::{Ask, Judge, Verdict};
use crate::protocol::ids::{AskId, SessionId};
use crate::protocol::json;
use crate::protocol::time::Stamp;

/// Enough for a tool that writes a large file.
const LARGEST: u64 = 64 * 1024 * 1024;

/// A file of this name comes and goes when grants were changed by another process.
pub const GRANTS_CHANGED: &str = ".grants-changed";

/// What the file of an ask holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AskRecord {
    pub ask: Ask,
    #[serde(flatten)]
    pub state: AskState,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum AskState {
    Open,
    Settled { verdict: Verdict, by: Judge, settled_at: Stamp },
}

/// Why a verdict or a revision came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Stale {
    #[error("there is no ask `{ask}`")]
    Unknown { ask: AskId },
    #[error("ask `{ask}` has changed: it is at version {rev} now; look at it again")]
    Changed { ask: AskId, rev: u32 },
    #[error("ask `{ask}` was settled by {} at {at}", judge(by))]
    Settled { ask: AskId, by: Judge, at: Stamp },
}

#[derive(Debug, thiserror::Error)]
pub enum SettleError {
    #[error(transparent)]
    Stale(#[from] Stale),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Whether what is on disk is this question and still of use to who asks it.
fn stands(known: &AskRecord, ask: &Ask) -> bool {
    // The reason names what a path leads to, which may be another by now.
    let same =
        known.ask.question == ask.question && known.ask.cwd == ask.cwd && known.ask.why == ask.why;
    let withdrawn =
        matches!(&known.state, AskState::Settled { verdict: Verdict::Withdrawn { .. }, .. });
    same && !withdrawn
}

fn judge(by: &Judge) -> String {
    match by {
        Judge::Human => "the person".to_owned(),
        Judge::Policy { name } => format!("the policy `{name}`"),
        Judge::Asker => "the asker".to_owned(),
    }
}

/// The asks that wait for a verdict, and the files that cannot be read.
#[derive(Debug, Default)]
pub struct OpenAsks {
    /// Oldest first.
    pub asks: Vec<Ask>,
    pub problems: Vec<Problem>,
}

/// All asks of one session. Cheap to clone; every clone is the same asks.
#[derive(Debug, Clone)]
pub struct Asks {
    store: Store,
    session: SessionId,
}

impl Asks {
    pub fn new(store: &Store, session: &SessionId) -> Self {
        Self { store: store.clone(), session: session.clone() }
    }

    /// Puts a new ask down. Refused when there is one of this id, open or settled.
    pub fn raise(&self, ask: &Ask) -> Result<(), StoreError> {
        files::make_dir(&self.store.home().asks(&self.session))?;
        let mut held = self.enter()?;
        match self.get(&ask.id)? {
            Some(_) => Err(StoreError::AskExists(ask.id.clone())),
            None => self.put(&mut held, &AskRecord { ask: ask.clone(), state: AskState::Open }),
        }
    }

    /// Puts a question that may have been put before, by a process that is gone. What is open
    /// goes on, and a verdict on this very question stands. Whatever else is there (another
    /// question, one that was withdrawn, or, with `spent`, one whose verdict was used) is
    /// followed by a new version. A file that cannot be read is set aside.
    pub fn put_forward(&self, ask: &Ask, spent: bool) -> Result<AskRecord, StoreError> {
        files::make_dir(&self.store.home().asks(&self.session))?;
        let mut held = self.enter()?;
        let known = match self.get(&ask.id) {
            Err(StoreError::Broken { path, .. }) => {
                files::set_aside(&path)?;
                None
            }
            found => found?,
        };
        let rev = match known {
            None => ask.rev,
            Some(known) if !spent && stands(&known, ask) => return Ok(known),
            Some(known) => known.ask.rev.saturating_add(1),
        };
        let record = AskRecord { ask: Ask { rev, ..ask.clone() }, state: AskState::Open };
        self.put(&mut held, &record)?;
        Ok(record)
    }

    /// Puts the next version of an open ask in the place of the last.
    pub fn revise(&self, ask: &Ask) -> Result<(), SettleError> {
        let mut held = self.enter()?;
        let rev = self.still_open(&ask.id)?.rev;
        if rev.checked_add(1) != Some(ask.rev) {
            return Err(Stale::Changed { ask: ask.id.clone(), rev }.into());
        }
        let record = AskRecord { ask: ask.clone(), state: AskState::Open };
        Ok(self.put(&mut held, &record)?)
    }

    /// Settles an ask in the version that the judge saw. The first verdict counts, whichever
    /// thread or process it comes from.
    pub fn settle(
        &self,
        id: &AskId,
        rev: u32,
        verdict: Verdict,
        by: Judge,
    ) -> Result<AskRecord, SettleError> {
        let mut held = self.enter()?;
        let ask = self.still_open(id)?;
        if ask.rev != rev {
            return Err(Stale::Changed { ask: id.clone(), rev: ask.rev }.into());
        }
        let state = AskState::Settled { verdict, by, settled_at: files::now() };
        let record = AskRecord { ask, state };
        self.put(&mut held, &record)?;
        Ok(record)
    }

    /// `None` where there is no ask of this id.
    pub fn get(&self, id: &AskId) -> Result<Option<AskRecord>, StoreError> {
        load(&self.store.home().ask(&self.session, id))
    }

    /// What waits for a verdict. A broken file is named, left alone, and hides nothing else.
    pub fn open(&self) -> Result<OpenAsks, StoreError> {
        let mut open = OpenAsks::default();
        let found = self.each(|_| true, &mut open.problems)?;
        for record in found {
            match record.state {
                AskState::Open => open.asks.push(record.ask),
                AskState::Settled { .. } => {}
            }
        }
        open.asks.sort_by(|one, two| (one.at, &one.id).cmp(&(two.at, &two.id)));
        Ok(open)
    }

    /// All asks, open and settled, whose file stem is `wanted`, in no order.
    pub fn each(
        &self,
        wanted: impl Fn(&str) -> bool,
        problems: &mut Vec<Problem>,
    ) -> Result<Vec<AskRecord>, StoreError> {
        let dir = self.store.home().asks(&self.session);
        let unreadable = |source| StoreError::io("read", &dir, source);
        let entries = match fs::read_dir(&dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(unreadable(error)),
        };
        let mut found = Vec::new();
        for entry in entries {
            let name = entry.map_err(unreadable)?.file_name();
            let shown = name.to_string_lossy();
            let Some(stem) = shown.strip_suffix(".json").filter(|stem| !stem.starts_with('.'))
            else {
                continue;
            };
            if !wanted(stem) {
                continue;
            }
            let path = dir.join(&name);
            match load(&path) {
                Ok(record) => found.extend(record),
                Err(error) => problems.push(error.problem_of(&path)),
            }
        }
        Ok(found)
    }

    /// Has whoever watches these asks look at the session's grants too: those are kept in a
    /// directory where too much happens to be watched.
    pub fn nudge(&self) -> Result<(), StoreError> {
        let dir = self.store.home().asks(&self.session);
        let note = dir.join(GRANTS_CHANGED);
        files::make_dir(&dir)?;
        let made = files::create(&note).and_then(|_| fs::remove_file(&note));
        made.map_err(|source| StoreError::io("write", &note, source))
    }

    fn enter(&self) -> Result<Held, StoreError> {
        self.store.locks().enter(&["asks", self.session.as_str()])
    }

    fn still_open(&self, id: &AskId) -> Result<Ask, SettleError> {
        let ask = id.clone();
        match self.get(id)? {
            None => Err(Stale::Unknown { ask }.into()),
            Some(AskRecord { state: AskState::Settled { by, settled_at: at, .. }, .. }) => {
                Err(Stale::Settled { ask, by, at }.into())
            }
            Some(AskRecord { ask, state: AskState::Open }) => Ok(ask),
        }
    }

    fn put(&self, held: &mut Held, record: &AskRecord) -> Result<(), StoreError> {
        let path = self.store.home().ask(&self.session, &record.ask.id);
        let text = json::to_pretty(record);
        let size = text.len() as u64;
        if size > LARGEST {
            return Err(StoreError::broken(&path, Damage::TooLarge { size, limit: LARGEST }));
        }
        held.replace(&path, text.as_bytes())
    }
}

/// Reads one file. It is always whole, since nobody else writes it: no need to look twice.
fn load(path: &Path) -> Result<Option<AskRecord>, StoreError> {
    let Some(text) = files::read_text(path, LARGEST)? else { return Ok(None) };
    let record: AskRecord =
        json::from_text(&text).map_err(|damage| StoreError::broken(path, damage))?;
    // A copy under another name would be an ask that nobody can settle.
    let own_name = format!("{}.json", record.ask.id.file_stem());
    if path.file_name().is_none_or(|name| name != own_name.as_str()) {
        return Err(StoreError::broken(
            path,
            Damage::Misplaced(format!("the ask `{}`", record.ask.id)),
        ));
    }
    Ok(Some(record))
}
