//! The seeds' own trials through the real program; the files of each step have the form of
//! those that the reference program wrote.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::stage::{Show, Stage};

/// What we write and the reference does not: see the protocol.
const OURS: [&str; 4] = ["isActive", "lastMessage", "completedTaskId", "completedStatus"];

/// Keys in their order with the kind of each value.
fn form(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let own = members.iter().filter(|(key, _)| !OURS.contains(&key.as_str()));
            let parts: Vec<String> =
                own.map(|(key, value)| format!("{key}:{}", form(value))).collect();
            format!("{{{}}}", parts.join(","))
        }
        Value::Array(_) => "[]".to_owned(),
        Value::String(text) if text.ends_with('Z') && text.len() == 24 => "time".to_owned(),
        Value::String(_) => "text".to_owned(),
        Value::Number(_) => "number".to_owned(),
        Value::Bool(_) => "bool".to_owned(),
        Value::Null => "null".to_owned(),
    }
}

/// The forms of everything in a home: rosters, members, messages, bodies.
fn forms(home: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for path in crate::support::files_below(&home.join("teams")) {
        let text = fs::read_to_string(&path).unwrap();
        let Ok(value) = serde_json::from_str::<Value>(&text) else { continue };
        assert_eq!(serde_json::to_string_pretty(&value).unwrap(), text, "{}", path.display());
        match value {
            Value::Object(_) => {
                found.insert(form(&value));
                let members = value["members"].as_array().unwrap();
                found.extend(members.iter().map(form));
            }
            Value::Array(messages) => {
                for message in &messages {
                    let body: Option<Value> =
                        serde_json::from_str(message["text"].as_str().unwrap()).ok();
                    let body = body.filter(Value::is_object);
                    let kind = body.as_ref().map_or("plain", |body| body["type"].as_str().unwrap());
                    let body = body.as_ref().map(form).unwrap_or_default();
                    found.insert(format!("{kind} {} {body}", form(message)));
                }
            }
            other => panic!("{other}"),
        }
    }
    found
}

/// The forms of everything that the reference wrote.
fn reference() -> BTreeSet<String> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/classic-2.1.41");
    let cases = fs::read_dir(all).unwrap();
    cases.flat_map(|case| forms(&case.unwrap().path())).collect()
}

#[track_caller]
fn assert_form(home: &Path) -> BTreeSet<String> {
    let (ours, theirs) = (forms(home), reference());
    let strange: Vec<&String> = ours.difference(&theirs).collect();
    assert!(strange.is_empty(), "not as the reference writes: {strange:#?} among {theirs:#?}");
    ours
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// A task with the keys that it must have, and in the order of the reference.
#[track_caller]
fn assert_task(path: &Path) {
    const KEYS: [&str; 9] = [
        "id",
        "subject",
        "description",
        "activeForm",
        "owner",
        "status",
        "blocks",
        "blockedBy",
        "metadata",
    ];
    let text = fs::read_to_string(path).unwrap();
    let task: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_string_pretty(&task).unwrap(), text);
    let keys: Vec<&str> = task.as_object().unwrap().keys().map(String::as_str).collect();
    let places: Vec<usize> =
        keys.iter().map(|key| KEYS.iter().position(|known| known == key).unwrap()).collect();
    assert!(places.is_sorted(), "{keys:?}");
    for key in ["id", "subject", "description", "status", "blocks", "blockedBy"] {
        assert!(keys.contains(&key), "{key} in {keys:?}");
    }
}

#[test]
fn verify_team_all_thirteen_rows() {
    let stage = Stage::of("verify.yaml");
    let show = stage.show(&["-p", "go", "--permission-mode", "bypassPermissions"]);
    assert_eq!(show.code, 0, "{}", show.stderr);
    the_rows_follow_each_other(&show);
    they_join(&stage, &show);
    they_work(&show);
    they_write_to_each_other(&stage, &show);
    they_end(&stage, &show);
}

/// The first line that fits, behind another.
#[track_caller]
fn next(show: &Show, after: usize, what: &str, fits: impl Fn(&Value) -> bool) -> usize {
    let found = show.lines.iter().enumerate().skip(after).find(|(_, line)| fits(line));
    found.unwrap_or_else(|| panic!("no {what} behind line {after}")).0
}

