//! `run` for scripts: what it prints, what becomes of questions, when it is over.

use std::fs;

use serde_json::{Value, json};

use crate::support::rig::Rig;

#[test]
fn formats_say_the_same_in_three_ways() {
    let rig = Rig::on("engine/asked");
    assert_eq!(rig.run(&["-p", "hello"]).code(0).stdout, "ok\n");
    let one: Value =
        serde_json::from_str(&rig.run(&["-p", "hello", "--output-format", "json"]).code(0).stdout)
            .unwrap();
    assert_eq!((&one["type"], &one["result"]), (&json!("result"), &json!("ok")));
    rig.write(".mcp.json", r#"{"mcpServers": {"docs": {"command": "x"}, "db": {}}}"#);
    let lines = rig.stream(&["-p", "hello"]).code(0).lines();
    let server = |name: &str| json!({ "name": name, "status": "configured" });
    assert_eq!(lines[0]["mcp_servers"], json!([server("db"), server("docs")]));
    assert_eq!(
        (&lines[0]["subtype"], &lines.last().unwrap()["result"]),
        (&json!("init"), &json!("ok"))
    );
    assert_eq!(rig.fed(&["-p", "-"], "hello").code(0).stdout, "ok\n");
}

#[test]
fn questions_are_refused_allowed_or_left_for_another_terminal() {
    let rig = Rig::on("engine/asked");
    let ran = rig.run(&["-p", "begin"]).code(0);
    assert!(ran.stdout.starts_with("no: ") && rig.read("made").is_empty(), "{ran:?}");
    assert_eq!(rig.run(&["-p", "begin", "--on-ask", "allow"]).code(0).stdout, "I did\n");
    for rules in [["--allowedTools", "Bash"], ["--permission-mode", "dontAsk"]] {
        let ran = rig.run(&[&["-p", "begin"], &rules[..]].concat()).code(0);
        assert_eq!(ran.stdout == "I did\n", rules[0] == "--allowedTools", "{ran:?}");
    }
    let rig = Rig::on("engine/asked");
    let going = rig.start(&["-p", "begin", "--on-ask", "wait"]);
    let id = rig.asked()[0]["id"].as_str().unwrap().to_owned();
    let shown = rig.quarterdeck(&["asks", "show", "latest", &id]).code(0).stdout;
    assert!(shown.contains("echo once"), "{shown}");
    let edited = r#"{"command": "echo edited >> made"}"#;
    let args = ["asks", "approve", "latest", &id, "--edit-input", edited, "--why", "only this"];
    rig.quarterdeck(&args).code(0);
    assert_eq!(going.end().code(0).stdout, "I did\n");
    assert_eq!(rig.read("made"), "edited\n");
}

#[test]
fn the_name_of_a_team_means_the_session_that_leads_it() {
    let rig = Rig::on("engine/asked");
    let going = rig.start(&["-p", "begin", "--on-ask", "wait"]);
    let id = rig.asked()[0]["id"].as_str().unwrap().to_owned();
    let missing = rig.quarterdeck(&["asks", "list", "harbour"]).code(1);
    assert!(missing.stderr.contains("no session or team `harbour`"), "{missing:?}");
    rig.quarterdeck(&["team", "create", "harbour"]).code(0);
    let config = rig.home().join("teams/harbour/config.json");
    let mut team: Value = serde_json::from_str(&fs::read_to_string(&config).unwrap()).unwrap();
    team["leadSessionId"] = json!(rig.session());
    fs::write(&config, team.to_string()).unwrap();
    let listed = rig.quarterdeck(&["--json", "asks", "list", "harbour"]).code(0).stdout;
    assert!(listed.contains(&id), "{listed}");
    rig.quarterdeck(&["asks", "deny", "harbour", &id, "--why", "not now"]).code(0);
    assert!(going.end().code(0).stdout.contains("not now"));
}

#[test]
fn a_signal_interrupts_and_a_result_is_printed() {
    for signal in ["-INT", "-TERM"] {
        let rig = Rig::on("engine/asked");
        let args =
            ["-p", "slow", "--output-format", "json", "--permission-mode", "bypassPermissions"];
        let going = rig.start(&args);
        rig.appears("pid");
        going.signal(signal);
        let ran = going.end().code(130);
        assert_eq!(ran.result()["result"], "Slow.", "{signal}");
    }
}

#[test]
fn a_run_is_over_when_nobody_works_and_nothing_waits() {
    let rig = Rig::on("engine/background");
    rig.write("go", "");
    let ran = rig.stream(&["-p", "behind", "--permission-mode", "bypassPermissions"]).code(0);
    assert_eq!(ran.notes("team-lead").len(), 1, "{ran:?}");
    assert_eq!(ran.result()["result"], "told");
    let lines = ran.lines();
    let results = lines.iter().filter(|line| line["type"] == "result").count();
    assert_eq!(results, 1, "one, at the end");
}

#[test]
fn requests_that_make_no_sense_are_answered_and_the_run_goes_on() {
    let rig = Rig::on("engine/asked");
    let mut going = rig.driven(&[]);
    for request in [
        json!({ "subtype": "dance" }),
        json!({ "subtype": "background" }),
        json!({ "subtype": "background", "tool_use_id": "none" }),
        json!({ "subtype": "set_permission_mode", "mode": "free" }),
        json!({ "subtype": "set_permission_mode", "mode": "bubble" }),
        json!({ "subtype": "interrupt", "agent": "nobody" }),
        json!({ "subtype": "stop_task", "task_id": "nothing" }),
        json!({ "subtype": "aside", "purpose": "turn", "prompt": "x" }),
        json!("words"),
    ] {
        let answer = going.control(&request);
        assert_eq!(answer["subtype"], "error", "{request}: {answer}");
        assert!(!answer["error"].as_str().unwrap().is_empty());
    }
    going.granted(&json!({ "subtype": "set_permission_mode", "mode": "bypassPermissions" }));
    going.say("begin");
    assert_eq!(going.line("result")["result"], "I did");
    going.write("{\"type\":\"control_request\",\"request\":{}}\n");
    let ran = going.end().code(2);
    assert!(ran.stderr.contains("request_id"), "{ran:?}");
}
