//! `quarterdeck team …`

use std::env;
use std::path::Path;

use serde_json::json;
use uuid::Uuid;

use super::args::{Join, TeamCommand};
use super::failure::Failure;
use super::out::{Out, table};
use super::printable::one_line;
use crate::protocol::ids::{AgentName, SessionId, TaskId, TeamName};
use crate::protocol::json::Json;
use crate::protocol::message::{Body, Message};
use crate::protocol::task::id_list;
use crate::protocol::team::Member;
use crate::protocol::time::Stamp;
use crate::store::mailbox::{self, Inbox};
use crate::store::roster::{self, Backend, Deletion, NewMember, NewTeam};
use crate::store::{Problem, Store, StoreError};

pub fn run(store: &Store, command: TeamCommand, out: &mut Out) -> Result<(), Failure> {
    match command {
        TeamCommand::Create { name, description, cwd, model } => {
            let new = NewTeam {
                name: TeamName::new(&name)?,
                description,
                lead_type: None,
                model,
                cwd: directory(cwd.as_deref())?,
                session: SessionId::found(&Uuid::new_v4().to_string()),
                tasks: None,
            };
            create(store, &new, out)
        }
        TeamCommand::List => list(store, out),
        TeamCommand::Show { name } => show(store, &name, out),
        TeamCommand::Status { name } => super::status::run(store, &name, out),
        TeamCommand::Delete { name, force } => {
            let how = if force { Deletion::Forced } else { Deletion::OnlyIfEmpty };
            let dir = store.rosters().find(&name)?;
            store.rosters().delete(&dir, how)?;
            out.answer(&json!({ "deleted": dir }), || format!("Deleted team {name}"))
        }
        TeamCommand::Join(new) => join(store, &new, out),
        TeamCommand::Leave { team, agent } => leave(store, &team, &agent, out),
    }
}

fn create(store: &Store, new: &NewTeam, out: &mut Out) -> Result<(), Failure> {
    let (dir, team) = store.rosters().create(new)?;
    let path = store.home().config(&dir);
    let value = json!({
        "name": team.name,
        "dir": dir,
        "path": path.to_string_lossy(),
        "leadAgentId": team.lead_agent_id,
        "leadSessionId": team.lead_session_id,
    });
    out.answer(&value, || {
        format!("Created team {} in {}", team.name, store.home().team(&dir).display())
    })
}

fn list(store: &Store, out: &mut Out) -> Result<(), Failure> {
    let all = store.rosters().list()?;
    out.problems(&all.problems);
    let mut values = Vec::new();
    let mut rows = vec![["TEAM", "MEMBERS", "TASKS OPEN", "CREATED"].map(str::to_owned)];
    for (dir, team) in &all.teams {
        let counted = store.tasks(dir).look(|tasks| {
            let shown = || tasks.iter().filter(|task| !task.is_internal());
            (shown().filter(|task| task.is_open()).count(), shown().count())
        });
        let (open, total) = counted.unwrap_or_else(|error| {
            out.problems(&[error.problem_of(&store.home().tasks(dir))]);
            (0, 0)
        });
        let created = Stamp::from_millis(team.created_at).to_string();
        values.push(json!({
            "name": team.name,
            "dir": dir,
            "description": team.description,
            "createdAt": team.created_at,
            "members": team.names(),
            "tasks": { "open": open, "total": total },
        }));
        let members = team.members.len().to_string();
        rows.push([team.name.to_string(), members, format!("{open} of {total}"), created]);
    }
    out.answer(&values, || match values.is_empty() {
        true => format!("No teams in {}", store.home().root().display()),
        false => table(&rows),
    })
}

