//! A team taken up where it was: its members with their conversations, what they had not read,
//! and what they had asked.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use super::crew::{STATE, Team};
use super::roll::Roll;
use super::shutdown::{self, Standing};
use super::spawn::{Chair, MAX_TURNS, Starting, begin};
use crate::agent::annals::Annals;
use crate::agent::context::Agent;
use crate::agent::planning::{PLANNING, Planning};
use crate::agent::rebuild::{mail_in, rebuild};
use crate::agent::spawn::make_worktree;
use crate::permission::view::mode_named;
use crate::protocol::content::Role;
use crate::protocol::event::{Fact, Level};
use crate::protocol::ids::{AgentId, AgentName, TaskId, TeamDir};
use crate::protocol::op::{Mode, When};
use crate::protocol::task::{Status, Task};
use crate::protocol::team::Member as Entry;
use crate::store::StoreError;
use crate::store::journal::read_after;
use crate::store::roster::{Backend, NewMember};
use crate::store::transcript::{lead_path, read_meta, subagent_path};
use crate::tools::context::Wish;

/// The backend of those who live in the process of their lead.
const IN_PROCESS: &str = "in-process";

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
            withdraw(team, |asker| asker.team != office.session_team()).await;
            lead.notice(Level::Warning, format!("The team of this session is gone: {error}"));
            return Ok(());
        }
    };
    if roster.lead_session_id.as_deref() != Some(office.session.as_str()) {
        let text = format!("The team `{}` now has another lead.", roster.name);
        lead.notice(Level::Warning, text);
        return Ok(());
    }
    let path = lead_path(office.home(), &office.project, &office.session);
    let known = mail_in(&path).map_err(|error| error.to_string())?;
    shutdown::withdraw_questions(team).await;
    let roll = team.open(roster.name.clone(), dir, lead, known).await?;
    let mut annals = annals(team, lead)?;
    let mut told = Vec::new();
    for entry in roster.teammates() {
        if entry.backend_type.as_deref() != Some(IN_PROCESS) {
            continue;
        }
        let name = &entry.name;
        let standing = shutdown::standing(team, &roll, name).await?;
        let back = match &standing {
            Standing::Agreed => Err("had agreed to end, and has left".to_owned()),
            Standing::Stays | Standing::Asked(_) => {
                let back = bring_back(team, &roll, lead, entry, &mut annals, standing).await;
                back.map_err(|why| format!("could not be brought back: {why}"))
            }
        };
        match back {
            Ok(how) => told.push(format!("{name} is back, {how}")),
            Err(why) => {
                told.push(format!("{name} {why}"));
                see_off(team, &roll, entry).await;
            }
        }
    }
    let there = |asker: &AgentId| {
        let entry = roster.member(&asker.name);
        entry.is_some_and(|entry| entry.backend_type.as_deref() != Some(IN_PROCESS))
    };
    withdraw(team, |asker| asker.team == *roll.name.as_str() && !there(asker)).await;
    if !told.is_empty() {
        let text =
            format!("The team `{}` was interrupted and continues: {}.", roll.name, told.join("; "));
        lead.notice(Level::Info, text.clone());
        lead.queue.push(When::Later, "system", format!("[{text}]"));
    }
    Ok(())
}

/// Takes off the roster whoever is not there, and tells that they have left.
async fn see_off(team: &Team, roll: &Roll, entry: &Entry) {
    let (store, dir, gone) = (team.store(), roll.dir.clone(), entry.name.clone());
    let left = tokio::task::spawn_blocking(move || {
        let released = store.tasks(&dir).unassign(&gone)?;
        store.rosters().leave(&dir, &gone)?;
        Ok::<_, StoreError>(released)
    });
    let (journal, id) = (&team.office().journal, AgentId::new(&entry.name, &roll.name));
    match left.await {
        Ok(Ok(released)) => {
            for task in released {
                journal.emit(Some(&id), Fact::TaskChanged { task });
            }
            journal.emit(Some(&id), Fact::MemberLeft { name: entry.name.clone() });
        }
        Ok(Err(error)) => tracing::warn!(%error, "still on the roster"),
        Err(error) => tracing::warn!(%error, "still on the roster"),
    }
}

