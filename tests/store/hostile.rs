//! Files and programs that do what nobody should: nothing is lost, nothing half happens.

use std::collections::HashMap;
use std::fs;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use quarterdeck::protocol::ids::{AgentName, TaskId};
use quarterdeck::store::StoreError;
use quarterdeck::store::roster::Deletion;
use quarterdeck::store::tasks::{Load, NewTask, TaskPatch};

use crate::support::deck::{Deck, team};

fn texts(deck: &Deck) -> Vec<String> {
    let inbox = deck.store().mail(&team()).read(&AgentName::found("bob")).unwrap();
    inbox.messages.into_iter().map(|message| message.text).collect()
}

/// Appending looks at both ends of an inbox only. What breaks in the middle must not take what
/// stands behind it along.
#[test]
fn an_inbox_broken_in_the_middle_keeps_both_ends() {
    for (was, is) in [("\"two\"", b"two".as_slice()), ("two", b"tw\xff"), ("\"two\",", b"\"two\"")]
    {
        let deck = Deck::with_team(&["bob"]);
        for text in ["one", "two", "three"] {
            deck.run(&["send", "t", "bob", text]).ok();
        }
        let bytes = fs::read(deck.inbox("bob")).unwrap();
        let at = bytes.windows(was.len()).position(|part| part == was.as_bytes()).unwrap();
        let broken = [&bytes[..at], is, &bytes[at + was.len()..]].concat();
        fs::write(deck.inbox("bob"), broken).unwrap();
        deck.run(&["send", "t", "bob", "four"]).ok();
        let kept: Vec<String> = texts(&deck).into_iter().filter(|t| !t.starts_with("tw")).collect();
        assert_eq!(kept, ["one", "three", "four"], "after {was}");
        deck.run(&["inbox", "t", "bob", "--mark-read"]).ok();
        let kept: Vec<String> = texts(&deck).into_iter().filter(|t| !t.starts_with("tw")).collect();
        assert_eq!(kept, ["one", "three", "four"], "and after marking");
    }
}

#[test]
fn the_same_words_of_many_processes_are_many_messages() {
    let deck = Deck::with_team(&["bob"]);
    let words = "ping\n".repeat(100);
    let senders: Vec<Child> =
        (0..4).map(|_| deck.start(&["send", "t", "bob", "-", "--lines"], &words)).collect();
    for sender in senders {
        assert!(sender.wait_with_output().unwrap().status.success());
    }
    let shown = deck.run(&["inbox", "t", "bob", "--json"]).ok().json();
    assert_eq!(shown.as_array().unwrap().len(), 400);
    let inbox = deck.store().mail(&team()).read(&AgentName::found("bob")).unwrap();
    let mut ids: HashMap<String, usize> = HashMap::new();
    for message in &inbox.messages {
        *ids.entry(message.id().to_string()).or_default() += 1;
    }
    assert_eq!(ids.len(), 400, "each with an identity of its own");
}

/// While we wait for its lock, another program gives the task to somebody.
#[test]
fn a_claim_looks_again_when_it_has_the_lock() {
    let deck = Deck::with_team(&["alice", "bob"]);
    deck.run(&["task", "add", "t", "one"]).ok();
    let path = deck.tasks().join("1.json");
    let lock = deck.tasks().join("1.json.lock");
    let record = deck.home().join("quarterdeck/locks/tasks~t");
    fs::create_dir(&lock).unwrap();
    thread::scope(|scope| {
        let claiming = scope.spawn(|| deck.run(&["task", "claim", "t", "--as", "alice", "--json"]));
        let end = Instant::now() + Duration::from_secs(10);
        // Inside the domain, waiting for our lock: nobody else can be.
        while fs::File::open(&record).is_ok_and(|record| record.try_lock().is_ok()) {
            assert!(Instant::now() < end && !claiming.is_finished(), "it never waited");
            thread::yield_now();
        }
        let theirs = fs::read_to_string(&path).unwrap().replace(
            "\"status\": \"pending\"",
            "\"owner\": \"bob\",\n  \"status\": \"in_progress\"",
        );
        fs::write(&path, theirs).unwrap();
        fs::remove_dir(&lock).unwrap();
        let ran = claiming.join().unwrap();
        assert_eq!((ran.code, &ran.json()["reason"]), (1, &"no_ready_task".into()), "{ran:?}");
    });
    let one = deck.store().tasks(&team()).get(&TaskId::from(1)).unwrap().unwrap();
    assert_eq!(one.owner(), Some(&AgentName::found("bob")));
}

#[test]
fn a_blocker_that_cannot_be_read_still_blocks() {
    let deck = Deck::with_team(&["bob"]);
    deck.run(&["task", "add", "t", "one"]).ok();
    deck.run(&["task", "add", "t", "two", "--blocked-by", "1"]).ok();
    fs::write(deck.tasks().join("1.json"), "").unwrap();
    let ran = deck.run(&["task", "claim", "t", "2", "--as", "bob", "--json"]);
    assert_eq!((ran.code, &ran.json()["reason"]), (1, &"blocked".into()));
    let ran = deck.run(&["task", "add", "t", "three", "--blocked-by", "1", "--json"]);
    assert_eq!((ran.code, &ran.json()["reason"]), (1, &"broken_file".into()));
}

