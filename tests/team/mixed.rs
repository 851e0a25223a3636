//! Mail that is pushed within this process and mail that another one writes, to the same reader:
//! each message once, those of one sender in the order in which they were sent, and no more in
//! memory than may be.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use quarterdeck::protocol::ids::{AgentName, TeamDir};
use quarterdeck::protocol::message::Message;
use quarterdeck::session::live::Live;
use quarterdeck::store::mailbox::stamp;
use quarterdeck::store::{Durability, Store};
use quarterdeck::team::post::Post;

use super::rig::{
    Asked, Cast, Gate, Rig, behind, one, quiet, say, spawn, team_of, tell, until, whole,
};
use super::stage::Dice;
use crate::support::soak;

/// Numbers by sender, as a reader's model sees them.
#[derive(Clone, Default)]
struct Heard {
    numbers: Arc<Mutex<HashMap<String, Vec<usize>>>>,
    read: Arc<Mutex<usize>>,
}

impl Heard {
    /// Takes up what is new in a request.
    fn hear(&self, asked: &Asked) {
        let all = asked.request.messages.entries();
        let mut read = self.read.lock().unwrap();
        for entry in &all[*read..] {
            let text = whole(&entry.message);
            for (at, _) in text.match_indices(" number ") {
                let sender = text[..at].rsplit(|c: char| !c.is_alphanumeric()).next().unwrap();
                let digits = text[at + 8..].split('.').next().unwrap();
                let mut numbers = self.numbers.lock().unwrap();
                numbers.entry(sender.to_owned()).or_default().push(digits.parse().unwrap());
            }
        }
        *read = all.len();
    }

    fn of(&self, sender: &str) -> Vec<usize> {
        self.numbers.lock().unwrap().get(sender).cloned().unwrap_or_default()
    }
}

/// Two ways to the same inbox.
#[derive(Clone)]
struct Ways {
    post: Arc<Post>,
    other: Store,
    team: TeamDir,
}

impl Ways {
    fn of(rig: &Rig, live: &Live) -> Self {
        let post = Arc::clone(&live.team().roll().unwrap().post);
        // Another process has locks and caches of its own.
        let other = Store::open(rig.store.home().clone(), Durability::ProcessCrash);
        Self { post, other, team: team_of(live) }
    }

    fn push(&self, live: &Live, from: &str, number: usize) {
        let roster = self.post.roster().unwrap();
        let (by, from, to) = (one(live, from), AgentName::found(from), AgentName::found("bob"));
        self.post.send(&roster, &by, &from, &to, &words(&from, number), None).unwrap();
    }

    fn write(&self, from: &str, number: usize) {
        let from = AgentName::found(from);
        let message = Message::new(&from, words(&from, number), stamp());
        self.other.mail(&self.team).send(&AgentName::found("bob"), message).unwrap();
    }
}

fn words(from: &AgentName, number: usize) -> String {
    format!("={from} number {number}.")
}

#[tokio::test(flavor = "multi_thread")]
async fn whichever_way_it_comes_each_is_heard_once_and_in_the_order_of_its_sender() {
    let total = if soak() { 2000 } else { 150 };
    let rig = Rig::new();
    let heard = Heard::default();
    let hears = heard.clone();
    let cast = Cast::forgetful(move |asked| {
        if asked.agent == "bob" {
            hears.hear(asked);
        }
        say("ok")
    });
    let live = Arc::new(rig.start(&cast).await);
    for name in ["bob", "alice", "carol"] {
        spawn(&live, name, "Wait.").await;
    }
    quiet(&live).await;
    let sending = ["alice", "carol", "team-lead"].into_iter().enumerate().map(|(seed, from)| {
        let (ways, live) = (Ways::of(&rig, &live), Arc::clone(&live));
        tokio::task::spawn_blocking(move || {
            let mut dice = Dice(0x9E37_79B9_7F4A_7C15 + seed as u64);
            for number in 0..total {
                match dice.below(2) {
                    0 => ways.push(&live, from, number),
                    _ => ways.write(from, number),
                }
            }
        })
    });
    for sender in sending.collect::<Vec<_>>() {
        sender.await.unwrap();
    }
    for from in ["alice", "carol", "team-lead"] {
        let short = from.rsplit('-').next().unwrap();
        until("all mail", || heard.of(short).len() >= total).await;
        assert_eq!(heard.of(short), (0..total).collect::<Vec<_>>(), "{from}");
    }
    quiet(&live).await;
    Arc::into_inner(live).unwrap().end().await;
}

/// More than a queue and a tray hold, while the reader is busy: what is too much waits in the file.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_much_for_memory_waits_in_the_file_and_comes_in_its_order() {
    const MOST: usize = 1024;
    let total = if soak() { 4 * MOST } else { MOST + 400 };
    let rig = Rig::new();
    let (heard, gate) = (Heard::default(), Gate::default());
    let batches = Arc::new(Mutex::new(Vec::new()));
    let (hears, held, counts) = (heard.clone(), gate.clone(), Arc::clone(&batches));
    let cast = Cast::forgetful(move |asked| {
        if asked.agent != "bob" {
            return say("ok");
        }
        let before = hears.of("alice").len();
        hears.hear(asked);
        counts.lock().unwrap().push(hears.of("alice").len() - before);
        match asked.newest().contains("begin now") {
            true => behind(&held, say("done with that")),
            false => say("ok"),
        }
    });
    let live = Arc::new(rig.start(&cast).await);
    for name in ["bob", "alice"] {
        spawn(&live, name, "Wait.").await;
    }
    quiet(&live).await;
    tell(&live, one(&live, "bob"), "begin now").await;
    gate.reached.notified().await;
    let (ways, sender) = (Ways::of(&rig, &live), Arc::clone(&live));
    let sending = tokio::task::spawn_blocking(move || {
        for number in 0..total {
            // A few by another process: also those that are pushed behind them wait for them.
            match number % 100 {
                99 => ways.write("alice", number),
                _ => ways.push(&sender, "alice", number),
            }
        }
    });
    sending.await.unwrap();
    let bob = live.team().roll().unwrap().member(&AgentName::found("bob")).unwrap();
    until("a full queue", || !bob.agent.queue.has_room()).await;
    gate.open.notify_one();
    until("all mail", || heard.of("alice").len() >= total).await;
    quiet(&live).await;
    assert_eq!(heard.of("alice"), (0..total).collect::<Vec<_>>(), "each once, in order");
    let batches = batches.lock().unwrap().clone();
    assert_eq!(batches.iter().max(), Some(&MOST), "no more at once: {batches:?}");
    let ways = Ways::of(&rig, &live);
    assert_eq!(ways.post.unread(&AgentName::found("bob")).unwrap(), vec![], "all is marked");
    drop((bob, ways));
    Arc::into_inner(live).unwrap().end().await;
}
