//! `quarterdeck screenshot`: the real console on a real session, without a terminal.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const BOOK: &str = r#"name: shot
pace: 0
actors:
  - who: team-lead
    turns:
      - when: { user: "look" }
        say: "I will look."
        call: [{ tool: Bash, input: { command: "pwd && sleep 0.1", description: "Where am I" } }]
      - say: "It is done."
"#;

fn shoot(dir: &Path, name: &str, more: &[&str]) -> Output {
    let book = dir.join("book.yaml");
    fs::write(&book, BOOK).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_quarterdeck"));
    command.args(["screenshot", "--size", "100x30", "--playbook"]).arg(&book).arg("-o");
    command.arg(dir.join(name)).args(more).current_dir(dir);
    command.env("HOME", dir.join("user")).env_remove("NO_COLOR");
    command.output().unwrap()
}

#[test]
fn a_picture_is_the_same_every_time_and_names_no_place_of_this_machine() {
    let dir = tempfile::tempdir().unwrap();
    let script =
        ["--permission-mode", "bypassPermissions", "--keys", "look<ret>", "--until", "It is done."];
    let mut pictures = Vec::new();
    for name in ["one.txt", "two.txt"] {
        let ran = shoot(dir.path(), name, &script);
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        pictures.push(fs::read_to_string(dir.path().join(name)).unwrap());
    }
    assert!(pictures[0].contains("It is done."), "{}", pictures[0]);
    assert!(!pictures[0].contains("quarterdeck-"), "a scratch directory shows: {}", pictures[0]);
    assert_eq!(pictures[0], pictures[1]);
    let entries = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let mut left: Vec<_> = entries.filter(|name| *name != "user").collect();
    left.sort();
    assert_eq!(left, ["book.yaml", "one.txt", "two.txt"], "nothing else is left behind");
}

#[test]
fn what_is_not_seen_is_said_with_what_was() {
    let dir = tempfile::tempdir().unwrap();
    let ran = shoot(dir.path(), "x.txt", &["--until", "no such words", "--patience", "1"]);
    assert_eq!(ran.status.code(), Some(1));
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(said.contains("no such words") && said.contains("to lead"), "{said}");
}

#[test]
fn mistakes_are_told_before_anything_is_started() {
    let dir = tempfile::tempdir().unwrap();
    for (name, more, words) in [
        ("x.jpg", &[][..], ".png, .svg, .txt or .gif"),
        ("x.png", &["--theme", "mauve"], "mauve"),
        ("x.png", &["--keys", "<C-nothing>"], "not a key"),
    ] {
        let ran = shoot(dir.path(), name, more);
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!((ran.status.code(), said.contains(words)), (Some(2), true), "{said}");
    }
}
