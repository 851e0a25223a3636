//! The same files, written at the same time through npm's proper-lockfile: nothing lost on
//! either side.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use quarterdeck::protocol::ids::AgentName;

use crate::support::deck::{Deck, leftovers, team};
use crate::support::say;

/// Where `.ci/run` installs the package. Without it these tests say that they were left out.
fn modules() -> Option<PathBuf> {
    let modules = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/node/node_modules");
    let node = Command::new("node").arg("--version").stdout(Stdio::null()).status();
    let there =
        node.is_ok_and(|status| status.success()) && modules.join("proper-lockfile").is_dir();
    if !there {
        say("left out: needs node, and proper-lockfile in target/node (see .ci/run)");
    }
    there.then_some(modules)
}

fn node(modules: &Path, kind: &str, target: &Path, name: &str, count: usize) -> Child {
    Command::new("node")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/store/node.js"))
        .args([modules, Path::new(kind), target, Path::new(name), Path::new(&count.to_string())])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// What a writer acknowledged, line by line.
fn said(child: Child) -> Vec<String> {
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    String::from_utf8(ended.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn no_message_is_lost_between_node_and_us() {
    const EACH: usize = 150;
    let Some(modules) = modules() else { return };
    let ours: Vec<String> = (0..4).map(|writer| format!("w{writer}")).collect();
    let deck = Deck::with_team(&ours.iter().map(String::as_str).collect::<Vec<_>>());
    deck.run(&["send", "t", "team-lead", "first"]).ok();
    let inbox = deck.inbox("team-lead");
    let mut writers: Vec<Child> =
        (0..4).map(|n| node(&modules, "inbox", &inbox, &format!("n{n}"), EACH)).collect();
    for name in &ours {
        let input: String = (0..EACH).map(|at| format!("{name} {at}\n")).collect();
        let args = ["send", "t", "team-lead", "-", "--lines", "--from", name];
        writers.push(deck.start(&args, &input));
    }
    let mut marked = 0;
    let count: usize = thread::scope(|scope| {
        let waiting: Vec<_> =
            writers.into_iter().map(|writer| scope.spawn(|| said(writer).len())).collect();
        while !waiting.iter().all(thread::ScopedJoinHandle::is_finished) {
            let read = deck.run(&["inbox", "t", "team-lead", "--unread", "--mark-read", "--json"]);
            marked += read.ok().json().as_array().unwrap().len();
        }
        waiting.into_iter().map(|writer| writer.join().unwrap()).sum()
    });
    assert_eq!(count, 8 * EACH, "everybody was acknowledged");
    assert!(marked > 0, "the reader was never there at the same time");
    let inbox = deck.store().mail(&team()).read(&AgentName::lead()).unwrap();
    assert!(inbox.problems.is_empty());
    let mut next: BTreeMap<String, usize> = BTreeMap::new();
    for message in inbox.messages.iter().skip(1) {
        let at = next.entry(message.from.to_string()).or_default();
        assert_eq!(message.text, format!("{} {at}", message.from), "order of one sender");
        *at += 1;
    }
    assert_eq!(next.len(), 8);
    assert!(next.values().all(|count| *count == EACH), "{next:?}");
    assert_eq!(leftovers(&deck.home()), Vec::<PathBuf>::new());
}

#[test]
fn no_member_is_lost_between_node_and_us() {
    const EACH: usize = 20;
    let Some(modules) = modules() else { return };
    let deck = Deck::with_team(&[]);
    let writers: Vec<Child> =
        (0..4).map(|n| node(&modules, "roster", &deck.config(), &format!("n{n}"), EACH)).collect();
    thread::scope(|scope| {
        for writer in 0..4 {
            let deck = &deck;
            scope.spawn(move || {
                for at in 0..EACH {
                    deck.run(&["team", "join", "t", &format!("w{writer}-{at}")]).ok();
                }
            });
        }
        writers.into_iter().for_each(|writer| assert_eq!(said(writer).len(), EACH));
    });
    let roster = deck.store().rosters().team(&team()).unwrap();
    let names: BTreeSet<&str> = roster.teammates().map(|member| member.name.as_str()).collect();
    assert_eq!(names.len(), 8 * EACH);
}

#[test]
fn no_task_id_is_given_twice_between_node_and_us() {
    const EACH: usize = 50;
    let Some(modules) = modules() else { return };
    let deck = Deck::with_team(&[]);
    let mut writers: Vec<Child> =
        (0..3).map(|n| node(&modules, "tasks", &deck.tasks(), &format!("n{n}"), EACH)).collect();
    let input = "x\n".repeat(EACH);
    writers.extend((0..3).map(|_| deck.start(&["task", "add", "t", "-", "--lines"], &input)));
    let count: usize = thread::scope(|scope| {
        let waiting: Vec<_> =
            writers.into_iter().map(|writer| scope.spawn(|| said(writer).len())).collect();
        waiting.into_iter().map(|writer| writer.join().unwrap()).sum()
    });
    assert_eq!(count, 6 * EACH);
    let ids = deck
        .store()
        .tasks(&team())
        .look(|tasks| tasks.iter().map(|task| task.id.number().unwrap()).collect::<Vec<_>>());
    assert!(ids.unwrap().into_iter().eq(1..=(6 * EACH) as u64), "each write has a task of its own");
}

#[test]
fn no_task_is_claimed_twice_between_node_and_us() {
    const TASKS: usize = 200;
    let Some(modules) = modules() else { return };
    let ours = ["w0", "w1", "w2", "w3"];
    let deck = Deck::with_team(&ours);
    said(deck.start(&["task", "add", "t", "-", "--lines"], &"x\n".repeat(TASKS)));
    let theirs: Vec<Child> =
        (0..4).map(|n| node(&modules, "claims", &deck.tasks(), &format!("n{n}"), 0)).collect();
    let won: Vec<(String, String)> = thread::scope(|scope| {
        let ours: Vec<_> = ours
            .iter()
            .map(|name| {
                let deck = &deck;
                scope.spawn(move || {
                    let mut won = Vec::new();
                    loop {
                        let ran = deck.run(&["task", "claim", "t", "--as", name, "--json"]);
                        if ran.code != 0 {
                            assert_eq!(ran.json()["reason"], "no_ready_task", "{ran:?}");
                            return won;
                        }
                        let id = ran.json()["task"]["id"].as_str().unwrap().to_owned();
                        won.push((id, (*name).to_owned()));
                    }
                })
            })
            .collect();
        let theirs = theirs
            .into_iter()
            .enumerate()
            .flat_map(|(n, child)| said(child).into_iter().map(move |id| (id, format!("n{n}"))));
        let theirs: Vec<(String, String)> = theirs.collect();
        ours.into_iter().flat_map(|claimer| claimer.join().unwrap()).chain(theirs).collect()
    });
    assert_eq!(won.len(), TASKS, "as many claims were granted as there are tasks");
    let won: BTreeMap<String, String> = won.into_iter().collect();
    assert_eq!(won.len(), TASKS, "and no task was granted twice");
    assert!(won.values().any(|owner| owner.starts_with('n')), "node had its share");
    let owners = deck.store().tasks(&team()).look(|tasks| {
        let entry = |task: &quarterdeck::protocol::task::Task| {
            (task.id.to_string(), task.owner().unwrap().to_string())
        };
        tasks.iter().map(entry).collect::<BTreeMap<_, _>>()
    });
    assert_eq!(owners.unwrap(), won);
}
