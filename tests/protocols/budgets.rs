//! Budgets: told when nearly spent, asked when spent, and the end where nobody can be asked.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::stage::{Stage, notices};
use crate::support::rig::Ran;

fn is_budget(ask: &Value) -> bool {
    ask["question"]["kind"] == "budget"
}

const OF_AGENT: &str = r#"{"budgets": {"agent": {"turns": 5}}}"#;

#[test]
fn a_teammate_that_has_spent_its_turns_fails_and_its_lead_hears_why() {
    let stage = Stage::with_settings("budget.yaml", OF_AGENT);
    let ran = stage.rig.stream(&["-p", "go"]).code(0);
    let said = notices(&ran);
    let near = said.iter().position(|text| text == "fred has used 4 turns of 5 turns.");
    let over = said.iter().position(|text| text.starts_with("fred failed: fred has used 5 turns"));
    assert!(near.is_some() && near < over, "{said:?}");
    assert_eq!(answers(&ran, "fred"), 5);
    let idle = stage.bodies("team-lead", "idle_notification");
    assert_eq!(idle[0].0["idleReason"], "failed");
    assert_eq!(idle[0].0["failureReason"], "fred has used 5 turns of 5 turns");
    assert_eq!(ran.result()["subtype"], "success", "the lead has turns left");
}

#[test]
fn the_person_may_give_as_much_again_or_end_it() {
    let stage = Stage::with_settings("budget.yaml", OF_AGENT);
    let going = stage.waiting(&["-p", "go"]);
    let first = stage.ask(is_budget);
    let question = &first["question"];
    assert_eq!((&question["of"], &question["what"]), (&"agent".into(), &"turns".into()));
    assert_eq!((&question["used"], &question["limit"]), (&5.0.into(), &5.0.into()));
    assert_eq!(stage.status_of("fred")["state"], "waiting for you");
    let listed = stage.asks(&["list", "latest"]).code(0).stdout;
    assert!(listed.contains("Continue after 5 turns of its 5 turns?"), "{listed}");
    stage.approve(&first, &[]);
    let second = stage.ask(|ask| is_budget(ask) && ask["id"] != first["id"]);
    assert_eq!(second["question"]["limit"], 10.0);
    stage.deny(&second, "Enough");
    let ran = going.end().code(0);
    assert_eq!(answers(&ran, "fred"), 10);
    let idle = stage.bodies("team-lead", "idle_notification");
    assert_eq!(idle[0].0["failureReason"], "fred has used 10 turns of 10 turns");
}

