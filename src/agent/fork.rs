//! Branches of a conversation: what was said so far, byte for byte, and then something else.

use std::sync::Arc;

use futures::StreamExt;

use super::context::Agent;
use super::rebuild::uses_of;
use crate::model::pricing::Meter;
use crate::model::request::{Conversation, Purpose, Request, ToolChoice};
use crate::model::{Chunk, ModelError, Stop};
use crate::protocol::content::{Block, ChatMessage, Known};

/// What every open call of the parent is answered with in a branch. The same for all, so that
/// all branches share everything before their directive.
pub const PLACEHOLDER: &str = "Fork started — processing in background";

/// A branch of a conversation: every open call answered alike, then the directive.
pub fn branch(messages: &Conversation, directive: String) -> Conversation {
    let mut branch = messages.clone();
    let open = messages.messages().next_back().map(uses_of).unwrap_or_default();
    if open.is_empty() {
        branch.push(ChatMessage::user(directive));
        return branch;
    }
    let mut blocks: Vec<Block> =
        open.iter().map(|wanted| Block::tool_result(&wanted.id, PLACEHOLDER)).collect();
    blocks.push(Block::text(directive));
    branch.push(ChatMessage::results(blocks));
    branch
}

/// Asks something beside the conversation, which learns nothing of it: compaction, titles,
/// summaries, side questions. No tools run. The prompt cache of the conversation is used.
pub async fn run_forked(
    agent: &Agent,
    messages: &Conversation,
    directive: String,
    purpose: Purpose,
    stop: &Stop,
) -> Result<String, ModelError> {
    let request = agent.request(branch(messages, directive), Some(purpose));
    // Asked like the conversation itself, for a forbidden choice of tools would cost the cache.
    // Only who calls tools all the same and says nothing is asked again that way.
    let text = words_of(agent, request.clone(), stop).await?;
    match text.trim().is_empty() {
        true => words_of(agent, Request { tool_choice: ToolChoice::None, ..request }, stop).await,
        false => Ok(text),
    }
}

async fn words_of(agent: &Agent, request: Request, stop: &Stop) -> Result<String, ModelError> {
    let mut answer = agent.brain().model.stream(Arc::new(request), stop.clone());
    let (mut meter, mut text) = (Meter::default(), String::new());
    let mut outcome = Ok(());
    while let Some(chunk) = answer.next().await {
        let chunk = match chunk {
            Ok(chunk) => chunk,
            Err(error) => {
                outcome = Err(error);
                break;
            }
        };
        meter.absorb(&chunk);
        if let Chunk::Block { block, .. } = &chunk
            && let Some(Known::Text { text: more }) = block.meaning()
        {
            text.push_str(more);
        }
    }
    if meter.usage().total() > 0 {
        agent.books.enter(&agent.cx.me.to_string(), &agent.brain(), meter.usage());
    }
    outcome.map(|()| text)
}
