//! The mouse: a click focuses and presses nothing.

use quarterdeck::console::state::dialog::Dialog;
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
    let (x, y) = place_of(&mut story, "these");
    story = story.mouse(MouseKind::Down, x, y).mouse(MouseKind::Drag, x + 4, y);
    story.buffer();
    story = story.mouse(MouseKind::Up, x + 4, y);
    assert_eq!(copied(&mut story), "these");
}

/// Where a text stands on the screen.
fn place_of(story: &mut Story, text: &str) -> (u16, u16) {
    let screen = story.screen();
    let y = screen.lines().position(|line| line.contains(text)).expect("shown");
    let line = screen.lines().nth(y).unwrap();
    let x = line[..line.find(text).unwrap()].chars().count();
    (u16::try_from(x).unwrap(), u16::try_from(y).unwrap())
}

fn copied(story: &mut Story) -> String {
    let effects = story.effects();
    let [Effect::CopyArea(drag)] = &effects[..] else { panic!("{effects:?}") };
    story.deck.text_of(drag)
}

#[test]
fn a_quick_drag_copies_though_no_frame_came_between() {
    let mut story = Story::new().said("lead", "copy these words");
    let (x, y) = place_of(&mut story, "these");
    story = story.mouse(MouseKind::Down, x, y).mouse(MouseKind::Drag, x + 4, y);
    story = story.mouse(MouseKind::Up, x + 4, y);
    assert_eq!(copied(&mut story), "these");
}

#[test]
fn wide_characters_are_copied_without_their_second_halves() {
    let mut story = Story::new().said("lead", "go 日本語 now");
    let (x, y) = place_of(&mut story, "go");
    let drag = |story: Story, from: u16, to: u16| {
        let story = story.mouse(MouseKind::Down, from, y).mouse(MouseKind::Drag, to, y);
        story.mouse(MouseKind::Up, to, y)
    };
    story = drag(story, x, x + 12);
    assert_eq!(copied(&mut story), "go 日本語 now");
    story = drag(story.wait(1_000), x + 4, x + 5);
    assert_eq!(copied(&mut story), "日本", "whoever begins in the middle of one means it");
}

/// At 100 columns tasks and queue are lines; there is no panel to go to.
#[test]
fn a_click_on_a_line_that_stands_for_a_panel_opens_the_panel() {
    let mut story = inventory().keys("<esc>").size(100, 30);
    let plan = layout::arrange(story.state());
    let (tasks, queue) = (plan.task_strip.expect("tasks"), plan.queue_strip.expect("a queue"));
    story = story.mouse(MouseKind::Down, queue.x + 2, queue.y);
    assert!(matches!(story.state().layers[..], [Dialog::Queue]));
    assert_eq!(story.state().ui.focus, Focus::Composer);
    story = story.keys("<esc>").wait(1_000).mouse(MouseKind::Down, tasks.x + 2, tasks.y);
    assert!(matches!(story.state().layers[..], [Dialog::Tasks]));
    assert_eq!(story.ops(), []);
    let mut wide = inventory().keys("<esc>");
    let area = layout::arrange(wide.state()).tasks.expect("a panel");
    wide = wide.mouse(MouseKind::Down, area.x + 2, area.y + 1);
    assert_eq!((wide.state().ui.focus, wide.state().layers.len()), (Focus::Tasks, 0));
}

#[test]
fn a_click_on_a_name_in_the_roster_selects_it() {
    let names: Vec<String> = (1..=20).map(|n| format!("mate{n:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut story = Story::new().team(&names).size(140, 35);
    let (_, members) = layout::arrange(story.state()).roster.expect("some have no pane");
    let name = members.last().expect("one of them").name.as_str().to_owned();
    let (x, y) = place_of(&mut story, &name);
    story = story.mouse(MouseKind::Down, x + 1, y).mouse(MouseKind::Up, x + 1, y);
    assert_eq!(story.selected(), name);
    let mut narrow = Story::new().team(&["ada", "bob"]).size(80, 24);
    let (x, y) = place_of(&mut narrow, "bob");
    narrow = narrow.mouse(MouseKind::Down, x + 1, y);
    assert_eq!(narrow.selected(), "bob");
    assert_eq!(narrow.ops(), []);
}

#[test]
fn the_mouse_is_given_to_the_terminal_and_taken_back() {
    let mut story = Story::new().keys("<f3>");
    assert_eq!(story.effects(), [Effect::Mouse(false)]);
    assert!(story.screen().contains("The terminal has the mouse"));
    story = story.keys("/mouse on<esc>").wait(600).keys("<ret>");
    let wishes = story.effects();
    assert!(wishes.contains(&Effect::Mouse(true)), "{wishes:?}");
    story = story.keys("/mouse on<esc>").wait(600).keys("<ret>");
    let wishes = story.effects();
    assert!(!wishes.iter().any(|wish| matches!(wish, Effect::Mouse(_))), "it has it: {wishes:?}");
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
