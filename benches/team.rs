//! What a team costs: from one teammate's answer that sends a message to the request that shows
//! it to its receiver's model (at most 2 ms at the median, 20 ms for 99 of 100), teammates that
//! do nothing (200 of them: at most 150 MB resident, less than 1 % of a processor), and a
//! question that is answered at once.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::print_stdout)]
#![allow(clippy::wildcard_enum_match_arm, clippy::disallowed_methods)]

#[allow(dead_code)]
#[path = "../tests/team"]
mod team {
    pub mod rig;
    pub mod ring;
}

use std::process::Command;
use std::time::{Duration, Instant};

use futures::StreamExt;
use quarterdeck::protocol::ask::Verdict;
use quarterdeck::protocol::event::Fact;
use quarterdeck::protocol::op::{Mode, Op};
use serde_json::json;
use team::rig::{Cast, Rig, call, in_time, one, quiet, say, spawn, tell};
use team::ring::Ring;

const IDLE: usize = 200;
const ASKS: usize = 200;
/// With this argument the program is the process whose memory is measured.
const CHILD: &str = "be-the-idle-team";

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    if std::env::args().any(|argument| argument == CHILD) {
        return runtime.block_on(idle());
    }
    // As criterion takes it: `cargo bench --bench team -- ring`.
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let is_wanted =
        |what: &str| wanted.as_ref().is_none_or(|wanted| what.contains(wanted.as_str()));
    runtime.block_on(async {
        if is_wanted("ring") {
            ring(
                "one message at a time (budget 2 ms, 20 ms)",
                Ring { members: 50, rounds: 200, tokens: 1 },
                500,
            )
            .await;
            ring("fifty at a time", Ring { members: 50, rounds: 20, tokens: 50 }, 0).await;
        }
        if is_wanted("asks") {
            asks().await;
        }
    });
    if !is_wanted("idle") {
        return;
    }
    let own = std::env::current_exe().unwrap();
    let ran = Command::new(own).arg(CHILD).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    print!("{}", String::from_utf8_lossy(&ran.stdout));
}

fn report(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!(
        "{what}: {} times, median {:?}, 99 of 100 within {:?}, longest {:?}",
        times.len(),
        at(0.5),
        at(0.99),
        at(1.0)
    );
}

async fn ring(what: &str, ring: Ring, tasks: usize) {
    let (messages, since) = (ring.messages(), Instant::now());
    let (live, seen, _rig) = ring.run(tasks).await;
    let all = since.elapsed();
    report(&format!("a ring of 50, {what}"), std::mem::take(&mut *seen.times.lock().unwrap()));
    println!("  {messages} messages, {tasks} tasks claimed, all in {all:?}");
    let since = Instant::now();
    live.end().await;
    println!("  the end of 50 teammates: {:?}", since.elapsed());
}

/// A teammate asks, the answer is given as soon as somebody hears of it, the tool begins.
async fn asks() {
    let mut rig = Rig::new();
    rig.mode = Mode::Default;
    let live = rig
        .start(&Cast::forgetful(|asked| match asked.newest().contains("ask now") {
            true => call("Bash", json!({ "command": "touch x", "description": "test" })),
            false => say("ok"),
        }))
        .await;
    spawn(&live, "asker", "Wait.").await;
    quiet(&live).await;
    let (mut put, mut answered) = (Vec::new(), Vec::new());
    for _ in 0..ASKS {
        let mut events = live.events(live.office.journal.latest());
        let mut since = Instant::now();
        tell(&live, one(&live, "asker"), "ask now").await;
        in_time("a question", async {
            while let Some(event) = events.next().await {
                if let Fact::Asked { ask } = &event.fact {
                    put.push(since.elapsed());
                    since = Instant::now();
                    let verdict = Verdict::Allow { input: None, grant: None, remark: None };
                    let (ask, rev) = (ask.id.clone(), ask.rev);
                    live.submit(Op::Answer { ask, rev, verdict }).await.unwrap();
                } else if let Fact::ToolStarted { .. } = &event.fact {
                    answered.push(since.elapsed());
                    break;
                }
            }
        })
        .await;
        quiet(&live).await;
    }
    report("words to a teammate until its question is heard", put);
    report("an answer until the tool begins", answered);
    live.end().await;
}

async fn idle() {
    let rig = Rig::new();
    let live = rig.start(&Cast::forgetful(|_| say("ok"))).await;
    let before = resident("VmRSS:");
    for number in 0..IDLE {
        spawn(&live, &format!("mate-{number}"), "Wait until you are needed.").await;
    }
    quiet(&live).await;
    let (since, used) = (Instant::now(), processor());
    tokio::time::sleep(Duration::from_secs(12)).await;
    let share = (processor() - used).as_secs_f64() / since.elapsed().as_secs_f64() * 100.0;
    println!(
        "{IDLE} idle teammates: {} MB resident, {} MB at most, {} MB before (budget 150 MB); \
         {share:.2} % of a processor (budget 1 %)",
        resident("VmRSS:") / 1024,
        resident("VmHWM:") / 1024,
        before / 1024,
    );
    live.end().await;
}

/// A figure of this process, in kB.
fn resident(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// What this process has used of the processors so far.
fn processor() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<u64> = stat
        .rsplit(')')
        .next()
        .unwrap()
        .split_whitespace()
        .skip(11)
        .take(2)
        .map(|field| field.parse().unwrap())
        .collect();
    // In hundredths of a second.
    Duration::from_millis(fields.iter().sum::<u64>() * 10)
}
