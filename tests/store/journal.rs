//! The journal: numbers, readers at any speed, one writer, crashes.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;
use quarterdeck::protocol::event::{Event, Fact, Level};
use quarterdeck::protocol::ids::{AgentId, SessionId};
use quarterdeck::settings::paths::Home;
use quarterdeck::store::journal::{Follower, Journal, read_after};
use quarterdeck::store::{Durability, StoreError};
use tokio::sync::watch;

use crate::support::{mode, run_with_little_room};

fn session() -> SessionId {
    SessionId::found("5e551011-0000-4000-8000-000000000001")
}

fn open(root: &Path) -> Journal {
    Journal::open(&Home::at(root), &session(), Durability::ProcessCrash).unwrap()
}

fn notice(text: impl ToString) -> Fact {
    Fact::Notice { level: Level::Info, text: text.to_string() }
}

fn numbers(events: &[Event]) -> Vec<u64> {
    events.iter().map(|event| event.seq).collect()
}

/// Everything until the stream ends; a stream that does not end fails the test.
async fn rest(events: BoxStream<'static, Arc<Event>>) -> Vec<Event> {
    let all = events.map(|event| Event::clone(&event)).collect();
    tokio::time::timeout(Duration::from_secs(60), all).await.expect("the stream ends")
}

async fn next(events: &mut BoxStream<'static, Arc<Event>>) -> Arc<Event> {
    let event = tokio::time::timeout(Duration::from_secs(60), events.next()).await;
    event.expect("an event comes").expect("the stream goes on")
}

#[tokio::test]
async fn an_event_is_on_disk_before_anyone_hears_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let journal = open(dir.path());
    let mut events = journal.after(0);
    let ada = AgentId::parse("ada@crew").unwrap();
    assert_eq!(journal.emit(Some(&ada), notice("hello")), 1);
    let heard = next(&mut events).await;
    assert_eq!((heard.seq, &heard.agent, &heard.fact), (1, &Some(ada), &notice("hello")));
    assert_eq!(read_after(journal.path(), 0).unwrap().events, [Event::clone(&heard)]);
    assert_eq!(journal.latest(), 1);
    assert_eq!(journal.trouble(), None);
    assert_eq!((mode(journal.path()), mode(journal.path().parent().unwrap())), (0o600, 0o700));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_reader_gets_every_event_once_at_its_own_speed() {
    const ALL: u64 = 25_000;
    const LAG: u64 = 10_000;
    let dir = tempfile::tempdir().unwrap();
    let journal = Arc::new(open(dir.path()));
    let (seen, progress) = watch::channel(0);

    let mut eager = journal.after(0);
    let eager = tokio::spawn(async move {
        let mut all = Vec::new();
        while let Some(event) = eager.next().await {
            seen.send_replace(event.seq);
            all.push(Event::clone(&event));
        }
        all
    });
    // Reads ten, then nothing until it lags by ten thousand; then ten more, and lags again.
    let mut slow = journal.after(0);
    let mut known = progress.clone();
    let slow = tokio::spawn(async move {
        let mut all = Vec::new();
        for lag in [LAG, 2 * LAG] {
            for _ in 0..10 {
                all.push(Event::clone(&*next(&mut slow).await));
            }
            let behind = all.len() as u64 + lag;
            known.wait_for(|seq| *seq >= behind).await.expect("the eager one reads on");
        }
        all.extend(rest(slow).await);
        all
    });
    let (late_journal, mut known) = (Arc::clone(&journal), progress);
    let late = tokio::spawn(async move {
        known.wait_for(|seq| *seq >= ALL / 2).await.expect("the eager one reads on");
        let late = late_journal.after(777);
        drop(late_journal);
        rest(late).await
    });
    let writing = tokio::task::spawn_blocking(move || {
        for n in 1..=ALL {
            assert_eq!(journal.emit(None, notice(n)), n);
        }
    });
    writing.await.unwrap();
    let (eager, slow, late) = (eager.await.unwrap(), slow.await.unwrap(), late.await.unwrap());
    assert_eq!(numbers(&eager), (1..=ALL).collect::<Vec<_>>());
    assert!(eager.iter().all(|event| event.fact == notice(event.seq)));
    assert!(slow == eager, "the slow reader got something else");
    assert!(late == eager[777..], "the late reader got something else");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn emitting_from_many_threads_leaves_no_gap() {
    let dir = tempfile::tempdir().unwrap();
    let journal = open(dir.path());
    let all = journal.after(0);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let journal = &journal;
            scope.spawn(move || {
                for n in 0..300 {
                    journal.emit(None, notice(thread * n));
                }
            });
        }
    });
    let path = journal.path().to_owned();
    drop(journal);
    let all = rest(all).await;
    assert_eq!(numbers(&all), (1..=2400).collect::<Vec<_>>());
    assert_eq!(read_after(&path, 0).unwrap().events, all);
}

