//! Chunks as the events of a Messages API stream.
//!
//! The server sends them. In process nobody does, but a cut happens at the same byte of them.

use bytes::Bytes;
use serde_json::{Value, json};

use super::script;
use crate::model::Chunk;
use crate::model::usage::Usage;
use crate::protocol::content::{Block, Known};

/// An event whose data breaks off.
pub const GARBAGE: &str =
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"ind\n\n";

pub fn usage(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
    })
}

/// The events, each with the number of characters it shows.
pub fn frames(chunks: &[Chunk]) -> Vec<(Bytes, usize)> {
    stream(chunks).frames
}

/// How many chunks a client has when a stream ends after so many bytes.
pub fn arrived(chunks: &[Chunk], bytes: usize) -> usize {
    let stream = stream(chunks);
    let sizes = stream.frames.iter().map(|(frame, _)| frame.len());
    let ends = sizes.scan(0_usize, |end, size| {
        *end += size;
        Some(*end)
    });
    // An event that did not arrive whole is none.
    let whole = ends.take_while(|end| *end <= bytes).count();
    stream.seen_with.iter().filter(|frame| **frame < whole).count()
}

fn stream(chunks: &[Chunk]) -> Stream {
    let mut stream = Stream::default();
    for chunk in chunks {
        stream.add(chunk);
    }
    stream
}

#[derive(Default)]
struct Stream {
    frames: Vec<(Bytes, usize)>,
    /// For each chunk, the frame with which a client has it.
    seen_with: Vec<usize>,
    /// The block that was begun and not ended.
    open: Option<usize>,
    has_pinged: bool,
}

impl Stream {
    fn add(&mut self, chunk: &Chunk) {
        let before = self.frames.len();
        match chunk {
            Chunk::Started { id, model, usage: so_far } => self.event(json!({
                "type": "message_start",
                "message": {
                    "id": id, "type": "message", "role": "assistant", "model": model,
                    "content": [], "stop_reason": null, "stop_sequence": null,
                    "usage": usage(*so_far),
                },
            })),
            Chunk::Text { index, text } => {
                self.begin(*index, || json!({ "type": "text", "text": "" }));
                self.delta(*index, json!({ "type": "text_delta", "text": text }), chunk);
            }
            Chunk::Thinking { index, text } => {
                self.begin(*index, empty_thinking);
                self.delta(*index, json!({ "type": "thinking_delta", "thinking": text }), chunk);
            }
            Chunk::ToolStarted { index, id, name } => {
                self.begin(
                    *index,
                    || json!({ "type": "tool_use", "id": id, "name": name, "input": {} }),
                );
                self.delta(
                    *index,
                    json!({ "type": "input_json_delta", "partial_json": "" }),
                    chunk,
                );
            }
            Chunk::ToolInput { index, json } => {
                let delta = json!({ "type": "input_json_delta", "partial_json": json });
                self.delta(*index, delta, chunk);
            }
            Chunk::Block { index, block } => self.end(*index, block, chunk),
            Chunk::Ended { stop, usage: all } => {
                self.event(json!({
                    "type": "message_delta",
                    "delta": { "stop_reason": stop, "stop_sequence": null },
                    "usage": usage(*all),
                }));
                self.event(json!({ "type": "message_stop" }));
            }
            Chunk::Retrying { .. } => {}
        }
        let seen_with = match chunk {
            // A client knows a call by the start of its block.
            Chunk::ToolStarted { .. } => before,
            Chunk::Started { .. }
            | Chunk::Text { .. }
            | Chunk::Thinking { .. }
            | Chunk::ToolInput { .. }
            | Chunk::Block { .. }
            | Chunk::Retrying { .. }
            | Chunk::Ended { .. } => self.frames.len().saturating_sub(1),
        };
        self.seen_with.push(seen_with);
    }

    fn begin(&mut self, index: usize, block: impl FnOnce() -> Value) {
        if self.open == Some(index) {
            return;
        }
        self.open = Some(index);
        let block = block();
        self.event(
            json!({ "type": "content_block_start", "index": index, "content_block": block }),
        );
        if !self.has_pinged {
            self.has_pinged = true;
            self.event(json!({ "type": "ping" }));
        }
    }

    fn end(&mut self, index: usize, block: &Block, chunk: &Chunk) {
        if let Some(Known::Thinking { signature, .. }) = block.meaning() {
            self.begin(index, empty_thinking);
            self.delta(index, json!({ "type": "signature_delta", "signature": signature }), chunk);
        }
        self.event(json!({ "type": "content_block_stop", "index": index }));
        self.open = None;
    }

    fn delta(&mut self, index: usize, delta: Value, chunk: &Chunk) {
        let event = json!({ "type": "content_block_delta", "index": index, "delta": delta });
        self.push(&event, script::text_of(chunk).chars().count());
    }

    fn event(&mut self, event: Value) {
        self.push(&event, 0);
    }

    fn push(&mut self, event: &Value, characters: usize) {
        let name = event["type"].as_str().unwrap_or_default();
        self.frames.push((Bytes::from(format!("event: {name}\ndata: {event}\n\n")), characters));
    }
}

fn empty_thinking() -> Value {
    json!({ "type": "thinking", "thinking": "", "signature": "" })
}
