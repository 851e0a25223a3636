//! `kill -9` while a file is changed: it is always one of its versions, as a whole.

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::files_change::{edit, write};
use super::files_read::{ok, rig};
use crate::support::{say, soak};

const FILE: &str = "QUARTERDECK_TEST_FILE";

/// A version that shows when a part of it is missing. Every other one differs in one line only.
fn version(number: u64) -> String {
    let letter = char::from(b'a' + u8::try_from(number / 2 % 26).unwrap());
    let line = format!("{}\n", letter.to_string().repeat(20_000));
    format!("version {number:08}\n{}the end\n", line.repeat(40))
}

fn number_of(text: &str) -> u64 {
    let first = text.lines().next().expect("a whole file");
    let number = first.strip_prefix("version ").expect("a version").parse().expect("a number");
    assert!(text == version(number), "torn: {} bytes beginning with {first}", text.len());
    number
}

#[test]
fn a_killed_writer_leaves_the_old_file_or_the_new_one() {
    let rounds = if soak() { 200 } else { 8 };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().canonicalize().unwrap().join("a.txt");
    let leftover = path.with_file_name(".a.txt.quarterdeck-tmp");
    fs::write(&path, version(0)).unwrap();
    let dice = RandomState::new();
    let (mut left, mut latest) = (0, 0);
    for round in 0..rounds {
        // Some die anywhere, some while the next version is being prepared.
        let after = Duration::from_micros(dice.hash_one(round) % 20_000);
        let moment = (round % 2 == 1).then_some(leftover.as_path());
        let acknowledged = killed(&path, after, moment);
        let number = number_of(&fs::read_to_string(&path).unwrap());
        assert!(number >= acknowledged.max(latest), "{number} of {acknowledged}, {latest}");
        latest = number;
        left += usize::from(leftover.exists());
        let names: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().path()).collect();
        assert!(names.iter().all(|name| *name == path || *name == leftover), "{names:?}");
    }
    assert!(latest > 0, "nobody wrote anything");
    assert!(left > 0, "nobody was killed in the middle of anything");
    // Whoever changes the file next clears up.
    fs::write(&leftover, "half").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(change(&path, latest + 1));
    assert_eq!(number_of(&fs::read_to_string(&path).unwrap()), latest + 1);
    assert!(!leftover.exists());
    say(&format!("{rounds} kills, {latest} versions, {left} times a leftover"));
}

/// Starts a writer, kills it a while after its first change, and returns the last version that
/// it had acknowledged.
fn killed(path: &Path, after: Duration, moment: Option<&Path>) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", "tools::files_crash::change_for_ever"])
        .env(FILE, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut versions = lines.filter_map(|line| line.strip_prefix("wrote ")?.parse::<u64>().ok());
    let first = versions.next().expect("a change");
    let until = Instant::now() + after;
    while Instant::now() < until {
        std::hint::spin_loop();
    }
    let patience = Instant::now() + Duration::from_secs(5);
    while moment.is_some_and(|file| !file.exists()) && Instant::now() < patience {
        std::hint::spin_loop();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    versions.last().unwrap_or(first)
}

async fn change(path: &Path, number: u64) {
    let rig = rig();
    let name = path.display().to_string();
    let input = serde_json::json!({ "file_path": name, "limit": 1 });
    ok(&rig.call("Read", input).await);
    ok(&write(&rig, &name, &version(number)).await);
}

#[tokio::test]
#[ignore = "run by another test, in a process of its own"]
async fn change_for_ever() {
    let path = std::env::var(FILE).unwrap();
    let rig = rig();
    let mut number = number_of(&fs::read_to_string(&path).unwrap());
    let input = serde_json::json!({ "file_path": path, "limit": 1 });
    ok(&rig.call("Read", input).await);
    loop {
        let next = number + 1;
        if next.is_multiple_of(2) {
            ok(&write(&rig, &path, &version(next)).await);
        } else {
            ok(&edit(&rig, &path, &format!("{number:08}"), &format!("{next:08}")).await);
        }
        number = next;
        writeln!(std::io::stdout(), "wrote {number}").unwrap();
    }
}
