//! Random keys, pastes, clicks, sizes and events: nothing panics, no draft is lost, and what must
//! always hold holds.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use quarterdeck::console::keys::{Chord, Key, table};
use quarterdeck::console::state::asks::Stage;
use quarterdeck::console::state::composer::Draft;
use quarterdeck::console::state::dialog::Dialog;
use quarterdeck::console::update::{Editing, Effect, MouseKind, Msg};
use quarterdeck::protocol::event::{Fact, Level};
use quarterdeck::protocol::ids::{AgentId, AskId};
use quarterdeck::protocol::op::{Op, When};
use quarterdeck::protocol::task::Status;
use serde_json::json;

use super::story::{Story, lead};
use crate::support::soak;

#[derive(Debug, Clone)]
enum Step {
    Press(usize),
    Type(char),
    Paste(String),
    Mouse(MouseKind, u16, u16),
    Drag(u16, u16, u16, u16),
    Resize(u16, u16),
    Wait(i64),
    Focus(bool),
    Draw,
    Edited(Editing, Option<String>),
    /// The session did not do what it was asked to.
    Refused(usize, String),
    Files(Vec<String>),
    History(Vec<String>),
    /// Something happened to an agent.
    Happened(usize, Happening),
}

#[derive(Debug, Clone)]
enum Happening {
    Joins,
    Works,
    Says(String),
    Speaks(String),
    Runs(String),
    Prints(String),
    Finishes(bool),
    Done,
    Mails(usize, String),
    Asks,
    Settles(usize),
    TaskIs(u64, String, usize, Vec<u64>),
    TaskGone(u64),
    Notice(String),
    Paused(bool),
    Ends(String),
}

const NAMES: [&str; 5] = ["lead", "ada", "bob", "cleo", "dan"];

