//! Our own client against our own server: what the official client saw, and what the rehearsal
//! plays in process.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use quarterdeck::model::anthropic::{Anthropic, Endpoint};
use quarterdeck::model::rehearsal::playbook::Playbook;
use quarterdeck::model::request::{Prefix, Request, SystemBlock, ToolSpec};
use quarterdeck::model::retry::Policy;
use quarterdeck::model::usage::Usage;
use quarterdeck::model::{Chunk, Model, Stop};
use quarterdeck::protocol::content::{Block, ChatMessage};
use serde_json::{Value, json};

use super::scene::{blocks, caller, calls, file, request, said, strict};
use super::wire::Served;
use quarterdeck::model::rehearsal::server::Options;

/// The request that `tests/scripts/anthropic_sdk.py` makes.
fn as_the_sdk_asks(messages: &[ChatMessage]) -> Arc<Request> {
    let tool = |name: &str, description: &str| ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        input_schema: json!({"type": "object"}),
    };
    let tools = vec![tool("get_weather", "The weather"), tool("get_time", "The time")];
    let system = vec![SystemBlock { text: "You are helpful. ".repeat(50), cached: true }];
    let plain = Request::clone(&request(&caller("team-lead"), messages));
    Arc::new(Request { prefix: Arc::new(Prefix::new(system, tools)), max_tokens: 500, ..plain })
}

async fn all(model: &dyn Model, request: Arc<Request>) -> Vec<Chunk> {
    let answer = model.stream(request, Stop::new());
    answer.map(|chunk| chunk.unwrap()).collect().await
}

fn usage(chunks: &[Chunk]) -> Usage {
    match chunks.last() {
        Some(Chunk::Ended { usage, .. }) => *usage,
        other => panic!("ended with {other:?}"),
    }
}

fn as_the_sdk_shows(chunks: &[Chunk]) -> Value {
    let blocks = blocks(chunks);
    let Usage { input, output, cache_write, cache_read } = usage(chunks);
    let inputs: Vec<Value> = calls(&blocks).into_iter().map(|(_, _, input)| input).collect();
    json!({
        "text": said(&blocks),
        "inputs": inputs,
        "usage": {
            "input": input, "output": output, "cache_write": cache_write, "cache_read": cache_read,
        },
    })
}

fn quick() -> Policy {
    Policy { first_wait: Duration::from_millis(1), ..Policy::default() }
}

fn results(blocks: &[Block]) -> ChatMessage {
    let calls = calls(blocks);
    ChatMessage::results(vec![
        Block::tool_result(calls[0].0.clone(), r#"{"sky":"clear","degrees":-3}"#),
        Block::tool_result(calls[1].0.clone(), "noon"),
    ])
}

#[tokio::test]
async fn our_client_sees_what_the_official_one_saw() {
    let seen = fs::read_to_string(file("wire.sdk.json")).unwrap();
    let seen: Value = serde_json::from_str(&seen).unwrap();
    let served = Served::start(Options::default()).await;
    let endpoint =
        Endpoint { base_url: served.address.clone(), retry: quick(), ..Endpoint::default() };
    let client = Anthropic::new(endpoint);

    let busy = all(&client, as_the_sdk_asks(&[ChatMessage::user("busy")])).await;
    let waits = busy.iter().filter(|chunk| matches!(chunk, Chunk::Retrying { .. })).count();
    assert_eq!(waits, 2);
    let shown = as_the_sdk_shows(&busy);
    assert_eq!(shown["text"], seen["after_two_529"]["text"]);
    assert_eq!(shown["usage"], seen["after_two_529"]["usage"]);

    let mut talk = vec![ChatMessage::user("What is the weather in Oslo?")];
    let expect = |turn: &str, chunks: &[Chunk]| {
        let (shown, seen) = (as_the_sdk_shows(chunks), &seen["with_tools"][turn]);
        for part in ["text", "inputs", "usage"] {
            assert_eq!(shown[part], seen[part], "{part} of the {turn} turn");
        }
    };
    let first = all(&client, as_the_sdk_asks(&talk)).await;
    expect("first", &first);
    talk.push(ChatMessage::assistant(blocks(&first)));
    talk.push(results(&blocks(&first)));
    let second = all(&client, as_the_sdk_asks(&talk)).await;
    expect("second", &second);
    let count = client.count_tokens(&as_the_sdk_asks(&[ChatMessage::user("hello")])).await;
    assert_eq!(json!(count.unwrap()), seen["count_tokens"]);
    served.end().await;
}

/// The same playbook in process and over HTTP: the same blocks, stops and tokens.
#[tokio::test]
async fn in_process_and_over_http_are_the_same_rehearsal() {
    let served = Served::start(Options::default()).await;
    let endpoint =
        Endpoint { base_url: served.address.clone(), retry: quick(), ..Endpoint::default() };
    let over_http = Anthropic::new(endpoint);
    let playbook = Arc::new(Playbook::load(&file("wire.yaml")).unwrap());
    let in_process = strict(playbook).with_retry(quick());
    let mut talk = vec![ChatMessage::user("What is the weather in Oslo?")];
    for _ in 0..2 {
        let one = all(&over_http, as_the_sdk_asks(&talk)).await;
        let other = all(&in_process, as_the_sdk_asks(&talk)).await;
        assert_eq!(blocks(&one), blocks(&other));
        assert_eq!(one.last(), other.last(), "stop and usage");
        talk.push(ChatMessage::assistant(blocks(&one)));
        if talk.len() == 2 {
            talk.push(results(&blocks(&one)));
        }
    }
    let busy = as_the_sdk_asks(&[ChatMessage::user("busy")]);
    let one = all(&over_http, Arc::clone(&busy)).await;
    let other = all(&in_process, busy).await;
    let waits = |chunks: &[Chunk]| {
        chunks.iter().filter(|chunk| matches!(chunk, Chunk::Retrying { .. })).count()
    };
    assert_eq!((waits(&one), waits(&other)), (2, 2), "both try again after a fault");
    served.end().await;
}
