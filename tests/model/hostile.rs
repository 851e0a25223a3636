//! Servers that mean no good, or that are newer than we are.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use quarterdeck::model::anthropic::{Anthropic, Auth, Endpoint, body};
use quarterdeck::model::retry::Policy;
use quarterdeck::model::usage::Usage;
use quarterdeck::model::{Chunk, Model, ModelError, StopReason};
use quarterdeck::protocol::content::ChatMessage;

use super::dialect::{Dialect, all, ask, failure, hasty, prefix, request_of, whole};
use crate::support::server::{Server, Step, events, reply};

const STARTED: &str = r#"{"type":"message_start","message":{"id":"m","model":"x","usage":{"input_tokens":7,"output_tokens":1}}}"#;

/// A stream of these events.
fn stream(events: &[&str]) -> String {
    events.iter().map(|data| format!("data: {data}\n\n")).collect()
}

async fn read(dialect: Dialect, text: &str) -> Vec<Result<Chunk, ModelError>> {
    all(dialect.read(vec![Bytes::copy_from_slice(text.as_bytes())])).await
}

fn blocks(chunks: &[Chunk]) -> usize {
    chunks.iter().filter(|chunk| matches!(chunk, Chunk::Block { .. })).count()
}

/// Over a socket: a body that has ended must not be asked again.
#[tokio::test]
async fn a_stream_that_just_ends_is_over() {
    let done = stream(&[
        r#"{"id":"c","choices":[{"index":0,"delta":{"content":"Hi"}}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":5.0,"completion_tokens":1}}"#,
    ]);
    let server = Server::start(vec![events(&done)]).await;
    let chunks = whole(ask(&Dialect::OpenAi.model(&server.url)).await);
    let usage = Usage { input: 5, output: 1, ..Usage::default() };
    assert_eq!(chunks.last(), Some(&Chunk::Ended { stop: StopReason::EndTurn, usage }));
}

#[tokio::test]
async fn a_call_that_the_limit_cut_off_is_no_call() {
    let call = r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"Bash","input":{}}}"#;
    let half = r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"command\": \"rm"}}"#;
    let stop = r#"{"type":"content_block_stop","index":0}"#;
    let limit = r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":99}}"#;
    let end = r#"{"type":"message_stop"}"#;
    for text in [
        stream(&[STARTED, call, half, stop, limit, end]),
        stream(&[STARTED, call, stop, limit, end]),
    ] {
        let chunks = whole(read(Dialect::Anthropic, &text).await);
        let usage = Usage { input: 7, output: 99, ..Usage::default() };
        assert_eq!(blocks(&chunks), 0);
        assert_eq!(chunks.last(), Some(&Chunk::Ended { stop: StopReason::MaxTokens, usage }));
    }
    // Without the limit, an empty input is a whole one.
    let used = r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#;
    let chunks = whole(read(Dialect::Anthropic, &stream(&[STARTED, call, stop, used, end])).await);
    assert_eq!(blocks(&chunks), 1);
    for arguments in ["", r#"{\"command\": \"rm"#] {
        let call = format!(
            r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{{"index":0,"id":"t","function":{{"name":"Bash","arguments":"{arguments}"}}}}]}}}}]}}"#
        );
        let limit = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}"#;
        let chunks = whole(read(Dialect::OpenAi, &stream(&[&call, limit, "[DONE]"])).await);
        assert_eq!(blocks(&chunks), 0);
        assert!(matches!(chunks.last(), Some(Chunk::Ended { stop: StopReason::MaxTokens, .. })));
    }
}

