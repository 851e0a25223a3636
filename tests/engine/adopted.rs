//! Agents that were cut off with the program go on in the next one.

use serde_json::Value;

use crate::support::rig::{Going, Ran, Rig, until};
use crate::support::soak;

const BOOK: &str = "engine/adopted";
const WAIT: [&str; 4] = ["--output-format", "stream-json", "--on-ask", "wait"];

fn start(rig: &Rig, args: &[&str]) -> Going {
    rig.start(&[&WAIT, args].concat())
}

/// The one open ask.
fn open(rig: &Rig) -> String {
    let asks = rig.asked();
    assert_eq!(asks.len(), 1, "{asks:?}");
    asks[0]["id"].as_str().unwrap().to_owned()
}

fn approve(rig: &Rig, id: &str) {
    rig.quarterdeck(&["asks", "approve", "latest", id]).code(0);
}

/// Allows the two commands of the maker as they are asked, the first of which is this one.
fn allow_both(rig: &Rig, first: &str) {
    approve(rig, first);
    let second = until("the second ask", || {
        (rig.asks_put() > 1).then_some(())?;
        let listed = rig.quarterdeck(&["--json", "asks", "list", "latest"]);
        let asks: Vec<Value> = serde_json::from_str(&listed.stdout).ok()?;
        let id = asks.first()?["id"].as_str()?.to_owned();
        (id != first).then_some(id)
    });
    approve(rig, &second);
}

fn made_once(rig: &Rig) {
    assert_eq!(rig.read("log"), "first\nsecond\n");
}

/// The results of the lead's calls, in its transcript.
fn results(rig: &Rig) -> Vec<Value> {
    let records = rig.records().into_iter();
    records.map(|one| one["toolUseResult"].clone()).filter(|data| !data.is_null()).collect()
}

/// `killed` is how the program ends while the ask of a subagent is open.
fn goes_on_after(rig: &Rig, going: Going, killed: impl Fn(Going)) -> Ran {
    let id = open(rig);
    killed(going);
    assert_eq!(rig.read("log"), "");
    let mut going = start(rig, &["-c"]);
    going.close_input();
    assert_eq!(open(rig), id, "it is the same ask");
    allow_both(rig, &id);
    let ran = going.end().code(0);
    made_once(rig);
    let again = rig.quarterdeck(&["asks", "approve", "latest", &id]).code(1);
    assert!(again.stderr.contains("settled") || again.stderr.contains("was"), "{again:?}");
    ran
}

fn kill(going: Going) {
    going.kill();
}

#[test]
fn killed_while_a_subagent_asks_its_tool_runs_once_and_its_parent_gets_one_result() {
    let rounds = if soak() { 50 } else { 5 };
    for round in 0..rounds {
        let rig = Rig::on(BOOK);
        let going = start(&rig, &["-p", "wait for it"]);
        let ran = goes_on_after(&rig, going, kill);
        let result = ran.result()["result"].as_str().unwrap().to_owned();
        assert!(
            result.starts_with("result: ") && result.contains("All is made."),
            "{round}: {ran:?}"
        );
        let results = results(&rig);
        assert_eq!(results.len(), 1, "{round}: {results:?}");
        assert_eq!(results[0]["status"], "completed", "{round}");
        assert!(ran.notes("team-lead").is_empty(), "{round}: nothing is told twice");
        let started = ran.started();
        assert_eq!(started.len(), 1, "{round}: nobody else was started: {started:?}");
    }
}

#[test]
fn a_background_agent_that_was_cut_off_goes_on_and_its_end_is_told_once() {
    let rounds = if soak() { 20 } else { 1 };
    for _ in 0..rounds {
        let rig = Rig::on(BOOK);
        let going = start(&rig, &["-p", "go on without it"]);
        let ran = goes_on_after(&rig, going, kill);
        let notes = ran.notes("team-lead");
        assert_eq!(notes.len(), 1, "{ran:?}");
        assert!(
            notes[0].contains("<status>completed</status>") && notes[0].contains("All is made.")
        );
        assert_eq!(ran.result()["result"], "told");
        assert_eq!(results(&rig).len(), 1, "only that it was launched");
    }
}

#[test]
fn a_signal_leaves_the_ask_of_a_subagent_open_too_and_agents_of_agents_go_on() {
    let rig = Rig::on(BOOK);
    let foreman = "---\nname: foreman\ndescription: d\n---\nHave it made.\n";
    rig.write(".claude/agents/foreman.md", foreman);
    let going = start(&rig, &["-p", "have it started"]);
    let ran = goes_on_after(&rig, going, |going| {
        going.signal("-INT");
        going.end().code(130);
    });
    let result = ran.result()["result"].as_str().unwrap().to_owned();
    assert!(result.contains("the maker says: All is made."), "{ran:?}");
    assert_eq!(ran.started().len(), 2, "both are there again");
    assert_eq!(results(&rig).len(), 1);
}

