//! What goes wrong between a server and us: one list, for both formats.

use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::StreamExt;
use quarterdeck::model::{Chunk, ModelError, Stop};

use super::dialect::{BOTH, Dialect, all, ask, failure, hasty, joined, request, whole};
use crate::support::server::{Server, Step, end, events, events_then, head, piece, reply};

fn retries(chunks: &[Chunk]) -> Vec<(&str, u32, u32)> {
    let retry = |chunk| {
        let &Chunk::Retrying { ref why, attempt, of, .. } = chunk else { return None };
        Some((why.as_str(), attempt, of))
    };
    chunks.iter().filter_map(retry).collect()
}

fn is_complete(chunks: &[Chunk]) -> bool {
    matches!(chunks.last(), Some(Chunk::Ended { .. }))
}

/// What the recorded stream says when nothing goes wrong.
async fn recorded(dialect: Dialect) -> Vec<Chunk> {
    whole(all(dialect.read(vec![Bytes::from_static(dialect.recorded().as_bytes())])).await)
}

#[tokio::test]
async fn a_stream_means_the_same_wherever_it_is_cut() {
    for dialect in BOTH {
        let expected = recorded(dialect).await;
        let text = Bytes::from_static(dialect.recorded().as_bytes());
        for cut in 0..=text.len() {
            let pieces = vec![text.slice(..cut), text.slice(cut..)];
            assert_eq!(whole(all(dialect.read(pieces)).await), expected, "{dialect:?} at {cut}");
        }
        for size in [1, 2, 3, 7] {
            let pieces = text.chunks(size).map(Bytes::copy_from_slice).collect();
            assert_eq!(whole(all(dialect.read(pieces)).await), expected, "{dialect:?} by {size}");
        }
    }
}

#[tokio::test]
async fn a_stream_means_the_same_over_a_socket() {
    for dialect in BOTH {
        let mut pieces = vec![head(200, "text/event-stream", "")];
        pieces.extend(dialect.recorded().as_bytes().chunks(11).map(piece));
        pieces.push(end());
        let server = Server::start(vec![pieces]).await;
        let model = dialect.model(&server.url);
        let expected = joined(recorded(dialect).await);
        for _ in 0..2 {
            assert_eq!(joined(whole(ask(&model).await)), expected, "{dialect:?}");
        }
        let used: Vec<usize> = server.seen().iter().map(|seen| seen.connection).collect();
        assert_eq!(used, [0, 0], "{dialect:?}: an answer read to its end leaves the connection");
    }
}

#[tokio::test]
async fn a_stream_that_ends_early_is_broken_wherever_it_ends() {
    for dialect in BOTH {
        let text = dialect.recorded();
        let closing = match dialect {
            Dialect::Anthropic => "event: message_stop",
            Dialect::OpenAi => {
                "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish"
            }
        };
        let until = text.find(closing).unwrap();
        for cut in 0..until {
            let answer = all(dialect.read(vec![Bytes::copy_from_slice(&text.as_bytes()[..cut])]));
            let error = failure(answer.await);
            assert!(matches!(error, ModelError::StreamBroken { .. }), "{dialect:?} {cut}: {error}");
        }
    }
}

#[tokio::test]
async fn an_error_inside_a_stream_is_tried_again_until_something_was_shown() {
    for dialect in BOTH {
        let early = events(&format!("{}{}", dialect.begun(), dialect.error_event()));
        let server = Server::start(vec![early, events(dialect.recorded())]).await;
        let chunks = whole(ask(&dialect.model(&server.url)).await);
        assert_eq!(retries(&chunks), [("overloaded", 2, 10)], "{dialect:?}");
        assert!(is_complete(&chunks));

        // The word stands inside an event: only the events before it are sent.
        let at = dialect.up_to(" the").rfind("\n\n").unwrap();
        let text = format!("{}\n\n{}", &dialect.recorded()[..at], dialect.error_event());
        let server = Server::start(vec![events(&text)]).await;
        let error = failure(ask(&dialect.model(&server.url)).await);
        let busy = ModelError::Overloaded { message: "Busy".to_owned(), retry_after: None };
        assert_eq!(error, busy, "{dialect:?}");
        assert_eq!(server.seen().len(), 1, "{dialect:?}: not tried again");
    }
}

