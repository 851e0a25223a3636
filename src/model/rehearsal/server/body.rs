//! Whether a request is one that the real API would take.

use std::collections::HashSet;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::response::IntoResponse;
use serde_json::Value;

use super::refusal::Refusal;
use crate::protocol::content::{ChatMessage, Known, Role};

/// How many cache marks the API takes.
const MARKS: usize = 4;
/// So many bytes of what is not JSON are logged.
const LONGEST_LOGGED: usize = 64 * 1024;

/// A request that makes sense.
#[derive(Debug)]
pub struct Asked {
    pub model: String,
    pub system: String,
    pub messages: Vec<ChatMessage>,
    pub streams: bool,
}

type Checked<T> = Result<T, Refusal>;

/// A body as it came.
#[derive(Debug)]
pub struct Came {
    /// For the log. What is not JSON is text here, and not at any length.
    pub value: Value,
    wrong: Option<Refusal>,
}

impl Came {
    pub fn read(sent: Result<Bytes, BytesRejection>) -> Self {
        let bytes = match sent {
            Ok(bytes) => bytes,
            Err(rejection) => {
                let message = rejection.body_text();
                let status = rejection.into_response().status().as_u16();
                return Self { value: Value::Null, wrong: Some(Refusal::new(status, message)) };
            }
        };
        let error = match serde_json::from_slice::<Value>(&bytes) {
            Ok(value) if value.is_object() => return Self { value, wrong: None },
            Ok(value) => {
                let wrong = Refusal::invalid("Input should be a valid dictionary");
                return Self { value, wrong: Some(wrong) };
            }
            Err(error) => error,
        };
        let wrong = Refusal::invalid(format!("The request body is not valid JSON: {error}"));
        let value = match &bytes[..bytes.len().min(LONGEST_LOGGED)] {
            [] => Value::Null,
            some => Value::String(String::from_utf8_lossy(some).into_owned()),
        };
        Self { value, wrong: Some(wrong) }
    }

    pub fn json(&self) -> Checked<&Value> {
        self.wrong.clone().map_or(Ok(&self.value), Err)
    }
}

impl Asked {
    pub fn parse(json: &Value) -> Checked<Self> {
        let model = check_model(json)?;
        check_max_tokens(json)?;
        let streams = match json.get("stream") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(streams)) => *streams,
            Some(_) => return Err(Refusal::invalid("stream: Input should be a valid boolean")),
        };
        let system = check_system(json)?;
        check_tools(json)?;
        let messages = check_messages(json)?;
        check_pairs(&messages)?;
        check_marks(json)?;
        Ok(Self { model, system, messages, streams })
    }
}

/// What `count_tokens` needs: everything but the limit.
pub fn check_countable(json: &Value) -> Checked<()> {
    check_model(json)?;
    check_system(json)?;
    check_tools(json)?;
    check_pairs(&check_messages(json)?)
}

fn required(place: &str) -> Refusal {
    Refusal::invalid(format!("{place}: Field required"))
}

fn check_model(json: &Value) -> Checked<String> {
    match json.get("model") {
        None => Err(required("model")),
        Some(Value::String(model)) if !model.is_empty() => Ok(model.clone()),
        Some(_) => Err(Refusal::invalid("model: Input should be a valid string")),
    }
}

fn check_max_tokens(json: &Value) -> Checked<()> {
    let max = json.get("max_tokens").ok_or_else(|| required("max_tokens"))?;
    match max.as_i64() {
        Some(1..) => Ok(()),
        Some(_) => Err(Refusal::invalid("max_tokens: Input should be greater than or equal to 1")),
        None => Err(Refusal::invalid("max_tokens: Input should be a valid integer")),
    }
}

fn check_system(json: &Value) -> Checked<String> {
    match json.get("system") {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Array(blocks)) => {
            let texts = blocks.iter().enumerate().map(|(index, block)| {
                let text = block.get("text").and_then(Value::as_str);
                text.ok_or_else(|| required(&format!("system.{index}.text")))
            });
            Ok(texts.collect::<Checked<Vec<_>>>()?.join("\n"))
        }
        Some(_) => Err(Refusal::invalid("system: Input should be a valid list")),
    }
}

fn check_tools(json: &Value) -> Checked<()> {
    let tools = match json.get("tools") {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Array(tools)) => tools,
        Some(_) => return Err(Refusal::invalid("tools: Input should be a valid list")),
    };
    let mut names = HashSet::new();
    for (index, tool) in tools.iter().enumerate() {
        let name = tool.get("name").and_then(Value::as_str);
        let name = name.ok_or_else(|| required(&format!("tools.{index}.name")))?;
        if !names.insert(name) {
            return Err(Refusal::invalid("tools: Tool names must be unique."));
        }
        // Tools that the server itself would run have a type and no schema.
        let own = matches!(tool.get("type").and_then(Value::as_str), None | Some("custom"));
        if own && !tool.get("input_schema").is_some_and(Value::is_object) {
            return Err(required(&format!("tools.{index}.custom.input_schema")));
        }
    }
    Ok(())
}