#[test]
fn what_was_allowed_before_the_end_runs_and_what_had_begun_is_interrupted() {
    let rounds = if soak() { 30 } else { 2 };
    let mut lost = 0;
    for round in 0..rounds {
        let rig = Rig::on(BOOK);
        let going = start(&rig, &["-p", "wait for it"]);
        let id = open(&rig);
        // In every other round nobody is there to begin what is allowed.
        let may_begin = round % 2 == 0;
        if may_begin {
            approve(&rig, &id);
        }
        going.kill();
        if !may_begin {
            approve(&rig, &id);
        }
        let mut going = start(&rig, &["-c", "--permission-mode", "bypassPermissions"]);
        going.close_input();
        let ran = going.end().code(0);
        let log = rig.read("log");
        let maker = ran.started()[0]["agent"].as_str().unwrap().to_owned();
        let interrupted = ran.results(&maker).iter().any(|(text, _)| text.contains("Interrupted"));
        lost += usize::from(interrupted);
        let first = log.matches("first").count();
        assert!(first <= 1 && (first == 1 || interrupted), "{log}: {ran:?}");
        assert!(may_begin || (first == 1 && !interrupted), "{log}: {ran:?}");
        assert_eq!(log.matches("second").count(), 1, "{log}: {ran:?}");
        assert_eq!(results(&rig).len(), 1);
    }
    crate::support::say(&format!("{lost} of {rounds} had begun when the program was killed"));
}

#[test]
fn who_cannot_go_on_is_told_of_once_with_what_it_had_said() {
    let kind = "---\nname: general-purpose\ndescription: d\n---\nx\n";
    for (prompt, background) in [("wait for it", false), ("go on without it", true)] {
        let rig = Rig::on(BOOK);
        rig.write(".claude/agents/g.md", kind);
        let going = start(&rig, &["-p", prompt]);
        open(&rig);
        going.kill();
        // What it was is not known any more.
        for file in crate::support::files_below(&rig.home().join("projects")) {
            if file.to_string_lossy().ends_with(".meta.json") {
                std::fs::remove_file(file).unwrap();
            }
        }
        let mut going = start(&rig, &["-c"]);
        going.close_input();
        let ran = going.end().code(0);
        let notes = ran.notes("team-lead");
        let told = match background {
            true => notes.first().cloned().unwrap_or_default(),
            false => ran.results("team-lead")[0].0.clone(),
        };
        assert_eq!(notes.len(), usize::from(background), "{ran:?}");
        assert!(told.contains("cannot be resumed") && told.contains("First words."), "{told}");
        assert_eq!(background, told.contains("<status>killed</status>"));
        let listed = rig.quarterdeck(&["asks", "list", "latest"]).code(0).stdout;
        assert_eq!(listed, "No open asks\n");
        let again = rig.stream(&["-c", "-p", "and now?"]).code(0);
        assert!(again.notes("team-lead").is_empty(), "once: {again:?}");
    }
}

#[test]
fn news_that_nobody_had_heard_when_the_program_ended_are_not_lost() {
    let rig = Rig::on("engine/background");
    rig.write("go", "");
    let free = ["--permission-mode", "bypassPermissions"];
    let mut going = rig.driven(&free);
    going.say("behind");
    going.line_with("its end", |line| line["status"] == "completed");
    going.kill();
    let ran = rig.stream(&[&["-c", "-p", "and now?"], &free[..]].concat()).code(0);
    let words: String = rig.records().iter().map(ToString::to_string).collect();
    assert_eq!(words.matches("</task-notification>").count(), 1, "{ran:?}");
}

/// Killed at any moment of the work of two agents, one before and one behind their parent.
#[test]
fn killed_at_any_moment_every_end_is_told_once_and_nothing_runs_twice() {
    let rounds = if soak() { 100 } else { 6 };
    let free = ["--permission-mode", "bypassPermissions"];
    for round in 0..rounds {
        let rig = Rig::on(BOOK);
        let prompt = if round % 2 == 0 { "wait for it" } else { "go on without it" };
        let start = ["-p", prompt, "--output-format", "stream-json"];
        let mut going = rig.start(&[&start, &free[..]].concat());
        going.line_with("a start", |line| {
            line["status"] == "started" && line["agent"] != "team-lead"
        });
        let pause = std::time::Duration::from_millis(round * 31 % 240);
        std::thread::sleep(pause);
        going.kill();
        let ran = rig.stream(&[&["-c", "-p", "and now?"], &free[..]].concat()).code(0);
        let whole: String = rig.records().iter().map(ToString::to_string).collect();
        let notes = whole.matches("</task-notification>").count();
        let results = whole.matches("\"type\":\"tool_result\"").count();
        let why = format!("round {round}, after {pause:?}: {whole}\n{ran:?}");
        assert_eq!((results, notes), (1, usize::try_from(round % 2).unwrap()), "{why}");
        let log = rig.read("log");
        for line in ["first", "second"] {
            assert!(log.matches(line).count() <= 1, "{log}: {why}");
        }
    }
}
