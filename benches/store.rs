//! What the store costs: the budgets of the design, measured.
//!
//! `cargo bench --bench store` runs everything; the last lines compare appending to an inbox with
//! what the reference program does, in Node, in the same run (left out without node and
//! proper-lockfile in target/node; `.ci/run` puts it there).
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use criterion::{BatchSize, BenchmarkId, Criterion};
use quarterdeck::protocol::ids::{AgentName, SessionId, TaskId, TeamDir, TeamName};
use quarterdeck::protocol::json;
use quarterdeck::protocol::message::Message;
use quarterdeck::protocol::task::Status;
use quarterdeck::protocol::time::Stamp;
use quarterdeck::settings::paths::Home;
use quarterdeck::store::mailbox::{Which, stamp};
use quarterdeck::store::roster::{Backend, NewMember, NewTeam};
use quarterdeck::store::tasks::{NewTask, TaskPatch};
use quarterdeck::store::watch::{Change, Watch};
use quarterdeck::store::{Durability, Store};
use tempfile::TempDir;

const INBOXES: [usize; 4] = [10, 100, 1_000, 10_000];
const LISTS: [usize; 3] = [10, 1_000, 5_000];

struct Deck {
    dir: TempDir,
    store: Store,
    team: TeamDir,
}

impl Deck {
    fn new(durability: Durability) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(Home::at(dir.path()), durability);
        let new = NewTeam {
            name: TeamName::new("t").unwrap(),
            description: None,
            lead_type: None,
            model: None,
            cwd: "/demo".into(),
            session: SessionId::found("s"),
            tasks: None,
        };
        let (team, _) = store.rosters().create(&new).unwrap();
        let bob = NewMember {
            name: bob(),
            agent_type: "general-purpose".into(),
            model: String::new(),
            prompt: String::new(),
            plan_mode_required: false,
            cwd: "/demo".into(),
            backend: Backend::InProcess,
        };
        store.rosters().join(&team, &bob).unwrap();
        Self { dir, store, team }
    }

    fn inbox(&self) -> PathBuf {
        self.store.home().inbox(&self.team, &bob())
    }

    /// Puts an inbox in the place of what is there. A new file: writing over an old one makes
    /// the file system flush it, and what is measured next would pay for that.
    fn fill_inbox(&self, text: &str) {
        let _ = fs::remove_file(self.inbox());
        fs::write(self.inbox(), text).unwrap();
    }

    /// How long `work` takes on an inbox that stays about this full.
    fn on_inbox(&self, rounds: u64, full: &str, mut work: impl FnMut()) -> Duration {
        let fresh_every = (full.len() as u64 / 2400).max(1);
        let mut took = Duration::ZERO;
        for round in 0..rounds {
            if round % fresh_every == 0 {
                self.fill_inbox(full);
            }
            let since = Instant::now();
            work();
            took += since.elapsed();
        }
        took
    }

    fn send(&self) {
        self.store.mail(&self.team).send(&bob(), message(stamp())).unwrap();
    }

    fn fill_tasks(&self, count: usize) {
        let list = self.store.tasks(&self.team);
        for at in 0..count {
            let before = (at % 10 > 0).then(|| TaskId::from(at as u64));
            let new = NewTask {
                subject: format!("Task {at}"),
                description: "Something that has to be done, in a sentence or two.".into(),
                blocked_by: before.into_iter().collect(),
                ..NewTask::default()
            };
            list.create(&new).unwrap();
        }
    }
}

fn bob() -> AgentName {
    AgentName::found("bob")
}

/// About 240 bytes in the file, as messages between agents are.
fn message(at: Stamp) -> Message {
    let text = "The totals are rounded twice, once per line and once in the sum; I left a test.";
    Message::new(&AgentName::lead(), text, at).summary(Some("rounded twice".into()))
}

fn inbox_of(count: usize) -> String {
    let all: Vec<Message> =
        (0..count).map(|at| message(Stamp::from_millis(1_794_798_293_900 + at as i64))).collect();
    json::to_pretty(&all)
}

fn inbox(c: &mut Criterion) {
    let deck = Deck::new(Durability::ProcessCrash);
    let mut group = c.benchmark_group("inbox/append");
    for count in INBOXES {
        let full = inbox_of(count);
        group.bench_with_input(BenchmarkId::from_parameter(count), &full, |b, full| {
            b.iter_custom(|rounds| deck.on_inbox(rounds, full, || deck.send()));
        });
    }
    group.finish();
    let safe = Deck::new(Durability::PowerLoss);
    c.bench_function("inbox/append with fsync/100", |b| {
        let full = inbox_of(100);
        b.iter_custom(|rounds| safe.on_inbox(rounds, &full, || safe.send()));
    });
    let mut group = c.benchmark_group("inbox/mark one read");
    for count in INBOXES {
        let full = inbox_of(count);
        let last = message(Stamp::from_millis(1_794_798_293_900 + count as i64 - 1)).id();
        let one = [last].into_iter().collect();
        group.bench_with_input(BenchmarkId::from_parameter(count), &full, |b, full| {
            let mark = |()| {
                let marked = deck.store.mail(&deck.team).mark_read(&bob(), &Which::These(&one));
                assert_eq!(marked.unwrap(), 1);
            };
            b.iter_batched(|| deck.fill_inbox(full), mark, BatchSize::PerIteration);
        });
    }
    group.finish();
    let mut group = c.benchmark_group("inbox/read");
    for count in INBOXES {
        deck.fill_inbox(&inbox_of(count));
        group.bench_function(BenchmarkId::from_parameter(count), |b| {
            b.iter(|| deck.store.mail(&deck.team).read(&bob()).unwrap().messages.len());
        });
    }
    group.finish();
}

