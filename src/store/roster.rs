//! Rosters: which teams there are, and who is in them.
//!
//! A roster is changed by patching its document inside its locks, so two programs that add a
//! member at the same time lose nothing, and fields that we do not know survive.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Store;
use super::error::{Problem, StoreError};
use super::files::{self, Signature};
use super::lock::Held;
use crate::protocol::ids::{AgentId, AgentName, SessionId, TeamDir, TeamName};
use crate::protocol::json::{self, Json};
use crate::protocol::team::{MEMBER_KEYS, Member, Team};

const LARGEST: u64 = 64 << 20;

/// All rosters of a home directory.
#[derive(Debug)]
pub struct Rosters<'a> {
    store: &'a Store,
}

/// How many teams may have the same name, but for a number.
const MOST_OF_A_NAME: usize = 1_000;

/// What a new team is made of.
#[derive(Debug, Clone)]
pub struct NewTeam {
    pub name: TeamName,
    pub description: Option<String>,
    /// The lead's `agentType`, where it is not `team-lead`.
    pub lead_type: Option<String>,
    pub model: Option<String>,
    pub cwd: String,
    pub session: SessionId,
    /// A list of tasks that becomes the team's: the one the session had without it.
    pub tasks: Option<TeamDir>,
}

/// What a new teammate is made of.
#[derive(Debug, Clone)]
pub struct NewMember {
    /// Becomes `name-2` where it is taken.
    pub name: AgentName,
    pub agent_type: String,
    pub model: String,
    pub prompt: String,
    pub plan_mode_required: bool,
    pub cwd: String,
    pub backend: Backend,
}

/// Where a teammate runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backend {
    InProcess,
    Tmux { pane: String },
    Subprocess,
}

impl Backend {
    fn pane(&self) -> &str {
        match self {
            Self::InProcess => "in-process",
            Self::Tmux { pane } => pane,
            Self::Subprocess => "",
        }
    }

    const fn kind(&self) -> &'static str {
        match self {
            Self::InProcess => "in-process",
            Self::Tmux { .. } => "tmux",
            Self::Subprocess => "subprocess",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    Working,
    Idle,
}

/// Whether a team may be deleted while somebody is still in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletion {
    OnlyIfEmpty,
    Forced,
}

/// The teams that could be read, and what could not.
#[derive(Debug, Default)]
pub struct AllTeams {
    pub teams: Vec<(TeamDir, Arc<Team>)>,
    pub problems: Vec<Problem>,
}

/// The member of that name, or an error that says who is there.
pub fn member<'t>(team: &'t Team, name: &AgentName) -> Result<&'t Member, StoreError> {
    team.member(name).ok_or_else(|| StoreError::NoMember {
        team: team.name.clone(),
        name: name.clone(),
        known: team.names().into_iter().map(str::to_owned).collect(),
    })
}

impl<'a> Rosters<'a> {
    pub(super) fn new(store: &'a Store) -> Self {
        Self { store }
    }

    pub fn list(&self) -> Result<AllTeams, StoreError> {
        let mut all = AllTeams::default();
        for dir in dirs_in(&self.store.home().teams())? {
            match self.read(&dir) {
                Ok(Some(team)) => all.teams.push((dir, team)),
                Ok(None) => {}
                Err(error) => all.problems.push(error.problem_of(&self.store.home().config(&dir))),
            }
        }
        Ok(all)
    }

    /// The directory of the team that somebody calls by this name (or by its directory).
    pub fn find(&self, name: &str) -> Result<TeamDir, StoreError> {
        let is_team = |dir: &TeamDir| self.store.home().config(dir).exists();
        if let Some(dir) = TeamDir::found(name).filter(is_team) {
            return Ok(dir);
        }
        let all = self.list()?.teams;
        let known = all.iter().map(|(_, team)| team.name.to_string()).collect();
        if let Some((dir, _)) = all.into_iter().find(|(_, team)| team.name == *name) {
            return Ok(dir);
        }
        // What was typed as it is called elsewhere: `Peer Team` for `peer-team`.
        let derived = Some(TeamName::found(name).dir()).filter(is_team);
        derived.ok_or(StoreError::NoTeam { name: name.to_owned(), known })
    }

