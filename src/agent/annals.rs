//! What the journal of a session knows when the program starts again: who was at work when it
//! ended, what had begun, and what nobody had heard yet.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::context::{Agent, Talk};
use super::queue::{Item, Rank};
use super::rebuild::{LOST, Rebuilt};
use super::solo::NEWS;
use crate::protocol::ask::Question;
use crate::protocol::content::{Block, ChatMessage, Role};
use crate::protocol::event::{AgentAbout, Event, Fact};
use crate::protocol::ids::AgentId;
use crate::protocol::op::Mode;
use crate::store::StoreError;
use crate::tools::Use;
use crate::tools::ask_user::NAME as ASK_USER;
use crate::tools::call::Started;

/// The names by which models call the tool that starts agents.
const AGENT: [&str; 2] = ["Agent", "Task"];

/// Tools that only ask.
const QUESTIONS: [&str; 2] = [ASK_USER, "ExitPlanMode"];

#[derive(Debug, Default)]
pub struct Annals {
    /// Everyone but the lead, in the order in which they began.
    agents: Vec<Past>,
    started: Started,
    /// What waited for an agent and did not reach its conversation.
    unheard: HashMap<AgentId, Vec<Item>>,
    /// Those who had spent what they may, and waited for leave to go on.
    held: HashSet<AgentId>,
}

/// An agent that worked in the session.
#[derive(Debug, Clone)]
pub struct Past {
    pub id: AgentId,
    pub about: AgentAbout,
    /// The mode it was in.
    pub mode: Mode,
    /// How it ended; nothing if it was cut off with the program.
    pub ended: Option<String>,
    /// Whether its end was told to whoever started it, in the background.
    pub told: bool,
}

impl Annals {
    pub fn of(events: &[Event], lead: &AgentId) -> Self {
        let mut annals = Self { started: Started::from_events(events), ..Self::default() };
        for event in events {
            if let Some(agent) = &event.agent {
                annals.take_down(agent, &event.fact, agent == lead);
            }
        }
        annals
    }

    fn take_down(&mut self, agent: &AgentId, fact: &Fact, is_lead: bool) {
        if let Fact::AgentStarted { about } = fact {
            self.forget(agent);
            if !is_lead {
                let about = AgentAbout::clone(about);
                let (id, mode) = (agent.clone(), about.mode);
                self.agents.push(Past { id, about, mode, ended: None, told: false });
            }
        } else if let Fact::AgentEnded { status, .. } = fact {
            self.change(|one| one.id == *agent, |one| one.ended = Some(status.clone()));
            self.unheard.remove(agent);
        } else if let Fact::MemberJoined { .. } = fact {
            // The team takes up its own.
            self.forget(agent);
        } else if let Fact::ModeChanged { mode } = fact {
            self.change(|one| one.id == *agent, |one| one.mode = *mode);
        } else if let Fact::ToolEnded { use_id, data, .. } = fact {
            self.take_down_result(agent, use_id, data);
        } else if let Fact::Queued { id, when, from, text } = fact {
            if from == NEWS {
                let id = text.split("<task-id>").nth(1).and_then(|rest| rest.split('<').next());
                self.change(|one| id == Some(one.id.name.as_str()), |one| one.told = true);
            }
            // What a person typed to a lead that was interrupted is void, and nothing here tells
            // that from what was lost.
            if !is_lead || from != "user" {
                let (from, text) = (from.clone(), text.clone());
                let rank = Rank::of(&from);
                let (id, when) = (*id, *when);
                // What was lent with it was for that turn.
                let item = Item { id, when, rank, from, text, mail: None, lent: None };
                self.unheard.entry(agent.clone()).or_default().push(item);
            }
        } else if let Fact::Heard { queued, .. } = fact {
            let waiting = self.unheard.entry(agent.clone()).or_default();
            waiting.retain(|item| !queued.contains(&item.id));
        } else if let Fact::Asked { ask } = fact {
            if matches!(ask.question, Question::Budget { .. }) {
                self.held.insert(agent.clone());
            }
        } else if let Fact::Spoke { .. } | Fact::TurnEnded { .. } = fact {
            self.held.remove(agent);
        }
    }

