//! A team on the real console: whom keys go to, and what somebody who looks elsewhere is told.

use super::console::Console;
use super::place::{Place, runs};

const UP: &str = "\x1b[1;2A";
const DOWN: &str = "\x1b[1;2B";

fn two() -> Place {
    Place::team(&[("ada", &runs("ada", "touch ada.txt")), ("bob", &runs("bob", "touch bob.txt"))])
}

#[test]
fn shift_and_the_arrows_go_round_the_lead_and_the_teammates() {
    let place = two();
    let mut console = Console::with_team(&place, &["ada", "bob"], 140, 40);
    for (key, whom) in [(DOWN, "to ▌ada"), (DOWN, "to ▌bob"), (DOWN, "to lead"), (UP, "to ▌bob")]
    {
        console.press(key);
        console.until(whom, |screen| composer_title(screen).contains(whom));
    }
    // A draft stays with whom it was written for; so it does when the size changes.
    console.type_words("words for bob");
    console.press(UP);
    console.until("ada has no draft", |screen| {
        composer_title(screen).contains("to ▌ada") && !screen.contents().contains("words for bob")
    });
    console.press(DOWN);
    console.until_text("words for bob");
    console.resize(80, 24);
    console.until("all is there at 80x24", |screen| {
        let text = screen.contents();
        text.contains("to ▌bob") && text.contains("words for bob")
    });
    console.signal("TERM");
    console.ends();
}

fn composer_title(screen: &vt100::Screen) -> String {
    let (rows, columns) = screen.size();
    let lines: Vec<String> = screen.rows(0, columns).collect();
    lines[usize::from(rows) - 4..].join("\n")
}

#[test]
fn who_looks_elsewhere_is_rung_and_the_title_counts_who_waits() {
    let place = two().with("TERM_PROGRAM", "WezTerm");
    let mut console = Console::with_team(&place, &["ada", "bob"], 140, 40);
    console.wait("the title names the team", |seen| {
        seen.outside().titles.last().is_some_and(|title| title == "quarterdeck · crew")
    });
    console.say("@bob go");
    console.until_asked("touch bob.txt");
    let is_silent =
        console.look(|seen| seen.outside().bells == 0 && seen.outside().words.is_empty());
    assert!(is_silent, "whoever looks is not rung");
    console.press("\x1b");
    console.until_no_ask_is_shown();
    console.say("@ada go");
    console.press("\x1b[O");
    console.wait("a bell, a notice with the question, and the title", |seen| {
        let outside = seen.outside();
        let notice = outside.words.iter().any(|words| {
            words.starts_with("9;ada asks to run a command") && words.contains("touch ada.txt")
        });
        let title = outside.titles.last().is_some_and(|title| title == "(2) quarterdeck · crew");
        outside.bells > 0 && notice && title
    });
    console.signal("TERM");
    console.ends();
}
