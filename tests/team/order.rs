//! What waits for a teammate is served in a fixed order, all of it at once, also in mid-turn.

use std::sync::Arc;

use quarterdeck::protocol::ids::AgentName;
use quarterdeck::protocol::op::{Op, TaskChange};
use quarterdeck::session::live::Live;
use serde_json::json;

use super::rig::{
    Gate, Rig, assert_valid, behind, call, obedient_but, one, order_lead, quiet, roster, say,
    shutdown_answer, spawn, task, tell, whole,
};
use super::ring::Ring;

async fn mail(live: &Live, from: &str, to: &str, words: &str) {
    let post = Arc::clone(&live.team().roll().unwrap().post);
    let (by, from, to) = (one(live, from), AgentName::found(from), AgentName::found(to));
    let words = words.to_owned();
    tokio::task::spawn_blocking(move || {
        let roster = post.roster().unwrap();
        post.send(&roster, &by, &from, &to, &words, Some("s".to_owned())).unwrap();
    })
    .await
    .unwrap();
}

/// Where each of these stands in a text, which must hold all of them.
#[track_caller]
fn places(text: &str, marks: &[&str]) -> Vec<usize> {
    let place = |mark: &&str| text.find(mark).unwrap_or_else(|| panic!("no {mark} in {text}"));
    marks.iter().map(place).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_user_then_requests_to_end_the_lead_peers_and_tasks() {
    let rig = Rig::new();
    let gate = Gate::default();
    let held = gate.clone();
    let cast = obedient_but(move |asked| {
        if asked.agent == "bob" && asked.newest().contains("begin now") {
            // A round of tools follows: what came meanwhile is delivered behind it.
            return Some(behind(&held, call("TaskList", json!({}))));
        }
        if asked.agent == "bob" { shutdown_answer(asked, false, "not yet") } else { None }
    });
    let live = rig.start(&cast).await;
    spawn(&live, "bob", "Wait.").await;
    spawn(&live, "alice", "Wait.").await;
    quiet(&live).await;
    tell(&live, one(&live, "bob"), "begin now").await;
    gate.reached.notified().await;
    mail(&live, "alice", "bob", "from a peer").await;
    mail(&live, "team-lead", "bob", "from the lead").await;
    mail(&live, "alice", "bob", "from a peer again").await;
    let end = Op::Shutdown { agent: one(&live, "bob"), reason: "enough".to_owned() };
    live.submit(end).await.unwrap();
    tell(&live, one(&live, "bob"), "words of the user").await;
    gate.open.notify_one();
    quiet(&live).await;
    let talk = cast.last_of("bob");
    assert_valid(&talk);
    let all: String = talk.iter().map(whole).collect();
    let at = places(
        &all,
        &["words of the user", "shutdown_request", "from the lead", "from a peer", "peer again"],
    );
    assert!(at.is_sorted(), "{at:?} in {all}");
    // All mail came in one message, between two rounds of one turn.
    let with_mail = talk.iter().map(whole).find(|text| text.contains("from the lead")).unwrap();
    assert_eq!(with_mail.matches("</teammate-message>").count(), 4, "{with_mail}");
    assert!(roster(&live).member(&AgentName::found("bob")).is_some(), "it refused to end");
    live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_comes_only_when_nothing_else_waits() {
    let rig = Rig::new();
    let gate = Gate::default();
    let held = gate.clone();
    let cast = obedient_but(move |asked| {
        let newest = asked.newest();
        if newest.contains("begin now") {
            return Some(behind(&held, say("done with that")));
        }
        newest
            .contains("is yours now")
            .then(|| call("TaskUpdate", json!({ "taskId": "1", "status": "completed" })))
    });
    let live = rig.start(&cast).await;
    spawn(&live, "bob", "Wait.").await;
    quiet(&live).await;
    tell(&live, one(&live, "bob"), "begin now").await;
    gate.reached.notified().await;
    let before = cast.asked("bob");
    let change = TaskChange::Create {
        subject: "Sweep".to_owned(),
        description: "the floor".to_owned(),
        blocked_by: vec![],
    };
    live.submit(Op::Task { change: Box::new(change) }).await.unwrap();
    mail(&live, "team-lead", "bob", "one letter").await;
    mail(&live, "team-lead", "bob", "another letter").await;
    assert_eq!(task(&live, "1").unwrap().status.as_str(), "pending", "nobody is free");
    gate.open.notify_one();
    quiet(&live).await;
    // Both letters in one request, the task in the next, its result in the last.
    assert_eq!(cast.asked("bob") - before, 3);
    let talk: String = cast.last_of("bob").iter().map(whole).collect();
    let at = places(&talk, &["one letter", "another letter", "Task #1 is yours now: Sweep"]);
    assert!(at.is_sorted());
    assert_eq!(task(&live, "1").unwrap().status.as_str(), "completed");
    assert_eq!(task(&live, "1").unwrap().owner().map(AgentName::as_str), Some("bob"));
    live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_who_leaves_a_task_open_is_asked_about_it_once() {
    let rig = Rig::new();
    let cast = obedient_but(|_| None);
    let live = rig.start(&cast).await;
    let made = ("TaskCreate", json!({ "subject": "Sweep", "description": "the floor" }));
    order_lead(&live, &[("TeamCreate", json!({ "team_name": "crew" })), made]).await;
    spawn(&live, "bob", "Wait.").await;
    quiet(&live).await;
    let talk: String = cast.last_of("bob").iter().map(whole).collect();
    assert_eq!(talk.matches("Task #1 is yours now").count(), 1);
    assert_eq!(talk.matches("is still in progress and yours").count(), 1);
    assert_eq!(task(&live, "1").unwrap().status.as_str(), "in_progress", "it is still its own");
    live.end().await;
    let store = rig.store.clone();
    let crew = quarterdeck::protocol::ids::TeamDir::found("crew").unwrap();
    let left = store.tasks(&crew).get(&quarterdeck::protocol::ids::TaskId::written("1"));
    let left = left.unwrap().unwrap();
    assert_eq!((left.status.as_str(), left.owner()), ("pending", None), "free again at the end");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ring_loses_nothing_doubles_nothing_and_keeps_the_order() {
    let ring = match crate::support::soak() {
        true => Ring { members: 50, rounds: 200, tokens: 10 },
        false => Ring { members: 12, rounds: 10, tokens: 3 },
    };
    let tasks = ring.members * 2;
    let (live, _, _rig) = ring.run(tasks).await;
    live.end().await;
}
