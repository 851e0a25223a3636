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

use super::scene::{blocks, caller, calls, file, request, said, strict, turns};
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

/// What a listener meets, in words: chunks, waits and the end, but no times and no sentences.
async fn met(model: &dyn Model, text: &str) -> Vec<String> {
    let messages = [ChatMessage::user(text)];
    let mut answer = model.stream(request(&caller("me"), &messages), Stop::new());
    let mut met = Vec::new();
    while let Some(chunk) = answer.next().await {
        met.push(match chunk {
            // Only our client makes one of a piece without anything in it.
            Ok(Chunk::ToolInput { json, .. }) if json.is_empty() => continue,
            Ok(Chunk::Retrying { why, attempt, .. }) => format!("{why}, attempt {attempt}"),
            Ok(chunk) => format!("{chunk:?}"),
            Err(error) => {
                let error = format!("{error:?}");
                error.split(' ').next().unwrap().to_owned()
            }
        });
    }
    met
}

/// The same faults happen at the same place, and are borne in the same way.
#[tokio::test]
async fn faults_in_process_and_over_http_are_the_same() {
    let mut all: Vec<(String, String)> = [
        "status: 429, retry_after: 0",
        "status: 401",
        "status: 404",
        "status: 400",
        "stall_ms: 20",
        "stall_ms: 9000",
        "garbage: true",
        "too_long: true",
    ]
    .iter()
    .map(|fault| ((*fault).to_owned(), String::new()))
    .collect();
    all.extend((0..2600).step_by(130).map(|bytes| (format!("cut_after: {bytes}"), String::new())));
    for (index, (_, name)) in all.iter_mut().enumerate() {
        *name = format!("case {index};");
    }
    let list: Vec<String> = all
        .iter()
        .map(|(fault, name)| {
            format!(
                "- {{when: {{user: '{name}'}}, think: 'hm, hm', say: 'two words', \
                 call: [{{tool: T, input: {{a: 'b c'}}}}], fault: {{{fault}}}}}"
            )
        })
        .collect();
    let playbook = turns(&list.join("\n"));
    let served = Served::play(Arc::clone(&playbook), Options::default()).await;
    let stall = Duration::from_millis(1500);
    let endpoint =
        Endpoint { base_url: served.address.clone(), retry: quick(), stall, ..Endpoint::default() };
    let over_http = Anthropic::new(endpoint);
    let in_process = strict(playbook).with_retry(quick()).with_patience(stall);
    let mut ends = Vec::new();
    for (fault, name) in &all {
        let (one, other) = (met(&over_http, name).await, met(&in_process, name).await);
        assert_eq!(one, other, "{fault}");
        let again = one.iter().any(|word| word.ends_with("attempt 2"));
        let last = one.last().unwrap().split(' ').next().unwrap().to_owned();
        ends.push((fault.as_str(), again, last));
    }
    let end = |wanted: &str| {
        let (_, again, last) = ends.iter().find(|(fault, ..)| *fault == wanted).unwrap();
        (*again, last.as_str())
    };
    assert_eq!(end("status: 429, retry_after: 0"), (true, "Ended"));
    assert_eq!(end("status: 401"), (false, "Authentication"));
    assert_eq!(end("stall_ms: 20"), (false, "Ended"));
    assert_eq!(end("stall_ms: 9000"), (true, "Ended"), "nothing was shown before");
    assert_eq!(end("garbage: true"), (false, "BadAnswer"));
    assert_eq!(end("too_long: true"), (false, "ContextTooLong"));
    assert_eq!(end("cut_after: 0"), (true, "Ended"));
    assert_eq!(end("cut_after: 130"), (true, "Ended"), "nothing was shown before");
    assert_eq!(end("cut_after: 1040"), (false, "StreamBroken"));
    assert_eq!(end("cut_after: 2470"), (false, "Ended"), "behind the end");
    served.end().await;
}