#[tokio::test]
async fn too_many_requests_wait_as_long_as_the_server_says() {
    let body = r#"{"error":{"type":"rate_limit_error","message":"Slow down."}}"#;
    for dialect in BOTH {
        let limit = |header: &str| reply(429, "application/json", header, body);
        let again = limit("retry-after-ms: 30\r\n");
        let server = Server::start(vec![again, events(dialect.recorded())]).await;
        let begun = Instant::now();
        let chunks = whole(ask(&dialect.model(&server.url)).await);
        let wait = Duration::from_millis(30);
        let why = "too many requests".to_owned();
        assert_eq!(chunks[0], Chunk::Retrying { why, wait, attempt: 2, of: 10 }, "{dialect:?}");
        assert!(begun.elapsed() >= wait && is_complete(&chunks));

        let server = Server::start(vec![limit("retry-after: 7\r\n")]).await;
        let stop = Stop::new();
        let mut answer = dialect.model(&server.url).stream(request(), stop.clone());
        let first = answer.next().await.unwrap().unwrap();
        let seven = Duration::from_secs(7);
        assert!(matches!(first, Chunk::Retrying { wait, .. } if wait == seven), "{first:?}");
        stop.cancel();
        assert_eq!(answer.next().await, Some(Err(ModelError::Stopped)));
    }
}

