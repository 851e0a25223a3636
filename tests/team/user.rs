//! What the person may do with each teammate, and with the tasks.

use quarterdeck::protocol::event::Fact;
use quarterdeck::protocol::ids::{AgentName, TaskId};
use quarterdeck::protocol::op::{Op, SpawnWish, TaskChange};
use quarterdeck::protocol::task::Status;
use quarterdeck::session::live::Live;
use serde_json::json;

use super::rig::{
    Gate, Part, Rig, assert_valid, behind, call, event, facts, idle, obedient, obedient_but, one,
    order, order_lead, quiet, roster, say, spawn, task, tell, until, whole,
};

async fn change(live: &Live, change: TaskChange) -> Result<(), String> {
    live.submit(Op::Task { change: Box::new(change) }).await.map_err(|refused| refused.0)
}

fn create(subject: &str, blocked_by: &[&str]) -> TaskChange {
    TaskChange::Create {
        subject: subject.to_owned(),
        description: "Do it.".to_owned(),
        blocked_by: blocked_by.iter().map(|id| TaskId::written(id)).collect(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_interrupted_waits_for_words_and_claims_nothing() {
    let rig = Rig::new();
    let cast = obedient_but(|asked| {
        let newest = asked.newest();
        if newest.contains("think for ever") {
            return Some(vec![Part::Hang]);
        }
        newest
            .contains("is yours now")
            .then(|| call("TaskUpdate", json!({ "taskId": "1", "status": "completed" })))
    });
    let live = rig.start(&cast).await;
    spawn(&live, "bob", "Wait.").await;
    quiet(&live).await;
    let (bob, after) = (one(&live, "bob"), live.office.journal.latest());
    tell(&live, bob.clone(), "think for ever").await;
    until("the model to be asked", || {
        cast.last_of("bob").iter().any(|one| whole(one).contains("think for ever"))
    })
    .await;
    live.submit(Op::Interrupt { agent: bob.clone() }).await.unwrap();
    let after = idle(&live, after, "bob", "interrupted").await;
    change(&live, create("Sweep", &[])).await.unwrap();
    quiet(&live).await;
    assert_eq!(task(&live, "1").unwrap().status, Status::Pending, "it waits for words");
    let heard: String = cast.last_of("team-lead").iter().map(whole).collect();
    assert!(heard.contains(r#"\"idleReason\":\"interrupted\""#) || heard.contains("interrupted"));
    tell(&live, bob, "go on").await;
    idle(&live, after, "bob", "available").await;
    quiet(&live).await;
    let talk = cast.last_of("bob");
    assert_valid(&talk);
    let all: String = talk.iter().map(whole).collect();
    assert!(all.contains("The user interrupted you here"), "{all}");
    assert_eq!(task(&live, "1").unwrap().status, Status::Completed, "now it may claim");
    live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_held_does_nothing_until_it_is_let_go() {
    let rig = Rig::new();
    let gate = Gate::default();
    let held = gate.clone();
    let cast = obedient_but(move |asked| {
        let newest = asked.newest();
        newest.contains("look at it").then(|| behind(&held, call("TaskList", json!({}))))
    });
    let live = rig.start(&cast).await;
    spawn(&live, "bob", "Wait.").await;
    quiet(&live).await;
    let bob = one(&live, "bob");
    // While it is idle: neither words nor tasks reach it.
    live.submit(Op::Pause { agent: bob.clone() }).await.unwrap();
    let before = cast.asked("bob");
    tell(&live, bob.clone(), "are you there?").await;
    change(&live, create("Sweep", &[])).await.unwrap();
    quiet(&live).await;
    assert_eq!(cast.asked("bob"), before);
    assert_eq!(task(&live, "1").unwrap().status, Status::Pending);
    live.submit(Op::Unpause { agent: bob.clone() }).await.unwrap();
    until("the words to reach it", || {
        cast.last_of("bob").iter().any(|one| whole(one).contains("are you there?"))
    })
    .await;
    quiet(&live).await;
    assert_eq!(task(&live, "1").unwrap().status, Status::InProgress, "and the task, too");
    // In the middle of a turn: it stops behind the round of tools.
    let after = live.office.journal.latest();
    tell(&live, bob.clone(), "look at it").await;
    gate.reached.notified().await;
    live.submit(Op::Pause { agent: bob.clone() }).await.unwrap();
    gate.open.notify_one();
    event(&live, after, "the results", |event| {
        matches!(&event.fact, Fact::Heard { from, .. } if from == "tools").then_some(())
    })
    .await;
    let before = cast.asked("bob");
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    assert_eq!(cast.asked("bob"), before, "it asks nothing while it is held");
    live.submit(Op::Unpause { agent: bob.clone() }).await.unwrap();
    idle(&live, after, "bob", "available").await;
    assert_eq!(cast.asked("bob"), before + 1);
    assert_valid(&cast.last_of("bob"));
    let told = facts(&live).into_iter().filter(|(_, fact)| *fact == Fact::Paused).count();
    assert_eq!(told, 2);
    live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_stopped_frees_its_tasks_and_begins_again_from_its_transcript() {
    let rig = Rig::new();
    let cast =
        obedient_but(|asked| asked.newest().contains("think for ever").then(|| vec![Part::Hang]));
    let live = rig.start(&cast).await;
    spawn(&live, "bob", "The code word is heron.").await;
    quiet(&live).await;
    let bob = one(&live, "bob");
    change(&live, create("Sweep", &[])).await.unwrap();
    quiet(&live).await;
    assert_eq!(task(&live, "1").unwrap().owner().map(AgentName::as_str), Some("bob"));
    tell(&live, bob.clone(), "think for ever").await;
    until("the model to be asked", || {
        cast.last_of("bob").iter().any(|one| whole(one).contains("think for ever"))
    })
    .await;
    live.submit(Op::Stop { agent: bob.clone() }).await.unwrap();
    until("it to be gone", || live.team().roll().unwrap().members().is_empty()).await;
    quiet(&live).await;
    assert!(roster(&live).member(&AgentName::found("bob")).is_none());
    let free = task(&live, "1").unwrap();
    assert_eq!((free.status, free.owner()), (Status::Pending, None));
    let told: String = cast.last_of("team-lead").iter().map(whole).collect();
    assert!(told.contains("teammate_terminated") && told.contains("Released tasks: #1"), "{told}");
    assert!(live.submit(Op::Interrupt { agent: bob.clone() }).await.is_err());
    // Again, from its transcript; what was cut off stays valid.
    spawn(&live, "bob", "What was the code word?").await;
    quiet(&live).await;
    let talk = cast.last_of("bob");
    assert_valid(&talk);
    let all: String = talk.iter().map(whole).collect();
    assert!(all.contains("heron") && all.contains("What was the code word?"), "{all}");
    assert_eq!(roster(&live).teammates().count(), 1);
    assert_eq!(task(&live, "1").unwrap().owner().map(AgentName::as_str), Some("bob"));
    live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_cannot_be_brought_back_does_not_stay_on_the_roster() {
    let rig = Rig::new();
    let live = rig.start(&obedient()).await;
    spawn(&live, "bob", "Wait.").await;
    quiet(&live).await;
    let agent = live.team().roll().unwrap().members().remove(0);
    let meta = agent.agent.recorder.path().with_extension("meta.json");
    live.submit(Op::Stop { agent: one(&live, "bob") }).await.unwrap();
    until("it to be gone", || live.team().roll().unwrap().members().is_empty()).await;
    let text = std::fs::read_to_string(&meta).unwrap().replace("general-purpose", "no-such-kind");
    std::fs::write(&meta, text).unwrap();
    let wish = SpawnWish { name: "bob".into(), prompt: "Again.".into(), ..SpawnWish::default() };
    let refused = live.submit(Op::Spawn { wish: Box::new(wish) }).await.unwrap_err();
    assert!(refused.0.contains("no-such-kind"), "{refused}");
    assert_eq!(roster(&live).teammates().count(), 0, "nobody is left who is not there");
    live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_are_changed_by_the_person_and_cycles_are_refused() {
    let mut rig = Rig::new();
    rig.team.auto_claim = false;
    let cast = obedient();
    let live = rig.start(&cast).await;
    spawn(&live, "bob", "Wait.").await;
    quiet(&live).await;
    for (subject, blockers) in [("One", &[][..]), ("Two", &["1"]), ("Three", &[])] {
        change(&live, create(subject, blockers)).await.unwrap();
    }
    assert_eq!(task(&live, "1").unwrap().blocks, [TaskId::written("2")], "both sides are written");
    let blocked = |id: &str, by: &[&str]| TaskChange::BlockedBy {
        id: TaskId::written(id),
        blockers: by.iter().map(|id| TaskId::written(id)).collect(),
    };
    change(&live, blocked("3", &["2"])).await.unwrap();
    let refused = change(&live, blocked("1", &["3"])).await.unwrap_err();
    assert!(refused.contains('3') && refused.contains('1'), "{refused}");
    assert!(task(&live, "1").unwrap().blocked_by.is_empty(), "nothing of it was written");
    assert!(change(&live, blocked("1", &["99"])).await.is_err());
    change(&live, blocked("3", &[])).await.unwrap();
    assert!(task(&live, "2").unwrap().blocks.is_empty());
    let (id, owner) = (TaskId::written("1"), Some(AgentName::found("bob")));
    change(&live, TaskChange::Assign { id: id.clone(), owner }).await.unwrap();
    quiet(&live).await;
    let talk: String = cast.last_of("bob").iter().map(whole).collect();
    assert!(talk.contains("task_assignment") && talk.contains("One"), "its owner is told");
    change(&live, TaskChange::Assign { id: id.clone(), owner: None }).await.unwrap();
    assert_eq!(task(&live, "1").unwrap().owner(), None);
    let subject = Some("First".to_owned());
    change(&live, TaskChange::Reword { id: id.clone(), subject, description: None }).await.unwrap();
    assert_eq!(task(&live, "1").unwrap().subject, "First");
    let status = Status::Completed;
    change(&live, TaskChange::Status { id: id.clone(), status }).await.unwrap();
    assert_eq!(task(&live, "1").unwrap().status, Status::Completed);
    assert_eq!(
        task(&live, "2").unwrap().blocked_by,
        std::slice::from_ref(&id),
        "a done blocker stays written"
    );
    change(&live, TaskChange::Delete { id: id.clone() }).await.unwrap();
    assert_eq!(task(&live, "1"), None);
    assert!(task(&live, "2").unwrap().blocked_by.is_empty());
    assert!(change(&live, TaskChange::Delete { id }).await.is_err());
    change(&live, create("Four", &[])).await.unwrap();
    assert!(task(&live, "4").is_some(), "numbers are not used again");
    live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_words_of_a_teammate_reach_its_lead_once_per_idle_time() {
    let rig = Rig::new();
    let cast = obedient_but(|asked| {
        (asked.agent == "bob" && asked.newest().contains("good day")).then(|| say("Good morning."))
    });
    let live = rig.start(&cast).await;
    spawn(&live, "bob", "Wait.").await;
    spawn(&live, "alice", "Wait.").await;
    quiet(&live).await;
    tell(&live, one(&live, "bob"), "good day").await;
    quiet(&live).await;
    let idles = |live: &Live| {
        let sent = facts(live).into_iter().filter_map(|(agent, fact)| match fact {
            Fact::MailSent { message, .. } if message.text.contains("idle_notification") => {
                agent.filter(|agent| agent.name == *"bob").map(|_| message.text)
            }
            _ => None,
        });
        sent.collect::<Vec<String>>()
    };
    let sent = idles(&live);
    assert_eq!(sent.len(), 2, "{sent:?}");
    assert!(sent[1].contains(r#""lastMessage":"Good morning.""#), "its last words: {sent:?}");
    // Whoever wrote to its lead has said what there is to say; a word to a peer is summed up.
    let bob = one(&live, "bob");
    let words = json!({ "to": "team-lead", "message": "all done", "summary": "done" });
    order(&live, bob.clone(), &[("SendMessage", words)]).await;
    quiet(&live).await;
    assert!(!idles(&live)[2].contains("lastMessage"), "{:?}", idles(&live));
    let words = json!({ "to": "alice", "message": "hello", "summary": "greets alice" });
    order(&live, bob, &[("SendMessage", words)]).await;
    quiet(&live).await;
    let last = idles(&live).pop().unwrap();
    assert!(last.contains(r#""summary":"[to alice] greets alice""#), "{last}");
    order_lead(&live, &[("TaskList", json!({}))]).await;
    live.end().await;
}
