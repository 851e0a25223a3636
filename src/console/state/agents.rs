//! Every agent of the session with what is known of it. In the order in which they were first
//! seen, which never changes: whoever ended stays, and keeps its place.

use std::collections::HashMap;

use super::transcript::{Scroll, Transcript};
use crate::protocol::content::Known;
use crate::protocol::event::{AgentAbout, Event, Fact};
use crate::protocol::ids::{AgentId, AgentName};
use crate::protocol::liveness::{self, Evidence};
use crate::protocol::op::{Mode, When};
use crate::protocol::team::Member;
use crate::protocol::time::Stamp;

/// So many seconds without a sign of life are a stall, where nothing else is set.
const PATIENCE_SECONDS: u64 = 120;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Lead,
    Teammate,
    /// Works for one call of another agent.
    Subagent,
}

/// What an agent is to the person now; the order in which lists show them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    NeedsYou,
    Working,
    Idle,
    Ended,
}

impl Group {
    pub const ALL: &[Self] = &[Self::NeedsYou, Self::Working, Self::Idle, Self::Ended];

    pub const fn title(self) -> &'static str {
        match self {
            Self::NeedsYou => "needs you",
            Self::Working => "working",
            Self::Idle => "idle",
            Self::Ended => "ended",
        }
    }
}

/// Something that waits for the agent's next boundary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queued {
    pub id: u64,
    pub when: When,
    pub from: String,
    pub text: String,
}

/// A call that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    pub use_id: String,
    pub tool: String,
    pub summary: String,
    pub since: Stamp,
}

#[derive(Debug, Clone)]
pub struct Agent {
    pub id: AgentId,
    pub kind: Kind,
    /// As it is shown: `lead`, a teammate's name, a subagent's type.
    pub name: String,
    pub color: Option<String>,
    pub about: Option<AgentAbout>,
    pub member: Option<Member>,
    pub mode: Mode,
    pub evidence: Evidence,
    pub transcript: Transcript,
    pub scroll: Scroll,
    pub queued: Vec<Queued>,
    pub running: Vec<Running>,
    /// Tokens that its answers used, those read from a cache not counted.
    pub tokens: u64,
    /// Whole answers and calls since the person last looked.
    pub unseen: usize,
    /// Tokens in the conversation after each answer, for a small chart.
    pub contexts: Vec<u64>,
    /// Whether the person has seen that it failed.
    pub failure_seen: bool,
    /// So many seconds without a sign of life are a stall.
    patience: u64,
}

/// Points of a chart that are kept.
const CHART_POINTS: usize = 120;

impl Agent {
    fn new(id: AgentId) -> Self {
        let kind = if id.name.is_lead() { Kind::Lead } else { Kind::Teammate };
        let mut agent = Self {
            kind,
            name: String::new(),
            id,
            color: None,
            about: None,
            member: None,
            mode: Mode::Default,
            evidence: Evidence::default(),
            transcript: Transcript::default(),
            scroll: Scroll::default(),
            queued: Vec::new(),
            running: Vec::new(),
            tokens: 0,
            unseen: 0,
            contexts: Vec::new(),
            failure_seen: false,
            patience: PATIENCE_SECONDS,
        };
        agent.rename();
        agent
    }

    fn rename(&mut self) {
        use crate::console::text::sanitize::one_line;
        self.name = match self.kind {
            Kind::Lead => "lead".to_owned(),
            Kind::Teammate => one_line(self.id.name.as_str()),
            Kind::Subagent => match &self.about {
                Some(about) if !about.agent_type.is_empty() => one_line(&about.agent_type),
                Some(_) | None => one_line(self.id.name.as_str()),
            },
        };
    }

    pub fn state(&self, now: Stamp) -> liveness::State {
        liveness::state(&self.evidence, now, self.patience)
    }

    /// Whether it is at work: a turn goes on.
    pub fn is_busy(&self) -> bool {
        self.evidence.in_turn && !self.evidence.ended
    }