/// Every row of the record, in its order.
fn the_rows_follow_each_other(show: &Show) {
    let is = |line: &Value, agent: &str, kind: &str| line["agent"] == agent && line["type"] == kind;
    let status = |line: &Value, agent: &str, status: &str| {
        is(line, agent, "status") && line["status"] == status
    };
    let says = |line: &Value, text: &str| line.to_string().contains(text);
    let mail = |line: &Value, from: &str, to: &str, text: &str| {
        line["type"] == "mail"
            && line["message"]["from"] == from
            && line["to"] == to
            && line["message"]["text"].as_str().unwrap().contains(text)
    };
    let (one, two, lead) = ("tester-01", "tester-02", "team-lead");
    let idle = "idle_notification";
    let row = |after: usize, what: &str, fits: &dyn Fn(&Value) -> bool| {
        next(show, after, what, |line| fits(line))
    };
    let made = row(0, "1: the team", &|line| status(line, lead, "team_created"));
    let joined = row(made, "2: the teammate", &|line| status(line, one, "joined"));
    let looked = row(joined, "3: its look at the roster", &|line| {
        is(line, one, "user") && says(line, "tester-01@verify-team")
    });
    let first = row(looked, "4: its idle time", &|line| mail(line, one, lead, idle));
    let woken = row(first, "5: a message to it", &|line| mail(line, lead, one, "Try the tasks"));
    let mut at =
        row(woken, "5: its work", &|line| is(line, one, "user") && says(line, "Try the tasks"));
    for result in ["Task #1 created", "Updated task #1", "#1 [in_progress]", "Updated task #1"] {
        at = row(at + 1, result, &|line| is(line, one, "user") && says(line, result));
    }
    let second = row(at, "7: idle again", &|line| mail(line, one, lead, idle));
    let hello = row(second, "8: a word to a peer", &|line| mail(line, two, one, "hear me"));
    let reply = row(hello, "9: the peer wakes", &|line| mail(line, one, two, "I hear you"));
    row(hello, "10: what the lead sees of it", &|line| {
        mail(line, two, lead, "[to tester-01] P2P test")
    });
    row(reply, "10: and of the answer", &|line| mail(line, one, lead, "[to tester-02] confirmed"));
    let report = row(reply, "the report", &|line| mail(line, two, lead, "Everything works"));
    let mut gone = 0;
    for name in [one, two] {
        let asked =
            row(report, "11: the request", &|line| mail(line, lead, name, "shutdown_request"));
        let agreed =
            row(asked, "11: its answer", &|line| mail(line, name, lead, "shutdown_approved"));
        let left = row(agreed, "11: its end", &|line| status(line, name, "left"));
        row(left, "12: the news of it", &|line| {
            is(line, lead, "user") && says(line, &format!("{name} has shut down."))
        });
        gone = gone.max(left);
    }
    row(gone, "13: the end of the team", &|line| status(line, lead, "team_deleted"));
}

fn they_join(stage: &Stage, show: &Show) {
    // 1: the roster with its lead.
    let team = |step: u32| stage.snap(step).join("teams/verify-team");
    assert_form(&stage.snap(1));
    let roster = read(&team(1).join("config.json"));
    assert_eq!(roster["members"].as_array().unwrap().len(), 1);
    assert_eq!(roster["members"][0]["name"], "team-lead");
    // 2, 3: the teammate is registered, and sees it.
    assert_form(&stage.snap(2));
    let roster = read(&team(2).join("config.json"));
    let tester = &roster["members"][1];
    assert_eq!((&tester["name"], &tester["color"]), (&"tester-01".into(), &"blue".into()));
    assert_eq!(tester["backendType"], "in-process");
    assert!(show.heard("tester-01").contains("tester-01@verify-team"));
}

