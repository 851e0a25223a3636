//! A console in which nothing happens draws nothing.

use std::time::Duration;

use super::console::Console;
use super::place::{Place, runs};
use crate::support::soak;

#[test]
fn no_frame_is_drawn_without_a_cause() {
    let place = Place::team(&[("ada", &runs("ada", "true"))]);
    let mut console = Console::with_team(&place, &["ada"], 140, 40);
    console.until_text("all quiet");
    // What still has a cause (a notice that goes away) comes to its end.
    let frames = || console.look(|seen| seen.outside().frames);
    let is_still = |time: Duration| {
        let before = frames();
        !console.wait_for(time, |seen| seen.outside().frames != before)
    };
    let settled = (0..40).any(|_| is_still(Duration::from_millis(1_500)));
    assert!(settled, "frames do not end:\n{}", console.text());
    let time = if soak() { Duration::from_secs(60) } else { Duration::from_secs(3) };
    let before = frames();
    assert!(before > 0, "frames are counted");
    assert!(is_still(time), "{} frames without a cause:\n{}", frames() - before, console.text());
    // It is not dead: a key has one.
    console.type_words("x");
    assert!(console.look(|seen| seen.outside().frames) > before);
    console.signal("TERM");
    console.ends();
}
