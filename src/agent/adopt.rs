//! Agents of an earlier process that go on in this one: those that were at work when the program
//! ended are taken up from their transcripts, with what they asked still open. Whoever cannot go
//! on is reported as killed, once, with what it had said.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::json;

use super::annals::{Annals, Past};
use super::born::child_mode;
use super::context::Agent;
use super::rebuild::{Rebuilt, rebuild};
use super::report::last_words;
use super::revive::{Again, Known, born_again, known_of, path_of};
use super::solo::Solo;
use super::spawn::{AtWork, Origin, Ready, Started, output_path, set_to_work};
use crate::protocol::event::Fact;
use crate::protocol::ids::AgentId;
use crate::tools::context::{Note, NoteStatus, Wish};
use crate::tools::{Call, Crew, Output};

/// What calls of the Agent tool that were open when the program ended wait for.
#[derive(Default)]
pub struct Adoptions(Mutex<HashMap<(AgentId, String), Adopted>>);

pub enum Adopted {
    /// It works; its caller waits for it, unless it works in the background.
    AtWork { at_work: Box<AtWork>, background: bool },
    /// It worked in the background and has ended.
    Behind { id: String, output: PathBuf },
    /// It had ended with these words.
    Ended { id: String, said: String },
    /// It cannot go on, for this reason and after these words.
    Gone(String),
}

impl Adoptions {
    pub fn has(&self, by: &AgentId, use_id: &str) -> bool {
        self.all().contains_key(&(by.clone(), use_id.to_owned()))
    }

    pub fn take(&self, by: &AgentId, use_id: &str) -> Option<Adopted> {
        self.all().remove(&(by.clone(), use_id.to_owned()))
    }

    fn put(&self, by: &AgentId, use_id: &str, adopted: Adopted) {
        self.all().insert((by.clone(), use_id.to_owned()), adopted);
    }

    fn all(&self) -> MutexGuard<'_, HashMap<(AgentId, String), Adopted>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Adopted {
    /// What the call answers that the agent was started with.
    pub async fn output(self, solo: &Solo, call: &Call, wish: &Wish) -> Output {
        let started: Result<Started, String> = match self {
            Self::Ended { id, said } => {
                let data = json!({ "status": "completed", "agentId": id, "prompt": wish.prompt,
                    "content": [{ "type": "text", "text": said }] });
                return Output::text(said).with_data(data);
            }
            Self::Gone(why) => Err(why),
            Self::Behind { id, output } => Ok(Started::Behind { id, output }),
            Self::AtWork { at_work, background: true } => Ok(at_work.behind()),
            Self::AtWork { at_work, background: false } => {
                at_work.wait(solo, &Origin { use_id: &call.id, stop: &call.stop }).await
            }
        };
        started.map_or_else(Output::failed, |started| started.output(wish))
    }
}

/// One who will go on, before it does.
struct Next {
    past: Past,
    /// Whether a call of its parent is still open for it.
    is_awaited: bool,
    ready: Ready,
}

/// Takes up everyone who was at work when the program ended; `lead` is there already, and `open`
/// are its open calls. Nobody begins before all are there and those below it have begun.
pub async fn take_up(solo: &Arc<Solo>, lead: &Arc<Agent>, open: Vec<String>, annals: &mut Annals) {
    let mut open = OpenCalls(HashMap::from([(lead.cx.me.clone(), open)]));
    let mut coming = Vec::new();
    for (past, known) in in_order(solo, annals) {
        let is_awaited = open.awaits(&past);
        match get_ready(solo, lead, annals, &past, known).await {
            Ok((mut ready, calls)) => {
                ready.background = past.about.background || !is_awaited;
                open.0.insert(past.id.clone(), calls);
                solo.enter(&ready.agent, ready.name.as_deref());
                coming.push(Next { past, is_awaited, ready });
            }
            Err(why) => give_up(solo, &past, is_awaited, &why),
        }
    }
    let ended: Vec<(Past, String)> =
        annals.ended().map(|(past, status)| (past.clone(), status.to_owned())).collect();
    for (past, status) in ended {
        hand_in(solo, &past, &status, open.awaits(&past));
    }
    // The deepest first: whoever begins finds those it waits for at work.
    for next in coming.into_iter().rev() {
        set_going(solo, lead, next).await;
    }
}

/// The calls without a result, by whose they are.
struct OpenCalls(HashMap<AgentId, Vec<String>>);

impl OpenCalls {
    /// Whether a call of its parent is open for this agent.
    fn awaits(&self, past: &Past) -> bool {
        let (parent, use_id) = (past.about.parent.as_ref(), past.about.use_id.as_ref());
        let open = parent.and_then(|parent| self.0.get(parent));
        open.is_some_and(|open| use_id.is_some_and(|use_id| open.contains(use_id)))
    }
}

/// Parents before those they started.
fn in_order(solo: &Solo, annals: &Annals) -> Vec<(Past, Result<Known, String>)> {
    let team = solo.office.session_team();
    let ours = annals.cut_off().filter(|one| one.id.team == *team.as_str());
    let mut all: Vec<_> = ours.map(|one| (one.clone(), known_of(&solo.office, &one.id))).collect();
    all.sort_by_key(|(_, known)| known.as_ref().ok().and_then(|known| known.depth));
    all
}

