//! An interrupt at any point leaves a conversation that can go on.

use std::sync::Arc;

use quarterdeck::agent::rebuild::rebuild;
use quarterdeck::agent::turn::End;
use quarterdeck::model::Chunk;
use quarterdeck::protocol::content::Block;
use quarterdeck::protocol::event::Fact;
use quarterdeck::protocol::op::{Mode, When};
use quarterdeck::session::live::Live;
use serde_json::json;
use tokio::sync::Notify;

use super::rig::{
    Part, Rig, Script, ask, bash, calls, half, in_time, interrupt, over, results, say, tell, until,
};
use super::valid::assert_valid;

/// After the interrupt: the turn is over, the next one is asked with a valid conversation, and
/// the transcript holds the same.
async fn goes_on(rig: &Rig, live: Live, script: &Arc<Script>) {
    let outcome = over(&live).await;
    assert_eq!(outcome.end, End::Interrupted);
    script.add(say("going on"));
    assert_eq!(ask(&live, "go on").await.text, "going on");
    let last = script.turns().pop().unwrap();
    assert_valid(&last.messages);
    let path = rig.transcript(live.session());
    live.end().await;
    let kept = rebuild(&path).unwrap();
    assert!(kept.open.is_empty());
    assert_valid(&kept.messages);
    let texts = |messages: &[quarterdeck::protocol::content::ChatMessage]| {
        let blocks = messages.iter().flat_map(|message| message.content.known());
        blocks.map(|block| format!("{block:?}")).collect::<Vec<_>>()
    };
    let mut expected = texts(&last.messages);
    expected.push(texts(&kept.messages).pop().unwrap());
    assert_eq!(texts(&kept.messages), expected);
}

#[tokio::test]
async fn before_a_word_was_said() {
    let rig = Rig::new();
    let reached = Arc::new(Notify::new());
    let script = Script::of([vec![Part::Hang(Arc::clone(&reached))]]);
    let live = rig.start(&script).await;
    tell(&live, "go", When::Next).await;
    in_time("the stream", reached.notified()).await;
    interrupt(&live).await;
    goes_on(&rig, live, &script).await;
}

#[tokio::test]
async fn in_the_middle_of_a_text() {
    let rig = Rig::new();
    let reached = Arc::new(Notify::new());
    let script = Script::of([half("I was about to", Part::Hang(Arc::clone(&reached)))]);
    let live = rig.start(&script).await;
    tell(&live, "go", When::Next).await;
    in_time("the stream", reached.notified()).await;
    interrupt(&live).await;
    over(&live).await;
    let said = rebuild(&rig.transcript(live.session())).unwrap().messages;
    assert_eq!(said[1].content.text(), "I was about to", "what was said stays said");
    goes_on(&rig, live, &script).await;
}

#[tokio::test]
async fn behind_a_whole_call_that_never_ran() {
    let rig = Rig::new();
    let reached = Arc::new(Notify::new());
    let call = Chunk::Block {
        index: 0,
        block: Block::tool_use("a", "Bash", json!({"command": "touch ran", "description": "x"})),
    };
    let mut parts = half("", Part::Hang(Arc::clone(&reached)));
    parts[1] = Part::Say(call);
    let script = Script::of([parts]);
    let live = rig.start(&script).await;
    tell(&live, "go", When::Next).await;
    in_time("the stream", reached.notified()).await;
    interrupt(&live).await;
    goes_on(&rig, live, &script).await;
    assert!(!rig.project.join("ran").exists());
}

#[tokio::test]
async fn during_a_tool_and_before_the_ones_behind_it() {
    let rig = Rig::new();
    let script = Script::of([calls(&[
        bash("a", "touch one"),
        bash("b", "touch two; sleep 60"),
        bash("c", "touch three"),
    ])]);
    let live = rig.start(&script).await;
    tell(&live, "go", When::Next).await;
    until("the second tool", || rig.project.join("two").exists()).await;
    interrupt(&live).await;
    goes_on(&rig, live, &script).await;
    assert!(rig.project.join("one").exists() && !rig.project.join("three").exists());
    let last = script.turns().pop().unwrap();
    let found = results(&last.messages[2]);
    let failed: Vec<bool> = found.iter().map(|(.., failed)| *failed).collect();
    assert_eq!(failed, [false, true, true], "{found:?}");
    assert!(found[1].1.contains("nterrupted") && found[2].1.contains("nterrupted"), "{found:?}");
}

#[tokio::test]
async fn while_somebody_is_asked() {
    let mut rig = Rig::new();
    rig.mode = Mode::Default;
    let script = Script::of([calls(&[bash("a", "touch a"), bash("b", "touch b")])]);
    let live = rig.start(&script).await;
    tell(&live, "go", When::Next).await;
    until("a question", || rig.facts(&live).iter().any(|fact| matches!(fact, Fact::Asked { .. })))
        .await;
    interrupt(&live).await;
    over(&live).await;
    until("the question is withdrawn", || {
        rig.facts(&live).iter().any(|fact| matches!(fact, Fact::Settled { .. }))
    })
    .await;
    goes_on(&rig, live, &script).await;
    assert!(!rig.project.join("a").exists());
}

/// At a moment that nobody chose, again and again.
#[tokio::test]
async fn at_random_moments() {
    let rounds = if crate::support::soak() { 200 } else { 12 };
    for round in 0..rounds {
        let rig = Rig::new();
        let command = |at: u64| format!("echo {at} >> log");
        let script = Script::of([
            calls(&[bash("a", &command(1)), bash("b", &command(2))]),
            calls(&[bash("c", &command(3))]),
            half("words ", Part::Hang(Arc::new(Notify::new()))),
        ]);
        let live = rig.start(&script).await;
        tell(&live, "go", When::Next).await;
        // Spread over the time that this takes.
        tokio::time::sleep(std::time::Duration::from_millis(round * 7 % 90)).await;
        until("a turn", || rig.facts(&live).iter().any(|fact| matches!(fact, Fact::TurnStarted)))
            .await;
        interrupt(&live).await;
        script.skip();
        goes_on(&rig, live, &script).await;
    }
}
