//! Twenty teammates tell five thousand things a second: the real loop shows them in order and
//! whole, keys come first, and memory does not grow with what was told.

use super::console::Console;
use super::place::Place;
use crate::support::{flood, soak};

/// Not a test: the console on a flood, for the tests below, which run it in a terminal.
#[test]
#[ignore = "run by the tests of this file, in a process of its own"]
fn the_console_on_a_flood() {
    flood::run_if_told();
}

/// Zooms on a teammate; the flood begins when something is said.
fn open(how_long: &str) -> (Place, Console) {
    let place = Place::new("- say: \"nothing\"");
    let home = place.path("home").display().to_string();
    let place = place.with(flood::HOW_LONG, how_long).with(flood::HOME, home);
    let own = std::env::current_exe().unwrap().display().to_string();
    let args = ["--ignored", "--exact", "--nocapture", "terminal::flood::the_console_on_a_flood"];
    let mut console = Console::start_program(&own, &place, &args, 140, 40);
    console.until_text("to lead");
    console.until_text("t19");
    console.say("begin");
    (place, console)
}

/// The numbers of the lines of a teammate in their order on the screen; a torn line is an error.
fn numbers(screen: &str, who: &str) -> Vec<u64> {
    let whole = |line: &str| -> Option<u64> {
        let (number, end) = line.split(&format!("{who} says ")).nth(1)?.split_at_checked(6)?;
        end.starts_with(" and ends here.").then(|| number.parse().ok())?
    };
    let lines = screen.lines().filter(|line| line.contains(&format!("{who} says")));
    lines.map(|line| whole(line).unwrap_or_else(|| panic!("a torn line: {line}"))).collect()
}

#[test]
fn a_flood_is_shown_in_order_and_whole_and_keys_come_first() {
    let seconds = if soak() { 10 } else { 2 };
    let (_place, mut console) = open(&seconds.to_string());
    console.press("\x1b5\x0f");
    console.until("t03 over the whole screen, speaking", |screen| {
        let text = screen.contents();
        text.contains("t03 says") && !text.contains("to ▌")
    });
    console.start_film();
    let most = seconds * flood::EVENTS_A_SECOND;
    let last = flood::line(3, flood::last_line(most));
    console.until("the last line", |screen| screen.contents().contains(&last));
    let film = console.end_film();
    assert!(film.len() > 10, "only {} frames", film.len());
    let mut before = 0;
    for screen in &film {
        let numbers = numbers(screen, "t03");
        assert!(numbers.is_sorted(), "out of order: {numbers:?}\n{screen}");
        assert!(numbers.windows(2).all(|two| two[1] == two[0] + 1), "lost: {numbers:?}\n{screen}");
        let newest = numbers.last().copied().unwrap_or(before);
        assert!(newest >= before, "went back from {before} to {newest}\n{screen}");
        before = newest;
    }
    // Everybody's last words are there.
    for (teammate, steps) in [(0, 18), (7, 7), (19, 12)] {
        console.press("\x0f");
        console.press(&"\x1b[1;2B".repeat(steps));
        console.press("\x0f");
        let last = flood::line(teammate, flood::last_line(most));
        console.until(&last, |screen| screen.contents().contains(&last));
        assert!(numbers(&console.text(), &flood::name(teammate)).is_sorted());
    }
    console.signal("TERM");
    console.ends();
}

#[test]
fn no_flood_keeps_a_key_waiting_or_fills_the_memory() {
    let (_place, mut console) = open("endless");
    console.until_text("says");
    let typed = if soak() { 200 } else { 25 };
    let mut resident = Vec::new();
    for letter in (0..typed).map(|number| char::from(b'a' + number % 26)) {
        console.press(&letter.to_string());
        console.until(&format!("{letter} in the composer"), |screen| {
            screen.contents().lines().rev().take(4).any(|line| line.contains(letter))
        });
        console.press("\x7f");
        console.until(&format!("{letter} is gone"), |screen| {
            let lines: Vec<_> = screen.contents().lines().map(str::to_owned).collect();
            lines
                .iter()
                .rev()
                .skip(1)
                .take(3)
                .any(|line| line.trim_end_matches(['┃', ' ']).ends_with('❯'))
        });
        resident.extend(console.resident());
    }
    if let (Some(first), Some(last)) = (resident.get(resident.len() / 2), resident.last()) {
        assert!(*last < first + 64 * 1024, "memory grows: {resident:?} KiB");
        assert!(*last < 400 * 1024, "{last} KiB");
    }
    console.quits();
}
