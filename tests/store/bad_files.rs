//! Files that are not what they should be: named, set aside before they are replaced, and never
//! in the way of the rest.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use quarterdeck::protocol::ids::AgentName;
use quarterdeck::protocol::json::{self, Json};
use quarterdeck::protocol::message::Message;
use quarterdeck::protocol::time::Stamp;
use quarterdeck::store::StoreError;
use quarterdeck::store::files::{self, Try};
use quarterdeck::store::mailbox::Inbox;

use crate::support::deck::{Deck, team};

fn message(text: &str) -> Message {
    Message::new(&AgentName::lead(), text, Stamp::from_millis(0))
}

fn inbox(deck: &Deck) -> Inbox {
    deck.store().mail(&team()).read(&AgentName::found("bob")).unwrap()
}

fn texts(inbox: &Inbox) -> Vec<&str> {
    inbox.messages.iter().map(|message| message.text.as_str()).collect()
}

/// What was set aside beside a file.
fn aside(path: &Path) -> Vec<PathBuf> {
    let name = format!("{}.broken-", path.file_name().unwrap().to_string_lossy());
    let entries = fs::read_dir(path.parent().unwrap()).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|p| p.file_name().unwrap().to_string_lossy().starts_with(&name)).collect()
}

/// The reader sees what is whole and is told the place; it moves nothing. The next writer sets
/// the broken file aside and goes on with what was whole.
#[test]
fn an_inbox_that_breaks_off_keeps_what_was_whole() {
    let whole = json::to_pretty(&vec![message("one"), message("two"), message("three")]);
    let torn_at = [0, 1, whole.find("two").unwrap(), whole.find("three").unwrap(), whole.len() - 1];
    for (at, kept) in torn_at.into_iter().zip([0, 0, 1, 2, 3]) {
        let deck = Deck::with_team(&["bob"]);
        let path = deck.inbox("bob");
        fs::write(&path, &whole[..at]).unwrap();
        let read = inbox(&deck);
        assert_eq!(texts(&read), ["one", "two", "three"][..kept], "torn at {at}");
        let problem = read.problems.first.last().expect("a problem").to_string();
        assert!(problem.contains("bob.json: broken: ") && problem.contains("line"), "{problem}");
        assert_eq!(aside(&path), Vec::<PathBuf>::new(), "a reader sets nothing aside");

        deck.run(&["send", "t", "bob", "four"]).ok();
        let read = inbox(&deck);
        assert!(read.problems.is_empty());
        assert_eq!(texts(&read), [&["one", "two", "three"][..kept], &["four"]].concat());
        let kept_aside = aside(&path);
        assert_eq!(kept_aside.len(), 1);
        assert_eq!(fs::read_to_string(&kept_aside[0]).unwrap(), whole[..at]);
    }
}

#[test]
fn whatever_stands_in_the_place_of_an_inbox_is_set_aside() {
    type Put<'a> = &'a dyn Fn(&Path);
    let huge = |path: &Path| File::create(path).unwrap().set_len(300 << 20).unwrap();
    let pipe = |path: &Path| {
        let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
        assert!(made.success());
    };
    let stand_ins: [(&str, Put<'_>); 6] = [
        ("a pipe", &pipe),
        ("not JSON", &|path| fs::write(path, "hello").unwrap()),
        ("an object", &|path| fs::write(path, "{\"a\": 1}").unwrap()),
        ("not text", &|path| fs::write(path, [b'[', 0xff, 0xfe, b']']).unwrap()),
        ("huge", &huge),
        ("a directory", &|path| fs::create_dir(path).unwrap()),
    ];
    for (what, put) in stand_ins {
        let deck = Deck::with_team(&["bob"]);
        let path = deck.inbox("bob");
        put(&path);
        deck.run(&["send", "t", "bob", "hi"]).ok();
        assert_eq!(texts(&inbox(&deck)), ["hi"], "{what}");
        assert_eq!(aside(&path).len(), 1, "{what}");
    }
}

#[test]
fn an_unreadable_inbox_is_set_aside_too() {
    let deck = Deck::with_team(&["bob"]);
    let path = deck.inbox("bob");
    deck.run(&["send", "t", "bob", "secret"]).ok();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    let readable = File::open(&path).is_ok(); // it is to the superuser
    deck.run(&["send", "t", "bob", "hi"]).ok();
    if readable {
        assert_eq!(texts(&inbox(&deck)), ["secret", "hi"]);
    } else {
        assert_eq!(texts(&inbox(&deck)), ["hi"]);
        assert_eq!(aside(&path).len(), 1);
    }
}

#[test]
fn one_malformed_message_does_not_hide_the_others() {
    let deck = Deck::with_team(&["bob"]);
    let path = deck.inbox("bob");
    let good = |text: &str| json::to_compact(&message(text));
    let odd = format!("[{}, 7, {{\"from\": 3}}, {}]", good("one"), good("two"));
    fs::write(&path, odd).unwrap();
    let read = inbox(&deck);
    assert_eq!(texts(&read), ["one", "two"]);
    let problems: Vec<String> =
        read.problems.first.iter().map(|problem| problem.what.clone()).collect();
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[0].starts_with("message 2 is malformed: "), "{problems:?}");
    assert!(problems[1].starts_with("message 3 is malformed: "), "{problems:?}");
    let ran = deck.run(&["inbox", "t", "bob", "--mark-read", "--json"]).ok();
    assert_eq!(ran.json().as_array().unwrap().len(), 2);
    assert!(ran.stderr.contains("message 2 is malformed"), "{}", ran.stderr);
    deck.run(&["send", "t", "bob", "three"]).ok();
    let read = inbox(&deck);
    assert_eq!(texts(&read), ["one", "two", "three"]);
    assert_eq!(read.messages.iter().map(|m| m.read).collect::<Vec<_>>(), [true, true, false]);
    assert_eq!(read.problems.total, 2, "they are still there, for whoever understands them");
    assert_eq!(aside(&path), Vec::<PathBuf>::new());
}