    pub fn team(&self, dir: &TeamDir) -> Result<Arc<Team>, StoreError> {
        self.read(dir)?.ok_or_else(|| no_team(dir))
    }

    /// The roster's document as it is on disk.
    pub fn document(&self, dir: &TeamDir) -> Result<Json, StoreError> {
        let path = self.store.home().config(dir);
        files::read_parsed(&path, LARGEST, Json::parse)?.ok_or_else(|| no_team(dir))
    }

    /// Reads a roster, or remembers it while the file is the same.
    fn read(&self, dir: &TeamDir) -> Result<Option<Arc<Team>>, StoreError> {
        let path = self.store.home().config(dir);
        let signature = Signature::of(&path).filter(Signature::is_settled);
        let known = self.store.cached_team(dir);
        if let (Some((was, team)), Some(is)) = (known, signature)
            && was == is
        {
            return Ok(Some(team));
        }
        let team: Option<Team> = files::read_parsed(&path, LARGEST, json::from_text)?;
        let team = team.map(Arc::new);
        self.store.cache_team(dir, signature.zip(team.clone()));
        Ok(team)
    }

    /// Makes a team; where the name is taken, by a session of long ago perhaps, it becomes
    /// `name-2`, as with members.
    pub fn create_new(&self, mut new: NewTeam) -> Result<(TeamDir, Team), StoreError> {
        let wanted = new.name.to_string();
        for number in 2..=MOST_OF_A_NAME {
            match self.create(&new) {
                Err(StoreError::TeamExists { .. }) => {}
                made => return made,
            }
            let Ok(next) = TeamName::new(&format!("{wanted}-{number}")) else { break };
            new.name = next;
        }
        self.create(&new)
    }

    /// Makes a team with its lead. It appears whole or not at all.
    pub fn create(&self, new: &NewTeam) -> Result<(TeamDir, Team), StoreError> {
        let (home, dir) = (self.store.home(), new.name.dir());
        let mut held = self.enter(&dir)?;
        let config = home.config(&dir);
        if fs::symlink_metadata(&config).is_ok() {
            return Err(StoreError::TeamExists { dir: home.team(&dir) });
        }
        sweep(&[home.teams(), home.task_lists()]);
        files::make_dir(&home.inboxes(&dir))?;
        if let Some(own) = new.tasks.as_ref().filter(|own| **own != dir) {
            self.take_over(own, &dir, &held)?;
        }
        make_task_dir(&home.tasks(&dir))?;
        let at = files::now().millis();
        let lead =
            Member::lead(&new.name, new.lead_type.as_deref(), new.model.as_deref(), &new.cwd, at);
        let team = Team {
            name: new.name.clone(),
            description: new.description.clone(),
            created_at: at,
            lead_agent_id: lead.agent_id.clone(),
            lead_session_id: Some(new.session.to_string()),
            members: vec![lead],
        };
        held.take(&config)?;
        held.replace(&config, json::to_pretty(&team).as_bytes())?;
        held.secure_names(&home.tasks(&dir).join(".lock"))?;
        Ok((dir, team))
    }

    /// Makes another list of tasks the team's, whole, unless the team has one already.
    fn take_over(&self, from: &TeamDir, to: &TeamDir, held: &Held) -> Result<(), StoreError> {
        let home = self.store.home();
        let (own, team) = (home.tasks(from), home.tasks(to));
        if !own.is_dir() || team.exists() {
            return Ok(());
        }
        let _alone = self.store.locks().enter_too(&["tasks", from.as_str()], held)?;
        fs::rename(&own, &team).map_err(|source| StoreError::io("move", &own, source))
    }