/// Takes back what those asked who are not there any more.
async fn withdraw(team: &Team, whose: impl Fn(&AgentId) -> bool) {
    let desk = Arc::clone(&team.office().desk);
    let open = tokio::task::spawn_blocking(move || desk.open_asks()).await;
    let Ok(Ok(open)) = open else { return };
    for ask in open.asks {
        let is_orphan = |asker: &AgentId| {
            team.solo.agent(asker).is_none() && !asker.name.is_lead() && whose(asker)
        };
        if !ask.chain.first().is_some_and(is_orphan) {
            continue;
        }
        team.withdraw(ask.id, "the agent that asked has ended").await;
    }
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
    standing: Standing,
) -> Result<String, String> {
    let past = past(team, roll, &entry.name).ok_or("there is no transcript of it")?;
    let agent_and_tree = reborn(team, roll, lead, entry, &past).await?;
    let (agent, tree) = agent_and_tree;
    let found = rebuild(&past.path).map_err(|error| error.to_string())?;
    agent.queue.restore(annals.take_unheard(&agent.cx.me, &found));
    let talk = annals.recall(&agent, found).map_err(|error| error.to_string())?;
    let unanswered =
        talk.messages.messages().next_back().is_some_and(|last| last.role == Role::User);
    let how = match (talk.pending.uses.is_empty(), talk.held, unanswered) {
        (false, _, _) => "with a call that still waits",
        (true, true, _) => "with its question whether it may go on",
        (true, false, true) => "idle; what it was doing was cut off",
        (true, false, false) => "idle",
    };
    let mut how = how.to_owned();
    let known = mail_in(&past.path).map_err(|error| error.to_string())?;
    let task = begun_task(team, roll, &entry.name).await;
    if let Some(task) = &task {
        how.push_str(&format!("; task #{task} is still in progress"));
    }
    let asked = match standing {
        Standing::Asked(id) => {
            how.push_str("; it was asked to end");
            Some(shutdown::expect(roll, &entry.name, id))
        }
        Standing::Stays | Standing::Agreed => None,
    };
    let start = Starting { use_id: None, description: "", talk, first: None, known, task };
    begin(team, roll, entry, agent, tree, start);
    if let (Some(answered), Some(member)) = (asked, roll.member(&entry.name)) {
        shutdown::watch(team, roll, &member, answered);
    }
    Ok(how)
}

/// The task that a teammate had begun and not finished.
async fn begun_task(team: &Team, roll: &Roll, name: &AgentName) -> Option<TaskId> {
    let (store, dir, name) = (team.store(), roll.dir.clone(), name.clone());
    let found = tokio::task::spawn_blocking(move || {
        store.tasks(&dir).look(|tasks| {
            let is_its_own =
                |task: &&Task| task.status == Status::InProgress && task.owner() == Some(&name);
            tasks.iter().find(is_its_own).map(|task| task.id.clone())
        })
    });
    found.await.ok()?.ok()?
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
    let definition = definition.ok_or_else(|| format!("its type `{kind}` no longer exists"))?;
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
    let rounds = past.meta.get(MAX_TURNS).and_then(Value::as_u64);
    let rounds = rounds.and_then(|rounds| u32::try_from(rounds).ok());
    let agent = chair.bear(team, roll, lead, brain, rounds).await?;
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
    let _in_turn = team.joining.lock().await;
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
    let back = bring_back(team, roll, &lead, &entry, &mut annals, Standing::Stays).await;
    if let Err(why) = back {
        let (store, dir) = (team.store(), roll.dir.clone());
        let left = tokio::task::spawn_blocking(move || store.rosters().leave(&dir, &entry.name));
        if let Ok(Err(error)) = left.await {
            tracing::warn!(%error, "a teammate that never began is on the roster");
        }
        return Err(why);
    }
    let words = match wish.prompt.trim() {
        "" => "Continue where you left off.",
        words => words,
    };
    let me = AgentId::new(&entry.name, &roll.name);
    Ok(team.solo.queue(&me, When::Next, "user", words.to_owned()))
}
