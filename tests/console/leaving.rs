//! Leaving: Ctrl+C, and what becomes of those who work.

use quarterdeck::console::update::{Effect, Msg, Parting};

use super::story::{Story, inventory};

#[test]
fn ctrl_c_clears_the_draft_and_twice_without_one_quits() {
    let mut story = Story::new().keys("a thought<C-c>");
    assert_eq!(story.draft(), "");
    assert_eq!(story.effects(), []);
    story = story.keys("<C-c>");
    assert!(story.screen().contains("Ctrl+C again quits"));
    story = story.keys("<C-c>");
    assert_eq!(story.effects(), [Effect::Quit(Parting::End)]);
}

#[test]
fn two_presses_far_apart_do_not_quit() {
    let mut story = Story::new().keys("<C-c>").wait(5_000).keys("<C-c>");
    assert_eq!(story.effects(), []);
}

#[test]
fn a_cleared_draft_is_one_press_away() {
    assert_eq!(Story::new().keys("a thought<C-c><up>").draft(), "a thought");
}

#[test]
fn while_agents_work_it_asks_first() {
    let mut story = inventory().keys("<esc><C-c><C-c>");
    assert_eq!(story.effects(), []);
    let screen = story.screen();
    assert!(screen.contains("Leave?") && screen.contains("4 agents are working"), "{screen}");
    assert!(screen.contains("2 asks wait"), "{screen}");
    story = story.keys("<ret>");
    assert_eq!(story.effects(), [], "the first answer is to stay");
    story = story.keys("<C-c><C-c>p<ret>");
    assert_eq!(story.effects(), [Effect::Quit(Parting::Suspend)]);
    story = story.keys("<C-c><C-c>e<ret>");
    assert_eq!(story.effects(), [Effect::Quit(Parting::End)]);
}

#[test]
fn a_signal_leaves_everything_as_it_stands() {
    let mut story = inventory().msg(Msg::EndRequested);
    assert_eq!(story.effects(), [Effect::Quit(Parting::Suspend)]);
}
