//! Going from agent to agent.

use quarterdeck::protocol::liveness::State;
use quarterdeck::protocol::op::{Mode, Op};

use super::story::{Story, agent, inventory, lead};

#[test]
fn shift_up_and_down_cycle_the_lead_and_the_teammates() {
    let mut story = Story::new().team(&["ada", "bob"]);
    let mut seen = Vec::new();
    for _ in 0..4 {
        story = story.keys("<S-down>");
        seen.push(story.selected().to_owned());
    }
    assert_eq!(seen, ["ada", "bob", "lead", "ada"]);
    assert_eq!(story.keys("<S-up><S-up>").selected(), "bob");
}

#[test]
fn alt_and_a_digit_jump_and_a_missing_one_says_so() {
    let mut story = Story::new().team(&["ada", "bob"]).keys("<A-3>");
    assert_eq!(story.selected(), "bob");
    story = story.keys("<A-1>");
    assert_eq!(story.selected(), "lead");
    story = story.keys("<A-9>");
    assert_eq!(story.selected(), "lead");
    assert!(story.screen().contains("There is no teammate 8"));
}

#[test]
fn every_agent_keeps_its_own_draft() {
    let story = Story::new().team(&["ada"]).keys("to the lead<S-down>to ada");
    assert_eq!(story.draft(), "to ada");
    let story = story.keys("<S-up>");
    assert_eq!(story.draft(), "to the lead");
    assert_eq!(story.keys("<S-down>").draft(), "to ada");
}

#[test]
fn the_next_that_needs_the_person_is_visited_in_turn() {
    let mut story = inventory().keys("<esc><C-n>");
    assert_eq!(story.selected(), "scout");
    story = story.keys("<C-n>");
    assert_eq!(story.selected(), "fixer");
    story = story.settled("scout", "a2").settled("fixer", "a1").keys("<C-n>");
    assert_eq!(story.selected(), "fixer", "nobody needs anything");
    assert!(story.screen().contains("Nobody needs you"));
}

#[test]
fn shift_tab_steps_through_the_modes_of_the_selected_agent() {
    let modes = [Mode::AcceptEdits, Mode::Plan, Mode::Delegate, Mode::Default];
    let mut story = Story::new().team(&["ada"]);
    for mode in modes {
        story = story.keys("<S-tab>");
        assert_eq!(story.ops(), [Op::Mode { agent: lead(), mode }]);
        story = story.fact("lead", quarterdeck::protocol::event::Fact::ModeChanged { mode });
    }
    story = story.keys("<S-down><S-tab>");
    let wanted = Op::Mode { agent: agent("ada"), mode: Mode::AcceptEdits };
    assert_eq!(story.ops(), [wanted]);
    story = story.keys("<C-p><S-tab>");
    assert_eq!(story.ops(), [], "it means nothing in a dialog");
}

#[test]
fn what_runs_goes_to_the_background() {
    let mut story = Story::new().working("lead").runs("lead", "u7", "Bash", "sleep 60");
    story = story.keys("<C-b>");
    assert_eq!(story.ops(), [Op::Background { use_id: "u7".to_owned() }]);
    let mut quiet = Story::new().keys("<C-b>");
    assert_eq!(quiet.ops(), []);
    assert!(quiet.screen().contains("is not waiting for a subagent"));
}

#[test]
fn the_header_counts_who_needs_the_person_who_works_and_who_waits() {
    let mut story = inventory().keys("<esc>");
    let header = story.screen().lines().next().unwrap().to_owned();
    assert!(header.contains("2 need you · 2 working"), "{header}");
    assert!(header.contains("tasks 1/5") && header.contains("$0.42"), "{header}");
    story = story.wait(400_000);
    let header = story.screen().lines().next().unwrap().to_owned();
    assert!(header.contains("3 need you"), "the lead is silent for long: {header}");
}

#[test]
fn how_long_silence_is_a_stall_is_set() {
    let mut story = Story::new().team(&["ada"]).working("ada").wait(30_000);
    assert!(!story.screen().contains("1 needs you"), "two minutes where nothing is set");
    story.deck.state.agents.be_patient_for(20);
    assert!(story.screen().contains("1 needs you"));
    story = story.teammate("bob").working("bob").wait(19_000);
    let bob = story.state().agents.get(&agent("bob")).unwrap();
    assert_eq!(bob.state(story.state().now), State::Working, "also for whoever comes later");
    story = story.wait(2_000);
    let bob = story.state().agents.get(&agent("bob")).unwrap();
    assert!(matches!(bob.state(story.state().now), State::Stalled { .. }));
}

#[test]
fn twice_x_stops_a_teammate_and_once_does_not() {
    let mut story = Story::new().team(&["ada"]).keys("<S-down><tab>x");
    assert_eq!(story.ops(), []);
    assert!(story.screen().contains("x again stops ada"));
    story = story.wait(3_000).keys("x");
    assert_eq!(story.ops(), [], "too late for a second press");
    story = story.keys("x");
    assert_eq!(story.ops(), [Op::Stop { agent: agent("ada") }]);
}

#[test]
fn an_agent_that_failed_needs_the_person_until_it_was_seen() {
    let mut story = Story::new().team(&["ada"]).ended("ada", "failed", "no more credit");
    assert!(story.screen().contains("1 needs you"));
    story = story.keys("<C-n>");
    assert_eq!(story.selected(), "ada");
    assert!(story.screen().contains("failed: no more credit"));
    assert!(!story.screen().contains("1 needs you"));
}

#[test]
fn the_chord_prefix_does_what_the_chords_do_and_shows_what_follows() {
    let mut story = Story::new().team(&["ada", "bob"]).keys("<C-x>");
    assert!(story.screen().contains("Ctrl+X, then"));
    story = story.keys("j");
    assert_eq!(story.selected(), "ada");
    story = story.keys("<C-x>3");
    assert_eq!(story.selected(), "bob");
    story = story.keys("<C-x><esc>");
    assert!(!story.screen().contains("Ctrl+X, then"));
    story = story.keys("<C-x>Q");
    assert!(story.screen().contains("is not bound"));
}
