//! The program is killed at any moment and goes on where it was.

use std::collections::HashMap;
use std::fs;
use std::io::BufReader;
use std::time::{Duration, Instant};

use quarterdeck::agent::rebuild::{LOST, rebuild};
use quarterdeck::protocol::content::{ChatMessage, Known};
use serde_json::Value;

use super::case::{Case, read_until, rest};
use super::rig::results;
use super::valid::assert_valid;
use crate::support::{soak, spread};

const PATIENCE: Duration = Duration::from_secs(60);
const STEPS: usize = 6;

/// Each step is an answer with two commands that write a line each.
fn playbook() -> String {
    let mut text = "name: steps\nactors:\n  - who: team-lead\n    turns:\n".to_owned();
    for step in 0..STEPS {
        text.push_str(&format!("      - say: \"step {step}\"\n        call:\n"));
        for part in ["a", "b"] {
            text.push_str(&format!(
                "          - {{ tool: Bash, input: {{ command: \"echo {step}{part} >> log; sleep 0.01\", description: x }} }}\n"
            ));
        }
    }
    text.push_str("      - { say: all done, repeat: true }\n");
    text
}

/// A project with the playbook.
fn new() -> Case {
    Case::new(&playbook())
}

impl Case {
    /// What must hold after the restart, given what was printed before the kill.
    fn check(&self, before: &[Value], transcript_before: &str, why: &str) {
        let path = self.transcript();
        let whole = fs::read_to_string(&path).unwrap();
        let complete = &transcript_before[..transcript_before.rfind('\n').map_or(0, |at| at + 1)];
        assert!(whole.starts_with(complete), "{why}: the transcript only grows");
        let kept = rebuild(&path).unwrap();
        assert!(kept.open.is_empty(), "{why}");
        assert_valid(&kept.messages);
        let words: String =
            kept.messages.iter().map(|message| format!("{}\n", message.content.text())).collect();
        for line in before.iter().filter(|line| line["type"] == "assistant") {
            for block in line["message"]["content"].as_array().unwrap() {
                if let Some(text) = block["text"].as_str() {
                    assert!(words.contains(text), "{why}: {text} was said and is missing");
                }
            }
        }
        let log = self.log();
        let times = |line: &str| log.iter().filter(|known| *known == line).count();
        let fates = fates(&kept.messages);
        assert_eq!(fates.len(), STEPS * 2, "{why}: {fates:?}");
        for (line, text) in &fates {
            match text.contains(LOST) {
                true => assert!(times(line) <= 1, "{why}: {line} ran twice: {log:?}"),
                false => assert_eq!(times(line), 1, "{why}: {line} ({text}): {log:?}"),
            }
        }
        let lost = fates.values().filter(|text| text.contains(LOST)).count();
        assert!(lost <= 1, "{why}: one ran when it was killed, not {lost}");
    }
}

/// What each command wrote, and what it was answered with.
fn fates(messages: &[ChatMessage]) -> HashMap<String, String> {
    let mut lines = HashMap::new();
    for block in messages.iter().flat_map(|message| message.content.known()) {
        if let Known::ToolUse { id, input, .. } = block {
            let command = input["command"].as_str().unwrap().to_owned();
            lines.insert(id, command.split(' ').nth(1).unwrap().to_owned());
        }
    }
    let all = messages.iter().flat_map(results);
    all.map(|(id, text, _)| (lines[&id].clone(), text)).collect()
}

/// A moment that differs from run to run.
fn moment(number: usize, count: usize, longest: Duration) -> Duration {
    let jitter = u64::from(
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().subsec_nanos()
            % 1000,
    );
    longest.mul_f64(number as f64 / count as f64) + Duration::from_micros(jitter * 10)
}

#[test]
fn killed_at_any_moment_nothing_is_lost_and_nothing_runs_twice() {
    let count = if soak() { 200 } else { 20 };
    let whole = Instant::now();
    let free = "--dangerously-skip-permissions";
    let case = new();
    case.run(&["-p", "go", free]).ok();
    case.check(&[], "", "without a kill");
    // A little more than the whole, so that some are killed at the end.
    let longest = whole.elapsed().mul_f64(1.5);
    spread(count, |number| {
        let case = new();
        let mut child = case.start(&["-p", "go", free]);
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut before = read_until(&mut out, "system");
        let after = moment(number, count, longest);
        std::thread::sleep(after);
        child.kill().unwrap();
        child.wait().unwrap();
        before.extend(rest(&mut out));
        let transcript = fs::read_to_string(case.transcript()).unwrap();
        let ran = case.run(&["-c", "-p", "go on", free]).ok();
        assert!(ran.stdout.contains("all done"), "{ran:?}");
        case.check(&before, &transcript, &format!("killed after {after:?}"));
        let kept = rebuild(&case.transcript()).unwrap().messages;
        let lost = fates(&kept).values().any(|text| text.contains(LOST));
        assert_eq!(ran.stdout.contains(LOST), lost, "what was interrupted is shown as such");
    });
}

/// The same while somebody is asked: the answer comes before the kill or after the restart.
#[test]
fn killed_while_somebody_is_asked_the_answer_still_counts() {
    let count = if soak() { 60 } else { 6 };
    spread(count, |number| {
        let case = new();
        let mut child = case.start(&["-p", "go", "--on-ask", "wait"]);
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut before = read_until(&mut out, "ask");
        let ask = before.last().unwrap()["ask"]["id"].as_str().unwrap().to_owned();
        let early = number % 2 == 0;
        if early {
            case.deck.run(&["asks", "approve", "latest", &ask]).ok();
            std::thread::sleep(moment(number, count, Duration::from_millis(120)));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        before.extend(rest(&mut out));
        let transcript = fs::read_to_string(case.transcript()).unwrap();
        if !early {
            assert_eq!(case.log(), Vec::<String>::new(), "nothing ran without an answer");
        }
        let mut child = case.start(&["-c", "-p", "go on", "--on-ask", "wait"]);
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let reading = std::thread::spawn(move || rest(&mut out));
        let deadline = Instant::now() + PATIENCE;
        while child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline, "it does not end: {:?}", case.log());
            let open = case.deck.run(&["asks", "list", "latest", "--json"]).ok().json();
            for ask in open.as_array().unwrap() {
                // It may have been settled by now: the next round shows.
                let id = ask["id"].as_str().unwrap_or_else(|| panic!("{ask}"));
                case.deck.run(&["asks", "approve", "latest", id]);
            }
        }
        let printed = reading.join().unwrap();
        assert_eq!(printed.last().unwrap()["subtype"], "success", "{printed:?}");
        case.check(&before, &transcript, &format!("number {number}"));
    });
}
