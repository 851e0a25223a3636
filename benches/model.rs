//! What talking to a model costs: the budgets of the design, measured.
//!
//! `cargo bench --bench model` shows how fast a stream is read, beside what an event parser
//! from the shelf needs for its part of the work alone, and what a request of a long
//! conversation costs.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)]

use std::hint::black_box;
use std::sync::Arc;

use bytes::Bytes;
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use eventsource_stream::Eventsource;
use futures::{StreamExt, stream};
use quarterdeck::model::openai::Limit;
use quarterdeck::model::request::{
    Caller, Conversation, Prefix, Purpose, Request, Sampling, SystemBlock, Thinking, ToolChoice,
};
use quarterdeck::model::{Answer, anthropic, http, openai};
use quarterdeck::protocol::content::{Block, ChatMessage};

const MEGABYTE: usize = 1_000_000;
/// As bytes come from a socket.
const PIECE: usize = 16 * 1024;
const PACKET: usize = 1_400;
/// Messages of 500 tokens each, 4 bytes to a token: 100 of them are 50,000 tokens.
const MESSAGE: usize = 2_000;

/// One long answer of short pieces, as models send it.
fn anthropic_stream() -> Vec<Bytes> {
    let mut text = String::from(
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"model\":\"m\",\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n\
         event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
    );
    while text.len() < MEGABYTE {
        text.push_str("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\" a few words\\n\"}}\n\n");
    }
    text.push_str("event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n\
         event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":9}}\n\n\
         event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n");
    cut(&text)
}

fn openai_stream() -> Vec<Bytes> {
    let mut text = String::new();
    while text.len() < MEGABYTE {
        text.push_str("data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" a few words\"},\"finish_reason\":null}]}\n\n");
    }
    text.push_str("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n");
    cut(&text)
}

/// The same amount in one event, in pieces as small as a network makes them.
fn one_long_event() -> Vec<Bytes> {
    let text = format!("data: {{\"type\":\"ping\",\"x\":\"{}\"}}\n\n", "y".repeat(MEGABYTE));
    text.as_bytes().chunks(PACKET).map(Bytes::copy_from_slice).collect()
}

fn cut(text: &str) -> Vec<Bytes> {
    text.as_bytes().chunks(PIECE).map(Bytes::copy_from_slice).collect()
}

/// Events of the Messages API, counted, up to an end that is missing.
async fn read_long(pieces: Vec<Bytes>) -> usize {
    let answer = anthropic::read(stream::iter(pieces.into_iter().map(Ok)).boxed());
    answer.fold(0, async |count, _| count + 1).await
}

async fn read(pieces: Vec<Bytes>, read: fn(http::Incoming) -> Answer) -> usize {
    let answer = read(stream::iter(pieces.into_iter().map(Ok)).boxed());
    answer.map(|chunk| chunk.map(|_| 1).unwrap()).fold(0, async |a, b| a + b).await
}

async fn from_the_shelf(pieces: Vec<Bytes>) -> usize {
    let pieces = stream::iter(pieces.into_iter().map(Ok::<_, std::io::Error>));
    pieces.eventsource().map(|event| event.unwrap().data.len()).fold(0, async |a, b| a + b).await
}

fn streams(c: &mut Criterion) {
    let mut group = c.benchmark_group("read a stream of 1 MB");
    group.sample_size(20);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let mut measure = |name: &str, pieces: Vec<Bytes>, read: &dyn Fn(Vec<Bytes>) -> usize| {
        let bytes: usize = pieces.iter().map(Bytes::len).sum();
        group.throughput(Throughput::BytesDecimal(bytes as u64));
        group.bench_function(name, |bencher| {
            bencher.iter_batched(
                || pieces.clone(),
                |pieces| black_box(read(pieces)),
                BatchSize::LargeInput,
            );
        });
    };
    measure("anthropic", anthropic_stream(), &|pieces| {
        runtime.block_on(read(pieces, anthropic::read))
    });
    measure("openai", openai_stream(), &|pieces| runtime.block_on(read(pieces, openai::read)));
    measure("events only, eventsource-stream", anthropic_stream(), &|pieces| {
        runtime.block_on(from_the_shelf(pieces))
    });
    measure("one long event", one_long_event(), &|pieces| runtime.block_on(read_long(pieces)));
    measure("one long event, eventsource-stream", one_long_event(), &|pieces| {
        runtime.block_on(from_the_shelf(pieces))
    });
    group.finish();
}

fn conversation(messages: usize) -> Conversation {
    let text = "some \"words\"\n".repeat(MESSAGE / 13);
    let message = |at: usize| match at % 2 {
        0 => ChatMessage::user(text.clone()),
        _ => ChatMessage::assistant(vec![Block::text(text.clone())]),
    };
    (0..messages).map(message).collect()
}

fn request(prefix: &Arc<Prefix>, messages: Conversation) -> Request {
    Request {
        model: "m".to_owned(),
        prefix: Arc::clone(prefix),
        messages,
        max_tokens: 1000,
        sampling: Sampling::default(),
        thinking: Thinking::Off,
        tool_choice: ToolChoice::Auto,
        caller: Caller {
            agent: "ada".to_owned(),
            agent_type: None,
            team: None,
            cwd: "/demo".to_owned(),
            purpose: Purpose::Turn,
        },
    }
}

fn requests(c: &mut Criterion) {
    let system = vec![SystemBlock { text: "Be brief. ".repeat(800), cached: true }];
    let prefix = Arc::new(Prefix::new(system, Vec::new()));
    let mut group = c.benchmark_group("build a request");
    type Build = fn(&Request) -> String;
    let formats: [(&str, Build); 2] = [
        ("anthropic", anthropic::body),
        ("openai", |request| openai::body(request, Limit::MaxTokens)),
    ];
    for (name, build) in formats {
        group.bench_function(BenchmarkId::new(name, "100 messages, all of them new"), |bencher| {
            let fresh = || request(&prefix, conversation(100));
            bencher.iter_batched(fresh, |request| build(&request), BatchSize::LargeInput);
        });
        for messages in [0, 10, 100, 1000] {
            let known = conversation(messages);
            build(&request(&prefix, known.clone()));
            let next = || {
                let mut messages = known.clone();
                messages.push(ChatMessage::user("some \"words\"\n".repeat(MESSAGE / 13)));
                request(&prefix, messages)
            };
            let title = format!("1 new after {messages} known");
            group.bench_function(BenchmarkId::new(name, title), |bencher| {
                bencher.iter_batched(next, |request| build(&request), BatchSize::LargeInput);
            });
        }
    }
    group.finish();
}

criterion_group!(benches, streams, requests);
criterion_main!(benches);