fn they_work(show: &Show) {
    // 4: its idle time is told, 5: a message wakes it, 6: it works on tasks.
    assert!(
        show.heard("team-lead").contains(r#"idleReason\\\":\\\"available"#)
            || show.heard("team-lead").contains("idle_notification")
    );
    let own = show.heard("tester-01");
    for result in [
        "Try the tasks",
        "Task #1 created successfully: Try it",
        "Updated task #1",
        "#1 [in_progress] Try it (tester-01)",
    ] {
        assert!(own.contains(result), "{result} in {own}");
    }
    let done: Vec<_> =
        show.of_type("task").filter(|line| line["task"]["status"] == "completed").collect();
    assert_eq!(done.len(), 1);
}

fn they_write_to_each_other(stage: &Stage, show: &Show) {
    let own = show.heard("tester-01");
    let lead = show.heard("team-lead");
    // 7: one notification for each idle time (the seed saw two).
    let mails: Vec<&Value> = show.of_type("mail").collect();
    let idle = |from: &str| {
        let sent = mails.iter().filter(|line| line["message"]["from"] == from);
        sent.filter(|line| line["message"]["text"].as_str().unwrap().contains("idle_notification"))
            .count()
    };
    assert_eq!(idle("tester-01"), 3, "looked up, worked, answered");
    // 8, 9: peers write to each other, and wake each other.
    assert!(own.contains("Do you hear me?") && show.heard("tester-02").contains("I hear you"));
    let step = assert_form(&stage.snap(3));
    assert!(
        step.iter()
            .any(|form| form.starts_with("idle_notification") && form.contains("summary:text"))
    );
    // 10: the lead sees the summary of it.
    assert!(lead.contains("[to tester-01] P2P test") && lead.contains("[to tester-02] confirmed"));
}

fn they_end(stage: &Stage, show: &Show) {
    let lead = show.heard("team-lead");
    // 11, 12: both agree to end, and the lead is told twice over.
    assert_eq!(lead.matches("shutdown_approved").count(), 2);
    assert_eq!(lead.matches("teammate_terminated").count(), 2);
    let forms = assert_form(&stage.snap(4));
    for kind in ["shutdown_request", "shutdown_approved"] {
        assert!(forms.iter().any(|form| form.starts_with(kind)), "{kind} in {forms:#?}");
    }
    assert_task(&stage.snap(3).join("tasks/verify-team/1.json"));
    // 13: nothing is left of the team. The lead tries after each farewell; one try succeeds.
    assert_eq!(lead.matches("Cleaned up directories").count(), 1, "{lead}");
    for place in ["teams", "tasks"] {
        assert!(fs::read_dir(stage.home().join(place)).unwrap().next().is_none(), "{place}");
    }
    let left = crate::support::deck::leftovers(&stage.home());
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn two_workers_claim_what_is_free_and_the_last_task_waits_for_both() {
    let stage = Stage::of("collaboration.yaml");
    let show = stage.show(&["-p", "go", "--permission-mode", "bypassPermissions"]);
    assert_eq!(show.code, 0, "{}", show.stderr);
    let steps: Vec<(String, String, String)> = show
        .of_type("task")
        .map(|line| &line["task"])
        .map(|task| {
            let text = |key: &str| task[key].as_str().unwrap_or_default().to_owned();
            (text("id"), text("status"), text("owner"))
        })
        .collect();
    let at = |id: &str, status: &str| {
        steps
            .iter()
            .position(|step| step.0 == id && step.1 == status)
            .unwrap_or_else(|| panic!("{steps:?}"))
    };
    for id in ["1", "2", "3"] {
        assert!(at(id, "in_progress") < at(id, "completed"), "{steps:?}");
        let claims = steps.iter().filter(|step| step.0 == id && step.1 == "in_progress");
        let owners: BTreeSet<&str> = claims.map(|step| step.2.as_str()).collect();
        assert_eq!(owners.len(), 1, "{id} was claimed by one: {steps:?}");
    }
    assert!(at("3", "in_progress") > at("1", "completed"), "{steps:?}");
    assert!(at("3", "in_progress") > at("2", "completed"), "{steps:?}");
    assert_form(&stage.snap(1));
    for id in ["1", "2", "3"] {
        assert_task(&stage.snap(1).join(format!("tasks/project/{id}.json")));
    }
    let third = read(&stage.snap(1).join("tasks/project/3.json"));
    assert_eq!(third["blockedBy"], serde_json::json!(["1", "2"]), "done blockers stay written");
    // Both are asked to end, agree, and are gone; then nothing is left.
    let forms = assert_form(&stage.snap(2));
    for kind in ["shutdown_request", "shutdown_approved"] {
        assert!(forms.iter().any(|form| form.starts_with(kind)), "{kind} in {forms:#?}");
    }
    let lead = show.heard("team-lead");
    assert_eq!(lead.matches("shutdown_approved").count(), 2);
    assert_eq!(lead.matches("has shut down.").count(), 2);
    assert_eq!(lead.matches("Cleaned up directories").count(), 1);
    assert!(fs::read_dir(stage.home().join("teams")).unwrap().next().is_none());
}
