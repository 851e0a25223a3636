//! What the engine itself costs: a turn at 200 messages of history without model and tools (at
//! most 2 ms), and the memory of 100 background agents at once (at most 100 MB resident).
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

#[allow(dead_code)]
#[path = "../tests/turns/rig.rs"]
mod rig;

use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quarterdeck::agent::life::Doing;
use quarterdeck::protocol::op::When;
use quarterdeck::session::live::Live;
use rig::{Part, Rig, Script, calls, in_time, say, tell};
use serde_json::{Value, json};
use tokio::sync::Notify;

const HISTORY: usize = 200;
const TURNS: usize = 200;
const AGENTS: usize = 100;
/// With this argument the program is the process whose memory is measured.
const CHILD: &str = "be-the-hundred-agents";

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    if std::env::args().any(|argument| argument == CHILD) {
        return runtime.block_on(hundred());
    }
    runtime.block_on(overhead());
    let own = std::env::current_exe().unwrap();
    let ran = Command::new(own).arg(CHILD).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    print!("{}", String::from_utf8_lossy(&ran.stdout));
}

/// One turn, from the words that begin it to the moment the lead waits again.
async fn turn(live: &Live) -> Duration {
    let mut doing = live.doing();
    doing.mark_unchanged();
    let since = Instant::now();
    tell(live, "and then?", When::Next).await;
    let waits = |doing: &Doing| matches!(doing, Doing::Waiting { .. });
    in_time("a turn", async {
        loop {
            doing.changed().await.unwrap();
            if live.is_idle() && waits(&doing.borrow_and_update()) {
                break;
            }
        }
    })
    .await;
    since.elapsed()
}

async fn measured(live: &Live, count: usize) -> Vec<Duration> {
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        times.push(turn(live).await);
    }
    times.sort();
    times
}

async fn overhead() {
    let rig = Rig::new();
    let paragraph = "A sentence that is neither short nor long. ".repeat(20);
    let plain = || (0..HISTORY / 2 + TURNS).map(|_| say(&paragraph));
    let live = rig.start(&Script::of(plain())).await;
    measured(&live, HISTORY / 2).await;
    report("a turn of one answer", &measured(&live, TURNS).await);
    live.end().await;

    // A call that reaches no tool: its result, two requests, two answers.
    let rig = Rig::new();
    let ids: Vec<String> = (0..TURNS).map(|number| format!("call_{number}")).collect();
    let called = ids.iter().flat_map(|id| [calls(&[(id, "NoSuchTool", json!({}))]), say("so")]);
    let before = (0..HISTORY / 2).map(|_| say(&paragraph));
    let live = rig.start(&Script::of(before.chain(called))).await;
    measured(&live, HISTORY / 2).await;
    report("a turn with a round of calls", &measured(&live, TURNS).await);
    live.end().await;
}

fn report(what: &str, times: &[Duration]) {
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!(
        "{what}, after {HISTORY} messages and more: median {:?}, 95 of 100 within {:?} (budget 2 ms)",
        at(0.5),
        at(0.95)
    );
}

/// A lead that starts a hundred agents, all of which are in the middle of an answer at once.
async fn hundred() {
    let rig = Rig::new();
    let ids: Vec<String> = (0..AGENTS).map(|number| format!("call_{number}")).collect();
    let input = json!({
        "description": "work", "prompt": "Work for a while.",
        "subagent_type": "general-purpose", "run_in_background": true,
    });
    let uses: Vec<(&str, &str, Value)> =
        ids.iter().map(|id| (id.as_str(), "Agent", input.clone())).collect();
    let all: Vec<Arc<Notify>> = (0..=AGENTS).map(|_| Arc::new(Notify::new())).collect();
    let hang = all.iter().map(|reached| vec![Part::Hang(Arc::clone(reached))]);
    let script = Script::of(std::iter::once(calls(&uses)).chain(hang));
    let live = rig.start(&script).await;
    let before = resident("VmRSS:");
    tell(&live, "go", When::Next).await;
    // Whoever asks next is one of them or the lead, which has its results by then.
    for one in &all {
        in_time("all agents at work", one.notified()).await;
    }
    println!(
        "{AGENTS} background agents at once: {} MB resident at most, {} MB before (budget 100 MB)",
        resident("VmHWM:") / 1024,
        before / 1024
    );
    live.interrupt_all();
    live.end().await;
}

/// A figure of this process, in kB.
fn resident(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
