//! What is sent: JSON put together from pieces that were made once.
//!
//! Tools and the system prompt stand first, then the conversation, then what varies. One message
//! of ours may become several here: results of tools have a role of their own.

use serde_json::{Value, json};

use crate::model::request::{Entry, Format, Prefix, Request, ToolChoice, member};
use crate::protocol::content::{ChatMessage, Content, ImageSource, Known, Role};
use crate::protocol::json::to_compact;

/// The name under which a server takes the limit of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    MaxTokens,
    MaxCompletionTokens,
}

impl Limit {
    fn as_str(self) -> &'static str {
        match self {
            Self::MaxTokens => "max_tokens",
            Self::MaxCompletionTokens => "max_completion_tokens",
        }
    }
}

/// The body of a request for an answer.
pub fn body(request: &Request, limit: Limit) -> String {
    let mut body = common(request);
    member(&mut body, limit.as_str(), &request.max_tokens);
    member(&mut body, "stream", &true);
    member(&mut body, "stream_options", &json!({"include_usage": true}));
    let sampling = &request.sampling;
    if let Some(temperature) = sampling.temperature {
        member(&mut body, "temperature", &temperature);
    }
    if let Some(top_p) = sampling.top_p {
        member(&mut body, "top_p", &top_p);
    }
    if !sampling.stop_sequences.is_empty() {
        member(&mut body, "stop", &sampling.stop_sequences);
    }
    let choice = match &request.tool_choice {
        ToolChoice::Auto => None,
        ToolChoice::Any => Some(json!("required")),
        ToolChoice::None => Some(json!("none")),
        ToolChoice::Tool(name) => Some(json!({"type": "function", "function": {"name": name}})),
    };
    if let Some(choice) = choice.filter(|_| !request.prefix.tools.is_empty()) {
        member(&mut body, "tool_choice", &choice);
    }
    body.push('}');
    body
}

/// Everything up to the end of the messages.
fn common(request: &Request) -> String {
    let prefix = request.prefix.wire(Format::OpenAi, prefix_wire);
    let wires = request.messages.entries().iter().map(|entry| wire(entry));
    let wires: Vec<&str> = wires.filter(|wire| !wire.is_empty()).collect();
    let length: usize = wires.iter().map(|wire| wire.len() + 1).sum();
    let mut body = String::with_capacity(prefix.len() + length + 1024);
    body.push_str("{\"model\":");
    body.push_str(&to_compact(&request.model));
    body.push_str(prefix);
    for wire in wires {
        if !body.ends_with('[') {
            body.push(',');
        }
        body.push_str(wire);
    }
    body.push(']');
    body
}

/// The tools, and the messages as far as the system prompt: their bracket stays open.
fn prefix_wire(prefix: &Prefix) -> String {
    let mut wire = String::new();
    if !prefix.tools.is_empty() {
        let tools = prefix.tools.iter().map(|tool| {
            let (name, description) = (&tool.name, &tool.description);
            let parameters = &tool.input_schema;
            let function =
                json!({"name": name, "description": description, "parameters": parameters});
            json!({"type": "function", "function": function})
        });
        member(&mut wire, "tools", &tools.collect::<Vec<Value>>());
    }
    wire.push_str(",\"messages\":[");
    let texts = prefix.system.iter().map(|block| block.text.as_str());
    let system = joined(texts);
    if !system.is_empty() {
        wire.push_str(&to_compact(&json!({"role": "system", "content": system})));
    }
    wire
}

/// A message as it is sent: none, one or several, with commas between them.
fn wire(entry: &Entry) -> &str {
    entry.wire(Format::OpenAi, |message| {
        let messages = match message.role {
            Role::User => user_messages(message),
            Role::Assistant => assistant_message(message).into_iter().collect(),
        };
        messages.iter().map(to_compact).collect::<Vec<_>>().join(",")
    })
}

/// Results come first: a server wants them directly behind the calls.
fn user_messages(message: &ChatMessage) -> Vec<Value> {
    let (mut messages, mut texts, mut images) = (Vec::new(), Vec::new(), Vec::new());
    for block in message.content.known() {
        match block {
            Known::ToolResult { tool_use_id, content, is_error } => {
                let content = content.unwrap_or(Content::Text(String::new()));
                // A result is text only; pictures follow as if the user had shown them.
                images.extend(pictures(&content));
                let failed = if is_error == Some(true) { "The tool failed: " } else { "" };
                let said = format!("{failed}{}", content.text());
                messages
                    .push(json!({"role": "tool", "tool_call_id": tool_use_id, "content": said}));
            }
            Known::Text { text } => texts.push(text),
            Known::Image { source } => images.push(picture(&source)),
            Known::Thinking { .. } | Known::RedactedThinking { .. } | Known::ToolUse { .. } => {}
        }
    }
    let text = joined(texts.iter().map(String::as_str));
    if images.is_empty() {
        // Plain text where it suffices: small servers know nothing else.
        if !text.is_empty() {
            messages.push(json!({"role": "user", "content": text}));
        }
    } else {
        let text = (!text.is_empty()).then(|| json!({"type": "text", "text": text}));
        let parts: Vec<Value> = text.into_iter().chain(images).collect();
        messages.push(json!({"role": "user", "content": parts}));
    }
    messages
}

fn assistant_message(message: &ChatMessage) -> Option<Value> {
    let (mut texts, mut calls) = (Vec::new(), Vec::new());
    for block in message.content.known() {
        match block {
            Known::Text { text } => texts.push(text),
            Known::ToolUse { id, name, input } => {
                let function = json!({"name": name, "arguments": input.to_string()});
                calls.push(json!({"id": id, "type": "function", "function": function}));
            }
            Known::Thinking { .. }
            | Known::RedactedThinking { .. }
            | Known::ToolResult { .. }
            | Known::Image { .. } => {}
        }
    }
    let text = joined(texts.iter().map(String::as_str));
    let content = if text.is_empty() { Value::Null } else { text.into() };
    match (content, calls.is_empty()) {
        (Value::Null, true) => None,
        (content, true) => Some(json!({"role": "assistant", "content": content})),
        (content, false) => {
            Some(json!({"role": "assistant", "content": content, "tool_calls": calls}))
        }
    }
}

fn pictures(content: &Content) -> Vec<Value> {
    let known = content.known();
    let sources = known.iter().filter_map(|block| match block {
        Known::Image { source } => Some(source),
        Known::Text { .. }
        | Known::Thinking { .. }
        | Known::RedactedThinking { .. }
        | Known::ToolUse { .. }
        | Known::ToolResult { .. } => None,
    });
    sources.map(picture).collect()
}

fn picture(source: &ImageSource) -> Value {
    let url = match source {
        ImageSource::Base64 { media_type, data } => format!("data:{media_type};base64,{data}"),
        ImageSource::Url { url } => url.clone(),
    };
    json!({"type": "image_url", "image_url": {"url": url}})
}

fn joined<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
}
