//! The server, over real sockets.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use futures::future::join_all;
use quarterdeck::model::Stop;
use quarterdeck::model::rehearsal::playbook::Pace;
use quarterdeck::model::rehearsal::server::{Log, Options, ServeError, serve};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::scene::{file, story};
use super::wire::{Served, ask, client, events, refusal, streamed, with_messages};
use crate::support::{deck::Deck, mode};

#[tokio::test]
async fn an_answer_comes_whole() {
    let served = Served::start(Options::default()).await;
    let response = served.post(&ask("weather in Oslo")).await;
    assert!(response.headers()["request-id"].to_str().unwrap().starts_with("req_"));
    assert_eq!(response.headers()["content-type"], "application/json");
    let message: Value = response.json().await.unwrap();
    let types: Vec<&Value> =
        message["content"].as_array().unwrap().iter().map(|block| &block["type"]).collect();
    assert_eq!(types, ["thinking", "text", "tool_use", "tool_use"]);
    assert_eq!(message["content"][1]["text"], "I shall look up Oslo – one moment.");
    let input = json!({ "city": "Oslo", "days": 2, "units": ["°C", "%"] });
    assert_eq!(message["content"][2]["input"], input);
    assert_eq!(message["stop_reason"], "tool_use");
    assert_eq!((&message["role"], &message["model"]), (&json!("assistant"), &json!("rehearsal")));

    let results = json!([
        { "type": "tool_result", "tool_use_id": message["content"][2]["id"],
          "content": [{ "type": "text", "text": "{\"sky\":\"clear\",\"degrees\":-3}" }] },
        { "type": "tool_result", "tool_use_id": message["content"][3]["id"], "content": "noon" },
    ]);
    let next = served
        .ok(&with_messages(json!([
            { "role": "user", "content": "weather in Oslo" },
            { "role": "assistant", "content": message["content"] },
            { "role": "user", "content": results },
        ])))
        .await;
    assert_eq!(next["content"][0]["text"], "It is clear, -3 degrees.");
    assert_eq!(next["stop_reason"], "end_turn");
    served.end().await;
}

#[tokio::test]
async fn a_stream_has_the_events_of_the_real_one() {
    let served = Served::start(Options::default()).await;
    let whole = served.ok(&ask("weather in Oslo")).await;
    let response = served.post(&streamed(ask("weather in Oslo"))).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream; charset=utf-8");
    let events = events(&response.text().await.unwrap());
    let mut kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    kinds.dedup();
    let block = ["content_block_start", "content_block_delta", "content_block_stop"];
    let mut expected = vec!["message_start", "content_block_start", "ping"];
    expected.extend(&block[1..]);
    (0..3).for_each(|_| expected.extend(block));
    expected.extend(["message_delta", "message_stop"]);
    assert_eq!(kinds, expected);

    // The pieces are the whole.
    let mut content: Vec<Value> = Vec::new();
    let mut inputs = vec![String::new(); 4];
    for event in &events {
        let index = event["index"].as_u64().unwrap_or_default() as usize;
        let delta = &event["delta"];
        let add = |value: &mut Value, more: &Value| {
            *value = json!(format!("{}{}", value.as_str().unwrap(), more.as_str().unwrap()));
        };
        match (event["type"].as_str().unwrap(), delta["type"].as_str()) {
            ("content_block_start", _) => content.push(event["content_block"].clone()),
            (_, Some("text_delta")) => add(&mut content[index]["text"], &delta["text"]),
            (_, Some("thinking_delta")) => add(&mut content[index]["thinking"], &delta["thinking"]),
            (_, Some("signature_delta")) => {
                add(&mut content[index]["signature"], &delta["signature"])
            }
            (_, Some("input_json_delta")) => {
                inputs[index].push_str(delta["partial_json"].as_str().unwrap())
            }
            _ => {}
        }
    }
    for (block, input) in content.iter_mut().zip(&inputs).filter(|(_, input)| !input.is_empty()) {
        block["input"] = serde_json::from_str(input).unwrap();
    }
    assert_eq!(json!(content), whole["content"]);
    let start = &events[0]["message"];
    assert_eq!((&start["id"], &start["content"]), (&whole["id"], &json!([])));
    assert_eq!(start["usage"]["output_tokens"], 1);
    let end = &events[events.len() - 2];
    assert_eq!(end["usage"], whole["usage"]);
    assert_eq!(end["delta"], json!({ "stop_reason": "tool_use", "stop_sequence": null }));
    served.end().await;
}