fn show(store: &Store, name: &str, out: &mut Out) -> Result<(), Failure> {
    let dir = store.rosters().find(name)?;
    let team = store.rosters().team(&dir)?;
    let document = store.rosters().document(&dir)?;
    let unnamed = document.get("members").map_or(0, Json::len) - team.members.len();
    if unnamed > 0 {
        let what = format!("{unnamed} member(s) could not be read");
        out.problems(&[Problem::new(&store.home().config(&dir), what)]);
    }
    let mut rows = vec![["NAME", "TYPE", "MODEL", "COLOUR", "STATE", "UNREAD"].map(str::to_owned)];
    for member in &team.members {
        let inbox = store.mail(&dir).read(&member.name).unwrap_or_else(|error| {
            out.problems(&[error.problem_of(&store.home().inbox(&dir, &member.name))]);
            Inbox::default()
        });
        out.many_problems(&inbox.problems);
        rows.push(row(member, inbox.unread().count()));
    }
    out.document(&document, || {
        let description = team.description.as_ref().map(|text| format!("{}\n", one_line(text)));
        let session = one_line(team.lead_session_id.as_deref().unwrap_or("none known"));
        format!(
            "{}\n{}created {}, session {session}\n\n{}",
            one_line(team.name.as_str()),
            description.unwrap_or_default(),
            Stamp::from_millis(team.created_at),
            table(&rows),
        )
    })
}

fn row(member: &Member, unread: usize) -> [String; 6] {
    let text = |field: &Option<String>| match field.as_deref() {
        None | Some("") => "–".to_owned(),
        Some(text) => text.to_owned(),
    };
    let state = match member.is_active {
        Some(true) => "working",
        Some(false) => "idle",
        None => "–",
    };
    [
        member.name.to_string(),
        text(&member.agent_type),
        text(&member.model),
        text(&member.color),
        state.to_owned(),
        unread.to_string(),
    ]
}

fn join(store: &Store, join: &Join, out: &mut Out) -> Result<(), Failure> {
    let dir = store.rosters().find(&join.team)?;
    let wanted = AgentName::new(&join.agent)?;
    if let Some(kind) = join.prompt.as_deref().and_then(Body::forged_type) {
        return Err(StoreError::Forged(kind).into());
    }
    let new = NewMember {
        name: wanted.clone(),
        agent_type: join.kind.clone(),
        model: join.model.clone().unwrap_or_default(),
        prompt: join.prompt.clone().unwrap_or_default(),
        plan_mode_required: false,
        cwd: directory(join.cwd.as_deref())?,
        // Whatever speaks for it does so through these commands, from a process of its own.
        backend: Backend::Subprocess,
    };
    let member = store.rosters().join(&dir, &new)?;
    if let Some(prompt) = join.prompt.as_ref().filter(|prompt| !prompt.trim().is_empty()) {
        let first = Message::new(&AgentName::lead(), prompt, mailbox::stamp());
        store.mail(&dir).send(&member.name, first)?;
    }
    out.answer(&member, || {
        let color = member.color.as_deref().unwrap_or_default();
        let joined = format!("{} joined as {} ({color})", member.name, member.agent_id);
        match member.name == wanted {
            true => joined,
            false => format!("{wanted} is taken; {joined}"),
        }
    })
}

fn leave(store: &Store, team: &str, agent: &str, out: &mut Out) -> Result<(), Failure> {
    let dir = store.rosters().find(team)?;
    let name = AgentName::found(agent);
    let roster = store.rosters().team(&dir)?;
    roster::member(&roster, &name)?;
    if roster.lead().is_some_and(|lead| lead.name == name) {
        return Err(StoreError::LeadStays.into());
    }
    // Before it leaves: if we die in between, leaving can be asked for again. And after, since
    // it may have claimed one more.
    let mut released = store.tasks(&dir).unassign(&name)?;
    let gone = store.rosters().leave(&dir, &name)?;
    released.extend(store.tasks(&dir).unassign(&name)?);
    let ids: Vec<&TaskId> = released.iter().map(|task| &task.id).collect();
    out.answer(&json!({ "left": gone.name, "released": ids }), || match ids.is_empty() {
        true => format!("{} left {team}", gone.name),
        false => format!("{} left {team}; released: {}", gone.name, id_list(ids.iter().copied())),
    })
}

/// The directory that somebody works in, absolute.
fn directory(given: Option<&Path>) -> Result<String, Failure> {
    let here = env::current_dir()?;
    let path = given.map_or_else(|| here.clone(), |dir| here.join(dir));
    Ok(path.to_string_lossy().into_owned())
}