#[test]
fn many_broken_files_are_waited_for_together() {
    let deck = Deck::with_team(&["bob"]);
    deck.run(&["task", "add", "t", "one"]).ok();
    for id in 100..200 {
        fs::write(deck.tasks().join(format!("{id}.json")), "").unwrap();
    }
    let since = Instant::now();
    let ran = deck.run(&["task", "claim", "t", "--as", "bob"]).ok();
    assert_eq!(ran.stdout, "bob claimed #1: one\n");
    // One after the other would be twenty seconds.
    assert!(since.elapsed() < Duration::from_secs(10), "{:?}", since.elapsed());
}

#[test]
fn ids_run_out_without_a_panic_and_a_spoilt_mark_is_set_aside() {
    let deck = Deck::with_team(&[]);
    for subject in ["one", "two", "three"] {
        deck.run(&["task", "add", "t", subject]).ok();
    }
    deck.run(&["task", "delete", "t", "3"]).ok();
    deck.run(&["task", "update", "t", "2", "--add-blocked-by", "1"]).ok();
    let mark = deck.tasks().join(".highwatermark");
    fs::write(&mark, "").unwrap();
    deck.run(&["task", "add", "t", "next"]).ok();
    assert!(!mark.exists(), "set aside");
    fs::write(deck.tasks().join(format!("{}.json", u64::MAX)), "{}").unwrap();
    let ran = deck.run(&["task", "add", "t", "one too many", "--json"]);
    assert_eq!((ran.code, &ran.json()["reason"]), (1, &"no_more_ids".into()));
}

/// A change that needs a lock it does not get has not half happened.
#[test]
fn what_is_refused_has_not_half_happened() {
    let deck = Deck::with_team(&["bob"]);
    let store = deck.store().with_patience(Duration::from_millis(50));
    let list = store.tasks(&team());
    let one = list.create(&NewTask { subject: "one".into(), ..NewTask::default() }).unwrap().id;
    let two = list.create(&NewTask { subject: "two".into(), ..NewTask::default() }).unwrap().id;
    let before = list.look(Clone::clone).unwrap();
    fs::create_dir(deck.tasks().join("1.json.lock")).unwrap();
    let new = NewTask { subject: "x".into(), blocked_by: vec![one.clone()], ..NewTask::default() };
    assert!(matches!(list.create(&new), Err(StoreError::Lock(_))));
    let patch = TaskPatch { add_blocked_by: vec![one.clone()], ..TaskPatch::default() };
    assert!(matches!(list.update(&two, &patch), Err(StoreError::Lock(_))));
    assert_eq!(list.look(Clone::clone).unwrap(), before);
    assert!(list.claim(&one, &AgentName::found("bob"), Load::AnyNumber).is_err());
}

#[test]
fn a_message_to_all_reaches_whom_it_can_and_says_whom_not() {
    let deck = Deck::with_team(&["a", "b", "c"]);
    let store = deck.store().with_patience(Duration::from_millis(50));
    fs::create_dir(format!("{}.lock", deck.inbox("b").display())).unwrap();
    let at = quarterdeck::store::mailbox::stamp();
    let message = quarterdeck::protocol::message::Message::new(&AgentName::lead(), "hello", at);
    let reached = store.mail(&team()).broadcast(&message).unwrap();
    assert_eq!(reached.by, ["a", "c"].map(AgentName::found));
    assert_eq!(reached.failed.len(), 1);
    assert_eq!(reached.failed[0].0, AgentName::found("b"));
}

#[test]
fn a_deleted_team_stays_deleted() {
    let deck = Deck::with_team(&["bob"]);
    let store = deck.store();
    let list = store.tasks(&team());
    store.rosters().delete(&team(), Deletion::Forced).unwrap();
    let new = NewTask { subject: "late".into(), ..NewTask::default() };
    assert!(matches!(list.create(&new), Err(StoreError::NoList)));
    let late = deck.run(&["send", "t", "bob", "late"]);
    assert_eq!(late.code, 1, "{late:?}");
    assert!(!deck.tasks().exists() && !deck.home().join("teams/t").exists());
}

#[test]
fn odd_entries_do_not_hide_the_rest() {
    let deck = Deck::with_team(&["bob"]);
    let roster = fs::read_to_string(deck.config()).unwrap();
    let odd = roster.replacen("\"members\": [", "\"members\": [\n    {\"color\": 7},", 1);
    fs::write(deck.config(), odd).unwrap();
    deck.run(&["send", "t", "bob", "hi"]).ok();
    deck.run(&["team", "join", "t", "carol"]).ok();
    let kept = deck.run(&["team", "show", "t", "--json"]).ok().json();
    assert_eq!(kept["members"][0]["color"], 7, "and it is still there");
    fs::write(
        deck.tasks().join("1.json"),
        r#"{"id":1,"id":"1","subject":null,"status":"cancelled"}"#,
    )
    .unwrap();
    let list = deck.run(&["task", "list", "t"]).ok();
    assert_eq!((list.stdout.as_str(), list.stderr.as_str()), ("#1 [unknown] \n", ""));
    let mail = r#"[{"from":"x","text":"odd","timestamp":null,"read":null}]"#;
    fs::write(deck.inbox("bob"), mail).unwrap();
    assert_eq!(texts(&deck), ["odd"]);
}