fn tasks(c: &mut Criterion) {
    for count in LISTS {
        let deck = Deck::new(Durability::ProcessCrash);
        deck.fill_tasks(count);
        let list = deck.store.tasks(&deck.team);
        let id = TaskId::from(count as u64 / 2);
        let turn = |status| TaskPatch { status: Some(status), ..TaskPatch::default() };
        let mut statuses = [Status::InProgress, Status::Pending].into_iter().cycle();
        let mut change = || {
            list.update(&id, &turn(statuses.next().unwrap())).unwrap();
        };
        c.bench_function(&format!("tasks/update one/{count}"), |b| b.iter(&mut change));
        c.bench_function(&format!("tasks/load/{count}"), |b| {
            b.iter(|| {
                let fresh = Store::open(Home::at(deck.dir.path()), Durability::ProcessCrash);
                fresh.tasks(&deck.team).look(|tasks| tasks.iter().count()).unwrap()
            });
        });
        c.bench_function(&format!("tasks/look, nothing changed/{count}"), |b| {
            b.iter(|| list.look(|tasks| tasks.iter().count()).unwrap());
        });
        c.bench_function(&format!("tasks/look again after one change/{count}"), |b| {
            let again = || list.look_again(std::slice::from_ref(&id), |t| t.get(&id).is_some());
            b.iter_batched(&mut change, |()| assert!(again()), BatchSize::PerIteration);
        });
        c.bench_function(&format!("tasks/create and delete/{count}"), |b| {
            let create = || {
                let new = NewTask { subject: "one more".into(), ..NewTask::default() };
                list.create(&new).unwrap()
            };
            b.iter_custom(|rounds| {
                let mut took = Duration::ZERO;
                for _ in 0..rounds {
                    let since = Instant::now();
                    let made = create();
                    took += since.elapsed();
                    list.delete(&made.id).unwrap(); // the list stays as long as it was
                }
                took
            });
        });
    }
}

/// From a message on disk to the change in the hands of whoever waits for it.
fn watch(c: &mut Criterion) {
    let deck = Deck::new(Durability::ProcessCrash);
    deck.fill_inbox(&inbox_of(10));
    let mut changes = Watch::start(deck.store.home()).unwrap();
    c.bench_function("watch/message to change", |b| {
        b.iter_custom(|rounds| {
            let mut took = Duration::ZERO;
            for _ in 0..rounds {
                deck.send();
                let since = Instant::now();
                while !matches!(changes.next_blocking(), Some(Change::MailArrived { .. })) {}
                took += since.elapsed();
            }
            deck.fill_inbox(&inbox_of(10));
            took
        });
    });
}

/// The same append, ours and as the reference does it, one after the other on the same machine.
fn comparison() {
    const ROUNDS: usize = 200;
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut out = std::io::stdout().lock();
    let deck = Deck::new(Durability::ProcessCrash);
    writeln!(out, "\nappend to an inbox, median of {ROUNDS}, in microseconds").unwrap();
    writeln!(out, "{:>10} {:>10} {:>10}", "messages", "ours", "node").unwrap();
    for count in [10, 1_000, 10_000] {
        let full = inbox_of(count);
        let mut took: Vec<Duration> = (0..ROUNDS)
            .map(|_| {
                deck.fill_inbox(&full);
                let since = Instant::now();
                deck.send();
                since.elapsed()
            })
            .collect();
        took.sort();
        deck.fill_inbox(&full);
        let node = Command::new("node")
            .arg(root.join("benches/reference.js"))
            .arg(root.join("target/node/node_modules"))
            .arg(deck.inbox())
            .arg(ROUNDS.to_string())
            .output();
        let node = match node {
            Ok(ran) if ran.status.success() => String::from_utf8(ran.stdout).unwrap(),
            Ok(_) | Err(_) => "left out".into(),
        };
        let ours = took[ROUNDS / 2].as_micros();
        writeln!(out, "{count:>10} {ours:>10} {:>10}", node.trim()).unwrap();
    }
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    criterion = criterion.sample_size(30).measurement_time(Duration::from_secs(2));
    criterion = criterion.warm_up_time(Duration::from_millis(500));
    inbox(&mut criterion);
    tasks(&mut criterion);
    watch(&mut criterion);
    criterion.final_summary();
    if std::env::args().any(|arg| arg == "--bench") {
        comparison();
    }
}