#[tokio::test]
async fn what_was_invented_later_is_passed_over() {
    let text = stream(&[
        STARTED,
        r#"{"type":"invented","message":"hello"}"#,
        r#"{"type":"invented","delta":"x","usage":[]}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"new_delta","text":{"a":1}}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"message_stop"}"#,
    ]);
    let chunks = whole(read(Dialect::Anthropic, &text).await);
    assert!(chunks.contains(&Chunk::Text { index: 0, text: "Hi".into() }));
    let odd = stream(&[STARTED, r#"{"error":{"type":"overloaded_error","message":"busy"}}"#]);
    let error = failure(read(Dialect::Anthropic, &odd).await);
    assert!(matches!(error, ModelError::Overloaded { .. }), "{error}");
    let wrong = stream(&[r#"{"type":"message_start","message":7}"#]);
    let error = failure(read(Dialect::Anthropic, &wrong).await);
    assert!(matches!(error, ModelError::BadAnswer { .. }), "ours, but not as agreed: {error}");
}

#[tokio::test]
async fn no_part_of_a_key_is_shown_wherever_it_stands() {
    let key = "sk-ant-SECRETSECRETSECRETSECRETSECRET";
    for before in [0, 40, 70, 79, 580, 4090] {
        let body = format!("{}{key}", "x".repeat(before));
        let server = Server::start(vec![reply(200, "application/json", "", &body)]).await;
        let auth = Auth::ApiKey(key.to_owned().into());
        let (base_url, retry) = (server.url.clone(), hasty());
        let model: Arc<dyn Model> =
            Arc::new(Anthropic::new(Endpoint { base_url, auth, retry, ..Endpoint::default() }));
        let error = failure(ask(&model).await).to_string();
        assert!(!error.contains("SECRET"), "{before}: {error}");
    }
}

#[tokio::test]
async fn an_input_is_an_object_and_tokens_do_not_overflow() {
    let call = r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"Bash","input":{}}}"#;
    let list = r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"[1]"}}"#;
    let stop = r#"{"type":"content_block_stop","index":0}"#;
    let end = r#"{"type":"message_stop"}"#;
    let error = failure(read(Dialect::Anthropic, &stream(&[STARTED, call, list, stop, end])).await);
    assert!(error.to_string().contains("no object"), "{error}");
    let many = Usage { input: u64::MAX, cache_read: 5, ..Usage::default() };
    assert_eq!((many + many).total(), u64::MAX);
}

#[tokio::test]
async fn an_answer_without_a_type_is_known_by_its_first_byte() {
    let body = r#"{"id":"c","choices":[{"message":{"content":"Hi"},"delta":null,"finish_reason":"stop"}]}"#;
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
    let server = Server::start(vec![vec![Step::Send((head + body).into_bytes())]]).await;
    let chunks = whole(ask(&Dialect::OpenAi.model(&server.url)).await);
    assert!(chunks.contains(&Chunk::Text { index: 0, text: "Hi".into() }));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_wants_more_time_than_there_is_is_left_alone() {
    let policy = Policy { total: Duration::from_secs(60), ..Policy::default() };
    let attempt = |_| -> quarterdeck::model::Answer {
        let retry_after = Some(Duration::from_secs(3600));
        let error = ModelError::RateLimited { message: "later".into(), retry_after };
        Box::pin(futures::stream::iter([Err(error)]))
    };
    let answer = quarterdeck::model::retry::retrying(policy, Default::default(), attempt);
    let chunks = all(answer).await;
    assert_eq!(chunks.len(), 1, "no wait is announced: {chunks:?}");
}

/// Marks of former requests are taken out of results that are kept as they came, too.
#[test]
fn old_marks_and_empty_texts_are_not_sent() {
    let kept = r#"{"role":"user","content":[{"tool_use_id":"t","type":"tool_result","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},{"type":"text","text":"  "}],"cache_control":{"type":"ephemeral"}},{"type":"text","text":" \n"}]}"#;
    let later = r#"{"role":"user","content":"next"}"#;
    let messages = [kept, later].map(|text| serde_json::from_str::<ChatMessage>(text).unwrap());
    let sent = body(&request_of(Arc::new(prefix()), messages.into_iter().collect()));
    // One on the system prompt, one on the last message.
    assert_eq!(sent.matches("cache_control").count(), 2, "{sent}");
    assert!(!sent.contains(r#""text":"  ""#) && !sent.contains(r#""text":" \n""#), "{sent}");
}
