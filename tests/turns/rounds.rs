//! Calls and results, the queue, and everything that ends a turn.

use std::sync::Arc;

use quarterdeck::agent::context::Limits;
use quarterdeck::agent::turn::End;
use quarterdeck::model::{Chunk, ModelError, StopReason};
use quarterdeck::protocol::content::Block;
use quarterdeck::protocol::event::Fact;
use quarterdeck::protocol::op::{Op, When};
use serde_json::json;
use tokio::sync::Notify;

use super::rig::{
    Part, Rig, Script, answer, ask, bash, calls, half, in_time, over, results, say, tell, until,
};
use super::valid::assert_valid;

/// Two agents that are started by one answer: the first is done only after the second.
#[tokio::test]
async fn tools_run_side_by_side_and_results_keep_the_order_of_the_calls() {
    let rig = Rig::new();
    let gate = || (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let ((reached_1, open_1), (reached_2, open_2)) = (gate(), gate());
    let agent = |what: &str| json!({"description": what, "prompt": what, "subagent_type": "general-purpose"});
    let gated = |reached: &Arc<Notify>, open: &Arc<Notify>| {
        let mut parts = vec![Part::Gate { reached: Arc::clone(reached), open: Arc::clone(open) }];
        parts.extend(say("a part"));
        parts
    };
    let script = Script::of([
        calls(&[("a", "Agent", agent("one")), ("b", "Agent", agent("two"))]),
        gated(&reached_1, &open_1),
        gated(&reached_2, &open_2),
        say("both"),
    ]);
    let live = rig.start(&script).await;
    tell(&live, "go", When::Next).await;
    in_time("both at once", async {
        reached_1.notified().await;
        reached_2.notified().await;
    })
    .await;
    open_2.notify_one();
    until("the second has ended", || {
        rig.facts(&live).iter().any(|fact| matches!(fact, Fact::ToolEnded { .. }))
    })
    .await;
    open_1.notify_one();
    assert_eq!(over(&live).await.text, "both");
    let last = script.turns().into_iter().rfind(|asked| asked.agent == "team-lead").unwrap();
    assert_valid(&last.messages);
    let ids: Vec<String> =
        results(last.messages.last().unwrap()).into_iter().map(|(id, ..)| id).collect();
    assert_eq!(ids, ["a", "b"]);
    live.end().await;
}

#[tokio::test]
async fn errors_of_tools_are_results() {
    let rig = Rig::new();
    let script = Script::of([
        calls(&[
            ("a", "NoSuchTool", json!({})),
            ("b", "Read", json!({"file_path": "/does/not/exist"})),
            ("c", "Bash", json!({"nonsense": 1})),
            bash("d", "echo out; exit 3"),
            bash("e", "true"),
        ]),
        say("seen"),
    ]);
    let live = rig.start(&script).await;
    let outcome = ask(&live, "go").await;
    assert_eq!((outcome.end, outcome.text.as_str(), outcome.rounds), (End::Done, "seen", 2));
    let last = &script.turns()[1].messages;
    assert_valid(last);
    let found = results(last.last().unwrap());
    let failed: Vec<bool> = found.iter().map(|(.., failed)| *failed).collect();
    assert_eq!(failed, [true, true, true, true, false], "{found:?}");
    assert!(found.iter().all(|(_, text, _)| !text.trim().is_empty()), "{found:?}");
    live.end().await;
}

/// What is said during a tool round is heard right behind its results, the urgent first.
#[tokio::test]
async fn the_queue_is_delivered_between_tool_rounds() {
    let rig = Rig::new();
    let file = rig.project.join("go");
    let wait = format!("while [ ! -e '{}' ]; do sleep 0.01; done", file.display());
    let script =
        Script::of([calls(&[bash("a", &wait)]), calls(&[bash("b", "true")]), say("heard")]);
    let live = rig.start(&script).await;
    tell(&live, "go", When::Next).await;
    until("the tool runs", || {
        rig.facts(&live).iter().any(|fact| matches!(fact, Fact::ToolStarted { .. }))
    })
    .await;
    tell(&live, "later", When::Later).await;
    tell(&live, "next", When::Next).await;
    std::fs::write(&file, "").unwrap();
    assert_eq!(over(&live).await.text, "heard");
    let turns = script.turns();
    assert_eq!(turns.len(), 3, "one turn for all");
    for asked in &turns {
        assert_valid(&asked.messages);
    }
    let second = &turns[1].messages;
    assert_eq!(results(&second[2]).len(), 1);
    assert_eq!(second[3].content.text(), "next\nlater");
    live.end().await;
}

/// Words that are wanted now end the turn; nothing of what was said or called is lost.
#[tokio::test]
async fn now_interrupts_and_is_answered() {
    let rig = Rig::new();
    let script = Script::of([calls(&[bash("a", "sleep 60"), bash("b", "true")]), say("yes")]);
    let live = rig.start(&script).await;
    tell(&live, "go", When::Next).await;
    until("the tool runs", || {
        rig.facts(&live).iter().any(|fact| matches!(fact, Fact::ToolStarted { .. }))
    })
    .await;
    tell(&live, "stop that", When::Now).await;
    let outcome = over(&live).await;
    assert_eq!((outcome.end, outcome.text.as_str()), (End::Done, "yes"));
    let last = &script.turns()[1].messages;
    assert_valid(last);
    assert_eq!(last.last().unwrap().content.text(), "stop that");
    let found = results(&last[2]);
    assert_eq!(found.len(), 2);
    assert!(
        found.iter().all(|(_, text, failed)| *failed && text.contains("nterrupted")),
        "{found:?}"
    );
    live.end().await;
}

/// What comes while the last answer is being given is answered in the same turn.
#[tokio::test]
async fn words_that_come_at_the_very_end_are_not_left_waiting() {
    let rig = Rig::new();
    let (reached, open) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let mut slow = say("first");
    slow.insert(1, Part::Gate { reached: Arc::clone(&reached), open: Arc::clone(&open) });
    let script = Script::of([slow, say("second")]);
    let live = rig.start(&script).await;
    tell(&live, "one", When::Next).await;
    in_time("the answer", reached.notified()).await;
    tell(&live, "two", When::Later).await;
    open.notify_one();
    assert_eq!(over(&live).await.text, "second");
    assert_valid(&script.turns()[1].messages);
    let to = live.lead().cx.me.clone();
    let blank = live.submit(Op::Say { to, text: " \n".to_owned(), when: When::Next }).await;
    assert!(blank.is_err(), "nothing is no message");
    live.end().await;
}

#[tokio::test]
async fn a_turn_ends_at_its_limits_and_can_go_on() {
    let mut rig = Rig::new();
    rig.limits = Limits { rounds: Some(2), ..Limits::default() };
    let script = Script::of([calls(&[bash("a", "true")]), calls(&[bash("b", "true")]), say("on")]);
    let live = rig.start(&script).await;
    let outcome = ask(&live, "go").await;
    assert_eq!((outcome.end, outcome.rounds), (End::MaxTurns, 2));
    assert_eq!(ask(&live, "more").await.text, "on");
    assert_valid(&script.turns()[2].messages);
    live.end().await;

    let mut rig = Rig::new();
    rig.limit_usd = Some(15.0);
    let script = Script::of([calls(&[bash("a", "true")]), calls(&[bash("b", "true")]), say("no")]);
    let live = rig.start(&script).await;
    let outcome = ask(&live, "go").await;
    assert_eq!(outcome.end, End::Budget { spent: 20.0, limit: 15.0 });
    assert_eq!(script.turns().len(), 2, "nobody is asked beyond the budget");
    live.end().await;
}

#[tokio::test]
async fn an_answer_that_is_cut_by_its_length_goes_on() {
    let rig = Rig::new();
    let cut = |text: &str| answer(vec![Block::text(text)], StopReason::MaxTokens, 10);
    let script = Script::of([cut("one"), cut("two"), say("three")]);
    let live = rig.start(&script).await;
    let outcome = ask(&live, "go").await;
    assert_eq!((outcome.end, outcome.text.as_str()), (End::Done, "three"));
    let last = &script.turns()[2].messages;
    assert_valid(last);
    assert_eq!(last[1].content.text(), "one");
    assert_eq!(last[3].content.text(), "two");
    // It does not go on for ever, and an answer with nothing in it is not sent back.
    for _ in 0..10 {
        script.add(answer(vec![], StopReason::MaxTokens, 10));
    }
    let outcome = ask(&live, "again").await;
    assert_eq!((outcome.end, outcome.rounds), (End::Done, 4));
    for asked in script.turns() {
        assert_valid(&asked.messages);
    }
    live.end().await;
}

#[tokio::test]
async fn a_refusal_is_an_error_that_says_so_and_the_session_goes_on() {
    let rig = Rig::new();
    let script = Script::of([answer(vec![], StopReason::Refusal, 10), say("fine")]);
    let live = rig.start(&script).await;
    let outcome = ask(&live, "something bad").await;
    assert!(matches!(&outcome.end, End::Failed(error) if error.to_string().contains("refused")));
    assert_eq!(ask(&live, "something good").await.text, "fine");
    assert_valid(&script.turns()[1].messages);
    live.end().await;
}

/// Whatever part of an answer had come, it is asked for again and nothing of it is doubled.
#[tokio::test]
async fn an_answer_that_breaks_off_is_asked_for_again() {
    let broken = || Part::Fail(ModelError::StreamBroken { message: "cut".to_owned() });
    let in_text = half("half of ", broken());
    let mut in_call = half("", broken());
    in_call[1] = Part::Say(Chunk::ToolStarted { index: 0, id: "x".into(), name: "Bash".into() });
    for begin in [in_text, in_call] {
        let rig = Rig::new();
        let script = Script::of([begin, say("half of it")]);
        let live = rig.start(&script).await;
        assert_eq!(ask(&live, "go").await.text, "half of it");
        let said = quarterdeck::agent::rebuild::rebuild(&rig.transcript(live.session())).unwrap();
        assert_valid(&said.messages);
        assert_eq!(said.messages.len(), 2);
        assert_eq!(said.messages[1].content.text(), "half of it");
        live.end().await;
    }
}

#[tokio::test]
async fn an_answer_that_always_breaks_off_is_an_error() {
    let rig = Rig::new();
    let broken = || Part::Fail(ModelError::StreamBroken { message: "cut".to_owned() });
    let script = Script::of((0..20).map(|_| half("half", broken())));
    let live = rig.start(&script).await;
    let outcome = ask(&live, "go").await;
    assert!(matches!(outcome.end, End::Failed(ModelError::StreamBroken { .. })), "{outcome:?}");
    assert_eq!(script.turns().len(), 4);
    live.end().await;
}
