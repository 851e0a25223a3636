//! The events of a stream, and whole messages, as chunks.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::model::reading::{Decode, Ready, document, quoted, tool_input};
use crate::model::refusal::Words;
use crate::model::usage::Usage;
use crate::model::{Chunk, ModelError, StopReason};
use crate::protocol::content::Block;

/// Any event: each kind fills its part. One flat record, because it is read in one pass.
#[derive(Deserialize)]
struct EventRecord {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    index: usize,
    message: Option<MessageRecord>,
    content_block: Option<Map<String, Value>>,
    delta: Option<DeltaRecord>,
    usage: Option<UsageRecord>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct MessageRecord {
    #[serde(default)]
    id: String,
    #[serde(default)]
    model: String,
    #[serde(default)]
    content: Vec<Map<String, Value>>,
    stop_reason: Option<StopReason>,
    #[serde(default)]
    usage: UsageRecord,
}

#[derive(Default, Deserialize)]
struct DeltaRecord {
    #[serde(rename = "type", default)]
    kind: String,
    text: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    partial_json: Option<String>,
    stop_reason: Option<StopReason>,
}

/// Counts so far, not since the last event; what is left out has not changed.
#[derive(Default, Deserialize)]
struct UsageRecord {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
}

impl UsageRecord {
    fn update(&self, usage: &mut Usage) {
        usage.input = self.input_tokens.unwrap_or(usage.input);
        usage.output = self.output_tokens.unwrap_or(usage.output);
        usage.cache_write = self.cache_creation_input_tokens.unwrap_or(usage.cache_write);
        usage.cache_read = self.cache_read_input_tokens.unwrap_or(usage.cache_read);
    }
}

#[derive(Default)]
pub struct Decoder {
    begun: bool,
    usage: Usage,
    stop: Option<StopReason>,
    open: BTreeMap<usize, Open>,
    has_called: bool,
    /// The last call, if its input is empty or broken: it may have been cut off by the limit of
    /// the answer, which is known only at its end.
    doubtful: Option<Result<Chunk, ModelError>>,
}

/// A block that is not complete.
struct Open {
    /// As it began; what arrives later is put in at the end. So fields that we do not know stay.
    start: Map<String, Value>,
    kind: Kind,
    /// The text, the thinking, or the JSON of the input.
    text: String,
    signature: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
    ToolUse,
    /// Redacted thinking and whatever we do not know: kept as it is.
    Other,
}

impl Decode for Decoder {
    fn event(&mut self, data: &str, ready: &mut Ready) -> Result<(), ModelError> {
        let event: EventRecord = match document(data) {
            Ok(event) => event,
            Err(_) if is_unknown(data) => return Ok(()),
            Err(error) => return Err(error),
        };
        match event.kind.as_str() {
            "content_block_delta" => self.delta(event.index, event.delta, ready),
            "content_block_start" => {
                self.start(event.index, event.content_block.unwrap_or_default(), ready)
            }
            "content_block_stop" => match self.open.remove(&event.index) {
                Some(open) => {
                    self.close(event.index, open, ready);
                    Ok(())
                }
                None => Err(stray(event.index)),
            },
            "message_start" => {
                self.begin(event.message.as_ref(), ready);
                Ok(())
            }
            "message_delta" => {
                event.usage.unwrap_or_default().update(&mut self.usage);
                self.stop = event.delta.and_then(|delta| delta.stop_reason).or(self.stop.take());
                Ok(())
            }
            "message_stop" => self.finish(ready),
            "error" => Err(Words::of_error(&event.error.unwrap_or_default()).within_stream()),
            "" if event.error.is_some() => {
                Err(Words::of_error(&event.error.unwrap_or_default()).within_stream())
            }
            // `ping`, and whatever is invented later.
            _ => Ok(()),
        }
    }

    fn whole(&mut self, text: &str, ready: &mut Ready) -> Result<(), ModelError> {
        #[derive(Deserialize)]
        struct Failed {
            error: Option<Value>,
        }
        if let Ok(Failed { error: Some(error) }) = document(text) {
            return Err(Words::of_error(&error).within_stream());
        }
        let message: MessageRecord = document(text)?;
        if message.content.is_empty() && message.stop_reason.is_none() {
            let message = format!("not a message: {}", quoted(text));
            return Err(ModelError::BadAnswer { message });
        }
        self.begin(Some(&message), ready);
        self.stop = message.stop_reason;
        for (index, block) in message.content.into_iter().enumerate() {
            self.start(index, block, ready)?;
            if let Some(open) = self.open.remove(&index) {
                self.close(index, open, ready);
            }
        }
        self.finish(ready)
    }

    fn end(&mut self, _: &mut Ready) -> Result<(), ModelError> {
        Err(ModelError::StreamBroken { message: "it ended before it was complete".to_owned() })
    }
}

impl Decoder {
    fn begin(&mut self, message: Option<&MessageRecord>, ready: &mut Ready) {
        self.begun = true;
        let (mut id, mut model) = (String::new(), String::new());
        if let Some(message) = message {
            (id, model) = (message.id.clone(), message.model.clone());
            message.usage.update(&mut self.usage);
        }
        ready.push_back(Ok(Chunk::Started { id, model, usage: self.usage }));
    }

    /// Ends a block. A call is passed on at once if its input is whole.
    fn close(&mut self, index: usize, open: Open, ready: &mut Ready) {
        let doubtful = open.kind == Kind::ToolUse && open.text.trim().is_empty();
        match open.block() {
            Ok(block) if doubtful => self.doubtful = Some(Ok(Chunk::Block { index, block })),
            Ok(block) => ready.push_back(Ok(Chunk::Block { index, block })),
            Err(error) => self.doubtful = Some(Err(error)),
        }
    }

