//! Messages that go round a ring of teammates while tasks are claimed: all arrive, once, in order.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use quarterdeck::protocol::op::{Op, TaskChange};
use quarterdeck::session::live::Live;
use serde_json::json;

use super::rig::{Asked, Cast, Part, Rig, calls, in_time, letter, quiet, say, spawn, task};

/// What a ring saw.
#[derive(Default)]
pub struct Seen {
    /// Per receiver, the numbers that its model was shown, in that order.
    heard: Mutex<HashMap<String, Vec<usize>>>,
    /// Per receiver, the numbers that its neighbour sent it, in the order of its calls.
    told: Mutex<HashMap<String, Vec<usize>>>,
    /// From the answer that sends to the request that shows it.
    pub times: Mutex<Vec<Duration>>,
    sent: Mutex<HashMap<usize, Instant>>,
    /// How much of each conversation was looked at.
    read: Mutex<HashMap<String, usize>>,
    claimed: Mutex<Vec<String>>,
    done: AtomicUsize,
    enough: tokio::sync::Notify,
}

pub struct Ring {
    pub members: usize,
    pub rounds: usize,
    /// How many messages are under way at once.
    pub tokens: usize,
}

fn name(at: usize) -> String {
    format!("mate-{at}")
}

/// Every number behind a word in what was said since the last look, in order.
fn numbers<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = usize> + 't {
    text.match_indices(word).filter_map(move |(at, _)| {
        let rest = &text[at + word.len()..];
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..end].parse().ok()
    })
}

impl Ring {
    pub fn messages(&self) -> usize {
        self.members * self.rounds
    }

    /// A message with number n goes from n to n + 1, and each token is every `tokens`th number.
    fn play(&self, seen: &Seen, asked: &Asked) -> Vec<Part> {
        if asked.agent == "team-lead" {
            return say("noted");
        }
        let now = Instant::now();
        let all = asked.request.messages.entries();
        let from = {
            let mut read = seen.read.lock().unwrap();
            read.insert(asked.agent.clone(), all.len()).unwrap_or(0)
        };
        let mut answer = Vec::new();
        for entry in &all[from.min(all.len())..] {
            let text = super::rig::whole(&entry.message);
            for number in numbers(&text, "token ").filter(|_| text.contains("teammate-message")) {
                answer.extend(self.pass(seen, &asked.agent, number, now));
            }
            for number in numbers(&text, "Task #").filter(|_| text.contains("is yours now")) {
                seen.claimed.lock().unwrap().push(number.to_string());
                let done = json!({ "taskId": number.to_string(), "status": "completed" });
                answer.push(("TaskUpdate", done));
            }
        }
        match answer.is_empty() {
            true => say("ok"),
            false => calls(&answer),
        }
    }

    fn pass(
        &self,
        seen: &Seen,
        who: &str,
        number: usize,
        now: Instant,
    ) -> Option<(&'static str, serde_json::Value)> {
        seen.heard.lock().unwrap().entry(who.to_owned()).or_default().push(number);
        if let Some(since) = seen.sent.lock().unwrap().remove(&number) {
            seen.times.lock().unwrap().push(now - since);
        }
        let next = number + self.tokens;
        if seen.done.fetch_add(1, Ordering::SeqCst) + 1 == self.messages() {
            seen.enough.notify_one();
        }
        if next >= self.messages() {
            return None;
        }
        seen.sent.lock().unwrap().insert(next, now);
        // From the one that has this number to its neighbour in the ring of the token.
        let to = name((self.place(who) + 1) % self.members);
        seen.told.lock().unwrap().entry(to.clone()).or_default().push(next);
        Some(letter(&to, &format!("token {next};")))
    }

    fn place(&self, who: &str) -> usize {
        who.trim_start_matches("mate-").parse().unwrap()
    }

    /// Starts the ring, waits for all messages, and checks what must hold.
    pub async fn run(self, tasks: usize) -> (Live, Arc<Seen>, Rig) {
        let (ring, seen, rig) = (Arc::new(self), Arc::new(Seen::default()), Rig::new());
        let (played, watched) = (Arc::clone(&ring), Arc::clone(&seen));
        let live = rig.start(&Cast::forgetful(move |asked| played.play(&watched, asked))).await;
        for at in 0..ring.members {
            spawn(&live, &name(at), "Wait for the token.").await;
        }
        quiet(&live).await;
        for number in 0..tasks {
            let change = TaskChange::Create {
                subject: format!("Task {number}"),
                description: "Do it.".to_owned(),
                blocked_by: vec![],
            };
            live.submit(Op::Task { change: Box::new(change) }).await.unwrap();
        }
        let roll = live.team().roll().unwrap();
        for token in 0..ring.tokens {
            let (post, lead) = (Arc::clone(&roll.post), live.lead().cx.me.clone());
            let to = name(token * ring.members / ring.tokens);
            let words = format!("token {token};");
            seen.sent.lock().unwrap().insert(token, Instant::now());
            tokio::task::spawn_blocking(move || {
                let (from, to) = (
                    quarterdeck::protocol::ids::AgentName::lead(),
                    quarterdeck::protocol::ids::AgentName::found(&to),
                );
                let roster = post.roster().unwrap();
                post.send(&roster, &lead, &from, &to, &words, Some("go".to_owned())).unwrap();
            })
            .await
            .unwrap();
        }
        in_time_of(ring.messages(), seen.enough.notified()).await;
        in_time("the ring to rest", quiet(&live)).await;
        ring.check(&seen, tasks, &live);
        (live, seen, rig)
    }

    /// None lost, none twice, order kept per pair.
    fn check(&self, seen: &Seen, tasks: usize, live: &Live) {
        let heard = seen.heard.lock().unwrap();
        let mut all: Vec<usize> = heard.values().flatten().copied().collect();
        all.sort_unstable();
        assert_eq!(all.len(), self.messages(), "as many as were sent");
        assert!(all.iter().copied().eq(0..self.messages()), "each once");
        // Everyone hears from the lead once at most, and from its one neighbour exactly what that
        // sent, in that order.
        let told = seen.told.lock().unwrap();
        for (who, numbers) in heard.iter() {
            let from_peer: Vec<usize> =
                numbers.iter().copied().filter(|number| *number >= self.tokens).collect();
            assert_eq!(Some(&from_peer), told.get(who), "{who}");
        }
        let mut claimed = seen.claimed.lock().unwrap().clone();
        claimed.sort();
        claimed.dedup();
        assert_eq!(claimed.len(), tasks, "every task was claimed");
        assert_eq!(seen.claimed.lock().unwrap().len(), tasks, "and once");
        for number in 1..=tasks {
            let task = task(live, &number.to_string()).unwrap();
            assert_eq!(task.status.as_str(), "completed", "{task:?}");
        }
        let lead = quarterdeck::protocol::ids::AgentName::lead();
        assert!(live.team().roll().unwrap().post.unread(&lead).unwrap().is_empty());
    }
}

/// Long runs may take longer.
async fn in_time_of(messages: usize, future: impl Future<Output = ()>) {
    let most = Duration::from_secs(60) + Duration::from_millis(50) * messages as u32;
    tokio::time::timeout(most, future).await.expect("the ring stands still");
}
