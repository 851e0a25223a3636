//! What the console looks like: pictures at the four sizes, with every style.

use quarterdeck::console::picture;
use quarterdeck::console::update::Msg;
use quarterdeck::console::view::glyphs::Glyphs;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::replay::recorded;
use super::story::{Story, inventory};
use super::surfaces::SURFACES;

fn same(name: &str, picture: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, picture));
}

const SIZES: [(u16, u16); 5] = [(60, 20), (80, 24), (100, 30), (140, 40), (200, 60)];

#[test]
fn a_new_session() {
    for (columns, rows) in SIZES {
        let picture = Story::new().size(columns, rows).screen();
        same(&format!("console.new.{columns}x{rows}"), &picture);
    }
}

#[test]
fn a_team_at_work() {
    for (columns, rows) in SIZES {
        let mut story = inventory().keys("<esc>").size(columns, rows);
        same(&format!("console.team.{columns}x{rows}"), &story.picture());
    }
}

#[test]
fn an_ask_over_the_team() {
    for (columns, rows) in SIZES {
        let mut story = inventory().size(columns, rows);
        same(&format!("console.ask.{columns}x{rows}"), &story.screen());
    }
}

/// The sizes at which every surface is looked at.
const FOUR: [(u16, u16); 4] = [(80, 24), (100, 30), (140, 40), (200, 60)];

#[test]
fn every_surface_and_state() {
    for surface in SURFACES {
        let mut story = surface.story();
        for (columns, rows) in FOUR {
            story = story.size(columns, rows);
            same(&format!("console.{}.{columns}x{rows}", surface.name), &story.screen());
        }
    }
}

#[test]
fn a_recording_with_its_bar() {
    let mut playback = recorded(&inventory());
    for (columns, rows) in FOUR {
        playback.hear(Msg::Resized { columns, rows });
        playback.player.seek_thousandths(600);
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).expect("a terminal");
        terminal.draw(|frame| playback.paint(frame)).expect("drawn");
        let screen = picture::text(terminal.backend().buffer());
        same(&format!("console.replay.{columns}x{rows}"), &screen);
    }
}

#[test]
fn other_themes_and_signs() {
    for theme in ["light", "sixteen", "contrast", "plain"] {
        let mut story = inventory().keys("<esc>").size(100, 30).theme(theme);
        same(&format!("console.{theme}.100x30"), &story.picture());
    }
    let mut story = inventory().keys("<esc>").size(100, 30);
    story.deck.theme = story.deck.theme.clone().with_glyphs(Glyphs::ASCII);
    let screen = story.screen();
    assert!(screen.is_ascii(), "{screen}");
    same("console.ascii.100x30", &screen);
}