    fn absorb(&mut self, event: &Event) {
        self.evidence.absorb(event);
        self.transcript.absorb(event);
        match &event.fact {
            Fact::AgentStarted { about } => self.began(about),
            Fact::AgentEnded { .. } => {
                self.queued.clear();
                self.running.clear();
            }
            Fact::ModeChanged { mode } => self.mode = *mode,
            Fact::Queued { id, when, from, text } => self.queued.push(Queued {
                id: *id,
                when: *when,
                from: from.clone(),
                text: text.clone(),
            }),
            Fact::Heard { queued, .. } => {
                self.queued.retain(|waiting| !queued.contains(&waiting.id));
            }
            Fact::TurnStarted => {
                self.running.clear();
                self.failure_seen = false;
            }
            Fact::TurnEnded { .. } => self.running.clear(),
            Fact::Spoke { usage, context, message, model, .. } => {
                self.thinks_with(model);
                self.tokens = self.tokens.saturating_add(tokens_used(usage));
                if self.contexts.len() >= CHART_POINTS {
                    self.contexts.remove(0);
                }
                self.contexts.push(*context);
                let is_call = |known: &Known| matches!(known, Known::ToolUse { .. });
                let calls = message.content.known().iter().filter(|known| is_call(known)).count();
                self.unseen += calls.max(1);
            }
            Fact::ToolStarted { use_id, tool, summary, .. } => self.running.push(Running {
                use_id: use_id.clone(),
                tool: tool.clone(),
                summary: summary.clone(),
                since: event.at,
            }),
            Fact::ToolEnded { use_id, .. } => self.running.retain(|call| call.use_id != *use_id),
            Fact::Asked { .. }
            | Fact::Settled { .. }
            | Fact::Speaking { .. }
            | Fact::Thinking { .. }
            | Fact::Restarted { .. }
            | Fact::Retrying { .. }
            | Fact::Compacted { .. }
            | Fact::TeamCreated { .. }
            | Fact::TeamDeleted { .. }
            | Fact::WentIdle { .. }
            | Fact::Paused
            | Fact::Unpaused
            | Fact::MemberJoined { .. }
            | Fact::MemberLeft { .. }
            | Fact::MailSent { .. }
            | Fact::TaskChanged { .. }
            | Fact::TaskDeleted { .. }
            | Fact::Decided { .. }
            | Fact::ToolOutput { .. }
            | Fact::Granted { .. }
            | Fact::Revoked { .. }
            | Fact::Notice { .. }
            | Fact::Unknown(_) => {}
        }
    }

    /// The model may have been changed since it began.
    fn thinks_with(&mut self, model: &str) {
        if let Some(about) = self.about.as_mut().filter(|about| !about.model.ends_with(model)) {
            about.model = model.to_owned();
        }
    }

    fn began(&mut self, about: &AgentAbout) {
        self.kind = match (&about.parent, &about.use_id) {
            (None, _) => Kind::Lead,
            // A teammate has a colour or a place in the roster; what works for a call has neither.
            (Some(_), _) if self.member.is_some() || about.color.is_some() => Kind::Teammate,
            (Some(_), Some(_)) => Kind::Subagent,
            (Some(_), None) => Kind::Teammate,
        };
        self.mode = about.mode;
        self.color = about.color.clone().or(self.color.take());
        self.about = Some(about.clone());
        self.queued.clear();
        self.running.clear();
        self.rename();
    }
}

/// What an answer used, as the Messages API counts; what came from a cache is not counted again.
fn tokens_used(usage: &serde_json::Value) -> u64 {
    let field = |name: &str| usage.get(name).and_then(serde_json::Value::as_u64).unwrap_or(0);
    ["input_tokens", "output_tokens", "cache_creation_input_tokens"]
        .iter()
        .fold(0, |sum: u64, name| sum.saturating_add(field(name)))
}

#[derive(Debug, Clone, Default)]
pub struct Agents {
    all: Vec<Agent>,
    places: HashMap<AgentId, usize>,
    /// What the settings say of how long an agent may be silent, in seconds.
    patience: Option<u64>,
}

impl Agents {
    /// With the lead, before anything is known of it.
    pub fn led_by(lead: AgentId) -> Self {
        let mut agents = Self::default();
        agents.entry(&lead).kind = Kind::Lead;
        agents
    }

