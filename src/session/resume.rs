//! Finding a session again, and taking it up where it was.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use serde_json::Value;

use crate::agent::context::{Agent, Talk};
use crate::agent::office::Office;
use crate::agent::rebuild::{LOST, rebuild};
use crate::protocol::ask::{Judge, Verdict};
use crate::protocol::content::{Block, ChatMessage};
use crate::protocol::event::{Fact, Level};
use crate::protocol::ids::{AgentId, SessionId};
use crate::settings::paths::Home;
use crate::store::StoreError;
use crate::store::journal::read_after;
use crate::store::transcript::lead_path;
use crate::tools::Use;
use crate::tools::ask_user::NAME as ASK_USER;
use crate::tools::call::Started;

/// The sessions of a project, the newest first.
pub fn sessions(home: &Home, project: &Path) -> Vec<SessionId> {
    let Ok(entries) = fs::read_dir(home.project(project)) else { return Vec::new() };
    let mut found: Vec<(SystemTime, SessionId)> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            let id = name.strip_suffix(".jsonl")?.to_owned();
            let changed = entry.metadata().ok()?.modified().ok()?;
            Some((changed, SessionId::found(&id)))
        })
        .collect();
    found.sort_by(|one, two| two.0.cmp(&one.0).then_with(|| one.1.as_str().cmp(two.1.as_str())));
    found.into_iter().map(|(_, id)| id).collect()
}

/// The session that an id, or the beginning of one, names.
pub fn named(home: &Home, project: &Path, id: &str) -> Result<SessionId, String> {
    if fs::metadata(lead_path(home, project, &SessionId::found(id))).is_ok() {
        return Ok(SessionId::found(id));
    }
    let matching: Vec<SessionId> = sessions(home, project)
        .into_iter()
        .filter(|session| !id.is_empty() && session.as_str().starts_with(id))
        .collect();
    match matching.as_slice() {
        [session] => Ok(session.clone()),
        [] => Err(format!("there is no session `{id}` of this directory")),
        _ => Err(format!("`{id}` could be any of {} sessions; write more of it", matching.len())),
    }
}

/// Agents that the lead started ended with the program, and what they asked concerns nobody now.
pub(super) fn withdraw_orphans(office: &Office, lead: &Agent) -> Result<(), StoreError> {
    let me = &lead.cx.me;
    let is_orphan = |asker: &AgentId| asker != me && asker.team == me.team;
    for ask in office.desk.open_asks()?.asks {
        if ask.chain.first().is_some_and(is_orphan) {
            let why = "the agent that asked has ended".to_owned();
            let gone = Verdict::Withdrawn { why };
            if let Err(error) = office.desk.settle(&ask.id, ask.rev, gone, Judge::Asker) {
                tracing::info!(%error, "an ask was settled elsewhere");
            }
        }
    }
    Ok(())
}

/// The conversation as it was. Calls that began are lost; those that did not are made now.
pub(super) fn recall(office: &Office, lead: &Agent) -> Result<Talk, StoreError> {
    let path = lead_path(office.home(), &office.project, &office.session);
    let found = rebuild(&path)?;
    if found.problems.total > 0 {
        let total = found.problems.total;
        lead.notice(Level::Warning, format!("{total} lines of the transcript cannot be read."));
    }
    let events = read_after(office.journal.path(), 0)?.events;
    let started = Started::from_events(&events);
    // A question to the person changes nothing: it is put again, and finds its answer.
    let began =
        |wanted: &Use| wanted.tool != ASK_USER && started.fate(&lead.cx.me, &wanted.id).is_some();
    // From now on the transcript says it, too.
    for lost in found.open.iter().filter(|wanted| began(wanted)) {
        let block = Block::tool_error(&lost.id, LOST);
        lead.recorder.result(&block, &Value::Null, "")?;
        let message = ChatMessage::results(vec![block]);
        lead.tell(Fact::Heard { from: "tools".to_owned(), message, queued: vec![] });
    }
    Ok(Talk::recalled(found, began))
}
