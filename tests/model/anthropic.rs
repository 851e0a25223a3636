//! The Messages API: every event, whole messages, headers, counting.

use std::sync::Arc;

use bytes::Bytes;
use quarterdeck::model::anthropic::{Anthropic, Auth, Endpoint};
use quarterdeck::model::usage::Usage;
use quarterdeck::model::{Chunk, ModelError, StopReason};
use quarterdeck::protocol::content::{Block, Known};
use serde_json::{Value, json};

use super::dialect::{Dialect, KEY, all, ask, failure, hasty, request, whole};
use crate::support::server::{Server, events, reply};

fn kept(value: Value) -> Block {
    serde_json::from_value(value).unwrap()
}

async fn read(text: &str) -> Vec<Result<Chunk, ModelError>> {
    all(Dialect::Anthropic.read(vec![Bytes::copy_from_slice(text.as_bytes())])).await
}

/// One event after the beginning of a message.
async fn after_start(lines: &[&str]) -> Vec<Result<Chunk, ModelError>> {
    let start = r#"{"type":"message_start","message":{"id":"m","model":"m","usage":{}}}"#;
    let lines = [start].into_iter().chain(lines.iter().copied());
    read(&lines.map(|line| format!("data: {line}\n\n")).collect::<String>()).await
}

#[tokio::test]
async fn every_event_becomes_what_it_means() {
    let usage = |output| Usage { input: 10, output, cache_write: 3, cache_read: 5 };
    let (id, model) = ("m1".to_owned(), "m".to_owned());
    let thinking = "hm, näh".to_owned();
    let signature = "c2ln".to_owned();
    let search =
        json!({"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"q"}});
    let expected = vec![
        Chunk::Started { id, model, usage: usage(1) },
        Chunk::Thinking { index: 0, text: thinking.clone() },
        Chunk::Block { index: 0, block: Block::Known(Known::Thinking { thinking, signature }) },
        Chunk::Text { index: 1, text: "Hé 😀".to_owned() },
        Chunk::Text { index: 1, text: " there".to_owned() },
        Chunk::Block { index: 1, block: Block::text("Hé 😀 there") },
        Chunk::ToolStarted { index: 2, id: "t1".to_owned(), name: "Bash".to_owned() },
        Chunk::ToolInput { index: 2, json: "{\"command\": \"ls".to_owned() },
        Chunk::ToolInput { index: 2, json: " -l\"}".to_owned() },
        Chunk::Block {
            index: 2,
            block: Block::tool_use("t1", "Bash", json!({"command": "ls -l"})),
        },
        Chunk::Block { index: 3, block: kept(json!({"type":"redacted_thinking","data":"xyz"})) },
        Chunk::Block { index: 4, block: kept(search) },
        Chunk::Ended { stop: StopReason::ToolUse, usage: usage(42) },
    ];
    assert_eq!(whole(read(Dialect::Anthropic.recorded()).await), expected);
}

#[tokio::test]
async fn a_message_in_one_piece_is_taken_too() {
    let body = json!({"id":"m1","type":"message","role":"assistant","model":"m","content":[
        {"type":"text","text":"Hi"},
        {"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}},
    ],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2}});
    let server = Server::start(vec![reply(200, "application/json", "", &body.to_string())]).await;
    let usage = Usage { input: 1, output: 2, ..Usage::default() };
    let expected = vec![
        Chunk::Started { id: "m1".to_owned(), model: "m".to_owned(), usage },
        Chunk::Text { index: 0, text: "Hi".to_owned() },
        Chunk::Block { index: 0, block: Block::text("Hi") },
        Chunk::ToolStarted { index: 1, id: "t1".to_owned(), name: "Bash".to_owned() },
        Chunk::Block { index: 1, block: Block::tool_use("t1", "Bash", json!({"command": "ls"})) },
        Chunk::Ended { stop: StopReason::ToolUse, usage },
    ];
    assert_eq!(whole(ask(&Dialect::Anthropic.model(&server.url)).await), expected);
}

#[tokio::test]
async fn an_empty_input_is_an_empty_object_and_unknown_fields_stay() {
    let start = r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"List","input":{},"caller":{"type":"direct"}}}"#;
    let stop = r#"{"type":"content_block_stop","index":0}"#;
    let delta = r#"{"type":"message_delta","delta":{"stop_reason":"later_invention"},"usage":{"input_tokens":null,"output_tokens":2}}"#;
    let answer = whole(after_start(&[start, stop, delta, r#"{"type":"message_stop"}"#]).await);
    let value =
        json!({"type":"tool_use","id":"t","name":"List","input":{},"caller":{"type":"direct"}});
    assert_eq!(answer[2], Chunk::Block { index: 0, block: kept(value) });
    let usage = Usage { output: 2, ..Usage::default() };
    let stop = StopReason::Other("later_invention".to_owned());
    assert_eq!(answer[3], Chunk::Ended { stop, usage });
}

#[tokio::test]
async fn what_makes_no_sense_is_said_to_make_none() {
    let text =
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
    let stray =
        r#"{"type":"content_block_delta","index":7,"delta":{"type":"text_delta","text":"x"}}"#;
    let stop = r#"{"type":"message_stop"}"#;
    for lines in [&[stray][..], &[text, stop]] {
        let error = failure(after_start(lines).await);
        assert!(matches!(error, ModelError::BadAnswer { .. }), "{error}");
    }
    for lines in [text, stop] {
        let error = failure(read(&format!("data: {lines}\n\n")).await);
        assert!(matches!(error, ModelError::BadAnswer { .. }), "{error}");
    }
}

#[tokio::test]
async fn errors_inside_a_stream_have_their_kinds() {
    let error =
        |kind: &str| format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"m"}}}}"#);
    let message = "m".to_owned();
    let cases = [
        (
            "overloaded_error",
            ModelError::Overloaded { message: message.clone(), retry_after: None },
        ),
        ("api_error", ModelError::Overloaded { message: message.clone(), retry_after: None }),
        (
            "rate_limit_error",
            ModelError::RateLimited { message: message.clone(), retry_after: None },
        ),
        ("authentication_error", ModelError::Authentication { message: message.clone() }),
        ("permission_error", ModelError::Authentication { message: message.clone() }),
        ("not_found_error", ModelError::NotFound { message: message.clone() }),
        ("invalid_request_error", ModelError::InvalidRequest { message: message.clone() }),
        ("request_too_large", ModelError::InvalidRequest { message }),
    ];
    for (kind, expected) in cases {
        assert_eq!(failure(after_start(&[&error(kind)]).await), expected, "{kind}");
    }
}

