//! `team status`: what each agent is doing, from evidence.

use serde_json::Value;

use super::stage::Stage;
use crate::support::rig::until;

#[test]
fn it_says_who_waits_for_whom_and_when_nobody_runs_it() {
    let stage = Stage::new("asks.yaml");
    let mut going = stage.held("one", &[]);
    stage.ask(|_| true);
    stage.until("the lead to be idle", "team-lead", |lead| {
        !lead.in_turn && lead.turn_since.is_some()
    });
    let dora = stage.status_of("dora");
    assert_eq!((&dora["state"], &dora["openAsks"]), (&"waiting for you".into(), &1.into()));
    assert_eq!((&dora["member"], &dora["type"]), (&true.into(), &"general-purpose".into()));
    assert!(dora["lastToken"].is_string() && dora["contextTokens"].as_u64().unwrap() > 0, "{dora}");
    let by_team = stage.rig.quarterdeck(&["team", "status", "crew"]).code(0).stdout;
    assert!(by_team.contains("dora") && by_team.contains("waiting for you"), "{by_team}");
    assert_eq!(stage.status()["running"], true);
    stage.rig.quarterdeck(&["task", "add", "crew", "Sweep"]).code(0);
    going.child.kill().unwrap();
    going.child.wait().unwrap();
    let status = stage.status();
    assert_eq!(status["running"], false);
    assert_eq!(stage.status_of("team-lead")["state"], "not running");
    assert_eq!(stage.status_of("dora")["state"], "waiting for you", "it can still be answered");
    stage.rig.quarterdeck(&["team", "status", "nobody"]).code(1);
}

#[test]
fn a_teammate_on_a_task_is_shown_with_it() {
    let stage = Stage::new("asks.yaml");
    let mut going = stage.held("one", &[]);
    let ask = stage.ask(|_| true);
    stage.rig.quarterdeck(&["task", "add", "crew", "Sweep"]).code(0);
    stage.approve(&ask, &[]);
    // It takes the task when it has nothing else to do.
    let task = until("dora to take it", || {
        let task = stage.status_of("dora")["task"].clone();
        (task != Value::Null).then_some(task)
    });
    assert_eq!(task["subject"], "Sweep");
    going.close_input();
    going.end().code(0);
}

#[test]
fn without_auto_claim_a_task_stays_nobodys() {
    let stage = Stage::with_settings("asks.yaml", r#"{"autoClaim": false}"#);
    let mut going = stage.held("one", &[]);
    let ask = stage.ask(|_| true);
    stage.rig.quarterdeck(&["task", "add", "crew", "Sweep"]).code(0);
    stage.approve(&ask, &[]);
    stage.until("dora to be idle", "dora", |dora| !dora.in_turn && dora.open_asks.is_empty());
    going.close_input();
    going.end().code(0);
    let tasks = stage.rig.quarterdeck(&["--json", "task", "list", "crew"]).code(0).stdout;
    assert!(tasks.contains("Sweep") && tasks.contains("pending"), "{tasks}");
}
