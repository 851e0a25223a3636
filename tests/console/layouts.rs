//! Where things are at every size, and what the person sees of many teammates.

use quarterdeck::console::state::ui::Focus;
use quarterdeck::console::view::layout::{self, Plan};
use quarterdeck::protocol::task::Status;
use ratatui::layout::Rect;

use super::story::{Story, inventory};

const NAMES: [&str; 20] = [
    "ada", "bob", "cleo", "dan", "eve", "finn", "gil", "hana", "ivo", "jun", "kai", "lea", "mia",
    "ned", "ola", "pia", "quin", "ravi", "sam", "tess",
];

fn all_areas(plan: &Plan) -> Vec<Rect> {
    let mut areas: Vec<Rect> = plan.panes.iter().map(|spot| spot.area).collect();
    areas.extend([plan.header, plan.composer, plan.footer]);
    let strips = [plan.strip, plan.tasks, plan.queue, plan.task_strip, plan.queue_strip];
    areas.extend(strips.into_iter().flatten());
    areas.extend(plan.roster.as_ref().map(|(area, _)| *area));
    areas
}

#[test]
fn nothing_leaves_the_screen_and_neighbours_share_only_their_borders() {
    for team in [0, 1, 3, 20] {
        for (columns, rows) in [(40, 10), (60, 20), (80, 24), (100, 30), (140, 35), (200, 60)] {
            let mut story = Story::new().team(&NAMES[..team]).size(columns, rows);
            for _ in 0..3 {
                let screen = Rect::new(0, 0, columns, rows);
                let areas = all_areas(&layout::arrange(story.state()));
                for (at, area) in areas.iter().enumerate() {
                    assert_eq!(screen.intersection(*area), *area, "{team} at {columns}x{rows}");
                    for other in &areas[at + 1..] {
                        let both = area.intersection(*other);
                        assert!(
                            both.width <= 1 || both.height <= 1,
                            "{team} at {columns}x{rows}: {area:?} over {other:?}"
                        );
                    }
                }
                story = story.keys("<f2>");
            }
        }
    }
}

#[test]
fn the_selected_teammate_gets_half_of_its_column() {
    let story = inventory().keys("<esc><A-3>");
    let plan = layout::arrange(story.state());
    let heights: Vec<u16> = plan.panes.iter().map(|spot| spot.area.height).collect();
    let column: u16 = heights[0];
    assert!(heights[2] * 2 + 2 >= column, "{heights:?}");
}

#[test]
fn a_team_that_has_ended_leaves_its_column_to_the_lead() {
    for (columns, rows) in [(100, 30), (140, 40)] {
        let mut story = Story::new().team(&["ada", "bob"]).size(columns, rows);
        assert_eq!(layout::arrange(story.state()).panes.len(), 3);
        story = story.ended("ada", "completed", "").ended("bob", "completed", "");
        assert_eq!(layout::arrange(story.state()).panes.len(), 1);
        let screen = story.screen();
        assert!(screen.contains("▌ada") && screen.contains("▌bob"), "{screen}");
        story = story.keys("<S-down>");
        assert_eq!(layout::arrange(story.state()).panes.len(), 2, "whoever is looked at has one");
    }
}

#[test]
fn twenty_teammates_are_readable_at_140x35() {
    let mut story = Story::new().team(&NAMES).size(140, 35).asks("tess", "a1", "ls");
    story = story.wait(10).keys("<esc><A-2>");
    let screen = story.screen();
    for name in NAMES {
        assert!(screen.contains(name), "{name} is nowhere:\n{screen}");
    }
    assert!(screen.contains("▌tess ! "), "whoever needs the person has a pane:\n{screen}");
}

#[test]
fn a_narrow_screen_has_one_transcript_a_roster_and_a_queue_line() {
    let mut story = inventory().keys("<esc>").size(80, 24);
    let plan = layout::arrange(story.state());
    assert_eq!(plan.panes.len(), 1);
    assert!(plan.strip.is_some() && plan.queue_strip.is_some());
    let screen = story.screen();
    for words in ["lead", "▌scout", "▌fixer", "▌reviewer", "! 2 "] {
        assert!(screen.contains(words), "{words}:\n{screen}");
    }
    story = story.size(30, 8);
    assert!(story.screen().starts_with("quarterdeck needs 40×10"));
}

#[test]
fn tab_goes_round_the_panels_that_are_there() {
    let mut story = inventory().keys("<esc>");
    let mut seen = Vec::new();
    for _ in 0..4 {
        story = story.keys("<tab>");
        seen.push(story.state().ui.focus);
    }
    assert_eq!(seen, [Focus::Pane, Focus::Tasks, Focus::Queue, Focus::Composer]);
    let alone = Story::new().keys("<tab><tab>");
    assert_eq!(alone.state().ui.focus, Focus::Composer, "there are no others");
}

#[test]
fn tasks_and_queue_open_over_a_narrow_screen() {
    let mut story =
        Story::new().size(80, 24).task(1, "map the code", None, Status::Pending, &[]).keys("<C-t>");
    assert!(story.screen().contains("map the code"));
    story = story.keys("<C-t>").asks("lead", "a1", "rm -r build").keys("<C-x>a");
    assert!(story.screen().contains("rm -r build"));
}

#[test]
fn zoom_shows_the_whole_transcript_and_search_finds_in_it() {
    let mut story = inventory().keys("<esc><A-2><C-o>");
    let screen = story.screen();
    assert!(screen.contains("rounded twice") && !screen.contains("five tasks"), "{screen}");
    story = story.keys("/rounded<ret>");
    let scout = story.state().selected_agent().unwrap();
    assert!(scout.scroll.search.as_ref().is_some_and(|search| search.at.is_some()));
    assert!(story.state().is_zoomed());
    assert!(!story.keys("<esc>").state().is_zoomed());
}
