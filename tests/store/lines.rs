//! Files of lines: torn ends, broken lines, writes that go part of the way.

use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use quarterdeck::protocol::json::Json;
use quarterdeck::store::lines::{LONGEST, LineFile, LineReader, Place};
use quarterdeck::store::{Durability, Problem, StoreError};

use crate::support::{mode, run_with_little_room};

const BEFORE: &str = "{\"n\":1}\n{\"n\":2}\n";
const LAST: &str = r#"{"n":3,"text":"é😀 \"quoted\"","list":[1,{"a":null}]}"#;

fn open(path: &Path) -> LineFile {
    LineFile::open(path, Durability::ProcessCrash).unwrap()
}

fn torn_part(path: &Path) -> PathBuf {
    path.with_file_name(format!("{}.torn", path.file_name().unwrap().to_str().unwrap()))
}

/// All lines that parse, and the problems, from a place on.
fn read(path: &Path, from: Place) -> (Vec<String>, Vec<Problem>, Place) {
    let mut reader = LineReader::open(path, from).unwrap().unwrap();
    let (mut lines, mut problems) = (Vec::new(), Vec::new());
    while let Some(line) = reader.read().unwrap() {
        match line.parse(Json::parse) {
            Ok(document) => lines.push(document.compact()),
            Err(problem) => problems.push(problem),
        }
    }
    (lines, problems, reader.place())
}

#[test]
fn a_last_line_torn_at_any_byte_is_mended() {
    let dir = tempfile::tempdir().unwrap();
    for (before, kept) in [(BEFORE, 2), ("", 0)] {
        for cut in 0..=LAST.len() {
            let path = dir.path().join(format!("{kept}-{cut}.jsonl"));
            let torn = &LAST.as_bytes()[..cut];
            fs::write(&path, [before.as_bytes(), torn].concat()).unwrap();
            let at = open(&path).append(r#"{"n":4}"#.to_owned()).unwrap();

            let whole = cut == LAST.len();
            let last = if whole { format!("{LAST}\n") } else { String::new() };
            assert_eq!(at as usize, before.len() + last.len(), "cut at {cut}");
            let want = format!("{before}{last}{{\"n\":4}}\n");
            assert_eq!(fs::read_to_string(&path).unwrap(), want, "cut at {cut}");
            if cut == 0 || whole {
                assert!(!torn_part(&path).exists(), "cut at {cut}");
            } else {
                let aside = fs::read(torn_part(&path)).unwrap();
                assert_eq!(aside, [torn, b"\n"].concat(), "cut at {cut}");
            }
        }
    }
}

#[test]
fn a_torn_line_longer_than_any_block_is_mended_too() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.jsonl");
    let torn = format!("{{\"text\":\"{}", "x".repeat(300_000));
    for round in 1..=2 {
        fs::write(&path, format!("{BEFORE}{torn}")).unwrap();
        open(&path);
        assert_eq!(fs::read_to_string(&path).unwrap(), BEFORE);
        let aside = fs::read_to_string(torn_part(&path)).unwrap();
        assert_eq!(aside, format!("{torn}\n").repeat(round), "nothing is overwritten");
        assert_eq!(mode(&torn_part(&path)), 0o600);
    }
}

