//! Drawing at any size, in any state, never panics; and an idle console asks for no frame.

use quarterdeck::console::update::wake;

use super::story::{Story, inventory};
use super::surfaces::{SURFACES, Surface};
use crate::support::soak;

#[test]
fn every_surface_draws_at_every_size() {
    let stories = || SURFACES.iter().map(Surface::story).collect::<Vec<_>>();
    // All of them at some sizes, and some at all sizes.
    let some = (1..=300)
        .step_by(61)
        .flat_map(|columns| (1..=100).step_by(23).map(move |rows| (columns, rows)));
    for mut story in stories() {
        for (columns, rows) in some.clone() {
            story = story.size(columns, rows);
            story.buffer();
        }
    }
    let step = if soak() { 1 } else { 29 };
    let mut stories = stories();
    let all = (1..=300).flat_map(|columns| (1..=100).map(move |rows| (columns, rows)));
    for (nth, (columns, rows)) in all.enumerate().step_by(step) {
        let at = nth % stories.len();
        let mut story = stories.swap_remove(at).size(columns, rows);
        story.buffer();
        stories.push(story);
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
    assert!(wake(inventory().state()).is_some(), "who waits grows older");
}
