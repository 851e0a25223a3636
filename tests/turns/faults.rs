//! Everything that can go wrong on the way to a model, at every turn of ten: the run ends with
//! the right answer or a clear error, in process and over HTTP.

use std::time::{Duration, Instant};

use quarterdeck::agent::rebuild::rebuild;
use quarterdeck::protocol::content::{Known, Role};

use super::case::{Case, lines, ran, spread};
use super::valid::assert_valid;
use crate::support::deck::Ran;

const TURNS: usize = 10;

/// Longer than any of these takes, on a slow machine.
const NEVER: Duration = Duration::from_secs(60);

/// Nine steps that write a line each, and an end; faults at these turns.
fn playbook(fault: &str, at: impl Fn(usize) -> bool) -> String {
    let mut text = "name: ten\nactors:\n  - who: team-lead\n    turns:\n".to_owned();
    for turn in 0..TURNS {
        let fault = if at(turn) { format!(", fault: {{ {fault} }}") } else { String::new() };
        let call = match turn + 1 == TURNS {
            true => String::new(),
            false => format!(
                ", call: [{{ tool: Bash, input: {{ command: \"echo {turn} >> log\", description: x }} }}]"
            ),
        };
        text.push_str(&format!("      - {{ say: \"step {turn} of the work.\"{call}{fault} }}\n"));
    }
    text
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Way {
    InProcess,
    Http,
}

fn run(case: &Case, way: Way) -> Ran {
    let free = "--dangerously-skip-permissions";
    let since = Instant::now();
    let served = (way == Way::Http).then(|| case.serve());
    let mut command = match &served {
        None => case.play(&["-p", "go", free]),
        Some(served) => {
            let args = ["run", "--output-format", "stream-json", "-p", "go", free];
            let mut command = case.command(&args);
            command.env("ANTHROPIC_BASE_URL", &served.url);
            command
        }
    };
    command.env("QUARTERDECK_STALL_SECS", "1").env("QUARTERDECK_TRIES", "3");
    let ran = ran(command.env("QUARTERDECK_RETRY_MS", "5"));
    assert!(since.elapsed() < NEVER, "{way:?} took {:?}", since.elapsed());
    ran
}

/// What was said, each step once and in order, and what ran, each once.
fn check(case: &Case, what: &str, expected: usize) {
    let kept = rebuild(&case.transcript()).unwrap();
    assert_valid(&kept.messages);
    let answers = kept.messages.iter().filter(|message| message.role == Role::Assistant);
    let said: Vec<String> = answers
        .flat_map(|message| message.content.known())
        .filter_map(|block| if let Known::Text { text } = block { Some(text) } else { None })
        .collect();
    let steps: Vec<String> =
        (0..expected).map(|turn| format!("step {turn} of the work.")).collect();
    assert_eq!(said, steps, "{what}");
    let log: Vec<String> = (0..expected.min(TURNS - 1)).map(|turn| turn.to_string()).collect();
    assert_eq!(case.log(), log, "{what}");
}

fn ends_well(fault: &str, way: Way, at: impl Fn(usize) -> bool) {
    let case = Case::new(&playbook(fault, at));
    let (ran, what) = (run(&case, way), format!("{fault} {way:?}"));
    assert_eq!(ran.code, 0, "{what}: {ran:?}");
    let last = lines(&ran).pop().unwrap();
    assert_eq!(last["result"], format!("step {} of the work.", TURNS - 1), "{what}");
    check(&case, &what, TURNS);
}

/// These pass when the request is made again; all ten turns have them.
#[test]
fn what_passes_is_tried_again_at_every_turn() {
    let faults = [
        "status: 429, retry_after: 0",
        "status: 500",
        "status: 529, times: 2",
        "cut_after: 0",
        "cut_after: 500",
        "cut_after: 750",
        "cut_after: 1000",
        "stall_ms: 20",
    ];
    let ways = [Way::InProcess, Way::Http];
    spread(faults.len() * 2, |number| ends_well(faults[number / 2], ways[number % 2], |_| true));
}

/// A server that says nothing for too long, at each turn.
#[test]
fn a_stall_is_ended_and_tried_again_at_every_turn() {
    spread(TURNS * 2, |number| {
        let way = if number % 2 == 0 { Way::InProcess } else { Way::Http };
        ends_well("stall_ms: 60000", way, |turn| turn == number / 2);
    });
}

/// What does not pass ends the run with an error that says what it was; what was done stays done.
#[test]
fn what_does_not_pass_is_a_clear_error_at_every_turn() {
    let faults = [
        ("garbage: true", "could not be understood"),
        ("status: 529, times: 1000", "529"),
        ("status: 401, times: 1000", "401"),
    ];
    let count = TURNS * 2;
    spread(count, |number| {
        let (turn, way) = (number / 2, if number % 2 == 0 { Way::InProcess } else { Way::Http });
        // Every turn meets garbage; the others are spread over them.
        let more = 1 + number % 2;
        let chosen = if crate::support::soak() { vec![0, 1, 2] } else { vec![0, more] };
        for (fault, words) in chosen.into_iter().map(|index| faults[index]) {
            let case = Case::new(&playbook(fault, |at| at == turn));
            let (ran, what) = (run(&case, way), format!("{fault} at {turn} {way:?}"));
            assert_eq!(ran.code, 1, "{what}: {ran:?}");
            let last = lines(&ran).pop().unwrap();
            assert_eq!(last["type"], "result", "{what}");
            assert_eq!(last["subtype"], "error_during_execution", "{what}");
            let error = last["error"].as_str().unwrap();
            assert!(error.contains(words), "{what}: {error}");
            check(&case, &what, turn);
        }
    });
}
