//! Every op of a session, what is refused, and what is left when it ends.

use std::fs;
use std::sync::Arc;

use quarterdeck::agent::context::Brain;
use quarterdeck::protocol::ask::{Ask, Permit, Verdict};
use quarterdeck::protocol::event::Fact;
use quarterdeck::protocol::ids::AgentId;
use quarterdeck::protocol::op::{Mode, Op, When};
use quarterdeck::session::resume;
use quarterdeck::settings::models::Chosen;
use quarterdeck::settings::paths::Home;
use serde_json::json;

use super::live::{Session, begin};
use super::rig::{Rig, alive, indented, until};
use crate::support::deck::leftovers;

const WAITING: &str = r#"
- { when: { user: "^work$" }, call: [{ tool: Bash, input: { command: "echo $$ > pid; until [ -e go ]; do sleep 0.02; done" } }] }
- { when: { any: true }, repeat: true, say: "yes?" }
"#;

fn pid(rig: &Rig) -> String {
    until("the command", || {
        let pid = fs::read_to_string(rig.project.join("pid")).ok()?;
        pid.ends_with('\n').then(|| pid.trim().to_owned())
    })
}

async fn working(rig: &Rig) -> Session {
    let session = begin(rig, Mode::BypassPermissions, None).await.unwrap();
    session.say("work").await.unwrap();
    let project = rig.project.clone();
    let begun = tokio::task::spawn_blocking(move || {
        let written =
            || fs::read_to_string(project.join("pid")).ok().filter(|it| it.ends_with('\n'));
        until("the command", written);
    });
    begun.await.unwrap();
    session
}

