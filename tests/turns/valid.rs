//! What a provider demands of a conversation.

use std::collections::HashSet;

use quarterdeck::protocol::content::{ChatMessage, Known, Role};

/// Why a conversation would be refused, in words; nothing if it is fine.
pub fn faults(messages: &[ChatMessage]) -> Vec<String> {
    let mut found = Vec::new();
    let mut used = HashSet::new();
    // Neighbours of one role count as one message.
    let turns: Vec<&[ChatMessage]> = messages.chunk_by(|one, two| one.role == two.role).collect();
    if turns.first().is_some_and(|turn| turn[0].role != Role::User) {
        found.push("it does not begin with the user".to_owned());
    }
    let mut owed: Vec<String> = Vec::new();
    for (at, turn) in turns.iter().enumerate() {
        let blocks: Vec<Known> = turn.iter().flat_map(|message| message.content.known()).collect();
        if turn.iter().any(|message| message.content.known().is_empty()) {
            found.push(format!("turn {at} holds an empty message"));
        }
        let mut answered: Vec<String> = Vec::new();
        let (mut calls, mut others) = (Vec::new(), 0);
        for block in blocks {
            match block {
                Known::Text { text } => {
                    others += 1;
                    if text.trim().is_empty() {
                        found.push(format!("turn {at} holds empty text"));
                    }
                }
                Known::ToolUse { id, .. } => {
                    if !used.insert(id.clone()) {
                        found.push(format!("turn {at}: two calls are {id}"));
                    }
                    calls.push(id);
                }
                Known::ToolResult { tool_use_id, .. } => {
                    if others > 0 {
                        found.push(format!("turn {at}: a result behind other words"));
                    }
                    answered.push(tool_use_id);
                }
                Known::Thinking { .. } | Known::RedactedThinking { .. } | Known::Image { .. } => {}
            }
        }
        if answered != owed {
            found.push(format!("turn {at}: results {answered:?} for calls {owed:?}"));
        }
        owed = calls;
    }
    if !owed.is_empty() {
        found.push(format!("never answered: {owed:?}"));
    }
    found
}

#[track_caller]
pub fn assert_valid(messages: &[ChatMessage]) {
    let found = faults(messages);
    assert!(found.is_empty(), "{found:#?}\nin {messages:#?}");
}

#[test]
fn the_check_itself_sees_what_is_wrong() {
    use quarterdeck::protocol::content::Block;
    use serde_json::json;
    let call = |id: &str| ChatMessage::assistant(vec![Block::tool_use(id, "T", json!({}))]);
    let result = |id: &str| ChatMessage::results(vec![Block::tool_result(id, "x")]);
    let user = |text: &str| ChatMessage::user(text);
    assert_valid(&[user("a"), call("1"), result("1"), user("more"), call("2"), result("2")]);
    let bad: [Vec<ChatMessage>; 6] = [
        vec![user("a"), call("1")],
        vec![user("a"), call("1"), user("b")],
        vec![user("a"), call("1"), result("1"), result("1")],
        vec![user("a"), result("1")],
        vec![user(" ")],
        vec![user("a"), call("1"), user("b"), result("1")],
    ];
    for messages in bad {
        assert!(!faults(&messages).is_empty(), "{messages:?}");
    }
}
