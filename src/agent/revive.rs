//! Agents that go on: a message reaches one that works, and wakes one that has ended.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::born::{self, Site, Upbringing};
use super::context::{Agent, Talk};
use super::office::Office;
use super::rebuild::{Rebuilt, rebuild_branch};
use super::route::trunks;
use super::solo::Solo;
use super::spawn::{Origin, Ready, bear, make_worktree, may_leave_behind, set_to_work};
use crate::model::request::Conversation;
use crate::protocol::ids::AgentId;
use crate::protocol::op::When;
use crate::store::{StoreError, transcript};
use crate::tools::context::Wish;
use crate::tools::{Call, Output};
use crate::worktree::Worktree;

/// How often, and after which pause, a transcript is tried whose writer is just leaving.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(20);

/// Gives words to an agent: at its next boundary if it works, else it goes on with them from its
/// transcript, in the background where that may be. One at a time, so that nobody goes on twice.
pub async fn pass_on(
    solo: &Solo,
    by: &AgentId,
    call: &Call,
    id: &AgentId,
    words: String,
) -> Output {
    let Some(sender) = solo.agent(by) else {
        return Output::failed("This agent has ended.");
    };
    let alone = solo.revivals.lock().await;
    if solo.queue(id, When::Next, &by.name.to_string(), words.clone()) {
        let text = format!("Message queued for {}; it gets it at its next step.", id.name);
        return Output::text(text).with_summary(format!("to {}", id.name));
    }
    let revived = async {
        let (ready, wish) = revive(solo, &sender, id, words).await?;
        let background = ready.background;
        let at_work = set_to_work(solo, &sender.cx.me, &call.id, ready).await?;
        // It may want to wake somebody itself.
        drop(alone);
        let origin = Origin { use_id: &call.id, stop: &call.stop };
        let started = match background {
            true => at_work.behind(),
            false => at_work.wait(solo, &origin).await?,
        };
        Ok::<Output, String>(started.output(&wish))
    };
    let failed = |why| Output::failed(format!("`{}` cannot be resumed: {why}", id.name));
    revived.await.unwrap_or_else(failed)
}

/// What is known of an agent from beside its transcript.
pub struct Known {
    kind: String,
    description: String,
    pub name: Option<String>,
    model: Option<String>,
    cwd: Option<PathBuf>,
    worktree: Option<String>,
    parent: Option<String>,
    chain_id: Option<String>,
    pub depth: Option<u32>,
}

/// What is known of an agent of this session.
pub fn known_of(office: &Office, id: &AgentId) -> Result<Known, String> {
    let meta = transcript::read_meta(&path_of(office, id)).map_err(|error| error.to_string())?;
    let meta: Value = meta.and_then(|meta| meta.read().ok()).ok_or("there is no record of it")?;
    Ok(known(&meta))
}

pub fn path_of(office: &Office, id: &AgentId) -> PathBuf {
    let own = id.name.to_string();
    transcript::subagent_path(office.home(), &office.project, &office.session, &own)
}

fn known(meta: &Value) -> Known {
    let text = |key: &str| meta.get(key).and_then(Value::as_str).map(str::to_owned);
    let depth = meta.get("spawnDepth").and_then(Value::as_u64);
    Known {
        kind: text("agentType").unwrap_or_default(),
        description: text("description").unwrap_or_default(),
        name: text("name"),
        model: text("model"),
        cwd: text("cwd").map(PathBuf::from).filter(|cwd| cwd.is_dir()),
        worktree: text("worktree"),
        parent: text("parent"),
        chain_id: text("chainId"),
        depth: depth.and_then(|depth| u32::try_from(depth).ok()),
    }
}

/// What an agent that has ended had said and heard, from its transcript.
pub fn conversation(office: &Office, id: &AgentId) -> Result<Conversation, String> {
    let known = known_of(office, id)?;
    let trunks = trunks(office, known.parent.as_deref());
    let found = rebuild_branch(&path_of(office, id), &trunks).map_err(|error| error.to_string())?;
    Ok(Talk::recalled(found, |_| true).messages)
}

