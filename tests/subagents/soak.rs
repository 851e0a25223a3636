//! Many agents in the background, some of them sent there at any moment.

use std::time::Duration;

use quarterdeck::protocol::event::Fact;
use quarterdeck::protocol::op::Op;

use super::scene::Scene;
use super::stage::{actor, playbook};
use crate::support::soak;

const LEAD: &str = "
- { when: { user: 'behind (?<n>\\d+)' }, repeat: true, call: [{ tool: Agent, input: { description: 'job {{n}}.', prompt: 'work {{n}}', run_in_background: true } }] }
- { when: { user: 'before (?<n>\\d+)' }, repeat: true, call: [{ tool: Agent, input: { description: 'job {{n}}.', prompt: 'work {{n}}' } }] }
- { when: { any: true }, repeat: true, say: ok }
";

const CHILD: &str = "
- { when: { user: 'work (?<n>\\d+)' }, call: [{ tool: Bash, input: { command: 'echo {{n}} >> first; sleep 0.01' } }] }
- { when: { result_of: Bash }, call: [{ tool: Bash, input: { command: 'echo x >> second' } }] }
- { say: all done }
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_work_is_repeated_and_every_end_is_told_once() {
    let rounds = if soak() { 200 } else { 20 };
    let scene = Scene::start(&playbook(LEAD, &actor("type:general-purpose", CHILD))).await;
    let (mut after, mut moved) = (0, 0);
    for round in 0..rounds {
        scene.say(&format!("behind {}", 2 * round)).await;
        after = scene.started(after).await.0;
        scene.say(&format!("before {}", 2 * round + 1)).await;
        let (seq, (_, use_id)) = scene.started(after).await;
        after = seq;
        // From at once to when it may have ended already.
        let pause = Duration::from_micros(rand_below(200_000, after));
        tokio::time::sleep(pause).await;
        moved += u32::from(scene.live.submit(Op::Background { use_id }).await.is_ok());
        scene.idle().await;
    }
    let total = 2 * rounds;
    let mut first: Vec<usize> =
        scene.read("first").lines().map(|line| line.parse().unwrap()).collect();
    first.sort_unstable();
    assert_eq!(first, (0..total).collect::<Vec<_>>());
    assert_eq!(scene.read("second").lines().count(), total);
    // One answer for each call; one note for each that was launched, none for the others.
    let history = scene.history().await;
    let calls = history.iter().filter(|event| matches!(event.fact, Fact::AgentStarted { .. }));
    assert_eq!(calls.count(), total + 1);
    let heard = scene.heard().await;
    let answers = |start: &str| heard.iter().filter(|text| text.contains(start)).count();
    let launched = answers("Agent started in the background");
    let notes = scene.notes().await;
    let completed =
        heard.iter().filter(|text| text.contains("tool_result") && text.contains("all done"));
    assert_eq!(notes.len(), launched);
    assert_eq!(completed.count() + launched, total);
    for n in 0..total {
        let own = notes.iter().filter(|note| note.contains(&format!("job {n}."))).count();
        assert!(own <= 1, "job {n} is told {own} times");
    }
    crate::support::say(&format!(
        "{total} agents: {moved} sent to the background, {launched} notes"
    ));
    scene.live.end().await;
}

/// A number that differs from call to call and from run to run.
fn rand_below(limit: u64, salt: u64) -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(salt) % limit
}
