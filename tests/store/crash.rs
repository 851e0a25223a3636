//! `kill -9` at random moments: what was acknowledged is there, everything parses, nothing stays
//! locked, nothing piles up.

use std::collections::BTreeSet;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader, Read};
use std::process::Child;
use std::time::{Duration, Instant};

use quarterdeck::protocol::ids::{AgentName, TaskId};
use quarterdeck::protocol::json::Json;

use crate::support::deck::{Deck, leftovers, team};
use crate::support::{files_below, say, soak};

/// Dice whose throws can be repeated: a failure names the seed.
struct Dice(u64);

impl Dice {
    fn new() -> Self {
        let given = std::env::var("QUARTERDECK_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or_else(|| RandomState::new().hash_one(0));
        say(&format!("QUARTERDECK_SEED={seed}"));
        Self(seed | 1)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Runs a command that reads lines, kills it after a while, and returns what it acknowledged.
fn killed(deck: &Deck, args: &[&str], input: &str, dice: &mut Dice) -> Vec<String> {
    let mut child = deck.start(args, input);
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut acknowledged = Vec::new();
    // Some die early, some in the middle of their work.
    for _ in 0..dice.below(12) {
        match output.next() {
            Some(line) => acknowledged.push(line.unwrap()),
            None => break,
        }
    }
    kill_within(&mut child, 4000, dice);
    // What it had said before it died. A torn last line was not an acknowledgement.
    acknowledged.extend(output.map_while(Result::ok));
    acknowledged.retain(|line| serde_json::from_str::<serde_json::Value>(line).is_ok());
    acknowledged
}

/// Ends a process after so many microseconds at the most, if it has not ended by itself.
fn kill_within(child: &mut Child, micros: u64, dice: &mut Dice) {
    let until = Instant::now() + Duration::from_micros(dice.below(micros));
    while Instant::now() < until && child.try_wait().unwrap().is_none() {
        std::hint::spin_loop();
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

fn everything_parses(deck: &Deck) {
    for path in files_below(&deck.home()) {
        let name = path.to_string_lossy().into_owned();
        if name.ends_with(".json") {
            let text = fs::read_to_string(&path).unwrap();
            Json::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
        }
        assert!(!name.contains(".broken-"), "{name} was set aside");
    }
}

#[test]
fn nothing_acknowledged_is_lost_whenever_a_writer_is_killed() {
    let rounds = if soak() { 300 } else { 30 };
    let deck = Deck::with_team(&["alice", "bob"]);
    let mut dice = Dice::new();
    let (mut texts, mut tasks) = (BTreeSet::new(), BTreeSet::new());
    let (mut caught, mut slowest) = (0, Duration::ZERO);
    for round in 0..rounds {
        let input: String = (0..400).map(|at| format!("{round}/{at}\n")).collect();
        if round % 4 == 1 {
            // Read marks and deletions, in the middle of which files of several tasks change.
            let mut reader = deck.start(&["inbox", "t", "bob", "--mark-read"], "");
            kill_within(&mut reader, 12_000, &mut dice);
            let victim = deck.run(&["task", "add", "t", "x", "--json"]).ok().json();
            let victim = victim["id"].as_str().unwrap().to_owned();
            for _ in 0..3 {
                deck.run(&["task", "add", "t", "y", "--blocked-by", &victim]).ok();
            }
            let mut deleter = deck.start(&["task", "delete", "t", &victim], "");
            kill_within(&mut deleter, 12_000, &mut dice);
        } else if round % 2 == 0 {
            let args = ["send", "t", "bob", "-", "--lines", "--from", "alice", "--json"];
            for line in killed(&deck, &args, &input, &mut dice) {
                let sent: serde_json::Value = serde_json::from_str(&line).unwrap();
                texts.insert(sent["message"]["text"].as_str().unwrap().to_owned());
            }
        } else {
            // With a dependency, so that two files change together.
            let first = deck.run(&["task", "add", "t", "root", "--json"]).ok().json();
            let root = first["id"].as_str().unwrap().to_owned();
            let args = ["task", "add", "t", "-", "--lines", "--json", "--blocked-by", &root];
            for line in killed(&deck, &args, &input, &mut dice) {
                let added: serde_json::Value = serde_json::from_str(&line).unwrap();
                let id = added["id"].as_str().unwrap().to_owned();
                assert!(tasks.insert((id, root.clone())), "an id was given twice: {line}");
            }
        }
        everything_parses(&deck);
        caught += usize::from(!leftovers(&deck.home()).is_empty());
        // Whoever comes next is not held up, and clears up behind the dead one.
        let since = Instant::now();
        let after = format!("after {round}");
        deck.run(&["send", "t", "bob", &after]).ok();
        texts.insert(after);
        deck.run(&["task", "add", "t", "after"]).ok();
        slowest = slowest.max(since.elapsed());
        assert!(slowest < Duration::from_secs(8), "held up for {slowest:?} in round {round}");
        assert_eq!(leftovers(&deck.home()), Vec::<std::path::PathBuf>::new(), "round {round}");
    }
    everything_parses(&deck);
    let inbox = deck.store().mail(&team()).read(&AgentName::found("bob")).unwrap();
    assert!(inbox.problems.is_empty());
    let there: BTreeSet<String> = inbox.messages.iter().map(|m| m.text.clone()).collect();
    assert_eq!(there.len(), inbox.messages.len(), "no message twice");
    let lost: Vec<_> = texts.difference(&there).collect();
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
    let list = deck.store();
    let list = list.tasks(&team());
    list.look(|all| {
        for (id, root) in &tasks {
            let task = all.get(&TaskId::found(id)).expect("an acknowledged task");
            assert!(task.blocked_by.contains(&TaskId::found(root)));
        }
        for task in all.iter() {
            let other = |id: &TaskId| all.get(id).expect("a task that is named");
            assert!(task.blocked_by.iter().all(|id| other(id).blocks.contains(&task.id)));
            assert!(task.blocks.iter().all(|id| other(id).blocked_by.contains(&task.id)));
        }
    })
    .unwrap();
    assert_eq!(list.problems(), []);
    assert!(caught > 0, "nobody was killed in the middle of anything");
    say(&format!(
        "{rounds} rounds: {} messages and {} tasks acknowledged, {caught} died with a lock, \
         slowest next writer {slowest:?}",
        texts.len(),
        tasks.len()
    ));
}

#[test]
fn a_roster_survives_writers_that_are_killed() {
    let rounds = if soak() { 100 } else { 15 };
    let deck = Deck::with_team(&[]);
    let mut dice = Dice::new();
    let mut joined = BTreeSet::new();
    for round in 0..rounds {
        let name = format!("m{round}");
        let mut child = deck.start(&["team", "join", "t", &name], "");
        let mut said = child.stdout.take().unwrap();
        kill_within(&mut child, 12_000, &mut dice);
        let mut line = String::new();
        said.read_to_string(&mut line).unwrap();
        if line.contains("joined") {
            joined.insert(name);
        }
        everything_parses(&deck);
        let after = format!("after{round}");
        deck.run(&["team", "join", "t", &after]).ok();
        joined.insert(after);
        assert_eq!(leftovers(&deck.home()), Vec::<std::path::PathBuf>::new());
    }
    let roster = deck.store().rosters().team(&team()).unwrap();
    let there: BTreeSet<String> = roster.teammates().map(|m| m.name.to_string()).collect();
    let lost: Vec<_> = joined.difference(&there).collect();
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
}
