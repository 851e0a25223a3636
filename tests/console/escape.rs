//! Esc: closes, goes back, interrupts, in this order and never two at once.

use quarterdeck::protocol::op::Op;

use super::story::{Story, inventory, lead};

#[test]
fn it_closes_the_top_then_leaves_the_panel_then_interrupts() {
    let mut story = Story::new().working("lead").keys("<tab><C-p>");
    assert!(story.screen().contains("commands"));
    story = story.keys("<esc>");
    assert!(story.state().layers.is_empty());
    assert_eq!(story.ops(), []);
    story = story.keys_every("<esc>", 50);
    assert!(story.state().is_composing(), "back from the pane");
    story = story.keys_every("<esc>", 50);
    assert_eq!(story.ops(), [], "too soon after something was closed");
    story = story.wait(600).keys("<esc>");
    assert_eq!(story.ops(), [Op::Interrupt { agent: lead() }]);
}

#[test]
fn it_never_interrupts_while_a_draft_is_written() {
    let mut story = Story::new().working("lead").wait(2_000).keys("half a thought<esc>");
    assert_eq!(story.ops(), []);
    assert_eq!(story.draft(), "half a thought");
    assert!(story.screen().contains("only while the composer is empty"));
}

#[test]
fn it_interrupts_nobody_who_is_idle() {
    let mut story = Story::new().wait(2_000).keys("<esc><esc>");
    assert_eq!(story.ops(), []);
}

#[test]
fn it_never_answers_an_ask() {
    let mut story = inventory();
    assert!(story.state().asks.dialog.is_some(), "it opened after a second of quiet");
    story = story.wait(1_000).keys("<esc>");
    assert!(story.state().asks.dialog.is_none());
    assert_eq!(story.state().asks.len(), 2, "both still wait");
    assert_eq!(story.ops(), []);
}

/// Esc closes the dialog; a second one, meant for it too, must not reach the agent below.
#[test]
fn twice_on_an_ask_it_interrupts_nobody() {
    let mut story = inventory().wait(1_000).keys_every("<esc><esc><esc>", 100);
    assert!(story.state().asks.dialog.is_none());
    assert_eq!(story.ops(), [], "the lead works on");
    story = story.wait(600).keys("<esc>");
    assert_eq!(story.ops(), [Op::Interrupt { agent: lead() }]);
}

#[test]
fn right_behind_an_answer_it_interrupts_nobody() {
    let mut story = Story::new().working("lead").asks("lead", "a1", "ls").wait(2_000).keys("y");
    story = story.wait(160).keys_every("<esc>", 100);
    let ops = story.ops();
    assert!(matches!(&ops[..], [Op::Answer { .. }]), "{ops:?}");
}

#[test]
fn right_behind_an_ask_that_was_settled_elsewhere_it_interrupts_nobody() {
    let mut story = Story::new().working("lead").asks("lead", "a1", "ls").wait(2_000);
    story = story.settled("lead", "a1");
    let screen = story.screen();
    assert!(screen.contains("is settled: allowed by you"), "{screen}");
    story = story.keys_every("<esc><esc>", 100);
    assert!(story.state().asks.dialog.is_none());
    assert_eq!(story.ops(), []);
    // And when it went away by itself a moment before.
    let mut story = Story::new().working("lead").asks("lead", "a1", "ls").wait(2_000);
    story = story.settled("lead", "a1").wait(2_000).keys_every("<esc>", 100);
    assert_eq!(story.ops(), []);
}

#[test]
fn the_footer_names_whom_it_would_interrupt() {
    let mut story = Story::new().team(&["ada"]).working("ada").keys("<S-down>");
    assert!(story.screen().contains("Esc interrupt ada"));
    assert!(!story.keys("x").screen().contains("interrupt ada"), "not with a draft");
}

#[test]
fn a_completion_closes_before_anything_else() {
    let mut story = Story::new().working("lead").wait(1_000).keys("/he");
    assert!(story.state().composer.completion.is_some());
    story = story.keys("<esc>");
    assert!(story.state().composer.completion.is_none());
    assert_eq!((story.draft().as_str(), story.ops()), ("/he", Vec::new()));
}