    /// The lead is another one than was assumed, of whom nothing was ever heard.
    pub fn replace_lead(&mut self, lead: &AgentId) {
        let assumed = |agent: &Agent| agent.about.is_none() && agent.id != *lead;
        self.all.retain(|agent| agent.kind != Kind::Lead || !assumed(agent));
        let places = self.all.iter().enumerate();
        self.places = places.map(|(place, agent)| (agent.id.clone(), place)).collect();
    }

    fn entry(&mut self, id: &AgentId) -> &mut Agent {
        let place = *self.places.entry(id.clone()).or_insert_with(|| {
            let patience = self.patience.unwrap_or(PATIENCE_SECONDS);
            self.all.push(Agent { patience, ..Agent::new(id.clone()) });
            self.all.len() - 1
        });
        &mut self.all[place]
    }

    /// How many seconds an agent may be silent at work before it counts as stalled.
    pub fn be_patient_for(&mut self, seconds: u64) {
        self.patience = Some(seconds);
        for agent in &mut self.all {
            agent.patience = seconds;
        }
    }

    pub fn get(&self, id: &AgentId) -> Option<&Agent> {
        self.places.get(id).and_then(|place| self.all.get(*place))
    }

    pub fn get_mut(&mut self, id: &AgentId) -> Option<&mut Agent> {
        self.places.get(id).and_then(|place| self.all.get_mut(*place))
    }

    pub fn all(&self) -> impl Iterator<Item = &Agent> {
        self.all.iter()
    }

    pub fn lead(&self) -> Option<&Agent> {
        self.all.iter().find(|agent| agent.kind == Kind::Lead)
    }

    /// Those that the person steps through: the lead, then the teammates.
    pub fn team(&self) -> impl Iterator<Item = &Agent> {
        let teammates = self.all.iter().filter(|agent| agent.kind == Kind::Teammate);
        self.lead().into_iter().chain(teammates)
    }

    pub fn teammates(&self) -> impl DoubleEndedIterator<Item = &Agent> {
        self.all.iter().filter(|agent| agent.kind == Kind::Teammate)
    }

    /// A teammate, or the lead, by the name that is shown; whoever came last counts.
    pub fn named(&self, name: &str) -> Option<&Agent> {
        let is = |agent: &&Agent| {
            agent.name == name || (agent.kind == Kind::Lead && agent.id.name.as_str() == name)
        };
        self.teammates().rev().find(is).or_else(|| self.lead().filter(is))
    }

    /// The colour of whoever has this name, for lines that name an agent.
    pub fn color_of(&self, name: &AgentName) -> Option<&str> {
        let mut teammates = self.teammates().rev();
        teammates.find(|agent| agent.id.name == *name).and_then(|agent| agent.color.as_deref())
    }

    pub fn absorb(&mut self, event: &Event) {
        if let Fact::MemberJoined { member } = &event.fact {
            self.joined(member);
        }
        let Some(id) = &event.agent else {
            // What concerns nobody in particular is told where the person talks.
            if matches!(event.fact, Fact::Notice { .. })
                && let Some(lead) = self.lead().map(|lead| lead.id.clone())
            {
                self.entry(&lead).transcript.absorb(event);
            }
            return;
        };
        let agent = self.entry(id);
        agent.absorb(event);
        if agent.kind != Kind::Subagent {
            return;
        }
        if let Some(parent) = agent.about.as_ref().and_then(|about| about.parent.clone()) {
            let call = agent.about.as_ref().and_then(|about| about.use_id.clone());
            let parent = self.entry(&parent);
            if let Some(call) = call {
                parent.transcript.absorb_child(&call, event);
            }
        }
    }

    fn joined(&mut self, member: &Member) {
        let Some(id) = AgentId::parse(&member.agent_id) else { return };
        if id.name.is_lead() {
            return;
        }
        let agent = self.entry(&id);
        agent.kind = Kind::Teammate;
        agent.color = member.color.clone().or(agent.color.take());
        agent.member = Some(member.clone());
        agent.rename();
    }
}
