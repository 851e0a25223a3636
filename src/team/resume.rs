//! A team taken up where it was: its members with their conversations, what they had not read,
//! and what they had asked.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use super::crew::{STATE, Team};
use super::roll::Roll;
use super::spawn::{Chair, Starting, begin};
use crate::agent::annals::Annals;
use crate::agent::context::Agent;
use crate::agent::planning::{PLANNING, Planning};
use crate::agent::rebuild::{mail_in, rebuild};
use crate::agent::spawn::make_worktree;
use crate::permission::view::mode_named;
use crate::protocol::content::Role;
use crate::protocol::event::Level;
use crate::protocol::ids::{AgentId, AgentName, TeamDir};
use crate::protocol::op::{Mode, When};
use crate::protocol::team::Member as Entry;
use crate::store::journal::read_after;
use crate::store::roster::{Backend, NewMember};
use crate::store::transcript::{lead_path, read_meta, subagent_path};
use crate::tools::context::Wish;

/// What is kept beside a teammate's transcript.
struct Past {
    id: String,
    path: PathBuf,
    meta: Value,
    changed: std::time::SystemTime,
}

impl Past {
    fn text(&self, key: &str) -> Option<String> {
        self.meta.get(key).and_then(Value::as_str).map(str::to_owned)
    }
}

/// The newest transcript of a teammate of this name.
fn past(team: &Team, roll: &Roll, name: &AgentName) -> Option<Past> {
    let office = team.office();
    let one = subagent_path(office.home(), &office.project, &office.session, "a");
    let entries = fs::read_dir(one.parent()?).ok()?.filter_map(Result::ok);
    let known = entries.filter_map(|entry| {
        let path = entry.path();
        let id = path.file_name()?.to_str()?.strip_prefix("agent-")?.strip_suffix(".jsonl")?;
        let changed = entry.metadata().ok()?.modified().ok()?;
        let meta: Value = read_meta(&path).ok()??.read().ok()?;
        Some(Past { id: id.to_owned(), path: path.clone(), meta, changed })
    });
    let theirs = known.filter(|past| {
        past.text("name").as_deref() == Some(name.as_str())
            && past.text("teamName").as_deref() == Some(roll.name.as_str())
    });
    theirs.max_by_key(|past| past.changed)
}

/// Takes up the team that the session led, if it led one.
pub async fn take_up(team: &Team, lead: &Arc<Agent>) -> Result<(), String> {
    let office = team.office();
    let noted: Option<Option<String>> =
        office.state().read(STATE).map_err(|error| error.to_string())?;
    let Some(dir) = noted.flatten().and_then(|dir| TeamDir::found(&dir)) else { return Ok(()) };
    let (store, of) = (team.store(), dir.clone());
    let read = tokio::task::spawn_blocking(move || store.rosters().team(&of)).await;
    let roster = match read.map_err(|error| error.to_string())? {
        Ok(roster) => roster,
        Err(error) => {
            lead.notice(Level::Warning, format!("The team of this session is gone: {error}"));
            return Ok(());
        }
    };
    if roster.lead_session_id.as_deref() != Some(office.session.as_str()) {
        let text = format!("The team `{}` has another lead by now.", roster.name);
        lead.notice(Level::Warning, text);
        return Ok(());
    }
    let path = lead_path(office.home(), &office.project, &office.session);
    let known = mail_in(&path).map_err(|error| error.to_string())?;
    let roll = team.open(roster.name.clone(), dir, lead, known).await?;
    let mut annals = annals(team, lead)?;
    let mut told = Vec::new();
    for entry in roster.teammates() {
        if entry.backend_type.as_deref() != Some("in-process") {
            continue;
        }
        match bring_back(team, &roll, lead, entry, &mut annals).await {
            Ok(how) => told.push(format!("{} is back, {how}", entry.name)),
            Err(why) => {
                told.push(format!("{} could not be brought back: {why}", entry.name));
                let (store, dir, gone) = (team.store(), roll.dir.clone(), entry.name.clone());
                let left = tokio::task::spawn_blocking(move || {
                    store.tasks(&dir).unassign(&gone)?;
                    store.rosters().leave(&dir, &gone)
                });
                if let Ok(Err(error)) = left.await {
                    tracing::warn!(%error, "still on the roster");
                }
            }
        }
    }
    if !told.is_empty() {
        let text =
            format!("The team `{}` was interrupted and goes on: {}.", roll.name, told.join("; "));
        lead.notice(Level::Info, text.clone());
        lead.queue.push(When::Later, "system", format!("[{text}]"));
    }
    Ok(())
}