#[tokio::test]
async fn tokens_are_counted_and_the_cache_is_simulated() {
    let served = Served::start(Options::default()).await;
    let mark = json!({ "type": "ephemeral" });
    let request = |marked: &str, texts: &[&str]| {
        let text = |text: &str| match text == marked {
            true => json!([{ "type": "text", "text": text, "cache_control": mark }]),
            false => json!(text),
        };
        let messages: Vec<Value> = texts
            .iter()
            .enumerate()
            .map(|(index, said)| {
                let role = ["user", "assistant"][index % 2];
                json!({ "role": role, "content": text(said) })
            })
            .collect();
        let mut body = with_messages(json!(messages));
        body["system"] = json!("You are helpful.");
        body
    };
    let usage = async |body: &Value| {
        let usage = served.ok(body).await["usage"].clone();
        let get = |key: &str| usage[key].as_u64().unwrap();
        (get("input_tokens"), get("cache_creation_input_tokens"), get("cache_read_input_tokens"))
    };
    let count = async |body: &Value| {
        let path = "/v1/messages/count_tokens";
        let counted: Value =
            served.post_to(path, body.to_string(), &[]).await.json().await.unwrap();
        counted["input_tokens"].as_u64().unwrap()
    };
    let plain = request("", &["hello"]);
    let total = count(&plain).await;
    assert_eq!(usage(&plain).await, (total, 0, 0), "no mark, no cache");
    let first = request("hello", &["hello"]);
    assert_eq!(count(&first).await, total, "marks are not counted");
    assert_eq!(usage(&first).await, (0, total, 0));
    assert_eq!(usage(&first).await, (0, 0, total));
    let longer = request("hello again", &["hello", "Hello to you.", "hello again"]);
    let more = count(&longer).await - total;
    assert_eq!(usage(&longer).await, (0, more, total), "the mark has moved on");
    let other = request("hello there", &["hello there"]);
    let (_, written, read) = usage(&other).await;
    assert!(written > 0 && read == 0, "another beginning");
    served.end().await;
}

