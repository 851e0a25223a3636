//! Many judges, in threads and processes: one verdict, one event, and the asker gets it.

use std::process::Stdio;
use std::sync::Arc;
use std::thread;

use quarterdeck::permission::desk::AskDesk;
use quarterdeck::protocol::ask::{Judge, Verdict};
use quarterdeck::protocol::event::Fact;
use quarterdeck::protocol::ids::AskId;
use quarterdeck::store::asks::{Asks, SettleError, Stale};

use super::bench::{Bench, agent, deny, in_time, session, store, until};
use crate::support::{say, soak};

const ROOT: &str = "QUARTERDECK_TEST_ROOT";
const ROUNDS: &str = "QUARTERDECK_TEST_ROUNDS";

fn id(round: usize) -> AskId {
    AskId::found(&format!("toolu_{round}@ada@crew"))
}

/// Settles each round's ask as soon as it is there. Returns how often it was the first.
fn judge(
    asks: &Asks,
    rounds: usize,
    settle: impl Fn(&AskId, u32) -> Result<(), SettleError>,
) -> usize {
    let mut won = 0;
    for round in 0..rounds {
        let id = id(round);
        until("the next ask", || asks.get(&id).is_ok_and(|found| found.is_some()));
        match settle(&id, 1) {
            Ok(()) => won += 1,
            Err(SettleError::Stale(Stale::Settled { .. })) => {}
            Err(error) => panic!("{error}"),
        }
    }
    won
}

fn foreign(asks: &Asks, rounds: usize, name: &str) -> usize {
    judge(asks, rounds, |id, rev| asks.settle(id, rev, deny(name), Judge::Human).map(|_| ()))
}

/// Not a test of its own: the other process of the one below.
#[test]
#[ignore = "run by another test"]
fn the_other_process() {
    let root = std::path::PathBuf::from(std::env::var_os(ROOT).unwrap());
    let rounds = std::env::var(ROUNDS).unwrap().parse().unwrap();
    let won = foreign(&Asks::new(&store(&root), &session()), rounds, "process");
    std::fs::write(root.join("won"), won.to_string()).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_judges_in_two_processes_exactly_one_is_heard() {
    let rounds = if soak() { 2_000 } else { 200 };
    let bench = Bench::new();
    let desk = bench.open();
    let mut other = std::process::Command::new(std::env::current_exe().unwrap());
    other.args(["--ignored", "--exact", "desk::race::the_other_process"]);
    other.env(ROOT, &bench.root).env(ROUNDS, rounds.to_string());
    let mut other = other.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let own = |name: &'static str| {
        let (desk, asks): (Arc<AskDesk>, Asks) = (Arc::clone(&desk), bench.asks());
        thread::spawn(move || {
            judge(&asks, rounds, |id, rev| desk.settle(id, rev, deny(name), Judge::Human))
        })
    };
    let judges = [own("one"), own("two")];
    let asks = bench.asks();
    let third = thread::spawn(move || foreign(&asks, rounds, "store"));
    let mut verdicts = Vec::new();
    for round in 0..rounds {
        let ask = bench.ask(&agent("ada"), &format!("toolu_{round}"), "make all");
        verdicts.push(in_time(bench.put(&desk, &ask)).await.verdict);
    }
    let [one, two] = judges.map(|judge| judge.join().unwrap());
    let third = third.join().unwrap();
    assert!(tokio::task::spawn_blocking(move || other.wait()).await.unwrap().unwrap().success());
    let other: usize = std::fs::read_to_string(bench.root.join("won")).unwrap().parse().unwrap();
    say(&format!("{rounds} asks: desk {one} and {two}, store {third}, process {other}"));
    assert_eq!(one + two + third + other, rounds, "each ask has one winner");
    let told: Vec<(AskId, Verdict)> = bench
        .facts()
        .into_iter()
        .filter_map(|fact| {
            if let Fact::Settled { ask, verdict, .. } = fact { Some((ask, verdict)) } else { None }
        })
        .collect();
    let wanted: Vec<(AskId, Verdict)> =
        verdicts.into_iter().enumerate().map(|(round, verdict)| (id(round), verdict)).collect();
    assert_eq!(told, wanted, "told once each, and the asker got it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_and_a_person_at_once_settle_an_ask_once() {
    let bench = Bench::new();
    let desk = bench.open();
    for round in 0..20 {
        let ask = bench.ask(&agent("ada"), &format!("toolu_{round}"), &format!("make {round}"));
        let waiting = bench.put(&desk, &ask);
        bench.is_open(&ask);
        let (desk, id) = (Arc::clone(&desk), ask.id.clone());
        let person = thread::spawn({
            let desk = Arc::clone(&desk);
            move || desk.settle(&id, 1, deny("no"), Judge::Human).is_ok()
        });
        let permit = super::bench::rule(&format!("Bash(make {round})"));
        desk.give(&permit, None, quarterdeck::protocol::ask::Lasts::Session);
        let by_person = person.join().unwrap();
        let settled = in_time(waiting).await;
        assert_eq!(by_person, settled.by == Judge::Human, "{settled:?}");
        assert_eq!(bench.settled(&ask.id), 1);
    }
}
