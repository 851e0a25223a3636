//! Asks on the real console: an answer reaches whoever asked and nobody else, and nothing is ever
//! answered by accident.

use std::time::Duration;

use super::console::Console;
use super::place::{Place, runs};

/// Ada wants to make a file.
fn ada() -> Place {
    Place::team(&[("ada", &runs("ada", "touch ada.txt"))])
}

fn ada_and_bob() -> Place {
    Place::team(&[("ada", &runs("ada", "touch ada.txt")), ("bob", &runs("bob", "touch bob.txt"))])
}

/// The console with these teammates, each told to begin.
fn begun(place: &Place, names: &[&str]) -> Console {
    let mut console = Console::with_team(place, names, 140, 40);
    for name in names {
        console.say(&format!("@{name} go"));
        console.until("that was sent", |screen| !screen.contents().contains("@"));
    }
    console
}

#[test]
fn y_reaches_the_teammate_that_asked_and_no_other() {
    let place = ada_and_bob();
    let mut console = begun(&place, &["ada", "bob"]);
    console.until_text("1 of 2");
    console.until_asked("▌ada asks to run a command");
    console.press("y");
    console.until_text("ada has done it.");
    assert!(place.has("ada.txt") && !place.has("bob.txt"));
    console.until_asked("▌bob asks to run a command");
    console.press("n");
    console.until_text("bob may not.");
    assert!(!place.has("bob.txt"));
    console.until_no_ask_is_shown();
    console.quits();
}

#[test]
fn a_word_typed_just_as_a_dialog_opens_is_text_and_no_answer() {
    let place = ada();
    let mut console = begun(&place, &["ada"]);
    console.until_text("yes, once");
    console.press("yes please");
    console.until("the words are in the composer, and the dialog is gone", |screen| {
        let text = screen.contents();
        text.contains("❯ yes please") && !text.contains("yes, once")
    });
    // Also when the dialog could be answered already.
    console.press("\x03");
    console.press("\x19");
    console.until_asked("touch ada.txt");
    console.press("nothing of it");
    console.until_text("❯ nothing of it");
    console.until_text("needs you 1");
    assert!(!place.has("ada.txt"));
    assert!(!console.text().contains("ada may not."));
    console.signal("TERM");
    console.ends();
}

#[test]
fn a_y_typed_into_the_composer_while_an_ask_arrives_stays_text() {
    let place = ada();
    let mut console = Console::with_team(&place, &["ada"], 140, 40);
    console.type_words("@ada go");
    console.press("\r");
    let mut typed = String::new();
    loop {
        console.press("y");
        typed.push('y');
        let asked = |text: &str| text.contains("needs you 1");
        if console.wait_for(Duration::from_millis(100), |seen| asked(&seen.text())) {
            break;
        }
    }
    console.press("y");
    typed.push('y');
    console.until("all of it is text", |screen| screen.contents().contains(&format!("❯ {typed} ")));
    console.until_asked("touch ada.txt");
    assert!(!place.has("ada.txt") && console.text().contains(&format!("❯ {typed} ")));
    // And Enter sends what was written; it answers nothing.
    console.press("\x1b");
    console.until_no_ask_is_shown();
    console.press("\r");
    console.until_text("Noted.");
    console.until_text("needs you 1");
    assert!(!place.has("ada.txt"));
    console.signal("TERM");
    console.ends();
}

#[test]
fn esc_never_answers() {
    let place = ada();
    let mut console = begun(&place, &["ada"]);
    console.until_asked("touch ada.txt");
    console.press("\x1b");
    console.until_no_ask_is_shown();
    console.until_text("needs you 1");
    // Nor does it from any page of the dialog.
    console.press("\x19");
    for (key, page) in
        [("\t", "instead"), ("a", "writes"), ("e", "run this instead"), ("w", "tell the agent")]
    {
        console.until_asked("touch ada.txt");
        console.press(key);
        console.until("another page", |screen| {
            let text = screen.contents();
            text.contains(page) && !text.contains("yes, once")
        });
        console.press("\x1b");
    }
    console.until_asked("touch ada.txt");
    console.press("\x1b");
    console.until_no_ask_is_shown();
    console.until_text("needs you 1");
    assert!(!place.has("ada.txt") && !console.text().contains("ada may not."));
    console.signal("TERM");
    console.ends();
}