fn nobody() -> AgentId {
    serde_json::from_value(json!("nobody@t")).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn say_is_answered_and_now_interrupts() {
    let rig = Rig::new(WAITING);
    let mut session = working(&rig).await;
    session.say_to(session.lead(), "stop that", When::Now).await.unwrap();
    assert_eq!(session.turn().await, "interrupted");
    let last = session.answer().await;
    assert_eq!(last, "yes?", "it is answered in a turn of its own");
    assert!(!alive(&pid(&rig)));
    session.live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupt_ends_the_turn_and_stop_the_agent() {
    let rig = Rig::new(WAITING);
    let mut session = working(&rig).await;
    let lead = session.lead();
    session.live.submit(Op::Interrupt { agent: lead.clone() }).await.unwrap();
    assert_eq!(session.turn().await, "interrupted");
    session.say("still there?").await.unwrap();
    assert_eq!(session.answer().await, "yes?");
    assert_eq!(session.turn().await, "done");
    session.live.submit(Op::Stop { agent: lead.clone() }).await.unwrap();
    let mut doing = session.live.doing();
    doing.wait_for(|doing| *doing == quarterdeck::agent::life::Doing::Ended).await.unwrap();
    let refused = session.say("hello?").await.unwrap_err().to_string();
    assert_eq!(refused, format!("`{lead}` has ended"));
    session.live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_not_there_is_named() {
    let rig = Rig::new(WAITING);
    let session = begin(&rig, Mode::Default, None).await.unwrap();
    let agent = nobody();
    for op in [
        Op::Say { to: agent.clone(), text: "x".to_owned(), when: When::Next },
        Op::Interrupt { agent: agent.clone() },
        Op::Stop { agent: agent.clone() },
        Op::Mode { agent: agent.clone(), mode: Mode::Plan },
        Op::Compact { agent: agent.clone(), wishes: None },
    ] {
        let refused = session.live.submit(op.clone()).await.unwrap_err();
        assert_eq!(refused.to_string(), "there is no agent `nobody@t`", "{op:?}");
    }
    let refused = session.live.submit(Op::Background { use_id: "u".to_owned() }).await.unwrap_err();
    assert_eq!(refused.to_string(), "nothing that this call started is still running");
    let verdict = Verdict::Deny { why: None };
    let ask = serde_json::from_value(json!("gone")).unwrap();
    let refused = session.live.submit(Op::Answer { ask, rev: 1, verdict }).await.unwrap_err();
    assert!(refused.to_string().contains("gone"), "{refused}");
    session.live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn background_has_a_call_return_and_its_end_is_told() {
    let rig = Rig::new(
        r#"
- { when: { user: "^work$" }, call: [{ tool: Bash, input: { command: "echo $$ > pid; until [ -e go ]; do sleep 0.02; done; echo finished" } }] }
- { when: { user: "task-notification" }, say: "it has ended" }
- { when: { result_of: Bash }, say: "goes on without me" }
"#,
    );
    let mut session = working(&rig).await;
    let use_id = session
        .wait(|event| match &event.fact {
            Fact::ToolStarted { use_id, .. } => Some(use_id.clone()),
            _ => None,
        })
        .await;
    // Its process is there a moment before the call can be told to return.
    let sent = async {
        while session.live.submit(Op::Background { use_id: use_id.clone() }).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(super::rig::PATIENCE, sent).await.expect("it runs");
    assert_eq!(session.answer().await, "goes on without me");
    assert!(alive(&pid(&rig)));
    fs::write(rig.project.join("go"), "").unwrap();
    assert_eq!(session.answer().await, "it has ended");
    assert!(session.live.submit(Op::Background { use_id }).await.is_err());
    session.live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn compact_summarises_between_turns() {
    let actors = format!(
        "  - who: team-lead\n    turns:\n{}  - who: internal:compact\n    turns:\n      - say: \"In short: {{{{me}}}} talked.\"\n",
        indented("- { repeat: true, say: words }", 6)
    );
    let rig = Rig::with_actors(&actors);
    let mut session = begin(&rig, Mode::Default, None).await.unwrap();
    for _ in 0..3 {
        session.say("talk").await.unwrap();
        assert_eq!(session.turn().await, "done");
    }
    let (agent, wishes) = (session.lead(), Some("mind the words".to_owned()));
    session.live.submit(Op::Compact { agent, wishes }).await.unwrap();
    let summary = session
        .wait(|event| match &event.fact {
            Fact::Compacted { summary, .. } => Some(summary.clone()),
            _ => None,
        })
        .await;
    assert!(summary.contains("In short"), "{summary}");
    session.say("talk").await.unwrap();
    assert_eq!(session.turn().await, "done");
    session.live.end().await;
}

const EDIT_TWICE: &str = r#"
- { when: { user: "^work$" }, call: [{ tool: Write, input: { file_path: "{{cwd}}/one", content: "1" } }] }
- { when: { error_of: Write }, say: "refused" }
- { when: { result_of: Write }, call: [{ tool: Write, input: { file_path: "{{cwd}}/two", content: "2" } }] }
- { when: { error_of: Write }, say: "refused" }
- { when: { result_of: Write }, say: "both" }
- { when: { any: true }, repeat: true, say: "yes?" }
"#;

async fn asked(session: &mut Session) -> Ask {
    session
        .wait(|event| match &event.fact {
            Fact::Asked { ask } => Some(Ask::clone(ask)),
            _ => None,
        })
        .await
}

fn gives_mode(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Allow { grant: Some(grant), .. }
        if grant.permits.iter().any(|permit| matches!(permit, Permit::Mode(_))))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verdict_that_gives_a_mode_changes_it_and_it_is_kept() {
    let rig = Rig::new(EDIT_TWICE);
    let mut session = begin(&rig, Mode::Default, None).await.unwrap();
    session.say("work").await.unwrap();
    let ask = asked(&mut session).await;
    let mut verdicts = ask.choices.iter().filter_map(|choice| choice.verdict.clone());
    let verdict = verdicts.find(gives_mode).expect("a choice that changes the mode");
    let (id, rev) = (ask.id.clone(), ask.rev);
    session.live.submit(Op::Answer { ask: id.clone(), rev, verdict }).await.unwrap();
    let mode = session
        .wait(|event| match &event.fact {
            Fact::ModeChanged { mode } => Some(*mode),
            _ => None,
        })
        .await;
    assert_eq!(mode, Mode::AcceptEdits);
    assert_eq!(session.turn().await, "done");
    assert_eq!(fs::read_to_string(rig.project.join("two")).unwrap(), "2");
    // A second answer comes too late.
    let late = Verdict::Deny { why: None };
    let refused = session.live.submit(Op::Answer { ask: id, rev, verdict: late }).await;
    assert!(refused.unwrap_err().to_string().contains("settled"));
    let id = session.live.session().clone();
    session.live.end().await;
    let again = begin(&rig, Mode::Default, Some(&id)).await.unwrap();
    assert_eq!(again.live.lead().mode(), Mode::AcceptEdits);
    again.live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mode_settles_what_it_covers() {
    let rig = Rig::new(EDIT_TWICE);
    let mut session = begin(&rig, Mode::Default, None).await.unwrap();
    session.say("work").await.unwrap();
    asked(&mut session).await;
    let agent = session.lead();
    session.live.submit(Op::Mode { agent, mode: Mode::AcceptEdits }).await.unwrap();
    assert_eq!(session.turn().await, "done");
    assert!(rig.project.join("two").exists());
    session.live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_there_once_and_its_end_leaves_nothing() {
    let rig = Rig::with_actors(
        r#"
  - who: team-lead
    turns:
      - { when: { user: "^work$" }, call: [{ tool: Agent, input: { description: d, prompt: p, subagent_type: general-purpose, run_in_background: true } }] }
      - { when: { any: true }, repeat: true, say: "yes?" }
  - who: type:general-purpose
    turns:
      - { call: [{ tool: Bash, input: { command: "echo $$ > pid; sleep 1000" } }] }
"#,
    );
    let session = working(&rig).await;
    let id = session.live.session().clone();
    let twice = begin(&rig, Mode::Default, Some(&id)).await.err().expect("it runs already");
    assert!(twice.to_string().contains(id.as_str()), "{twice}");
    let other = begin(&rig, Mode::Default, None).await.unwrap();
    assert_ne!(*other.live.session(), id);
    let Session { live, events } = session;
    drop(events);
    live.end().await;
    assert!(!alive(&pid(&rig)));
    other.live.end().await;
    assert_eq!(leftovers(&rig.home()), Vec::<std::path::PathBuf>::new());
    // Free at once for whoever is next.
    let mut again = begin(&rig, Mode::Default, Some(&id)).await.unwrap();
    again.say("hello").await.unwrap();
    assert_eq!(again.turn().await, "done");
    again.live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_of_agent_that_appears_can_be_started() {
    let rig = Rig::with_actors(
        r#"
  - who: team-lead
    turns:
      - { when: { user: "^work$" }, repeat: true, call: [{ tool: Agent, input: { description: d, prompt: p, subagent_type: painter } }] }
      - { when: { error_of: Agent }, repeat: true, say: "no painter" }
      - { when: { result_of: Agent }, repeat: true, say: "painted" }
  - who: type:painter
    turns:
      - { say: "blue", repeat: true }
"#,
    );
    let mut session = begin(&rig, Mode::BypassPermissions, None).await.unwrap();
    let agents = rig.project.join(".claude/agents");
    fs::create_dir_all(&agents).unwrap();
    let painter = "---\nname: painter\ndescription: paints\n---\nYou paint.\n";
    for (file, said) in [(None, "no painter"), (Some(painter), "painted")] {
        if let Some(text) = file {
            fs::write(agents.join("painter.md"), text).unwrap();
        }
        session.say("work").await.unwrap();
        let mut last = String::new();
        while last != said {
            last = session.answer().await;
            assert!(last.is_empty() || last == said, "{last} instead of {said}");
        }
    }
    session.live.end().await;
}

/// The scouts end at about the moment at which the lead's turn does, and the question whether all
/// is over is put all the time.
#[tokio::test(flavor = "multi_thread")]
async fn every_round_ends_with_its_notification_heard() {
    let rig = Rig::with_actors(
        r#"
  - who: team-lead
    turns:
      - when: { user: "^work$" }
        repeat: true
        call: [{ tool: Agent, input: { description: d, prompt: p, subagent_type: explore, run_in_background: true } }]
      - { when: { user: "task-notification" }, repeat: true, say: "heard" }
      - { when: { any: true }, repeat: true, say: "waiting" }
  - { who: "type:explore", turns: [{ say: report }] }
"#,
    );
    let mut session = begin(&rig, Mode::Default, None).await.unwrap();
    let rounds = if crate::support::soak() { 100 } else { 15 };
    for round in 0..rounds {
        session.say("work").await.unwrap();
        let over = async {
            while !session.live.is_idle() {
                tokio::task::yield_now().await;
            }
        };
        let waited = tokio::time::timeout(super::rig::PATIENCE, over).await;
        assert!(waited.is_ok(), "round {round} hangs");
        let latest = session.live.office.journal.latest();
        let mut told = 0;
        session
            .wait(|event| {
                if let Fact::Heard { from, message, .. } = &event.fact
                    && from == "task"
                {
                    told += message.content.text().matches("</task-notification>").count();
                }
                (event.seq == latest).then_some(())
            })
            .await;
        assert_eq!(told, 1, "round {round}");
    }
    session.live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_model_answers_from_the_next_turn_on() {
    let rig = Rig::new("- { when: { any: true }, repeat: true, say: \"yes?\" }");
    let mut session = begin(&rig, Mode::Default, None).await.unwrap();
    let agent = session.lead();
    session.live.submit(Op::Model { agent, model: "haiku".to_owned() }).await.unwrap();
    let told = session
        .wait(|event| match &event.fact {
            Fact::Notice { text, .. } => Some(text.clone()),
            _ => None,
        })
        .await;
    assert!(told.contains("from the next turn"), "{told}");
    // A playbook answers for every name: what is asked for tells the models apart.
    let lead = Arc::clone(session.live.lead());
    let before = lead.brain();
    let chosen = Chosen { id: "another".to_owned(), ..Chosen::clone(&before.chosen) };
    lead.think_with(Brain { chosen: Arc::new(chosen), ..before.clone() });
    assert_eq!(lead.brain().chosen.id, before.chosen.id, "not in the middle of things");
    session.say("hello").await.unwrap();
    assert_eq!(session.answer().await, "yes?");
    assert_eq!(lead.brain().chosen.id, "another");
    let refused = Op::Model { agent: nobody(), model: "haiku".to_owned() };
    assert!(session.live.submit(refused).await.is_err());
    session.live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_delivers_what_was_queued_at_once() {
    let rig = Rig::new(WAITING);
    let mut session = working(&rig).await;
    session.say("and mind the gap").await.unwrap();
    let queued = session.wait(|event| matches!(event.fact, Fact::Queued { .. }).then_some(()));
    queued.await;
    session.live.submit(Op::Interrupt { agent: session.lead() }).await.unwrap();
    assert_eq!(session.turn().await, "interrupted");
    let heard = session.wait(|event| match &event.fact {
        Fact::Heard { from, message, .. } if from == "user" => Some(message.content.text()),
        _ => None,
    });
    assert_eq!(heard.await, "and mind the gap");
    assert_eq!(session.answer().await, "yes?");
    assert!(!alive(&pid(&rig)), "what ran was stopped");
    session.live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_person_has_a_fork_or_a_subagent_work_in_the_background() {
    let rig = Rig::new(
        r#"
- { when: { user: "a branch of it" }, say: "the branch is done" }
- { when: { user: "another kind" }, say: "the other is done" }
- { when: { user: "task-notification" }, repeat: true, say: "so I hear" }
- { when: { any: true }, repeat: true, say: "yes?" }
"#,
    );
    let mut session = begin(&rig, Mode::BypassPermissions, None).await.unwrap();
    session.say("hello").await.unwrap();
    assert_eq!(session.turn().await, "done");
    for (kind, prompt) in [(None, "a branch of it"), (Some("general-purpose"), "another kind")] {
        let delegate = Op::Delegate {
            agent: session.lead(),
            kind: kind.map(str::to_owned),
            description: "beside".to_owned(),
            prompt: prompt.to_owned(),
        };
        session.live.submit(delegate).await.unwrap();
        let about = session
            .wait(|event| match &event.fact {
                Fact::AgentStarted { about } => Some(about.clone()),
                _ => None,
            })
            .await;
        assert_eq!(about.parent, Some(session.lead()));
        assert_eq!(about.agent_type, kind.unwrap_or("fork"));
        assert!(about.use_id.as_ref().is_some_and(|id| id.starts_with("run-")), "{about:?}");
        assert_eq!(session.answer().await, "so I hear", "the lead hears of its end");
        assert_eq!(session.turn().await, "done");
    }
    let unknown = Op::Delegate {
        agent: session.lead(),
        kind: Some("nonsense".to_owned()),
        description: String::new(),
        prompt: "x".to_owned(),
    };
    let refused = session.live.submit(unknown).await.unwrap_err().to_string();
    assert!(refused.contains("There is no agent type `nonsense`"), "{refused}");
    session.live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_listed_with_what_was_said_first() {
    let rig = Rig::new("- { when: { any: true }, repeat: true, say: \"yes?\" }");
    let mut session = begin(&rig, Mode::Default, None).await.unwrap();
    let home = Home::at(rig.home());
    session.say("mend the bow").await.unwrap();
    assert_eq!(session.turn().await, "done");
    let id = session.live.session().clone();
    let listed = resume::listed(&home, &rig.project);
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!((&listed[0].id, listed[0].first.as_str()), (&id, "mend the bow"));
    assert!(listed[0].is_running);
    session.live.suspend().await;
    assert!(!resume::listed(&home, &rig.project)[0].is_running);
}
