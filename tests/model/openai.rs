//! Chat completions, as different servers speak them.

use bytes::Bytes;
use quarterdeck::model::openai::{Endpoint, OpenAi};
use quarterdeck::model::usage::Usage;
use quarterdeck::model::{Chunk, Model, ModelError, Stop, StopReason};
use quarterdeck::protocol::content::{Block, Known};
use serde_json::{Value, json};

use super::dialect::{Dialect, all, ask, failure, hasty, request, whole};
use crate::support::server::{Server, events, reply};

fn started() -> Chunk {
    Chunk::Started { id: "c1".to_owned(), model: "m".to_owned(), usage: Usage::default() }
}

fn ended(stop: StopReason) -> Chunk {
    Chunk::Ended { stop, usage: Usage::default() }
}

fn tool(index: usize, id: &str, input: Value) -> Chunk {
    Chunk::Block { index, block: Block::tool_use(id, "Bash", input) }
}

fn tool_started(index: usize, id: &str) -> Chunk {
    Chunk::ToolStarted { index, id: id.to_owned(), name: "Bash".to_owned() }
}

fn tool_input(index: usize, json: &str) -> Chunk {
    Chunk::ToolInput { index, json: json.to_owned() }
}

async fn read(text: &str) -> Vec<Result<Chunk, ModelError>> {
    all(Dialect::OpenAi.read(vec![Bytes::copy_from_slice(text.as_bytes())])).await
}

/// Deltas of one answer, then a reason to end, then the last word.
async fn deltas(deltas: &[Value], finish: &str) -> Vec<Chunk> {
    let last = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]});
    let piece =
        |delta: &Value| json!({"id":"c1","model":"m","choices":[{"index":0,"delta":delta}]});
    let pieces: Vec<Value> = deltas.iter().map(piece).chain([last]).collect();
    let text: String = pieces.iter().map(|piece| format!("data: {piece}\n\n")).collect();
    whole(read(&format!("{text}data: [DONE]\n\n")).await)
}

#[tokio::test]
async fn every_piece_becomes_what_it_means() {
    let thinking = "hm, näh".to_owned();
    let signature = String::new();
    let usage = Usage { input: 10, output: 42, cache_write: 0, cache_read: 5 };
    let expected = vec![
        started(),
        Chunk::Thinking { index: 0, text: thinking.clone() },
        Chunk::Block { index: 0, block: Block::Known(Known::Thinking { thinking, signature }) },
        Chunk::Text { index: 1, text: "Hé 😀".to_owned() },
        Chunk::Text { index: 1, text: " there".to_owned() },
        Chunk::Block { index: 1, block: Block::text("Hé 😀 there") },
        tool_started(2, "t1"),
        tool_input(2, "{\"command\": \"ls"),
        tool_input(2, " -l\"}"),
        tool(2, "t1", json!({"command": "ls -l"})),
        Chunk::Ended { stop: StopReason::ToolUse, usage },
    ];
    assert_eq!(whole(read(Dialect::OpenAi.recorded()).await), expected);
}

#[tokio::test]
async fn fragments_of_several_calls_are_kept_apart() {
    let call = |index: u64, id: Option<&str>, arguments: &str| {
        let name = id.map(|_| "Bash");
        json!({"tool_calls":[{"index":index,"id":id,"function":{"name":name,"arguments":arguments}}]})
    };
    let fragments = [
        call(0, Some("a"), ""),
        call(1, Some("b"), "{\"n\""),
        call(0, None, "{}"),
        call(1, None, ":1}"),
    ];
    let chunks = deltas(&fragments, "tool_calls").await;
    let expected = vec![
        started(),
        tool_started(0, "a"),
        tool_started(1, "b"),
        tool_input(1, "{\"n\""),
        tool_input(0, "{}"),
        tool_input(1, ":1}"),
        tool(0, "a", json!({})),
        tool(1, "b", json!({"n": 1})),
        ended(StopReason::ToolUse),
    ];
    assert_eq!(chunks, expected);
}

