//! What is given while a session runs: rules and directories, for one agent or all, for a while
//! or for good. Listed, taken back, kept for a resume, and added to what an agent may do.
//!
//! What lasts for a session is in its `state.json`. What lasts longer is written to a settings
//! file too, where it holds for everybody; when that file cannot be changed, it holds for the
//! session and the person is told why.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use uuid::Uuid;

use super::View;
use super::rule::{Bases, Effect, Rule, RuleError, Source};
use crate::protocol::ask::{Ask, Grant, GrantRecord, Grantee, Lasts, Permit};
use crate::protocol::ids::{AgentId, AskId, SessionId};
use crate::protocol::json::Json;
use crate::protocol::time::Stamp;
use crate::settings::grants::{GrantFiles, says, with, without};
use crate::settings::paths;
use crate::store::files::{self, Signature};
use crate::store::state::StateFile;
use crate::store::{Store, StoreError, settings_file};

/// The member of the state that holds grants.
const MEMBER: &str = "grants";

/// The grants of a session.
#[derive(Debug)]
pub(super) struct Grants {
    store: Store,
    state: StateFile,
    files: GrantFiles,
    live: Mutex<Live>,
}

#[derive(Debug, Default)]
struct Live {
    /// Counts changes.
    revision: u64,
    records: Vec<GrantRecord>,
    /// Ids of those that could not be put on disk.
    unsaved: HashSet<String>,
    /// The version of the file that the records are from.
    seen: Option<Signature>,
    views: HashMap<AgentId, Cached>,
}

/// What an agent may do, and all that it was made from.
#[derive(Debug)]
struct Cached {
    base: Arc<View>,
    cwd: PathBuf,
    revision: u64,
    /// When the first of its grants ends.
    until: Option<Stamp>,
    view: Arc<View>,
}

/// What came of giving, or of looking what others gave and took.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) given: Vec<GrantRecord>,
    pub(super) taken: Vec<GrantRecord>,
    /// What the person should know.
    pub(super) notices: Vec<String>,
}

/// One thing to give.
#[derive(Debug, Clone)]
pub(super) struct Gift<'a> {
    pub(super) permit: &'a Permit,
    pub(super) agent: Option<&'a AgentId>,
    pub(super) lasts: Lasts,
    pub(super) ask: Option<&'a AskId>,
}

/// Whether a rule can be used, before anybody relies on it.
pub fn check(rule: &str, cwd: &Path) -> Result<(), RuleError> {
    let bases = Bases { cwd: cwd.to_owned(), user: paths::user_dir(), settings: cwd.to_owned() };
    Rule::parse(rule, Effect::Allow, Source::Session, &bases).map(|_| ())
}

fn is_live(record: &GrantRecord, now: Stamp) -> bool {
    match record.lasts {
        Lasts::Until(end) => now < end,
        Lasts::Session | Lasts::Project | Lasts::User => true,
    }
}

/// Whether it is a grant whose time is over; what cannot be read is not.
fn has_ended(item: &Json, now: Stamp) -> bool {
    item.read::<GrantRecord>().is_ok_and(|record| !is_live(&record, now))
}

/// Whether it outlives the session.
const fn is_written(lasts: Lasts) -> bool {
    match lasts {
        Lasts::Project | Lasts::User => true,
        Lasts::Session | Lasts::Until(_) => false,
    }
}

/// What is given in a session and still holds, whoever runs it. What cannot be read is passed
/// over.
pub fn recorded(state: &StateFile) -> Result<Vec<GrantRecord>, StoreError> {
    let list = state.member(MEMBER)?;
    let items = match &list {
        Some(Json::Array(items)) => items.as_slice(),
        Some(Json::Scalar(_) | Json::Object(_)) | None => &[],
    };
    let now = files::now();
    let all = items.iter().filter_map(|item| item.read().ok());
    Ok(all.filter(|record| is_live(record, now)).collect())
}

/// Takes a grant back, also from the settings file it was written to. `None`: there is none of
/// this id.
pub fn revoke(
    store: &Store,
    session: &SessionId,
    id: &str,
) -> Result<Option<GrantRecord>, StoreError> {
    let state = StateFile::new(store, session);
    let Some(record) = recorded(&state)?.into_iter().find(|record| record.id == id) else {
        return Ok(None);
    };
    if let Some(file) = record.file.as_deref() {
        settings_file::change(store, Path::new(file), |text| match text {
            Some(text) => without(text, &record.permit),
            None => Ok(None),
        })?;
    }
    keep(&state, |item| text_of(item, "id").as_deref() != Some(id))?;
    Ok(Some(record))
}

fn text_of(item: &Json, key: &str) -> Option<String> {
    item.get(key)?.as_str().map(Cow::into_owned)
}

