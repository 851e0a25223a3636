//! What is sent, and that requests of one conversation begin alike.

use std::sync::Arc;

use proptest::prelude::*;
use quarterdeck::model::anthropic::{self, shared_prefix, without_marks};
use quarterdeck::model::openai::{self, Limit};
use quarterdeck::model::request::{Conversation, Prefix, Request, Sampling, Thinking, ToolChoice};
use quarterdeck::protocol::content::{Block, ChatMessage, Content, ImageSource, Known, Role};
use serde_json::{Value, json};

use super::dialect::{prefix, request_of};

/// A conversation with everything that can be in one.
fn motley() -> Conversation {
    let kept = json!({"type":"text","text":"kept","cache_control":{"type":"ephemeral"},"new":1});
    let image = Known::Image {
        source: ImageSource::Base64 { media_type: "image/png".into(), data: "AA==".into() },
    };
    let thinking = |signature: &str| {
        Block::Known(Known::Thinking { thinking: "hm".into(), signature: signature.into() })
    };
    let shown = Known::ToolResult {
        tool_use_id: "t2".into(),
        content: Some(Content::Blocks(vec![
            Block::text("see"),
            Block::text(""),
            Block::Known(image.clone()),
        ])),
        is_error: None,
    };
    let user = |blocks| ChatMessage { role: Role::User, content: Content::Blocks(blocks) };
    [
        ChatMessage::user("Hello"),
        ChatMessage::assistant(vec![
            thinking("c2ln"),
            thinking(""),
            Block::text(""),
            Block::text("Yes"),
            Block::tool_use("t1", "Bash", json!({"z": 1, "a": "é"})),
            Block::tool_use("t2", "Read", json!({})),
        ]),
        user(vec![Block::tool_error("t1", "no"), Block::Known(shown), Block::text("and now?")]),
        ChatMessage::user(""),
        user(vec![serde_json::from_value(kept).unwrap(), Block::Known(image)]),
    ]
    .into_iter()
    .collect()
}

fn body(request: &Request) -> Value {
    serde_json::from_str(&anthropic::body(request)).unwrap()
}

#[test]
fn a_body_holds_what_stays_first_and_what_varies_last() {
    let mut request = request_of(Arc::new(prefix()), motley());
    request.sampling =
        Sampling { temperature: Some(0.5), top_p: Some(0.9), stop_sequences: vec!["END".into()] };
    request.tool_choice = ToolChoice::Tool("Bash".into());
    let mark = json!({"type": "ephemeral"});
    let image =
        json!({"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}});
    let mut marked = image.clone();
    marked["cache_control"] = mark.clone();
    let expected = json!({
        "model": "m",
        "system": [
            {"type": "text", "text": "Be brief."},
            {"type": "text", "text": "You are an agent.", "cache_control": mark},
        ],
        "tools": [{"name": "Bash", "description": "Runs a command.", "input_schema":
            {"type": "object", "properties": {"command": {"type": "string"}}}}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Hello"}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                {"type": "text", "text": "Yes"},
                {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"z": 1, "a": "é"}},
                {"type": "tool_use", "id": "t2", "name": "Read", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "no", "is_error": true},
                {"type": "tool_result", "tool_use_id": "t2", "content": [{"type": "text", "text": "see"}, image]},
                {"type": "text", "text": "and now?"},
            ]},
            {"role": "user", "content": [{"type": "text", "text": "kept", "new": 1}, marked]},
        ],
        "max_tokens": 100,
        "stream": true,
        "temperature": 0.5,
        "top_p": 0.9,
        "stop_sequences": ["END"],
        "tool_choice": {"type": "tool", "name": "Bash"},
    });
    assert_eq!(anthropic::body(&request), expected.to_string(), "keys in this order");
    request.thinking = Thinking::Budget(50);
    assert_eq!(body(&request)["thinking"], json!({"type": "enabled", "budget_tokens": 50}));
    assert_eq!(body(&request).get("temperature"), None, "a model that thinks takes none");
}

#[test]
fn an_empty_prefix_is_left_out() {
    let messages = [ChatMessage::user("x")].into_iter().collect();
    let request = request_of(Arc::new(Prefix::default()), messages);
    let keys =
        |value: Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
    assert_eq!(keys(body(&request)), ["model", "messages", "max_tokens", "stream"]);
    let openai = serde_json::from_str(&openai::body(&request, Limit::MaxTokens)).unwrap();
    assert_eq!(keys(openai), ["model", "messages", "max_tokens", "stream", "stream_options"]);
}

#[test]
fn the_mark_stands_on_the_last_user_message_even_if_an_answer_follows() {
    let mut messages: Conversation = [ChatMessage::user("x")].into_iter().collect();
    messages.push(ChatMessage::assistant(vec![Block::text("{")]));
    let body = body(&request_of(Arc::new(prefix()), messages));
    let mark = &json!({"type": "ephemeral"});
    assert_eq!(&body["messages"][0]["content"][0]["cache_control"], mark);
    assert_eq!(body["messages"][1]["content"][0].get("cache_control"), None);
}

