//! One promise of the command line each.

use std::fs;
use std::process::Stdio;

use crate::support::deck::Deck;

#[test]
fn without_arguments_it_says_what_it_is() {
    let deck = Deck::new();
    let ran = deck.run(&[]).ok();
    assert!(ran.stdout.contains("Usage: quarterdeck"), "{}", ran.stdout);
    assert!(!deck.home().exists(), "asking for help makes nothing");
}

#[test]
fn home_can_be_given_anywhere() {
    let deck = Deck::new();
    let other = deck.home().join("other");
    let other = other.to_str().unwrap();
    deck.run(&["--home", other, "team", "create", "one"]).ok();
    deck.run(&["team", "create", "two", "--home", other]).ok();
    let ran = deck.run(&["team", "list", "--json", "--home", other]).ok();
    assert_eq!(ran.json().as_array().unwrap().len(), 2);
    assert!(!deck.home().join("teams").exists(), "and nowhere else");
}

#[test]
fn json_is_one_value_also_when_the_answer_is_no() {
    let deck = Deck::with_team(&["bob"]);
    for args in [
        &["team", "list"][..],
        &["team", "show", "t"],
        &["task", "add", "t", "x"],
        &["task", "list", "t"],
        &["task", "show", "t", "1"],
        &["task", "dag", "t"],
        &["task", "update", "t", "1", "--subject", "y"],
        &["task", "claim", "t", "1", "--as", "bob"],
        &["send", "t", "bob", "hi"],
        &["send", "t", "*", "hi"],
        &["inbox", "t", "bob"],
        &["task", "delete", "t", "1"],
        &["team", "leave", "t", "bob"],
        &["team", "delete", "t"],
    ] {
        let ran = deck.run(&[args, &["--json"]].concat()).ok();
        ran.json();
        assert_eq!(ran.stdout.lines().count(), 1, "{args:?}");
        assert_eq!(ran.stderr, "", "{args:?}");
    }
    let ran = deck.run(&["team", "show", "t", "--json"]);
    assert_eq!(ran.code, 1);
    assert_eq!(ran.json()["success"], false);
    assert_eq!(ran.json()["reason"], "team_not_found");
    assert!(ran.stderr.contains("there is no team `t`"), "{}", ran.stderr);
    let ran = deck.run(&["team", "create", "a b", "--json"]);
    assert_eq!((ran.code, &ran.json()["reason"]), (2, &"bad_input".into()));
}

#[test]
fn text_comes_from_standard_input() {
    let deck = Deck::with_team(&["bob"]);
    let text = "two\nlines, and \u{1b}[31mcolour\u{1b}[0m\n";
    let sent = deck.start(&["send", "t", "bob", "-"], text).wait_with_output().unwrap();
    assert!(sent.status.success());
    let ran = deck.run(&["inbox", "t", "bob", "--json"]).ok();
    assert_eq!(ran.json()[0]["text"], text.trim_end(), "kept as it is");
    let ran = deck.run(&["inbox", "t", "bob"]).ok();
    assert!(!ran.stdout.contains('\u{1b}'), "but not shown as it is: {:?}", ran.stdout);
    assert!(ran.stdout.contains("  lines, and colour\n"), "{:?}", ran.stdout);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let deck = Deck::with_team(&[]);
    let input = "x\n".repeat(2000);
    let mut child = deck.start(&["task", "add", "t", "-", "--lines"], &input);
    drop(child.stdout.take()); // nobody listens
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success());
    assert_eq!(String::from_utf8_lossy(&ended.stderr), "");
}

#[test]
fn the_log_goes_to_a_file_and_nowhere_else() {
    let deck = Deck::with_team(&["bob"]);
    fs::write(deck.inbox("bob"), "broken").unwrap();
    let ran = deck.run(&["send", "t", "bob", "hi"]).ok();
    assert_eq!(ran.stderr, "");
    let log = deck.state().join("quarterdeck/quarterdeck.log");
    let text = fs::read_to_string(&log).unwrap();
    assert!(text.contains("WARN") && text.contains("broken file set aside"), "{text}");
    assert!(!text.contains('\u{1b}'), "no colours: {text:?}");

    fs::write(deck.inbox("bob"), "broken").unwrap();
    let quiet = deck.command(&["send", "t", "bob", "hi"]).env("QUARTERDECK_LOG", "error").output();
    assert!(quiet.unwrap().status.success());
    assert_eq!(fs::read_to_string(&log).unwrap(), text, "below the level that was asked for");
}

#[test]
fn every_write_can_be_made_to_survive_a_power_failure() {
    let deck = Deck::with_team(&["bob"]);
    // Seen from outside only as: it works. What it costs is in benches/store.rs.
    for _ in 0..3 {
        let mut send = deck.command(&["send", "t", "bob", "hi"]);
        assert!(send.env("QUARTERDECK_FSYNC", "1").output().unwrap().status.success());
    }
    assert_eq!(deck.run(&["inbox", "t", "bob", "--json"]).ok().json().as_array().unwrap().len(), 3);
}

#[test]
fn every_command_explains_itself() {
    let deck = Deck::new();
    let families: [&[&str]; 2] = [
        &["create", "list", "show", "delete", "join", "leave"],
        &["add", "list", "show", "dag", "update", "claim", "delete"],
    ];
    for (family, commands) in ["team", "task"].into_iter().zip(families) {
        for command in commands {
            let ran = deck.run(&[family, command, "--help"]).ok();
            assert!(ran.stdout.contains("Usage: "), "{family} {command}");
            assert!(ran.stdout.contains("--json"), "{family} {command}");
        }
    }
    for command in ["send", "inbox"] {
        deck.run(&[command, "--help"]).ok();
    }
    let version = deck.command(&["--version"]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(version.stdout, format!("quarterdeck {}\n", env!("CARGO_PKG_VERSION")).as_bytes());
}
