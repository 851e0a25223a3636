//! The crew of a session without a team: one lead, and the agents that it and they start.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use futures::StreamExt;
use futures::future::BoxFuture;
use tokio::sync::OwnedMutexGuard;

use super::adopt::Adoptions;
use super::context::Agent;
use super::notes::notification;
use super::office::Office;
use super::{revive, route, spawn};
use crate::model::request::{
    Caller, Conversation, Prefix, Purpose, Request, Sampling, Thinking, ToolChoice,
};
use crate::model::{Chunk, Stop};
use crate::protocol::content::{ChatMessage, Known};
use crate::protocol::event::Fact;
use crate::protocol::ids::{AgentId, AgentName, MessageId, TeamDir};
use crate::protocol::message::Message;
use crate::protocol::op::When;
use crate::protocol::task::Task;
use crate::tools::context::{Lent, Letter, LetterKind, Wish};
use crate::tools::{Call, Crew, Note, Output, Place};

pub struct Solo {
    pub office: Arc<Office>,
    own: Weak<Self>,
    /// The crew that agents are given: a team where there can be one, else this one.
    outer: OnceLock<Weak<dyn Crew>>,
    people: Mutex<People>,
    /// Held while an agent that has ended is woken.
    pub revivals: tokio::sync::Mutex<()>,
    /// Agents of an earlier process that the calls of theirs who go on still wait for.
    pub adopted: Adoptions,
}

/// Whose words news of background work are.
pub const NEWS: &str = "task";

/// Who is there, and by which names.
#[derive(Default)]
struct People {
    agents: HashMap<AgentId, Arc<Agent>>,
    names: HashMap<String, AgentId>,
    /// Taken by an agent from its first to its very last act.
    seats: HashMap<AgentId, Arc<tokio::sync::Mutex<()>>>,
}

impl Solo {
    pub fn new(office: Arc<Office>) -> Arc<Self> {
        Arc::new_cyclic(|own| Self {
            office,
            own: own.clone(),
            outer: OnceLock::new(),
            people: Mutex::default(),
            revivals: tokio::sync::Mutex::default(),
            adopted: Adoptions::default(),
        })
    }

    /// Itself, for those who outlive the call.
    pub fn own(&self) -> Option<Arc<Self>> {
        self.own.upgrade()
    }

    /// Has agents reach each other through `crew` from now on.
    pub fn work_for(&self, crew: Weak<dyn Crew>) {
        // Whoever asks twice asks for the same.
        let _ = self.outer.set(crew);
    }

    /// The crew as its agents see it.
    pub fn crew(&self) -> Option<Arc<dyn Crew>> {
        match self.outer.get() {
            Some(outer) => outer.upgrade(),
            None => self.own().map(|own| own as Arc<dyn Crew>),
        }
    }

    pub fn enter(&self, agent: &Arc<Agent>, name: Option<&str>) {
        let mut people = self.people();
        let id = agent.cx.me.clone();
        if let Some(name) = name {
            people.names.insert(name.to_owned(), id.clone());
        }
        people.agents.insert(id, Arc::clone(agent));
    }

    pub fn leave(&self, id: &AgentId) {
        self.people().agents.remove(id);
    }

    /// As `leave`, and its name means nobody any more.
    pub fn forget(&self, id: &AgentId) {
        let mut people = self.people();
        people.agents.remove(id);
        people.names.retain(|_, known| known != id);
    }

    /// Lets everyone go: agents and crew hold each other.
    pub fn disband(&self) {
        let gone = std::mem::take(&mut *self.people());
        drop(gone);
    }

    pub fn agent(&self, id: &AgentId) -> Option<Arc<Agent>> {
        self.people().agents.get(id).cloned()
    }

    /// Whom a name or an id means, also when it has ended.
    pub fn named(&self, to: &str) -> Option<AgentId> {
        let lead = self.office.lead();
        if to == "team-lead" || to == lead.to_string() {
            return Some(lead);
        }
        let people = self.people();
        let by_id = |id: &&AgentId| id.to_string() == to || id.name.as_str() == to;
        people.names.get(to).or_else(|| people.agents.keys().find(by_id)).cloned()
    }

    /// Whom a name or an id means, also in an earlier process.
    pub fn find(&self, to: &str) -> Option<AgentId> {
        self.named(to).or_else(|| route::on_disk(&self.office, to))
    }

    /// Waits until nobody acts as this agent any more, and keeps it so.
    pub async fn seat(&self, id: &AgentId) -> OwnedMutexGuard<()> {
        let seat = Arc::clone(self.people().seats.entry(id.clone()).or_default());
        seat.lock_owned().await
    }

    /// What whoever wanted to reach an unknown agent is told.
    pub fn nobody(&self, to: &str) -> String {
        format!("There is no agent `{to}`. There are: {}", self.known())
    }

