//! A team that is taken up again: who is back, with what, and what was not forgotten.

use std::sync::Arc;
use std::time::Duration;

use quarterdeck::protocol::event::{Event, Fact};
use quarterdeck::protocol::ids::{AgentName, AskId};
use quarterdeck::protocol::liveness::{State, state};
use quarterdeck::protocol::message::{Body, ShutdownApproved};
use quarterdeck::protocol::op::{Mode, Op, TaskChange};
use quarterdeck::protocol::standing::Standings;
use quarterdeck::protocol::task::Status;
use quarterdeck::session::live::Live;
use quarterdeck::store::journal::read_after;
use quarterdeck::store::mailbox::stamp;
use serde_json::json;

use super::rig::{
    Cast, Part, Rig, call, event, facts, idle, obedient, obedient_but, one, order_lead, quiet,
    roster, shutdown_answer, spawn, task, tell, until, whole,
};

/// Stops where it stands, as if the program had been killed, and starts again.
async fn restart(rig: &Rig, live: Live, cast: &Arc<Cast>) -> Live {
    let session = live.session().clone();
    live.suspend().await;
    rig.start_again(cast, Some(session)).await
}

fn asked(event: &Event) -> Option<(AskId, u32)> {
    match &event.fact {
        Fact::Asked { ask } => Some((ask.id.clone(), ask.rev)),
        _ => None,
    }
}

fn open(live: &Live) -> Vec<AskId> {
    live.office.desk.open_asks().unwrap().asks.into_iter().map(|ask| ask.id).collect()
}

async fn add_task(live: &Live) {
    let (subject, description) = ("Sweep".to_owned(), "the floor".to_owned());
    let change = TaskChange::Create { subject, description, blocked_by: vec![] };
    live.submit(Op::Task { change: Box::new(change) }).await.unwrap();
}

/// What an agent's model was shown, newest conversation.
fn talk(cast: &Cast, name: &str) -> String {
    cast.last_of(name).iter().map(whole).collect()
}

