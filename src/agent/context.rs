//! All that one agent has, owned by its task and passed down: no globals.

use std::fs::File;
use std::io::Write;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::books::Books;
use super::gear::Gear;
use super::offer::Offers;
use super::planning::Planning;
use super::queue::Queue;
use super::rebuild::{LOST, Rebuilt, blocks_of, in_order, uses_of};
use super::record::Recorder;
use crate::model::request::{
    Caller, Conversation, Prefix, Purpose, Request, Sampling, Thinking, ToolChoice,
};
use crate::model::{Model, Stop};
use crate::permission::View;
use crate::protocol::content::{Block, ChatMessage, Role};
use crate::protocol::event::{Fact, Level};
use crate::protocol::op::Mode;
use crate::settings::models::Chosen;
use crate::tools::registry::ToolSet;
use crate::tools::{ToolContext, Use};

/// One agent at work.
pub struct Agent {
    pub cx: Arc<ToolContext>,
    /// All it may ever have; see [`Agent::offer`] for those of the moment.
    pub tools: ToolSet,
    pub(super) brains: Mutex<Thinker>,
    /// System prompt and tools as it began with them.
    pub prefix: Arc<Prefix>,
    pub offers: Offers,
    pub caller: Caller,
    pub recorder: Recorder,
    pub queue: Arc<Queue>,
    /// The conversation up to the calls that run now: what a fork begins with.
    pub said: Mutex<Conversation>,
    /// The record of its transcript that a fork follows.
    pub branch_point: Mutex<String>,
    pub books: Arc<Books>,
    pub limits: Limits,
    /// What was born with it and does not change.
    pub birth: Birth,
    /// Sets its mode, rules and directories.
    pub views: watch::Sender<Arc<View>>,
    /// What it must not forget about its plan.
    pub planning: Mutex<Planning>,
    /// Calls of tools so far.
    pub calls: AtomicU64,
    /// Where its words are written for others to read while it works.
    pub echo: Option<Mutex<File>>,
    /// Ends the agent, whatever it does.
    pub life: Stop,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Birth {
    /// The kind of agent, as its definition is called.
    pub kind: String,
    pub description: String,
    /// The same for a lead and everyone who works for it, however deep.
    pub chain_id: String,
    /// How many agents stand above it.
    pub depth: u32,
    pub is_fork: bool,
    /// Kinds of agents that it may start; `None` for all.
    pub may_spawn: Option<Vec<String>>,
    /// What else its definition brings along.
    pub gear: Gear,
}

/// The model an agent thinks with.
#[derive(Clone)]
pub struct Brain {
    pub model: Arc<dyn Model>,
    pub chosen: Arc<Chosen>,
    pub thinking: Thinking,
    pub max_tokens: u32,
}

/// What an agent thinks with, and what it will from its next turn on.
pub struct Thinker {
    now: Brain,
    next: Option<Brain>,
}

impl Thinker {
    pub fn new(now: Brain) -> Self {
        Self { now, next: None }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Answers of the model in one turn.
    pub rounds: Option<u32>,
    /// Conversations are summarised beyond this share of the model's window.
    pub compact_at: f64,
    /// How often an answer that broke off after something of it was shown is asked for again.
    pub restarts: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { rounds: None, compact_at: 0.8, restarts: 3 }
    }
}

/// The conversation of an agent as its turns see it.
#[derive(Debug, Clone, Default)]
pub struct Talk {
    pub messages: Conversation,
    /// Tokens of it, as the model counted them last.
    pub tokens: u64,
    /// Calls of the last answer that were left open when the program ended.
    pub pending: Pending,
    /// The record of the last answer.
    pub last_answer: String,
    /// It waited for leave to go on when the program ended, and asks for it again.
    pub held: bool,
}

/// Calls that still must be made, and the results of those beside them.
#[derive(Debug, Clone, Default)]
pub struct Pending {
    pub uses: Vec<Use>,
    /// In the order of the calls.
    pub results: Vec<Block>,
}

impl Talk {
    /// Whether there is something to do before anybody says a word.
    pub fn is_due(&self) -> bool {
        self.held || !self.pending.uses.is_empty()
    }

