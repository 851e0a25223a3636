//! Asks: settled once, in the version that was seen, whoever else answers.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Barrier;

use quarterdeck::protocol::ask::{Ask, Judge, Question, Reason, Risk, Verdict};
use quarterdeck::protocol::ids::{AgentId, AskId, SessionId};
use quarterdeck::protocol::time::Stamp;
use quarterdeck::settings::paths::Home;
use quarterdeck::store::asks::{AskState, Asks, SettleError, Stale};
use quarterdeck::store::{Durability, Store, StoreError};
use serde_json::json;

use crate::support::mode;

fn asks(root: &Path) -> Asks {
    let store = Store::open(Home::at(root), Durability::ProcessCrash);
    Asks::new(&store, &SessionId::found("s1"))
}

fn file(root: &Path, id: &str) -> PathBuf {
    Home::at(root).ask(&SessionId::found("s1"), &AskId::found(id))
}

fn ask(id: &str, at: i64) -> Ask {
    Ask {
        id: AskId::found(id),
        rev: 1,
        chain: vec![AgentId::parse("ada@crew").unwrap(), AgentId::parse("team-lead@crew").unwrap()],
        at: Stamp::from_millis(at),
        cwd: PathBuf::from("/demo"),
        why: Reason { description: Some("clean up".into()), ..Reason::default() },
        color: None,
        risk: Risk::default(),
        question: Question::Tool {
            use_id: "toolu_1".into(),
            name: "Bash".into(),
            input: json!({ "command": "rm -r out", "timeout": 1.5 }),
        },
        choices: vec![],
        suggestions: vec![],
        scopes: vec![],
        lines: vec![],
    }
}

fn deny(why: &str) -> Verdict {
    Verdict::Deny { why: Some(why.to_owned()) }
}

fn stale(error: SettleError) -> Stale {
    match error {
        SettleError::Stale(stale) => stale,
        SettleError::Store(error) => panic!("{error}"),
    }
}

#[test]
fn an_ask_is_open_then_settled_then_kept() {
    let dir = tempfile::tempdir().unwrap();
    let asks = asks(dir.path());
    assert_eq!(asks.open().unwrap().asks, [], "no directory yet");
    let (one, path) = (ask("shutdown-1@ada", 5), file(dir.path(), "shutdown-1@ada"));
    asks.raise(&one).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("{\n  \"ask\": {\n    \"id\": \"shutdown-1@ada\","), "{text}");
    assert!(text.ends_with("  },\n  \"state\": \"open\"\n}"), "{text}");
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    assert_eq!(asks.open().unwrap().asks, std::slice::from_ref(&one));

    let record = asks.settle(&one.id, 1, deny("no"), Judge::Human).unwrap();
    assert_eq!(record.ask, one);
    let text = fs::read_to_string(&path).unwrap();
    let keys = ["\"state\": \"settled\"", "\"verdict\": {", "\"by\": {", "\"settledAt\": \"20"];
    let places: Vec<_> = keys.iter().map(|key| text.find(key).expect(key)).collect();
    assert!(places.is_sorted(), "{text}");
    assert_eq!(asks.get(&one.id).unwrap(), Some(record));
    assert_eq!(asks.open().unwrap().asks, []);
}

#[test]
fn an_id_is_given_once() {
    let dir = tempfile::tempdir().unwrap();
    let asks = asks(dir.path());
    let one = ask("a", 1);
    asks.raise(&one).unwrap();
    let twice = asks.raise(&Ask { at: Stamp::from_millis(9), ..one.clone() });
    assert!(matches!(&twice, Err(StoreError::AskExists(id)) if *id == one.id), "{twice:?}");
    asks.settle(&one.id, 1, deny("no"), Judge::Human).unwrap();
    assert!(matches!(asks.raise(&one), Err(StoreError::AskExists(_))), "settled ones count too");
    assert_eq!(asks.get(&one.id).unwrap().unwrap().ask, one);
}

