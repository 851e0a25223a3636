//! Conversations that grow too long, and sessions that go on.

use std::time::Duration;

use serde_json::{Value, json};

use super::turns::assert_valid;
use crate::support::rig::{Ran, Rig, Served};
use crate::support::soak;

const FREE: [&str; 2] = ["--permission-mode", "bypassPermissions"];

/// On a model with a small window.
fn small(book: &str) -> Rig {
    let rig = Rig::on(book);
    let config = rig.user().join(".config/quarterdeck");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("models.toml"), "[models.\"rehearsal/demo\"]\nwindow = 1000\n")
        .unwrap();
    rig
}

fn boundaries(lines: &[Value]) -> usize {
    lines.iter().filter(|line| line["subtype"] == "compact_boundary").count()
}

#[test]
fn a_summary_is_made_when_it_is_wanted_and_when_it_is_due_and_nothing_on_disk_is_lost() {
    let rig = small("engine/compact");
    let mut going = rig.driven(&[]);
    for word in ["first", "second"] {
        going.say(word);
        going.line("result");
    }
    going.granted(&json!({ "subtype": "compact", "instructions": "keep the names" }));
    going.line_with("a boundary", |line| line["subtype"] == "compact_boundary");
    going.say("third");
    assert_eq!(going.line("result")["result"], "LONG-WORDS");
    // The last answer was longer than the window takes: before the next one there is a summary.
    going.say("fourth");
    assert_eq!(going.line("result")["result"], "I go on");
    let ran = going.end().code(0);
    assert_eq!(boundaries(&ran.lines()), 2, "{ran:?}");
    let whole: String = rig.records().iter().map(ToString::to_string).collect();
    for words in ["OLD-WORDS", "RECENT-WORDS", "SUMMARY-WITH-NAMES", "PLAIN-SUMMARY"] {
        assert!(whole.contains(words), "{words} is lost");
    }
    let unknown = rig.driven(&["-c"]).control(&json!({ "subtype": "compact", "agent": "nobody" }));
    assert!(unknown["error"].as_str().unwrap().contains("nobody"), "{unknown}");
}

/// What the model is asked behind the summary: that, what was said last and what is left to do,
/// and nothing of what is old.
#[test]
fn behind_a_summary_the_recent_words_and_open_tasks_are_there_and_the_old_ones_are_not() {
    let rig = Rig::on("engine/compact");
    let served = rig.serve();
    let mut going = rig.drive(&served, &[]);
    for word in ["task", "first", "second"] {
        going.say(word);
        going.line("result");
    }
    going.granted(&json!({ "subtype": "compact" }));
    going.line_with("a boundary", |line| line["subtype"] == "compact_boundary");
    going.say("and on");
    assert_eq!(going.line("result")["result"], "I go on");
    going.end().code(0);
    let lead = served.of("team-lead");
    let last = lead.iter().rfind(|one| one["purpose"] == "turn").unwrap();
    let last = &last["request"]["messages"];
    let words = last.to_string();
    for there in ["PLAIN-SUMMARY", "RECENT-WORDS", "Paint the hull", "and on"] {
        assert!(words.contains(there), "{there} is not in {words}");
    }
    assert!(!words.contains("OLD-WORDS"), "{words}");
    assert_eq!(last[0]["role"], "user", "{words}");
    let asked = served.log().into_iter().find(|one| one["purpose"] == "compact").unwrap();
    assert!(asked["request"]["messages"].to_string().contains("OLD-WORDS"), "{asked}");
}

/// The program on the playbook itself, and on a server that writes down what it is asked.
fn both_ways(book: &str, test: impl Fn(&Rig, &dyn Fn(&[&str]) -> Ran, Option<&Served>)) {
    let rig = Rig::on(book);
    test(&rig, &|args| rig.stream(args), None);
    let rig = Rig::on(book);
    let served = rig.serve();
    test(&rig, &|args| rig.ask(&served, args), Some(&served));
}

