//! The console opens, answers, is resized, and gives the terminal back however it ends.

use std::fs;
use std::time::{Duration, Instant};

use super::console::Console;
use super::place::Place;
use crate::support::rig::{alive, until};

const TALK: &str = "- repeat: true\n  say: \"Ahoy from the lead.\"";

#[test]
fn it_starts_answers_and_quits_and_the_terminal_is_as_it_was() {
    let place = Place::new(TALK);
    let mut console = Console::open(&place, 100, 30);
    console.until("the whole screen is the console's", vt100::Screen::alternate_screen);
    console.type_words("hello there");
    console.press("\r");
    console.until_text("Ahoy from the lead.");
    console.until("the lead is idle", |screen| screen.contents().contains("idle"));
    let (code, left) = console.quits();
    assert_eq!(code, 0, "{left}");
    assert!(left.contains("quarterdeck -r"), "it says how to go on:\n{left}");
}

#[test]
fn a_resize_keeps_the_draft() {
    let place = Place::new(TALK);
    let mut console = Console::open(&place, 100, 30);
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
fn keys_that_come_with_a_resize_are_not_left_lying() {
    let place = Place::new(TALK);
    let mut console = Console::open(&place, 100, 30);
    for nth in 0..24 {
        console.resize(100 - nth, 30 - nth % 3);
        console.press("a");
        let all = "a".repeat(usize::from(nth) + 1);
        console.until(&format!("{all} in the composer"), |screen| {
            screen.contents().contains(&format!("❯ {all}"))
        });
    }
    console.press("\x03");
    console.quits();
}

#[test]
fn without_the_mouse_the_terminal_is_never_asked_for_it() {
    let place = Place::new(TALK);
    let with = Console::open(&place, 100, 30);
    with.wait("the mouse is wanted", |seen| seen.mouse_wanted > 0);
    with.quits();
    let mut without = Console::open_with(&place, &["--no-mouse"], 100, 30);
    without.say("hello there");
    without.until_text("Ahoy from the lead.");
    without.resize(80, 24);
    assert_eq!(without.look(|seen| seen.mouse_wanted), 0);
    // It can still be wanted later.
    without.say("/mouse on");
    without.wait("the mouse is wanted after all", |seen| seen.mouse_wanted > 0);
    let (code, left) = without.quits();
    assert_eq!(code, 0, "{left}");
}

#[test]
fn a_signal_gives_the_terminal_back() {
    for name in ["TERM", "HUP", "INT"] {
        let place = Place::new(TALK);
        let mut console = Console::open(&place, 80, 24);
        console.say("hello");
        console.until_text("Ahoy from the lead.");
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

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds panic on request")]
fn a_panic_gives_the_terminal_back_before_it_is_told() {
    let place = Place::new(TALK).with("QUARTERDECK_TEST_PANIC", "1");
    let book = place.book();
    let (code, left) = Console::start(&place, &["--playbook", &book], 80, 24).ends();
    assert_ne!(code, 0, "{left}");
    assert!(left.contains("told to panic"), "{left}");
}

#[test]
fn without_a_model_the_first_run_is_a_rehearsal_in_a_copy() {
    let place = Place::new(TALK);
    let mut console = Console::start(&place, &[], 140, 40);
    console.until_text("This is a rehearsal");
    console.until_text("ANTHROPIC_API_KEY");
    console.until_text("fix the bugs");
    console.press("\r");
    console.until_text("stock-fix");
    console.until("an ask of the team", |screen| screen.contents().contains("yes, once"));
    console.press("\x1b");
    console.until_no_ask_is_shown();
    let (code, left) = leaves(console, "e\r");
    assert_eq!(code, 0, "{left}");
    let own = std::fs::read_dir(place.path("project")).unwrap().count();
    assert_eq!(own, 0, "nothing outside the copy is touched");
}

/// Leaves while somebody works or asks; the keys pick how.
fn leaves(mut console: Console, how: &str) -> (u32, String) {
    console.press("\x03");
    console.until_text("again");
    console.press("\x03");
    console.until_text("Leave?");
    console.press(how);
    console.ends()
}

#[test]
fn quitting_with_agents_at_work_asks_first() {
    let place = Place::new("- say: \"slowly\"\n  fault: { stall_ms: 120000 }");
    let mut console = Console::open(&place, 100, 30);
    console.say("begin");
    console.until_text("working");
    console.press("\x03");
    console.until_text("again");
    console.press("\x03");
    console.until_text("One agent is working.");
    console.press("\x1b");
    console.until("it stays", |screen| !screen.contents().contains("Leave?"));
    let (code, left) = leaves(console, "e\r");
    assert_eq!(code, 0, "{left}");
    assert!(left.contains("ended"), "{left}");
}

/// A shell whose start-up files take for ever: the session cannot begin, and a signal ends it.
#[test]
fn a_signal_while_the_session_begins_is_heeded_at_once() {
    for name in ["TERM", "HUP", "INT"] {
        let place = Place::new(TALK).with("SHELL", "/bin/bash");
        let started = place.path("user/started");
        let slow = "echo $$ > ~/started.new; mv ~/started.new ~/started; sleep 1000\n";
        fs::write(place.path("user/.bashrc"), slow).unwrap();
        let console = Console::start(&place, &["--playbook", &place.book()], 80, 24);
        console.until_text("to lead");
        until("the start-up files", || started.exists().then_some(()));
        let since = Instant::now();
        console.signal(name);
        let (code, left) = console.ends();
        assert_eq!(code, 130, "after {name}:\n{left}");
        // Without it, the shell's time limit of ten seconds would pass first.
        assert!(since.elapsed() < Duration::from_secs(5), "after {name}: {:?}", since.elapsed());
        let shell = fs::read_to_string(&started).unwrap();
        until("the shell is gone", || (!alive(shell.trim())).then_some(()));
    }
}
