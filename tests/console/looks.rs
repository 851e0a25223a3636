//! What the console looks like: pictures at the four sizes, with every style.

use quarterdeck::console::view::glyphs::Glyphs;

use super::story::{Story, inventory};

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

#[test]
fn every_layout_and_surface() {
    for (name, keys) in [
        ("focus", "<A-3><f2>"),
        ("grid", "<f2><f2>"),
        ("teammate", "<A-3>"),
        ("pane", "<A-3><tab>"),
        ("zoom", "<A-2><C-o>"),
        ("help", "<f1>"),
        ("palette", "<C-p>"),
        ("prefix", "<C-x>"),
        ("commands", "/s"),
        ("cost", "/cost<ret>"),
        ("leave", "<C-c><C-c>"),
    ] {
        let mut story = inventory().keys("<esc>").keys(keys).wait(8_000);
        same(&format!("console.{name}.140x40"), &story.screen());
        let mut story = story.size(80, 24);
        same(&format!("console.{name}.80x24"), &story.screen());
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
