//! Finding a session again, and taking it up where it was.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use crate::agent::adopt::{self, open_of};
use crate::agent::annals::Annals;
use crate::agent::context::{Agent, Talk};
use crate::agent::office::Office;
use crate::agent::rebuild::rebuild;
use crate::agent::recite::is_of_recipe;
use crate::agent::solo::Solo;
use crate::protocol::ask::{Judge, Verdict};
use crate::protocol::content::ChatMessage;
use crate::protocol::event::Level;
use crate::protocol::ids::{AgentId, SessionId};
use crate::settings::paths::Home;
use crate::store::StoreError;
use crate::store::journal::{is_running, read_after};
use crate::store::transcript::lead_path;

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

/// A session as a list of them shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub id: SessionId,
    pub changed: SystemTime,
    /// What the person said first.
    pub first: String,
    /// Somebody has it open.
    pub is_running: bool,
}

/// So much of a transcript is looked through for what was said first.
const BEGINNING: u64 = 256 * 1024;

/// The sessions of a project with what tells them apart, the newest first.
pub fn listed(home: &Home, project: &Path) -> Vec<Listed> {
    let one = |id: SessionId| {
        let path = lead_path(home, project, &id);
        let changed = fs::metadata(&path).and_then(|about| about.modified()).ok()?;
        let first = first_words(&path).unwrap_or_default();
        Some(Listed { is_running: is_running(&home.journal(&id)), id, changed, first })
    };
    sessions(home, project).into_iter().filter_map(one).collect()
}

/// What was said first in a transcript by a person.
fn first_words(path: &Path) -> Option<String> {
    let mut text = Vec::new();
    fs::File::open(path).ok()?.take(BEGINNING).read_to_end(&mut text).ok()?;
    let text = String::from_utf8_lossy(&text);
    text.lines().find_map(|line| {
        let record: serde_json::Value = serde_json::from_str(line).ok()?;
        let message = record.get("message").filter(|_| record["type"] == "user")?;
        let message: ChatMessage = serde_json::from_value(message.clone()).ok()?;
        let said = message.content.text();
        let said = said.trim();
        // What the program puts before it stands in tags.
        (!said.is_empty() && !said.starts_with('<')).then(|| said.to_owned())
    })
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
        [] => Err(format!("there is no session `{id}` in this directory")),
        _ => Err(format!("`{id}` matches {} sessions; give more of it", matching.len())),
    }
}

/// What those asked who do not go on concerns nobody now.
pub(super) fn withdraw_orphans(office: &Office, crew: &Solo) -> Result<(), StoreError> {
    let team = office.session_team();
    let is_orphan = |asker: &AgentId| asker.team == team && crew.agent(asker).is_none();
    for ask in office.desk.open_asks()?.asks {
        let why = match ask.chain.first().is_some_and(is_orphan) {
            true => Some("the agent that asked has ended"),
            false => is_of_recipe(&ask).then_some("the command that asked is over"),
        };
        if let Some(why) = why.map(str::to_owned) {
            let gone = Verdict::Withdrawn { why };
            if let Err(error) = office.desk.settle(&ask.id, ask.rev, gone, Judge::Asker) {
                tracing::info!(%error, "an ask was settled elsewhere");
            }
        }
    }
    Ok(())
}

/// Takes up the lead's conversation as it was, and everyone who worked for it.
pub(super) async fn take_up(crew: &Arc<Solo>, lead: &Arc<Agent>) -> Result<Talk, StoreError> {
    let office = &crew.office;
    let found = rebuild(&lead_path(office.home(), &office.project, &office.session))?;
    if found.problems.total > 0 {
        let total = found.problems.total;
        lead.notice(Level::Warning, format!("{total} lines of the transcript cannot be read."));
    }
    let events = read_after(office.journal.path(), 0)?.events;
    let mut annals = Annals::of(&events, &lead.cx.me);
    let open = open_of(&found);
    lead.queue.restore(annals.take_unheard(&lead.cx.me, &found));
    let talk = annals.recall(lead, found)?;
    lead.set_said(talk.messages.clone());
    adopt::take_up(crew, lead, open, &mut annals).await;
    Ok(talk)
}