#[test]
fn a_broken_task_is_named_and_the_others_are_there() {
    let deck = Deck::with_team(&[]);
    for subject in ["one", "two", "three"] {
        deck.run(&["task", "add", "t", subject]).ok();
    }
    let contents =
        ["", "{\"id\": \"2\"", "[]", "{\"id\": \"2\", \"status\": 5}", "{\"id\": \"9\"}"];
    for content in contents {
        fs::write(deck.tasks().join("2.json"), content).unwrap();
        let ran = deck.run(&["task", "list", "t"]).ok();
        assert_eq!(ran.stdout, "#1 [pending] one\n#3 [pending] three\n", "{content}");
        assert!(ran.stderr.contains("2.json: "), "{}", ran.stderr);
        let ran = deck.run(&["task", "update", "t", "2", "--status", "completed", "--json"]);
        assert_eq!((ran.code, &ran.json()["reason"]), (1, &"broken_file".into()), "{content}");
        assert_eq!(fs::read_to_string(deck.tasks().join("2.json")).unwrap(), content);
    }
    // Its id is not free for others, broken or set aside.
    fs::rename(deck.tasks().join("3.json"), deck.tasks().join("3.json.broken-1")).unwrap();
    let ran = deck.run(&["task", "add", "t", "next", "--json"]).ok();
    assert_eq!(ran.json()["id"], "4");
}

#[test]
fn a_broken_roster_is_left_alone_and_named() {
    let deck = Deck::with_team(&["bob"]);
    deck.run(&["team", "create", "other"]).ok();
    fs::write(deck.config(), "{\n  \"name\": \"t\",\n  \"members\": [").unwrap();
    for args in
        [&["team", "join", "t", "x"][..], &["team", "show", "t"], &["send", "t", "bob", "x"]]
    {
        let ran = deck.run(args);
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.stderr.contains("config.json is broken: "), "{ran:?}");
        assert!(ran.stderr.contains("line 3"), "{ran:?}");
    }
    let ran = deck.run(&["team", "list", "--json"]).ok();
    assert_eq!(ran.json().as_array().unwrap().len(), 1, "the other team is there");
    assert!(ran.stderr.contains("config.json"), "{}", ran.stderr);
    assert_eq!(aside(&deck.config()), Vec::<PathBuf>::new());
    deck.run(&["team", "delete", "t", "--force"]).ok();
}

/// The classic program truncates rosters and tasks in place and locks neither. Half a file that
/// was touched a moment ago is looked at again; one that nobody has touched for long is believed.
#[test]
fn a_file_that_is_being_written_is_looked_at_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.json");
    let read = || files::read_parsed(&path, 1000, Json::parse);
    let mut looks = 0;
    let outcome = files::patiently(|round| {
        looks += 1;
        assert_eq!(round, Try::Early);
        // At the first look only half of it is there.
        fs::write(&path, &"{\"a\": 1}"[..if looks == 1 { 4 } else { 8 }]).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        Json::parse(&text).map_err(|error| StoreError::broken(&path, error))
    });
    assert_eq!((outcome.unwrap().compact().as_str(), looks), ("{\"a\":1}", 2));

    fs::write(&path, "{\"a\"").unwrap();
    let since = Instant::now();
    assert!(read().is_err());
    // The clock of the file system may be a little behind.
    assert!(since.elapsed() >= files::HALF_WRITTEN * 3 / 4, "it had its time");
    let mut rounds = Vec::new();
    let outcome = files::patiently(|round| {
        rounds.push(round);
        read()
    });
    assert!(matches!(outcome, Err(StoreError::Broken { .. })));
    assert_eq!(rounds, [Try::Early, Try::Last], "nobody is writing it any more");
}