/// Puts an agent together from its transcript; its open calls come with it.
async fn get_ready(
    solo: &Arc<Solo>,
    lead: &Arc<Agent>,
    annals: &mut Annals,
    past: &Past,
    known: Result<Known, String>,
) -> Result<(Ready, Vec<String>), String> {
    let known = known?;
    let Again { agent, worktree, found } = born_again(solo, lead, &past.id, &known).await?;
    if found.messages.is_empty() {
        return Err("it had not started".to_owned());
    }
    if !agent.birth.is_fork {
        let parent = past.about.parent.as_ref().and_then(|parent| solo.agent(parent));
        let mode = child_mode(parent.as_ref().unwrap_or(lead).mode(), Some(past.mode));
        if mode != agent.mode() {
            agent.set_mode(mode);
        }
    }
    let open = open_of(&found);
    agent.queue.restore(annals.take_unheard(&past.id, &found));
    let talk = annals.recall(&agent, found).map_err(|error| error.to_string())?;
    agent.set_said(talk.messages.clone());
    let ready = Ready { agent, talk, name: known.name, worktree, background: true, trunk: None };
    Ok((ready, open))
}

/// The calls that have no result.
pub fn open_of(found: &Rebuilt) -> Vec<String> {
    found.open.iter().map(|wanted| wanted.id.clone()).collect()
}

async fn set_going(solo: &Arc<Solo>, lead: &Arc<Agent>, next: Next) {
    let Next { past, is_awaited, ready } = next;
    let owner = past.about.parent.clone().unwrap_or_else(|| lead.cx.me.clone());
    let use_id = past.about.use_id.clone().unwrap_or_default();
    let background = ready.background;
    match set_to_work(solo, &owner, &use_id, ready).await {
        Ok(at_work) if is_awaited => {
            let at_work = Box::new(at_work);
            solo.adopted.put(&owner, &use_id, Adopted::AtWork { at_work, background });
        }
        Ok(_) => {}
        Err(why) => {
            solo.leave(&past.id);
            give_up(solo, &past, is_awaited, &why);
        }
    }
}

/// Tells whoever waits for an agent that it is lost.
fn give_up(solo: &Solo, past: &Past, is_awaited: bool, why: &str) {
    let why = format!("it was cut off when the program ended, and cannot be resumed: {why}");
    if is_awaited {
        answer(solo, past, Err(&why));
    } else {
        note(solo, past, NoteStatus::Killed, &format!(": {why}"));
    }
    let ended = Fact::AgentEnded { status: "killed".to_owned(), why };
    solo.office.journal.emit(Some(&past.id), ended);
}

/// Hands in what an agent came to that had ended, if the program ended before anybody heard of it.
fn hand_in(solo: &Solo, past: &Past, status: &str, is_awaited: bool) {
    let background = past.about.background;
    if background && !past.told {
        let status = match status {
            "completed" => NoteStatus::Completed,
            "failed" => NoteStatus::Failed,
            _ => NoteStatus::Killed,
        };
        note(solo, past, status, "");
    }
    match (is_awaited, background) {
        (true, true) => {
            let id = past.id.name.to_string();
            let output = output_path(solo, &id).unwrap_or_default();
            put(solo, past, Adopted::Behind { id, output });
        }
        (true, false) if status == "completed" => answer(solo, past, Ok(())),
        (true, false) => answer(solo, past, Err(&format!("it {status}"))),
        (false, _) => {}
    }
}

/// What an agent had said last.
fn words_of(solo: &Solo, past: &Past) -> Option<String> {
    let found = rebuild(&path_of(&solo.office, &past.id)).ok()?;
    Some(last_words(found.messages.iter())).filter(|said| !said.is_empty())
}

fn put(solo: &Solo, past: &Past, adopted: Adopted) {
    if let (Some(owner), Some(use_id)) = (&past.about.parent, &past.about.use_id) {
        solo.adopted.put(owner, use_id, adopted);
    }
}

/// The result for the call that waits for an agent.
fn answer(solo: &Solo, past: &Past, end: Result<(), &str>) {
    let said = words_of(solo, past).unwrap_or_default();
    let text = match end {
        Ok(()) => {
            let id = past.id.name.to_string();
            return put(solo, past, Adopted::Ended { id, said });
        }
        Err(why) if said.is_empty() => format!("The agent did not finish: {why}"),
        Err(why) => format!("The agent did not finish: {why}\nIt had said:\n\n{said}"),
    };
    put(solo, past, Adopted::Gone(text));
}

/// A note on the end of an agent that worked in the background.
fn note(solo: &Solo, past: &Past, status: NoteStatus, why: &str) {
    let (id, about) = (&past.id, &past.about);
    let note = Note {
        task: id.name.to_string(),
        use_id: about.use_id.clone().unwrap_or_default(),
        output: output_path(solo, id.name.as_str()).unwrap_or_default(),
        status,
        summary: format!("Agent \"{}\" {}{why}", about.description, status.as_str()),
        result: words_of(solo, past),
        usage: None,
    };
    let owner = about.parent.clone().unwrap_or_else(|| solo.office.lead());
    solo.notify(&owner, note);
}
