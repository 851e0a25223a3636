//! Files of the person: what they said in each project, and what they export.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use quarterdeck::console::runtime::files::{HistoryFile, export};

#[test]
fn what_was_said_in_a_project_is_there_again_and_in_no_other() {
    let home = tempfile::tempdir().unwrap();
    let (one, two) = (Path::new("/work/one"), Path::new("/work/two"));
    let history = HistoryFile::of(home.path(), one);
    assert_eq!(history.load(), Vec::<String>::new());
    history.append("first").unwrap();
    history.append("two\nlines, \"quoted\" \u{1f980}").unwrap();
    HistoryFile::of(home.path(), two).append("elsewhere").unwrap();
    let again = HistoryFile::of(home.path(), one).load();
    assert_eq!(again, ["first", "two\nlines, \"quoted\" \u{1f980}"]);
    assert_eq!(HistoryFile::of(home.path(), two).load(), ["elsewhere"]);
}

#[test]
fn only_the_person_can_read_it() {
    let home = tempfile::tempdir().unwrap();
    HistoryFile::of(home.path(), Path::new("/p")).append("a secret").unwrap();
    let dir = home.path().join("history");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&dir), 0o700);
    let files: Vec<_> = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.iter().map(|file| mode(file)).collect::<Vec<_>>(), [0o600]);
}

#[test]
fn a_torn_line_loses_nothing_else() {
    let home = tempfile::tempdir().unwrap();
    let history = HistoryFile::of(home.path(), Path::new("/p"));
    history.append("before").unwrap();
    let dir = home.path().join("history");
    let file = fs::read_dir(&dir).unwrap().next().unwrap().unwrap().path();
    let mut text = fs::read_to_string(&file).unwrap();
    text.push_str("\"half a li");
    fs::write(&file, text).unwrap();
    history.append("after").unwrap();
    assert_eq!(history.load(), ["before", "after"]);
}

#[test]
fn it_does_not_grow_for_ever() {
    let home = tempfile::tempdir().unwrap();
    let history = HistoryFile::of(home.path(), Path::new("/p"));
    for number in 0..4_001 {
        history.append(&format!("line {number}")).unwrap();
    }
    let loaded = history.load();
    assert_eq!((loaded.len(), loaded.last().unwrap().as_str()), (2_000, "line 4000"));
    let file = fs::read_dir(home.path().join("history")).unwrap().next().unwrap().unwrap().path();
    assert_eq!(fs::read_to_string(file).unwrap().lines().count(), 2_000);
}

#[test]
fn an_export_overwrites_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let first = export(dir.path(), "notes.md", "one").unwrap();
    let second = export(dir.path(), "notes.md", "two").unwrap();
    assert_eq!(first, dir.path().join("notes.md"));
    assert_eq!(second, dir.path().join("notes-2.md"));
    assert_eq!(fs::read_to_string(first).unwrap(), "one");
    assert_eq!(fs::read_to_string(second).unwrap(), "two");
    let bare = export(dir.path(), "bare", "three").unwrap();
    assert_eq!(bare, dir.path().join("bare.md"));
    assert!(export(dir.path(), "no/such/dir.md", "four").is_err());
}