#[tokio::test]
async fn wrong_requests_are_refused_in_the_shape_of_the_api() {
    let served = Served::start(Options::default()).await;
    let user = json!({ "role": "user", "content": "hello" });
    let call = json!({ "role": "assistant", "content": [
        { "type": "tool_use", "id": "toolu_1", "name": "x", "input": {} }] });
    let result = |id: &str| {
        json!({ "role": "user", "content": [
        { "type": "tool_result", "tool_use_id": id, "content": "ok" }] })
    };
    let mark = json!({ "type": "text", "text": "x", "cache_control": { "type": "ephemeral" } });
    let table = [
        (json!({ "max_tokens": 1, "messages": [user] }), "model: Field required"),
        (json!({ "model": "m", "messages": [user] }), "max_tokens: Field required"),
        (json!({ "model": "m", "max_tokens": 1 }), "messages: Field required"),
        (
            json!({ "model": "m", "max_tokens": 0, "messages": [user] }),
            "max_tokens: Input should be",
        ),
        (
            json!({ "model": "m", "max_tokens": "1", "messages": [user] }),
            "max_tokens: Input should be a valid integer",
        ),
        (json!({ "model": "m", "max_tokens": 1, "messages": [user], "stream": 1 }), "stream: "),
        (json!([1]), "Input should be a valid dictionary"),
        (with_messages(json!([])), "messages: at least one message is required"),
        (with_messages(json!("hello")), "messages: Input should be a valid list"),
        (with_messages(json!([call])), "first message must use the \"user\" role"),
        (
            with_messages(json!([{ "role": "system", "content": "x" }])),
            "Unexpected role \"system\"",
        ),
        (
            with_messages(json!([{ "role": "robot", "content": "x" }])),
            "messages.0.role: Input should be 'user' or 'assistant'",
        ),
        (with_messages(json!([{ "content": "x" }])), "messages.0.role: Field required"),
        (with_messages(json!([{ "role": "user" }])), "messages.0.content: Field required"),
        (
            with_messages(json!([{ "role": "user", "content": 5 }])),
            "messages.0.content: Input should be a valid list",
        ),
        (
            with_messages(json!([{ "role": "user", "content": [{ "text": "x" }] }])),
            "messages.0.content.0.type: Field required",
        ),
        (
            with_messages(json!([{ "role": "user", "content": [{ "type": "text", "text": "" }] }])),
            "must be non-empty",
        ),
        (
            with_messages(json!([user, call, result("toolu_2")])),
            "unexpected `tool_use_id` found in `tool_result` blocks: toolu_2",
        ),
        (
            with_messages(json!([result("toolu_1")])),
            "messages.0.content.0: unexpected `tool_use_id`",
        ),
        (
            with_messages(json!([user, call, user])),
            "without `tool_result` blocks immediately after: toolu_1",
        ),
        (
            with_messages(json!([user, call])),
            "without `tool_result` blocks immediately after: toolu_1",
        ),
        (with_messages(json!([user, call, result("toolu_1"), result("toolu_1")])), "single result"),
        (
            with_messages(json!([{ "role": "user", "content": [mark, mark, mark, mark, mark] }])),
            "Found 5.",
        ),
        (ask("nothing that the playbook knows"), "no turn for team-lead here"),
    ];
    for (body, expected) in table {
        let (status, kind, message) = served.refused(&body).await;
        assert_eq!((status, kind.as_str()), (400, "invalid_request_error"), "{body}");
        assert!(message.contains(expected), "{message:?} does not say {expected:?}");
    }
    served.end().await;
}

#[tokio::test]
async fn what_is_no_request_at_all_is_refused_in_the_same_shape() {
    let served = Served::start(Options::default()).await;
    let bad = refusal(served.post_to("/v1/messages", "{".to_owned(), &[]).await).await;
    assert!(bad.0 == 400 && bad.2.contains("not valid JSON"), "{bad:?}");
    let none = refusal(served.post_to("/v1/complete", "{}".to_owned(), &[]).await).await;
    assert_eq!(none, (404, "not_found_error".to_owned(), "Not found".to_owned()));
    let got = client().get(format!("{}/v1/messages", served.address)).send().await.unwrap();
    assert_eq!(refusal(got).await.0, 405);
    let large = "x".repeat(33 * 1024 * 1024);
    let large = refusal(served.post_to("/v1/messages", large, &[]).await).await;
    assert_eq!((large.0, large.1.as_str()), (413, "request_too_large"));
    served.end().await;
}