#[test]
fn an_ask_that_arrives_during_another_one_does_not_replace_it() {
    let late =
        runs("bob", "touch bob.txt").replacen("  call:", "  fault: { stall_ms: 4000 }\n  call:", 1);
    let place = Place::team(&[("ada", &runs("ada", "touch ada.txt")), ("bob", &late)]);
    let mut console = begun(&place, &["bob", "ada"]);
    console.until_asked("touch ada.txt");
    console.until("the second waits behind the first", |screen| {
        let text = screen.contents();
        text.contains("▌ada asks to run a command ━") && text.contains("1 of 2")
    });
    console.press("y");
    console.until_text("ada has done it.");
    assert!(place.has("ada.txt") && !place.has("bob.txt"));
    console.until_asked("▌bob asks to run a command ━");
    console.signal("TERM");
    console.ends();
}

#[test]
fn edit_then_allow_runs_the_edited_command_and_shows_both() {
    let place = ada();
    let mut console = begun(&place, &["ada"]);
    console.until_asked("touch ada.txt");
    console.press("e");
    console.until_text("run this instead");
    console.reads();
    console.press("\x7f\x7f\x7fmd");
    console.until_text("❯ touch ada.md");
    console.press("\r");
    console.until_text("ada has done it.");
    assert!(place.has("ada.md") && !place.has("ada.txt"));
    console.press("\x1b2");
    console.until_text("to ▌ada");
    console.press("\x0f");
    console.until("what was asked and what ran", |screen| {
        let text = screen.contents();
        text.contains("touch ada.txt") && text.contains("touch ada.md")
    });
    console.signal("TERM");
    console.ends();
}

#[test]
fn star_then_y_answers_exactly_the_marked_ones() {
    let place = Place::team(&[
        ("ada", &runs("ada", "touch ada.txt")),
        ("bob", &runs("bob", "mkdir box")),
        ("cleo", &runs("cleo", "touch cleo.txt")),
    ]);
    let mut console = begun(&place, &["ada", "bob", "cleo"]);
    console.until_text("1 of 3");
    console.until_asked("▌ada asks to run a command ━");
    console.press("*");
    console.until_text("2 requests are answered together");
    console.until_asked("yes to all 2");
    console.press("y");
    console.until("both are done", |screen| {
        let text = screen.contents();
        text.contains("ada has done it.") && text.contains("cleo has done it.")
    });
    assert!(place.has("ada.txt") && place.has("cleo.txt") && !place.has("box"));
    console.until_asked("▌bob asks to run a command ━");
    console.press("n");
    console.until_text("bob may not.");
    assert!(!place.has("box"));
    console.quits();
}

#[test]
fn quitting_with_open_asks_keeps_them_and_going_on_shows_them_again() {
    let place = ada();
    let mut console = begun(&place, &["ada"]);
    console.until_asked("touch ada.txt");
    console.press("\x1b");
    console.until_no_ask_is_shown();
    console.press("\x03");
    console.until_text("again");
    console.press("\x03");
    console.until_text("One ask waits for your answer.");
    console.press("p\r");
    let (code, left) = console.ends();
    assert_eq!(code, 0, "{left}");
    assert!(left.contains("asks stay open"), "{left}");
    let mut console = Console::open_with(&place, &["-c"], 140, 40);
    console.until_asked("touch ada.txt");
    assert!(!place.has("ada.txt"));
    console.press("y");
    console.until_text("ada has done it.");
    assert!(place.has("ada.txt"));
    console.until_no_ask_is_shown();
    console.signal("TERM");
    console.ends();
}

#[test]
fn a_paste_into_a_dialog_is_text_and_no_answer() {
    let place = ada();
    let mut console = begun(&place, &["ada"]);
    console.until_asked("touch ada.txt");
    console.press("\x1b[200~y\x1b[201~");
    console.until("the paste is in the composer", |screen| {
        let text = screen.contents();
        text.contains("❯ y ") && !text.contains("yes, once")
    });
    assert!(!place.has("ada.txt"));
    console.signal("TERM");
    console.ends();
}
