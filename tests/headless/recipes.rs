//! The person's own commands: what they run and read comes first, as the agent's own calls would,
//! and what they allow holds for their turn.

use std::fs;

use quarterdeck::protocol::ask::{Ask, Question, Verdict};
use quarterdeck::protocol::event::Fact;
use quarterdeck::protocol::op::{Mode, Op};

use super::live::{Session, begin};
use super::rig::Rig;

const BOOK: &str = r#"
- { when: { user: "^Sweep" }, call: [{ tool: Bash, input: { command: "touch by-model" } }] }
- { when: { user: "^again" }, call: [{ tool: Bash, input: { command: "touch later" } }] }
- { when: { error_of: Bash }, repeat: true, say: "it was not to be" }
- { when: { result_of: Bash }, repeat: true, say: "swept" }
- { when: { any: true }, repeat: true, say: "yes?" }
"#;

fn put(rig: &Rig, name: &str, text: &str) {
    let path = rig.project.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

async fn recite(session: &Session, arguments: &str) {
    let (agent, arguments) = (session.lead(), arguments.to_owned());
    let op = Op::Recipe { agent, name: "sweep".to_owned(), arguments };
    session.live.submit(op).await.unwrap();
}

/// What the lead hears next from the person, and what was asked before it.
async fn heard(session: &mut Session) -> (String, usize) {
    let mut asked = 0;
    session
        .wait(move |event| match &event.fact {
            Fact::Asked { .. } => {
                asked += 1;
                None
            }
            Fact::Heard { from, message, .. } if from == "user" => {
                Some((message.content.text(), asked))
            }
            _ => None,
        })
        .await
}

async fn asked(session: &mut Session) -> Ask {
    let ask = session.wait(|event| match &event.fact {
        Fact::Asked { ask } => Some(Ask::clone(ask)),
        _ => None,
    });
    ask.await
}

async fn answer(session: &Session, ask: &Ask, verdict: Verdict) {
    let op = Op::Answer { ask: ask.id.clone(), rev: ask.rev, verdict };
    session.live.submit(op).await.unwrap();
}

fn allow() -> Verdict {
    Verdict::Allow { input: None, grant: None, remark: None }
}

fn command(ask: &Ask) -> &str {
    let Question::Tool { input, .. } = &ask.question else { panic!("{ask:?}") };
    input["command"].as_str().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_it_allows_holds_for_its_commands_and_its_turn_and_no_longer() {
    let rig = Rig::new(BOOK);
    put(&rig, "notes.txt", "mind the beam\n");
    put(&rig, "sub/here", "");
    put(
        &rig,
        ".claude/commands/sweep.md",
        "---\nallowed-tools: Bash(touch:*), Bash(cd:*), Nonsense(\n---\n\
         Sweep !`cd sub && touch by-recipe && echo the $1`, see @notes.txt, @missing.txt.",
    );
    let mut session = begin(&rig, Mode::Default, None).await.unwrap();
    recite(&session, "attic").await;
    let (text, asked_before) = heard(&mut session).await;
    assert_eq!(asked_before, 0, "it is allowed: {text}");
    assert!(text.starts_with("Sweep the attic, see @notes.txt, @missing.txt."), "{text}");
    assert!(text.contains("<file path=\"notes.txt\">") && text.contains("mind the beam"), "{text}");
    assert_eq!(text.matches("<file").count(), 1, "{text}");
    assert!(rig.project.join("sub/by-recipe").exists());
    assert_eq!(session.live.lead().cx.cwd.get(), rig.project, "the lead stays where it is");
    assert_eq!(session.answer().await, "", "it calls a tool");
    assert_eq!(session.answer().await, "swept");
    assert_eq!(session.turn().await, "done");
    assert!(rig.project.join("by-model").exists(), "without a question");

    session.say("again").await.unwrap();
    let ask = asked(&mut session).await;
    assert_eq!(command(&ask), "touch later", "that was for the turn before");
    answer(&session, &ask, Verdict::Deny { why: None }).await;
    assert_eq!(session.turn().await, "done");
    session.live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_it_does_not_allow_is_asked_like_any_command() {
    let rig = Rig::new(BOOK);
    put(&rig, ".claude/commands/sweep.md", "Clean with !`touch brush && echo a brush`.");
    let mut session = begin(&rig, Mode::Default, None).await.unwrap();
    recite(&session, "").await;
    let ask = asked(&mut session).await;
    assert_eq!(command(&ask), "touch brush && echo a brush");
    assert_eq!(ask.why.description.as_deref(), Some("for /sweep"));
    assert!(!rig.project.join("brush").exists());
    answer(&session, &ask, allow()).await;
    assert_eq!(heard(&mut session).await.0, "Clean with a brush.");
    assert_eq!(session.turn().await, "done");

    fs::remove_file(rig.project.join("brush")).unwrap();
    recite(&session, "").await;
    let ask = asked(&mut session).await;
    answer(&session, &ask, Verdict::Deny { why: Some("no brush".to_owned()) }).await;
    let (text, _) = heard(&mut session).await;
    assert!(text.contains("did not allow this, and says: no brush"), "{text}");
    assert!(!rig.project.join("brush").exists());
    assert_eq!(session.turn().await, "done");

    let (agent, arguments) = (session.lead(), String::new());
    let unknown = Op::Recipe { agent, name: "nothing".to_owned(), arguments };
    let refused = session.live.submit(unknown).await.unwrap_err().to_string();
    assert!(refused.contains("there is no command /nothing"), "{refused}");
    session.live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn its_question_does_not_outlive_the_program() {
    let rig = Rig::new(BOOK);
    put(&rig, ".claude/commands/sweep.md", "Clean with !`touch brush`.");
    let mut session = begin(&rig, Mode::Default, None).await.unwrap();
    let id = session.live.session().clone();
    session.say("hello").await.unwrap();
    assert_eq!(session.turn().await, "done");
    recite(&session, "").await;
    asked(&mut session).await;
    session.live.suspend().await;
    let session = begin(&rig, Mode::Default, Some(&id)).await.unwrap();
    assert!(session.live.office.desk.open_asks().unwrap().asks.is_empty());
    session.live.end().await;
}
