//! The pieces of a completion, and whole completions, as chunks.
//!
//! The format has no blocks: text, reasoning and calls come in any order, and blocks are made of
//! them here. A call becomes a block only when the server has said that it is done.

use serde::Deserialize;
use serde_json::Value;

use crate::model::reading::{Decode, Ready, document, quoted, tool_input};
use crate::model::refusal::Words;
use crate::model::usage::Usage;
use crate::model::{Chunk, ModelError, StopReason};
use crate::protocol::content::{Block, Known};

#[derive(Deserialize)]
struct PieceRecord {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    model: Option<String>,
    choices: Option<Vec<ChoiceRecord>>,
    usage: Option<UsageRecord>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct ChoiceRecord {
    #[serde(default)]
    index: Option<u64>,
    delta: Option<DeltaRecord>,
    /// A whole completion has this in its place, of the same shape.
    message: Option<DeltaRecord>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct DeltaRecord {
    content: Option<TextRecord>,
    reasoning_content: Option<TextRecord>,
    reasoning: Option<TextRecord>,
    refusal: Option<TextRecord>,
    tool_calls: Option<Vec<CallRecord>>,
}

/// Text, or parts that hold text.
#[derive(Deserialize)]
#[serde(untagged)]
enum TextRecord {
    Text(String),
    Other(Value),
}

impl TextRecord {
    fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Other(Value::Array(parts)) => {
                let text =
                    |part: &Value| part.get("text").and_then(Value::as_str).map(str::to_owned);
                parts.iter().filter_map(text).collect()
            }
            Self::Other(_) => String::new(),
        }
    }
}

#[derive(Deserialize)]
struct CallRecord {
    index: Option<u64>,
    id: Option<String>,
    function: Option<FunctionRecord>,
}

#[derive(Default, Deserialize)]
struct FunctionRecord {
    name: Option<String>,
    /// A string of JSON; with some servers, the JSON itself.
    arguments: Option<Value>,
}

#[derive(Deserialize)]
struct UsageRecord {
    #[serde(default, deserialize_with = "count")]
    prompt_tokens: u64,
    #[serde(default, deserialize_with = "count")]
    completion_tokens: u64,
    prompt_tokens_details: Option<DetailsRecord>,
}

#[derive(Deserialize)]
struct DetailsRecord {
    #[serde(default, deserialize_with = "count")]
    cached_tokens: u64,
}

/// A number of tokens, however a server writes it.
fn count<'de, D: serde::Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let number = Value::deserialize(from)?;
    // Negative ones and those without end become the nearest that makes sense.
    Ok(number.as_u64().or_else(|| number.as_f64().map(|number| number as u64)).unwrap_or_default())
}

impl UsageRecord {
    fn usage(&self) -> Usage {
        let prompt = self.prompt_tokens;
        let cached = self.prompt_tokens_details.as_ref().map(|details| details.cached_tokens);
        let cache_read = cached.unwrap_or_default().min(prompt);
        let output = self.completion_tokens;
        Usage { input: prompt - cache_read, output, cache_write: 0, cache_read }
    }
}

#[derive(Default)]
pub struct Decoder {
    begun: bool,
    usage: Usage,
    finish: Option<String>,
    /// The index of the next block.
    next: usize,
    speaking: Option<Speaking>,
    calls: Vec<Call>,
}

/// A block of text or thinking that may go on.
struct Speaking {
    index: usize,
    voice: Voice,
    text: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Voice {
    Text,
    Thinking,
}

struct Call {
    index: usize,
    /// The server's number for it.
    number: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl Decode for Decoder {
    fn event(&mut self, data: &str, ready: &mut Ready) -> Result<(), ModelError> {
        if data.trim() == "[DONE]" {
            return self.complete(ready);
        }
        self.piece(document(data)?, ready)
    }

    fn whole(&mut self, text: &str, ready: &mut Ready) -> Result<(), ModelError> {
        let piece: PieceRecord = document(text)?;
        if piece.error.is_none() && piece.choices.as_ref().is_none_or(Vec::is_empty) {
            let message = format!("not a completion: {}", quoted(text));
            return Err(ModelError::BadAnswer { message });
        }
        self.piece(piece, ready)?;
        self.complete(ready)
    }

    fn end(&mut self, ready: &mut Ready) -> Result<(), ModelError> {
        match self.finish {
            // Some servers leave out the last word.
            Some(_) => self.complete(ready),
            None => Err(ModelError::StreamBroken {
                message: "it ended before it was complete".to_owned(),
            }),
        }
    }
}

impl Decoder {
    fn piece(&mut self, piece: PieceRecord, ready: &mut Ready) -> Result<(), ModelError> {
        if let Some(error) = piece.error.filter(|error| !error.is_null()) {
            return Err(Words::of_error(&error).within_stream());
        }
        if let Some(usage) = &piece.usage {
            self.usage = usage.usage();
        }
        if !self.begun {
            self.begun = true;
            let (id, model) = (piece.id.unwrap_or_default(), piece.model.unwrap_or_default());
            ready.push_back(Ok(Chunk::Started { id, model, usage: self.usage }));
        }
        let choices = piece.choices.unwrap_or_default().into_iter();
        for choice in choices.filter(|choice| choice.index.unwrap_or_default() == 0) {
            if let Some(delta) = choice.delta.or(choice.message) {
                self.delta(delta, ready);
            }
            self.finish = choice.finish_reason.or(self.finish.take());
        }
        Ok(())
    }

