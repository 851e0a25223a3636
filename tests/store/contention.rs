//! Many processes on the same files at once: nothing lost, nothing twice, order kept.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::process::Child;
use std::thread;

use quarterdeck::protocol::ids::AgentName;
use quarterdeck::protocol::message::Message;
use quarterdeck::protocol::team::COLORS;

use crate::support::deck::{Deck, leftovers, team};

const WRITERS: usize = 8;

fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(|at| line(at) + "\n").collect()
}

fn all_end_well(children: Vec<Child>) {
    for child in children {
        let ended = child.wait_with_output().unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    }
}

#[test]
fn eight_senders_and_a_reader_share_one_inbox() {
    const EACH: usize = 500;
    let names: Vec<String> = (0..WRITERS).map(|writer| format!("w{writer}")).collect();
    let deck = Deck::with_team(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let senders: Vec<Child> = names
        .iter()
        .map(|name| {
            let input = lines(EACH, |at| format!("{name} {at}"));
            deck.start(&["send", "t", "team-lead", "-", "--lines", "--from", name], &input)
        })
        .collect();
    let (mut marked, mut rounds) = (0, 0);
    thread::scope(|scope| {
        let sending = scope.spawn(|| all_end_well(senders));
        while !sending.is_finished() {
            let read = deck.run(&["inbox", "t", "team-lead", "--unread", "--mark-read", "--json"]);
            marked += read.ok().json().as_array().unwrap().len();
            rounds += 1;
        }
        sending.join().unwrap();
    });
    assert!(rounds > 1, "the reader was never there at the same time");
    let inbox = deck.store().mail(&team()).read(&AgentName::lead()).unwrap();
    assert!(inbox.problems.is_empty());
    assert_eq!(inbox.messages.len(), WRITERS * EACH);
    let marked_there = inbox.messages.iter().filter(|message| message.read).count();
    assert_eq!(marked_there, marked, "exactly what was shown is marked");
    let ids: HashSet<_> = inbox.messages.iter().map(Message::id).collect();
    assert_eq!(ids.len(), WRITERS * EACH, "each message has an identity of its own");
    let mut next: BTreeMap<&str, usize> = BTreeMap::new();
    for message in &inbox.messages {
        let at = next.entry(message.from.as_str()).or_default();
        assert_eq!(message.text, format!("{} {at}", message.from), "order of one sender");
        *at += 1;
    }
    assert_eq!(leftovers(&deck.home()), Vec::<std::path::PathBuf>::new());
}

#[test]
fn eight_processes_add_members_to_one_roster() {
    const EACH: usize = 20;
    let deck = Deck::with_team(&[]);
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let deck = &deck;
            scope.spawn(move || {
                for at in 0..EACH {
                    // Half of the names are wanted by everybody.
                    let name =
                        if at % 2 == 0 { format!("m{writer}-{at}") } else { format!("same{at}") };
                    deck.run(&["team", "join", "t", &name]).ok();
                }
            });
        }
    });
    let roster = deck.store().rosters().team(&team()).unwrap();
    assert_eq!(roster.teammates().count(), WRITERS * EACH);
    let names: BTreeSet<&str> = roster.names().into_iter().collect();
    assert_eq!(names.len(), WRITERS * EACH + 1, "no name twice");
    assert!(names.contains("same1-8"), "the eighth who wanted it");
    for (member, color) in roster.teammates().zip(COLORS.iter().cycle()) {
        assert_eq!(member.color.as_deref(), Some(*color), "colours by order of joining");
    }
}

#[test]
fn eight_processes_create_tasks_in_one_list() {
    const EACH: usize = 100;
    let deck = Deck::with_team(&[]);
    let writers: Vec<Child> = (0..WRITERS)
        .map(|writer| {
            let input = lines(EACH, |at| format!("task {writer} {at}"));
            deck.start(&["task", "add", "t", "-", "--lines", "--json"], &input)
        })
        .collect();
    let mut acknowledged = BTreeMap::new();
    for writer in writers {
        let ended = writer.wait_with_output().unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        for line in String::from_utf8(ended.stdout).unwrap().lines() {
            let task: serde_json::Value = serde_json::from_str(line).unwrap();
            let id: u64 = task["id"].as_str().unwrap().parse().unwrap();
            let subject = task["subject"].as_str().unwrap().to_owned();
            assert_eq!(acknowledged.insert(id, subject), None, "id {id} was given twice");
        }
    }
    assert!(acknowledged.keys().copied().eq(1..=(WRITERS * EACH) as u64), "ids count up by one");
    let on_disk = deck.store().tasks(&team()).look(|tasks| {
        let entry = |task: &quarterdeck::protocol::task::Task| {
            (task.id.number().unwrap(), task.subject.clone())
        };
        tasks.iter().map(entry).collect::<BTreeMap<_, _>>()
    });
    assert_eq!(on_disk.unwrap(), acknowledged);
}

#[test]
fn eight_claimers_share_out_two_hundred_tasks() {
    const TASKS: usize = 200;
    let deck = Deck::with_team(&["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"]);
    let input = lines(TASKS, |at| format!("task {at}"));
    all_end_well(vec![deck.start(&["task", "add", "t", "-", "--lines"], &input)]);
    let won: Vec<(String, String)> = thread::scope(|scope| {
        let claimers: Vec<_> = (0..WRITERS)
            .map(|claimer| {
                let deck = &deck;
                scope.spawn(move || {
                    let name = format!("c{claimer}");
                    let mut won = Vec::new();
                    loop {
                        let ran = deck.run(&["task", "claim", "t", "--as", &name, "--json"]);
                        if ran.code != 0 {
                            assert_eq!(ran.json()["reason"], "no_ready_task", "{ran:?}");
                            return won;
                        }
                        let id = ran.json()["task"]["id"].as_str().unwrap().to_owned();
                        won.push((id, name.clone()));
                    }
                })
            })
            .collect();
        claimers.into_iter().flat_map(|claimer| claimer.join().unwrap()).collect()
    });
    assert_eq!(won.len(), TASKS, "as many claims were granted as there are tasks");
    let won: BTreeMap<String, String> = won.into_iter().collect();
    assert_eq!(won.len(), TASKS, "and no task was granted twice");
    let owners = deck.store().tasks(&team()).look(|tasks| {
        let entry = |task: &quarterdeck::protocol::task::Task| {
            (task.id.to_string(), task.owner().unwrap().to_string())
        };
        tasks.iter().map(entry).collect::<BTreeMap<_, _>>()
    });
    assert_eq!(owners.unwrap(), won);
}