#[test]
fn chat_completions_get_the_same_in_their_own_shape() {
    let mut request = request_of(Arc::new(prefix()), motley());
    request.tool_choice = ToolChoice::Any;
    let picture = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}});
    let expected = json!({
        "model": "m",
        "tools": [{"type": "function", "function": {"name": "Bash", "description": "Runs a command.",
            "parameters": {"type": "object", "properties": {"command": {"type": "string"}}}}}],
        "messages": [
            {"role": "system", "content": "Be brief.\n\nYou are an agent."},
            {"role": "user", "content": "Hello"},
            {"role": "assistant", "content": "Yes", "tool_calls": [
                {"id": "t1", "type": "function", "function": {"name": "Bash", "arguments": "{\"z\":1,\"a\":\"é\"}"}},
                {"id": "t2", "type": "function", "function": {"name": "Read", "arguments": "{}"}},
            ]},
            {"role": "tool", "tool_call_id": "t1", "content": "The tool failed: no"},
            {"role": "tool", "tool_call_id": "t2", "content": "see"},
            {"role": "user", "content": [{"type": "text", "text": "and now?"}, picture]},
            {"role": "user", "content": [{"type": "text", "text": "kept"}, picture]},
        ],
        "max_completion_tokens": 100,
        "stream": true,
        "stream_options": {"include_usage": true},
        "tool_choice": "required",
    });
    assert_eq!(openai::body(&request, Limit::MaxCompletionTokens), expected.to_string());
}

#[test]
fn forks_share_nearly_everything_with_their_parent() {
    let parent = Arc::new(prefix());
    let turn = |at: usize| {
        [
            ChatMessage::user(format!("{at} {}", "word ".repeat(200))),
            ChatMessage::assistant(vec![Block::text("fine ".repeat(200))]),
        ]
    };
    let messages: Conversation = (0..50).flat_map(turn).collect();
    let fork = |at: usize| {
        let mut messages = messages.clone();
        messages.push(ChatMessage::user(format!("You are fork {at}. {}", "Do it. ".repeat(at))));
        request_of(Arc::clone(&parent), messages)
    };
    let first = anthropic::body(&fork(0));
    for at in 1..8 {
        let body = anthropic::body(&fork(at));
        let shared = shared_prefix(&first, &body);
        assert!(shared * 100 >= without_marks(&body).len() * 95, "{shared} of {}", body.len());
        let (one, other) =
            (openai::body(&fork(0), Limit::MaxTokens), openai::body(&fork(at), Limit::MaxTokens));
        assert!(shared_prefix(&one, &other) * 100 >= other.len() * 95);
    }
}

fn any_message() -> impl Strategy<Value = ChatMessage> {
    let text =
        r#"([a-zé😀"\\{}\[\], ]|cache_control|","cache_control":\{"type":"ephemeral"\}){0,12}"#;
    prop_oneof![
        text.prop_map(ChatMessage::user),
        prop::collection::vec(text, 0..3)
            .prop_map(|texts| ChatMessage::assistant(texts.into_iter().map(Block::text).collect())),
        (text, text).prop_map(|(a, b)| ChatMessage::results(vec![
            Block::tool_result("t", a),
            Block::text(b),
        ])),
        text.prop_map(|text| ChatMessage::assistant(vec![Block::tool_use(
            "t",
            "Bash",
            json!({"x": text})
        )])),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn each_request_begins_with_all_of_the_one_before(
        messages in prop::collection::vec(any_message(), 1..12)
    ) {
        let prefix = Arc::new(prefix());
        let mut so_far = Conversation::default();
        let mut before = None::<(String, String)>;
        for message in messages {
            so_far.push(message);
            let request = request_of(Arc::clone(&prefix), so_far.clone());
            let (ours, theirs) = (anthropic::body(&request), openai::body(&request, Limit::MaxTokens));
            for text in [&ours, &theirs] {
                prop_assert!(serde_json::from_str::<Value>(text).is_ok());
            }
            if let Some((ours_before, theirs_before)) = before {
                for (one, next) in [(&ours_before, &ours), (&theirs_before, &theirs)] {
                    let end = without_marks(one).rfind("],\"max_tokens\"").unwrap();
                    prop_assert!(shared_prefix(one, next) >= end);
                }
            }
            // Two marks at most: one in the system prompt, one in the conversation.
            let stripped = without_marks(&ours);
            let marks = (ours.len() - stripped.len()) / r#","cache_control":{"type":"ephemeral"}"#.len();
            prop_assert!(marks <= 2);
            before = Some((ours, theirs));
        }
    }
}
