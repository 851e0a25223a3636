//! The mouse: a click focuses and presses nothing.

use quarterdeck::console::state::ui::Focus;
use quarterdeck::console::update::{Effect, MouseKind};
use quarterdeck::console::view::layout;

use super::story::{Story, agent, inventory};

fn middle_of(story: &Story, name: &str) -> (u16, u16) {
    let plan = layout::arrange(story.state());
    let spot = plan.panes.iter().find(|spot| spot.agent == agent(name)).expect("a pane");
    let inner = spot.inner();
    (inner.x + inner.width / 2, inner.y)
}

#[test]
fn a_click_selects_a_pane_and_two_zoom_it() {
    let mut story = inventory().keys("<esc>");
    let (x, y) = middle_of(&story, "fixer");
    story = story.mouse(MouseKind::Down, x, y).mouse(MouseKind::Up, x, y);
    assert_eq!((story.selected(), story.state().ui.focus), ("fixer", Focus::Pane));
    assert!(!story.state().is_zoomed());
    let (x, y) = middle_of(&story, "fixer");
    story = story.wait(1_000).mouse(MouseKind::Down, x, y).mouse(MouseKind::Down, x, y);
    assert!(story.state().is_zoomed());
    assert_eq!(story.ops(), []);
}

#[test]
fn no_click_answers_an_ask() {
    let mut story = inventory().wait(1_000);
    assert!(story.state().asks.dialog.is_some());
    for y in 0..40 {
        for x in (0..140).step_by(5) {
            story = story.mouse(MouseKind::Down, x, y).mouse(MouseKind::Up, x, y);
        }
    }
    assert_eq!(story.ops(), []);
    assert_eq!(story.state().asks.len(), 2);
}

#[test]
fn a_drag_copies_what_it_covers_within_one_pane() {
    let mut story = Story::new().said("lead", "copy these words");
    let screen = story.screen();
    let y = screen.lines().position(|line| line.contains("copy these words")).expect("shown");
    let line = screen.lines().nth(y).unwrap();
    let x = line[..line.find("these").unwrap()].chars().count();
    let (x, y) = (u16::try_from(x).unwrap(), u16::try_from(y).unwrap());
    story = story.mouse(MouseKind::Down, x, y).mouse(MouseKind::Drag, x + 4, y);
    story.buffer();
    story = story.mouse(MouseKind::Up, x + 4, y);
    let effects = story.effects();
    let [Effect::CopyArea(drag)] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(story.deck.text_of(drag), "these");
}

#[test]
fn the_wheel_scrolls_what_is_under_it() {
    let long = (1..=200).map(|n| format!("line {n}\n")).collect::<String>();
    let mut story = Story::new().team(&["ada"]).said("ada", &long).keys("<S-down><S-up>");
    story.buffer();
    let (x, y) = middle_of(&story, "ada");
    for _ in 0..10 {
        story = story.mouse(MouseKind::WheelUp, x, y);
        story.buffer();
    }
    let ada = story.state().agents.get(&agent("ada")).unwrap();
    assert!(!ada.scroll.is_following());
    assert_eq!(story.selected(), "lead", "the wheel selects nobody");
}
