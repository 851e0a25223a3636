//! Messages that arrive just when their receiver goes idle. Nothing but the push announces them
//! here: the files are not watched, and there is no safety scan.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use quarterdeck::protocol::ids::AgentName;
use quarterdeck::store::watch::Pace;
use tokio::sync::mpsc;

use super::rig::{Cast, Rig, in_time, quiet, say, spawn, whole};
use crate::support::soak;

#[tokio::test(flavor = "multi_thread")]
async fn no_message_is_overlooked_by_one_who_goes_idle() {
    let total = if soak() { 10_000 } else { 400 };
    let mut rig = Rig::new();
    rig.team.watch = Pace::default().events_only().scan_only();
    let (answers, mut answered) = mpsc::channel(64);
    let (heard, read) = (Arc::new(Mutex::new(Vec::new())), Mutex::new(0));
    let hears = Arc::clone(&heard);
    let cast = Cast::forgetful(move |asked| {
        if asked.agent == "bob" {
            let all = asked.request.messages.entries();
            let mut read = read.lock().unwrap();
            for entry in &all[*read..] {
                let text = whole(&entry.message);
                let numbers = text.split("number ").skip(1).map(|rest| {
                    let end = rest.find('.').unwrap();
                    rest[..end].parse::<usize>().unwrap()
                });
                hears.lock().unwrap().extend(numbers);
            }
            *read = all.len();
            let _ = answers.try_send(());
        }
        say("ok")
    });
    let live = rig.start(&cast).await;
    spawn(&live, "bob", "Wait.").await;
    quiet(&live).await;
    while answered.try_recv().is_ok() {}
    let roll = live.team().roll().unwrap();
    let mut dice = 0x9E37_79B9_7F4A_7C15_u64;
    for number in 0..total {
        let (post, me) = (Arc::clone(&roll.post), live.lead().cx.me.clone());
        tokio::task::spawn_blocking(move || {
            let roster = post.roster().unwrap();
            let (from, to) = (AgentName::lead(), AgentName::found("bob"));
            let words = format!("number {number}.");
            post.send(&roster, &me, &from, &to, &words, None).unwrap();
        })
        .await
        .unwrap();
        // The answer ends the turn; the next message comes somewhere around that.
        in_time("an answer", answered.recv()).await;
        while answered.try_recv().is_ok() {}
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        let wait = Duration::from_micros(dice % 2500);
        let since = std::time::Instant::now();
        while since.elapsed() < wait {
            tokio::task::yield_now().await;
        }
    }
    quiet(&live).await;
    let heard = heard.lock().unwrap().clone();
    assert_eq!(heard, (0..total).collect::<Vec<_>>(), "each once, in order");
    live.end().await;
}
