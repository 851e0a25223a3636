//! Ctrl-C and the polite end.

use std::fs;
use std::time::Instant;

use serde_json::json;

use super::rig::{Going, Rig, alive, until};

/// A command whose grandchildren stay, one of them deaf to TERM.
const LONG: &str = r#"
- say: "begun"
  call:
    - tool: Bash
      input: { command: "(sh -c 'echo $$ >> pids; exec sleep 1000' &) ; sh -c 'trap \"\" TERM; echo $$ >> pids; while :; do sleep 1000; done' & echo $$ >> pids; wait" }
- say: "after it"
"#;

fn pids(rig: &Rig) -> Vec<String> {
    let text = fs::read_to_string(rig.project.join("pids")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn begun(rig: &Rig) -> Going {
    let args = ["--output-format", "stream-json", "--permission-mode", "bypassPermissions"];
    let going = rig.start(&[&args[..], &["-p", "x"]].concat());
    until("all processes", || (pids(rig).len() == 3).then_some(()));
    going
}

fn gone(rig: &Rig) {
    let left: Vec<String> = pids(rig).into_iter().filter(|pid| alive(pid)).collect();
    assert!(left.is_empty(), "still there: {left:?}");
}

#[test]
fn a_signal_interrupts_and_the_result_is_printed() {
    for signal in ["-INT", "-TERM"] {
        let rig = Rig::new(LONG);
        let going = begun(&rig);
        going.signal(signal);
        let ran = going.end().code(130);
        let result = ran.result();
        assert_eq!(result["subtype"], "error_during_execution");
        assert_eq!((&result["is_error"], &result["result"]), (&json!(true), &json!("begun")));
        gone(&rig);
        // The conversation is valid and goes on.
        let ran = rig.run(&["-c", "-p", "and now?"]).code(0);
        assert_eq!(ran.stdout, "after it\n");
    }
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let rig = Rig::new(LONG);
    let going = begun(&rig);
    going.signal("-INT");
    going.signal("-INT");
    let since = Instant::now();
    let ran = going.end().code(130);
    assert_eq!(ran.result()["is_error"], true);
    gone(&rig);
    assert!(since.elapsed().as_secs() < 15, "{:?}", since.elapsed());
}

#[test]
fn a_signal_while_the_prompt_is_read_ends_it() {
    let rig = Rig::new("- say: x");
    let going = rig.start(&["-p", "-"]);
    // It reads once its signals are watched; before that the signal kills it.
    until("handlers", || {
        let status = fs::read_to_string(format!("/proc/{}/status", going.child.id())).ok()?;
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"))?.trim();
        let caught = u64::from_str_radix(caught, 16).ok()?;
        (caught & 0b10 != 0 && caught & (1 << 14) != 0).then_some(())
    });
    going.signal("-INT");
    let mut going = going;
    let status = until("the end", || going.child.try_wait().unwrap());
    assert_eq!(status.code(), Some(130));
}

/// A shell whose start-up files take for ever keeps the session from beginning.
#[test]
fn a_signal_while_the_session_begins_ends_it_at_once() {
    for signal in ["-INT", "-TERM"] {
        let rig = Rig::new("- say: x").in_git();
        let slow = format!("echo $$ > {}; sleep 1000\n", rig.project.join("pids").display());
        fs::write(rig.user().join(".bashrc"), slow).unwrap();
        let mut going = rig.start(&["--worktree", "-p", "x"]);
        until("the start-up files", || (pids(&rig).len() == 1).then_some(()));
        let since = Instant::now();
        going.signal(signal);
        let status = until("the end", || going.child.try_wait().unwrap());
        assert_eq!(status.code(), Some(130));
        // Without it, the shell's time limit of ten seconds would pass first.
        assert!(since.elapsed().as_secs() < 5, "{:?}", since.elapsed());
        until("the shell is gone", || pids(&rig).iter().all(|pid| !alive(pid)).then_some(()));
        let trees = rig.quarterdeck(&["worktree", "list"]);
        assert_eq!(trees.stdout, "No worktrees\n", "nothing was done in it");
    }
}

#[test]
fn agents_in_the_background_end_with_it_and_wake_nobody() {
    let rig = Rig::with_actors(
        r#"
  - who: team-lead
    turns:
      - { call: [{ tool: Agent, input: { description: d, prompt: p, subagent_type: general-purpose, run_in_background: true } }] }
      - { say: waiting }
      - { say: "woken in vain" }
  - who: type:general-purpose
    turns:
      - { call: [{ tool: Bash, input: { command: "echo $$ >> pids; sleep 1000" } }] }
"#,
    );
    let args = ["--output-format", "stream-json", "--permission-mode", "bypassPermissions"];
    let going = rig.start(&[&args[..], &["-p", "x"]].concat());
    until("the command", || (pids(&rig).len() == 1).then_some(()));
    going.signal("-INT");
    let ran = going.end().code(130);
    gone(&rig);
    assert!(!ran.stdout.contains("woken in vain"), "{ran:?}");
    ran.result();
}

#[test]
fn what_is_asked_stays_asked_and_the_session_goes_on_with_the_answer() {
    let rig = Rig::new(
        r#"
- { say: "may I?", call: [{ tool: Bash, input: { command: "echo once >> made" } }] }
- { when: { error_of: Bash }, say: "no: {{result}}" }
- { when: { result_of: Bash }, say: "I did" }
"#,
    );
    let common = ["--on-ask", "wait", "--output-format", "stream-json"];
    let going = rig.start(&[&common[..], &["-p", "x"]].concat());
    assert_eq!(rig.asked().len(), 1);
    going.signal("-INT");
    let ran = going.end().code(130);
    assert_eq!(ran.result()["result"], "may I?");
    assert_eq!(rig.asked().len(), 1, "still open");
    // It is taken up again, and survives that, too.
    let mut going = rig.start(&[&common[..], &["-c"]].concat());
    going.close_input();
    assert_eq!(going.line("status")["status"], "started");
    going.signal("-TERM");
    going.end().code(130).result();
    assert_eq!(rig.asked().len(), 1, "still open");
    assert!(!rig.project.join("made").exists());
    let id = rig.asked()[0]["id"].as_str().unwrap().to_owned();
    rig.quarterdeck(&["asks", "approve", "latest", &id]).code(0);
    let ran = rig.run(&["-c"]).code(0);
    assert_eq!(ran.stdout, "I did\n");
    assert_eq!(fs::read_to_string(rig.project.join("made")).unwrap(), "once\n");
}

#[test]
fn what_an_agent_asked_that_cannot_go_on_concerns_nobody() {
    let rig = Rig::with_actors(
        r#"
  - who: team-lead
    turns:
      - { call: [{ tool: Agent, input: { description: d, prompt: p, subagent_type: maker } }] }
      - { when: { error_of: Agent }, say: "it is lost: {{result}}" }
  - who: type:maker
    turns:
      - { say: "half of it", call: [{ tool: Bash, input: { command: "touch made" } }] }
"#,
    );
    let maker = rig.write(".claude/agents/maker.md", "---\nname: maker\ndescription: d\n---\nx\n");
    let going = rig.start(&["--on-ask", "wait", "-p", "x"]);
    assert_eq!(rig.asked().len(), 1);
    going.signal("-INT");
    going.end().code(130);
    fs::remove_file(maker).unwrap();
    let ran = rig.run(&["-c", "--on-ask", "wait"]).code(0);
    assert!(ran.stdout.starts_with("it is lost: ") && ran.stdout.contains("half of it"), "{ran:?}");
    let listed = rig.quarterdeck(&["asks", "list", "latest"]).code(0).stdout;
    assert_eq!(listed, "No open asks\n");
}