#[test]
fn a_verdict_counts_only_for_the_version_it_was_given_for() {
    let dir = tempfile::tempdir().unwrap();
    let asks = asks(dir.path());
    let one = ask("a", 1);
    let unknown = asks.settle(&one.id, 1, deny("no"), Judge::Human).unwrap_err();
    assert_eq!(stale(unknown), Stale::Unknown { ask: one.id.clone() });
    assert_eq!(stale(asks.revise(&one).unwrap_err()), Stale::Unknown { ask: one.id.clone() });

    asks.raise(&one).unwrap();
    let changed = |rev| Stale::Changed { ask: one.id.clone(), rev };
    for rev in [0, 1, 3] {
        let wrong = Ask { rev, ..one.clone() };
        assert_eq!(stale(asks.revise(&wrong).unwrap_err()), changed(1), "revision to {rev}");
    }
    let two = Ask { rev: 2, cwd: PathBuf::from("/elsewhere"), ..one.clone() };
    asks.revise(&two).unwrap();
    for rev in [1, 3] {
        let error = asks.settle(&one.id, rev, deny("no"), Judge::Human).unwrap_err();
        assert_eq!(stale(error), changed(2), "verdict on {rev}");
    }
    assert_eq!(asks.open().unwrap().asks, std::slice::from_ref(&two), "nothing has changed");

    let by = Judge::Policy { name: "no deletions".into() };
    let record = asks.settle(&one.id, 2, deny("no"), by.clone()).unwrap();
    let AskState::Settled { settled_at: at, .. } = record.state else { panic!("{record:?}") };
    let settled = Stale::Settled { ask: one.id.clone(), by, at };
    let later = asks.settle(&one.id, 2, deny("other"), Judge::Human).unwrap_err();
    assert!(later.to_string().contains("by the policy `no deletions` at 20"), "{later}");
    assert_eq!(stale(later), settled);
    assert_eq!(stale(asks.revise(&Ask { rev: 3, ..two }).unwrap_err()), settled);
}

#[test]
fn of_many_judges_exactly_one_wins() {
    let dir = tempfile::tempdir().unwrap();
    for round in 0..10 {
        let one = ask(&format!("round {round}"), round);
        asks(dir.path()).raise(&one).unwrap();
        let start = Barrier::new(8);
        let outcomes: Vec<_> = std::thread::scope(|scope| {
            let judge = |n: usize| {
                let (start, id) = (&start, &one.id);
                // Each with a store of its own, as processes have.
                let asks = asks(dir.path());
                scope.spawn(move || {
                    start.wait();
                    asks.settle(id, 1, deny(&n.to_string()), Judge::Human)
                })
            };
            let judges: Vec<_> = (0..8).map(judge).collect();
            judges.into_iter().map(|judge| judge.join().unwrap()).collect()
        });
        let (won, lost): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(Result::is_ok);
        let [Ok(winner)] = &won[..] else { panic!("{} winners", won.len()) };
        assert_eq!(asks(dir.path()).get(&one.id).unwrap().as_ref(), Some(winner));
        for error in lost.into_iter().map(Result::unwrap_err) {
            assert!(matches!(stale(error), Stale::Settled { .. }));
        }
    }
}

#[test]
fn the_oldest_comes_first_and_a_broken_file_hides_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let asks = asks(dir.path());
    for (id, at) in [("b", 7), ("c", 3), ("a", 7), ("../../out", 1), ("broken", 2)] {
        asks.raise(&ask(id, at)).unwrap();
    }
    let broken = file(dir.path(), "broken");
    fs::write(&broken, "{ \"ask\": {").unwrap();
    let copy = broken.with_file_name("copy of a.json");
    fs::copy(file(dir.path(), "a"), &copy).unwrap();
    fs::write(broken.with_file_name(".x.json.tmp"), "half").unwrap();

    let open = asks.open().unwrap();
    let ids: Vec<&str> = open.asks.iter().map(|ask| ask.id.as_str()).collect();
    assert_eq!(ids, ["../../out", "c", "a", "b"]);
    let mut named: Vec<String> = open.problems.iter().map(ToString::to_string).collect();
    named.sort();
    assert_eq!(named.len(), 2, "{named:?}");
    assert!(named[0].contains("broken.json: broken: "), "{}", named[0]);
    assert!(named[1].contains("copy of a.json: broken: it holds the ask `a`"), "{}", named[1]);
    assert!(broken.exists() && copy.exists());
    let error = asks.settle(&AskId::found("broken"), 1, deny("no"), Judge::Human).unwrap_err();
    assert!(matches!(error, SettleError::Store(StoreError::Broken { .. })), "{error}");
}
