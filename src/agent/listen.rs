//! Listening to a model: its answer piece by piece as events, and whole at the end.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use serde_json::json;
use tokio::time::{Instant, sleep_until};

use super::context::Agent;
use crate::model::pricing::Meter;
use crate::model::usage::Usage;
use crate::model::{Chunk, ModelError, Request, Stop, StopReason};
use crate::protocol::content::{Block, ChatMessage, Known};
use crate::protocol::event::Fact;
use crate::protocol::ids::AgentId;
use crate::store::journal::Journal;

/// How long a line that is not whole may wait to be shown.
const PATIENCE: Duration = Duration::from_millis(250);

/// A whole answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    pub id: String,
    pub model: String,
    pub message: ChatMessage,
    pub stop: StopReason,
    pub usage: Usage,
}

/// An answer that did not become whole.
#[derive(Debug)]
pub struct Broken {
    pub error: ModelError,
    /// The blocks that did arrive whole, and what arrived of the text that did not.
    pub said: Vec<Block>,
    pub usage: Usage,
    /// Whether anybody has seen part of it.
    pub shown: bool,
    /// Whether part of it had come. Then nobody has asked again yet.
    pub begun: bool,
}

/// Asks the model and tells the journal what it says while it says it.
pub async fn listen(agent: &Agent, request: Arc<Request>, stop: &Stop) -> Result<Reply, Broken> {
    let mut ear = Ear::new(&agent.cx.journal, &agent.cx.me);
    let mut answer = agent.brain().model.stream(request, stop.clone());
    loop {
        let chunk = tokio::select! {
            chunk = answer.next() => chunk,
            () = sleep_until(ear.due) , if ear.holds() => {
                ear.flush();
                continue;
            }
        };
        match chunk {
            Some(Ok(chunk)) => ear.hear(chunk),
            Some(Err(error)) => return Err(ear.broken(error)),
            None => break,
        }
    }
    ear.whole()
}

struct Ear<'a> {
    journal: &'a Journal,
    me: &'a AgentId,
    id: String,
    model: String,
    blocks: Vec<(usize, Block)>,
    /// Text of a block that is not whole yet.
    partial: String,
    /// What was not told yet, and whether it is thinking.
    held: String,
    thinking: bool,
    due: Instant,
    meter: Meter,
    ended: Option<(StopReason, Usage)>,
    shown: bool,
    begun: bool,
}

impl<'a> Ear<'a> {
    fn new(journal: &'a Journal, me: &'a AgentId) -> Self {
        Self {
            journal,
            me,
            id: String::new(),
            model: String::new(),
            blocks: Vec::new(),
            partial: String::new(),
            held: String::new(),
            thinking: false,
            due: Instant::now(),
            meter: Meter::default(),
            ended: None,
            shown: false,
            begun: false,
        }
    }

    fn hear(&mut self, chunk: Chunk) {
        self.meter.absorb(&chunk);
        self.begun |= !matches!(chunk, Chunk::Started { .. } | Chunk::Retrying { .. });
        match chunk {
            Chunk::Started { id, model, .. } => (self.id, self.model) = (id, model),
            Chunk::Text { text, .. } => {
                self.partial.push_str(&text);
                self.hold(&text, false);
            }
            Chunk::Thinking { text, .. } => self.hold(&text, true),
            Chunk::ToolStarted { .. } | Chunk::ToolInput { .. } => {}
            Chunk::Block { index, block } => {
                self.flush();
                if matches!(block.meaning(), Some(Known::Text { .. })) {
                    self.partial.clear();
                }
                self.blocks.push((index, block));
            }
            Chunk::Retrying { why, wait, attempt, of } => {
                let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
                self.tell(Fact::Retrying { why, wait_ms, attempt, of });
            }
            Chunk::Ended { stop, usage } => {
                self.flush();
                self.ended = Some((stop, usage));
            }
        }
    }

    fn hold(&mut self, text: &str, thinking: bool) {
        if thinking != self.thinking {
            self.flush();
            self.thinking = thinking;
        }
        if self.held.is_empty() {
            self.due = Instant::now() + PATIENCE;
        }
        self.held.push_str(text);
        if let Some(end) = self.held.rfind('\n') {
            let rest = self.held.split_off(end + 1);
            let lines = std::mem::replace(&mut self.held, rest);
            self.say(lines);
            self.due = Instant::now() + PATIENCE;
        }
    }

    fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    fn flush(&mut self) {
        if self.holds() {
            let text = std::mem::take(&mut self.held);
            self.say(text);
        }
    }

    fn say(&mut self, text: String) {
        self.shown = true;
        self.tell(match self.thinking {
            true => Fact::Thinking { text },
            false => Fact::Speaking { text },
        });
    }

    fn tell(&self, fact: Fact) {
        self.journal.emit(Some(self.me), fact);
    }

    fn blocks(&mut self) -> Vec<Block> {
        self.blocks.sort_by_key(|(index, _)| *index);
        let blocks = std::mem::take(&mut self.blocks).into_iter().map(|(_, block)| block);
        blocks.filter(|block| !is_empty(block)).collect()
    }

    fn broken(&mut self, error: ModelError) -> Broken {
        self.flush();
        let mut said = self.blocks();
        if !self.partial.trim().is_empty() {
            said.push(Block::text(std::mem::take(&mut self.partial)));
        }
        let (shown, begun) = (self.shown, self.begun);
        Broken { error, said, usage: self.meter.usage(), shown, begun }
    }

    fn whole(mut self) -> Result<Reply, Broken> {
        let Some((stop, usage)) = self.ended.take() else {
            let message = "it ended without a final event".to_owned();
            return Err(self.broken(ModelError::StreamBroken { message }));
        };
        let message = ChatMessage::assistant(self.blocks());
        Ok(Reply { id: self.id, model: self.model, message, stop, usage })
    }
}

/// Providers refuse empty text when it is sent back to them.
fn is_empty(block: &Block) -> bool {
    matches!(block, Block::Known(Known::Text { text }) if text.trim().is_empty())
}

impl Reply {
    /// The event that tells of it.
    pub fn fact(&self, usd: Option<f64>, own_usd: Option<f64>, window: Option<u64>) -> Fact {
        Fact::Spoke {
            id: self.id.clone(),
            model: self.model.clone(),
            message: self.message.clone(),
            stop: self.stop_name(),
            usage: json!(self.usage),
            usd,
            own_usd,
            context: self.usage.total(),
            window,
        }
    }

    pub fn stop_name(&self) -> String {
        json!(self.stop).as_str().unwrap_or_default().to_owned()
    }
}