#[tokio::test]
async fn callers_are_known_by_headers_or_by_what_they_send() {
    let served = Served::start(Options::default()).await;
    let text = async |body: Value, headers: &[(&str, &str)]| {
        let answer = served.post_to("/v1/messages", body.to_string(), headers).await;
        let answer: Value = answer.json().await.unwrap();
        answer["content"][0]["text"]
            .as_str()
            .map(str::to_owned)
            .unwrap_or_else(|| answer.to_string())
    };
    let worker = [
        ("x-quarterdeck-agent", "worker-3"),
        ("x-quarterdeck-team", "t"),
        ("x-quarterdeck-cwd", "/demo"),
        ("x-quarterdeck-purpose", "turn"),
    ];
    assert_eq!(text(ask("hello"), &worker).await, "worker-3 of t in /demo");
    assert_eq!(text(ask("hello"), &[]).await, "Hello to you.", "the first actor");
    let mut titled = ask("hello");
    titled["system"] = json!([{ "type": "text", "text": "Write a title for this." }]);
    assert_eq!(text(titled, &[]).await, "A fine title");
    let later = with_messages(json!([
        { "role": "user", "content": "hello" },
        { "role": "assistant", "content": "hm" },
        { "role": "user", "content": [{ "type": "text", "text": "write a title now" }] },
    ]));
    assert_eq!(text(later, &[]).await, "A fine title");
    let title = [("x-quarterdeck-agent", "team-lead"), ("x-quarterdeck-purpose", "title")];
    assert_eq!(text(ask("hello"), &title).await, "Rehearsal", "the built-in answer");
    let nobody = [("x-quarterdeck-agent", "nobody")];
    assert!(text(ask("hello"), &nobody).await.contains("no actor for nobody"));
    served.end().await;
}

#[tokio::test]
async fn faults_happen_on_the_wire_and_pass() {
    let served = Served::start(Options::default()).await;
    for _ in 0..2 {
        let busy = served.refused(&streamed(ask("busy"))).await;
        assert_eq!(busy, (529, "overloaded_error".to_owned(), "Overloaded".to_owned()));
    }
    assert_eq!(served.ok(&ask("busy")).await["content"][0]["text"], "Now I can.");

    let limited = served.post(&ask("limited")).await;
    assert_eq!(limited.headers()["retry-after"], "2");
    assert_eq!(refusal(limited).await.1, "rate_limit_error");
    assert_eq!(served.refused(&ask("key")).await.1, "authentication_error");

    let essay = ask(&"an essay ".repeat(500));
    let (status, kind, words) = served.refused(&essay).await;
    assert_eq!((status, kind.as_str()), (400, "invalid_request_error"));
    let counted = served.post_to("/v1/messages/count_tokens", essay.to_string(), &[]).await;
    let counted: Value = counted.json().await.unwrap();
    let tokens = counted["input_tokens"].as_u64().unwrap();
    assert_eq!(words, format!("prompt is too long: {tokens} tokens > {} maximum", tokens - 1));
    assert_eq!(served.ok(&essay).await["content"][0]["text"], "Now it fits.");

    let mut cut = served.post(&streamed(ask("cut"))).await;
    let mut bytes = 0;
    let error = loop {
        match cut.chunk().await {
            Ok(Some(chunk)) => bytes += chunk.len(),
            Ok(None) => panic!("the stream ended as if it were whole"),
            Err(error) => break error,
        }
    };
    assert_eq!(bytes, 600, "{error}");
    let whole = served.post(&streamed(ask("cut"))).await.text().await.unwrap();
    assert_eq!(events(&whole).last().unwrap()["type"], "message_stop");

    let start = Instant::now();
    let late = served.post(&streamed(ask("stall"))).await.text().await.unwrap();
    assert!(start.elapsed() >= Duration::from_millis(300));
    assert_eq!(events(&late).last().unwrap()["type"], "message_stop");

    let garbage = served.post(&streamed(ask("garbage"))).await.text().await.unwrap();
    let last = garbage.lines().rfind(|line| line.starts_with("data: ")).unwrap();
    assert!(serde_json::from_str::<Value>(&last[6..]).is_err(), "{last}");
    assert_eq!(served.ok(&ask("garbage")).await["content"][0]["text"], "Clean.");
    served.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_connections_are_served_at_once() {
    let pace = Some(Pace::new(100));
    let served = Served::start(Options { pace, log: None }).await;
    let body = streamed(ask("hello"));
    // All of them are open before the first is read to its end.
    let open = join_all((0..50).map(|_| served.post(&body))).await;
    let texts = join_all(open.into_iter().map(reqwest::Response::text)).await;
    for text in texts {
        assert_eq!(events(&text.unwrap()).last().unwrap()["type"], "message_stop");
    }
    served.end().await;
}

#[tokio::test]
async fn each_request_is_a_line_in_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("requests.jsonl");
    let served = Served::start(Options { pace: None, log: Some(Log::open(&log).unwrap()) }).await;
    let worker = [
        ("x-quarterdeck-agent", "worker-1"),
        ("x-quarterdeck-team", "t"),
        ("x-api-key", "sk-secret"),
    ];
    served.post_to("/v1/messages", ask("hello").to_string(), &worker).await;
    served.post(&ask("busy")).await;
    served.post(&with_messages(json!([]))).await;
    let text = std::fs::read_to_string(&log).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let part = |key: &str| lines.iter().map(|line| line[key].clone()).collect::<Vec<_>>();
    assert_eq!(part("agent"), [json!("worker-1"), json!("team-lead"), Value::Null]);
    assert_eq!(part("purpose"), [json!("turn"), json!("turn"), Value::Null]);
    assert_eq!(part("line"), [json!(44), json!(14), Value::Null]);
    assert_eq!(part("status"), [json!(200), json!(529), json!(400)]);
    assert_eq!(part("request"), [ask("hello"), ask("busy"), with_messages(json!([]))]);
    assert!(lines[0]["usage"]["input_tokens"].as_u64().unwrap() > 0, "{text}");
    assert!(lines[0]["time"].as_str().unwrap().ends_with('Z'), "{text}");
    assert_eq!(lines[2]["error"], "messages: at least one message is required");
    assert!(!text.contains("sk-secret"), "keys stay out of it");
    assert_eq!(mode(&log), 0o600);
    served.end().await;
}

