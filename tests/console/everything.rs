//! Random keys, pastes, clicks, sizes and events: nothing panics, no draft is lost, and what must
//! always hold holds.

use std::collections::HashMap;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use quarterdeck::console::keys::{Chord, table};
use quarterdeck::console::state::composer::Draft;
use quarterdeck::console::update::{Effect, MouseKind, Msg};
use quarterdeck::protocol::ids::AgentId;
use quarterdeck::protocol::op::Op;

use super::story::Story;
use crate::support::soak;

#[derive(Debug, Clone)]
enum Step {
    Press(usize),
    Type(char),
    Paste(String),
    Click(u16, u16),
    Wheel(u16, u16),
    Resize(u16, u16),
    Wait(i64),
    Joins,
    Works(usize),
    Says(usize, String),
    Asks(usize),
    Settles(usize),
    Ends(usize),
    Draw,
}

const NAMES: [&str; 5] = ["lead", "ada", "bob", "cleo", "dan"];

fn step() -> impl Strategy<Value = Step> {
    let who = 0..NAMES.len();
    prop_oneof![
        6 => any::<usize>().prop_map(Step::Press),
        6 => any::<char>().prop_map(Step::Type),
        4 => "[a-zyn@/ ]".prop_map(|text| Step::Type(text.chars().next().unwrap_or('y'))),
        1 => any::<String>().prop_map(Step::Paste),
        1 => (0..300_u16, 0..100_u16).prop_map(|(x, y)| Step::Click(x, y)),
        1 => (0..300_u16, 0..100_u16).prop_map(|(x, y)| Step::Wheel(x, y)),
        1 => (0..300_u16, 0..100_u16).prop_map(|(x, y)| Step::Resize(x, y)),
        2 => (0..3_000_i64).prop_map(Step::Wait),
        1 => Just(Step::Joins),
        1 => who.clone().prop_map(Step::Works),
        1 => (who.clone(), any::<String>()).prop_map(|(who, text)| Step::Says(who, text)),
        2 => who.clone().prop_map(Step::Asks),
        1 => (0..40_usize).prop_map(Step::Settles),
        1 => who.prop_map(Step::Ends),
        1 => Just(Step::Draw),
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
    drafts: HashMap<AgentId, String>,
}

fn take(mut story: Story, step: &Step, count: &mut Count) -> Story {
    let name = |who: usize| NAMES[who % (count.joined + 1).min(NAMES.len())];
    match step {
        Step::Press(number) => story.send(Msg::Key(chord(*number))),
        Step::Type(typed) => {
            let chord = Chord::plain(quarterdeck::console::keys::Key::Char(*typed));
            story.send(Msg::Key(chord));
        }
        Step::Paste(text) => story.send(Msg::Paste(text.clone())),
        Step::Click(x, y) => {
            return story.mouse(MouseKind::Down, *x, *y).mouse(MouseKind::Up, *x, *y);
        }
        Step::Wheel(x, y) => return story.mouse(MouseKind::WheelUp, *x, *y),
        Step::Resize(columns, rows) => return story.size(*columns, *rows),
        Step::Wait(millis) => return story.wait(*millis),
        Step::Joins if count.joined + 1 < NAMES.len() => {
            count.joined += 1;
            return story.teammate(NAMES[count.joined]);
        }
        Step::Joins => {}
        Step::Works(who) => return story.working(name(*who)),
        Step::Says(who, text) => return story.said(name(*who), text),
        Step::Asks(who) => {
            let who = name(*who);
            count.asks += 1;
            return story.asks(who, &format!("a{}", count.asks), "rm -r build");
        }
        Step::Settles(which) => return story.settled("lead", &format!("a{which}")),
        Step::Ends(who) => return story.ended(name(*who), "killed", ""),
        Step::Draw => {
            story.buffer();
        }
    }
    story
}

/// What must hold whatever happens.
fn check(story: &mut Story, step: &Step, count: &mut Count) {
    let effects = story.effects();
    let state = story.state();
    assert!(state.agents.get(&state.selected).is_some(), "somebody is selected");
    assert!(state.rotation().contains(&state.selected), "and it is one of the team");
    assert!(state.layers.len() < 12, "layers do not pile up: {:?}", state.layers);
    // Answers name an ask, and only a key can give them.
    let answers = effects.iter().filter(|one| matches!(one, Effect::Send(Op::Answer { .. })));
    let by_event = matches!(step, Step::Says(..) | Step::Asks(_) | Step::Works(_) | Step::Draw);
    assert!(!by_event || answers.count() == 0, "{step:?} answered");
    // A draft of an agent that is not selected never changes by itself.
    for (agent, draft) in &count.drafts {
        if *agent != state.selected {
            let kept = state.composer.kept(agent).map(Draft::whole).unwrap_or_default();
            assert_eq!(kept, *draft, "the draft for {agent}");
        }
    }
    let draft = state.composer.draft.whole();
    let selected = state.selected.clone();
    count.drafts.insert(selected, draft);
}

#[test]
fn whatever_happens_the_console_stands() {
    let (cases, steps) = if soak() { (2_000, 500) } else { (40, 120) };
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new(config);
    let all = prop::collection::vec(step(), 1..steps);
    let outcome = runner.run(&all, |steps| {
        let mut story = Story::new();
        let mut count = Count::default();
        for step in &steps {
            story = take(story, step, &mut count);
            check(&mut story, step, &mut count);
        }
        story.buffer();
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}
