//! Turns as `run` shows them: input while it works, interrupts, sessions that go on.

use std::fs;
use std::io::{BufReader, Write};
use std::process::Stdio;

use quarterdeck::agent::rebuild::rebuild;
use serde_json::json;

use super::case::{Case, lines, read_until, rest};
use super::rig::results;
use super::valid::assert_valid;

const FREE: &str = "--dangerously-skip-permissions";

fn line(text: &str, priority: Option<&str>) -> String {
    let mut line = json!({"type": "user", "message": {"role": "user", "content": text}});
    if let Some(priority) = priority {
        line["priority"] = json!(priority);
    }
    format!("{line}\n")
}

/// Lines that come while a tool runs are delivered behind its result, by urgency.
#[test]
fn input_while_it_works_is_delivered_between_tool_rounds() {
    let case = Case::new(
        "name: q\nactors:\n  - who: team-lead\n    turns:\n      \
         - { when: { user: start }, call: [{ tool: Bash, input: { command: 'touch begun; while [ ! -e go ]; do sleep 0.01; done', description: w } }] }\n      \
         - { when: { user: whenever }, call: [{ tool: Bash, input: { command: 'true', description: w } }] }\n      \
         - { say: 'all heard' }\n",
    );
    let mut command = case.play(&["--input-format", "stream-json", FREE]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    stdin.write_all(line("start", None).as_bytes()).unwrap();
    let mut seen = read_until(&mut out, "assistant");
    let deadline = std::time::Instant::now() + super::rig::PATIENCE;
    while !case.project().join("begun").exists() {
        assert!(std::time::Instant::now() < deadline);
        std::thread::yield_now();
    }
    stdin.write_all(line("whenever", Some("later")).as_bytes()).unwrap();
    stdin.write_all(line("soon", Some("next")).as_bytes()).unwrap();
    drop(stdin);
    // Both are in the queue when the journal says so.
    let journal = case.deck.home().join("quarterdeck");
    while files_with(&journal, "whenever").is_none() || files_with(&journal, "soon").is_none() {
        assert!(std::time::Instant::now() < deadline, "never queued");
    }
    fs::write(case.project().join("go"), "").unwrap();
    seen.extend(rest(&mut out));
    assert!(child.wait().unwrap().success(), "{seen:#?}");
    assert_eq!(seen.last().unwrap()["result"], "all heard");
    let kept = rebuild(&case.transcript()).unwrap().messages;
    assert_valid(&kept);
    assert_eq!(kept[0].content.text(), "start");
    assert_eq!(
        kept[2].content.text(),
        "(no output)\nsoon\nwhenever",
        "behind the result: {kept:#?}"
    );
    assert_eq!(results(&kept[2]).len(), 1);
}

fn files_with(dir: &std::path::Path, text: &str) -> Option<std::path::PathBuf> {
    let all = crate::support::files_below(dir.exists().then_some(dir)?);
    all.into_iter().find(|file| {
        fs::read(file).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(text))
    })
}

#[test]
fn input_that_makes_no_sense_is_an_error_that_names_its_line() {
    let case =
        Case::new("name: q\nactors:\n  - who: team-lead\n    turns: [{ say: x, repeat: true }]\n");
    for (bad, words) in
        [("{\"type\":\"user\"", "line 2"), (&*line(" ", None), "the message is empty")]
    {
        let mut command = case.play(&["--input-format", "stream-json"]);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let text = line("fine", None) + bad + "\n";
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let ran = child.wait_with_output().unwrap();
        assert_eq!(ran.status.code(), Some(2));
        let shown = String::from_utf8(ran.stderr).unwrap();
        assert!(shown.contains(words), "{shown}");
    }
}

#[test]
fn ctrl_c_ends_the_turn_with_a_result_and_a_valid_conversation() {
    let case = Case::new(
        "name: q\nactors:\n  - who: team-lead\n    turns:\n      \
         - { when: { user: start }, say: working, call: [{ tool: Bash, input: { command: 'echo 1 >> log; sleep 60', description: w } }, { tool: Bash, input: { command: 'echo 2 >> log', description: w } }] }\n      \
         - { say: 'went on', repeat: true }\n",
    );
    let mut child = case.start(&["-p", "start", FREE]);
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut seen = read_until(&mut out, "assistant");
    let deadline = std::time::Instant::now() + super::rig::PATIENCE;
    while case.log().is_empty() {
        assert!(std::time::Instant::now() < deadline);
        std::thread::yield_now();
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    seen.extend(rest(&mut out));
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let last = seen.last().unwrap();
    assert_eq!((&last["type"], &last["is_error"]), (&json!("result"), &json!(true)), "{last}");
    assert_valid(&rebuild(&case.transcript()).unwrap().messages);
    let ran = case.run(&["-c", "-p", "and now?", FREE]).ok();
    assert_eq!(lines(&ran).last().unwrap()["result"], "went on");
    assert_eq!(case.log(), ["1"]);
    assert_valid(&rebuild(&case.transcript()).unwrap().messages);
}

/// By the beginning of its id, with cost, mode and grants.
#[test]
fn a_session_is_resumed_with_what_it_had() {
    let touch = |name: &str| {
        format!("call: [{{ tool: Bash, input: {{ command: 'touch {name}', description: t }} }}]")
    };
    let book = format!(
        "name: q\nactors:\n  - who: team-lead\n    turns:\n      - {{ when: {{ user: one }}, {} }}\n      \
         - {{ when: {{ user: two }}, {} }}\n      - {{ say: 'fine', usage: {{ input: 100, output: 10 }}, repeat: true }}\n",
        touch("a"),
        touch("a"),
    );
    let case = Case::new(&book);
    let mut child = case.start(&["-p", "one", "--on-ask", "wait", "--permission-mode", "default"]);
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let seen = read_until(&mut out, "ask");
    let id = seen.last().unwrap()["ask"]["id"].as_str().unwrap().to_owned();
    case.deck.run(&["asks", "approve", "latest", &id, "--always", "session"]).ok();
    let seen = rest(&mut out);
    assert!(child.wait().unwrap().success());
    let last = seen.last().unwrap().clone();
    fs::remove_file(case.project().join("a")).unwrap();

    let session = last["session_id"].as_str().unwrap();
    let ran = case.run(&["-r", &session[..8], "-p", "two"]).ok();
    let all = lines(&ran);
    let end = all.last().unwrap();
    assert_eq!(end["session_id"], session);
    assert!(case.project().join("a").exists(), "the grant still holds: {all:#?}");
    assert!(end["usage"]["input_tokens"].as_u64() > last["usage"]["input_tokens"].as_u64());
    assert_eq!(case.run(&["-r", "nothing-like-it", "-p", "x"]).code, 1);
    let ran = case.run(&["-r", session, "-p", "three", "--permission-mode", "plan"]).ok();
    assert_eq!(lines(&ran)[0]["permissionMode"], "plan");
    let ran = case.run(&["-c", "-p", "four"]).ok();
    assert_eq!(lines(&ran)[0]["permissionMode"], "plan", "the mode comes back");
}
