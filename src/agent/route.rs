//! Which agent a call of the Agent tool means.

use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use serde_json::Value;

use super::born::agent_id;
use super::context::Agent;
use super::definition::Definition;
use super::office::Office;
use crate::protocol::content::{ChatMessage, Content, Known, Role};
use crate::protocol::ids::AgentId;
use crate::store::transcript::{lead_path, read_meta, subagent_path};

/// What is used when nothing is named and forks are off.
const GENERAL: &str = "general-purpose";

/// The `taskKind` of a teammate, beside its transcript.
pub const TEAMMATE: &str = "in_process_teammate";

/// What kind of agent is started.
#[derive(Debug, Clone)]
pub enum Route {
    Fork,
    Named(Box<Definition>),
}

/// The kind as rules name it, whether it exists or not.
pub fn kind_of(office: &Office, in_fork: bool, wanted: Option<&str>) -> String {
    match wanted {
        Some(name) => {
            // Here and not where it is started: rules are held against what will be started.
            office.follow_definitions();
            let definitions =
                office.definitions.read().unwrap_or_else(std::sync::PoisonError::into_inner);
            definitions.get(name).map_or_else(|| name.to_owned(), |found| found.name.clone())
        }
        None if office.policy.fork || in_fork => "fork".to_owned(),
        None => GENERAL.to_owned(),
    }
}

/// Decides what to start, or says why nothing is. One kind is never started in place of another.
pub fn route(office: &Office, parent: &Agent, wanted: Option<&str>) -> Result<Route, String> {
    may_go_deeper(office, parent)?;
    let Some(name) = wanted.or((!office.policy.fork).then_some(GENERAL)) else {
        return fork_of(office, parent);
    };
    let definitions = office.definitions.read().unwrap_or_else(std::sync::PoisonError::into_inner);
    let Some(found) = definitions.get(name) else {
        let names: Vec<&str> =
            definitions.definitions.iter().map(|one| one.name.as_str()).collect();
        return Err(format!("There is no agent type `{name}`. There are: {}", names.join(", ")));
    };
    let allowed = parent.birth.may_spawn.as_ref();
    if allowed.is_some_and(|kinds| !kinds.iter().any(|kind| kind.eq_ignore_ascii_case(&found.name)))
    {
        return Err(format!("You may not start agents of the type `{}`.", found.name));
    }
    if !office.available(&definitions).iter().any(|one| one.name == found.name) {
        return Err(format!("`{}` needs MCP servers that are not available.", found.name));
    }
    Ok(Route::Named(Box::new(found.clone())))
}

/// A branch of an agent, if it may have one.
pub fn fork_of(office: &Office, parent: &Agent) -> Result<Route, String> {
    may_go_deeper(office, parent)?;
    match is_fork(parent) {
        true => Err("A fork cannot fork: do this work yourself.".to_owned()),
        false => Ok(Route::Fork),
    }
}

/// Agents start agents only so deep.
pub fn may_go_deeper(office: &Office, parent: &Agent) -> Result<(), String> {
    match parent.birth.depth >= office.policy.deepest {
        true => Err(format!(
            "Agents are already nested {} deep, which is the limit: do this work yourself.",
            parent.birth.depth
        )),
        false => Ok(()),
    }
}

/// By how it was born, and by what its conversation says: what a fork is told begins so. Others
/// may well read, or speak of, what forks are told.
fn is_fork(agent: &Agent) -> bool {
    const MARK: &str = "<fork-boilerplate>";
    let marked = |message: &ChatMessage| match &message.content {
        _ if message.role != Role::User => false,
        Content::Text(text) => text.starts_with(MARK),
        Content::Blocks(blocks) => blocks.iter().any(
            |block| matches!(block.meaning(), Some(Known::Text { text }) if text.starts_with(MARK)),
        ),
    };
    agent.birth.is_fork || agent.said().messages().any(marked)
}

/// An agent of this session that has a transcript, by its id or by the name it was given. Of
/// several with one name it is the one that worked last.
pub fn on_disk(office: &Office, to: &str) -> Option<AgentId> {
    let to = to.split('@').next().unwrap_or(to);
    let mut known: Vec<Past> = past(office);
    if known.iter().any(|one| one.id == to) {
        return Some(agent_id(office, to));
    }
    known.retain(|one| one.name.as_deref() == Some(to));
    known.into_iter().max_by_key(|one| one.changed).map(|one| agent_id(office, &one.id))
}

/// An agent that worked in this session at some time.
pub struct Past {
    pub id: String,
    pub name: Option<String>,
    changed: SystemTime,
}

/// Everyone who has a transcript in this session, but for teammates: only their team can bring
/// those back.
pub fn past(office: &Office) -> Vec<Past> {
    let one = subagent_path(office.home(), &office.project, &office.session, "a");
    let Some(Ok(entries)) = one.parent().map(fs::read_dir) else { return Vec::new() };
    let known = |path: PathBuf| {
        let id = path.file_name()?.to_str()?.strip_prefix("agent-")?.strip_suffix(".jsonl")?;
        let changed = fs::metadata(&path).and_then(|about| about.modified()).ok()?;
        let meta: Option<Value> = read_meta(&path).ok().flatten().and_then(|it| it.read().ok());
        let text = |key: &str| meta.as_ref()?.get(key).and_then(Value::as_str);
        let is_teammate = text("taskKind") == Some(TEAMMATE);
        let name = text("name").map(str::to_owned);
        (!is_teammate).then(|| Past { id: id.to_owned(), name, changed })
    };
    entries.filter_map(Result::ok).filter_map(|entry| known(entry.path())).collect()
}

/// The transcripts that the conversation of a fork may have begun in, the nearest first.
pub fn trunks(office: &Office, parent: Option<&str>) -> Vec<PathBuf> {
    let lead = lead_path(office.home(), &office.project, &office.session);
    let of = |id: &str| subagent_path(office.home(), &office.project, &office.session, id);
    parent.map(of).into_iter().chain([lead]).collect()
}