#[tokio::test]
async fn a_session_runs_once_and_its_numbers_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let journal = open(dir.path());
    let again = Journal::open(&Home::at(dir.path()), &session(), Durability::ProcessCrash);
    assert!(matches!(again, Err(StoreError::SessionRunning { .. })), "{again:?}");
    for n in 1..=2000 {
        journal.emit(None, notice(n));
    }
    let unread = journal.after(0);
    drop(journal);

    let journal = Journal::open(&Home::at(dir.path()), &session(), Durability::PowerLoss).unwrap();
    assert_eq!(journal.latest(), 2000);
    assert_eq!(journal.emit(None, notice("again")), 2001);
    // The stream of the one before ends where that one ended.
    assert_eq!(numbers(&rest(unread).await), (1..=2000).collect::<Vec<_>>());
    let (all, some, none) = (journal.after(0), journal.after(1500), journal.after(9999));
    drop(journal);
    assert_eq!(numbers(&rest(all).await), (1..=2001).collect::<Vec<_>>());
    assert_eq!(numbers(&rest(some).await), (1501..=2001).collect::<Vec<_>>());
    assert_eq!(rest(none).await, []);
}

#[tokio::test]
async fn a_line_that_is_no_event_is_passed_over_and_its_number_stays_taken() {
    let dir = tempfile::tempdir().unwrap();
    let path = Home::at(dir.path()).journal(&session());
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let at = "2026-11-16T03:04:53.900Z";
    let event = |seq: u64| format!(r#"{{"seq":{seq},"at":"{at}","fact":{{"kind":"danced"}}}}"#);
    let lines = [event(1), "no JSON".into(), event(2), r#"{"seq":7,"at":"noon"}"#.into()];
    fs::write(&path, lines.join("\n") + "\n" + &event(8)[..30]).unwrap();

    let journal = open(dir.path());
    assert_eq!(journal.problems().total, 1);
    assert!(journal.problems().first[0].what.starts_with("line 2 "));
    assert_eq!(journal.emit(None, notice("on")), 8);
    let all = journal.after(0);
    drop(journal);
    assert_eq!(numbers(&rest(all).await), [1, 2, 8]);
    let batch = read_after(&path, 1).unwrap();
    assert_eq!((numbers(&batch.events), batch.problems.total), (vec![2, 8], 2));
}

#[test]
fn a_follower_in_another_process_reads_piece_by_piece() {
    let dir = tempfile::tempdir().unwrap();
    let path = Home::at(dir.path()).journal(&session());
    let mut follower = Follower::after(&path, 1);
    assert_eq!(follower.read().unwrap().events, [], "there is no file yet");
    let journal = open(dir.path());
    for round in 0..3 {
        for n in 0..3 {
            journal.emit(None, notice(n));
        }
        let want: Vec<u64> = (round * 3 + 1..=round * 3 + 3).filter(|seq| *seq > 1).collect();
        assert_eq!(numbers(&follower.read().unwrap().events), want);
    }
    assert_eq!(follower.read().unwrap().events, []);
}

#[test]
fn what_was_acknowledged_survives_a_killed_process() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", "store::journal::emit_for_ever"])
        .env("JOURNAL_ROOT", dir.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut acknowledged = 0;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let Some(seq) = line.unwrap().strip_prefix("emitted ").map(|seq| seq.parse().unwrap())
        else {
            continue;
        };
        acknowledged = seq;
        if seq == 500 {
            let refused = Journal::open(&Home::at(dir.path()), &session(), Durability::default());
            assert!(matches!(refused, Err(StoreError::SessionRunning { .. })), "{refused:?}");
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    assert!(acknowledged >= 500, "only {acknowledged} events");
    let journal = open(dir.path());
    assert!(journal.latest() >= acknowledged, "{} of {acknowledged}", journal.latest());
    let next = journal.emit(None, notice("after"));
    let batch = read_after(journal.path(), 0).unwrap();
    assert_eq!(numbers(&batch.events), (1..=next).collect::<Vec<_>>());
    assert_eq!(batch.problems.total, 0);
}

#[test]
#[ignore = "run by another test, in a process of its own"]
fn emit_for_ever() {
    let journal = open(Path::new(&std::env::var_os("JOURNAL_ROOT").unwrap()));
    loop {
        let seq = journal.emit(None, notice("x".repeat(2000)));
        writeln!(std::io::stdout(), "emitted {seq}").unwrap();
    }
}

#[test]
fn a_full_disk_keeps_nothing_from_the_readers() {
    let output = run_with_little_room("store::journal::in_little_room");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[tokio::test]
#[ignore = "run by another test, in a process of its own"]
async fn in_little_room() {
    const ALL: u64 = 3000;
    let dir = tempfile::tempdir().unwrap();
    let journal = open(dir.path());
    let (early, path) = (journal.after(0), journal.path().to_owned());
    for n in 1..=ALL {
        assert_eq!(journal.emit(None, notice(n)), n);
    }
    let on_disk = read_after(&path, 0).unwrap();
    let written = on_disk.events.len() as u64;
    assert!((100..1000).contains(&written), "{written}");
    assert_eq!(on_disk.problems.total, 0, "whole lines only");
    let trouble = journal.trouble().unwrap();
    assert_eq!((trouble.waiting as u64, trouble.lost), (ALL - written, 0));
    assert!(trouble.reason.contains("events.jsonl"), "{}", trouble.reason);

    let late = journal.after(0);
    drop(journal);
    let (early, late) = (rest(early).await, rest(late).await);
    assert_eq!(numbers(&early), (1..=ALL).collect::<Vec<_>>());
    assert!(late == early);
    assert_eq!(on_disk.events, early[..on_disk.events.len()]);
}
