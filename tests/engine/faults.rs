//! Everything that can go wrong on the way to a model, at every turn of ten: the run ends with
//! the right answer or a clear error, on the playbook itself and over HTTP. In short, every fault
//! and every turn occurs; the soak has them all with each other.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::turns::assert_valid;
use crate::support::rig::{Rig, Served};
use crate::support::{soak, spread};

const BOOK: &str = include_str!("../playbooks/engine/ten.yaml");
const TURNS: usize = 10;

/// Longer than any of these takes, on a slow machine.
const NEVER: Duration = Duration::from_secs(60);

/// These pass when the request is made again, or made shorter.
const PASSING: [&str; 9] = [
    "status: 429, retry_after: 0",
    "status: 500",
    "status: 529, times: 2",
    "cut_after: 0",
    "cut_after: 500",
    "cut_after: 750",
    "cut_after: 1000",
    "stall_ms: 20",
    "too_long: true",
];

/// A server that says nothing for longer than it is waited for.
const SILENCE: &str = "stall_ms: 60000";

/// These do not pass, and what is said of them.
const LASTING: [(&str, &str); 4] = [
    ("garbage: true", "could not be understood"),
    ("status: 529, times: 1000", "529"),
    ("status: 401, times: 1000", "401"),
    ("too_long: true, times: 1000", "prompt is too long"),
];

#[derive(Clone, Copy, Debug)]
enum Way {
    InProcess,
    Http,
}

const WAYS: [Way; 2] = [Way::InProcess, Way::Http];

/// Ten turns, with this fault at some of them.
fn rig(fault: &str, at: impl Fn(usize) -> bool) -> Rig {
    let (_, actors) = BOOK.split_once("actors:\n").unwrap();
    let (mut book, mut turn) = (String::new(), 0);
    for line in actors.lines() {
        let is_turn = line.contains("- { say:");
        match line.strip_suffix(" }").filter(|_| is_turn && at(turn)) {
            Some(open) => book += &format!("{open}, fault: {{ {fault} }} }}\n"),
            None => book += &format!("{line}\n"),
        }
        turn += usize::from(is_turn);
    }
    assert_eq!(turn, TURNS);
    Rig::with_actors(&book)
}

/// The exit code and the last line, once it is known that what was said and done is right: so
/// many steps, each once.
fn run(rig: &Rig, way: Way, what: &str, steps: usize) -> (Option<i32>, Value) {
    let since = Instant::now();
    let served = matches!(way, Way::Http).then(|| rig.serve());
    let free = ["--dangerously-skip-permissions", "--output-format", "stream-json", "-p", "go"];
    let mut command = match &served {
        None => rig.program(&["run", "--playbook", &rig.book()]),
        Some(served) => {
            let mut command = rig.program(&["run", "--model", "sonnet"]);
            command.env("ANTHROPIC_BASE_URL", &served.url).env("ANTHROPIC_API_KEY", "sk-test");
            command
        }
    };
    command.args(free).stdin(Stdio::null());
    command.env("QUARTERDECK_STALL_SECS", "1").env("QUARTERDECK_TRIES", "3");
    let output = command.env("QUARTERDECK_RETRY_MS", "5").output().unwrap();
    assert!(since.elapsed() < NEVER, "{what} took {:?}", since.elapsed());
    for asked in served.iter().flat_map(Served::log) {
        assert_valid(&asked["request"]);
    }
    // What a summary leaves as it was is written down anew.
    let records = rig.records().into_iter().filter(|one| one["isMeta"] != true);
    let said: Vec<String> = records
        .filter(|one| one["type"] == "assistant")
        .flat_map(|one| one["message"]["content"].as_array().cloned().unwrap())
        .filter_map(|block| block["text"].as_str().map(str::to_owned))
        .collect();
    let right: Vec<String> = (0..steps).map(|turn| format!("step {turn}.")).collect();
    assert_eq!(said, right, "{what}");
    let done: String = (0..steps.min(TURNS - 1)).map(|turn| format!("{turn}\n")).collect();
    assert_eq!(rig.read("log"), done, "{what}");
    let text = String::from_utf8(output.stdout).unwrap();
    let last = text.lines().last().unwrap_or_else(|| panic!("{what}: nothing"));
    (output.status.code(), serde_json::from_str(last).unwrap())
}

fn ends_well(fault: &str, way: Way, at: impl Fn(usize) -> bool) {
    let what = format!("{fault} {way:?}");
    let (code, last) = run(&rig(fault, at), way, &what, TURNS);
    assert_eq!((code, last["result"].as_str()), (Some(0), Some("step 9.")), "{what}: {last}");
}

fn ends_with_an_error(fault: &str, words: &str, way: Way, turn: usize) {
    let what = format!("{fault} at {turn} {way:?}");
    let (code, last) = run(&rig(fault, |at| at == turn), way, &what, turn);
    assert_eq!(code, Some(1), "{what}: {last}");
    assert_eq!(last["type"], "result", "{what}: {last}");
    assert_eq!(last["subtype"], "error_during_execution", "{what}: {last}");
    let error = last["error"].as_str().unwrap();
    assert!(error.contains(words), "{what}: {error}");
}

/// All ten turns of a run have it; in the soak, each turn for itself as well.
#[test]
fn what_passes_is_got_over_at_every_turn() {
    let all = PASSING.len();
    if !soak() {
        return spread(all, |number| ends_well(PASSING[number], WAYS[number % 2], |_| true));
    }
    spread(all * 2, |number| ends_well(PASSING[number / 2], WAYS[number % 2], |_| true));
    spread(all * 2 * TURNS, |number| {
        let (fault, way) = (PASSING[number / TURNS / 2], WAYS[number / TURNS % 2]);
        ends_well(fault, way, |turn| turn == number % TURNS);
    });
}

#[test]
fn a_silence_is_ended_and_got_over_at_every_turn() {
    let ways = if soak() { 2 } else { 1 };
    spread(TURNS * ways, |number| {
        ends_well(SILENCE, WAYS[number % 2], |turn| turn == number / ways);
    });
}

/// The run ends with words that say what it was; what was done stays done.
#[test]
fn what_does_not_pass_is_a_clear_error_at_every_turn() {
    if !soak() {
        return spread(TURNS, |turn| {
            let (fault, words) = LASTING[turn % LASTING.len()];
            ends_with_an_error(fault, words, WAYS[turn / LASTING.len() % 2], turn);
        });
    }
    spread(LASTING.len() * 2 * TURNS, |number| {
        let (fault, words) = LASTING[number / TURNS / 2];
        ends_with_an_error(fault, words, WAYS[number / TURNS % 2], number % TURNS);
    });
}
