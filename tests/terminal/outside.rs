//! What leaves the console and comes back: a shell, an editor, the clipboard, pastes.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::console::Console;
use super::place::{Place, runs};

const TALK: &str = "- repeat: true\n  say: \"Ahoy from the lead.\"";

/// A program of the person's own.
fn script(place: &Place, name: &str, text: &str) {
    let path = place.path("user").join(name);
    fs::write(&path, format!("#!/bin/sh\n{text}")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn ctrl_z_is_a_shell_while_agents_go_on_and_asks_ring() {
    let late =
        runs("ada", "touch ada.txt").replacen("  call:", "  fault: { stall_ms: 1500 }\n  call:", 1);
    let place = Place::team(&[("ada", &late)]);
    let shell = place.path("user").join("shell").display().to_string();
    let place = place.with("SHELL", shell);
    // No dialog opens between the return and the next key.
    let config = place.path("user/.config/quarterdeck");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("settings.json"), r#"{"asks": {"open": "manual"}}"#).unwrap();
    script(&place, "shell", "read line\necho \"heard $line\"\nread line\n");
    let mut console = Console::with_team(&place, &["ada"], 140, 40);
    console.say("@ada go");
    console.press("a draft\x1a");
    console.until_text("The agents keep working.");
    console.is_given_back();
    console.press("these words\n");
    console.until_text("heard these words");
    console.wait("the ask rings", |seen| seen.outside().bells > 0);
    console.press("\n");
    console.until("the console with its draft and the ask", |screen| {
        let text = screen.contents();
        screen.alternate_screen() && text.contains("❯ a draft") && text.contains("needs you 1")
    });
    console.press("!");
    console.until_text("❯ a draft!");
    console.signal("TERM");
    console.ends();
}

#[test]
fn ctrl_g_writes_the_draft_in_an_editor() {
    let place = Place::new(TALK);
    let editor = place.path("user").join("editor").display().to_string();
    let place = place.with("EDITOR", format!("{editor} --wait"));
    let text = "[ \"$1\" = --wait ] || exit 9\ngrep -q spoil \"$2\" && { echo gone > \"$2\"; exit 1; }\n\
                printf ' and more' >> \"$2\"\n";
    script(&place, "editor", text);
    let mut console = Console::open(&place, 100, 30);
    console.type_words("a draft");
    console.press("\x07");
    console.until("what was written", |screen| {
        screen.alternate_screen() && screen.contents().contains("❯ a draft and more ")
    });
    // One that fails changes nothing.
    console.type_words(" to spoil");
    console.press("\x07");
    console.until_text("nothing changed");
    console.until_text("❯ a draft and more to spoil ");
    let left = fs::read_dir(place.path("user")).unwrap().flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().ends_with(".md")), "{left:?}");
    console.signal("TERM");
    console.ends();
}

#[test]
fn a_cell_is_copied_to_the_clipboard_of_the_terminal() {
    let place = Place::new(TALK);
    let mut console = Console::open(&place, 100, 30);
    console.say("hello");
    console.until_text("Ahoy from the lead.");
    console.until_text("all quiet");
    console.press("\x0fc");
    console.wait("the clipboard", |seen| {
        seen.outside()
            .copied
            .last()
            .is_some_and(|text| *text == STANDARD.encode("Ahoy from the lead."))
    });
    console.until_text("Copied 19 characters.");
    console.signal("TERM");
    console.ends();
}

#[test]
fn a_paste_is_one_text_and_a_big_one_folds() {
    let place = Place::new("- when: { user: \"line 79\" }\n  say: \"All of it came.\"");
    let mut console = Console::open(&place, 100, 30);
    console.press("\x1b[200~first line\nsecond line\x1b[201~");
    console.until("both lines, and nothing was sent", |screen| {
        let text = screen.contents();
        text.contains("❯ first line") && text.contains("second line") && text.contains("all quiet")
    });
    console.press("\x03");
    let big: Vec<String> = (0..80).map(|number| format!("line {number}")).collect();
    console.press(&format!("\x1b[200~{}\x1b[201~", big.join("\n")));
    console.until("it is folded", |screen| {
        let text = screen.contents();
        text.contains("80 lines") && !text.contains("line 79")
    });
    console.press("\r");
    console.until_text("All of it came.");
    console.signal("TERM");
    console.ends();
}
