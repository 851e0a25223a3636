//! Drawing at any size, in any state, never panics; and an idle console asks for no frame.

use quarterdeck::console::update::wake;

use super::story::{Story, inventory};
use crate::support::soak;

fn sizes() -> Vec<(u16, u16)> {
    let (across, down) = if soak() { (1, 1) } else { (37, 13) };
    let columns = (1..=300).step_by(across);
    columns.flat_map(|columns| (1..=100).step_by(down).map(move |rows| (columns, rows))).collect()
}

#[test]
fn every_surface_draws_at_every_size() {
    let surfaces = [
        "",
        "<C-p>",
        "<f1>",
        "<C-t>",
        "<C-o>",
        "<C-x>",
        "<C-y>",
        "/",
        "<C-o>/x",
        "<f2>",
        "<f2><f2>",
        "/cost<ret>",
    ];
    for surface in surfaces {
        let mut story = inventory().keys("<esc>").keys(surface);
        for (columns, rows) in sizes() {
            story = story.size(columns, rows);
            story.buffer();
        }
    }
}

#[test]
fn an_idle_console_wakes_for_nothing() {
    let story = Story::new().heard("lead", "hi").working("lead").said("lead", "hello").done("lead");
    assert_eq!(wake(story.state()), None);
    let busy = Story::new().working("lead");
    let next = wake(busy.state()).expect("seconds are shown");
    assert!(next.millis() - busy.state().now.millis() <= 1_000);
}

#[test]
fn a_notice_goes_away_by_itself() {
    let mut story = Story::new().keys("<A-5>");
    assert!(story.screen().contains("There is no teammate"));
    let at = wake(story.state()).expect("it goes away");
    let left = at.millis() - story.state().now.millis();
    story = story.wait(left);
    assert!(!story.screen().contains("There is no teammate"));
    assert_eq!(wake(story.state()), None);
}