    /// Adds a teammate, with a name nobody has and the next colour.
    pub fn join(&self, dir: &TeamDir, new: &NewMember) -> Result<Member, StoreError> {
        self.change(dir, |document, team| {
            let name = team.free_name(&new.name);
            let member = Member {
                agent_id: AgentId::new(&name, &team.name).to_string(),
                name,
                agent_type: Some(new.agent_type.clone()),
                model: Some(new.model.clone()),
                prompt: Some(new.prompt.clone()),
                color: Some(team.free_color().to_owned()),
                plan_mode_required: Some(new.plan_mode_required),
                joined_at: files::now().millis(),
                tmux_pane_id: new.backend.pane().to_owned(),
                cwd: Some(new.cwd.clone()),
                subscriptions: Vec::new(),
                backend_type: Some(new.backend.kind().to_owned()),
                is_active: Some(true),
            };
            match document.get_mut("members").and_then(Json::items_mut) {
                Some(members) => members.push(Json::of(&member)),
                None => document.set("members", Json::Array(vec![Json::of(&member)]), &[]),
            }
            Ok(member)
        })
    }

    /// Says whether a member is working.
    pub fn set_activity(
        &self,
        dir: &TeamDir,
        name: &AgentName,
        activity: Activity,
    ) -> Result<(), StoreError> {
        self.change(dir, |document, team| {
            member(team, name)?;
            let members = document.get_mut("members").and_then(Json::items_mut);
            for entry in members.into_iter().flatten().filter(|entry| is_named(entry, name)) {
                entry.set("isActive", Json::from(activity == Activity::Working), MEMBER_KEYS);
            }
            Ok(())
        })
    }

    /// Says of several at once whether they work. Whoever has left meanwhile is passed over.
    pub fn set_activities(
        &self,
        dir: &TeamDir,
        these: &HashMap<AgentName, Activity>,
    ) -> Result<(), StoreError> {
        self.change(dir, |document, _| {
            let members = document.get_mut("members").and_then(Json::items_mut);
            for entry in members.into_iter().flatten() {
                let name = entry.get("name").and_then(Json::as_str);
                let name = name.map(|name| AgentName::found(&name));
                if let Some(activity) = name.and_then(|name| these.get(&name)) {
                    let works = *activity == Activity::Working;
                    entry.set("isActive", Json::from(works), MEMBER_KEYS);
                }
            }
            Ok(())
        })
    }

    /// Takes a teammate off the roster. Its inbox stays: what was said to it is not lost.
    pub fn leave(&self, dir: &TeamDir, name: &AgentName) -> Result<Member, StoreError> {
        self.change(dir, |document, team| {
            let gone = member(team, name)?.clone();
            if team.lead().is_some_and(|lead| lead.name == *name) {
                return Err(StoreError::LeadStays);
            }
            if let Some(members) = document.get_mut("members").and_then(Json::items_mut) {
                members.retain(|entry| !is_named(entry, name));
            }
            Ok(gone)
        })
    }

    /// Deletes a team with its inboxes and tasks. It disappears at once, not file by file.
    pub fn delete(&self, dir: &TeamDir, how: Deletion) -> Result<(), StoreError> {
        let home = self.store.home();
        let mut held = self.enter(dir)?;
        let tasks = self.store.locks().enter_too(&["tasks", dir.as_str()], &held)?;
        sweep(&[home.teams(), home.task_lists()]);
        if how == Deletion::OnlyIfEmpty {
            let team = self.team(dir)?;
            let mut names: Vec<String> = team.teammates().map(|m| m.name.to_string()).collect();
            let entries = self.document(dir)?.get("members").map_or(0, Json::len);
            names.extend(
                (team.members.len()..entries).map(|_| "(an entry without a name)".to_owned()),
            );
            if !names.is_empty() {
                return Err(StoreError::StillMembers { team: team.name.clone(), names });
            }
        } else if !home.team(dir).is_dir() {
            return Err(no_team(dir));
        }
        held.take(&home.config(dir))?;
        // The roster last: while it is there, deleting can be asked for again.
        remove_whole(&tasks, &home.tasks(dir))?;
        remove_whole(&held, &home.team(dir))?;
        self.store.forget_team(dir);
        for domain in ["team", "inbox", "tasks"] {
            self.store.locks().forget(&[domain, dir.as_str()]);
        }
        Ok(())
    }