#[tokio::test]
async fn overloaded_three_times_then_success() {
    for dialect in BOTH {
        let busy = reply(529, "application/json", "", r#"{"error":{"message":"Busy"}}"#);
        let replies = vec![busy.clone(), busy.clone(), busy, events(dialect.recorded())];
        let server = Server::start(replies).await;
        let chunks = whole(ask(&dialect.model(&server.url)).await);
        let expected = [("overloaded", 2, 10), ("overloaded", 3, 10), ("overloaded", 4, 10)];
        assert_eq!(retries(&chunks), expected, "{dialect:?}");
        assert_eq!(joined(chunks[3..].to_vec()), joined(recorded(dialect).await));
        let bodies: Vec<String> = server.seen().into_iter().map(|seen| seen.body).collect();
        assert!(bodies.windows(2).all(|two| two[0] == two[1]), "the same is sent each time");
    }
}

#[tokio::test]
async fn a_reset_is_tried_again_until_something_was_shown() {
    for dialect in BOTH {
        let replies = vec![
            vec![Step::Reset],
            vec![head(200, "text/event-stream", ""), Step::Reset],
            events_then(dialect.begun(), Step::Reset),
            events_then(dialect.begun(), Step::Close),
            events(dialect.recorded()),
        ];
        let server = Server::start(replies).await;
        let chunks = whole(ask(&dialect.model(&server.url)).await);
        let whys: Vec<&str> = retries(&chunks).into_iter().map(|(why, ..)| why).collect();
        assert_eq!(whys.len(), 4, "{dialect:?}: {whys:?}");
        assert_eq!(whys[0], "no connection", "{dialect:?}");
        assert_eq!(whys[3], "the answer was cut off", "{dialect:?}");
        assert!(is_complete(&chunks));

        let shown = dialect.up_to("Hé").rfind("\n\n").unwrap() + 2;
        for step in [Step::Reset, Step::Close] {
            let server = Server::start(vec![events_then(&dialect.recorded()[..shown], step)]).await;
            let error = failure(ask(&dialect.model(&server.url)).await);
            assert!(matches!(error, ModelError::StreamBroken { .. }), "{dialect:?}: {error}");
            assert_eq!(server.seen().len(), 1, "{dialect:?}: not tried again");
        }
    }
}

#[tokio::test]
async fn nobody_at_home_is_no_connection() {
    for dialect in BOTH {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        drop(listener);
        let answer = ask(&dialect.model(&url)).await;
        assert_eq!(answer.len(), 10, "{dialect:?}");
        let error = failure(answer);
        assert!(
            matches!(&error, ModelError::Network { message } if message.contains("refused")),
            "{error}"
        );
    }
}

#[tokio::test]
async fn silence_is_cut_and_tried_again() {
    for dialect in BOTH {
        let silent = [
            vec![Step::Silence],
            events_then(dialect.begun(), Step::Silence),
            events(dialect.recorded()),
        ];
        let server = Server::start(silent.to_vec()).await;
        let stall = Duration::from_millis(150);
        let chunks = whole(ask(&dialect.model_with(&server.url, stall, hasty())).await);
        let why = "the answer was cut off";
        assert_eq!(retries(&chunks), [(why, 2, 10), (why, 3, 10)], "{dialect:?}");
        assert!(is_complete(&chunks));

        let shown = dialect.up_to("Hé").rfind("\n\n").unwrap() + 2;
        let late = events_then(&dialect.recorded()[..shown], Step::Silence);
        let server = Server::start(vec![late]).await;
        let error = failure(ask(&dialect.model_with(&server.url, stall, hasty())).await);
        assert_eq!(error.to_string(), "the answer was cut off: no data for 150ms", "{dialect:?}");
        server.client_gone().await;
    }
}

#[tokio::test]
async fn garbage_is_named_and_not_tried_again() {
    for dialect in BOTH {
        let garbage = format!("{}data: {{\"type\": oops}}\n\n", dialect.begun());
        let html = "<html>\n<head><title>Sign in to the guest network</title></head></html>";
        let latin = "data: {\"type\":\"ping\",\"x\":\"\u{fffd}\"}\n\n";
        let cases = [
            (events(&garbage), "oops"),
            (
                reply(200, "text/html; charset=utf-8", "", html),
                "text/html came: Sign in to the guest",
            ),
            (reply(200, "application/json", "", "{\"nothing\":true}"), "nothing"),
            (reply(200, "application/json", "", "not json"), "not json"),
        ];
        for (reply, word) in cases {
            let server = Server::start(vec![reply]).await;
            let error = failure(ask(&dialect.model(&server.url)).await);
            assert!(
                matches!(&error, ModelError::BadAnswer { message } if message.contains(word)),
                "{dialect:?}: {error}"
            );
            assert_eq!(server.seen().len(), 1);
        }
        let mut bytes = latin.as_bytes().to_vec();
        let at = bytes.windows(3).position(|three| three == "\u{fffd}".as_bytes()).unwrap();
        bytes.splice(at..at + 3, [0xe9]);
        let error = failure(all(dialect.read(vec![Bytes::from(bytes)])).await);
        assert!(
            matches!(&error, ModelError::BadAnswer { message } if message.contains("UTF-8")),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_refusal_says_what_the_server_says() {
    let json = "application/json";
    for dialect in BOTH {
        let said = |status, message: &str| {
            let body = format!("{{\"error\":{{\"type\":\"t\",\"message\":\"{message}\"}}}}");
            reply(status, json, "request-id: req_1\r\n", &body)
        };
        let cases = [
            (
                said(401, "invalid x-api-key"),
                "the key was refused: invalid x-api-key (HTTP 401 Unauthorized, request req_1); set KEY to a valid key, then start again with -c",
            ),
            (
                said(404, "model: m"),
                "not found: model: m (HTTP 404 Not Found, request req_1); choose another model with --model, or /model in the console; `quarterdeck model list` shows them",
            ),
            (
                said(400, "max_tokens: no"),
                "the request was refused: max_tokens: no (HTTP 400 Bad Request, request req_1)",
            ),
            (
                said(400, "prompt is too long: 9 > 8"),
                "the conversation is too long for the model: prompt is too long: 9 > 8 (HTTP 400 Bad Request, request req_1)",
            ),
            (
                said(400, "This model's maximum context length is 8"),
                "the conversation is too long for the model: This model's maximum context length is 8 (HTTP 400 Bad Request, request req_1)",
            ),
            (
                reply(302, "text/html", "location: http://elsewhere.invalid/\r\n", ""),
                "the request was refused: HTTP 302 Found",
            ),
        ];
        for (reply, words) in cases {
            let server = Server::start(vec![reply]).await;
            let error = failure(ask(&dialect.model(&server.url)).await);
            let key = match dialect {
                Dialect::Anthropic => "ANTHROPIC_API_KEY",
                Dialect::OpenAi => "OPENAI_API_KEY",
            };
            assert_eq!(error.to_string(), words.replace("KEY", key), "{dialect:?}");
            assert_eq!(server.seen().len(), 1, "{dialect:?}: not tried again");
        }
    }
}

#[tokio::test]
async fn a_stop_or_a_drop_closes_the_connection_within_100_ms() {
    let limit = Duration::from_millis(100);
    for dialect in BOTH {
        for reply in [vec![Step::Silence], events_then(dialect.up_to(" the"), Step::Silence)] {
            let server = Server::start(vec![reply.clone()]).await;
            let stop = Stop::new();
            let answer = dialect.model(&server.url).stream(request(), stop.clone());
            let reading = tokio::spawn(all(answer));
            server.is_silent().await;
            let stopped = Instant::now();
            stop.cancel();
            server.client_gone().await;
            assert!(stopped.elapsed() < limit, "{dialect:?}: {:?}", stopped.elapsed());
            assert_eq!(failure(reading.await.unwrap()), ModelError::Stopped);

            let server = Server::start(vec![reply]).await;
            let mut answer = dialect.model(&server.url).stream(request(), Stop::new());
            let silent = server.is_silent();
            tokio::select! {
                () = silent => {}
                () = async { while answer.next().await.is_some() {} } => panic!("it ended"),
            }
            let dropped = Instant::now();
            drop(answer);
            server.client_gone().await;
            assert!(dropped.elapsed() < limit, "{dialect:?}: {:?}", dropped.elapsed());
        }
    }
}

#[tokio::test]
async fn half_an_input_never_becomes_a_block() {
    let is_call = |chunk: &Result<Chunk, ModelError>| matches!(chunk, Ok(Chunk::Block { block, .. }) if format!("{block:?}").contains("ToolUse"));
    for dialect in BOTH {
        let cut = dialect.up_to(" -l").rfind("\n\n").unwrap() + 2;
        let text = &dialect.recorded()[..cut];
        for reply in [events(text), events_then(text, Step::Reset), events_then(text, Step::Close)]
        {
            let server = Server::start(vec![reply]).await;
            let answer = ask(&dialect.model(&server.url)).await;
            assert!(!answer.iter().any(is_call), "{dialect:?}");
            assert!(answer.iter().any(|chunk| matches!(chunk, Ok(Chunk::ToolInput { .. }))));
            assert!(matches!(failure(answer), ModelError::StreamBroken { .. }), "{dialect:?}");
        }
        // The server says that it is complete, but it is not.
        let closing = match dialect {
            Dialect::Anthropic => {
                "data: {\"type\":\"content_block_stop\",\"index\":2}\n\n\
                 data: {\"type\":\"message_stop\"}\n\n"
            }
            Dialect::OpenAi => "data: [DONE]\n\n",
        };
        let server = Server::start(vec![events(&format!("{text}{closing}"))]).await;
        let answer = ask(&dialect.model(&server.url)).await;
        assert!(!answer.iter().any(is_call), "{dialect:?}");
        let error = failure(answer);
        assert!(
            matches!(&error, ModelError::BadAnswer { message } if message.contains("Bash")),
            "{error}"
        );
    }
}

#[tokio::test]
async fn the_proxy_of_the_environment_is_used_and_its_exceptions_are_kept() {
    let ask_through = |url: String, variables: Vec<(&'static str, String)>| async move {
        let own = std::env::current_exe().expect("the test binary");
        let mut child = std::process::Command::new(own);
        let test = "model::faults::asks_where_the_environment_says";
        child.args(["--ignored", "--exact", test]).env("QUARTERDECK_TEST_URL", url);
        for name in ["NO_PROXY", "no_proxy", "http_proxy", "all_proxy", "ALL_PROXY"] {
            child.env_remove(name);
        }
        child.envs(variables);
        let ran = tokio::task::spawn_blocking(move || child.output()).await.unwrap().unwrap();
        let out = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert!(ran.status.success() && out.contains("1 passed"), "{out}");
    };
    let hello = || vec![events(Dialect::Anthropic.recorded())];
    let proxy = Server::start(hello()).await;
    let variables = vec![("HTTP_PROXY", proxy.url.clone())];
    ask_through("http://model.invalid".to_owned(), variables).await;
    assert_eq!(proxy.seen()[0].line, "POST http://model.invalid/v1/messages HTTP/1.1");

    // An address of this machine that is not loopback, so that only the exception keeps us away.
    let server = Server::start(hello()).await;
    let address = server.url.replace("127.0.0.1", "0.0.0.0");
    let proxied = || ("HTTP_PROXY", proxy.url.clone());
    ask_through(address, vec![proxied(), ("NO_PROXY", "0.0.0.0".to_owned())]).await;
    assert_eq!((server.seen().len(), proxy.seen().len()), (1, 1));
    ask_through(server.url.clone(), vec![proxied()]).await;
    assert_eq!((server.seen().len(), proxy.seen().len()), (2, 1), "loopback needs no exception");
}

#[tokio::test]
#[ignore = "run by the test above, in a process with an environment of its own"]
async fn asks_where_the_environment_says() {
    let url = std::env::var("QUARTERDECK_TEST_URL").expect("an address");
    assert!(is_complete(&whole(ask(&Dialect::Anthropic.model(&url)).await)));
}
