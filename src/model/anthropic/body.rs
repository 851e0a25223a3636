//! What is sent: JSON put together from pieces that were made once.
//!
//! What stays the same stands first, what varies stands behind the messages. So the requests of
//! one conversation and of its forks begin with the same bytes, cache marks aside.

use serde::Serialize;
use serde_json::{Value, json};

use crate::model::request::{Entry, Format, Prefix, Request, Thinking, ToolChoice, member};
use crate::protocol::content::{Block, ChatMessage, Content, Known, Role};
use crate::protocol::json::to_compact;

/// Asks the server to keep everything up to here. Inside a string its quotes would be escaped,
/// so these bytes never occur in what somebody said.
const MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;

/// The body of a request for an answer.
pub fn body(request: &Request) -> String {
    let mut body = common(request);
    member(&mut body, "max_tokens", &request.max_tokens);
    member(&mut body, "stream", &true);
    let sampling = &request.sampling;
    add_thinking(&mut body, request.thinking);
    if let Thinking::Adaptive(effort) = request.thinking
        && let Some(word) = effort.word()
    {
        member(&mut body, "output_config", &json!({"effort": word}));
    }
    // A model that thinks takes no sampling settings.
    if request.thinking == Thinking::Off {
        for (key, value) in [("temperature", sampling.temperature), ("top_p", sampling.top_p)] {
            if let Some(value) = value {
                member(&mut body, key, &value);
            }
        }
    }
    if !sampling.stop_sequences.is_empty() {
        member(&mut body, "stop_sequences", &sampling.stop_sequences);
    }
    add_tool_choice(&mut body, request);
    body.push('}');
    body
}

/// The body of a request to count tokens.
pub fn count_body(request: &Request) -> String {
    let mut body = common(request);
    add_thinking(&mut body, request.thinking);
    add_tool_choice(&mut body, request);
    body.push('}');
    body
}

/// A body without its cache marks: what prefixes are compared by.
pub fn without_marks(body: &str) -> String {
    body.replace(MARK, "")
}

/// How many bytes two bodies have in common at their beginning, cache marks aside.
pub fn shared_prefix(one: &str, other: &str) -> usize {
    let (one, other) = (without_marks(one), without_marks(other));
    one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count()
}

/// Everything up to the end of the messages.
fn common(request: &Request) -> String {
    let prefix = request.prefix.wire(Format::Anthropic, prefix_wire);
    let entries = request.messages.entries();
    let wires: Vec<&str> = entries.iter().map(|entry| wire(entry)).collect();
    let marked = entries
        .iter()
        .zip(&wires)
        .rposition(|(entry, wire)| entry.message.role == Role::User && !wire.is_empty());
    let length: usize = wires.iter().map(|wire| wire.len() + 1).sum();
    // Room for the model's name and for what varies: the body is not copied while it grows.
    let mut body = String::with_capacity(prefix.len() + length + MARK.len() + 1024);
    body.push_str("{\"model\":");
    body.push_str(&to_compact(&request.model));
    body.push_str(prefix);
    body.push_str(",\"messages\":[");
    let mut comma = "";
    for (at, wire) in wires.iter().enumerate().filter(|(_, wire)| !wire.is_empty()) {
        body.push_str(comma);
        match wire.strip_suffix("}]}") {
            Some(open) if marked == Some(at) => {
                body.push_str(open);
                body.push_str(MARK);
                body.push_str("}]}");
            }
            Some(_) | None => body.push_str(wire),
        }
        comma = ",";
    }
    body.push(']');
    body
}

fn add_thinking(body: &mut String, thinking: Thinking) {
    let thinking = match thinking {
        Thinking::Off => return,
        Thinking::Budget(tokens) => json!({"type": "enabled", "budget_tokens": tokens}),
        // Newer models leave their thoughts out unless they are asked for them.
        Thinking::Adaptive(_) => json!({"type": "adaptive", "display": "summarized"}),
    };
    member(body, "thinking", &thinking);
}

fn add_tool_choice(body: &mut String, request: &Request) {
    let choice = match &request.tool_choice {
        _ if request.prefix.tools.is_empty() => return,
        ToolChoice::Auto => return,
        ToolChoice::Any => json!({"type": "any"}),
        ToolChoice::None => json!({"type": "none"}),
        ToolChoice::Tool(name) => json!({"type": "tool", "name": name}),
    };
    member(body, "tool_choice", &choice);
}

fn prefix_wire(prefix: &Prefix) -> String {
    let mut wire = String::new();
    // The server refuses empty text.
    let system: Vec<_> = prefix.system.iter().filter(|block| !block.text.is_empty()).collect();
    if !system.is_empty() {
        wire.push_str(",\"system\":[");
        for (at, block) in system.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            let mark = if block.cached { MARK } else { "" };
            let text = to_compact(&block.text);
            wire.push_str(&format!("{comma}{{\"type\":\"text\",\"text\":{text}{mark}}}"));
        }
        wire.push(']');
    }
    if !prefix.tools.is_empty() {
        let tools: Vec<ToolRecord<'_>> = prefix
            .tools
            .iter()
            .map(|tool| ToolRecord {
                name: &tool.name,
                description: &tool.description,
                input_schema: &tool.input_schema,
            })
            .collect();
        member(&mut wire, "tools", &tools);
    }
    wire
}

#[derive(Serialize)]
struct ToolRecord<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
}

#[derive(Serialize)]
struct MessageRecord {
    role: Role,
    content: Vec<Block>,
}

/// A message as it is sent, without a mark; nothing, if nothing of it can be sent.
fn wire(entry: &Entry) -> &str {
    entry.wire(Format::Anthropic, |message| {
        let content = sendable(message);
        if content.is_empty() {
            return String::new();
        }
        to_compact(&MessageRecord { role: message.role, content })
    })
}

fn sendable(message: &ChatMessage) -> Vec<Block> {
    match &message.content {
        Content::Text(text) => sendable_block(&Block::text(text.clone())).into_iter().collect(),
        Content::Blocks(blocks) => blocks.iter().filter_map(sendable_block).collect(),
    }
}

/// A block as the server takes it: no empty text, no thinking that it did not sign, and no marks
/// of former requests.
fn sendable_block(block: &Block) -> Option<Block> {
    match block.meaning() {
        Some(Known::Text { text }) if text.is_empty() => return None,
        Some(Known::Thinking { signature, .. }) if signature.is_empty() => return None,
        Some(
            Known::Text { .. }
            | Known::Thinking { .. }
            | Known::RedactedThinking { .. }
            | Known::ToolUse { .. }
            | Known::ToolResult { .. }
            | Known::Image { .. },
        )
        | None => {}
    }
    let Block::Kept { value, meaning } = block else { return Some(sendable_result(block)) };
    let mut value = value.clone();
    if let Value::Object(members) = &mut value {
        members.shift_remove("cache_control");
    }
    Some(Block::Kept { value, meaning: meaning.clone() })
}

/// The result of a tool may hold blocks, too.
fn sendable_result(block: &Block) -> Block {
    let mut block = block.clone();
    if let Block::Known(Known::ToolResult { content: Some(Content::Blocks(inner)), .. }) =
        &mut block
    {
        *inner = inner.iter().filter_map(sendable_block).collect();
    }
    block
}
