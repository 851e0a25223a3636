//! The end of many teammates: most agree, two refuse, one never answers.

use std::time::Duration;

use quarterdeck::protocol::event::Fact;
use quarterdeck::protocol::ids::AgentName;
use quarterdeck::protocol::op::{Op, TaskChange};
use quarterdeck::protocol::task::Status;
use quarterdeck::session::live::Live;
use serde_json::json;

use super::rig::{
    Part, Rig, event, facts, obedient_but, one, order_lead, quiet, roster, shutdown_answer, spawn,
    task, until, whole,
};

const ALL: usize = 20;

/// Whether a process runs; one that only waits to be collected does not.
fn alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}

fn name(at: usize) -> String {
    format!("mate-{at}")
}

async fn ask_all(live: &Live) {
    let asks: Vec<_> = (0..ALL)
        .map(|at| {
            (
                "SendMessage",
                json!({ "type": "shutdown_request", "recipient": name(at), "content": "done" }),
            )
        })
        .collect();
    let said = order_lead(live, &asks).await;
    assert!(
        said.iter().all(|(text, failed)| !failed && text.contains("\"success\": true")),
        "{said:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_are_asked_two_refuse_and_one_never_answers() {
    let mut rig = Rig::new();
    rig.team.shutdown_patience = Duration::from_millis(600);
    let refuse = ["mate-3", "mate-7"];
    let cast = obedient_but(move |asked| {
        let refuses = refuse.contains(&asked.agent.as_str());
        shutdown_answer(asked, !refuses, "still busy")
    });
    let live = rig.start(&cast).await;
    for at in 0..ALL {
        spawn(&live, &name(at), "Wait.").await;
    }
    for at in 0..ALL {
        let change = TaskChange::Create {
            subject: format!("Task {at}"),
            description: "Do it.".to_owned(),
            blocked_by: vec![],
        };
        live.submit(Op::Task { change: Box::new(change) }).await.unwrap();
    }
    quiet(&live).await;
    // This one is in the middle of a command that does not end.
    let sleep = json!({ "command": "echo $$ > pid; sleep 600", "description": "d" });
    let sleeps = format!("DO {}", json!([["Bash", sleep]]));
    super::rig::tell(&live, one(&live, "mate-5"), &sleeps).await;
    let pid = rig.project.join("pid");
    let written = || std::fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n'));
    until("the command to run", written).await;
    let pid = std::fs::read_to_string(&pid).unwrap().trim().to_owned();
    assert!(alive(&pid));
    ask_all(&live).await;
    until("all but two to be gone", || live.team().roll().unwrap().members().len() == 2).await;
    quiet(&live).await;
    let left: Vec<String> =
        roster(&live).teammates().map(|member| member.name.to_string()).collect();
    assert_eq!(left, refuse);
    let told: String = cast.last_of("team-lead").iter().map(whole).collect();
    assert_eq!(told.matches("shutdown_approved").count(), ALL - 3, "{told}");
    assert_eq!(told.matches("has shut down.").count(), ALL - 3);
    assert_eq!(told.matches("shutdown_rejected").count(), 2);
    assert!(told.contains("still busy"));
    assert!(told.contains("mate-5 has ended: it did not answer the request to end"), "{told}");
    // What those who left had begun is nobody's, until one who stays takes it.
    let mut in_progress = 0;
    for number in 1..=ALL {
        let task = task(&live, &number.to_string()).unwrap();
        let owner = task.owner().map(AgentName::to_string).unwrap_or_default();
        assert_eq!(task.status == Status::InProgress, refuse.contains(&owner.as_str()), "{task:?}");
        in_progress += usize::from(task.status == Status::InProgress);
    }
    assert_eq!(in_progress, 2, "one each");
    // All this while the session still runs: no process, no lock, nobody in memory or at the desk.
    until("its command to be gone", || !alive(&pid)).await;
    assert!(live.office.desk.open_asks().unwrap().asks.is_empty());
    let locks = crate::support::deck::leftovers(rig.store.home().root());
    assert!(locks.is_empty(), "{locks:?}");
    live.end().await;
    let store = rig.store.clone();
    let dir = store.rosters().list().unwrap().teams.remove(0).0;
    assert_eq!(store.rosters().team(&dir).unwrap().teammates().count(), 0);
    let open = store
        .tasks(&dir)
        .look(|tasks| tasks.iter().filter(|task| task.status == Status::InProgress).count());
    assert_eq!(open.unwrap(), 0);
    let locks = crate::support::deck::leftovers(store.home().root());
    assert!(locks.is_empty(), "{locks:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_person_decides_about_one_that_does_not_answer() {
    use quarterdeck::protocol::ask::{Question, Verdict};
    let mut rig = Rig::new();
    rig.team.shutdown_patience = Duration::from_millis(200);
    rig.team.attended = true;
    let cast =
        obedient_but(|asked| asked.newest().contains("shutdown_request").then(|| vec![Part::Hang]));
    let live = rig.start(&cast).await;
    spawn(&live, "bob", "Wait.").await;
    quiet(&live).await;
    let end = Op::Shutdown { agent: one(&live, "bob"), reason: "enough".to_owned() };
    live.submit(end).await.unwrap();
    let asked = |event: &quarterdeck::protocol::event::Event| match &event.fact {
        Fact::Asked { ask } if ask.question == Question::NoAnswerToShutdown => {
            Some((ask.id.clone(), ask.rev, ask.choices.len()))
        }
        _ => None,
    };
    let (seq, (ask, rev, choices)) = event(&live, 0, "a question", asked).await;
    assert_eq!(choices, 3);
    let chose = |choice| Verdict::Chose { choice, text: None };
    live.submit(Op::Answer { ask, rev, verdict: chose(0) }).await.unwrap();
    let (_, (ask, rev, _)) = event(&live, seq, "another question", asked).await;
    assert_eq!(live.team().roll().unwrap().members().len(), 1, "it had more time");
    live.submit(Op::Answer { ask, rev, verdict: chose(2) }).await.unwrap();
    until("it to be gone", || live.team().roll().unwrap().members().is_empty()).await;
    quiet(&live).await;
    live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_to_end_settles_what_was_asked() {
    use quarterdeck::protocol::ask::Verdict;
    use quarterdeck::protocol::op::Mode;
    let mut rig = Rig::new();
    rig.mode = Mode::Default;
    let cast = obedient_but(|asked| {
        shutdown_answer(asked, true, "").or_else(|| {
            asked.newest().contains("touch it").then(|| {
                super::rig::call("Bash", json!({ "command": "touch it", "description": "d" }))
            })
        })
    });
    let live = rig.start(&cast).await;
    spawn(&live, "bob", "touch it").await;
    let is_ask = |event: &quarterdeck::protocol::event::Event| {
        matches!(event.fact, Fact::Asked { .. }).then_some(())
    };
    event(&live, 0, "a question", is_ask).await;
    let end = Op::Shutdown { agent: one(&live, "bob"), reason: String::new() };
    live.submit(end).await.unwrap();
    until("it to be gone", || live.team().roll().unwrap().members().is_empty()).await;
    let settled: Vec<Verdict> = facts(&live)
        .into_iter()
        .filter_map(|(_, fact)| match fact {
            Fact::Settled { verdict, .. } => Some(verdict),
            _ => None,
        })
        .collect();
    assert_eq!(settled, [Verdict::Deny { why: Some("shutting down".to_owned()) }]);
    assert!(!rig.project.join("it").exists());
    live.end().await;
}
