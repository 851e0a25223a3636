//! What is asked beside a conversation, and agents for callers that are no tool.

use quarterdeck::agent::spawn::Started;
use quarterdeck::model::Stop;
use quarterdeck::model::request::Purpose;
use quarterdeck::protocol::content::ChatMessage;
use quarterdeck::tools::context::Wish;
use quarterdeck::tools::shell::jobs::Status;

use super::scene::Scene;
use super::stage::{actor, playbook};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_conversation_learns_nothing_of_it_and_no_tool_runs() {
    let lead = "
- { when: { user: begin }, say: It has begun. }
- { when: { user: again }, say: And again. }
";
    let asides = [
        actor("internal:title", "- { when: { user: 'name it' }, say: A title }"),
        actor("internal:summary", "- say: It has begun, nothing more."),
        actor(
            "internal:side-question",
            "- { say: 'Forty-two.', call: [{ tool: Bash, input: { command: touch ran } }] }",
        ),
        actor("internal:memory", "- say: Remember the tabs."),
    ];
    let scene = Scene::start(&playbook(lead, &asides.concat())).await;
    scene.say("begin").await;
    scene.idle().await;
    let stop = Stop::new();
    let table = [
        (Purpose::Title, "name it", "A title"),
        (Purpose::Summary, "what did you do?", "It has begun, nothing more."),
        (Purpose::SideQuestion, "what is the answer?", "Forty-two."),
        (Purpose::Memory, "what is worth keeping?", "Remember the tabs."),
    ];
    let before: Vec<ChatMessage> = scene.live.lead().said().messages().cloned().collect();
    let spent = scene.live.spent().usage.total();
    for (purpose, words, answer) in table {
        let said = scene.live.aside(&scene.lead(), purpose, words.to_owned(), &stop).await;
        assert_eq!(said.as_deref(), Ok(answer));
    }
    assert!(scene.live.spent().usage.total() > spent, "it is paid for");
    assert!(!scene.project().join("ran").exists());
    let after: Vec<ChatMessage> = scene.live.lead().said().messages().cloned().collect();
    assert_eq!(before, after);
    let wrong = scene.live.aside(&scene.lead(), Purpose::Turn, "x".to_owned(), &stop).await;
    assert!(wrong.is_err());
    // The conversation goes on as if nothing had been.
    scene.say("again").await;
    scene.idle().await;
    assert_eq!(scene.live.lead().said().messages().count(), 4);
    scene.live.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_definition_runs_for_a_caller_that_is_no_tool() {
    let lead = "
- { when: { user: begin }, say: begun }
- { when: { user: task-notification }, say: noted }
";
    let child = "- { when: { user: review it }, say: Two mistakes. }";
    let scene = Scene::start(&playbook(lead, &actor("type:explore", child))).await;
    let definition = {
        let definitions = scene.live.office.definitions.read().unwrap();
        definitions.get("explore").cloned().unwrap()
    };
    let wish = Wish {
        description: "a skill".to_owned(),
        prompt: "review it".to_owned(),
        ..Wish::default()
    };
    let (lead, stop) = (scene.lead(), Stop::new());
    let run = |wish: Wish| {
        let (definition, lead, stop, live) = (definition.clone(), &lead, &stop, &scene.live);
        async move { live.run_as_subagent(lead, definition, &wish, stop).await }
    };
    match run(wish.clone()).await.unwrap() {
        Started::Ended { report, .. } => {
            assert_eq!((report.status, report.text.as_str()), (Status::Completed, "Two mistakes."));
        }
        Started::Behind { .. } => panic!("it was to be waited for"),
    }
    // Its caller got the result: the conversation did not.
    assert!(scene.heard().await.is_empty());
    // In the background the lead is told.
    match run(Wish { background: true, ..wish }).await.unwrap() {
        Started::Behind { .. } => {}
        Started::Ended { .. } => panic!("it was not to be waited for"),
    }
    scene.idle().await;
    let notes = scene.notes().await;
    assert!(notes.len() == 1 && notes[0].contains("Two mistakes."), "{notes:?}");
    scene.live.end().await;
}