#[tokio::test]
async fn what_is_not_answered_by_a_turn_is_logged_as_well() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("requests.jsonl");
    let served = Served::start(Options { pace: None, log: Some(Log::open(&log).unwrap()) }).await;
    let count = "/v1/messages/count_tokens";
    served.post_to(count, ask("hello").to_string(), &[("x-quarterdeck-agent", "me")]).await;
    served.post_to(count, "{}".to_owned(), &[]).await;
    served.post_to("/v1/messages", "{ not JSON".to_owned(), &[]).await;
    served.post_to("/v1/messages", "é".repeat(100_000), &[]).await;
    served.post_to("/v1/messages", "[1]".to_owned(), &[]).await;
    served.post_to("/v1/complete?key=sk-secret", "{\"a\":1}".to_owned(), &[]).await;
    client().get(format!("{}/v1/messages", served.address)).send().await.unwrap();
    served.post_to("/v1/messages", "x".repeat(33 * 1024 * 1024), &[]).await;
    let text = std::fs::read_to_string(&log).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let part = |key: &str| lines.iter().map(|line| line[key].clone()).collect::<Vec<_>>();
    let messages = "/v1/messages";
    assert_eq!(
        part("path"),
        [count, count, messages, messages, messages, "/v1/complete", messages, messages]
    );
    assert_eq!(part("method"), ["POST", "POST", "POST", "POST", "POST", "POST", "GET", "POST"]);
    assert_eq!(part("status"), [200, 400, 400, 400, 400, 404, 405, 413]);
    assert!(lines[0]["usage"]["input_tokens"].as_u64().unwrap() > 0, "{}", lines[0]);
    assert_eq!((&lines[0]["agent"], &lines[0]["request"]), (&json!("me"), &ask("hello")));
    assert_eq!(lines[1]["error"], "model: Field required");
    assert_eq!(lines[2]["request"], "{ not JSON");
    let kept = lines[3]["request"].as_str().unwrap();
    assert!(kept.len() <= 64 * 1024 && kept.len() > 64 * 1000, "{}", kept.len());
    assert_eq!((&lines[4]["request"], &lines[5]["request"]), (&json!([1]), &json!({ "a": 1 })));
    assert_eq!((&lines[6]["request"], &lines[7]["request"]), (&Value::Null, &Value::Null));
    assert!(!text.contains("sk-secret"), "keys stay out of it");
    served.end().await;
}

