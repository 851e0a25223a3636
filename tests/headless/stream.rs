//! Lines of JSON in and out.

use std::io::Read;
use std::process::Stdio;

use serde_json::{Value, json};

use super::rig::{Rig, until};

fn message(text: &str) -> String {
    let line = json!({ "type": "user", "message": { "role": "user", "content": text } });
    format!("{line}\n")
}

fn kinds(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["type"].as_str().unwrap()).collect()
}

#[test]
fn every_line_says_which_session_and_agent_it_is_of() {
    let rig = Rig::with_actors(
        r#"
  - who: team-lead
    turns:
      - call:
          - { tool: Agent, input: { description: look, prompt: look, subagent_type: explore } }
          - { tool: Bash, input: { command: "touch made" } }
          - { tool: TaskCreate, input: { subject: s, description: d } }
      - say: "all done"
  - who: type:explore
    turns:
      - { say: "looking", call: [{ tool: Glob, input: { pattern: "*" } }] }
      - say: "found nothing"
"#,
    );
    let ran = rig.stream(&["-p", "x"]).code(0);
    let lines = ran.lines();
    assert_eq!((&lines[0]["type"], &lines[0]["subtype"]), (&json!("system"), &json!("init")));
    for key in ["cwd", "tools", "model", "permissionMode", "agents", "mcp_servers"] {
        assert!(!lines[0][key].is_null(), "{key}: {}", lines[0]);
    }
    for line in &lines {
        assert_eq!(line["session_id"], lines[0]["session_id"], "{line}");
        assert!(line["agent"].is_string() && line["uuid"].is_string(), "{line}");
    }
    let result = ran.result();
    assert_eq!(kinds(&lines).iter().filter(|kind| **kind == "result").count(), 1);
    // As the SDKs read it.
    for key in ["duration_ms", "duration_api_ms", "num_turns"] {
        assert!(result[key].is_u64(), "{key}: {result}");
    }
    assert_eq!((&result["is_error"], &result["num_turns"]), (&json!(false), &json!(2)));
    for key in ["input_tokens", "output_tokens", "cache_read_input_tokens"] {
        assert!(result["usage"][key].is_u64(), "{key}: {result}");
    }
    for kind in ["status", "task", "ask", "ask_settled", "assistant", "user"] {
        assert!(kinds(&lines).contains(&kind), "no {kind}: {:?}", kinds(&lines));
    }
    let spoken: Vec<&Value> = lines.iter().filter(|line| line["type"] == "assistant").collect();
    let calls = spoken[0]["message"]["content"].as_array().unwrap();
    let call = &calls.iter().find(|block| block["name"] == "Agent").unwrap()["id"];
    let (own, others): (Vec<&Value>, Vec<&Value>) =
        lines.iter().partition(|line| line["agent"] == "team-lead");
    assert!(own.iter().all(|line| line["parent_tool_use_id"].is_null()));
    assert!(others.len() >= 4, "{others:?}");
    assert!(others.iter().all(|line| line["parent_tool_use_id"] == *call), "{others:#?}");
}