    fn delta(&mut self, delta: DeltaRecord, ready: &mut Ready) {
        let text =
            |record: Option<TextRecord>| record.map(TextRecord::into_text).unwrap_or_default();
        let reasoning = text(delta.reasoning_content);
        // Servers that send both send the same twice.
        let reasoning = if reasoning.is_empty() { text(delta.reasoning) } else { reasoning };
        self.speak(Voice::Thinking, reasoning, ready);
        self.speak(Voice::Text, text(delta.content), ready);
        self.speak(Voice::Text, text(delta.refusal), ready);
        for call in delta.tool_calls.unwrap_or_default() {
            self.call(call, ready);
        }
    }

    fn speak(&mut self, voice: Voice, text: String, ready: &mut Ready) {
        if text.is_empty() {
            return;
        }
        if self.speaking.as_ref().is_some_and(|speaking| speaking.voice != voice) {
            self.fall_silent(ready);
        }
        let next = &mut self.next;
        let speaking = self.speaking.get_or_insert_with(|| {
            let index = take_index(next);
            Speaking { index, voice, text: String::new() }
        });
        speaking.text.push_str(&text);
        let index = speaking.index;
        ready.push_back(Ok(match voice {
            Voice::Text => Chunk::Text { index, text },
            Voice::Thinking => Chunk::Thinking { index, text },
        }));
    }

    /// Ends the block of text or thinking, if one is open.
    fn fall_silent(&mut self, ready: &mut Ready) {
        let Some(Speaking { index, voice, text }) = self.speaking.take() else { return };
        let block = match voice {
            Voice::Text => Block::text(text),
            Voice::Thinking => {
                Block::Known(Known::Thinking { thinking: text, signature: String::new() })
            }
        };
        ready.push_back(Ok(Chunk::Block { index, block }));
    }

    fn call(&mut self, record: CallRecord, ready: &mut Ready) {
        self.fall_silent(ready);
        let CallRecord { index: number, id, function } = record;
        let FunctionRecord { name, arguments } = function.unwrap_or_default();
        let id = id.filter(|id| !id.is_empty());
        let name = name.filter(|name| !name.is_empty());
        let at = match self.find_call(number, id.as_deref(), name.as_deref()) {
            Some(at) => {
                // Some servers send the name behind the id.
                if let Some(name) = name.filter(|_| self.calls[at].name.is_empty()) {
                    self.calls[at].name = name;
                }
                at
            }
            None => {
                let index = take_index(&mut self.next);
                let id = id.unwrap_or_else(|| format!("call_{}", uuid::Uuid::new_v4().simple()));
                let name = name.unwrap_or_default();
                let started = Chunk::ToolStarted { index, id: id.clone(), name: name.clone() };
                ready.push_back(Ok(started));
                self.calls.push(Call { index, number, id, name, arguments: String::new() });
                self.calls.len() - 1
            }
        };
        let json = match arguments {
            None | Some(Value::Null) => return,
            Some(Value::String(text)) if text.is_empty() => return,
            Some(Value::String(text)) => text,
            Some(value) => value.to_string(),
        };
        let call = &mut self.calls[at];
        call.arguments.push_str(&json);
        ready.push_back(Ok(Chunk::ToolInput { index: call.index, json }));
    }

    /// The call that a piece belongs to. A server that numbers its calls may still give all of
    /// them the same number, and one that does not may repeat the id or leave it out.
    fn find_call(
        &self,
        number: Option<u64>,
        id: Option<&str>,
        name: Option<&str>,
    ) -> Option<usize> {
        let is_other = |call: &Call| name.is_some() && id.is_some_and(|id| id != call.id);
        match (number, id, name) {
            (Some(_), ..) => {
                let found = self.calls.iter().rposition(|call| call.number == number)?;
                (!is_other(&self.calls[found])).then_some(found)
            }
            (None, Some(id), _) => self.calls.iter().rposition(|call| call.id == id),
            (None, None, Some(_)) => None,
            (None, None, None) => self.calls.len().checked_sub(1),
        }
    }

    fn complete(&mut self, ready: &mut Ready) -> Result<(), ModelError> {
        if !self.begun {
            let message = "it ended before it began".to_owned();
            return Err(ModelError::StreamBroken { message });
        }
        self.fall_silent(ready);
        let has_called = !self.calls.is_empty();
        let cut_off = self.finish.as_deref() == Some("length");
        for Call { index, id, name, arguments, .. } in std::mem::take(&mut self.calls) {
            let input = match tool_input(&name, &arguments) {
                // Half a call is none.
                Ok(_) if cut_off && arguments.trim().is_empty() => continue,
                Err(_) if cut_off => continue,
                input => input?,
            };
            ready.push_back(Ok(Chunk::Block { index, block: Block::tool_use(id, name, input) }));
        }
        let stop = match self.finish.take().as_deref() {
            // Some servers say `stop` although they call.
            None | Some("stop" | "tool_calls" | "function_call") if has_called => {
                StopReason::ToolUse
            }
            None | Some("stop") => StopReason::EndTurn,
            Some("tool_calls" | "function_call") => StopReason::ToolUse,
            Some("length") => StopReason::MaxTokens,
            Some("content_filter") => StopReason::Refusal,
            Some(other) => StopReason::Other(other.to_owned()),
        };
        ready.push_back(Ok(Chunk::Ended { stop, usage: self.usage }));
        Ok(())
    }
}

fn take_index(next: &mut usize) -> usize {
    let index = *next;
    *next += 1;
    index
}
