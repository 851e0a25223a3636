//! Conversations that become too long.

use std::fs;

use quarterdeck::agent::rebuild::rebuild;
use quarterdeck::agent::turn::End;
use quarterdeck::model::request::Purpose;
use quarterdeck::model::{ModelError, StopReason};
use quarterdeck::protocol::content::{Block, ChatMessage};
use quarterdeck::protocol::event::Fact;
use quarterdeck::protocol::op::Op;
use serde_json::json;

use super::case::{Case, lines};
use super::rig::{Part, Rig, Script, answer, ask, calls, say, until};
use super::valid::assert_valid;

fn long(text: &str, tokens: u64) -> Vec<Part> {
    answer(vec![Block::text(text)], StopReason::EndTurn, tokens)
}

fn too_long() -> Vec<Part> {
    vec![Part::Fail(ModelError::ContextTooLong { message: "prompt is too long".to_owned() })]
}

fn text(messages: &[ChatMessage]) -> String {
    messages.iter().map(|message| message.content.text()).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn at_a_share_of_the_window_a_summary_takes_the_place_of_what_is_old() {
    let mut rig = Rig::new();
    rig.window = Some(1000);
    let task = json!({"subject": "Paint the fence", "description": "all of it"});
    let script = Script::of([
        calls(&[("t", "TaskCreate", task)]),
        long("old words", 700),
        long("recent words", 900),
        say("after it"),
    ]);
    script.summary(say("WHAT HAPPENED"));
    let live = rig.start(&script).await;
    ask(&live, "the first question").await;
    ask(&live, "the second question").await;
    assert!(script.seen().iter().all(|asked| asked.purpose == Purpose::Turn), "not yet");
    assert_eq!(ask(&live, "the third question").await.text, "after it");
    let seen = script.seen();
    let compact = seen.iter().find(|asked| asked.purpose == Purpose::Compact).unwrap();
    assert!(compact.may_call, "asked like a turn, so that the cache is shared");
    assert_valid(&compact.messages);
    let last = seen.last().unwrap();
    assert_valid(&last.messages);
    assert_eq!((&compact.system, &compact.tools), (&last.system, &last.tools), "cache shared");
    let words = text(&last.messages);
    for kept in ["WHAT HAPPENED", "Paint the fence", "the second question", "recent words"] {
        assert!(words.contains(kept), "{kept} in {words}");
    }
    assert!(words.ends_with("the third question"), "{words}");
    assert!(!words.contains("the first question") && !words.contains("old words"), "{words}");
    let told = rig.facts(&live).into_iter().filter(|fact| matches!(fact, Fact::Compacted { .. }));
    assert_eq!(told.count(), 1);
    let session = live.session().clone();
    live.end().await;
    let whole = fs::read_to_string(rig.transcript(&session)).unwrap();
    for said in ["the first question", "old words", "the third question", "after it"] {
        assert!(whole.contains(said), "{said} is on disk");
    }

    let script = Script::of([say("resumed")]);
    let live = rig.start_again(&script, Some(session)).await;
    ask(&live, "the fourth question").await;
    let asked = script.turns().remove(0).messages;
    assert_valid(&asked);
    let resumed = text(&asked);
    assert!(resumed.contains("WHAT HAPPENED") && resumed.contains("after it"), "{resumed}");
    assert!(!resumed.contains("old words"), "{resumed}");
    assert!(resumed.ends_with("the fourth question"));
    live.end().await;
}

#[tokio::test]
async fn what_cannot_even_be_summarised_is_a_clear_error() {
    let rig = Rig::new();
    let script = Script::of([too_long()]);
    let live = rig.start(&script).await;
    for _ in 0..10 {
        script.summary(too_long());
    }
    let outcome = ask(&live, "first").await;
    assert!(matches!(outcome.end, End::Failed(ModelError::ContextTooLong { .. })), "{outcome:?}");
    live.end().await;
}

#[tokio::test]
async fn a_person_may_want_a_summary_and_say_which() {
    let rig = Rig::new();
    let script = Script::of([say("one"), say("two"), say("three")]);
    script.summary(say("AS WISHED"));
    let live = rig.start(&script).await;
    ask(&live, "first").await;
    ask(&live, "second").await;
    let agent = live.lead().cx.me.clone();
    let wishes = Some("mind the fence".to_owned());
    live.submit(Op::Compact { agent, wishes }).await.unwrap();
    until("a summary", || {
        rig.facts(&live).iter().any(|fact| matches!(fact, Fact::Compacted { .. }))
    })
    .await;
    assert_eq!(ask(&live, "third").await.text, "three");
    let seen = script.seen();
    let compact = seen.iter().find(|asked| asked.purpose == Purpose::Compact).unwrap();
    assert!(text(&compact.messages).contains("mind the fence"));
    let last = &seen.last().unwrap().messages;
    assert_valid(last);
    assert!(text(last).contains("AS WISHED") && !text(last).contains("first"), "{last:?}");
    live.end().await;
}

/// A huge question that brings a conversation beyond its limit is still the question.
#[tokio::test]
async fn the_question_is_never_summarised_away() {
    let mut rig = Rig::new();
    rig.window = Some(1000);
    let script = Script::of([long("words", 900), say("yes")]);
    script.summary(say("SHORT"));
    let live = rig.start(&script).await;
    ask(&live, "first").await;
    let huge = format!("what is this? {}", "x".repeat(4000));
    ask(&live, &huge).await;
    let asked = script.turns().pop().unwrap().messages;
    assert_valid(&asked);
    assert_eq!(asked.last().unwrap().content.text(), huge);
    live.end().await;
}

/// Nothing is replaced by a summary that could not be made.
#[tokio::test]
async fn a_summary_that_fails_changes_nothing() {
    let mut rig = Rig::new();
    rig.window = Some(1000);
    let script = Script::of([long("words", 900), say("yes")]);
    // Asked for once more, without tools, before it is given up.
    script.summary(say("  "));
    script.summary(say("  "));
    script.summary(say("fine"));
    let live = rig.start(&script).await;
    ask(&live, "first").await;
    let outcome = ask(&live, "second").await;
    assert!(matches!(outcome.end, End::Failed(_)), "{outcome:?}");
    assert_eq!(ask(&live, "third").await.text, "yes");
    let asked = script.turns().pop().unwrap().messages;
    assert_valid(&asked);
    assert!(text(&asked).contains("second") && text(&asked).contains("third"), "{asked:?}");
    live.end().await;
}

/// The real program on a model with a small window; the summary is the playbook's.
#[test]
fn a_run_summarises_and_goes_on_from_the_summary() {
    let case = Case::new(
        "name: long\nactors:\n  - who: team-lead\n    turns:\n      \
         - { when: { user: first }, say: 'OLD-WORDS', usage: { input: 500, output: 1 } }\n      \
         - { when: { user: second }, say: 'RECENT-WORDS', usage: { input: 950, output: 1 } }\n      \
         - { say: 'I go on', usage: { input: 10, output: 1 }, repeat: true }\n  \
         - who: internal:compact\n    turns: [{ say: 'THE-SUMMARY', repeat: true }]\n",
    );
    let config = case.project().parent().unwrap().join("config/quarterdeck");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("models.toml"), "[models.\"rehearsal/demo\"]\nwindow = 1000\n").unwrap();
    case.run(&["-p", "first"]).ok();
    case.run(&["-c", "-p", "second"]).ok();
    let before = fs::read_to_string(case.transcript()).unwrap();
    // What a conversation had come to is known after a restart, too.
    let ran = case.run(&["-c", "-p", "third"]).ok();
    let boundary = lines(&ran).into_iter().find(|line| line["subtype"] == "compact_boundary");
    let boundary = boundary.unwrap_or_else(|| panic!("{ran:?}"));
    assert!(boundary["compact_metadata"]["pre_tokens"].as_u64() >= Some(950), "{boundary}");
    let whole = fs::read_to_string(case.transcript()).unwrap();
    assert!(whole.starts_with(&before), "nothing on disk is changed");
    let kept = rebuild(&case.transcript()).unwrap().messages;
    assert_valid(&kept);
    let words = text(&kept);
    assert!(words.contains("THE-SUMMARY") && words.contains("RECENT-WORDS"), "{words}");
    assert!(!words.contains("OLD-WORDS") && words.ends_with("third\nI go on"), "{words}");
    let ran = case.run(&["-c", "-p", "fourth"]).ok();
    assert_eq!(lines(&ran).last().unwrap()["result"], "I go on");
}
