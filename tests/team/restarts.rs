//! The whole program is killed and started again, at any moment, while teammates ask and write.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Child;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::stage::{Dice, PATIENCE, Stage, ended};
use crate::support::soak;

const LEAD: &str = "
      - when: { user: \"^again$|goes on\" }
        repeat: true
        call:
          - { tool: SendMessage, input: { type: broadcast, content: \"Go on\", summary: \"go on\" } }
      - when: { any: true }
        repeat: true
        say: \"noted\"
";

/// A lead that starts these teammates, and teammates that do these things one after the other,
/// whatever they are told.
fn playbook(mates: usize, calls: impl Iterator<Item = String>) -> String {
    let spawn = |at: usize| {
        format!(
            "          - {{ tool: Agent, input: {{ description: d, name: mate-{at}, prompt: \"Begin\" }} }}\n"
        )
    };
    let agents: String = (0..mates).map(spawn).collect();
    let calls: String = calls.map(|call| format!("      - call:\n          - {call}\n")).collect();
    format!(
        "name: t\npace: 0\nactors:\n  - who: team-lead\n    turns:\n      - when: {{ user: \"^go$\" }}\n        call:\n{agents}{LEAD}\n  - who: \"mate-*\"\n    turns:\n{calls}      - when: {{ any: true }}\n        repeat: true\n        say: \"ok\"\n"
    )
}

fn kill(child: &mut Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Ends a run as a person would who comes back later: questions stay open.
fn suspend(child: &mut Child) {
    let pid = child.id().to_string();
    std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap();
    ended(child);
}

/// Ends a run in one way or the other, a moment later.
fn cut_off(child: &mut Child, dice: &mut Dice, open: usize) {
    std::thread::sleep(Duration::from_millis(dice.below(60)));
    // Without an open question an interrupt ends the run and its team for good.
    match dice.below(2) == 0 && open > 1 {
        true => suspend(child),
        false => kill(child),
    }
}

#[test]
fn every_question_is_answered_once_across_restarts() {
    let (mates, each, restarts) = if soak() { (20, 5, 16) } else { (4, 3, 4) };
    // All of these are asked at once, and then one that leaves a trace.
    let read = |number: usize| {
        format!("          - {{ tool: Read, input: {{ file_path: \"../outside-{number}\" }} }}\n")
    };
    let reads: String = (0..each).map(read).collect();
    let trace = "{ tool: Bash, input: { command: \"echo {{me}} >> ran\", description: d } }";
    let stage = Stage::new(&playbook(
        mates,
        [reads.trim_start().trim_start_matches("- ").trim_end().to_owned(), trace.to_owned()]
            .into_iter(),
    ));
    for number in 0..each {
        fs::write(stage.project().join(format!("../outside-{number}")), "x").unwrap();
    }
    let mut dice = Dice(0x1234_5678_9ABC_DEF1);
    let mut child = stage.start(&["-p", "go", "--on-ask", "wait"]);
    let (mut left, mut allowed, mut most, mut there) = (restarts, BTreeSet::new(), 0, false);
    let deadline = Instant::now() + PATIENCE * if soak() { 10 } else { 1 };
    while child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < deadline, "it does not come to an end");
        let open = stage.json(&["asks", "list", "latest"]).and_then(|it| it.as_array().cloned());
        let open = open.unwrap_or_default();
        most = most.max(open.len());
        let askers: BTreeSet<String> = open.iter().map(|ask| ask["chain"][0].to_string()).collect();
        there |= askers.len() == mates;
        // At any moment once all are there: while they ask, while they wait, and right behind an
        // answer.
        if left > 0 && there && !open.is_empty() && dice.below(4) == 0 {
            left -= 1;
            cut_off(&mut child, &mut dice, open.len());
            child = stage.start(&["-c", "-p", "again", "--on-ask", "wait"]);
            continue;
        }
        if open.is_empty() || most < mates * each {
            std::thread::sleep(Duration::from_millis(10));
            continue;
        }
        let chosen = &open[dice.below(open.len() as u64) as usize];
        let id = chosen["id"].as_str().unwrap();
        let deny = dice.below(4) == 0;
        let verdict = if deny { "deny" } else { "approve" };
        let answered = stage.program(&["asks", verdict, "latest", id]).output().unwrap();
        if !deny && answered.status.success() {
            allowed.insert(id.to_owned());
        }
    }
    assert!(most >= mates * each, "{most} were open at once");
    assert_eq!(ended(&mut child), Some(0));
    assert_all_answered_once(&stage, mates * (each + 1));
    let ran = fs::read_to_string(stage.project().join("ran")).unwrap_or_default();
    assert!(ran.lines().count() <= allowed.len(), "{ran} for {allowed:?}");
}

/// None is forgotten, each has one answer, and each tool ran at most once.
fn assert_all_answered_once(stage: &Stage, all: usize) {
    let mut answers: BTreeMap<String, usize> = BTreeMap::new();
    let (mut asked, mut began) = (BTreeSet::new(), BTreeMap::<String, usize>::new());
    for event in stage.facts() {
        let fact = &event["fact"];
        if fact["kind"] == "asked" {
            asked.insert(fact["ask"]["id"].as_str().unwrap().to_owned());
        } else if fact["kind"] == "settled" {
            *answers.entry(fact["ask"].as_str().unwrap().to_owned()).or_default() += 1;
        } else if fact["kind"] == "toolStarted" && fact["tool"] != "Agent" {
            *began.entry(fact["useId"].as_str().unwrap().to_owned()).or_default() += 1;
        }
    }
    assert_eq!(asked.len(), all, "everyone asked everything");
    assert!(began.values().all(|times| *times == 1), "{began:#?}");
    assert!(asked.iter().all(|id| answers.get(id) == Some(&1)), "{answers:#?} of {asked:#?}");
    let ran = fs::read_to_string(stage.project().join("ran")).unwrap_or_default();
    let lines: Vec<&str> = ran.lines().collect();
    let different: BTreeSet<&str> = lines.iter().copied().collect();
    assert_eq!(lines.len(), different.len(), "{ran}");
}

#[test]
fn nothing_is_heard_twice_or_lost_across_restarts() {
    let (messages, restarts) = if soak() { (40, 12) } else { (8, 3) };
    let call = |number: usize| {
        format!(
            "{{ tool: SendMessage, input: {{ to: team-lead, message: \"{{{{me}}}} says {number};\", summary: s }} }}"
        )
    };
    let stage = Stage::new(&playbook(3, (0..messages).map(call)));
    let mut dice = Dice(0xABCD_EF01_2345_6789);
    let mut child = stage.start(&["-p", "go"]);
    let deadline = Instant::now() + PATIENCE;
    let seats = |stage: &Stage| stage.transcripts().len();
    while seats_or_none(&stage, seats) < 3 {
        assert!(Instant::now() < deadline, "nobody begins");
        std::thread::sleep(Duration::from_millis(5));
    }
    for _ in 0..restarts {
        std::thread::sleep(Duration::from_millis(dice.below(120)));
        if child.try_wait().unwrap().is_some() {
            break;
        }
        kill(&mut child);
        child = stage.start(&["-c", "-p", "again"]);
    }
    assert_eq!(ended(&mut child), Some(0));
    // Once more: whoever was cut off at the very end goes on.
    let show = stage.show(&["-c", "-p", "again"]);
    assert_eq!(show.code, 0, "{}", show.stderr);
    let mut heard = String::new();
    let mut paths = crate::support::files_below(&stage.home().join("projects"));
    paths.retain(|path| !path.to_string_lossy().contains("subagents"));
    for path in paths {
        for record in super::stage::records(&path) {
            if record["type"] == "user" {
                heard.push_str(&record["message"].to_string());
            }
        }
    }
    for (name, records) in stage.transcripts() {
        let mut answered = BTreeSet::new();
        for record in &records {
            let id = record["message"]["id"].as_str().filter(|id| !id.is_empty());
            if let (true, Some(id)) = (record["type"] == "assistant", id) {
                assert!(answered.insert(id.to_owned()), "{name}: {id} twice");
            }
        }
        let done: Vec<&Value> =
            records.iter().filter(|record| record["toolUseResult"]["success"] == true).collect();
        for number in 0..messages {
            let words = format!("{name} says {number};");
            // The results of its own calls quote the words, but only in its own transcript.
            let times = heard.matches(&words).count();
            assert!(times <= 1, "{words} reached the lead {times} times");
            let sent = done
                .iter()
                .any(|record| record["toolUseResult"]["routing"]["content"] == words.as_str());
            assert!(!sent || times == 1, "{words} was sent and never arrived");
        }
    }
}

fn seats_or_none(stage: &Stage, count: impl Fn(&Stage) -> usize) -> usize {
    match stage.home().join("projects").is_dir() {
        true => count(stage),
        false => 0,
    }
}
