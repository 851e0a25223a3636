//! `quarterdeck model`: what is chosen, and a question through the real program.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::support::deck::{Deck, Ran};

fn model(deck: &Deck, args: &[&str], variables: &[(&str, &str)]) -> Ran {
    let mut command = deck.command(&[&["model"], args].concat());
    for name in ["QUARTERDECK_MODEL", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"] {
        command.env_remove(name);
    }
    for name in ["ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL"] {
        command.env_remove(name);
    }
    command.env("XDG_CONFIG_HOME", deck.state().join("config"));
    command.envs(variables.iter().copied());
    let ran = command.stdin(Stdio::null()).output().unwrap();
    Ran {
        code: ran.status.code().unwrap(),
        stdout: String::from_utf8(ran.stdout).unwrap(),
        stderr: String::from_utf8(ran.stderr).unwrap(),
    }
}

/// A playbook on a server of its own, ended with the test.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(deck: &Deck) -> Self {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/playbooks/wire.yaml");
        let mut command: Command = deck.command(&["playbook", "serve", file, "--port", "0"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap().to_owned();
        Self { child, address }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn without_a_key_the_rehearsal_answers_and_says_so() {
    let deck = Deck::new();
    let shown = model(&deck, &["show"], &[]).ok();
    assert_eq!(shown.stdout, "rehearsal/demo (nothing is configured)\n");
    let ran = model(&deck, &["ask", "what are you?"], &[]).ok();
    assert!(ran.stdout.contains("scripted model"), "{ran:?}");
    assert!(ran.stderr.contains("rehearsal/demo: ") && ran.stderr.contains("$0.0000"), "{ran:?}");
}

#[test]
fn a_key_chooses_and_its_absence_is_named() {
    let deck = Deck::new();
    let shown = model(&deck, &["show", "--json"], &[("ANTHROPIC_API_KEY", "sk-secret")]).ok();
    assert_eq!(shown.json()["name"], "anthropic/claude-sonnet-5-5");
    assert_eq!(shown.json()["usable"], true);
    assert!(!shown.stdout.contains("sk-secret"));
    let ran = model(&deck, &["ask", "hi", "--model", "opus", "--json"], &[]);
    assert_eq!((ran.code, &ran.json()["reason"]), (2, &"bad_input".into()));
    assert!(ran.stderr.contains("set ANTHROPIC_API_KEY"), "{ran:?}");
    let ran = model(&deck, &["show", "nonsense"], &[]);
    assert!(ran.code == 2 && ran.stderr.contains("provider/model"), "{ran:?}");
    let config = deck.state().join("config/quarterdeck");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("models.toml"), "[aliases]\nmine = \"openai/local\"\n").unwrap();
    let ran = model(&deck, &["show", "mine"], &[("OPENAI_BASE_URL", "http://127.0.0.1:9")]).ok();
    assert!(ran.stdout.contains("its price and window are unknown"), "{ran:?}");
    std::fs::write(config.join("models.toml"), "[alias]\n").unwrap();
    let ran = model(&deck, &["show"], &[]);
    assert!(ran.code == 2 && ran.stderr.contains("models.toml"), "{ran:?}");
}

#[test]
fn a_question_goes_over_http_and_faults_are_told() {
    let deck = Deck::new();
    let server = Server::start(&deck);
    let url = [("ANTHROPIC_BASE_URL", server.address.as_str()), ("ANTHROPIC_API_KEY", "sk-secret")];
    let ran = model(&deck, &["ask", "hello", "--model", "sonnet", "--json"], &url).ok();
    assert_eq!(ran.json()["text"], "Hello to you.");
    assert_eq!(ran.json()["stopReason"], "end_turn");
    assert!(ran.json()["usd"].as_f64().unwrap() > 0.0);
    let ran = model(&deck, &["ask", "busy", "--model", "sonnet"], &url).ok();
    assert_eq!(ran.stdout.trim_end(), "Now I can.");
    assert!(ran.stderr.contains("overloaded, trying again in "), "{ran:?}");
    assert!(ran.stderr.contains("(2/10)") && ran.stderr.contains("(3/10)"), "{ran:?}");
    let ran = model(&deck, &["ask", "key", "--model", "sonnet", "--json"], &url);
    assert_eq!((ran.code, &ran.json()["reason"]), (1, &"authentication".into()));
    assert!(!ran.stderr.contains("sk-secret") && !ran.stdout.contains("sk-secret"));
    let nowhere = [("ANTHROPIC_BASE_URL", "http://127.0.0.1:1/"), ("QUARTERDECK_MODEL", "sonnet")];
    let mut waiting = deck.command(&["model", "ask", "hello"]);
    waiting.envs(nowhere).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = waiting.spawn().unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(told.next().unwrap().unwrap().starts_with("no connection, trying again in "));
    let interrupt = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(interrupt.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130), "a wait can be ended");
}

/// A proxy for TLS is asked to connect; it is a stand-in that hangs up.
#[test]
fn the_proxy_for_tls_is_asked() {
    let deck = Deck::new();
    let proxy = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", proxy.local_addr().unwrap());
    let mut ask = deck.command(&["model", "ask", "hello", "--model", "sonnet"]);
    ask.envs([("ANTHROPIC_BASE_URL", "https://model.invalid"), ("HTTPS_PROXY", &*address)]);
    for name in ["NO_PROXY", "no_proxy", "https_proxy", "ALL_PROXY", "all_proxy"] {
        ask.env_remove(name);
    }
    let mut child = ask.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let (caller, _) = proxy.accept().unwrap();
    let mut line = String::new();
    BufReader::new(caller).read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(line.trim_end(), "CONNECT model.invalid:443 HTTP/1.1");
}

#[test]
fn settings_name_a_model_too() {
    let deck = Deck::new();
    let project = deck.home().parent().unwrap().join(".quarterdeck");
    std::fs::create_dir_all(&project).unwrap();
    std::fs::write(project.join("settings.json"), r#"{"model": "haiku"}"#).unwrap();
    let shown = model(&deck, &["show", "--json"], &[]).ok().json();
    assert_eq!(shown["name"], "anthropic/claude-haiku-5-5");
    assert_eq!(shown["because"], "named in the settings");
    std::fs::write(project.join("settings.json"), "{").unwrap();
    let ran = model(&deck, &["show"], &[]);
    assert!(ran.code == 2 && ran.stderr.contains("settings.json: "), "{ran:?}");
}

#[test]
fn the_list_of_models_names_prices_and_where_to_change_them() {
    let deck = Deck::new();
    let text = model(&deck, &["list"], &[]).ok().stdout;
    assert!(text.contains("anthropic/claude-opus-5-5") && text.contains("opus"), "{text}");
    assert!(text.contains("models.toml"), "{text}");
    let json = model(&deck, &["list", "--json"], &[]).ok().json();
    let opus = json.as_array().unwrap().iter().find(|m| m["name"] == "anthropic/claude-opus-5-5");
    assert_eq!(opus.unwrap()["price"]["input"], 4.0);
}
