//! An answer as the chunks of a stream, whole or spoilt by a fault.

use std::time::Duration;

use serde_json::Value;

use super::cache::tokens;
use super::events;
use super::paced::Step;
use super::playbook::FaultKind;
use super::player::Play;
use crate::model::refusal::Words;
use crate::model::usage::Usage;
use crate::model::{Chunk, ModelError};
use crate::protocol::content::{Block, Known};

/// How many characters arrive at once, at most.
const PIECE: usize = 24;

/// The whole answer.
pub fn chunks(play: &Play, model: &str, usage: Usage) -> Vec<Chunk> {
    let first = Usage { output: usage.output.min(1), ..usage };
    let mut chunks =
        vec![Chunk::Started { id: play.id.clone(), model: model.to_owned(), usage: first }];
    for (index, block) in play.blocks.iter().enumerate() {
        match block {
            Known::Thinking { thinking, .. } => {
                chunks.extend(pieces(thinking).map(|text| Chunk::Thinking { index, text }));
            }
            Known::Text { text } => {
                chunks.extend(pieces(text).map(|text| Chunk::Text { index, text }));
            }
            Known::ToolUse { id, name, input } => {
                let (id, name) = (id.clone(), name.clone());
                chunks.push(Chunk::ToolStarted { index, id, name });
                let json = input.to_string();
                chunks.extend(pieces(&json).map(|json| Chunk::ToolInput { index, json }));
            }
            Known::RedactedThinking { .. } | Known::ToolResult { .. } | Known::Image { .. } => {}
        }
        chunks.push(Chunk::Block { index, block: Block::Known(block.clone()) });
    }
    chunks.push(Chunk::Ended { stop: play.stop(), usage });
    chunks
}

/// What the answer costs: as the playbook says, else as counted.
pub fn usage(play: &Play, read: Usage) -> Usage {
    let given = play.usage;
    let read = match given.input {
        Some(input) => Usage { input, ..Usage::default() },
        None => read,
    };
    Usage {
        input: read.input,
        output: given.output.unwrap_or_else(|| tokens(play.blocks.iter().map(size).sum()).max(1)),
        cache_write: given.cache_write.unwrap_or(read.cache_write),
        cache_read: given.cache_read.unwrap_or(read.cache_read),
    }
}

fn size(block: &Known) -> usize {
    match block {
        Known::Thinking { thinking, .. } => thinking.len(),
        Known::Text { text } => text.len(),
        Known::ToolUse { name, input, .. } => name.len() + input.to_string().len(),
        Known::RedactedThinking { .. } | Known::ToolResult { .. } | Known::Image { .. } => 0,
    }
}

/// The steps of an attempt. `asked` is how many tokens the request has, `patience` how long a
/// client waits for more.
pub fn steps(
    chunks: Vec<Chunk>,
    fault: Option<FaultKind>,
    asked: u64,
    patience: Duration,
) -> Vec<Step<Chunk, ModelError>> {
    let fail = |error| Step::Fail(error);
    let broken = |message: String| ModelError::StreamBroken { message };
    let mut chunks = chunks.into_iter();
    let mut steps = Vec::new();
    match fault {
        None => {}
        Some(FaultKind::Status { status, retry_after }) => {
            return vec![fail(refusal(status, retry_after))];
        }
        Some(FaultKind::TooLong) => {
            return vec![fail(ModelError::ContextTooLong { message: too_long(asked) })];
        }
        Some(FaultKind::CutAfter(bytes)) => {
            let arrived = events::arrived(chunks.as_slice(), bytes);
            // A cut behind the end of the stream cuts nothing.
            if arrived < chunks.len() {
                steps.extend(chunks.take(arrived).map(show));
                steps.push(fail(broken(format!("cut after {bytes} bytes, as the playbook says"))));
                return steps;
            }
        }
        Some(FaultKind::Stall(time)) => {
            steps.extend(chunks.next().map(show));
            steps.push(Step::Wait(time.min(patience)));
            if time > patience {
                let seconds = patience.as_secs_f32();
                steps.push(fail(broken(format!("nothing came for {seconds} s"))));
                return steps;
            }
        }
        Some(FaultKind::Garbage) => {
            steps.extend(chunks.next().map(show));
            let message = "garbage, as the playbook says".to_owned();
            steps.push(fail(ModelError::BadAnswer { message }));
            return steps;
        }
    }
    steps.extend(chunks.map(show));
    steps
}

fn show(chunk: Chunk) -> Step<Chunk, ModelError> {
    let characters = text_of(&chunk).chars().count();
    Step::Show(chunk, characters)
}

/// What a chunk adds to what is seen.
pub fn text_of(chunk: &Chunk) -> &str {
    match chunk {
        Chunk::Text { text, .. } | Chunk::Thinking { text, .. } => text,
        Chunk::ToolInput { json, .. } => json,
        Chunk::Started { .. }
        | Chunk::ToolStarted { .. }
        | Chunk::Block { .. }
        | Chunk::Retrying { .. }
        | Chunk::Ended { .. } => "",
    }
}

/// How the API says that so many tokens are more than it takes.
pub fn too_long(tokens: u64) -> String {
    format!("prompt is too long: {tokens} tokens > {} maximum", tokens.saturating_sub(1))
}

/// The error that a client makes of a status.
fn refusal(status: u16, retry_after: Option<Duration>) -> ModelError {
    Words::of_body(&format!("{status}, as the playbook says")).judge(status, retry_after)
}

/// A text in pieces of a word or so.
fn pieces(text: &str) -> impl Iterator<Item = String> {
    let words = text.split_inclusive(char::is_whitespace);
    words.flat_map(|word| {
        let characters: Vec<char> = word.chars().collect();
        let parts = characters.chunks(PIECE).map(|part| part.iter().collect::<String>());
        parts.collect::<Vec<_>>()
    })
}

/// The blocks as a body of the Messages API holds them.
pub fn content(play: &Play) -> Value {
    play.blocks.iter().filter_map(|block| serde_json::to_value(block).ok()).collect()
}