#[tokio::test]
async fn whoever_is_recognised_has_a_name_without_stars() {
    let text = "actors:\n- {who: 'worker-*', identify: work, turns: [{say: 'I am {{me}}.'}]}\n\
                - {who: '*', identify: other, turns: [{say: 'I am {{me}}.'}]}\n";
    let playbook = quarterdeck::model::rehearsal::playbook::Playbook::parse(text).unwrap();
    let served = Served::play(playbook.into(), Options::default()).await;
    for (text, name) in [("work", "I am worker."), ("other", "I am agent.")] {
        assert_eq!(served.ok(&ask(text)).await["content"][0]["text"], name);
    }
    served.end().await;
}

#[test]
fn a_pipe_that_nobody_reads_is_no_log() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let error = Log::open(&pipe).unwrap_err();
    assert_eq!(error.to_string(), "nobody reads from this pipe");
    let (deck, path) = (Deck::new(), file("wire.yaml"));
    let (path, pipe) = (path.to_str().unwrap(), pipe.to_str().unwrap());
    let ran = deck.run(&["playbook", "serve", path, "--log", pipe]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{ran:?}");
}

#[test]
fn the_help_says_what_is_wanted() {
    let deck = Deck::new();
    for command in ["check", "serve"] {
        let help = deck.run(&["playbook", command, "--help"]).ok().stdout;
        assert!(help.contains("The playbook: a YAML file"), "{help}");
        assert_eq!(help.contains("[default: 0]"), command == "serve", "{help}");
        assert_eq!(help.contains("too_long: true"), command == "check", "{help}");
    }
}

#[tokio::test]
async fn only_this_machine_is_served() {
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let served = serve(listener, story(), Options::default(), Stop::new()).await;
    assert!(matches!(served, Err(ServeError::NotLoopback(_))), "{served:?}");
}

#[tokio::test]
async fn a_term_signal_ends_it_even_while_it_answers() {
    let deck = Deck::new();
    let path = file("wire.yaml");
    let args = ["playbook", "serve", path.to_str().unwrap(), "--port", "0", "--pace", "1"];
    let mut child = deck.command(&args).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("listening on ").unwrap();
    assert!(address.starts_with("http://127.0.0.1:"), "{line}");
    let request = client().post(format!("{address}/v1/messages"));
    let mut open = request.body(streamed(ask("hello")).to_string()).send().await.unwrap();
    assert!(open.chunk().await.unwrap().is_some());
    let killed = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let broken = loop {
        match open.chunk().await {
            Ok(Some(_)) => {}
            Ok(None) => break false,
            Err(_) => break true,
        }
    };
    assert!(broken, "half an answer does not look whole");
    let status = tokio::task::spawn_blocking(move || child.wait().unwrap()).await.unwrap();
    assert_eq!(status.code(), Some(0));
    assert!(!deck.home().exists(), "serving needs no home");
}

#[test]
fn what_cannot_be_served_is_said() {
    let deck = Deck::new();
    let wrong = file("six_mistakes.yaml");
    let ran = deck.run(&["playbook", "serve", wrong.to_str().unwrap()]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.lines().count()), (2, "", 6));
    let right = file("wire.yaml");
    let args = ["playbook", "serve", right.to_str().unwrap(), "--log", "no/such/dir/log"];
    let ran = deck.run(&args);
    assert_eq!(ran.stdout, "", "nobody is sent to an address that does not answer");
    assert!(
        ran.code == 2 && ran.stderr.contains("cannot write the log no/such/dir/log"),
        "{ran:?}"
    );
}
