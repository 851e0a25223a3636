//! `inbox --follow`: messages as they arrive, each once.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::deck::Deck;

struct Follower {
    child: Child,
    lines: Receiver<String>,
}

impl Follower {
    fn start(deck: &Deck, args: &[&str]) -> Self {
        let mut child = deck.start(args, "");
        let output: Lines<BufReader<ChildStdout>> =
            BufReader::new(child.stdout.take().unwrap()).lines();
        let (tell, lines) = mpsc::channel();
        thread::spawn(move || output.map_while(Result::ok).try_for_each(|line| tell.send(line)));
        Self { child, lines }
    }

    #[track_caller]
    fn next(&self) -> String {
        let line = self.lines.recv_timeout(Duration::from_secs(10)).expect("a message");
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        value["text"].as_str().unwrap().to_owned()
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn messages_are_printed_as_they_arrive() {
    let deck = Deck::with_team(&["bob"]);
    deck.run(&["send", "t", "bob", "before"]).ok();
    let follower = Follower::start(&deck, &["inbox", "t", "bob", "--follow", "--json"]);
    assert_eq!(follower.next(), "before");
    for at in 0..20 {
        deck.run(&["send", "t", "bob", &format!("message {at}")]).ok();
        deck.run(&["send", "t", "team-lead", "not for bob", "--from", "bob"]).ok();
    }
    for at in 0..20 {
        assert_eq!(follower.next(), format!("message {at}"));
    }
}

#[test]
fn what_was_printed_is_marked_and_not_printed_again() {
    let deck = Deck::with_team(&["bob"]);
    let args = ["inbox", "t", "bob", "--follow", "--unread", "--mark-read", "--json"];
    deck.run(&["send", "t", "bob", "one"]).ok();
    let follower = Follower::start(&deck, &args);
    assert_eq!(follower.next(), "one");
    deck.run(&["send", "t", "bob", "two"]).ok();
    assert_eq!(follower.next(), "two");
    deck.run(&["send", "t", "bob", "three"]).ok();
    assert_eq!(follower.next(), "three");
    drop(follower);
    // Printed before marked: the last one may still be unread, the earlier ones cannot be.
    let left = deck.run(&["inbox", "t", "bob", "--unread", "--json"]).ok().json();
    let left: Vec<&str> =
        left.as_array().unwrap().iter().map(|m| m["text"].as_str().unwrap()).collect();
    assert!(left.is_empty() || left == ["three"], "{left:?}");
}

/// Other programs may send the same words twice at the same time.
#[test]
fn twins_are_both_printed() {
    let deck = Deck::with_team(&["bob"]);
    deck.run(&["send", "t", "bob", "first"]).ok();
    let follower = Follower::start(&deck, &["inbox", "t", "bob", "--follow", "--json"]);
    assert_eq!(follower.next(), "first");
    let twin = r#"{"from": "x", "text": "twin", "timestamp": "t", "read": false}"#;
    for count in [1, 3] {
        let all = vec![twin; count].join(", ");
        let temporary = deck.inbox("bob").with_extension("new");
        std::fs::write(&temporary, format!("[{all}]")).unwrap();
        std::fs::rename(&temporary, deck.inbox("bob")).unwrap();
        let new = if count == 1 { 1 } else { 2 };
        (0..new).for_each(|_| assert_eq!(follower.next(), "twin"));
    }
}

#[test]
fn following_ends_with_the_team() {
    let deck = Deck::with_team(&["bob"]);
    deck.run(&["send", "t", "bob", "one"]).ok();
    let mut follower = Follower::start(&deck, &["inbox", "t", "bob", "--follow", "--json"]);
    assert_eq!(follower.next(), "one");
    deck.run(&["team", "delete", "t", "--force"]).ok();
    let end = Instant::now() + Duration::from_secs(10);
    let status = loop {
        if let Some(status) = follower.child.try_wait().unwrap() {
            break status;
        }
        assert!(Instant::now() < end, "it goes on following");
        thread::yield_now();
    };
    assert_eq!(status.code(), Some(1));
}