fn client(url: &str, auth: Auth) -> Anthropic {
    let betas = vec!["one".to_owned(), "two".to_owned()];
    let base_url = format!("{url}/v1/");
    Anthropic::new(Endpoint { base_url, auth, betas, retry: hasty(), ..Endpoint::default() })
}

#[tokio::test]
async fn headers_say_who_asks_and_in_which_version() {
    let server = Server::start(vec![events(Dialect::Anthropic.recorded())]).await;
    let model = client(&server.url, Auth::Token(KEY.into()));
    whole(ask(&(Arc::new(model) as Arc<dyn quarterdeck::model::Model>)).await);
    let seen = &server.seen()[0];
    assert_eq!(seen.line, "POST /v1/messages HTTP/1.1");
    let header = |name: &str| seen.header(name).unwrap_or("-").to_owned();
    assert_eq!(header("anthropic-version"), "2023-06-01");
    assert_eq!(header("anthropic-beta"), "one,two");
    assert_eq!(header("content-type"), "application/json");
    assert_eq!(header("authorization"), format!("Bearer {KEY}"));
    assert_eq!(header("x-api-key"), "-");
    assert_eq!(header("x-quarterdeck-agent"), "ada");
    assert_eq!(header("x-quarterdeck-agent-type"), "explore");
    assert_eq!(header("x-quarterdeck-purpose"), "side-question");
    assert_eq!(header("x-quarterdeck-team"), "-");
    assert_eq!(header("x-quarterdeck-cwd"), "/demo/größe");
}

#[tokio::test]
async fn tokens_are_counted_by_the_server() {
    let busy = reply(529, "application/json", "", r#"{"error":{"message":"Busy"}}"#);
    let count = reply(200, "application/json", "", r#"{"input_tokens":2095}"#);
    let server = Server::start(vec![busy, count]).await;
    let model = client(&server.url, Auth::ApiKey(KEY.into()));
    assert_eq!(model.count_tokens(&request()).await, Ok(2095));
    let seen = server.seen();
    assert_eq!((seen.len(), seen[1].line.as_str()), (2, "POST /v1/messages/count_tokens HTTP/1.1"));
    let body: Value = serde_json::from_str(&seen[1].body).unwrap();
    assert_eq!(body.get("max_tokens").or(body.get("stream")), None);

    let page = reply(200, "text/html", "", "<title>hi</title>");
    let server = Server::start(vec![page]).await;
    let counted = client(&server.url, Auth::None).count_tokens(&request()).await;
    assert!(matches!(counted, Err(ModelError::BadAnswer { .. })), "{counted:?}");
}
