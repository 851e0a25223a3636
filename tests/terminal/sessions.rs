//! Going from one session to another without leaving the console, and commands that look outside.

use std::fs;

use super::console::Console;
use super::place::Place;

const TALK: &str = "- when: { user: first }\n  say: \"The first answer.\"\n\
                    - when: { user: sweep }\n  say: \"Swept.\"\n\
                    - when: { any: true }\n  repeat: true\n  say: \"Go on.\"";

#[test]
fn another_session_is_gone_on_with() {
    let place = Place::new(TALK);
    place.run(&["run", "--playbook", &place.book(), "-p", "the first of all"]);
    let mut console = Console::open(&place, 100, 30);
    console.say("a new one");
    console.until_text("Go on.");
    console.say("/resume");
    console.until_text("the first of all");
    console.press("\r");
    console.until_text("The first answer.");
    console.until("the other one is gone", |screen| !screen.contents().contains("a new one"));
    console.say("and further");
    console.until_text("Go on.");
    console.say("/resume");
    console.until_text("a new one");
    console.press("\x1b");
    console.until("the list is closed", |screen| !screen.contents().contains("This one is paused"));
    let (code, left) = console.quits();
    assert_eq!(code, 0, "{left}");
    assert_eq!(left.matches("quarterdeck -r").count(), 1, "one farewell:\n{left}");
}

#[test]
fn the_doctor_is_asked_from_within() {
    let place = Place::new(TALK);
    let mut console = Console::open(&place, 100, 30);
    console.type_words("/doc");
    console.until_text("what is wrong on this machine");
    console.type_words("tor");
    console.press("\r");
    console.until_text("git version");
    console.press("G");
    console.until_text("Nothing is wrong.");
    // The keys are still the console's own: nothing asked the terminal behind its back.
    console.press("\x1b");
    console.until("the page is closed", |screen| !screen.contents().contains("Nothing is wrong."));
    console.say("the first of all");
    console.until_text("The first answer.");
    console.quits();
}

#[test]
fn own_commands_are_found_in_the_project_and_said() {
    let place = Place::new(TALK);
    let commands = place.path("project").join(".claude/commands");
    fs::create_dir_all(&commands).unwrap();
    fs::write(commands.join("tidy.md"), "---\ndescription: sweeps\n---\nsweep $ARGUMENTS").unwrap();
    let mut console = Console::open(&place, 100, 30);
    console.type_words("/tid");
    console.until_text("sweeps");
    console.type_words("y the attic");
    console.press("\r");
    console.until_text("Swept.");
    console.until_text("sweep the attic");
    console.quits();
}
