//! One queue: put, wait, settled once, gone on with after a restart.

use std::fs;
use std::time::{Duration, Instant};

use quarterdeck::protocol::ask::{Ask, Judge, Question, Reason, Risk, Verdict};
use quarterdeck::protocol::event::Fact;
use quarterdeck::store::asks::{AskState, SettleError, Stale};
use quarterdeck::store::journal::Journal;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::bench::{Bench, agent, allow, deny, in_time, session, until};
use crate::support::say;

#[test]
fn an_ask_says_who_what_why_and_what_may_be_answered() {
    let bench = Bench::new();
    let ask = bench.ask(&agent("ada"), "toolu_1", "cargo test && make all");
    let wire = serde_json::to_value(&ask).unwrap();
    assert_eq!(wire["id"], "toolu_1@ada@crew");
    assert_eq!(wire["chain"], json!(["ada@crew", "team-lead@crew"]));
    assert_eq!((&wire["color"], ask.risk), (&json!("blue"), Risk::Medium));
    assert_eq!(wire["why"]["kind"], "no_rule");
    assert_eq!(wire["question"]["input"]["command"], "cargo test && make all");
    assert_eq!(wire["suggestions"][0]["type"], "addRules");
    let labels: Vec<&str> = ask.choices.iter().map(|choice| choice.label.as_str()).collect();
    assert_eq!((labels[0], labels[labels.len() - 1]), ("Yes, once", "No"));
    assert!(labels[1].contains("Bash(cargo test:*), Bash(make all:*)"), "{labels:?}");
    let given = &wire["choices"][1]["verdict"]["grant"];
    assert_eq!(
        given["permits"],
        json!([{"rule": "Bash(cargo test:*)"}, {"rule": "Bash(make all:*)"}])
    );
    assert_eq!((&given["to"], &given["lasts"]), (&json!("asker"), &json!("session")));
    assert_eq!(serde_json::from_value::<Ask>(wire).unwrap(), ask);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verdict_reaches_the_asker_and_the_journal_once() {
    let bench = Bench::new();
    let desk = bench.open();
    let ask = bench.ask(&agent("ada"), "toolu_1", "make all");
    let waiting = bench.put(&desk, &ask);
    bench.is_open(&ask);
    desk.settle(&ask.id, 1, deny("not now"), Judge::Human).unwrap();
    let later = desk.settle(&ask.id, 1, allow(), Judge::Human).unwrap_err();
    assert!(matches!(later, SettleError::Stale(Stale::Settled { .. })), "{later}");
    let settled = in_time(waiting).await;
    assert_eq!((settled.verdict, settled.by), (deny("not now"), Judge::Human));
    assert_eq!((bench.asked(&ask.id), bench.settled(&ask.id)), (1, 1));
    assert!(desk.open_asks().unwrap().asks.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn another_question_under_the_same_id_is_a_new_version_and_old_verdicts_are_refused() {
    let bench = Bench::new();
    let desk = bench.open();
    let one = bench.ask(&agent("ada"), "toolu_1", "make all");
    let two = bench.ask(&agent("ada"), "toolu_1", "make clean");
    let first = bench.put(&desk, &one);
    bench.is_open(&one);
    let second = bench.put(&desk, &two);
    assert!(matches!(in_time(first).await.verdict, Verdict::Withdrawn { .. }));
    let old = desk.settle(&one.id, 1, allow(), Judge::Human).unwrap_err();
    assert!(matches!(old, SettleError::Stale(Stale::Changed { rev: 2, .. })), "{old}");
    desk.settle(&one.id, 2, deny("no"), Judge::Human).unwrap();
    assert_eq!(in_time(second).await.rev, 2);
    // The verdict has been used: the very same question is put anew.
    let third = bench.put(&desk, &two);
    until("version 3", || bench.asks().get(&two.id).unwrap().is_some_and(|it| it.ask.rev == 3));
    desk.settle(&one.id, 3, allow(), Judge::Human).unwrap();
    assert_eq!(in_time(third).await.verdict, allow());
    assert_eq!((bench.asked(&one.id), bench.settled(&one.id)), (3, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verdict_that_comes_through_the_files_is_noticed_by_push() {
    let bench = Bench::new();
    let desk = bench.open();
    let others = bench.asks();
    let mut took = Vec::new();
    for round in 0..21 {
        let ask = bench.ask(&agent("ada"), &format!("toolu_{round}"), "make all");
        let waiting = bench.put(&desk, &ask);
        bench.is_open(&ask);
        let since = Instant::now();
        others.settle(&ask.id, 1, allow(), Judge::Human).unwrap();
        assert_eq!(in_time(waiting).await.verdict, allow());
        took.push(since.elapsed());
        assert_eq!(bench.settled(&ask.id), 1);
    }
    took.sort();
    say(&format!("a verdict through the files: median {:?}, worst {:?}", took[10], took[20]));
    assert!(took[10] < Duration::from_secs(1), "by the scan, not by push: {took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_that_goes_away_loses_no_question() {
    let bench = Bench::new();
    let desk = bench.open();
    let ask = bench.ask(&agent("ada"), "toolu_1", "make all");
    let waiting = bench.put(&desk, &ask);
    bench.is_open(&ask);
    let since = Instant::now();
    fs::rename(bench.home().asks(&session()), bench.root.join("away")).unwrap();
    until("the ask again", || bench.asks().get(&ask.id).is_ok_and(|found| found.is_some()));
    say(&format!("a directory that went away is back after {:?}", since.elapsed()));
    bench.asks().settle(&ask.id, 1, allow(), Judge::Human).unwrap();
    assert_eq!(in_time(waiting).await.verdict, allow());
    assert_eq!((bench.asked(&ask.id), bench.settled(&ask.id)), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_file_is_put_down_again() {
    let bench = Bench::new();
    let desk = bench.open();
    let ask = bench.ask(&agent("ada"), "toolu_1", "make all");
    let waiting = bench.put(&desk, &ask);
    bench.is_open(&ask);
    fs::write(bench.home().ask(&session(), &ask.id), "{").unwrap();
    until("the ask again", || bench.asks().get(&ask.id).is_ok());
    bench.asks().settle(&ask.id, 1, allow(), Judge::Human).unwrap();
    assert_eq!(in_time(waiting).await.verdict, allow());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_stops_withdraws_and_who_only_goes_leaves_the_question() {
    let bench = Bench::new();
    let desk = bench.open();
    let (one, two) = (
        bench.ask(&agent("ada"), "toolu_1", "make all"),
        bench.ask(&agent("bob"), "toolu_1", "make all"),
    );
    let stop = CancellationToken::new();
    let stopped = bench.put_until(&desk, &one, stop.clone());
    let dropped = bench.put(&desk, &two);
    bench.is_open(&one);
    bench.is_open(&two);
    stop.cancel();
    let settled = in_time(stopped).await;
    assert_eq!(settled.verdict, Verdict::Withdrawn { why: "interrupted".into() });
    assert_eq!((settled.by, bench.settled(&one.id)), (Judge::Asker, 1));
    dropped.abort();
    assert!(dropped.await.unwrap_err().is_cancelled());
    assert_eq!(desk.open_asks().unwrap().asks, [two]);
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_restart_an_open_ask_goes_on_and_is_not_told_twice() {
    let bench = Bench::new();
    let ask = bench.ask(&agent("ada"), "toolu_1", "make all");
    let desk = bench.open();
    let waiting = bench.put(&desk, &ask);
    bench.is_open(&ask);
    waiting.abort();
    drop(desk);
    let desk = bench.open();
    assert_eq!(desk.open_asks().unwrap().asks, std::slice::from_ref(&ask));
    let waiting = bench.put(&desk, &ask);
    desk.settle(&ask.id, 1, allow(), Judge::Human).unwrap();
    assert_eq!(in_time(waiting).await.verdict, allow());
    assert_eq!((bench.asked(&ask.id), bench.settled(&ask.id)), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verdict_given_while_nobody_ran_counts_once() {
    let bench = Bench::new();
    let (one, two) = (
        bench.ask(&agent("ada"), "toolu_1", "make all"),
        bench.ask(&agent("ada"), "toolu_2", "make all"),
    );
    let desk = bench.open();
    let waiting = [bench.put(&desk, &one), bench.put(&desk, &two)];
    bench.is_open(&one);
    bench.is_open(&two);
    waiting.iter().for_each(tokio::task::JoinHandle::abort);
    drop(desk);
    bench.asks().settle(&one.id, 1, allow(), Judge::Human).unwrap();
    let gone = Verdict::Withdrawn { why: "the process ended".into() };
    bench.asks().settle(&two.id, 1, gone, Judge::Asker).unwrap();
    for _ in 0..2 {
        let desk = bench.open();
        assert_eq!((bench.settled(&one.id), bench.settled(&two.id)), (1, 1), "told on opening");
        drop(desk);
    }
    let desk = bench.open();
    // Allowed and not started: it runs. Withdrawn: it is asked again.
    assert_eq!(in_time(bench.put(&desk, &one)).await.verdict, allow());
    let again = bench.put(&desk, &two);
    until("version 2", || bench.asks().get(&two.id).unwrap().is_some_and(|it| it.ask.rev == 2));
    desk.settle(&two.id, 2, deny("no"), Judge::Human).unwrap();
    assert_eq!(in_time(again).await.verdict, deny("no"));
    assert_eq!((bench.settled(&one.id), bench.settled(&two.id)), (1, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verdict_given_before_a_restart_is_for_the_same_question_and_the_same_reason() {
    let bench = Bench::new();
    let before = bench.ask(&agent("ada"), "toolu_1", "make all");
    let other_why = Reason { rule: Some("it leads elsewhere".into()), ..before.why.clone() };
    let changed = [
        Ask { question: bench.ask(&agent("ada"), "toolu_1", "make it").question, ..before.clone() },
        Ask { why: other_why, ..before.clone() },
        Ask { cwd: bench.root.clone(), ..before.clone() },
    ];
    for (ask, rev) in changed.iter().zip([1, 3, 5]) {
        let desk = bench.open();
        let first = bench.put(&desk, &before);
        let is_at = |rev| {
            let record = bench.asks().get(&before.id).unwrap();
            record.is_some_and(|it| it.ask.rev == rev && it.state == AskState::Open)
        };
        until("the question", || is_at(rev));
        first.abort();
        drop(desk);
        bench.asks().settle(&before.id, rev, allow(), Judge::Human).unwrap();
        let desk = bench.open();
        let again = bench.put(&desk, ask);
        until("the other question", || is_at(rev + 1));
        desk.settle(&before.id, rev + 1, deny("not this"), Judge::Human).unwrap();
        assert_eq!(in_time(again).await.verdict, deny("not this"), "{ask:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verdict_whose_tool_has_started_is_used_up() {
    let bench = Bench::new();
    let ask = bench.ask(&agent("ada"), "toolu_1", "make all");
    let desk = bench.open();
    let waiting = bench.put(&desk, &ask);
    bench.is_open(&ask);
    desk.settle(&ask.id, 1, allow(), Judge::Human).unwrap();
    in_time(waiting).await;
    drop(desk);
    let open =
        || Journal::open(&bench.home(), &session(), quarterdeck::store::Durability::ProcessCrash);
    until("the journal", || open().is_ok());
    let journal = open().unwrap();
    let Question::Tool { use_id, name, input } = ask.question.clone() else { panic!("{ask:?}") };
    let started = Fact::ToolStarted { use_id, tool: name, summary: "make all".into(), input };
    journal.emit(Some(&agent("ada")), started);
    drop(journal);
    let desk = bench.open();
    let again = bench.put(&desk, &ask);
    until("version 2", || bench.asks().get(&ask.id).unwrap().is_some_and(|it| it.ask.rev == 2));
    desk.settle(&ask.id, 2, deny("once is enough"), Judge::Human).unwrap();
    assert_eq!(in_time(again).await.verdict, deny("once is enough"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_cannot_be_put_is_withdrawn_and_says_why() {
    let bench = Bench::new();
    let desk = bench.open();
    let dir = bench.home().asks(&session());
    fs::remove_dir_all(&dir).unwrap();
    // The watch makes the directory anew, so keep at it.
    until("a file in its place", || {
        let _ = fs::remove_dir_all(&dir);
        fs::write(&dir, "in the way").is_ok()
    });
    let ask = bench.ask(&agent("ada"), "toolu_1", "make all");
    let settled = in_time(bench.put(&desk, &ask)).await;
    let Verdict::Withdrawn { why } = &settled.verdict else { panic!("{settled:?}") };
    assert!(why.starts_with("the question could not be asked: "), "{why}");
    assert!(bench.notices().iter().any(|text| text.starts_with("An agent cannot ask: ")));
    assert_eq!(bench.settled(&ask.id), 0);
}
