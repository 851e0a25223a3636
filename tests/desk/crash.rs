//! A process that is killed with asks open: nothing asked is lost.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use quarterdeck::protocol::ask::{Grantee, Judge, Lasts};
use quarterdeck::protocol::event::Fact;

use super::bench::{Bench, agent, allow_with, deny, in_time, rule, session, store, until};
use quarterdeck::store::asks::Asks;

const ROOT: &str = "QUARTERDECK_TEST_ROOT";
const ASKS: usize = 5;

/// Not a test of its own: holds asks until it is killed.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "run by another test"]
async fn a_process_that_asks() {
    let root = PathBuf::from(std::env::var_os(ROOT).unwrap());
    let desk = super::bench::desk_at(&root).unwrap();
    let bench = Bench::beside(root);
    let waiting: Vec<_> = (0..ASKS)
        .map(|n| bench.put(&desk, &bench.ask(&agent("ada"), &format!("toolu_{n}"), "make all")))
        .collect();
    for one in waiting {
        let _ = one.await;
    }
    std::future::pending::<()>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn asks_of_a_killed_process_are_open_answered_and_settled_once() {
    let bench = Bench::new();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--ignored", "--exact", "desk::crash::a_process_that_asks"]);
    child.env(ROOT, &bench.root).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = child.spawn().unwrap();
    let asks = Asks::new(&store(&bench.root), &session());
    until("all asks", || asks.open().is_ok_and(|open| open.asks.len() == ASKS));
    child.kill().unwrap();
    child.wait().unwrap();

    let mut open = asks.open().unwrap().asks;
    open.sort_by(|one, two| one.id.cmp(&two.id));
    // One is answered while nobody runs, with a grant, which covers none of the others' agent.
    let lasting = allow_with(rule("Bash(make none:*)"), Grantee::Team, Lasts::Session);
    asks.settle(&open[0].id, 1, lasting.clone(), Judge::Human).unwrap();
    let desk = bench.open();
    assert_eq!(desk.open_asks().unwrap().asks.len(), ASKS - 1);
    assert_eq!(desk.grants().len(), 1, "the grant is applied by whoever runs the session");
    let waiting: Vec<_> = open.iter().map(|ask| bench.put(&desk, ask)).collect();
    for ask in &open[1..] {
        desk.settle(&ask.id, 1, deny("no"), Judge::Human).unwrap();
    }
    for (n, one) in waiting.into_iter().enumerate() {
        let wanted = if n == 0 { lasting.clone() } else { deny("no") };
        assert_eq!(in_time(one).await.verdict, wanted);
    }
    for ask in &open {
        assert_eq!((bench.asked(&ask.id), bench.settled(&ask.id)), (1, 1), "{}", ask.id);
    }
    assert_eq!(bench.count(|fact| matches!(fact, Fact::Granted { .. })), 1);
    drop(desk);
    let again = bench.open();
    assert_eq!(bench.count(|fact| matches!(fact, Fact::Granted { .. })), 1);
    assert_eq!(again.grants().len(), 1);
}
