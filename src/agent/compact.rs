//! Keeping a conversation within the model's window: a summary takes the place of what is old.
//! The transcript on disk keeps everything.

use super::context::{Agent, Talk};
use super::fork::run_forked;
use super::rebuild::uses_of;
use crate::model::request::{Conversation, Purpose};
use crate::model::{ModelError, Stop};
use crate::protocol::content::{ChatMessage, Content, Known, Role};
use crate::protocol::event::{Fact, Level};
use crate::protocol::json::to_compact;
use crate::protocol::task::Status;

const DIRECTIVE: &str = include_str!("../../assets/prompts/compact.md");

/// The share of the window that recent messages may take when they are kept as they are.
const KEPT_SHARE: f64 = 0.2;

/// What is assumed of a model whose window is not known.
const USUAL_WINDOW: u64 = 128_000;

/// How often the oldest part is given up when even the summary is too long to ask for.
const MOST_CUTS: u32 = 6;

const BYTES_PER_TOKEN: u64 = 4;

fn window(agent: &Agent) -> u64 {
    agent.brain().chosen.facts.window.unwrap_or(USUAL_WINDOW)
}

/// Whether the conversation has grown beyond its share of the window.
pub fn is_due(agent: &Agent, talk: &Talk) -> bool {
    let limit = share(window(agent), agent.limits.compact_at);
    talk.tokens > limit && talk.messages.entries().len() > 2
}

fn share(window: u64, share: f64) -> u64 {
    // Windows are far below the numbers that a float cannot hold.
    (window as f64 * share) as u64
}

/// Replaces the conversation by a summary and its newest part.
pub async fn compact(
    agent: &Agent,
    talk: &mut Talk,
    wishes: Option<&str>,
    stop: &Stop,
) -> Result<(), ModelError> {
    let summary = summarise(agent, &talk.messages, wishes, stop).await?;
    let before = talk.tokens.max(tokens_of(talk.messages.messages()));
    let all: Vec<ChatMessage> = talk.messages.messages().cloned().collect();
    let kept = recent(&all, share(window(agent), KEPT_SHARE));
    let mut messages = vec![ChatMessage::user(opening(agent, &summary).await)];
    messages.extend_from_slice(kept);
    if let Err(error) = agent.recorder.compacted(&messages) {
        agent.notice(
            Level::Error,
            format!("The summary could not be written to the transcript: {error}"),
        );
    }
    let after = tokens_of(messages.iter());
    agent.tell(Fact::Compacted { before, after, summary });
    *talk = Talk { messages: messages.into_iter().collect(), tokens: after, ..Talk::default() };
    Ok(())
}

async fn summarise(
    agent: &Agent,
    messages: &Conversation,
    wishes: Option<&str>,
    stop: &Stop,
) -> Result<String, ModelError> {
    let mut directive = DIRECTIVE.to_owned();
    if let Some(wishes) = wishes {
        directive.push_str(&format!("\nThe user asks of this summary: {wishes}\n"));
    }
    let mut messages = messages.clone();
    for _ in 0..MOST_CUTS {
        let asked = run_forked(agent, &messages, directive.clone(), Purpose::Compact, stop).await;
        match asked {
            Err(ModelError::ContextTooLong { .. }) => messages = without_oldest(&messages),
            Ok(text) if text.trim().is_empty() => {
                let message = "the summary is empty".to_owned();
                return Err(ModelError::BadAnswer { message });
            }
            asked => return asked,
        }
    }
    let message = "even its newest part is too long to summarise".to_owned();
    Err(ModelError::ContextTooLong { message })
}

/// The newer part, from about the middle, beginning where nobody's call is left without result.
fn without_oldest(messages: &Conversation) -> Conversation {
    let all: Vec<&ChatMessage> = messages.messages().collect();
    let middle = all.len() / 2;
    let start = (middle..all.len()).find(|at| is_prompt(all[*at])).unwrap_or(all.len());
    let cut = ChatMessage::user("(The older part of this conversation was too long to include.)");
    std::iter::once(cut).chain(all[start..].iter().map(|message| (*message).clone())).collect()
}

/// Words for the agent rather than results of its calls.
fn is_prompt(message: &ChatMessage) -> bool {
    let is_result = |known: &Known| matches!(known, Known::ToolResult { .. });
    message.role == Role::User && !message.content.known().iter().any(is_result)
}

/// The newest messages that fit: the last turn if it does, else the last call with what followed
/// it, else nothing. What was said last and has no answer yet is kept at any size.
fn recent(messages: &[ChatMessage], limit: u64) -> &[ChatMessage] {
    let answered = messages.iter().rposition(|message| !is_prompt(message));
    let (before, unanswered) = messages.split_at(answered.map_or(0, |at| at + 1));
    let last_prompt = before.iter().rposition(is_prompt).filter(|at| *at > 0);
    let last_call = before.iter().rposition(|message| !uses_of(message).is_empty());
    let starts = [last_prompt, last_call].into_iter().flatten();
    let mut tails = starts.map(|at| &messages[at..]);
    tails.find(|tail| tokens_of(tail.iter()) <= limit).unwrap_or(unanswered)
}

fn tokens_of<'a>(messages: impl Iterator<Item = &'a ChatMessage>) -> u64 {
    let bytes: usize = messages.map(|message| bytes_of(&message.content)).sum();
    bytes as u64 / BYTES_PER_TOKEN
}

fn bytes_of(content: &Content) -> usize {
    match content {
        Content::Text(text) => text.len(),
        Content::Blocks(blocks) => to_compact(blocks).len(),
    }
}

async fn opening(agent: &Agent, summary: &str) -> String {
    let mut text = format!(
        "This conversation continues an earlier one that became too long. Its summary:\n\n\
         {summary}\n\nAll of it is in {}. Continue with the next step; do not repeat what is done.",
        agent.recorder.path().display()
    );
    let tasks = open_tasks(agent).await;
    if !tasks.is_empty() {
        text.push_str("\n\nOpen tasks:\n");
        text.push_str(&tasks.join("\n"));
    }
    text
}

async fn open_tasks(agent: &Agent) -> Vec<String> {
    let (store, place) = (agent.cx.store.clone(), agent.cx.crew.place());
    let lines = move || {
        store.tasks(&place.tasks).look(|tasks| {
            let open = tasks.iter().filter(|task| task.status != Status::Completed);
            open.map(|task| tasks.line(task)).collect()
        })
    };
    tokio::task::spawn_blocking(lines).await.map(Result::unwrap_or_default).unwrap_or_default()
}