fn happening() -> impl Strategy<Value = Happening> {
    let task = 1..9_u64;
    prop_oneof![
        1 => Just(Happening::Joins),
        1 => Just(Happening::Works),
        1 => any::<String>().prop_map(Happening::Says),
        1 => "[a-z\n`*|# ]{0,40}".prop_map(Happening::Speaks),
        1 => any::<String>().prop_map(Happening::Runs),
        1 => any::<String>().prop_map(Happening::Prints),
        1 => any::<bool>().prop_map(Happening::Finishes),
        1 => Just(Happening::Done),
        1 => (0..NAMES.len(), any::<String>()).prop_map(|(to, text)| Happening::Mails(to, text)),
        2 => Just(Happening::Asks),
        1 => (0..40_usize).prop_map(Happening::Settles),
        2 => (task.clone(), any::<String>(), 0..3_usize, prop::collection::vec(task.clone(), 0..3))
            .prop_map(|(id, subject, status, after)| Happening::TaskIs(id, subject, status, after)),
        1 => task.prop_map(Happening::TaskGone),
        1 => any::<String>().prop_map(Happening::Notice),
        1 => any::<bool>().prop_map(Happening::Paused),
        1 => "(killed|failed|completed)".prop_map(Happening::Ends),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let (x, y) = (0..300_u16, 0..100_u16);
    let kind = prop_oneof![
        Just(MouseKind::Down),
        Just(MouseKind::Up),
        Just(MouseKind::WheelUp),
        Just(MouseKind::WheelDown),
    ];
    let editing = prop_oneof![
        Just(Editing::Draft),
        Just(Editing::Ask),
        Just(Editing::Task),
        Just(Editing::Reading),
    ];
    let text = || any::<String>();
    prop_oneof![
        16 => any::<usize>().prop_map(Step::Press),
        12 => any::<char>().prop_map(Step::Type),
        12 => "[a-zyn@/* ]".prop_map(|text| Step::Type(text.chars().next().unwrap_or('y'))),
        1 => text().prop_map(Step::Paste),
        1 => (10..2_000_usize).prop_map(|many| Step::Paste("line\n".repeat(many))),
        2 => (kind, x.clone(), y.clone()).prop_map(|(kind, x, y)| Step::Mouse(kind, x, y)),
        1 => (x.clone(), y.clone(), x.clone(), y.clone())
            .prop_map(|(x, y, to_x, to_y)| Step::Drag(x, y, to_x, to_y)),
        1 => (x, y).prop_map(|(x, y)| Step::Resize(x, y)),
        3 => (0..3_000_i64).prop_map(Step::Wait),
        1 => any::<bool>().prop_map(Step::Focus),
        1 => Just(Step::Draw),
        1 => (editing, prop::option::of(text())).prop_map(|(what, text)| Step::Edited(what, text)),
        1 => (0..6_usize, text()).prop_map(|(what, text)| Step::Refused(what, text)),
        1 => prop::collection::vec(text(), 0..9).prop_map(Step::Files),
        1 => prop::collection::vec(text(), 0..9).prop_map(Step::History),
        16 => (0..NAMES.len(), happening()).prop_map(|(who, what)| Step::Happened(who, what)),
    ]
}

/// All keys of the table, by number.
fn chord(number: usize) -> Chord {
    let keys: Vec<&str> = table::rows().flat_map(|row| row.keys.split(' ')).collect();
    Chord::parse(keys[number % keys.len()]).expect("a key")
}

#[derive(Default)]
struct Count {
    asks: usize,
    joined: usize,
    calls: usize,
    drafts: HashMap<AgentId, String>,
}

fn take(mut story: Story, step: &Step, count: &mut Count) -> Story {
    match step {
        Step::Press(number) => story.msg(Msg::Key(chord(*number))),
        Step::Type(typed) => story.msg(Msg::Key(Chord::plain(Key::Char(*typed)))),
        Step::Paste(text) => story.msg(Msg::Paste(text.clone())),
        Step::Mouse(kind, x, y) => story.mouse(*kind, *x, *y),
        Step::Drag(x, y, to_x, to_y) => {
            story = story.mouse(MouseKind::Down, *x, *y).mouse(MouseKind::Drag, *to_x, *to_y);
            story.buffer();
            story.mouse(MouseKind::Up, *to_x, *to_y)
        }
        Step::Resize(columns, rows) => story.size(*columns, *rows),
        Step::Wait(millis) => story.wait(*millis),
        Step::Focus(has) => story.msg(Msg::Focus(*has)),
        Step::Draw => {
            story.buffer();
            story
        }
        Step::Edited(purpose, text) => {
            story.msg(Msg::Edited { purpose: purpose.clone(), text: text.clone() })
        }
        Step::Refused(what, why) => {
            let op = refused(*what, story.state().selected.clone());
            story.msg(Msg::Refused { op: Box::new(op), why: why.clone() })
        }
        Step::Files(names) => story.msg(Msg::FilesListed(Arc::from(names.clone()))),
        Step::History(said) => story.msg(Msg::HistoryLoaded(said.clone())),
        Step::Happened(who, what) => happens(story, *who, what, count),
    }
}

fn refused(what: usize, agent: AgentId) -> Op {
    let verdict = quarterdeck::protocol::ask::Verdict::Deny { why: None };
    match what {
        0 => Op::Say { to: agent, text: "said again".into(), when: When::Next },
        1 => Op::Say { to: lead(), text: "said again".into(), when: When::Next },
        2 => Op::Answer { ask: AskId::found("a1"), rev: 1, verdict },
        3 => Op::Interrupt { agent },
        4 => Op::Compact { agent, wishes: None },
        _ => Op::Stop { agent },
    }
}

fn happens(story: Story, who: usize, what: &Happening, count: &mut Count) -> Story {
    let who = NAMES[who % (count.joined + 1)];
    let call = format!("u{}", count.calls);
    match what {
        Happening::Joins if count.joined + 1 < NAMES.len() => {
            count.joined += 1;
            story.teammate(NAMES[count.joined])
        }
        Happening::Joins => story,
        Happening::Works => story.working(who),
        Happening::Says(text) => story.said(who, text),
        Happening::Speaks(text) => story.fact(who, Fact::Speaking { text: text.clone() }),
        Happening::Runs(command) => {
            count.calls += 1;
            story.runs(who, &format!("u{}", count.calls), "Bash", command)
        }
        Happening::Prints(text) => {
            story.fact(who, Fact::ToolOutput { use_id: call, text: text.clone() })
        }
        Happening::Finishes(failed) => {
            let (failed, summary) = (*failed, "it is over".to_owned());
            let data = serde_json::Value::Null;
            story.fact(who, Fact::ToolEnded { use_id: call, failed, summary, millis: 7, data })
        }
        Happening::Done => story.done(who),
        Happening::Mails(to, text) => {
            let message = json!({"from": who, "text": text, "timestamp": "2026-11-16T03:04:53.900Z", "read": false});
            let fact = json!({"kind": "mailSent", "to": NAMES[*to], "message": message});
            story.fact(who, serde_json::from_value(fact).expect("mail"))
        }
        Happening::Asks => {
            count.asks += 1;
            story.asks(who, &format!("a{}", count.asks), "rm -r build")
        }
        Happening::Settles(which) => story.settled("lead", &format!("a{which}")),
        Happening::TaskIs(id, subject, status, after) => {
            let status = [Status::Pending, Status::InProgress, Status::Completed][*status];
            story.task(*id, subject, Some(who), status, after)
        }
        Happening::TaskGone(id) => story.fact("lead", Fact::TaskDeleted { id: (*id).into() }),
        Happening::Notice(text) => {
            story.fact(who, Fact::Notice { level: Level::Warning, text: text.clone() })
        }
        Happening::Paused(true) => story.fact(who, Fact::Paused),
        Happening::Paused(false) => story.fact(who, Fact::Unpaused),
        Happening::Ends(status) => story.ended(who, status, ""),
    }
}

/// Whether a step is the person's own doing at the keyboard; only that may take words away.
fn writes(step: &Step) -> bool {
    match step {
        Step::Press(_) | Step::Type(_) | Step::Paste(_) | Step::Edited(Editing::Draft, _) => true,
        Step::Mouse(..)
        | Step::Drag(..)
        | Step::Resize(..)
        | Step::Wait(_)
        | Step::Focus(_)
        | Step::Draw
        | Step::Edited(..)
        | Step::Refused(..)
        | Step::Files(_)
        | Step::History(_)
        | Step::Happened(..) => false,
    }
}

/// Whether all letters of one text are in another, in their order.
fn is_within(part: &str, whole: &str) -> bool {
    let mut rest = whole.chars();
    part.chars().all(|c| rest.any(|other| other == c))
}

/// What must hold whatever happens.
fn check(story: &mut Story, step: &Step, count: &mut Count) {
    let effects = story.effects();
    let state = story.state();
    assert!(state.agents.get(&state.selected).is_some(), "somebody is selected");
    assert!(state.rotation().contains(&state.selected), "and it is one of the team");
    assert!(state.layers.len() < 12, "layers do not pile up: {:?}", state.layers);
    for layer in &state.layers {
        if let Dialog::Picker(picker) = layer {
            let many = picker.matching().len();
            assert!(picker.selected < many.max(1), "{} of {many} is picked", picker.selected);
        }
    }
    // A dialog shows an ask that is there, or says that it is gone.
    if let Some(dialog) = &state.asks.dialog {
        let is_gone = matches!(dialog.stage, Stage::Gone { .. });
        let known = state.asks.get(&dialog.ask).filter(|known| !known.sent);
        assert!(is_gone || known.is_some_and(|known| known.ask.rev == dialog.rev), "{dialog:?}");
    }
    // Only a key answers, or the time that a letter stands alone.
    let by_person = matches!(step, Step::Press(_) | Step::Type(_) | Step::Wait(_));
    let answered = effects.iter().any(|one| matches!(one, Effect::Send(Op::Answer { .. })));
    assert!(!answered || by_person, "{step:?} answered");
    check_drafts(story, step, count);
}

fn check_drafts(story: &Story, step: &Step, count: &mut Count) {
    let state = story.state();
    let draft = state.composer.draft.whole();
    for (agent, before) in &count.drafts {
        if *agent != state.selected {
            // Of one that is not selected, only what could not be sent comes back to it.
            let kept = state.composer.kept(agent).map(Draft::whole).unwrap_or_default();
            let came_back = matches!(step, Step::Refused(..)) && is_within(before, &kept);
            assert!(kept == *before || came_back, "the draft for {agent}: {before:?}, {kept:?}");
        } else if !writes(step) {
            assert!(is_within(before, &draft), "{step:?} made {draft:?} of {before:?}");
        }
    }
    for id in state.rotation() {
        let now = match id == state.selected {
            true => draft.clone(),
            false => state.composer.kept(&id).map(Draft::whole).unwrap_or_default(),
        };
        count.drafts.insert(id, now);
    }
}

#[test]
fn whatever_happens_the_console_stands() {
    let (cases, most) = if soak() { (2_000, 1_000) } else { (50, 800) };
    let keys = Cell::new(0_usize);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new(config);
    let all = prop::collection::vec(step(), most);
    let outcome = runner.run(&all, |steps| {
        let mut story = Story::new();
        let mut count = Count::default();
        for step in &steps {
            story = take(story, step, &mut count);
            check(&mut story, step, &mut count);
            let is_key = matches!(step, Step::Press(_) | Step::Type(_));
            keys.set(keys.get() + usize::from(is_key));
        }
        story.buffer();
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
    let wanted = if soak() { 1_000_000 } else { 20_000 };
    assert!(keys.get() >= wanted, "only {} keys", keys.get());
}
