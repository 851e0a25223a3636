//! A conversation brought back from its transcript, valid whatever ended the process: answers in
//! several records are one again, results stand in the order of their calls, and a call without
//! a result is told apart so that somebody answers it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::protocol::content::{Block, ChatMessage, Content, Known, Role};
use crate::protocol::ids::MessageId;
use crate::protocol::json;
use crate::protocol::time::Stamp;
use crate::store::lines::{LineReader, Place};
use crate::store::transcript;
use crate::store::{Problems, StoreError};
use crate::tools::Use;

#[derive(Debug, Default)]
pub struct Rebuilt {
    pub messages: Vec<ChatMessage>,
    /// Calls of the last answer that have no result, in their order. Their results belong at the
    /// end of the messages.
    pub open: Vec<Use>,
    /// How long the model found the conversation with its last answer; 0 where nobody knows.
    pub tokens: u64,
    /// The record of the last answer.
    pub last_answer: String,
    /// Files that it read or wrote, and when: it need not read again what is still the same.
    pub files: Vec<(PathBuf, Stamp)>,
    pub problems: Problems,
}

/// What a record says, as far as a conversation needs it.
#[derive(Deserialize)]
struct Said {
    #[serde(rename = "type")]
    kind: Option<String>,
    message: Option<MessageRecord>,
    #[serde(default)]
    uuid: Option<String>,
    #[serde(default)]
    timestamp: Option<String>,
}

#[derive(Deserialize)]
struct MessageRecord {
    id: Option<String>,
    role: Role,
    content: Content,
    /// Anything, so that what we do not understand costs no message.
    usage: Option<Value>,
}

impl MessageRecord {
    fn tokens(&self) -> Option<u64> {
        const PARTS: [&str; 4] = [
            "input_tokens",
            "cache_creation_input_tokens",
            "cache_read_input_tokens",
            "output_tokens",
        ];
        let usage = self.usage.as_ref()?;
        let counts = PARTS.iter().filter_map(|part| usage.get(part)?.as_u64());
        Some(counts.fold(0, u64::saturating_add))
    }
}

/// Reads the conversation that a transcript ends with. Empty where there is none.
pub fn rebuild(path: &Path) -> Result<Rebuilt, StoreError> {
    rebuild_branch(path, &[])
}

/// Reads a conversation that may have begun in one of these other transcripts.
pub fn rebuild_branch(path: &Path, trunks: &[PathBuf]) -> Result<Rebuilt, StoreError> {
    let mut found = transcript::conversation(path)?;
    for trunk in trunks {
        let Some(missing) = found.missing.clone() else { break };
        let before = transcript::conversation_to(trunk, &missing)?;
        if !before.records.is_empty() {
            found.records.splice(..0, before.records);
            found.missing = before.missing;
        }
    }
    let mut messages: Vec<(Option<String>, ChatMessage)> = Vec::new();
    let mut tokens = 0;
    let mut last_answer = String::new();
    let mut files = Files::default();
    for record in &found.records {
        let Ok(said) = record.read::<Said>() else { continue };
        let at = said.timestamp.as_deref().and_then(Stamp::parse);
        let Said { kind: Some(kind), message: Some(said), uuid, .. } = said else { continue };
        files.note(&said, at);
        if matches!(kind.as_str(), "user" | "assistant") && !is_empty(&said.content) {
            tokens = said.tokens().unwrap_or(tokens);
            if said.role == Role::Assistant {
                last_answer = uuid.unwrap_or_default();
            }
            join(&mut messages, said);
        }
    }
    let mut messages: Vec<ChatMessage> = messages.into_iter().map(|(_, message)| message).collect();
    let mut elsewhere = None;
    let mut at = 0;
    let mut open = Vec::new();
    while at < messages.len() {
        let uses = uses_of(&messages[at]);
        if !uses.is_empty() {
            let side = |id: &str| -> Option<Block> {
                let known = elsewhere.get_or_insert_with(|| all_results(path));
                known.remove(id)
            };
            open = settle(&mut messages, at, &uses, side);
        }
        at += 1;
    }
    let files = files.known;
    Ok(Rebuilt { messages, open, tokens, last_answer, files, problems: found.problems })
}

/// Which files an agent came to know, from its calls and their results.
#[derive(Default)]
struct Files {
    wanted: HashMap<String, PathBuf>,
    known: Vec<(PathBuf, Stamp)>,
}

impl Files {
    fn note(&mut self, said: &MessageRecord, at: Option<Stamp>) {
        let Content::Blocks(blocks) = &said.content else { return };
        for block in blocks {
            if let Some(Known::ToolUse { id, name, input }) = block.meaning()
                && matches!(name.as_str(), "Read" | "Edit" | "Write")
            {
                let path = input.get("file_path").and_then(Value::as_str);
                self.wanted.extend(path.map(|path| (id.clone(), PathBuf::from(path))));
            }
            if let Some(Known::ToolResult { tool_use_id, is_error, .. }) = block.meaning() {
                let path = self.wanted.remove(tool_use_id).filter(|_| *is_error != Some(true));
                self.known.extend(path.zip(at));
            }
        }
    }
}

/// Whether there is nothing in it that a model could be sent.
fn is_empty(content: &Content) -> bool {
    match content {
        Content::Text(text) => text.trim().is_empty(),
        Content::Blocks(blocks) => blocks.iter().all(
            |block| matches!(block.meaning(), Some(Known::Text { text }) if text.trim().is_empty()),
        ),
    }
}

