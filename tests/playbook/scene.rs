//! A conversation with the rehearsal model, as an agent's turn loop would have it.

use std::path::PathBuf;
use std::sync::Arc;

use futures::StreamExt;
use quarterdeck::model::rehearsal::Rehearsal;
use quarterdeck::model::rehearsal::playbook::Playbook;
use quarterdeck::model::rehearsal::player::Unmatched;
use quarterdeck::model::request::{
    Caller, Conversation, Prefix, Purpose, Sampling, SystemBlock, Thinking, ToolChoice,
};
use quarterdeck::model::{Chunk, ModelError, Request, Stop};
use quarterdeck::protocol::content::{Block, ChatMessage, Known};

pub fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/playbooks").join(name)
}

pub fn story() -> Arc<Playbook> {
    Arc::new(Playbook::load(&file("story.yaml")).unwrap())
}

/// A playbook with one actor, `me`, and these turns.
pub fn turns(turns: &str) -> Arc<Playbook> {
    let indented: String = turns.lines().map(|line| format!("      {line}\n")).collect();
    let text = format!("actors:\n  - who: me\n    turns:\n{indented}");
    Arc::new(Playbook::parse(&text).unwrap_or_else(|wrong| panic!("{wrong:?}\n{text}")))
}

pub fn strict(playbook: Arc<Playbook>) -> Rehearsal {
    Rehearsal::new(playbook, Unmatched::Fail)
}

pub fn caller(agent: &str) -> Caller {
    Caller {
        agent: agent.to_owned(),
        agent_type: None,
        team: Some("inventory-fix".to_owned()),
        cwd: "/demo".to_owned(),
        purpose: Purpose::Turn,
    }
}

pub fn request(caller: &Caller, messages: &[ChatMessage]) -> Arc<Request> {
    let system = vec![SystemBlock { text: "You are an agent.".to_owned(), cached: true }];
    Arc::new(Request {
        model: "rehearsal".to_owned(),
        prefix: Arc::new(Prefix::new(system, Vec::new())),
        messages: messages.iter().cloned().collect::<Conversation>(),
        max_tokens: 1000,
        sampling: Sampling::default(),
        thinking: Thinking::Off,
        tool_choice: ToolChoice::Auto,
        caller: caller.clone(),
    })
}

/// One answer, whole.
pub async fn answer(model: &Rehearsal, request: Arc<Request>) -> Result<Vec<Chunk>, ModelError> {
    let mut chunks = Vec::new();
    let mut answer = model.attempt(request, Stop::new());
    while let Some(chunk) = answer.next().await {
        chunks.push(chunk?);
    }
    Ok(chunks)
}

pub fn blocks(chunks: &[Chunk]) -> Vec<Block> {
    let blocks = chunks.iter().filter_map(|chunk| {
        let Chunk::Block { block, .. } = chunk else { return None };
        Some(block.clone())
    });
    blocks.collect()
}

/// The text of an answer.
pub fn said(blocks: &[Block]) -> String {
    let texts = blocks.iter().filter_map(|block| match block.meaning() {
        Some(Known::Text { text }) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// The calls of an answer: id, tool, input.
pub fn calls(blocks: &[Block]) -> Vec<(String, String, serde_json::Value)> {
    let calls = blocks.iter().filter_map(|block| match block.meaning() {
        Some(Known::ToolUse { id, name, input }) => Some((id.clone(), name.clone(), input.clone())),
        _ => None,
    });
    calls.collect()
}

pub fn mail(from: &str, text: &str) -> ChatMessage {
    ChatMessage::user(format!(
        "<teammate-message teammate_id=\"{from}\" color=\"blue\" summary=\"x > y\">\n{text}\n</teammate-message>"
    ))
}

/// A conversation that grows.
pub struct Talk {
    pub model: Rehearsal,
    pub caller: Caller,
    pub messages: Vec<ChatMessage>,
}

impl Talk {
    pub fn new(model: &Rehearsal, caller: Caller) -> Self {
        Self { model: model.clone(), caller, messages: Vec::new() }
    }

    /// Adds a message and takes the answer into the conversation.
    pub async fn hear(&mut self, message: ChatMessage) -> Vec<Block> {
        self.messages.push(message);
        let chunks = answer(&self.model, request(&self.caller, &self.messages)).await;
        let blocks = blocks(&chunks.unwrap());
        self.messages.push(ChatMessage::assistant(blocks.clone()));
        blocks
    }

    pub async fn told(&mut self, text: &str) -> String {
        said(&self.hear(ChatMessage::user(text)).await)
    }
}