/// In the middle of a turn, with a call in it. The wish for a summary is refused as well; then it
/// is made of the newer part.
#[test]
fn what_a_server_finds_too_long_is_summarised_and_the_turn_goes_on() {
    both_ways("engine/too_long", |rig, run, served| {
        rig.write("old.txt", &"OLD-WORDS and so on.\n".repeat(1000));
        run(&["-p", "first"]).code(0);
        let ran = run(&[&["-c", "-p", "second"], &FREE[..]].concat()).code(0);
        assert_eq!(ran.result()["result"], "in the end");
        assert_eq!(rig.read("count"), "x\n", "what was done is not done again");
        assert_eq!(boundaries(&ran.lines()), 1, "{ran:?}");
        let whole: String = rig.records().iter().map(ToString::to_string).collect();
        for words in ["OLD-WORDS", "I have read it.", "SHORT-SUMMARY", "in the end"] {
            assert!(whole.contains(words), "{words} is lost");
        }
        let Some(served) = served else { return };
        let asked = served.of("team-lead").split_off(2);
        let purposes: Vec<&str> =
            asked.iter().map(|one| one["purpose"].as_str().unwrap()).collect();
        assert_eq!(purposes, ["turn", "turn", "compact", "compact", "turn"]);
        let statuses: Vec<u64> = asked.iter().map(|one| one["status"].as_u64().unwrap()).collect();
        assert_eq!(statuses, [200, 400, 400, 200, 200]);
        for one in &asked {
            assert_valid(&one["request"]);
        }
        let sizes: Vec<usize> = asked.iter().map(|one| one["request"].to_string().len()).collect();
        assert!(sizes[1] > sizes[4] + 15_000, "the next request is shorter: {sizes:?}");
        assert!(sizes[2] > sizes[3] + 15_000, "the oldest part is given up: {sizes:?}");
        let last = asked[4]["request"]["messages"].to_string();
        for words in ["SHORT-SUMMARY", "second", "RECENT-WORDS"] {
            assert!(last.contains(words), "{words} is not in {last}");
        }
        assert!(!last.contains("OLD-WORDS"), "{last}");
    });
}

#[test]
fn what_stays_too_long_behind_a_summary_is_a_clear_error_and_no_end() {
    both_ways("engine/too_long", |_, run, served| {
        let ran = run(&["-p", "for ever"]).code(1);
        let result = ran.result();
        assert_eq!(result["subtype"], "error_during_execution", "{result}");
        let error = result["error"].as_str().unwrap();
        assert!(error.contains("too long for the model: prompt is too long: "), "{error}");
        assert_eq!(boundaries(&ran.lines()), 1, "{ran:?}");
        if let Some(served) = served {
            let asked = served.of("team-lead");
            let asked: Vec<&str> =
                asked.iter().map(|one| one["purpose"].as_str().unwrap()).collect();
            assert_eq!(asked, ["turn", "compact", "compact", "turn"]);
        }
        let ran = run(&["-c", "-p", "and now"]).code(0);
        assert_eq!(ran.result()["result"], "all is well");
    });
}

#[test]
fn killed_in_the_middle_of_a_turn_nothing_is_missing_and_nothing_runs_twice() {
    let rounds = if soak() { 60 } else { 3 };
    for round in 0..rounds {
        let rig = Rig::on("engine/steps");
        let mut going =
            rig.start(&[&["-p", "go", "--output-format", "stream-json"], &FREE[..]].concat());
        let step = format!("step {}", round % 6);
        going.line_saying(&step);
        // Somewhere within the step.
        std::thread::sleep(Duration::from_millis(round * 7 % 50));
        going.kill();
        let ran = rig.stream(&[&["-c", "-p", "go on"], &FREE[..]].concat()).code(0);
        assert_eq!(ran.result()["result"], "all done", "{round}");
        let whole: String = rig.records().iter().map(ToString::to_string).collect();
        assert!(whole.contains(&step), "{round}: what was said is missing");
        let log = rig.read("log");
        let mut once: Vec<&str> = log.lines().collect();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), log.lines().count(), "{round}: something ran twice: {log}");
        let lost = whole.matches("It was not run again").count();
        assert!(log.lines().count() + lost >= 12 && lost <= 1, "{round}: {log}");
    }
}

#[test]
fn a_session_goes_on_with_its_conversation_cost_mode_grants_and_open_asks() {
    let rig = Rig::on("engine/asked");
    let going = rig.start(&["-p", "begin", "--on-ask", "wait", "--permission-mode", "acceptEdits"]);
    let id = rig.asked()[0]["id"].as_str().unwrap().to_owned();
    going.kill();
    let mut going = rig.start(&["-c", "--on-ask", "wait", "--output-format", "stream-json"]);
    going.close_input();
    assert_eq!(going.line("system")["permissionMode"], "acceptEdits");
    assert_eq!(rig.asked()[0]["id"], id.as_str(), "the same ask");
    rig.quarterdeck(&["asks", "approve", "latest", &id, "--always", "session"]).code(0);
    let ran = going.end().code(0);
    assert_eq!(ran.result()["result"], "I did");
    let session = rig.session();
    let again = rig.stream(&["-r", &session[..8], "-p", "more"]).code(0);
    assert_eq!(again.result()["session_id"], session.as_str());
    let grants = rig.quarterdeck(&["permissions", "grants", "latest"]);
    assert!(grants.stdout.contains("Bash(touch:*)"), "{grants:?}");
    let cost = |ran: &Value| ran["usage"]["output_tokens"].as_u64().unwrap();
    assert!(cost(&again.result()) > cost(&ran.result()));
    assert_eq!(rig.read("made"), "once\n");
}