    fn enter(&self, dir: &TeamDir) -> Result<Held, StoreError> {
        self.store.locks().enter(&["team", dir.as_str()])
    }

    /// Patches a roster inside its locks. A change that leaves the text as it is writes nothing.
    /// A broken roster is left alone: nothing could be written in its place but a guess.
    fn change<T>(
        &self,
        dir: &TeamDir,
        mut patch: impl FnMut(&mut Json, &Team) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let path = self.store.home().config(dir);
        if !path.exists() {
            return Err(no_team(dir));
        }
        files::patiently(|_| {
            let mut held = self.enter(dir)?;
            held.take(&path)?;
            let text = files::read_text(&path, LARGEST)?.ok_or_else(|| no_team(dir))?;
            let broken = |error| StoreError::broken(&path, error);
            let team: Team = json::from_text(&text).map_err(broken)?;
            let mut document = Json::parse(&text).map_err(broken)?;
            let outcome = patch(&mut document, &team)?;
            let changed = document.pretty();
            if changed != text {
                held.replace(&path, changed.as_bytes())?;
            }
            Ok(outcome)
        })
    }
}

fn no_team(dir: &TeamDir) -> StoreError {
    StoreError::NoTeam { name: dir.to_string(), known: Vec::new() }
}

fn is_named(entry: &Json, name: &AgentName) -> bool {
    entry.get("name").and_then(Json::as_str).is_some_and(|text| text == name.as_str())
}

/// A task list's directory with the file that other programs lock it by.
pub(super) fn make_task_dir(dir: &Path) -> Result<(), StoreError> {
    files::make_dir(dir)?;
    let lock = dir.join(".lock");
    if lock.exists() {
        return Ok(());
    }
    // Several may make it at once; it stays empty.
    let made = OpenOptions::new().append(true).create(true).mode(0o600).open(&lock);
    made.map(|_| ()).map_err(|source| StoreError::io("write", &lock, source))
}

/// The visible directories in a directory, by name.
pub(super) fn dirs_in(path: &Path) -> Result<Vec<TeamDir>, StoreError> {
    let unreadable = |source| StoreError::io("read the directory", path, source);
    let mut dirs = Vec::new();
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(dirs),
        outcome => outcome.map_err(unreadable)?,
    };
    for entry in entries {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name();
        if let Some(dir) = name.to_str().and_then(TeamDir::found)
            && entry.path().is_dir()
        {
            dirs.push(dir);
        }
    }
    dirs.sort();
    Ok(dirs)
}

/// Moves a directory out of sight, then removes it. Whoever finds us dead in between goes on.
fn remove_whole(held: &Held, path: &Path) -> Result<(), StoreError> {
    if !path.is_dir() {
        return Ok(());
    }
    let failed = |source| StoreError::io("delete", path, source);
    let hidden = hidden_name(path);
    held.note(&hidden).map_err(failed)?;
    fs::rename(path, &hidden).map_err(failed)?;
    held.secure_names(path)?;
    fs::remove_dir_all(&hidden).map_err(failed)
}

/// Removes what was left of teams whose deletion was interrupted long ago.
fn sweep(dirs: &[PathBuf]) {
    const LONG_AGO: i64 = 60_000;
    for entry in dirs.iter().filter_map(|dir| fs::read_dir(dir).ok()).flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let since = name.strip_prefix('.').and_then(|name| name.rsplit_once(".deleted-"));
        let since = since.and_then(|(_, at)| at.parse::<i64>().ok());
        if since.is_some_and(|at| files::now().millis() - at > LONG_AGO) {
            // Whoever deletes next tries again.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn hidden_name(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.deleted-{}", files::now().millis()))
}