    /// A call answered: it may have left an agent in the background, or looked at the end of one.
    fn take_down_result(&mut self, by: &AgentId, use_id: &str, data: &Value) {
        let status = data.get("status").and_then(Value::as_str).unwrap_or_default();
        let is_its_own = |one: &Past| one.about.parent.as_ref() == Some(by);
        if status == "async_launched" {
            let started =
                |one: &Past| is_its_own(one) && one.about.use_id.as_deref() == Some(use_id);
            self.change(started, |one| one.about.background = true);
        } else if status != "running" && data.get("outputFile").is_some() {
            let task = data.get("taskId").and_then(Value::as_str);
            let seen = |one: &Past| is_its_own(one) && task == Some(one.id.name.as_str());
            self.change(seen, |one| one.told = true);
        }
    }

    fn change(&mut self, whom: impl Fn(&Past) -> bool, how: impl Fn(&mut Past)) {
        self.agents.iter_mut().filter(|one| whom(one)).for_each(how);
    }

    fn forget(&mut self, agent: &AgentId) {
        self.agents.retain(|one| one.id != *agent);
    }

    /// Those who were at work when the program ended.
    pub fn cut_off(&self) -> impl Iterator<Item = &Past> {
        self.agents.iter().filter(|one| one.ended.is_none())
    }

    /// Those who had ended before.
    pub fn ended(&self) -> impl Iterator<Item = (&Past, &str)> {
        self.agents.iter().filter_map(|one| Some((one, one.ended.as_deref()?)))
    }

    /// What waited for an agent, but for what its conversation ends with: that was written down,
    /// and only the journal had not heard of it.
    pub fn take_unheard(&mut self, agent: &AgentId, found: &Rebuilt) -> Vec<Item> {
        let mut waiting = self.unheard.remove(agent).unwrap_or_default();
        let last = found.messages.last().filter(|last| last.role == Role::User);
        if let Some(last) = last {
            let words = last.content.text();
            waiting.retain(|item| !words.contains(&item.text));
        }
        waiting
    }

    /// Whether the agent that this call started goes on now, or has a result for it.
    fn goes_on(&self, by: &AgentId, wanted: &Use) -> bool {
        AGENT.contains(&wanted.tool.as_str())
            && self.agents.iter().any(|one| {
                one.about.parent.as_ref() == Some(by)
                    && one.about.use_id.as_ref() == Some(&wanted.id)
            })
    }

    /// A conversation as it was. Calls that began are lost, unless they are those of agents who
    /// go on; calls that did not begin are made now.
    pub fn recall(&self, agent: &Agent, found: Rebuilt) -> Result<Talk, StoreError> {
        let me = &agent.cx.me;
        for (path, at) in &found.files {
            agent.cx.seen.recall(&agent.cx.cwd.get().join(path), *at);
        }
        // A question to the person changes nothing: it is put again, and finds its answer.
        let began = |wanted: &Use| {
            !QUESTIONS.contains(&wanted.tool.as_str())
                && !self.goes_on(me, wanted)
                && self.started.fate(me, &wanted.id).is_some()
        };
        // From now on the transcript says it, too.
        for lost in found.open.iter().filter(|wanted| began(wanted)) {
            let block = Block::tool_error(&lost.id, LOST);
            agent.recorder.result(&block, &Value::Null, "")?;
            let message = ChatMessage::results(vec![block]);
            agent.tell(Fact::Heard { from: "tools".to_owned(), message, queued: vec![] });
        }
        let talk = Talk::recalled(found, began);
        let unanswered =
            talk.messages.messages().next_back().is_some_and(|last| last.role == Role::User);
        Ok(Talk { held: unanswered && self.held.contains(me), ..talk })
    }
}