async fn revive(
    solo: &Solo,
    sender: &Arc<Agent>,
    id: &AgentId,
    words: String,
) -> Result<(Ready, Wish), String> {
    let known = known_of(&solo.office, id)?;
    let Again { agent, worktree, found } = born_again(solo, sender, id, &known).await?;
    // Whatever it was at when it ended is not taken up again.
    let talk = Talk::recalled(found, |_| true);
    agent.queue.push(When::Next, &sender.cx.me.name.to_string(), words.clone());
    let background = may_leave_behind(solo, sender);
    let wish = Wish {
        description: known.description,
        prompt: words,
        name: known.name.clone(),
        background,
        ..Wish::default()
    };
    let ready = Ready { agent, talk, name: known.name, worktree, background, trunk: None };
    Ok((ready, wish))
}

/// An agent that was there before, with what it had said and heard.
pub struct Again {
    pub agent: Arc<Agent>,
    pub worktree: Option<Worktree>,
    pub found: Rebuilt,
}

/// Puts an agent together again. `other` stands in for a parent that is not there any more.
pub async fn born_again(
    solo: &Solo,
    other: &Arc<Agent>,
    id: &AgentId,
    known: &Known,
) -> Result<Again, String> {
    let office = &solo.office;
    // Whoever it came from, as long as they are there: it is their mode and tools that it has.
    let parent = known.parent.as_deref().and_then(|parent| solo.find(parent));
    let parent = parent.and_then(|parent| solo.agent(&parent)).unwrap_or(Arc::clone(other));
    // All of its last life is over.
    drop(solo.seat(id).await);
    let tree = match &known.worktree {
        Some(slug) => Some(make_worktree(office, &office.project, slug).await?),
        None => None,
    };
    let trunks = trunks(office, known.parent.as_deref());
    let found = rebuild_branch(&path_of(office, id), &trunks).map_err(|error| error.to_string())?;
    let mut tries = TRIES;
    let agent = loop {
        let site = match &tree {
            Some(tree) => Site::Tree(tree),
            None => known.cwd.clone().map_or(Site::Parents, Site::Dir),
        };
        match bear(solo, cradle(solo, &parent, known, id, site)?) {
            Ok(agent) => break agent,
            Err(StoreError::InUse { .. }) if tries > 0 => {
                tries -= 1;
                tokio::time::sleep(PAUSE).await;
            }
            Err(error) => return Err(error.to_string()),
        }
    };
    Ok(Again { agent, worktree: tree, found })
}

fn cradle(
    solo: &Solo,
    parent: &Agent,
    known: &Known,
    id: &AgentId,
    site: Site<'_>,
) -> Result<born::Cradle, String> {
    let office = &solo.office;
    let own = id.name.to_string();
    let mut cradle = match known.kind.as_str() {
        "fork" => born::fork(office, parent, own, known.description.clone(), &site),
        kind => {
            let definition = {
                let definitions =
                    office.definitions.read().unwrap_or_else(std::sync::PoisonError::into_inner);
                definitions.get(kind).cloned()
            };
            let definition =
                definition.ok_or_else(|| format!("its type `{kind}` no longer exists"))?;
            let brain = match &known.model {
                Some(name) => office.brains.named(name).map_err(|error| error.to_string())?,
                None => parent.brain(),
            };
            let up = Upbringing {
                id: own,
                definition: &definition,
                description: known.description.clone(),
                name: known.name.clone(),
                brain,
                site,
                max_turns: None,
            };
            born::subagent(office, parent, up)
        }
    };
    if let Some(chain_id) = &known.chain_id {
        cradle.birth.chain_id.clone_from(chain_id);
    }
    if let Some(depth) = known.depth {
        cradle.birth.depth = depth;
    }
    Ok(cradle)
}
