//! What is asked of a model.
//!
//! A conversation only grows, and what it is made of is shared: every message is turned into a
//! provider's JSON once, without cache marks, and used again in all later requests and by all
//! forks. So the common prefix of two requests is the same to the byte.

use std::sync::{Arc, OnceLock};

use serde::Serialize;
use serde_json::Value;

use crate::protocol::content::ChatMessage;
use crate::protocol::json::to_compact;

#[derive(Debug, Clone)]
pub struct Request {
    /// The model's id at its provider.
    pub model: String,
    pub prefix: Arc<Prefix>,
    pub messages: Conversation,
    pub max_tokens: u32,
    pub sampling: Sampling,
    pub thinking: Thinking,
    pub tool_choice: ToolChoice,
    pub caller: Caller,
}

/// What stands before the conversation and stays the same throughout.
#[derive(Debug, Default)]
pub struct Prefix {
    pub system: Vec<SystemBlock>,
    pub tools: Vec<ToolSpec>,
    wire: Wire,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemBlock {
    pub text: String,
    /// Whether the prompt cache may keep everything up to here.
    pub cached: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// A JSON schema.
    pub input_schema: Value,
}

/// The messages so far. Cloning copies pointers, not messages.
#[derive(Debug, Clone, Default)]
pub struct Conversation {
    entries: Vec<Arc<Entry>>,
}

/// A message, and what it looks like on the wires it was sent over.
#[derive(Debug)]
pub struct Entry {
    pub message: ChatMessage,
    wire: Wire,
}

/// JSON that was made once, for each format.
#[derive(Debug, Default)]
struct Wire {
    anthropic: OnceLock<Box<str>>,
    openai: OnceLock<Box<str>>,
}

/// The formats that requests are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Anthropic,
    OpenAi,
}

impl Wire {
    fn get(&self, format: Format, make: impl FnOnce() -> String) -> &str {
        let made = match format {
            Format::Anthropic => &self.anthropic,
            Format::OpenAi => &self.openai,
        };
        made.get_or_init(|| make().into_boxed_str())
    }
}

impl Prefix {
    pub fn new(system: Vec<SystemBlock>, tools: Vec<ToolSpec>) -> Self {
        Self { system, tools, wire: Wire::default() }
    }

    /// Its JSON in this format, made by `make` the first time.
    pub fn wire(&self, format: Format, make: impl FnOnce(&Self) -> String) -> &str {
        self.wire.get(format, || make(self))
    }
}

impl Entry {
    /// Its JSON in this format, made by `make` the first time.
    pub fn wire(&self, format: Format, make: impl FnOnce(&ChatMessage) -> String) -> &str {
        self.wire.get(format, || make(&self.message))
    }
}

impl Conversation {
    pub fn push(&mut self, message: ChatMessage) {
        self.entries.push(Arc::new(Entry { message, wire: Wire::default() }));
    }

    pub fn entries(&self) -> &[Arc<Entry>] {
        &self.entries
    }

    pub fn messages(&self) -> impl DoubleEndedIterator<Item = &ChatMessage> {
        self.entries.iter().map(|entry| &entry.message)
    }
}

impl FromIterator<ChatMessage> for Conversation {
    fn from_iter<I: IntoIterator<Item = ChatMessage>>(messages: I) -> Self {
        let mut conversation = Self::default();
        messages.into_iter().for_each(|message| conversation.push(message));
        conversation
    }
}

/// Adds a member to an object that is being written, behind another one.
pub fn member(object: &mut String, key: &str, value: &impl Serialize) {
    object.push_str(",\"");
    object.push_str(key);
    object.push_str("\":");
    object.push_str(&to_compact(value));
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sampling {
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    pub stop_sequences: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Thinking {
    #[default]
    Off,
    /// At most so many tokens; for models that are told how much.
    Budget(u32),
    /// As much as the model thinks right; for those that decide by themselves.
    Adaptive(Effort),
}

/// How much trouble a model takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Effort {
    /// The model's own measure.
    #[default]
    Usual,
    Low,
    Medium,
    High,
}

impl Effort {
    /// The word for it on the wire; none for the usual.
    pub const fn word(self) -> Option<&'static str> {
        match self {
            Self::Usual => None,
            Self::Low => Some("low"),
            Self::Medium => Some("medium"),
            Self::High => Some("high"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ToolChoice {
    #[default]
    Auto,
    Any,
    None,
    Tool(String),
}

/// Who asks, and what for: for the journal, and for the rehearsal model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The agent's name inside its team, `team-lead`, or `fork`.
    pub agent: String,
    /// The kind of agent (`explore`), where it has one.
    pub agent_type: Option<String>,
    pub team: Option<String>,
    pub cwd: String,
    pub purpose: Purpose,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Turn,
    Fork,
    Compact,
    Title,
    Summary,
    SideQuestion,
    /// What is worth remembering beyond the session.
    Memory,
}

impl Purpose {
    pub const ALL: [Self; 7] = [
        Self::Turn,
        Self::Fork,
        Self::Compact,
        Self::Title,
        Self::Summary,
        Self::SideQuestion,
        Self::Memory,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Turn => "turn",
            Self::Fork => "fork",
            Self::Compact => "compact",
            Self::Title => "title",
            Self::Summary => "summary",
            Self::SideQuestion => "side-question",
            Self::Memory => "memory",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|purpose| purpose.as_str() == text)
    }
}
