//! Teammates that fail: the lead is told why, their tasks are free, the team goes on.

use quarterdeck::model::ModelError;
use quarterdeck::protocol::event::Fact;
use quarterdeck::protocol::ids::AgentName;
use quarterdeck::protocol::op::{Op, TaskChange};
use quarterdeck::protocol::task::Status;
use quarterdeck::session::live::Live;
use serde_json::json;

use super::rig::{
    Asked, Part, Rig, assert_valid, call, facts, idle, obedient_but, one, order_lead, quiet, spawn,
    task, tell, whole,
};

/// A task that breaks whoever claims it, then one who fails is woken again.
async fn breaks(why: &str, breakdown: impl Fn(&Asked) -> Vec<Part> + Send + Sync + 'static) {
    let rig = Rig::new();
    let cast = obedient_but(move |asked| {
        let newest = asked.newest();
        (asked.agent == "bob" && newest.contains("is yours now")).then(|| breakdown(asked))
    });
    let live = rig.start(&cast).await;
    spawn(&live, "bob", "Wait.").await;
    quiet(&live).await;
    let after = live.office.journal.latest();
    add_task(&live).await;
    let after = idle(&live, after, "bob", "failed").await;
    quiet(&live).await;
    let free = task(&live, "1").unwrap();
    assert_eq!((free.status, free.owner()), (Status::Pending, None), "its task is nobody's");
    let told: String = cast.last_of("team-lead").iter().map(whole).collect();
    assert!(told.contains("idle_notification") && told.contains("failureReason"), "{told}");
    assert!(told.contains(why), "{told}");
    let shown = facts(&live).into_iter().any(|(agent, fact)| {
        let bob = agent.is_some_and(|agent| agent.name == *"bob");
        matches!(fact, Fact::Notice { text, .. } if bob && text.contains("failed"))
    });
    assert!(shown, "and it is on the screen");
    // The team goes on: somebody else takes the task, and the one that failed listens again.
    spawn(&live, "alice", "Wait.").await;
    quiet(&live).await;
    assert_eq!(task(&live, "1").unwrap().owner().map(AgentName::as_str), Some("alice"));
    tell(&live, one(&live, "bob"), "are you well?").await;
    idle(&live, after, "bob", "available").await;
    assert_valid(&cast.last_of("bob"));
    live.end().await;
}

async fn add_task(live: &Live) {
    let change = TaskChange::Create {
        subject: "Sweep".to_owned(),
        description: "the floor".to_owned(),
        blocked_by: vec![],
    };
    live.submit(Op::Task { change: Box::new(change) }).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_fails_for_good() {
    let message = "no such model".to_owned();
    breaks("no such model", move |_| {
        vec![Part::Fail(ModelError::InvalidRequest { message: message.clone() })]
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_that_does_not_fit_even_when_it_is_shortened() {
    let message = "prompt is too long: 210000 tokens".to_owned();
    breaks("prompt is too long", move |_| {
        vec![Part::Fail(ModelError::ContextTooLong { message: message.clone() })]
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_panics() {
    breaks("it crashed", |_| vec![Part::Panic]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_within_an_answer_leaves_a_valid_conversation() {
    // Half of an answer, with a call that was never made.
    breaks("it crashed", |_| {
        call("TaskList", json!({})).into_iter().take(2).chain([Part::Panic]).collect()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_takes_too_many_turns() {
    let rig = Rig::new();
    let cast = obedient_but(|asked| {
        (asked.agent == "bob" && !asked.newest().contains("well"))
            .then(|| call("TaskList", json!({})))
    });
    let live = rig.start(&cast).await;
    let bob = json!({
        "description": "bob", "name": "bob", "prompt": "Look.", "max_turns": 3,
    });
    order_lead(&live, &[("Agent", bob)]).await;
    let after = idle(&live, 0, "bob", "failed").await;
    quiet(&live).await;
    assert_eq!(cast.asked("bob"), 3);
    let told: String = cast.last_of("team-lead").iter().map(whole).collect();
    assert!(told.contains("limit of turns"), "{told}");
    tell(&live, one(&live, "bob"), "are you well?").await;
    idle(&live, after, "bob", "available").await;
    assert_valid(&cast.last_of("bob"));
    live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lead_wakes_one_that_failed_by_starting_it_again() {
    let rig = Rig::new();
    let cast = obedient_but(|asked| {
        let broken = asked.newest().contains("break now");
        let message = "out of paper".to_owned();
        (asked.agent == "bob" && broken)
            .then(|| vec![Part::Fail(ModelError::InvalidRequest { message })])
    });
    let live = rig.start(&cast).await;
    spawn(&live, "bob", "break now").await;
    let after = idle(&live, 0, "bob", "failed").await;
    quiet(&live).await;
    let again = json!({ "description": "bob", "name": "bob", "prompt": "Go on, please." });
    let said = order_lead(&live, &[("Agent", again)]).await;
    assert!(said[0].0.contains("continues from its transcript"), "{said:?}");
    idle(&live, after, "bob", "available").await;
    let talk: String = cast.last_of("bob").iter().map(whole).collect();
    assert!(talk.contains("break now") && talk.contains("Go on, please."), "{talk}");
    assert_eq!(super::rig::roster(&live).teammates().count(), 1, "there is still one of it");
    // The person does the same.
    let after = live.office.journal.latest();
    tell(&live, one(&live, "bob"), "break now").await;
    let after = idle(&live, after, "bob", "failed").await;
    spawn(&live, "bob", "").await;
    idle(&live, after, "bob", "available").await;
    live.end().await;
}
