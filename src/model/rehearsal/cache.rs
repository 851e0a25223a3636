//! A prompt cache that only pretends: it remembers which prefixes it has seen.
//!
//! A request is a row of parts (tools, system, messages, in the order of the Messages API), some
//! of them marked. What stands up to a mark is remembered, as a hash; the longest remembered
//! prefix up to the last mark counts as read. Marks themselves are not part of anything.

use std::collections::{HashMap, VecDeque};

use serde_json::{Value, json};

use super::digest::Digest;
use crate::model::request::Request;
use crate::model::usage::Usage;
use crate::protocol::content::{ChatMessage, Content, Role};

const BYTES_PER_TOKEN: usize = 4;
/// How many prefixes are remembered; the one that was not used for longest goes first.
const ROOM: usize = 4096;

/// Tokens of so many bytes.
pub fn tokens(bytes: usize) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN) as u64
}

/// One part of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    text: String,
    mark: Mark,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// The cache may keep everything up to here.
    Keep,
    Plain,
}

#[derive(Debug, Default)]
pub struct Cache {
    /// When each prefix was used last.
    seen: HashMap<Digest, u64>,
    /// Uses in their order; those that are not the last of their prefix are passed over.
    uses: VecDeque<(Digest, u64)>,
    clock: u64,
}

impl Cache {
    /// What this request costs to read, and remembers its marked prefixes.
    pub fn read(&mut self, parts: &[Part]) -> Usage {
        let last_mark = parts.iter().rposition(|part| part.mark == Mark::Keep);
        let (mut digest, mut length) = (Digest::default(), 0);
        let (mut known, mut kept) = (0, 0);
        let mut marked = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            digest = digest.with(part.text.as_bytes());
            length += part.text.len();
            if last_mark.is_none_or(|last| index > last) {
                continue;
            }
            if self.seen.contains_key(&digest) {
                known = length;
                marked.push(digest);
            } else if part.mark == Mark::Keep {
                marked.push(digest);
            }
            if part.mark == Mark::Keep {
                kept = length;
            }
        }
        marked.into_iter().for_each(|digest| self.remember(digest));
        Usage {
            input: tokens(length) - tokens(kept),
            output: 0,
            cache_write: tokens(kept) - tokens(known),
            cache_read: tokens(known),
        }
    }

    fn remember(&mut self, digest: Digest) {
        self.clock += 1;
        self.seen.insert(digest, self.clock);
        self.uses.push_back((digest, self.clock));
        while self.seen.len() > ROOM || self.uses.len() > 2 * ROOM {
            let Some((digest, time)) = self.uses.pop_front() else { break };
            if self.seen.get(&digest) == Some(&time) {
                self.seen.remove(&digest);
            }
        }
    }
}

/// How many tokens all of it is.
pub fn count(parts: &[Part]) -> u64 {
    tokens(parts.iter().map(|part| part.text.len()).sum())
}

/// The parts of one of our own requests. The marks are where the real client puts them: behind
/// the system blocks that stay, and behind the last message of the user.
pub fn parts_of(request: &Request) -> Vec<Part> {
    let mut parts = Vec::new();
    for tool in &request.prefix.tools {
        let spec = json!({
            "name": tool.name, "description": tool.description, "input_schema": tool.input_schema,
        });
        parts.push(Part::new(&spec));
    }
    for block in &request.prefix.system {
        let mut part = Part::new(&json!({ "type": "text", "text": block.text }));
        if block.cached {
            part.mark = Mark::Keep;
        }
        parts.push(part);
    }
    let mut last_of_user = None;
    for message in request.messages.messages() {
        parts.extend(parts_of_message(message));
        if message.role == Role::User {
            last_of_user = Some(parts.len() - 1);
        }
    }
    if let Some(part) = last_of_user.and_then(|index| parts.get_mut(index)) {
        part.mark = Mark::Keep;
    }
    parts
}

fn parts_of_message(message: &ChatMessage) -> Vec<Part> {
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    let mut parts = vec![Part::new(&json!(role))];
    match &message.content {
        Content::Text(text) => parts.push(text_part(text)),
        Content::Blocks(blocks) => {
            let values = blocks.iter().filter_map(|block| serde_json::to_value(block).ok());
            parts.extend(values.map(|value| Part::new(&value)));
        }
    }
    parts
}

/// The parts of a body of the Messages API.
pub fn parts_of_body(body: &Value) -> Vec<Part> {
    let mut parts = Vec::new();
    let items = |key: &str| body.get(key).and_then(Value::as_array).into_iter().flatten();
    parts.extend(items("tools").map(Part::new));
    if let Some(system) = body.get("system") {
        parts.extend(content_parts(system));
    }
    for message in items("messages") {
        parts.extend(message.get("role").map(Part::new));
        parts.extend(message.get("content").map(content_parts).into_iter().flatten());
    }
    parts
}

/// Plain text is the same as one block of text.
fn content_parts(content: &Value) -> Vec<Part> {
    match content {
        Value::String(text) => vec![text_part(text)],
        Value::Array(blocks) => blocks.iter().map(Part::new).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

fn text_part(text: &str) -> Part {
    Part::new(&json!({ "type": "text", "text": text }))
}

impl Part {
    fn new(value: &Value) -> Self {
        let mark = value.get("cache_control").filter(|mark| !mark.is_null());
        let mark = if mark.is_some() { Mark::Keep } else { Mark::Plain };
        let mut value = value.clone();
        if let Some(fields) = value.as_object_mut() {
            fields.shift_remove("cache_control");
        }
        Self { text: value.to_string(), mark }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(text: &str, mark: Mark) -> Part {
        Part { text: text.to_owned(), mark }
    }

    #[test]
    fn the_longest_remembered_prefix_is_read() {
        let mut cache = Cache::default();
        let first = [part("12345678", Mark::Keep), part("1234", Mark::Plain)];
        let usage =
            |input, cache_write, cache_read| Usage { input, output: 0, cache_write, cache_read };
        assert_eq!(cache.read(&first), usage(1, 2, 0));
        assert_eq!(cache.read(&first), usage(1, 0, 2), "the same again");
        let longer = [
            part("12345678", Mark::Plain),
            part("1234", Mark::Plain),
            part("abcdefgh", Mark::Keep),
        ];
        assert_eq!(cache.read(&longer), usage(0, 3, 2), "the mark has moved");
        let other = [part("x2345678", Mark::Keep)];
        assert_eq!(cache.read(&other), usage(0, 2, 0), "another beginning");
        let unmarked = [part("12345678", Mark::Plain)];
        assert_eq!(cache.read(&unmarked), usage(2, 0, 0), "nobody asked for the cache");
    }

    #[test]
    fn it_does_not_grow_forever_and_forgets_the_oldest() {
        let mut cache = Cache::default();
        let kept = [part("kept", Mark::Keep)];
        cache.read(&kept);
        for number in 0..3 * ROOM {
            cache.read(&[part(&number.to_string(), Mark::Keep)]);
            if number % 100 == 0 {
                assert_eq!(cache.read(&kept).cache_read, 1, "used again and again");
            }
        }
        assert!(cache.seen.len() <= ROOM && cache.uses.len() <= 2 * ROOM);
        assert_eq!(cache.read(&[part("0", Mark::Keep)]).cache_read, 0);
    }
}