fn check_messages(json: &Value) -> Checked<Vec<ChatMessage>> {
    let messages = match json.get("messages") {
        None => return Err(required("messages")),
        Some(Value::Array(messages)) => messages,
        Some(_) => return Err(Refusal::invalid("messages: Input should be a valid list")),
    };
    if messages.is_empty() {
        return Err(Refusal::invalid("messages: at least one message is required"));
    }
    messages.iter().enumerate().map(|(index, message)| check_message(index, message)).collect()
}

fn check_message(index: usize, message: &Value) -> Checked<ChatMessage> {
    let place = |rest: &str| format!("messages.{index}.{rest}");
    match message.get("role").and_then(Value::as_str) {
        Some("user") => {}
        Some("assistant") if index == 0 => {
            return Err(Refusal::invalid("messages: first message must use the \"user\" role"));
        }
        Some("assistant") => {}
        Some("system") => {
            return Err(Refusal::invalid(
                "messages: Unexpected role \"system\". The Messages API accepts a top-level \
                 `system` parameter, not \"system\" as an input message role.",
            ));
        }
        Some(_) => {
            let what = "Input should be 'user' or 'assistant'";
            return Err(Refusal::invalid(format!("{}: {what}", place("role"))));
        }
        None => return Err(required(&place("role"))),
    }
    let content = message.get("content").ok_or_else(|| required(&place("content")))?;
    for (number, block) in content.as_array().into_iter().flatten().enumerate() {
        let place = place(&format!("content.{number}"));
        if block.get("type").and_then(Value::as_str).is_none() {
            return Err(required(&format!("{place}.type")));
        }
        if block["type"] == "text" && block.get("text").and_then(Value::as_str) == Some("") {
            return Err(Refusal::invalid("messages: text content blocks must be non-empty"));
        }
    }
    serde_json::from_value(message.clone()).map_err(|_| {
        Refusal::invalid(format!("{}: Input should be a valid list", place("content")))
    })
}

/// Every result answers a call of the message before, and every call is answered by the next.
fn check_pairs(messages: &[ChatMessage]) -> Checked<()> {
    let mut open: Vec<String> = Vec::new();
    let mut answered: HashSet<String> = HashSet::new();
    let mut speaker = Role::User;
    for (index, message) in messages.iter().enumerate() {
        if message.role == Role::Assistant && speaker == Role::User {
            check_answered(index, &open, &answered)?;
            open.clear();
            answered.clear();
        }
        speaker = message.role;
        for (number, block) in message.content.known().into_iter().enumerate() {
            match (message.role, block) {
                (Role::Assistant, Known::ToolUse { id, .. }) => open.push(id),
                (Role::User, Known::ToolResult { tool_use_id: id, .. }) => {
                    if !open.contains(&id) {
                        return Err(Refusal::invalid(format!(
                            "messages.{index}.content.{number}: unexpected `tool_use_id` found \
                             in `tool_result` blocks: {id}. Each `tool_result` block must have a \
                             corresponding `tool_use` block in the previous message."
                        )));
                    }
                    if !answered.insert(id.clone()) {
                        return Err(Refusal::invalid(format!(
                            "messages.{index}.content.{number}: each tool_use must have a single \
                             result. Found multiple `tool_result` blocks with id: {id}"
                        )));
                    }
                }
                _ => {}
            }
        }
    }
    check_answered(messages.len(), &open, &answered)
}

fn check_answered(index: usize, open: &[String], answered: &HashSet<String>) -> Checked<()> {
    let left: Vec<&str> =
        open.iter().filter(|id| !answered.contains(*id)).map(String::as_str).collect();
    if left.is_empty() {
        return Ok(());
    }
    Err(Refusal::invalid(format!(
        "messages.{}: `tool_use` ids were found without `tool_result` blocks immediately after: \
         {}. Each `tool_use` block must have a corresponding `tool_result` block in the next \
         message.",
        index.saturating_sub(1),
        left.join(", ")
    )))
}

fn check_marks(json: &Value) -> Checked<()> {
    let count = marks(json);
    match count > MARKS {
        false => Ok(()),
        true => Err(Refusal::invalid(format!(
            "A maximum of {MARKS} blocks with cache_control may be provided. Found {count}."
        ))),
    }
}

/// Marks on tools, system blocks and message blocks; what a tool's input says does not count.
fn marks(json: &Value) -> usize {
    let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
    let messages = list(json.get("messages"));
    let blocks = messages.iter().flat_map(|message| list(message.get("content")));
    let all = list(json.get("tools")).into_iter().chain(list(json.get("system"))).chain(blocks);
    all.filter(|block| block.get("cache_control").is_some_and(|mark| !mark.is_null())).count()
}
