//! Those who leave: nothing of them stays, nothing of theirs is lost, and their names are free.

use std::process::Command;
use std::time::Duration;

use quarterdeck::protocol::ask::Verdict;
use quarterdeck::protocol::event::{Event, Fact};
use quarterdeck::protocol::ids::AgentName;
use quarterdeck::protocol::op::{Op, TaskChange, When};
use quarterdeck::protocol::task::Status;
use quarterdeck::session::live::Live;
use quarterdeck::settings::budgets::{Allowance, Budgets};
use quarterdeck::store::watch::Pace;
use serde_json::{Value, json};

use super::rig::{
    Gate, Part, Rig, assert_valid, behind, call, event, facts, idle, obedient, obedient_but, one,
    order, order_lead, quiet, roster, say, shutdown_answer, spawn, task, tell, until, whole,
};

fn end(live: &Live, name: &str) -> Op {
    Op::Shutdown { agent: one(live, name), reason: String::new() }
}

async fn gone(live: &Live) {
    until("all to be gone", || live.team().roll().unwrap().members().is_empty()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_about_one_that_answers_late_is_taken_back() {
    let mut rig = Rig::new();
    rig.team.attended = true;
    rig.team.shutdown_patience = Duration::from_millis(100);
    let gate = Gate::default();
    let held = gate.clone();
    let cast = obedient_but(move |asked| Some(behind(&held, shutdown_answer(asked, true, "")?)));
    let live = rig.start(&cast).await;
    spawn(&live, "bob", "Wait.").await;
    quiet(&live).await;
    live.submit(end(&live, "bob")).await.unwrap();
    let is_asked = |event: &Event| matches!(event.fact, Fact::Asked { .. }).then_some(());
    event(&live, 0, "the question", is_asked).await;
    gate.open.notify_one();
    gone(&live).await;
    until("it to be taken back", || live.office.desk.open_asks().unwrap().asks.is_empty()).await;
    let verdicts: Vec<Verdict> = facts(&live)
        .into_iter()
        .filter_map(|(_, fact)| match fact {
            Fact::Settled { verdict, .. } => Some(verdict),
            _ => None,
        })
        .collect();
    assert!(matches!(verdicts[..], [Verdict::Withdrawn { .. }]), "{verdicts:?}");
    live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_is_just_let_go_is_whole_for_the_next() {
    let rig = Rig::new();
    std::fs::write(rig.project.join("shared.txt"), "one\n").unwrap();
    for args in [
        &["init", "-q", "-b", "main"][..],
        &["add", "."],
        &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first"],
    ] {
        let ran = Command::new("git").args(args).current_dir(&rig.project).status();
        assert!(ran.unwrap().success(), "git {args:?}");
    }
    let cast = obedient_but(|asked| shutdown_answer(asked, true, ""));
    let live = rig.start(&cast).await;
    // To clear a worktree away takes a while, in which the roster is free of the name already.
    let plain = json!({ "description": "bob", "name": "bob", "prompt": "Wait." });
    let mut bob = plain.clone();
    bob["isolation"] = json!("worktree");
    for round in 0..3 {
        order_lead(&live, &[("Agent", bob.clone())]).await;
        quiet(&live).await;
        live.submit(end(&live, "bob")).await.unwrap();
        until("the name to be free", || roster(&live).teammates().count() == 0).await;
        order_lead(&live, &[("Agent", plain.clone())]).await;
        quiet(&live).await;
        let member = live.team().roll().unwrap().member(&AgentName::found("bob"));
        assert!(member.is_some_and(|member| !member.agent.life.is_cancelled()), "round {round}");
        let words = json!({ "to": "bob", "message": format!("round {round}"), "summary": "s" });
        let sent = order_lead(&live, &[("SendMessage", words)]).await;
        assert!(sent[0].0.contains("\"success\": true"), "{sent:?}");
        let mark = format!("round {round}");
        until("it to be heard", || {
            cast.last_of("bob").iter().any(|one| whole(one).contains(&mark))
        })
        .await;
        quiet(&live).await;
        tell(&live, one(&live, "bob"), "still there?").await;
        quiet(&live).await;
        live.submit(end(&live, "bob")).await.unwrap();
        gone(&live).await;
        quiet(&live).await;
    }
    live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_has_left_is_nobodys_background_agent() {
    let rig = Rig::new();
    let cast = obedient_but(|asked| shutdown_answer(asked, true, ""));
    let live = rig.start(&cast).await;
    spawn(&live, "alice", "Wait.").await;
    spawn(&live, "bob", "Wait.").await;
    quiet(&live).await;
    let transcript = {
        let bob = live.team().roll().unwrap().member(&AgentName::found("bob")).unwrap();
        bob.agent.recorder.agent_id().unwrap().to_owned()
    };
    live.submit(end(&live, "bob")).await.unwrap();
    until("it to be gone", || live.team().roll().unwrap().members().len() == 1).await;
    quiet(&live).await;
    let before = cast.asked("bob");
    for to in ["bob", "bob@crew", transcript.as_str()] {
        let words = json!({ "to": to, "message": "hello?", "summary": "s" });
        let said = order_lead(&live, &[("SendMessage", words)]).await;
        let answer: Value = serde_json::from_str(&said[0].0).unwrap();
        assert_eq!(answer["success"], false, "{to}: {said:?}");
        let message = answer["message"].as_str().unwrap();
        assert!(message.contains("There are: team-lead, alice"), "{message}");
    }
    let again = json!({ "description": "d", "prompt": "Go on", "resume": "bob" });
    let said = order_lead(&live, &[("Agent", again)]).await;
    assert!(said[0].1, "{said:?}");
    quiet(&live).await;
    assert_eq!(cast.asked("bob"), before, "it does not work behind anybody's back");
    live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_nobody_takes_any_more_is_free_again() {
    let rig = Rig::new();
    let live = rig.start(&obedient()).await;
    spawn(&live, "bob", "Wait.").await;
    quiet(&live).await;
    let bob = live.team().roll().unwrap().member(&AgentName::found("bob")).unwrap();
    // It is just ending: its queue takes nothing more.
    bob.agent.queue.close();
    let (subject, description) = ("Sweep".to_owned(), "the floor".to_owned());
    let change = TaskChange::Create { subject, description, blocked_by: vec![] };
    let after = live.office.journal.latest();
    live.submit(Op::Task { change: Box::new(change) }).await.unwrap();
    let claimed = |event: &Event| match &event.fact {
        Fact::TaskChanged { task } => (task.status == Status::InProgress).then_some(()),
        _ => None,
    };
    event(&live, after, "the claim", claimed).await;
    until("it to be free", || {
        let task = task(&live, "1").unwrap();
        task.status == Status::Pending && task.owner().is_none()
    })
    .await;
    drop(bob);
    live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_last_words_of_which_the_lead_heard_nothing_reach_it() {
    let rig = Rig::new();
    let gate = Gate::default();
    let held = gate.clone();
    let cast = obedient_but(move |asked| {
        let newest = asked.newest();
        match newest {
            _ if asked.agent != "bob" => None,
            text if text.contains("begin now") => Some(behind(&held, say("The first result."))),
            text if text.contains("and then this") => Some(say("The second result.")),
            _ => None,
        }
    });
    let live = rig.start(&cast).await;
    spawn(&live, "alice", "Wait.").await;
    spawn(&live, "bob", "Wait.").await;
    quiet(&live).await;
    let after = live.office.journal.latest();
    tell(&live, one(&live, "bob"), "begin now").await;
    gate.reached.notified().await;
    // Mail that comes while it says its last words makes it say more.
    let words = json!({ "to": "bob", "message": "and then this", "summary": "s" });
    order(&live, one(&live, "alice"), &[("SendMessage", words)]).await;
    gate.open.notify_one();
    let note = |event: &Event| match &event.fact {
        Fact::MailSent { message, .. } if message.text.contains("idle_notification") => {
            let bob = event.agent.as_ref().is_some_and(|agent| agent.name == *"bob");
            bob.then(|| serde_json::from_str::<Value>(&message.text).unwrap())
        }
        _ => None,
    };
    let (_, body) = event(&live, after, "the notification", note).await;
    assert_eq!(body["lastMessage"], "The first result.\n\nThe second result.");
    quiet(&live).await;
    let told: String = cast.last_of("team-lead").iter().map(whole).collect();
    assert!(told.contains("The first result.") && told.contains("The second result."), "{told}");
    live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn urgent_words_are_heard_at_once_and_nobody_is_told_of_idleness() {
    let rig = Rig::new();
    let cast =
        obedient_but(|asked| asked.newest().contains("think for ever").then(|| vec![Part::Hang]));
    let live = rig.start(&cast).await;
    spawn(&live, "bob", "Wait.").await;
    quiet(&live).await;
    let (bob, after) = (one(&live, "bob"), live.office.journal.latest());
    tell(&live, bob.clone(), "think for ever").await;
    until("the model to be asked", || {
        cast.last_of("bob").iter().any(|one| whole(one).contains("think for ever"))
    })
    .await;
    let now = Op::Say { to: bob, text: "this first".to_owned(), when: When::Now };
    live.submit(now).await.unwrap();
    idle(&live, after, "bob", "available").await;
    quiet(&live).await;
    let talk = cast.last_of("bob");
    assert_valid(&talk);
    assert!(talk.iter().any(|one| whole(one).contains("this first")));
    let idles: Vec<Fact> = facts(&live)
        .into_iter()
        .map(|(_, fact)| fact)
        .filter(|fact| matches!(fact, Fact::WentIdle { reason, .. } if reason == "interrupted"))
        .collect();
    assert_eq!(idles, [], "it was never idle in between");
    live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn several_who_go_idle_are_one_turn_of_an_idle_lead() {
    let rig = Rig::new();
    let gate = Gate::default();
    let held = gate.clone();
    let cast = obedient_but(move |asked| {
        let is_lead = asked.agent == "team-lead";
        (is_lead && asked.newest().contains("think")).then(|| behind(&held, say("thought")))
    });
    let live = rig.start(&cast).await;
    let names = ["alice", "bob", "carol", "dora"];
    for name in names {
        spawn(&live, name, "Wait.").await;
    }
    quiet(&live).await;
    // The lead is busy while all of them go idle; what waits then is one turn.
    let after = live.office.journal.latest();
    super::rig::tell_lead(&live, "think").await;
    gate.reached.notified().await;
    for name in names {
        tell(&live, one(&live, name), "hello").await;
    }
    for name in names {
        idle(&live, after, name, "available").await;
    }
    until("all notes to wait", || {
        let roll = live.team().roll().unwrap();
        roll.members().iter().all(|member| member.is_resting())
            && roll.post.tray(&AgentName::lead()).is_quiet()
    })
    .await;
    let before = cast.asked("team-lead");
    gate.open.notify_one();
    quiet(&live).await;
    assert_eq!(cast.asked("team-lead") - before, 1, "one request for all of them");
    let talk = cast.last_of("team-lead");
    let mut with = talk.iter().map(whole).filter(|text| text.contains("idle_notification"));
    let last = with.next_back().unwrap();
    assert_eq!(last.matches("</teammate-message>").count(), names.len(), "{last}");
    live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_leaves_while_all_wait_for_leave_to_go_on_decides_nothing_for_the_others() {
    let mut rig = Rig::new();
    rig.team.attended = true;
    let team = Allowance { turns: Some(4), ..Allowance::default() };
    rig.budgets = Budgets { team, ..Budgets::default() };
    let cast = obedient_but(|asked| {
        shutdown_answer(asked, true, "").or_else(|| {
            let looks = asked.agent != "team-lead";
            looks.then(|| call("TaskList", json!({})))
        })
    });
    let live = rig.start(&cast).await;
    spawn(&live, "alice", "Look.").await;
    spawn(&live, "bob", "Look.").await;
    let asked = |event: &Event| match &event.fact {
        Fact::Asked { ask } => Some((ask.id.clone(), ask.rev, ask.chain[0].name.to_string())),
        _ => None,
    };
    let (seq, (_, _, holder)) = event(&live, 0, "the question", asked).await;
    live.submit(end(&live, &holder)).await.unwrap();
    let (_, (ask, rev, other)) = event(&live, seq, "the other's question", asked).await;
    assert_ne!(other, holder);
    live.submit(Op::Answer { ask, rev, verdict: Verdict::Deny { why: None } }).await.unwrap();
    idle(&live, 0, &other, "failed").await;
    live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mail_that_cannot_be_read_is_tried_again() {
    let mut rig = Rig::new();
    // Nothing else makes anybody look.
    rig.team.watch = Pace::default().events_only().scan_only();
    let cast = obedient();
    let live = rig.start(&cast).await;
    spawn(&live, "bob", "Wait.").await;
    quiet(&live).await;
    let bob = AgentName::found("bob");
    let roll = live.team().roll().unwrap();
    let file = live.office.home().root().join(format!("teams/{}/inboxes/bob.json", roll.dir));
    let whole_file = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    let after = live.office.journal.latest();
    roll.post.tray(&bob).look();
    let noticed = |event: &Event| match &event.fact {
        Fact::Notice { text, .. } => text.contains("mail of bob cannot be read").then_some(()),
        _ => None,
    };
    event(&live, after, "the trouble to be told", noticed).await;
    std::fs::remove_dir(&file).unwrap();
    let message = quarterdeck::protocol::message::Message::new(
        &AgentName::lead(),
        "here I am",
        quarterdeck::store::mailbox::stamp(),
    );
    let mut all: Vec<Value> = serde_json::from_str(&whole_file).unwrap();
    all.push(serde_json::to_value(message).unwrap());
    std::fs::write(&file, serde_json::to_string_pretty(&all).unwrap()).unwrap();
    until("it to be heard", || {
        cast.last_of("bob").iter().any(|one| whole(one).contains("here I am"))
    })
    .await;
    quiet(&live).await;
    drop(roll);
    live.end().await;
}
