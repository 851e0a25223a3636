//! A recorded session on the real console.

use super::console::Console;
use super::place::Place;

const TALK: &str = "- when: { user: first }\n  say: \"The first answer.\"\n- when: { user: second }\n  say: \"The second answer.\"";

#[test]
fn a_session_is_played_again_stepped_through_and_left() {
    let place = Place::new(TALK);
    let book = place.book();
    place.run(&["run", "--playbook", &book, "-p", "first"]);
    place.run(&["run", "--playbook", &book, "-c", "-p", "second"]);
    let mut console = Console::start(&place, &["replay", "latest", "--speed", "64"], 100, 30);
    console.until_text("The second answer.");
    console.press("g");
    console.until("the beginning", |screen| !screen.contents().contains("The first answer."));
    console.press("G");
    console.until_text("The second answer.");
    console.press("q");
    let (code, left) = console.ends();
    assert_eq!(code, 0, "{left}");
    let told = place.run(&["replay", "latest", "--export", "-"]);
    assert!(told.contains("> second"), "{told}");
    let at = |text: &str| told.find(text).unwrap_or_else(|| panic!("no `{text}` in:\n{told}"));
    assert!(at("The first answer.") < at("The second answer."), "{told}");
}

#[test]
fn what_the_console_exports_is_what_replay_exports() {
    let place = Place::new(TALK);
    let mut console = Console::open(&place, 100, 30);
    console.say("first");
    console.until_text("The first answer.");
    console.say("/export told.md");
    console.until_text("Written to ");
    console.quits();
    let told = std::fs::read_to_string(place.path("project").join("told.md")).unwrap();
    assert!(told.contains("> first") && told.contains("The first answer."), "{told}");
    let again = place.run(&["replay", "latest", "--export", "-"]);
    assert!(again.starts_with(told.trim_end()), "{told}\n--- and:\n{again}");
}

#[test]
fn an_exported_file_holds_nothing_that_a_terminal_would_obey() {
    let place = Place::new("- { repeat: true, say: \"All \\e[31mred\\e[0m now.\" }");
    place.run(&["run", "--playbook", &place.book(), "-p", "paint"]);
    let file = place.book().replace("book.yaml", "told.md");
    place.run(&["replay", "latest", "--export", &file]);
    let told = std::fs::read_to_string(&file).unwrap();
    assert!(told.contains("red") && !told.contains('\u{1b}'), "{told:?}");
}
