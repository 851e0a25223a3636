//! What a model's answer is made of while it arrives.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::usage::Usage;
use crate::protocol::content::Block;

#[derive(Debug, Clone, PartialEq)]
pub enum Chunk {
    /// The answer begins. Usage as far as it is known: the input, and a first token or so.
    Started { id: String, model: String, usage: Usage },
    /// More text of the block at `index`.
    Text { index: usize, text: String },
    /// More thinking of the block at `index`.
    Thinking { index: usize, text: String },
    /// The model begins to call a tool.
    ToolStarted { index: usize, id: String, name: String },
    /// More of the input of the call at `index`, as JSON text that is not whole yet.
    ToolInput { index: usize, json: String },
    /// The block at `index` is complete: text, thinking with its signature, or a tool call with
    /// its whole input. Only this may be acted upon.
    Block { index: usize, block: Block },
    /// Something went wrong before anything was shown; it is tried again after `wait`.
    Retrying { why: String, wait: Duration, attempt: u32, of: u32 },
    /// The answer is complete.
    Ended { stop: StopReason, usage: Usage },
}

/// Why a model stopped talking. Reasons that we do not know stay as they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    EndTurn,
    ToolUse,
    MaxTokens,
    StopSequence,
    Refusal,
    PauseTurn,
    #[serde(untagged)]
    Other(String),
}