    fn start(
        &mut self,
        index: usize,
        start: Map<String, Value>,
        ready: &mut Ready,
    ) -> Result<(), ModelError> {
        // The answer goes on, so it was not cut off there.
        if let Some(doubtful) = self.doubtful.take() {
            ready.push_back(Ok(doubtful?));
        }
        if !self.begun {
            let message = "a block came before the message began".to_owned();
            return Err(ModelError::BadAnswer { message });
        }
        let text =
            |key: &str| start.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (kind, already) = match start.get("type").and_then(Value::as_str) {
            Some("text") => (Kind::Text, text("text")),
            Some("thinking") => (Kind::Thinking, text("thinking")),
            Some("tool_use") => (Kind::ToolUse, String::new()),
            Some(_) | None => (Kind::Other, String::new()),
        };
        let signature = text("signature");
        if kind == Kind::ToolUse {
            self.has_called = true;
            ready.push_back(Ok(Chunk::ToolStarted { index, id: text("id"), name: text("name") }));
        }
        let mut open = Open { start, kind, text: String::new(), signature };
        if !already.is_empty() {
            open.add(index, kind, already, ready);
        }
        self.open.insert(index, open);
        Ok(())
    }

    fn delta(
        &mut self,
        index: usize,
        delta: Option<DeltaRecord>,
        ready: &mut Ready,
    ) -> Result<(), ModelError> {
        let open = self.open.get_mut(&index).ok_or_else(|| stray(index))?;
        let DeltaRecord { kind, text, thinking, signature, partial_json, .. } =
            delta.unwrap_or_default();
        match (kind.as_str(), open.kind) {
            ("text_delta", Kind::Text) => {
                open.add(index, Kind::Text, text.unwrap_or_default(), ready);
            }
            ("thinking_delta", Kind::Thinking) => {
                open.add(index, Kind::Thinking, thinking.unwrap_or_default(), ready);
            }
            ("signature_delta", Kind::Thinking) => {
                open.signature.push_str(&signature.unwrap_or_default());
            }
            ("input_json_delta", Kind::ToolUse) => {
                open.add(index, Kind::ToolUse, partial_json.unwrap_or_default(), ready);
            }
            // A call of a tool that the server itself runs.
            ("input_json_delta", Kind::Other) => {
                open.text.push_str(&partial_json.unwrap_or_default());
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, ready: &mut Ready) -> Result<(), ModelError> {
        if let Some(index) = self.open.keys().next() {
            let message = format!("the message ended, but its block {index} did not");
            return Err(ModelError::BadAnswer { message });
        }
        if !self.begun {
            let message = "the message ended before it began".to_owned();
            return Err(ModelError::BadAnswer { message });
        }
        let stop = self.stop.take().unwrap_or(match self.has_called {
            true => StopReason::ToolUse,
            false => StopReason::EndTurn,
        });
        match self.doubtful.take() {
            Some(doubtful) if stop != StopReason::MaxTokens => ready.push_back(Ok(doubtful?)),
            // Half a call is none.
            Some(_) | None => {}
        }
        ready.push_back(Ok(Chunk::Ended { stop, usage: self.usage }));
        Ok(())
    }
}

impl Open {
    fn add(&mut self, index: usize, kind: Kind, text: String, ready: &mut Ready) {
        if text.is_empty() {
            return;
        }
        self.text.push_str(&text);
        match kind {
            Kind::Text => ready.push_back(Ok(Chunk::Text { index, text })),
            Kind::Thinking => ready.push_back(Ok(Chunk::Thinking { index, text })),
            Kind::ToolUse => ready.push_back(Ok(Chunk::ToolInput { index, json: text })),
            Kind::Other => {}
        }
    }

    fn block(self) -> Result<Block, ModelError> {
        let Self { start: mut value, kind, text, signature } = self;
        match kind {
            Kind::Text => {
                value.insert("text".to_owned(), text.into());
            }
            Kind::Thinking => {
                value.insert("thinking".to_owned(), text.into());
                value.insert("signature".to_owned(), signature.into());
            }
            Kind::ToolUse | Kind::Other if !text.trim().is_empty() => {
                let name = value.get("name").and_then(Value::as_str).unwrap_or("a tool");
                let input = tool_input(name, &text)?;
                value.insert("input".to_owned(), input);
            }
            // The input came with the start, or is empty.
            Kind::ToolUse if value.get("input").is_none_or(Value::is_null) => {
                value.insert("input".to_owned(), Map::new().into());
            }
            Kind::ToolUse | Kind::Other => {}
        }
        serde_json::from_value(Value::Object(value))
            .map_err(|error| ModelError::BadAnswer { message: error.to_string() })
    }
}

/// Whether an event that does not read as ours is of a kind, or brings a delta, that was invented
/// later.
fn is_unknown(data: &str) -> bool {
    const EVENTS: &[&str] = &[
        "message_start",
        "message_delta",
        "message_stop",
        "content_block_start",
        "content_block_stop",
        "error",
    ];
    const DELTAS: &[&str] =
        &["text_delta", "thinking_delta", "signature_delta", "input_json_delta"];
    let Ok(value) = serde_json::from_str::<Value>(data) else { return false };
    let kind = |value: &Value| value.get("type").and_then(Value::as_str).map(str::to_owned);
    match kind(&value) {
        Some(event) if event == "content_block_delta" => {
            let delta = value.get("delta").and_then(kind);
            delta.is_some_and(|delta| !DELTAS.contains(&delta.as_str()))
        }
        Some(event) => !EVENTS.contains(&event.as_str()),
        None => false,
    }
}

fn stray(index: usize) -> ModelError {
    ModelError::BadAnswer { message: format!("a piece of block {index}, which is not open") }
}
