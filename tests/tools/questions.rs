//! Questions in words: asked through the desk, answered by the person, told to the model.

use std::sync::Arc;
use std::time::Duration;

use quarterdeck::permission::rule::{Bases, Effect, Rule, Source};
use quarterdeck::protocol::ask::{Ask, Judge, Question, Verdict};
use quarterdeck::protocol::event::Fact;
use quarterdeck::protocol::op::Mode;
use quarterdeck::tools::Output;
use quarterdeck::tools::ask_user::AskUserTool;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::rig::Rig;
use crate::support::server::PATIENCE;

fn rig(mode: Mode) -> Rig {
    Rig::new(mode, vec![Arc::new(AskUserTool::new())])
}

fn two() -> Value {
    json!({ "questions": [
        {
            "question": "Which database?", "header": "DB", "multiSelect": false,
            "options": [
                { "label": "SQLite", "description": "one file" },
                { "label": "Postgres", "description": "a server" },
            ],
        },
        { "question": "Which checks?", "header": "Checks", "multiSelect": true,
          "options": [{ "label": "lint", "description": "" }, { "label": "test", "description": "" }] },
    ]})
}

/// Waits until an ask of the wanted kind is in the journal.
async fn asked(rig: &Rig, wanted: impl Fn(&Question) -> bool) -> Ask {
    let look = async {
        loop {
            for fact in rig.facts() {
                if let Fact::Asked { ask } = fact
                    && wanted(&ask.question)
                {
                    return *ask;
                }
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, look).await.expect("asked")
}

fn words(question: &Question) -> bool {
    matches!(question, Question::Words { .. })
}

async fn settled(rig: &Rig, verdict: Verdict) -> (Ask, Output) {
    let settle = async {
        let ask = asked(rig, words).await;
        rig.cx.desk.settle(&ask.id, ask.rev, verdict, Judge::Human).unwrap();
        ask
    };
    let (output, ask) = tokio::join!(rig.call("AskUserQuestion", two()), settle);
    (ask, output)
}

#[tokio::test]
async fn the_answers_reach_the_model_with_their_questions() {
    // Also where nothing else is asked: it is the desk that knows who can answer.
    let mut rig = rig(Mode::DontAsk);
    rig.cx.color = Some("blue".into());
    let answers = vec![vec!["SQLite".into()], vec!["lint".into(), "and spelling".into()]];
    let (ask, output) = settled(&rig, Verdict::Answered { answers }).await;
    let Question::Words { questions } = &ask.question else { panic!("{ask:?}") };
    assert_eq!(questions[0].options[1].label, "Postgres");
    assert_eq!((questions[0].multi_select, questions[1].multi_select), (false, true));
    assert_eq!((ask.chain.clone(), ask.color.as_deref()), (rig.cx.chain.clone(), Some("blue")));
    assert_eq!(ask.cwd, rig.project);
    assert!(!output.failed);
    assert_eq!(
        output.content.text(),
        "The user has answered:\n\nWhich database?\n→ SQLite\n\nWhich checks?\n→ lint; and spelling"
    );
    assert_eq!(output.summary, "SQLite, lint; and spelling");
}

#[tokio::test]
async fn without_an_answer_the_model_is_told_so() {
    let why = |why: &str| Verdict::Deny { why: Some(why.to_owned()) };
    let cases = [
        (Verdict::Answered { answers: vec![vec![], vec!["test".into()]] }, false, "→ (no answer)"),
        (Verdict::Chose { choice: 1, text: None }, false, "Which database?\n→ Postgres"),
        (why("look at the README"), true, "and says: look at the README"),
        (Verdict::Deny { why: None }, true, "The user did not answer."),
        (Verdict::Withdrawn { why: "gone".into() }, true, "The user did not answer: gone."),
    ];
    for (verdict, failed, part) in cases {
        let (_, output) = settled(&rig(Mode::Default), verdict).await;
        assert_eq!(output.failed, failed, "{output:?}");
        assert!(output.content.text().contains(part), "{output:?}");
    }
}

#[tokio::test]
async fn an_interrupt_takes_the_question_back() {
    let rig = rig(Mode::Default);
    let interrupt = async {
        asked(&rig, words).await;
        rig.stop.cancel();
    };
    let call = timeout(PATIENCE, rig.call("AskUserQuestion", two()));
    let (output, ()) = tokio::join!(call, interrupt);
    let output = output.expect("an end");
    assert!(output.failed && output.content.text().contains("interrupted"), "{output:?}");
    assert!(rig.facts().iter().any(|fact| matches!(fact, Fact::Settled { .. })));
}

#[tokio::test]
async fn leave_to_ask_is_not_taken_for_an_answer() {
    let rig = Rig::with(Mode::Default, vec![Arc::new(AskUserTool::new())], |view| {
        let bases = Bases { cwd: "/".into(), user: None, settings: "/".into() };
        let rule = Rule::parse("AskUserQuestion", Effect::Ask, Source::CommandLine, &bases);
        view.rules.push(rule.unwrap());
    });
    let answer = async {
        let leave = asked(&rig, |question| matches!(question, Question::Tool { .. })).await;
        let allow = Verdict::Allow { input: None, grant: None, remark: None };
        rig.cx.desk.settle(&leave.id, leave.rev, allow, Judge::Human).unwrap();
        let ask = asked(&rig, words).await;
        let answers = vec![vec!["SQLite".into()], vec![]];
        let verdict = Verdict::Answered { answers };
        rig.cx.desk.settle(&ask.id, ask.rev, verdict, Judge::Human).unwrap();
    };
    let (output, ()) = tokio::join!(rig.call("AskUserQuestion", two()), answer);
    assert!(output.content.text().contains("→ SQLite"), "{output:?}");
}

#[tokio::test]
async fn what_cannot_be_asked_is_refused() {
    let rig = rig(Mode::Default);
    let one = |options: Value| json!({ "questions": [{ "question": "q?", "options": options }] });
    let many: Vec<Value> = (0..10).map(|nth| json!({ "label": nth.to_string() })).collect();
    let cases = [
        (json!({ "questions": [] }), "one to 4 questions"),
        (json!({ "questions": vec![json!({ "question": "q?" }); 5] }), "one to 4 questions"),
        (json!({ "questions": [{ "question": " " }] }), "A question is empty."),
        (one(json!([{ "label": "a" }, { "label": "a" }])), "a label of its own: q?"),
        (one(json!([{ "label": "" }])), "a label of its own: q?"),
        (one(json!(many)), "at most 9 options: q?"),
        (json!({}), "missing field `questions`"),
    ];
    for (input, part) in cases {
        let output = rig.call("AskUserQuestion", input.clone()).await;
        assert!(output.failed && output.content.text().contains(part), "{input}: {output:?}");
    }
    assert!(!rig.facts().iter().any(|fact| matches!(fact, Fact::Asked { .. })));
}