/// Adds what was said to what was said before: pieces of one answer, and everything said to the
/// agent between two answers, are one message each.
fn join(messages: &mut Vec<(Option<String>, ChatMessage)>, said: MessageRecord) {
    let MessageRecord { id, role, content, .. } = said;
    match messages.last_mut() {
        Some((known, last))
            if last.role == role && (role == Role::User || (id.is_some() && *known == id)) =>
        {
            let mut blocks =
                blocks_of(std::mem::replace(&mut last.content, Content::Blocks(vec![])));
            blocks.extend(blocks_of(content));
            last.content = Content::Blocks(blocks);
        }
        Some(_) | None => messages.push((id, ChatMessage { role, content })),
    }
}

pub(crate) fn blocks_of(content: Content) -> Vec<Block> {
    match content {
        Content::Text(text) => vec![Block::text(text)],
        Content::Blocks(blocks) => blocks,
    }
}

pub(crate) fn uses_of(message: &ChatMessage) -> Vec<Use> {
    let Content::Blocks(blocks) = &message.content else { return Vec::new() };
    if message.role != Role::Assistant {
        return Vec::new();
    }
    let uses = blocks.iter().filter_map(|block| match block.meaning() {
        Some(Known::ToolUse { id, name, input }) => {
            Some(Use { id: id.clone(), tool: name.clone(), input: input.clone() })
        }
        Some(
            Known::Text { .. }
            | Known::Thinking { .. }
            | Known::RedactedThinking { .. }
            | Known::ToolResult { .. }
            | Known::Image { .. },
        )
        | None => None,
    });
    uses.collect()
}

pub(crate) fn answers(block: &Block) -> Option<&str> {
    match block.meaning() {
        Some(Known::ToolResult { tool_use_id, .. }) => Some(tool_use_id),
        Some(
            Known::Text { .. }
            | Known::Thinking { .. }
            | Known::RedactedThinking { .. }
            | Known::ToolUse { .. }
            | Known::Image { .. },
        )
        | None => None,
    }
}

/// Puts results in the order of their calls.
pub(crate) fn in_order(results: &mut [Block], calls: &[Use]) {
    let place = |block: &Block| {
        calls.iter().position(|wanted| answers(block) == Some(&wanted.id)).unwrap_or(usize::MAX)
    };
    results.sort_by_key(place);
}

/// Puts the results of the calls at `at` behind them, in their order. Results on a side branch
/// are fetched; a call in the middle that was never answered gets a result that says so. Returns
/// the unanswered calls when nothing stands behind them.
fn settle(
    messages: &mut Vec<ChatMessage>,
    at: usize,
    uses: &[Use],
    mut side: impl FnMut(&str) -> Option<Block>,
) -> Vec<Use> {
    let is_last = at + 1 == messages.len();
    let behind = messages.get_mut(at + 1).filter(|next| next.role == Role::User);
    let mut rest = match behind {
        Some(next) => blocks_of(std::mem::replace(&mut next.content, Content::Blocks(vec![]))),
        None => Vec::new(),
    };
    let had_behind = at + 1 < messages.len() && messages[at + 1].role == Role::User;
    let only_results = rest.iter().all(|block| answers(block).is_some());
    let last_words = is_last || (at + 2 == messages.len() && only_results);
    let (mut results, mut open) = (Vec::new(), Vec::new());
    for wanted in uses {
        let found = rest.iter().position(|block| answers(block) == Some(wanted.id.as_str()));
        match found.map(|place| rest.remove(place)).or_else(|| side(&wanted.id)) {
            Some(block) => results.push(block),
            None if last_words => open.push(wanted.clone()),
            None => results.push(Block::tool_error(&wanted.id, LOST)),
        }
    }
    // A result that answers none of these calls would make the conversation invalid.
    results.extend(rest.into_iter().filter(|block| answers(block).is_none()));
    let message = ChatMessage::results(results);
    match (had_behind, &message.content) {
        (true, Content::Blocks(blocks)) if blocks.is_empty() => {
            messages.remove(at + 1);
        }
        (true, _) => messages[at + 1] = message,
        (false, Content::Blocks(blocks)) if blocks.is_empty() => {}
        (false, _) => messages.insert(at + 1, message),
    }
    open
}

/// The result of a call whose end nobody saw.
pub const LOST: &str = "Interrupted: the program ended while this ran. It was not run again; check \
                        the state of things before you continue.";

/// The mail that stands in a transcript, on whatever branch and however long ago.
pub fn mail_in(path: &Path) -> Result<Vec<MessageId>, StoreError> {
    #[derive(Deserialize)]
    struct Holds {
        #[serde(default)]
        mail: Vec<MessageId>,
    }
    let mut found = Vec::new();
    let Some(mut reader) = LineReader::open(path, Place::default())? else { return Ok(found) };
    while let Some(line) = reader.read()? {
        if let Ok(holds) = line.parse(json::from_text::<Holds>) {
            found.extend(holds.mail);
        }
    }
    Ok(found)
}

/// Every result in the file, on whatever branch.
fn all_results(path: &Path) -> HashMap<String, Block> {
    let mut found = HashMap::new();
    let Ok(Some(mut reader)) = LineReader::open(path, Place::default()) else { return found };
    while let Ok(Some(line)) = reader.read() {
        let Ok(Said { message: Some(said), .. }) = line.parse(json::from_text::<Said>) else {
            continue;
        };
        for block in blocks_of(said.content) {
            if let Some(id) = answers(&block) {
                found.entry(id.to_owned()).or_insert(block);
            }
        }
    }
    found
}