fn annals(team: &Team, lead: &Agent) -> Result<Annals, String> {
    let events = read_after(team.office().journal.path(), 0).map_err(|error| error.to_string())?;
    Ok(Annals::of(&events.events, &lead.cx.me))
}

/// Brings one teammate back and says in which state.
async fn bring_back(
    team: &Team,
    roll: &Arc<Roll>,
    lead: &Arc<Agent>,
    entry: &Entry,
    annals: &mut Annals,
) -> Result<&'static str, String> {
    let past = past(team, roll, &entry.name).ok_or("there is no transcript of it")?;
    let agent_and_tree = reborn(team, roll, lead, entry, &past).await?;
    let (agent, tree) = agent_and_tree;
    let found = rebuild(&past.path).map_err(|error| error.to_string())?;
    agent.queue.restore(annals.take_unheard(&agent.cx.me, &found));
    let talk = annals.recall(&agent, found).map_err(|error| error.to_string())?;
    let unanswered =
        talk.messages.messages().next_back().is_some_and(|last| last.role == Role::User);
    let how = match (talk.pending.uses.is_empty(), unanswered) {
        (false, _) => "with a call that still waits",
        (true, true) => "idle; what it was doing was cut off",
        (true, false) => "idle",
    };
    let known = mail_in(&past.path).map_err(|error| error.to_string())?;
    let start = Starting { use_id: None, description: "", talk, first: None, known };
    begin(team, roll, entry, agent, tree, start);
    Ok(how)
}

async fn reborn(
    team: &Team,
    roll: &Arc<Roll>,
    lead: &Arc<Agent>,
    entry: &Entry,
    past: &Past,
) -> Result<(Arc<Agent>, Option<crate::worktree::Worktree>), String> {
    let office = team.office();
    let kind = past.text("agentType").unwrap_or_default();
    let definition = {
        let known = office.definitions.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        known.get(&kind).cloned()
    };
    let definition =
        definition.ok_or_else(|| format!("its type `{kind}` is not there any more"))?;
    let brain = match past.text("model") {
        Some(model) => office.brains.named(&model).map_err(|error| error.to_string())?,
        None => lead.brain(),
    };
    let tree = match past.text("worktree") {
        Some(slug) => Some(make_worktree(office, &office.project, &slug).await?),
        None => None,
    };
    let mode = past.text("permissionMode").and_then(|mode| mode_named(&mode));
    let chair = Chair {
        id: past.id.clone(),
        entry,
        definition: &definition,
        mode: mode.unwrap_or(Mode::Default),
        tree: tree.as_ref(),
    };
    let agent = chair.bear(team, roll, lead, brain, None).await?;
    if let Some(planning) = past.meta.get(PLANNING) {
        let told = agent.planning().told;
        let kept = serde_json::from_value(planning.clone()).unwrap_or_default();
        *agent.planning() = Planning { told, ..kept };
    }
    Ok((agent, tree))
}

/// Starts a teammate that has left again, from its transcript. `false` where there is none.
pub async fn again(
    team: &Team,
    roll: &Arc<Roll>,
    name: &AgentName,
    wish: &Wish,
) -> Result<bool, String> {
    let Some(past) = past(team, roll, name) else { return Ok(false) };
    let lead = team.lead().ok_or("The session has ended.")?;
    let new = NewMember {
        name: name.clone(),
        agent_type: past.text("agentType").unwrap_or_default(),
        model: past.text("model").unwrap_or_default(),
        prompt: wish.prompt.clone(),
        plan_mode_required: past.text("permissionMode").as_deref() == Some("plan"),
        cwd: past.text("cwd").unwrap_or_default(),
        backend: Backend::InProcess,
    };
    let (store, dir) = (team.store(), roll.dir.clone());
    let joined = tokio::task::spawn_blocking(move || store.rosters().join(&dir, &new)).await;
    let entry = joined.map_err(|e| e.to_string())?.map_err(|error| error.to_string())?;
    let mut annals = annals(team, &lead)?;
    if let Err(why) = bring_back(team, roll, &lead, &entry, &mut annals).await {
        let (store, dir) = (team.store(), roll.dir.clone());
        let left = tokio::task::spawn_blocking(move || store.rosters().leave(&dir, &entry.name));
        if let Ok(Err(error)) = left.await {
            tracing::warn!(%error, "a teammate that never began is on the roster");
        }
        return Err(why);
    }
    let words = match wish.prompt.trim() {
        "" => "Go on where you were.",
        words => words,
    };
    let me = AgentId::new(&entry.name, &roll.name);
    Ok(team.solo.queue(&me, When::Next, "user", words.to_owned()))
}
