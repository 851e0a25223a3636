//! Permissions by mail: of members in other processes, of teammates while nobody looks, and
//! grants for a whole team.

use serde_json::{Value, json};

use super::stage::{Stage, notices};
use crate::support::rig::until;

fn request(id: &str, agent: &str, command: &str) -> String {
    let input = json!({ "command": command });
    let rules = json!([{"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "ls:*"}],
        "behavior": "allow", "destination": "session"}]);
    format!(
        r#"{{"type":"permission_request","request_id":"{id}","agent_id":"{agent}","tool_name":"Bash","tool_use_id":"toolu_1","description":"look","input":{input},"permission_suggestions":{rules}}}"#
    )
}

fn allowed(id: &str, updates: &Value) -> String {
    format!(
        r#"{{"type":"permission_response","request_id":"{id}","subtype":"success","response":{{"permission_updates":{updates}}}}}"#
    )
}

#[test]
fn a_member_of_another_process_asks_and_is_answered_by_mail() {
    let stage = Stage::new("asks.yaml");
    let mut going = stage.held("alone", &[]);
    stage.team();
    let team = || stage.rig.quarterdeck(&["team", "join", "crew", "bob"]);
    until("bob to join", || (team().code == 0).then_some(()));
    stage.post("bob", "team-lead", &request("perm-1-aaaaaaa", "bob", "ls -l"));
    stage.post("bob", "team-lead", &request("perm-2-bbbbbbb", "bob", "rm x"));
    // In the name of somebody else, or of nobody: not asked at all.
    stage.post("bob", "team-lead", &request("perm-3-ccccccc", "alice", "rm y"));
    stage.post("eve", "team-lead", &request("perm-4-ddddddd", "eve", "rm z"));
    let is_about = |ask: &Value, command: &str| ask["question"]["input"]["command"] == command;
    let first = stage.ask(|ask| is_about(ask, "ls -l"));
    let second = stage.ask(|ask| is_about(ask, "rm x"));
    assert_eq!(first["chain"][0], "bob@crew");
    assert_eq!(first["why"]["description"], "look");
    stage.approve(&first, &["--edit-input", r#"{"command": "ls"}"#, "--always", "session"]);
    stage.deny(&second, "Never");
    let answers = until("both answers", || {
        let answers = stage.bodies("bob", "permission_response");
        (answers.len() == 2).then_some(answers)
    });
    let of =
        |id: &str| answers.iter().find(|(body, _)| body["request_id"] == id).unwrap().0.clone();
    let yes = of("perm-1-aaaaaaa");
    assert_eq!(yes["subtype"], "success");
    assert_eq!(yes["response"]["updated_input"], json!({"command": "ls"}));
    let rule = json!([{"toolName": "Bash", "ruleContent": "ls:*"}]);
    assert_eq!(yes["response"]["permission_updates"][0]["rules"], rule);
    let no = of("perm-2-bbbbbbb");
    assert_eq!((&no["subtype"], &no["error"]), (&"error".into(), &"Never".into()));
    until("all to be read", || {
        stage.bodies("team-lead", "permission_request").iter().all(|(_, read)| *read).then_some(())
    });
    going.close_input();
    let ran = going.end().code(0);
    let heard = |line: &&Value| line["type"] == "user" && line["agent"] == "team-lead";
    let lines = ran.lines();
    let seen = lines.iter().filter(heard).filter(|line| line.to_string().contains("permission_"));
    assert_eq!(seen.count(), 0, "models see none of it");
    assert_eq!(lines.iter().filter(|line| line["type"] == "ask").count(), 2);
    assert!(notices(&ran).iter().any(|text| text.contains("eve asks for something")), "{ran:?}");
}

#[test]
fn what_another_process_asks_is_open_again_after_a_kill() {
    let stage = Stage::new("asks.yaml");
    let mut going = stage.held("alone", &[]);
    stage.team();
    let team = || stage.rig.quarterdeck(&["team", "join", "crew", "bob"]);
    until("bob to join", || (team().code == 0).then_some(()));
    stage.post("bob", "team-lead", &request("perm-1-aaaaaaa", "bob", "ls -l"));
    let ask = stage.ask(|_| true);
    going.child.kill().unwrap();
    going.child.wait().unwrap();
    stage.approve(&ask, &[]);
    assert_eq!(stage.bodies("bob", "permission_response"), []);
    stage.waiting(&["-c", "-p", "on"]).end().code(0);
    let answers = stage.bodies("bob", "permission_response");
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_eq!(answers[0].0["response"]["updated_input"]["command"], "ls -l");
}

#[test]
fn an_answer_by_mail_settles_what_a_teammate_asks_once() {
    let stage = Stage::new("asks.yaml");
    let mut going = stage.held("one", &[]);
    let ask = stage.ask(|_| true);
    let requests = until("the request", || {
        let requests = stage.bodies("team-lead", "permission_request");
        (!requests.is_empty()).then_some(requests)
    });
    let (body, read) = &requests[0];
    assert!(!read, "it waits");
    assert_eq!((&body["agent_id"], &body["tool_name"]), (&"dora".into(), &"Bash".into()));
    assert_eq!(body["input"], ask["question"]["input"]);
    let id = body["request_id"].as_str().unwrap();
    assert!(id.starts_with("perm-") && id.rsplit('-').next().unwrap().len() == 7, "{id}");
    // Only the lead may answer; and a mode that asks nothing is not to be had by mail.
    stage.post("mallory", "dora", &allowed(id, &json!([])));
    until("it to be put away", || {
        stage.bodies("dora", "permission_response").iter().all(|(_, read)| *read).then_some(())
    });
    assert_eq!((stage.open().len(), stage.count("dora.")), (1, 0));
    let bypass =
        json!([{"type": "setMode", "mode": "bypassPermissions", "destination": "session"}]);
    stage.post("team-lead", "dora", &allowed(id, &bypass));
    until("it to run", || (stage.count("dora.") == 1).then_some(()));
    stage.post("team-lead", "dora", &allowed(id, &json!([])));
    until("it to be read", || {
        let all = stage.bodies("dora", "permission_response");
        (all.len() == 3 && all.iter().all(|(_, read)| *read)).then_some(())
    });
    going.close_input();
    let ran = going.end().code(0);
    assert_eq!(stage.count("dora."), 1, "once");
    let said = notices(&ran);
    assert_eq!(
        said.iter().filter(|text| text.contains("is not waiting for an answer")).count(),
        1,
        "{said:?}"
    );
    assert!(ran.lines().iter().all(|line| line["permissionMode"] != "bypassPermissions"));
    let (_, read) = &stage.bodies("team-lead", "permission_request")[0];
    assert!(read, "it is settled");
}

#[test]
fn a_refusal_by_mail_reaches_the_teammate() {
    let stage = Stage::new("asks.yaml");
    let going = stage.waiting(&["-p", "one"]);
    stage.ask(|_| true);
    let requests = until("the request", || {
        let requests = stage.bodies("team-lead", "permission_request");
        (!requests.is_empty()).then_some(requests)
    });
    let id = requests[0].0["request_id"].as_str().unwrap();
    let no = format!(
        r#"{{"type":"permission_response","request_id":"{id}","subtype":"error","error":"Use another way"}}"#
    );
    stage.post("team-lead", "dora", &no);
    let ran = going.end().code(0);
    assert_eq!(stage.count("dora."), 0);
    assert!(ran.stdout.contains("says: Use another way"), "{ran:?}");
}

#[test]
fn a_grant_for_the_team_reaches_everybody_at_once() {
    let stage = Stage::new("asks.yaml");
    let going = stage.waiting(&["-p", "go"]);
    let asks = until("both to ask", || {
        let asks = stage.open();
        (asks.len() == 2).then_some(asks)
    });
    stage.approve(&asks[0], &["--always", "team:session"]);
    let ran = going.end().code(0);
    assert_eq!((stage.count("dora."), stage.count("emil.")), (1, 1), "{ran:?}");
    let lines = ran.lines();
    let settled: Vec<&Value> = lines.iter().filter(|line| line["type"] == "ask_settled").collect();
    let judges: Vec<&Value> = settled.iter().map(|line| &line["by"]["kind"]).collect();
    assert_eq!(judges, [&Value::from("human"), &Value::from("policy")]);
}

#[test]
fn without_anybody_the_policy_answers_and_nothing_goes_by_mail() {
    let stage = Stage::new("asks.yaml");
    stage.rig.stream(&["-p", "go", "--on-ask", "allow"]).code(0);
    assert_eq!((stage.count("dora."), stage.count("emil.")), (1, 1));
    assert_eq!(stage.bodies("team-lead", "permission_request"), []);
}

#[test]
fn what_went_by_mail_stays_unread_over_a_restart_until_it_is_settled() {
    let stage = Stage::new("asks.yaml");
    let going = stage.held("one", &[]);
    let ask = stage.ask(|_| true);
    until("the request", || {
        (!stage.bodies("team-lead", "permission_request").is_empty()).then_some(())
    });
    going.kill();
    let mut going = stage.held("on", &["-c"]);
    stage.until("dora to go on", "dora", |dora| dora.in_turn && dora.open_asks.len() == 1);
    stage.until("the lead to have read its mail", "team-lead", |lead| {
        !lead.in_turn && lead.turn_since.is_some()
    });
    let requests = stage.bodies("team-lead", "permission_request");
    assert_eq!(requests.len(), 1, "it is not sent again: {requests:?}");
    assert!(!requests[0].1, "it waits");
    stage.approve(&ask, &[]);
    until("it to be read", || {
        stage.bodies("team-lead", "permission_request").iter().all(|(_, read)| *read).then_some(())
    });
    going.close_input();
    going.end().code(0);
    assert_eq!(stage.count("dora."), 1);
}