/// Leaves what `keep` wants in the list on disk, records of later versions included. What has
/// ended goes with every write.
fn keep(state: &StateFile, keep: impl Fn(&Json) -> bool) -> Result<(), StoreError> {
    state.patch(MEMBER, |list| match list {
        Some(Json::Array(items)) => {
            let now = files::now();
            let items = items.into_iter().filter(|item| !has_ended(item, now));
            Json::Array(items.filter(keep).collect())
        }
        Some(Json::Scalar(_) | Json::Object(_)) | None => Json::Array(Vec::new()),
    })
}

impl Grants {
    pub(super) fn open(
        store: &Store,
        session: &SessionId,
        files: GrantFiles,
    ) -> Result<Self, StoreError> {
        let state = StateFile::new(store, session);
        let seen = state.signature();
        let mut records = match recorded(&state) {
            // Whoever writes it next sets it aside.
            Err(StoreError::Broken { .. }) => Vec::new(),
            found => found?,
        };
        // What was taken out of a settings file by hand no longer holds.
        records.retain(|record| match &record.file {
            Some(file) => still_says(Path::new(file), &record.permit),
            None => true,
        });
        let live = Mutex::new(Live { records, seen, ..Live::default() });
        Ok(Self { store: store.clone(), state, files, live })
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What holds now.
    pub(super) fn list(&self) -> Vec<GrantRecord> {
        let now = files::now();
        self.live().records.iter().filter(|record| is_live(record, now)).cloned().collect()
    }

    /// Gives what a verdict says. A mode is not ours to give.
    pub(super) fn take(&self, ask: &Ask, grant: &Grant) -> Outcome {
        let mut outcome = Outcome::default();
        let agent = match grant.to {
            Grantee::Asker => ask.chain.first(),
            Grantee::Team => None,
        };
        for permit in &grant.permits {
            if let Permit::Mode(_) = permit {
                continue;
            }
            if let Permit::Rule(rule) = permit
                && let Err(error) = check(rule, &ask.cwd)
            {
                outcome.notices.push(format!("The rule was not saved: {error}."));
                continue;
            }
            let gift = Gift { permit, agent, lasts: grant.lasts, ask: Some(&ask.id) };
            self.give(&gift, &mut outcome);
        }
        outcome
    }

    /// Gives one thing, unless it is given already for as long.
    pub(super) fn give(&self, gift: &Gift<'_>, outcome: &mut Outcome) {
        let (written, lasts) = self.write(gift, outcome);
        let agent = if written.is_some() { None } else { gift.agent.cloned() };
        let at = files::now();
        let known = |record: &GrantRecord| {
            record.permit == *gift.permit
                && record.agent == agent
                && record.lasts == lasts
                && is_live(record, at)
        };
        if self.live().records.iter().any(known) {
            return;
        }
        let uuid = Uuid::new_v4().simple().to_string();
        let record = GrantRecord {
            id: format!("g-{}", &uuid[..8]),
            permit: gift.permit.clone(),
            agent,
            lasts,
            at,
            ask: gift.ask.cloned(),
            file: written.map(|file| file.to_string_lossy().into_owned()),
        };
        let saved = self.state.patch(MEMBER, |list| {
            let mut items = match list {
                Some(Json::Array(items)) => items,
                Some(Json::Scalar(_) | Json::Object(_)) | None => Vec::new(),
            };
            items.retain(|item| !has_ended(item, at));
            items.push(Json::of(&record));
            Json::Array(items)
        });
        let mut live = self.live();
        if let Err(error) = saved {
            live.unsaved.insert(record.id.clone());
            let text = format!("{} will be forgotten after a restart: {error}.", record.permit);
            outcome.notices.push(text);
        }
        live.records.retain(|record| is_live(record, at));
        live.records.push(record.clone());
        live.revision += 1;
        drop(live);
        outcome.given.push(record);
    }

    /// Writes what outlives the session to its settings file, and says how long it then holds.
    fn write(&self, gift: &Gift<'_>, outcome: &mut Outcome) -> (Option<PathBuf>, Lasts) {
        let file = match gift.lasts {
            Lasts::Session | Lasts::Until(_) => return (None, gift.lasts),
            Lasts::Project => self.files.project.clone(),
            Lasts::User => self.files.user.clone(),
        };
        let why = match file {
            None => "there is no settings file for it".to_owned(),
            Some(file) => {
                let changed =
                    settings_file::change(&self.store, &file, |text| with(text, gift.permit));
                match changed {
                    Ok(_) => return (Some(file), gift.lasts),
                    Err(error) => error.to_string(),
                }
            }
        };
        let text = format!("{} holds for this session only: {why}.", gift.permit);
        outcome.notices.push(text);
        (None, Lasts::Session)
    }

    /// Looks what another process changed.
    pub(super) fn reload(&self) -> Outcome {
        let mut outcome = Outcome::default();
        let seen = self.state.signature();
        if seen == self.live().seen && seen.is_some_and(|seen| seen.is_settled()) {
            return outcome;
        }
        // Held while reading: what is given meanwhile would look as if it were taken back.
        let mut live = self.live();
        let Ok(found) = recorded(&self.state) else { return outcome };
        let ids: HashSet<&str> = found.iter().map(|record| record.id.as_str()).collect();
        let Live { records, unsaved, .. } = &mut *live;
        let now = files::now();
        // Whose time is over was not taken back by anybody.
        records.retain(|record| is_live(record, now));
        records.retain(|record| {
            let stays = ids.contains(record.id.as_str()) || unsaved.contains(&record.id);
            if !stays {
                outcome.taken.push(record.clone());
            }
            stays
        });
        live.seen = seen;
        live.revision += u64::from(!outcome.taken.is_empty());
        outcome
    }

    pub(super) fn revoke(&self, session: &SessionId, id: &str) -> Result<Outcome, StoreError> {
        let mut outcome = Outcome::default();
        let on_disk = revoke(&self.store, session, id)?;
        let mut live = self.live();
        let at = live.records.iter().position(|record| record.id == id);
        let in_memory = at.map(|at| live.records.remove(at));
        live.unsaved.remove(id);
        live.revision += 1;
        outcome.taken.extend(in_memory.or(on_disk));
        Ok(outcome)
    }

    /// Forgets what was given for the session.
    pub(super) fn end_session(&self) -> Result<(), StoreError> {
        let mut live = self.live();
        live.records.retain(|record| is_written(record.lasts));
        live.unsaved.clear();
        live.revision += 1;
        drop(live);
        keep(&self.state, |item| {
            item.read::<GrantRecord>().map_or(true, |record| is_written(record.lasts))
        })
    }

    /// What an agent may do: its own view, with what was given to it, from where it works.
    pub(super) fn view(&self, base: &Arc<View>, agent: &AgentId, cwd: &Path) -> Arc<View> {
        let now = files::now();
        let mut live = self.live();
        if let Some(cached) = live.views.get(agent)
            && Arc::ptr_eq(&cached.base, base)
            && cached.revision == live.revision
            && cached.cwd == cwd
            && cached.until.is_none_or(|until| now < until)
        {
            return Arc::clone(&cached.view);
        }
        let holds = |record: &&GrantRecord| {
            is_live(record, now) && record.agent.as_ref().is_none_or(|to| to == agent)
        };
        let records: Vec<&GrantRecord> = live.records.iter().filter(holds).collect();
        let view = match records.is_empty() && base.cwd == cwd {
            true => Arc::clone(base),
            false => Arc::new(self.grown(base, &records, cwd)),
        };
        let ends = records.iter().filter_map(|record| match record.lasts {
            Lasts::Until(end) => Some(end),
            Lasts::Session | Lasts::Project | Lasts::User => None,
        });
        let until = ends.min();
        let cached = Cached {
            base: Arc::clone(base),
            cwd: cwd.to_owned(),
            revision: live.revision,
            until,
            view: Arc::clone(&view),
        };
        live.views.insert(agent.clone(), cached);
        view
    }

    fn grown(&self, base: &View, records: &[&GrantRecord], cwd: &Path) -> View {
        let mut view = base.clone();
        for record in records {
            match &record.permit {
                Permit::Rule(rule) => {
                    let settings = self.base_of(record.lasts, base);
                    let bases = Bases { cwd: base.cwd.clone(), user: base.user.clone(), settings };
                    match Rule::parse(rule, Effect::Allow, Source::Session, &bases) {
                        Ok(rule) => view.rules.push(rule),
                        Err(error) => tracing::warn!(%error, "a grant is of no use"),
                    }
                }
                Permit::Directory(dir) => view.add_directory(Path::new(dir)),
                Permit::Mode(_) => {}
            }
        }
        cwd.clone_into(&mut view.cwd);
        view
    }

    /// Where `/src` of a rule begins, as in the settings file that it may stand in.
    fn base_of(&self, lasts: Lasts, base: &View) -> PathBuf {
        let dir = match lasts {
            Lasts::User => self.files.user.as_deref().and_then(Path::parent),
            Lasts::Session | Lasts::Until(_) | Lasts::Project => {
                self.files.project.as_deref().and_then(Path::parent).and_then(Path::parent)
            }
        };
        dir.unwrap_or(&base.cwd).to_owned()
    }
}

fn still_says(file: &Path, permit: &Permit) -> bool {
    match settings_file::text(file) {
        // One that cannot be read says nothing against it.
        Ok(Some(text)) => says(&text, permit).unwrap_or(true),
        Ok(None) => false,
        Err(_) => true,
    }
}