#[tokio::test]
async fn servers_that_number_calls_badly_are_understood() {
    let call = |mut call: Value, id: &str, arguments: Value| {
        call["id"] = id.into();
        call["function"] = json!({"name": "Bash", "arguments": arguments});
        json!({"tool_calls": [call]})
    };
    let two = vec![tool(0, "a", json!({"n": 1})), tool(1, "b", json!({"n": 2}))];
    let calls = |chunks: Vec<Chunk>| -> Vec<Chunk> {
        chunks.into_iter().filter(|chunk| matches!(chunk, Chunk::Block { .. })).collect()
    };
    // Whole calls without a number, and all with the same one; the input as text or as JSON.
    for numbered in [json!({}), json!({"index": 0})] {
        let first = call(numbered.clone(), "a", "{\"n\":1}".into());
        let second = call(numbered, "b", json!({"n": 2}));
        let chunks = deltas(&[first, second], "stop").await;
        assert_eq!(chunks.last(), Some(&ended(StopReason::ToolUse)), "`stop` although it calls");
        assert_eq!(calls(chunks), two);
    }
    // The id and the name in every fragment.
    for numbered in [json!({}), json!({"index": 0})] {
        let parts = ["{\"n\"", ":1}"].map(|part| call(numbered.clone(), "a", part.into()));
        assert_eq!(calls(deltas(&parts, "tool_calls").await), two[..1]);
    }
    // No id at all: one is made up.
    let chunks =
        deltas(&[json!({"tool_calls":[{"function":{"name":"Bash"}}]})], "tool_calls").await;
    assert!(matches!(&chunks[1], Chunk::ToolStarted { id, .. } if id.starts_with("call_")));
}

#[tokio::test]
async fn reasons_to_end_are_translated() {
    let cases = [
        ("stop", StopReason::EndTurn),
        ("length", StopReason::MaxTokens),
        ("content_filter", StopReason::Refusal),
        ("eos", StopReason::Other("eos".to_owned())),
    ];
    for (reason, stop) in cases {
        let chunks = deltas(&[json!({"content": "x", "reasoning": null})], reason).await;
        assert_eq!(chunks.last(), Some(&ended(stop)));
    }
}

#[tokio::test]
async fn a_last_word_or_an_empty_line_may_be_missing() {
    let text = Dialect::OpenAi.up_to("data: [DONE]");
    assert!(matches!(whole(read(text).await).last(), Some(Chunk::Ended { .. })));
    assert!(matches!(whole(read(text.trim_end()).await).last(), Some(Chunk::Ended { .. })));
}

#[tokio::test]
async fn a_completion_in_one_piece_is_taken_too() {
    let body = json!({"id":"c1","model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{
        "role":"assistant","content":"Hi","tool_calls":[
            {"id":"a","type":"function","function":{"name":"Bash","arguments":"{\"n\":1}"}}]}}],
        "usage":{"prompt_tokens":3,"completion_tokens":2}});
    let server = Server::start(vec![reply(200, "application/json", "", &body.to_string())]).await;
    let usage = Usage { input: 3, output: 2, ..Usage::default() };
    let expected = vec![
        Chunk::Started { id: "c1".to_owned(), model: "m".to_owned(), usage },
        Chunk::Text { index: 0, text: "Hi".to_owned() },
        Chunk::Block { index: 0, block: Block::text("Hi") },
        tool_started(1, "a"),
        tool_input(1, "{\"n\":1}"),
        tool(1, "a", json!({"n": 1})),
        Chunk::Ended { stop: StopReason::ToolUse, usage },
    ];
    assert_eq!(whole(ask(&Dialect::OpenAi.model(&server.url)).await), expected);
}

#[tokio::test]
async fn errors_inside_a_stream_have_their_kinds() {
    let message = "m".to_owned();
    let busy = ModelError::Overloaded { message: message.clone(), retry_after: None };
    let cases = [
        (json!({"message":"m","type":"server_error"}), busy.clone()),
        (json!({"message":"m","code":502}), busy.clone()),
        (json!("m"), busy),
        (
            json!({"message":"m","code":"context_length_exceeded"}),
            ModelError::ContextTooLong { message: message.clone() },
        ),
        (
            json!({"message":"m","type":"invalid_request_error","code":"insufficient_quota"}),
            ModelError::InvalidRequest { message: message.clone() },
        ),
        (json!({"message":"m","code":429}), ModelError::RateLimited { message, retry_after: None }),
    ];
    for (error, expected) in cases {
        assert_eq!(
            failure(read(&format!("data: {}\n\n", json!({"error": error}))).await),
            expected
        );
    }
}

#[tokio::test]
async fn a_server_of_ones_own_needs_no_key() {
    let server = Server::start(vec![events(Dialect::OpenAi.recorded())]).await;
    let endpoint = Endpoint { base_url: server.url.clone(), retry: hasty(), ..Endpoint::default() };
    whole(all(OpenAi::new(endpoint).stream(request(), Stop::new())).await);
    let seen = &server.seen()[0];
    assert_eq!(seen.line, "POST /v1/chat/completions HTTP/1.1");
    assert_eq!(seen.header("authorization"), None);
    let body: Value = serde_json::from_str(&seen.body).unwrap();
    assert_eq!((&body["max_tokens"], &body["stream"]), (&json!(100), &json!(true)));
    assert_eq!(body["stream_options"], json!({"include_usage": true}));
}
