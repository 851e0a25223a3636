//! A real model, or what should be one: a key in the environment opens the console on this
//! directory, and what goes wrong is said in one line while the console stays usable.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use serde_json::{Value, json};

use super::console::Console;
use super::place::Place;
use crate::support::server::{Reply, Server, events};

/// A server on this machine that answers everybody the same.
fn server(status: &'static str, body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            thread::spawn(move || {
                // The request ends with its body; what comes first is enough to answer.
                let mut request = [0; 64 * 1024];
                let _ = stream.read(&mut request);
                let answer = format!(
                    "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
                     connection: close\r\n\r\n{body}",
                    body.len()
                );
                let _ = stream.write_all(answer.as_bytes());
            });
        }
    });
    format!("http://{address}")
}

/// The console of somebody with a key and this server.
fn opened(url: &str) -> (Place, Console) {
    let place = Place::new("- say: nothing")
        .with("ANTHROPIC_API_KEY", "sk-test-key")
        .with("ANTHROPIC_BASE_URL", url)
        .with("QUARTERDECK_TRIES", "2")
        .with("QUARTERDECK_RETRY_MS", "10");
    let console = Console::start(&place, &[], 140, 40);
    console.until_text("to lead");
    (place, console)
}

/// Says something, and sees the one line that tells what to do; then goes on.
fn is_told(url: &str, words: &[&str]) {
    let (_place, mut console) = opened(url);
    let first = console.text();
    assert!(!first.contains("rehearsal"), "a key is set:\n{first}");
    console.say("hello");
    console.until(&words.join(" … "), |screen| {
        // A line may be wrapped.
        let text = screen.contents();
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ").replace("│ ", "");
        words.iter().all(|word| flat.contains(word))
    });
    assert!(!console.text().contains("sk-test-key"), "{}", console.text());
    // It stays usable: commands work, and so do words.
    console.say("/cost");
    console.until_text("cost");
    console.press("\x1b");
    console.reads();
    console.type_words("once more");
    console.press("\x03");
    let (code, left) = console.quits();
    assert_eq!(code, 0, "{left}");
    assert!(left.contains("quarterdeck -c"), "{left}");
}

#[test]
fn a_wrong_key_is_named_with_what_to_do() {
    let body =
        r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#;
    let url = server("401 Unauthorized", body);
    is_told(&url, &["the key was refused", "invalid x-api-key", "set ANTHROPIC_API_KEY"]);
}

#[test]
fn an_unknown_model_is_named_with_what_to_do() {
    let body =
        r#"{"type":"error","error":{"type":"not_found_error","message":"model: nothing-1"}}"#;
    let url = server("404 Not Found", body);
    is_told(&url, &["model: nothing-1", "quarterdeck model list"]);
}

#[test]
fn without_a_network_it_says_where_to_look() {
    // A port that nobody listens on.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    is_told(&url, &["no connection", "check the network", "ANTHROPIC_BASE_URL"]);
}

/// An answer in the events of the Messages API.
fn says(words: &str) -> Reply {
    let all = [
        json!({"type": "message_start", "message": {"id": "m", "model": "m", "usage": {}}}),
        json!({"type": "content_block_start", "index": 0,
            "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "text_delta", "text": words}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}}),
        json!({"type": "message_stop"}),
    ];
    events(&all.map(|one| format!("data: {one}\n\n")).concat())
}

/// The model that the newest request goes to, which its prompt names too.
fn asked(server: &Server) -> String {
    let body = server.seen().pop().unwrap().body;
    let body: Value = serde_json::from_str(&body).unwrap();
    let model = body["model"].as_str().unwrap().to_owned();
    let prompt = body["system"].to_string();
    assert!(prompt.contains(&format!("- Model: anthropic/{model}\\n")), "{model}: {prompt}");
    assert_eq!(prompt.matches("- Model: ").count(), 1, "{prompt}");
    model
}

#[test]
fn another_model_is_named_in_the_prompt_and_remembered() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let answers = ["one", "two", "three", "four"].map(|nth| says(&format!("Answer {nth}.")));
    let server = runtime.block_on(Server::start(answers.to_vec()));
    let (place, mut console) = opened(&server.url);
    console.say("hello");
    console.until_text("Answer one.");
    let usual = asked(&server);
    console.say("/model haiku");
    console.until_text("The model is anthropic/claude-haiku");
    console.say("hello again");
    console.until_text("Answer two.");
    let chosen = asked(&server);
    assert!(chosen != usual && chosen.contains("haiku"), "{chosen}");
    console.quits();

    let mut console = Console::start(&place, &["-c"], 140, 40);
    console.until_text("Answer two.");
    console.say("and now?");
    console.until_text("Answer three.");
    assert_eq!(asked(&server), chosen, "it was chosen in this session");
    console.quits();

    // What is asked for by name counts, and is remembered in turn.
    let mut console = Console::start(&place, &["-c", "--model", "opus"], 140, 40);
    console.until_text("Answer three.");
    console.say("and then?");
    console.until_text("Answer four.");
    assert!(asked(&server).contains("opus"), "{}", asked(&server));
    console.quits();
}

#[test]
fn a_model_that_does_not_exist_is_one_line_before_the_start() {
    let place = Place::new("- say: nothing");
    let console = Console::start(&place, &["--model", "opsu"], 80, 24);
    let (code, left) = console.ends();
    assert_eq!(code, 2, "{left}");
    assert!(left.contains("opsu") && left.contains("provider/model"), "{left}");
}
