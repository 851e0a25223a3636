//! The console opens, answers, is resized, and gives the terminal back however it ends.

use super::console::{Console, Place};

const TALK: &str = "- repeat: true\n  say: \"Ahoy from the lead.\"";

fn open(place: &Place, columns: u16, rows: u16) -> Console {
    let book = place.book();
    let console = Console::start(place, &["--playbook", &book], columns, rows);
    console.until_text("to lead");
    console
}

#[test]
fn it_starts_answers_and_quits_and_the_terminal_is_as_it_was() {
    let place = Place::new(TALK);
    let mut console = open(&place, 100, 30);
    console.until("the whole screen is the console's", vt100::Screen::alternate_screen);
    console.type_words("hello there");
    console.press("\r");
    console.until_text("Ahoy from the lead.");
    console.until("the lead is idle", |screen| screen.contents().contains("idle"));
    console.press("\x03");
    console.until_text("again");
    console.press("\x03");
    let (code, left) = console.ends();
    assert_eq!(code, 0, "{left}");
    assert!(left.contains("quarterdeck -r"), "it says how to go on:\n{left}");
}

#[test]
fn a_resize_keeps_the_draft() {
    let place = Place::new(TALK);
    let mut console = open(&place, 100, 30);
    console.type_words("a draft that stays");
    for (columns, rows) in [(60, 20), (140, 40), (80, 24)] {
        console.resize(columns, rows);
        console.until(&format!("the draft at {columns}x{rows}"), |screen| {
            let contents = screen.contents();
            let footer = screen.rows(0, columns).nth(usize::from(rows) - 1).unwrap_or_default();
            contents.contains("a draft that stays") && !footer.trim().is_empty()
        });
    }
    console.signal("TERM");
    console.ends();
}

#[test]
fn a_signal_gives_the_terminal_back() {
    for name in ["TERM", "HUP", "INT"] {
        let place = Place::new(TALK);
        let console = open(&place, 80, 24);
        console.signal(name);
        let (_, left) = console.ends();
        assert!(left.contains("quarterdeck -r"), "after {name}:\n{left}");
    }
}

#[test]
fn a_mistake_before_the_start_is_one_line_and_leaves_the_terminal_alone() {
    let place = Place::new(TALK);
    let console = Console::start(&place, &["--theme", "mauve"], 80, 24);
    let (code, left) = console.ends();
    assert_eq!(code, 2, "{left}");
    assert!(left.contains("mauve"), "{left}");
    assert_eq!(left.trim().lines().count(), 1, "{left}");
}