#[test]
fn hostile_words_stay_on_their_line() {
    // Written as YAML escapes: a line end, an escape, a C1 control, separators, quotes.
    let rig = Rig::new(r#"- say: "a\nb\u001b]0;evil\u0007\u009b31m\u2028\"{}\\ \u0000 end""#);
    let ran = rig.stream(&["-p", "x"]).code(0);
    assert!(!ran.stdout.contains(['\u{1b}', '\u{9b}', '\u{7}', '\0']), "{:?}", ran.stdout);
    let said = ran.result()["result"].as_str().unwrap().to_owned();
    assert!(said.starts_with("a\nb\u{1b}]0;evil\u{7}\u{9b}31m\u{2028}\"{}\\"), "{said:?}");
    let text = rig.run(&["-p", "x"]).code(0).stdout;
    assert!(text.starts_with("a\nb") && text.ends_with("end\n"), "{text:?}");
    assert!(!text.contains(['\u{1b}', '\u{9b}', '\u{7}', '\0']), "{text:?}");
}

#[test]
fn text_is_the_last_answer_alone_and_notices_are_beside_it() {
    let rig = Rig::new(
        r#"
- { say: "on it", call: [{ tool: Bash, input: { command: "touch x" } }] }
- { say: "could not" }
"#,
    );
    let ran = rig.run(&["-p", "x"]).code(0);
    assert_eq!(ran.stdout, "could not\n");
    let broken = Rig::new("- { say: first, call: [{ tool: Glob, input: { pattern: \"*\" } }] }\n");
    let ran = broken.run(&["-p", "x"]).code(1);
    assert_eq!(ran.stdout, "first\n", "what was said before it failed");
    assert!(ran.stderr.contains("quarterdeck: "), "{ran:?}");
}

#[test]
fn messages_come_line_by_line_until_the_input_ends() {
    let rig =
        Rig::new("- { when: { user: \"say (?<what>\\\\w+)$\" }, repeat: true, say: \"{{what}}\" }");
    let args = ["--input-format", "stream-json", "--output-format", "stream-json"];
    let mut going = rig.start(&args);
    // Whoever waits for a result before the next message gets one.
    for what in ["one", "two"] {
        going.write(&message(&format!("say {what}")));
        assert_eq!(going.line("result")["result"], what);
    }
    going.write("\n");
    let blocks = json!([{ "type": "text", "text": "say three" }]);
    let line = json!({ "type": "user", "message": { "role": "user", "content": blocks } });
    going.write(&format!("{line}\n"));
    let ran = going.end().code(0);
    assert_eq!(ran.result()["result"], "three");
    assert_eq!(ran.lines()[0]["subtype"], "init");
    let text = rig.fed(&["--input-format", "stream-json"], &message("say four")).code(0);
    assert_eq!(text.stdout, "four\n");
    let none = rig.fed(&args, "").code(0);
    assert_eq!(kinds(&none.lines()).last(), Some(&"result"));
    let first = rig.fed(&["--input-format", "stream-json", "-p", "say five"], "").code(0);
    assert_eq!(first.stdout, "five\n");
}

#[test]
fn a_bad_line_of_input_is_named_and_what_came_before_is_answered() {
    let rig = Rig::new("- { repeat: true, say: answered }");
    for bad in ["{\"type\":\"user\"", "{\"type\":\"dance\"}", "[]", "{\"type\":\"user\"}"] {
        let input = format!("{}\n{bad}\n{}", message("hello"), message("never"));
        let ran =
            rig.fed(&["--input-format", "stream-json", "--output-format", "stream-json"], &input);
        let ran = ran.code(2);
        assert!(ran.stderr.contains("line 3 of the input"), "{ran:?}");
        let (lines, result) = (ran.lines(), ran.result());
        assert!(kinds(&lines).contains(&"assistant"), "{ran:?}");
        assert_eq!((&result["is_error"], &result["result"]), (&json!(true), &json!("answered")));
        assert!(result["errors"][0].as_str().unwrap().contains("line 3"), "{result}");
    }
    let mut going = rig.start(&["--input-format", "stream-json", "--output-format", "stream-json"]);
    going.write("words, not JSON\n");
    assert_eq!(going.end().code, 2);
}

#[test]
fn a_result_is_the_last_line_of_a_failure_too() {
    let rig = Rig::new("- { say: half, fault: { status: 400 } }");
    let ran = rig.stream(&["-p", "x"]).code(1);
    let result = ran.result();
    assert_eq!(result["subtype"], "error_during_execution");
    assert_eq!(ran.lines()[0]["subtype"], "init");
}

#[test]
fn nobody_reading_ends_nothing_but_the_printing() {
    let rig = Rig::new(
        r#"
- { say: one, call: [{ tool: Bash, input: { command: "echo $$ > pid; touch made" } }] }
- { say: two }
"#,
    );
    let mut command = rig.program(&["run", "--playbook", &rig.book(), "-p", "x"]);
    command.args(["--output-format", "stream-json", "--on-ask", "allow"]);
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let status = until("the end", || child.try_wait().unwrap());
    let mut complaints = String::new();
    child.stderr.take().unwrap().read_to_string(&mut complaints).unwrap();
    assert!(status.success(), "{complaints}");
    assert!(!complaints.contains("panic"), "{complaints}");
    assert!(rig.project.join("made").exists(), "the work was done");
}