    /// Everyone who can be written to, for an error that helps.
    fn known(&self) -> String {
        let past = route::past(&self.office);
        let people = self.people();
        let mut known: Vec<String> = people.names.keys().cloned().collect();
        known.extend(people.agents.keys().map(|id| id.name.to_string()));
        known.extend(past.into_iter().map(|one| one.name.unwrap_or(one.id)));
        known.sort();
        known.dedup();
        known.join(", ")
    }

    /// Puts words into an agent's queue, visibly. `false` when it has ended.
    pub fn queue(&self, to: &AgentId, when: When, from: &str, text: String) -> bool {
        self.queue_lending(to, when, from, text, None)
    }

    /// As `queue`, with what is lent for the turn that hears it.
    pub fn queue_lending(
        &self,
        to: &AgentId,
        when: When,
        from: &str,
        text: String,
        lent: Option<Lent>,
    ) -> bool {
        let Some(agent) = self.agent(to) else { return false };
        let told = text.clone();
        let tell = |id| agent.tell(Fact::Queued { id, when, from: from.to_owned(), text: told });
        agent.queue.push_lending(when, from, text, lent, tell).is_some()
    }

    fn people(&self) -> MutexGuard<'_, People> {
        self.people.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn deliver(&self, by: &AgentId, call: &Call, letter: Letter) -> Output {
        let LetterKind::Message = letter.kind else {
            return Output::failed(
                "There is no team here: only plain messages to single agents are possible.",
            );
        };
        let to = letter.to.unwrap_or_default();
        let Some(id) = self.find(&to) else { return Output::failed(self.nobody(&to)) };
        if id == *by {
            return Output::failed("You cannot send a message to yourself.");
        }
        revive::pass_on(self, by, call, &id, letter.words).await
    }
}

impl Crew for Solo {
    fn place(&self) -> Place {
        // The ids of sessions are plain names.
        let tasks = TeamDir::found(self.office.session.as_str());
        let tasks = tasks.unwrap_or_else(|| self.office.session_team().dir());
        Place { team: None, tasks }
    }

    fn notify(&self, to: &AgentId, note: Note) {
        let text = notification(&note);
        if self.queue(to, When::Later, NEWS, text.clone()) {
            return;
        }
        // Whoever started it has ended: the lead should know.
        let lead = self.office.lead();
        if *to == lead || !self.queue(&lead, When::Later, NEWS, text) {
            tracing::warn!(task = %note.task, "nobody is left to hear how it ended");
        }
    }

    fn consult<'a>(
        &'a self,
        by: &'a AgentId,
        question: String,
        stop: &'a Stop,
    ) -> BoxFuture<'a, Option<Result<String, String>>> {
        Box::pin(async move {
            let asker = self.agent(by)?;
            let brain = self.office.brains.small(&asker.brain())?;
            let request = Request {
                model: brain.chosen.id.clone(),
                prefix: Arc::new(Prefix::new(Vec::new(), Vec::new())),
                messages: Conversation::from_iter([ChatMessage::user(question)]),
                max_tokens: brain.max_tokens.min(4_096),
                sampling: Sampling::default(),
                thinking: Thinking::Off,
                tool_choice: ToolChoice::None,
                caller: Caller { purpose: Purpose::SideQuestion, ..asker.caller.clone() },
            };
            let mut answer = brain.model.stream(Arc::new(request), stop.clone());
            let mut text = String::new();
            while let Some(chunk) = answer.next().await {
                match chunk {
                    Ok(Chunk::Block { block, .. }) => {
                        if let Some(Known::Text { text: more }) = block.meaning() {
                            text.push_str(more);
                        }
                    }
                    Ok(Chunk::Ended { usage, .. }) => {
                        self.office.books.enter(&by.to_string(), &brain, usage);
                    }
                    Ok(
                        Chunk::Started { .. }
                        | Chunk::Text { .. }
                        | Chunk::Thinking { .. }
                        | Chunk::ToolStarted { .. }
                        | Chunk::ToolInput { .. }
                        | Chunk::Retrying { .. },
                    ) => {}
                    Err(error) => return Some(Err(error.to_string())),
                }
            }
            Some(Ok(text))
        })
    }

    fn kind_of(&self, by: &AgentId, wanted: Option<&str>) -> String {
        let is_fork = self.agent(by).is_some_and(|agent| agent.birth.is_fork);
        route::kind_of(&self.office, is_fork, wanted)
    }

    fn has_begun(&self, by: &AgentId, use_id: &str) -> bool {
        self.adopted.has(by, use_id)
    }

    fn spawn<'a>(&'a self, by: &'a AgentId, call: &'a Call, wish: Wish) -> BoxFuture<'a, Output> {
        Box::pin(spawn::spawn(self, by, call, wish))
    }

    fn delivered(&self, _: &AgentId, _: Vec<MessageId>) {}

    fn task_changed(&self, _: &AgentId, _: Option<&Task>) {}

    fn mail_sent(&self, _: &AgentName, _: &Message) {}

    fn send<'a>(
        &'a self,
        by: &'a AgentId,
        call: &'a Call,
        letter: Letter,
    ) -> BoxFuture<'a, Output> {
        Box::pin(self.deliver(by, call, letter))
    }
}