    /// A conversation from its transcript. A call that had begun is never made again.
    pub fn recalled(found: Rebuilt, began: impl Fn(&Use) -> bool) -> Self {
        let Rebuilt { mut messages, open, tokens, last_answer, .. } = found;
        let (lost, uses): (Vec<Use>, Vec<Use>) = open.into_iter().partition(began);
        let is_open = !lost.is_empty() || !uses.is_empty();
        let partial = messages.last().is_some_and(|last| last.role == Role::User);
        let mut results = match is_open && partial {
            true => messages.pop().map(|last| blocks_of(last.content)).unwrap_or_default(),
            false => Vec::new(),
        };
        results.extend(lost.iter().map(|wanted| Block::tool_error(&wanted.id, LOST)));
        if let Some(last) = messages.last() {
            in_order(&mut results, &uses_of(last));
        }
        let messages_now = messages.into_iter().collect();
        let mut talk = Self { messages: messages_now, tokens, last_answer, ..Self::default() };
        match uses.is_empty() && !results.is_empty() {
            true => talk.messages.push(ChatMessage::results(results)),
            false => talk.pending = Pending { uses, results },
        }
        talk
    }
}

impl Agent {
    pub fn tell(&self, fact: Fact) {
        self.cx.journal.emit(Some(&self.cx.me), fact);
    }

    pub fn notice(&self, level: Level, text: impl Into<String>) {
        self.tell(Fact::Notice { level, text: text.into() });
    }

    /// What its person should know when it starts.
    pub fn tell_of_gear(&self) {
        for text in &self.birth.gear.notices {
            self.notice(Level::Warning, text.as_str());
        }
    }

    /// What it thinks with.
    pub fn brain(&self) -> Brain {
        self.thinker().now.clone()
    }

    /// Thinks with another model from the next turn on: one turn is answered by one.
    pub fn think_with(&self, next: Brain) {
        self.thinker().next = Some(next);
    }

    /// A turn begins: what was wished for is in force.
    pub(super) fn take_up_brain(&self) {
        let mut thinker = self.thinker();
        if let Some(next) = thinker.next.take() {
            thinker.now = next;
        }
    }

    fn thinker(&self) -> MutexGuard<'_, Thinker> {
        self.brains.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the model is asked with the conversation as it is.
    pub fn request(&self, messages: Conversation, purpose: Option<Purpose>) -> Request {
        let brain = self.brain();
        Request {
            model: brain.chosen.id.clone(),
            prefix: self.offer().prefix,
            messages,
            max_tokens: brain.max_tokens,
            sampling: Sampling::default(),
            thinking: brain.thinking,
            tool_choice: ToolChoice::Auto,
            caller: Caller {
                purpose: purpose.unwrap_or(self.caller.purpose),
                cwd: self.cwd(),
                ..self.caller.clone()
            },
        }
    }

    /// Lets everyone who reads along know.
    pub fn echo(&self, text: &str) {
        if let Some(echo) = &self.echo {
            let mut file = echo.lock().unwrap_or_else(PoisonError::into_inner);
            if let Err(error) = writeln!(file, "{text}") {
                tracing::warn!(%error, "the output of an agent could not be written");
            }
        }
    }

    pub fn mode(&self) -> Mode {
        self.views.borrow().mode
    }

    pub fn set_said(&self, messages: Conversation) {
        *self.said.lock().unwrap_or_else(PoisonError::into_inner) = messages;
    }

    pub fn said(&self) -> Conversation {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Forks that begin now follow this record.
    pub fn set_branch_point(&self, record: &str) {
        record.clone_into(&mut self.branch_point.lock().unwrap_or_else(PoisonError::into_inner));
    }

    pub fn branch_point(&self) -> String {
        self.branch_point.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn cwd(&self) -> String {
        self.cx.cwd.get().to_string_lossy().into_owned()
    }
}