#[test]
fn what_was_given_holds_after_a_restart() {
    let stage = Stage::with_settings("budget.yaml", r#"{"budgets": {"agent": {"turns": 20}}}"#);
    let mut going = stage.waiting(&["-p", "go"]);
    let first = stage.ask(is_budget);
    stage.approve(&first, &[]);
    let second = stage.ask(|ask| is_budget(ask) && ask["id"] != first["id"]);
    going.child.kill().unwrap();
    going.child.wait().unwrap();
    stage.approve(&second, &[]);
    let going = stage.waiting(&["-c", "-p", "wake"]);
    let third = stage.ask(is_budget);
    assert_eq!(third["question"]["limit"], 60.0, "nobody is asked anew, and both yes count");
    stage.deny(&third, "Enough");
    going.end().code(0);
}

/// What was refused then is no answer to whoever is woken now.
#[test]
fn whoever_is_woken_after_a_restart_asks_again_though_it_was_refused_before() {
    let settings = r#"{"budgets": {"agent": {"turns": 20}}}"#;
    let stage = Stage::with_settings("budget-again.yaml", settings);
    let mut going = stage.held("go", &[]);
    let first = stage.ask(is_budget);
    stage.deny(&first, "Enough");
    going.line_with("its failure", |line| line.to_string().contains("fred failed"));
    // The lead has heard of it.
    going.line("result");
    going.kill();
    let going = stage.waiting(&["-c", "-p", "wake"]);
    let again = stage.ask(is_budget);
    assert_eq!(again["question"], first["question"], "it has spent no more");
    stage.approve(&again, &[]);
    let third = stage.ask(|ask| is_budget(ask) && ask["question"]["limit"] == 40.0);
    stage.deny(&third, "Enough");
    let ran = going.end().code(0);
    assert_eq!(answers(&ran, "fred"), 20);
}

#[test]
fn money_is_counted_across_restarts() {
    let settings = r#"{"budgets": {"agent": {"usd": 0.05}}}"#;
    let stage = Stage::with_settings("budget.yaml", settings);
    let config = stage.rig.user().join(".config/quarterdeck");
    fs::create_dir_all(&config).unwrap();
    let price = "{ input = 1.0, output = 1.0, cache_write = 1.0, cache_read = 1.0 }";
    let models = format!("[models.\"rehearsal/demo\"]\nprice = {price}\n");
    fs::write(config.join("models.toml"), models).unwrap();
    let going = stage.waiting(&["-p", "go"]);
    let first = stage.ask(is_budget);
    let question = &first["question"];
    assert_eq!((&question["what"], &question["limit"]), (&"usd".into(), &0.05.into()));
    let used = question["used"].as_f64().unwrap();
    assert!(used >= 0.05, "{used}");
    going.kill();
    // The same question, with the same money spent, waits for its answer.
    let going = stage.waiting(&["-c", "-p", "on"]);
    stage.until("fred to go on", "fred", |fred| fred.in_turn && fred.open_asks.len() == 1);
    assert_eq!(stage.ask(is_budget)["id"], first["id"]);
    stage.approve(&first, &[]);
    let second = stage.ask(|ask| is_budget(ask) && ask["id"] != first["id"]);
    let limit = second["question"]["limit"].as_f64().unwrap();
    assert!((limit - used - 0.05).abs() < 1e-9, "{second}");
    stage.deny(&second, "Enough");
    going.end().code(0);
}

fn state_file(stage: &Stage) -> PathBuf {
    stage.rig.home().join(format!("quarterdeck/sessions/{}/state.json", stage.rig.session()))
}

fn state(stage: &Stage) -> Value {
    serde_json::from_str(&fs::read_to_string(state_file(stage)).unwrap()).unwrap()
}

fn answers(ran: &Ran, agent: &str) -> usize {
    let own = |line: &Value| line["type"] == "assistant" && line["agent"] == agent;
    ran.lines().iter().filter(|line| own(line)).count()
}

/// Also when the program was killed, and nobody had written down how long it was.
#[test]
fn time_goes_on_where_it_stood_after_a_restart() {
    let settings = r#"{"budgets": {"agent": {"minutes": 0.01}}}"#;
    let stage = Stage::with_settings("budget.yaml", settings);
    let going = stage.waiting(&["-p", "go"]);
    let first = stage.ask(is_budget);
    assert_eq!(first["question"]["what"], "minutes");
    let used = first["question"]["used"].as_f64().unwrap();
    assert!(used >= 0.01, "{used}");
    going.kill();
    let mut kept = state(&stage);
    kept.as_object_mut().unwrap().remove("purse");
    fs::write(state_file(&stage), kept.to_string()).unwrap();
    // It had no time left: it is not asked for another answer before somebody gave it more.
    let mut going = stage.waiting(&["-c", "-p", "on"]);
    going.line_with("fred", |line| line["agent"] == "fred" && line["status"] == "started");
    assert_eq!(stage.ask(is_budget)["id"], first["id"], "the same question");
    stage.deny(&first, "Enough");
    let ran = going.end().code(0);
    assert_eq!(answers(&ran, "fred"), 0, "{ran:?}");
    assert!(notices(&ran).iter().any(|text| text.contains("fred has used")), "{ran:?}");
    let purse = state(&stage)["purse"].clone();
    let fred = purse["agents"].as_object().unwrap().iter();
    let fred = fred.filter(|(name, _)| name.starts_with("fred@")).map(|(_, time)| time);
    let fred = fred.map(|time| time.as_f64().unwrap()).next().unwrap();
    assert!(fred >= used * 60.0 && purse["time"].as_f64().unwrap() >= fred, "{purse}");
}

#[test]
fn a_budget_of_all_holds_for_the_lead_too() {
    let settings = r#"{"budgets": {"team": {"tokens": 1}}}"#;
    let stage = Stage::with_settings("budget.yaml", settings);
    let ran = stage.rig.stream(&["-p", "go"]).code(1);
    let result = ran.result();
    assert_eq!(result["subtype"], "error_budget");
    let why = result["error"].as_str().unwrap();
    assert!(why.starts_with("All agents together have used"), "{why}");
}

#[test]
fn a_mistake_in_the_settings_is_told_before_anything_runs() {
    for settings in [r#"{"budgets": {"agent": {"turns": 0}}}"#, r#"{"planApproval": "dog"}"#] {
        let stage = Stage::with_settings("budget.yaml", settings);
        let ran = stage.rig.run(&["-p", "go"]).code(2);
        assert!(ran.stderr.contains("settings.json"), "{ran:?}");
    }
}