#[test]
fn a_reader_leaves_a_torn_end_alone_and_goes_on_when_it_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.jsonl");
    let (half, rest) = LAST.split_at(22);
    fs::write(&path, format!("{BEFORE}{half}")).unwrap();
    let (lines, problems, place) = read(&path, Place::default());
    assert_eq!(lines, [r#"{"n":1}"#, r#"{"n":2}"#]);
    assert_eq!(problems, []);
    assert_eq!(place, Place { offset: BEFORE.len() as u64, line: 2 });
    assert_eq!(fs::read_to_string(&path).unwrap(), format!("{BEFORE}{half}"));

    let mut writer = OpenOptions::new().append(true).open(&path).unwrap();
    writer.write_all(format!("{rest}\n").as_bytes()).unwrap();
    assert_eq!(read(&path, place).0, [LAST]);
}

#[test]
fn nothing_beyond_the_given_end_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.jsonl");
    fs::write(&path, format!("{BEFORE}{LAST}\n")).unwrap();
    let reader = LineReader::open(&path, Place { offset: 8, line: 1 }).unwrap().unwrap();
    let mut reader = reader.until(BEFORE.len() as u64);
    let line = reader.read().unwrap().unwrap();
    assert_eq!(line.at, Place { offset: 8, line: 1 });
    assert_eq!(line.parse(Json::parse).unwrap().compact(), r#"{"n":2}"#);
    assert!(reader.read().unwrap().is_none());
}

#[test]
fn broken_lines_are_named_and_hide_no_others() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.jsonl");
    fs::write(&path, b"{\"n\":1}\n{\"n\":\n\n  \n{\"n\":\"\xff\"}\n{\"n\":5}\r\n\0\0\n").unwrap();
    let mut file = OpenOptions::new().write(true).open(&path).unwrap();
    let end = file.seek(SeekFrom::End(0)).unwrap();
    // A hole in the file: as long as it must be, without the bytes.
    file.seek(SeekFrom::Current(i64::try_from(LONGEST).unwrap() + 1)).unwrap();
    file.write_all(b"\n{\"n\":8}\n").unwrap();

    let (lines, problems, _) = read(&path, Place::default());
    assert_eq!(lines, [r#"{"n":1}"#, r#"{"n":5}"#, r#"{"n":8}"#]);
    let named: Vec<&str> = problems.iter().map(|problem| problem.what.as_str()).collect();
    let starts = |at: usize, place: &str, why: &str| {
        let expected = format!("{place} was skipped: {why}");
        assert!(named[at].starts_with(&expected), "{} is not {expected}", named[at]);
    };
    assert_eq!(named.len(), 4);
    starts(0, "line 2 (byte 8)", "EOF while parsing");
    starts(1, "line 5 (byte 18)", "not text (byte 6");
    starts(2, "line 7 (byte 37)", "expected value");
    starts(3, &format!("line 8 (byte {end})"), &format!("{} bytes, more than", LONGEST + 1));
    assert_eq!(problems[0].path, path);
}

#[test]
fn a_line_that_no_reader_would_take_is_not_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.jsonl");
    let mut lines = open(&path);
    let error = lines.append("x".repeat(usize::try_from(LONGEST).unwrap() + 1)).unwrap_err();
    assert!(error.to_string().contains("more than the"), "{error}");
    let error = lines.append("{}\n{}".to_owned()).unwrap_err();
    assert!(error.to_string().contains("more than one line"), "{error}");
    assert_eq!(fs::metadata(&path).unwrap().len(), 0);
}

#[test]
fn files_and_directories_are_for_this_user_only() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a/b/x.jsonl");
    LineFile::open(&path, Durability::PowerLoss).unwrap().append(LAST.to_owned()).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), format!("{LAST}\n"));
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
}

#[test]
fn only_one_has_a_file_alone_and_the_other_does_not_mend_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.jsonl");
    let alone = LineFile::open(&path, Durability::ProcessCrash).unwrap();
    // What the owner is writing just now.
    fs::write(&path, "{\"n\":").unwrap();
    assert!(matches!(
        LineFile::open(&path, Durability::ProcessCrash),
        Err(StoreError::InUse { .. })
    ));
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\"n\":");
    drop(alone);
    assert!(LineFile::open(&path, Durability::ProcessCrash).is_ok());
    assert_eq!(fs::read_to_string(&path).unwrap(), "");
}

#[test]
fn a_write_that_fails_part_way_leaves_no_part() {
    let output = run_with_little_room("store::lines::in_little_room");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
#[ignore = "run by another test, in a process of its own"]
fn in_little_room() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.jsonl");
    let mut lines = open(&path);
    let long = format!("{{\"text\":\"{}\"}}", "x".repeat(1000));
    let mut written = 0;
    let error = loop {
        match lines.append(long.clone()) {
            Ok(_) => written += 1,
            Err(error) => break error,
        }
        assert!(written < 1000, "the disk is not full");
    };
    assert!(error.to_string().contains("x.jsonl"), "{error}");
    let length = fs::metadata(&path).unwrap().len();
    assert_eq!(length, written * (long.len() as u64 + 1), "no part of the failed line");
    assert!(length + 1012 > 64 * 1024, "there was room for a part of it");

    let at = lines.append("{}".to_owned()).unwrap();
    assert_eq!(at, length, "a line that fits still goes in");
    let (read, problems, _) = read(&path, Place::default());
    assert_eq!((read.len() as u64, problems), (written + 1, vec![]));
}
