//! Transcripts back to conversations: ours, the reference's, whole and cut anywhere.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use quarterdeck::agent::context::Talk;
use quarterdeck::agent::rebuild::rebuild;
use quarterdeck::protocol::content::{Block, ChatMessage, Content, Known};
use quarterdeck::store::transcript;

use super::valid::faults;
use crate::support::fixtures;

/// The conversation as an agent takes it up, with every call that is left open answered.
fn taken_up(path: &Path) -> Vec<ChatMessage> {
    let talk = Talk::recalled(rebuild(path).unwrap(), |_| true);
    assert!(talk.pending.uses.is_empty(), "a call that began is not made again");
    let all = talk.messages.messages().cloned().collect::<Vec<_>>();
    // The same with calls that may run: their results close the conversation.
    let talk = Talk::recalled(rebuild(path).unwrap(), |_| false);
    let mut open: Vec<ChatMessage> = talk.messages.messages().cloned().collect();
    let order = open.last().map(calls_of).unwrap_or_default();
    let mut results = talk.pending.results;
    results.extend(talk.pending.uses.iter().map(|wanted| Block::tool_result(&wanted.id, "now")));
    results.sort_by_key(|block| order.iter().position(|id| Some(id.as_str()) == answered(block)));
    if !results.is_empty() {
        open.push(ChatMessage::results(results));
    }
    let found = faults(&open);
    assert!(found.is_empty(), "{}: {found:#?}", path.display());
    all
}

fn answered(block: &Block) -> Option<&str> {
    match block.meaning() {
        Some(Known::ToolResult { tool_use_id, .. }) => Some(tool_use_id),
        _ => None,
    }
}

fn calls_of(message: &ChatMessage) -> Vec<String> {
    let known = message.content.known().into_iter();
    known
        .filter_map(|block| if let Known::ToolUse { id, .. } = block { Some(id) } else { None })
        .collect()
}

/// Every text and the result of every call on the way to the newest record.
fn said(path: &Path) -> (HashSet<String>, HashSet<String>) {
    let (mut texts, mut results) = (HashSet::new(), HashSet::new());
    let calls: HashSet<String> = on_the_way(path).iter().flat_map(calls_of).collect();
    for message in on_the_way(path) {
        for block in message.content.known() {
            if let Known::Text { text } = block
                && !text.trim().is_empty()
            {
                texts.insert(text);
            }
        }
    }
    // Results stand on side branches, too.
    for line in fs::read_to_string(path).unwrap().lines() {
        let Ok(record) = serde_json::from_str::<serde_json::Value>(line) else { continue };
        let Ok(message) = serde_json::from_value::<ChatMessage>(record["message"].clone()) else {
            continue;
        };
        for block in message.content.known() {
            if let Known::ToolResult { tool_use_id, content, .. } = block
                && calls.contains(&tool_use_id)
            {
                let text = content.map(|content| content.text()).unwrap_or_default();
                results.insert(format!("{tool_use_id}: {text}"));
            }
        }
    }
    (texts, results)
}

fn on_the_way(path: &Path) -> Vec<ChatMessage> {
    let records = transcript::conversation(path).unwrap().records;
    let message = |record: &quarterdeck::protocol::json::Json| {
        record.get("message").and_then(|message| message.read::<ChatMessage>().ok())
    };
    records.iter().filter_map(message).collect()
}

fn check(path: &Path, name: &str) -> usize {
    let messages = taken_up(path);
    let found = faults(&messages);
    assert!(found.is_empty(), "{name}: {found:#?}\n{messages:#?}");
    let (texts, wanted) = said(path);
    let (mut kept, mut kept_results) = (HashSet::new(), HashSet::new());
    for block in messages.iter().flat_map(|message| message.content.known()) {
        if let Known::ToolResult { tool_use_id, content, .. } = &block {
            let text = content.as_ref().map(Content::text).unwrap_or_default();
            kept_results.insert(format!("{tool_use_id}: {text}"));
        } else if let Known::Text { text } = block {
            kept.insert(text);
        }
    }
    let lost: Vec<&String> = texts.difference(&kept).collect();
    assert!(lost.is_empty(), "{name} lost {lost:#?}");
    let lost: Vec<&String> = wanted.difference(&kept_results).collect();
    assert!(lost.is_empty(), "{name} lost {lost:#?}");
    messages.len()
}

#[test]
fn every_reference_transcript_becomes_a_valid_conversation_with_all_results() {
    let all = fixtures(".jsonl");
    let mut most = 0;
    for path in &all {
        most = most.max(check(path, &path.display().to_string()));
    }
    assert!(all.len() >= 50 && most > 20, "{} files, at most {most} messages", all.len());
}

#[test]
fn a_transcript_that_was_cut_anywhere_is_valid_too() {
    let dir = tempfile::tempdir().unwrap();
    let cut = dir.path().join("cut.jsonl");
    let mut known = HashSet::new();
    for path in fixtures(".jsonl") {
        let text = fs::read_to_string(&path).unwrap();
        // Several scenes hold the same file.
        if !known.insert(text.clone()) {
            continue;
        }
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let step = if crate::support::soak() || lines.len() < 20 { 1 } else { 7 };
        for count in (0..lines.len()).step_by(step) {
            // Whole lines, and the beginning of one more.
            let begun = lines[count].get(..lines[count].len() / 2).unwrap_or_default();
            fs::write(&cut, lines[..count].concat() + begun).unwrap();
            check(&cut, &format!("{} cut after line {count}", path.display()));
        }
    }
}
