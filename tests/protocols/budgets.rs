//! Budgets: told when nearly spent, asked when spent, and the end where nobody can be asked.

use std::fs;

use serde_json::Value;

use super::stage::{Stage, notices};

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
    let lines = ran.lines();
    let answers =
        lines.iter().filter(|line| line["type"] == "assistant" && line["agent"] == "fred");
    assert_eq!(answers.count(), 5);
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
    let lines = ran.lines();
    let answers =
        lines.iter().filter(|line| line["type"] == "assistant" && line["agent"] == "fred");
    assert_eq!(answers.count(), 10);
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

#[test]
fn time_goes_on_where_it_stood_after_a_restart() {
    let settings = r#"{"budgets": {"agent": {"minutes": 0.005}}}"#;
    let stage = Stage::with_settings("budget.yaml", settings);
    let going = stage.waiting(&["-p", "go"]);
    let first = stage.ask(is_budget);
    assert_eq!(first["question"]["what"], "minutes");
    let used = first["question"]["used"].as_f64().unwrap();
    assert!(used >= 0.005, "{used}");
    stage.deny(&first, "Enough");
    let ran = going.end().code(0);
    assert!(notices(&ran).iter().any(|text| text.contains("fred has used")), "{ran:?}");
    let state: Value = {
        let session = stage.rig.session();
        let path = stage.rig.home().join(format!("quarterdeck/sessions/{session}/state.json"));
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
    };
    let seconds = &state["purse"]["agents"];
    let fred = seconds.as_object().unwrap().iter().find(|(name, _)| name.starts_with("fred@"));
    let fred = fred.unwrap().1.as_f64().unwrap();
    assert!(fred >= used * 60.0, "{state}");
    assert!(state["purse"]["time"].as_f64().unwrap() >= fred, "{state}");
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
