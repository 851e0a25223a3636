//! Others at the same time: paths that become links after they were allowed, and agents and
//! processes that change the same file.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use quarterdeck::permission::Access;
use quarterdeck::tools::{Call, Output};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

use super::files_change::{edit, read, write};
use super::files_read::{ok, rig, why};
use super::rig::Rig;
use crate::support::{say, soak};

/// A call as it stands after it was allowed.
pub fn allowed(rig: &Rig, tool: &str, input: &Value) -> Call {
    let access = rig.tools.get(tool).unwrap().access(&rig.cx, input).unwrap();
    Call { id: "toolu_0".to_owned(), stop: rig.stop.clone(), access, view: rig.cx.view() }
}

pub async fn run(rig: &Rig, tool: &str, call: &Call, input: Value) -> Output {
    rig.tools.get(tool).unwrap().run(&rig.cx, call, input).await
}

/// The inputs with which each tool would do harm in `name`.
fn uses(name: &str) -> [(&'static str, Value); 4] {
    [
        ("Read", json!({ "file_path": name })),
        ("Write", json!({ "file_path": name, "content": "changed" })),
        ("Edit", json!({ "file_path": name, "old_string": "same", "new_string": "changed" })),
        (
            "Edit",
            json!({ "file_path": format!("{name}.new"), "old_string": "", "new_string": "x" }),
        ),
    ]
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[tokio::test]
async fn a_directory_that_becomes_a_link_is_not_followed() {
    for at in 0..uses("").len() {
        let rig = rig();
        let outside = rig.dir.path().join("outside");
        fs::create_dir(&outside).unwrap();
        // The same content, so that nothing but the way there can give it away.
        fs::write(outside.join("a.txt"), "same").unwrap();
        rig.write("sub/deep/a.txt", "same");
        read(&rig, "sub/deep/a.txt").await;
        let (tool, input) = uses("sub/deep/a.txt")[at].clone();
        let call = allowed(&rig, tool, &input);
        fs::rename(rig.project.join("sub/deep"), rig.project.join("sub/gone")).unwrap();
        symlink(&outside, rig.project.join("sub/deep")).unwrap();
        let refused = why(&run(&rig, tool, &call, input).await);
        assert!(refused.contains("became a link"), "{tool}: {refused}");
        assert_eq!(fs::read_to_string(outside.join("a.txt")).unwrap(), "same");
        assert_eq!(names(&outside), ["a.txt"]);
    }
}

#[tokio::test]
async fn a_file_that_becomes_a_link_is_not_followed() {
    for (tool, _) in uses("") {
        let rig = rig();
        let outside = rig.dir.path().join("outside.txt");
        fs::write(&outside, "same").unwrap();
        rig.write("a.txt", "same");
        read(&rig, "a.txt").await;
        let Some((_, input)) = uses("a.txt").into_iter().find(|(name, _)| *name == tool) else {
            panic!("no input for {tool}");
        };
        let call = allowed(&rig, tool, &input);
        fs::remove_file(rig.project.join("a.txt")).unwrap();
        symlink(&outside, rig.project.join("a.txt")).unwrap();
        let refused = why(&run(&rig, tool, &call, input).await);
        assert!(refused.contains("became a link"), "{tool}: {refused}");
        assert_eq!(fs::read_to_string(&outside).unwrap(), "same");
    }
}

#[tokio::test]
async fn a_leftover_that_is_a_link_is_not_followed() {
    let rig = rig();
    let outside = rig.dir.path().join("outside.txt");
    fs::write(&outside, "precious").unwrap();
    rig.write("a.txt", "one");
    read(&rig, "a.txt").await;
    symlink(&outside, rig.project.join(".a.txt.quarterdeck-tmp")).unwrap();
    ok(&edit(&rig, "a.txt", "one", "two").await);
    assert_eq!(fs::read_to_string(&outside).unwrap(), "precious");
    assert_eq!(names(&rig.project), ["a.txt"]);
}

/// Swaps two names again and again until it is told to stop.
fn swap(left: &Path, right: &Path, done: &AtomicBool) -> u64 {
    let mut swaps = 0;
    while !done.load(Ordering::Relaxed) {
        renameat_with(CWD, left, CWD, right, RenameFlags::EXCHANGE).unwrap();
        swaps += 1;
    }
    // Back as it was.
    if swaps % 2 == 1 {
        renameat_with(CWD, left, CWD, right, RenameFlags::EXCHANGE).unwrap();
    }
    swaps
}

#[tokio::test]
async fn nothing_outside_is_touched_while_a_directory_and_a_link_change_places() {
    let rounds = if soak() { 20_000 } else { 1_000 };
    let rig = rig();
    let outside = rig.dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    for (dir, secret) in [(outside.as_path(), "OUTSIDE"), (&rig.project.join("sub"), "inside")] {
        fs::create_dir_all(dir).unwrap();
        fs::write(dir.join("read.txt"), secret).unwrap();
        fs::write(dir.join("a.txt"), "same").unwrap();
        fs::write(dir.join("w.txt"), "whole").unwrap();
    }
    let number = |name: &str| fs::metadata(outside.join(name)).unwrap().ino();
    let numbers = [number("a.txt"), number("w.txt")];
    let (sub, link) = (rig.project.join("sub"), rig.project.join("link"));
    symlink(&outside, &link).unwrap();
    let done = Arc::new(AtomicBool::new(false));
    let swapper = {
        let (sub, link, done) = (sub.clone(), link.clone(), Arc::clone(&done));
        std::thread::spawn(move || swap(&sub, &link, &done))
    };
    let (mut went, mut refused, mut at) = (0, 0, 0);
    let until = Instant::now() + Duration::from_secs(120);
    while at < rounds || went == 0 || refused == 0 {
        assert!(Instant::now() < until, "{went} went well, {refused} were refused");
        at += 1;
        let (tool, input) = match at % 4 {
            0 => ("Read", json!({ "file_path": "sub/read.txt" })),
            1 => ("Edit", uses("sub/a.txt")[2].1.clone()),
            2 => ("Write", json!({ "file_path": "sub/w.txt", "content": "whole" })),
            _ => ("Write", json!({ "file_path": format!("sub/new-{at}"), "content": "x" })),
        };
        // What is outside is always what the agent knows, so only the way there can stop it.
        rig.cx.seen.record(&sub.join("a.txt"), b"same");
        rig.cx.seen.record(&sub.join("w.txt"), b"whole");
        // As it was allowed while the directory was one: afterwards, anything may happen.
        let path = rig.project.join(input["file_path"].as_str().unwrap());
        let access = vec![if tool == "Read" { Access::Read(path) } else { Access::Write(path) }];
        let (id, stop, view) = ("toolu_0".to_owned(), rig.stop.clone(), rig.cx.view());
        let call = Call { id, stop, access, view };
        let output = run(&rig, tool, &call, input).await;
        assert!(!output.content.text().contains("OUTSIDE"), "{output:?}");
        if output.failed {
            refused += usize::from(output.content.text().contains("became a link"));
        } else {
            went += 1;
        }
    }
    done.store(true, Ordering::Relaxed);
    let swaps = swapper.join().unwrap();
    assert_eq!(fs::read_to_string(outside.join("a.txt")).unwrap(), "same");
    let mut there = names(&outside);
    there.sort();
    assert_eq!(there, ["a.txt", "read.txt", "w.txt"]);
    assert_eq!(numbers, [number("a.txt"), number("w.txt")], "replaced by the same content");
    say(&format!("{at} uses, {swaps} swaps: {went} went well, {refused} met a link"));
}

#[tokio::test]
async fn the_second_of_two_agents_is_told_that_the_file_has_changed() {
    let (first, second) = (rig(), rig());
    let path = first.write("a.txt", "one two\n").display().to_string();
    read(&first, &path).await;
    read(&second, &path).await;
    ok(&edit(&first, &path, "one", "1").await);
    let refused = why(&edit(&second, &path, "two", "2").await);
    assert!(refused.contains("changed since you read it; read it again"), "{refused}");
    assert!(why(&write(&second, &path, "x").await).contains("changed since you read it"));
    read(&second, &path).await;
    ok(&edit(&second, &path, "two", "2").await);
    assert_eq!(first.read("a.txt"), "1 2\n");
    let (left, right) = tokio::join!(write(&first, &path, "left"), edit(&second, &path, "1", "x"));
    assert_ne!(left.failed, right.failed, "{left:?} {right:?}");
    let new = first.path("new.txt");
    let (left, right) = tokio::join!(write(&first, &new, "left"), write(&second, &new, "right"));
    assert_ne!(left.failed, right.failed, "{left:?} {right:?}");
}

/// Adds one to a number in a file, as an agent does it; tries until it goes well.
async fn count_up(rig: &Rig, path: &str, times: usize) -> usize {
    let mut refusals = 0;
    for _ in 0..times {
        loop {
            let shown = ok(&rig.call("Read", json!({ "file_path": path })).await);
            let number = shown.trim().split('\t').nth(1).unwrap();
            let next = (number.parse::<u64>().unwrap() + 1).to_string();
            let output = edit(rig, path, number, &next).await;
            if !output.failed {
                break;
            }
            let told = why(&output);
            assert!(told.contains("changed since you read it"), "{told}");
            refusals += 1;
        }
    }
    refusals
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_change_of_many_agents_is_lost() {
    let (agents, times) = if soak() { (8, 200) } else { (4, 25) };
    let first = rig();
    let path = first.write("count.txt", "0\n").display().to_string();
    let mut tasks = Vec::new();
    for _ in 0..agents {
        let path = path.clone();
        tasks.push(tokio::spawn(async move { count_up(&rig(), &path, times).await }));
    }
    let mut refusals = 0;
    for task in tasks {
        refusals += task.await.unwrap();
    }
    assert_eq!(first.read("count.txt"), format!("{}\n", agents * times));
    assert_eq!(names(&first.project), ["count.txt"]);
    say(&format!("{agents} agents, {times} changes each, {refusals} were told to read again"));
}

const COUNT: &str = "QUARTERDECK_TEST_COUNT";

#[test]
fn no_change_of_many_processes_is_lost() {
    let (processes, times) = if soak() { (6, 200) } else { (3, 20) };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().canonicalize().unwrap().join("count.txt");
    fs::write(&path, "0\n").unwrap();
    let start = || {
        Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "tools::files_races::count_for_another_test"])
            .env(COUNT, &path)
            .env("COUNT_TIMES", times.to_string())
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    };
    let children: Vec<_> = (0..processes).map(|_| start()).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), format!("{}\n", processes * times));
    assert_eq!(names(dir.path()), ["count.txt"]);
}

#[tokio::test]
#[ignore = "run by another test, in a process of its own"]
async fn count_for_another_test() {
    let path = std::env::var(COUNT).unwrap();
    let times = std::env::var("COUNT_TIMES").unwrap().parse().unwrap();
    count_up(&rig(), &path, times).await;
}