/// One that hangs as soon as it hears this.
fn hangs_at(words: &'static str) -> Arc<Cast> {
    obedient_but(move |asked| asked.newest().contains(words).then(|| vec![Part::Hang]))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_to_end_is_open_after_a_restart_and_can_be_answered() {
    let mut rig = Rig::new();
    rig.team.attended = true;
    rig.team.shutdown_patience = Duration::from_millis(100);
    let live = rig.start(&hangs_at("shutdown_request")).await;
    spawn(&live, "bob", "Wait.").await;
    quiet(&live).await;
    let end = Op::Shutdown { agent: one(&live, "bob"), reason: "enough".to_owned() };
    live.submit(end).await.unwrap();
    let (_, (first, _)) = event(&live, 0, "the question", asked).await;
    let agrees = obedient_but(|asked| {
        let all: Vec<String> = asked.messages().iter().map(whole).collect();
        let newest = asked.newest();
        let id = all.iter().find(|text| text.contains("shutdown_request"))?;
        let at = id.find("shutdown-")?;
        let end = id[at..].find(|c: char| !(c.is_ascii_alphanumeric() || "-@_".contains(c)))?;
        newest.contains("Well?").then(|| {
            let id = &id[at..at + end];
            let response =
                json!({ "type": "shutdown_response", "request_id": id, "approve": true });
            call("SendMessage", response)
        })
    });
    let live = restart(&rig, live, &agrees).await;
    assert!(!open(&live).contains(&first), "what was asked about it is asked anew");
    let began = live.began_after;
    let (_, (again, _)) = event(&live, began, "the question again", asked).await;
    assert_ne!(again, first);
    let back = facts(&live).into_iter().any(|(_, fact)| match fact {
        Fact::Notice { text, .. } => text.contains("bob is back") && text.contains("asked to end"),
        _ => false,
    });
    assert!(back);
    tell(&live, one(&live, "bob"), "Well?").await;
    until("it to be gone", || live.team().roll().unwrap().members().is_empty()).await;
    quiet(&live).await;
    until("the question to be taken back", || open(&live).is_empty()).await;
    let told = talk(&agrees, "team-lead");
    assert!(told.contains("shutdown_approved") && told.contains("bob has shut down."), "{told}");
    live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_does_not_answer_after_a_restart_is_stopped_where_nobody_is_there() {
    let mut rig = Rig::new();
    let live = rig.start(&hangs_at("shutdown_request")).await;
    spawn(&live, "bob", "Wait.").await;
    quiet(&live).await;
    let end = Op::Shutdown { agent: one(&live, "bob"), reason: String::new() };
    live.submit(end).await.unwrap();
    rig.team.shutdown_patience = Duration::from_millis(100);
    let cast = obedient();
    let live = restart(&rig, live, &cast).await;
    until("it to be gone", || live.team().roll().unwrap().members().is_empty()).await;
    quiet(&live).await;
    assert!(talk(&cast, "team-lead").contains("it did not answer the request to end"));
    live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_had_agreed_to_end_does_not_come_back() {
    let rig = Rig::new();
    let live = rig.start(&hangs_at("shutdown_request")).await;
    spawn(&live, "bob", "Wait.").await;
    quiet(&live).await;
    let bob = one(&live, "bob");
    live.submit(Op::Shutdown { agent: bob.clone(), reason: String::new() }).await.unwrap();
    let inbox = live.office.store.mail(&super::rig::team_of(&live)).read(&bob.name).unwrap();
    let request_id = inbox
        .messages
        .iter()
        .find_map(|message| match message.body() {
            Body::ShutdownRequest(request) => Some(request.request_id),
            _ => None,
        })
        .unwrap();
    let at = stamp();
    let body = Body::ShutdownApproved(ShutdownApproved {
        request_id,
        from: bob.name.clone(),
        timestamp: at.to_string(),
        pane_id: None,
        backend_type: None,
    });
    let roll = live.team().roll().unwrap();
    live.team().to_lead(&roll, &bob, body, at).await.unwrap();
    drop(roll);
    let live = restart(&rig, live, &obedient()).await;
    assert!(live.team().roll().unwrap().members().is_empty());
    assert_eq!(roster(&live).teammates().count(), 0);
    live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_waits_for_the_person_still_does_after_a_restart() {
    let mut rig = Rig::new();
    rig.mode = Mode::Default;
    rig.team.attended = true;
    let touch = || json!({ "command": "touch it", "description": "d" });
    let cast =
        obedient_but(move |asked| asked.newest().contains("Begin").then(|| call("Bash", touch())));
    let live = rig.start(&cast).await;
    spawn(&live, "bob", "Begin").await;
    event(&live, 0, "the question", asked).await;
    let live = restart(&rig, live, &cast).await;
    let standing = |live: &Live| {
        let events = read_after(live.office.journal.path(), 0).unwrap().events;
        let all = Standings::of(&events);
        let bob = all.agents().find(|(id, _)| id.name == *"bob").unwrap().1;
        state(&bob.evidence, stamp(), 0)
    };
    let in_turn = |event: &Event| {
        let bob = event.agent.as_ref().is_some_and(|agent| agent.name == *"bob");
        (bob && event.fact == Fact::TurnStarted).then_some(())
    };
    event(&live, live.began_after, "bob to go on", in_turn).await;
    assert_eq!(standing(&live), State::WaitingForYou);
    let ask = live.office.desk.open_asks().unwrap().asks.remove(0);
    let verdict = quarterdeck::protocol::ask::Verdict::Deny { why: None };
    live.submit(Op::Answer { ask: ask.id, rev: ask.rev, verdict }).await.unwrap();
    quiet(&live).await;
    assert_eq!(standing(&live), State::Idle);
    live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_back_takes_tasks_and_knows_the_one_it_had_begun() {
    let rig = Rig::new();
    let live = rig.start(&hangs_at("is yours now")).await;
    spawn(&live, "alice", "Wait.").await;
    quiet(&live).await;
    add_task(&live).await;
    until("alice to begin", || {
        task(&live, "1").is_some_and(|task| task.status == Status::InProgress)
    })
    .await;
    spawn(&live, "bob", "Wait.").await;
    until("bob to rest", || {
        let bob = live.team().roll().unwrap().member(&AgentName::found("bob"));
        bob.is_some_and(|bob| bob.is_resting())
    })
    .await;
    let cast = obedient();
    let live = restart(&rig, live, &cast).await;
    quiet(&live).await;
    let alice = talk(&cast, "alice");
    assert_eq!(alice.matches("Task #1 (Sweep) is still in progress and yours").count(), 1);
    assert_eq!(cast.asked("bob"), 0, "nothing is said to one who was idle");
    add_task(&live).await;
    quiet(&live).await;
    let second = task(&live, "2").unwrap();
    assert_eq!(second.owner().map(AgentName::as_str), Some("bob"), "{second:?}");
    live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_can_answer_to_any_more_is_taken_back() {
    let mut rig = Rig::new();
    rig.mode = Mode::Default;
    rig.team.attended = true;
    let touch = || json!({ "command": "touch it", "description": "d" });
    let cast =
        obedient_but(move |asked| asked.newest().contains("Begin").then(|| call("Bash", touch())));
    let live = rig.start(&cast).await;
    order_lead(&live, &[("TeamCreate", json!({ "team_name": "crew" }))]).await;
    spawn(&live, "bob", "Begin").await;
    event(&live, 0, "the question", asked).await;
    let bob = live.team().roll().unwrap().members().remove(0);
    let meta = bob.agent.recorder.path().with_extension("meta.json");
    drop(bob);
    let session = live.session().clone();
    live.suspend().await;
    let text = std::fs::read_to_string(&meta).unwrap().replace("general-purpose", "no-such-kind");
    std::fs::write(&meta, text).unwrap();
    let live = rig.start_again(&cast, Some(session)).await;
    assert!(open(&live).is_empty(), "nobody waits for its answer");
    assert_eq!(roster(&live).teammates().count(), 0);
    let told = facts(&live).into_iter().any(|(_, fact)| {
        matches!(fact, Fact::Notice { text, .. } if text.contains("bob could not be brought back"))
    });
    assert!(told);
    live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn how_many_turns_one_may_take_holds_after_a_restart() {
    let rig = Rig::new();
    let cast = obedient_but(|asked| {
        (asked.agent == "bob" && asked.newest().contains("tool_result")
            || asked.newest().contains("look for ever"))
        .then(|| call("TaskList", json!({})))
    });
    let live = rig.start(&cast).await;
    let bob = json!({ "description": "b", "name": "bob", "prompt": "Wait.", "max_turns": 3 });
    order_lead(&live, &[("Agent", bob)]).await;
    quiet(&live).await;
    let live = restart(&rig, live, &cast).await;
    let before = cast.asked("bob");
    tell(&live, one(&live, "bob"), "look for ever").await;
    idle(&live, live.began_after, "bob", "failed").await;
    assert_eq!(cast.asked("bob") - before, 3);
    live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_it_cost_is_known_whoever_looked_and_whatever_was_kept() {
    let rig = Rig::new();
    let cast = obedient_but(|asked| shutdown_answer(asked, true, ""));
    let live = rig.start(&cast).await;
    spawn(&live, "bob", "Wait.").await;
    quiet(&live).await;
    let state = live.office.state();
    // No client follows this session.
    until("it to be kept", || {
        let cost = state.member("cost").unwrap();
        cost.is_some_and(|cost| cost.pretty().contains("bob@"))
    })
    .await;
    let bob = one(&live, "bob").to_string();
    let spent = live.office.books.of(&bob);
    assert!(spent.requests >= 1, "{spent:?}");
    let session = live.session().clone();
    live.suspend().await;
    for kept in ["all of it", "nothing"] {
        if kept == "nothing" {
            let nothing = serde_json::json!({ "agents": {}, "upTo": {} });
            state.write("cost", &nothing).unwrap();
        }
        let live = rig.start_again(&cast, Some(session.clone())).await;
        assert_eq!(live.office.books.of(&bob), spent, "{kept}");
        live.suspend().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn trees_and_what_was_given_to_the_team_are_there_again() {
    use quarterdeck::protocol::ask::{Grant, Grantee, Lasts, Permit, Verdict};
    let mut rig = Rig::new();
    rig.mode = Mode::Default;
    rig.team.attended = true;
    std::fs::write(rig.project.join("shared.txt"), "one\n").unwrap();
    for args in [
        &["init", "-q", "-b", "main"][..],
        &["add", "."],
        &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first"],
    ] {
        let ran = std::process::Command::new("git").args(args).current_dir(&rig.project).status();
        assert!(ran.unwrap().success(), "git {args:?}");
    }
    let cast = obedient();
    let live = rig.start(&cast).await;
    let bob = json!({
        "description": "b", "name": "bob", "prompt": "Wait.", "isolation": "worktree",
    });
    order_lead(&live, &[("Agent", bob)]).await;
    quiet(&live).await;
    let change = json!({ "command": "touch half-done", "description": "d" });
    tell(&live, one(&live, "bob"), &format!("DO {}", json!([["Bash", change]]))).await;
    let given = |event: &Event| match &event.fact {
        Fact::Asked { ask } => Some((ask.id.clone(), ask.rev)),
        _ => None,
    };
    let (_, (ask, rev)) = event(&live, 0, "the question", given).await;
    let permits = vec![Permit::Rule("Bash(touch:*)".parse().unwrap())];
    let grant = Grant { permits, to: Grantee::Team, lasts: Lasts::Session };
    let verdict = Verdict::Allow { input: None, grant: Some(grant), remark: None };
    live.submit(Op::Answer { ask, rev, verdict }).await.unwrap();
    quiet(&live).await;
    let tree = std::path::PathBuf::from(
        roster(&live).member(&AgentName::found("bob")).unwrap().cwd.clone().unwrap(),
    );
    assert!(tree.join("half-done").exists());
    let live = restart(&rig, live, &cast).await;
    quiet(&live).await;
    let bob = live.team().roll().unwrap().member(&AgentName::found("bob")).unwrap();
    assert_eq!(bob.agent.cx.cwd.get(), tree);
    drop(bob);
    // What was given holds for it, in its tree, and for one who joins only now.
    let more = json!({ "command": "touch more", "description": "d" });
    let ran = super::rig::order(&live, one(&live, "bob"), &[("Bash", more.clone())]).await;
    assert!(!ran[0].1 && tree.join("more").exists(), "{ran:?}");
    spawn(&live, "carol", "Wait.").await;
    quiet(&live).await;
    let ran = super::rig::order(&live, one(&live, "carol"), &[("Bash", more)]).await;
    assert!(!ran[0].1 && rig.project.join("more").exists(), "{ran:?}");
    live.end().await;
}
