//! What time alone does, and when the next such moment comes. Where nothing waits for time,
//! nothing wakes: an idle console draws no frame.

use super::everywhere::SECOND_PRESS_MS;
use super::{Effect, asks, reach};
use crate::console::state::State;
use crate::protocol::time::Stamp;

pub fn on_tick(state: &mut State, now: Stamp) -> Vec<Effect> {
    // A clock that was set back does not undo what happened.
    state.now = state.now.max(now);
    if state.ui.armed.as_ref().is_some_and(|(_, at)| after(*at, SECOND_PRESS_MS) <= state.now) {
        state.ui.armed = None;
    }
    let effects = asks::on_tick(state);
    reach::mend_focus(state);
    effects
}

fn after(from: Stamp, wait: i64) -> Stamp {
    Stamp::from_millis(from.millis().saturating_add(wait))
}

/// When time alone will change what is shown.
pub fn wake(state: &State) -> Option<Stamp> {
    let armed = state.ui.armed.as_ref().map(|(_, at)| after(*at, SECOND_PRESS_MS));
    let moments = [
        state.asks.wake(state.now, state.ui.last_key),
        state.notices.wake(state.now),
        armed,
        next_second(state),
    ];
    // Never in the past: what is due is done with the next tick.
    moments.into_iter().flatten().min().map(|at| at.max(after(state.now, 1)))
}

/// Ages and durations are shown in seconds while somebody works or waits.
fn next_second(state: &State) -> Option<Stamp> {
    let is_ageing = state.working() > 0 || !state.asks.is_empty();
    let next = (state.now.millis().div_euclid(1_000) + 1) * 1_000;
    is_ageing.then(|| Stamp::from_millis(next))
}

/// The title of the window, where it changed: how many wait for the person, and whose window it is.
pub fn retitle(state: &mut State) -> Option<Effect> {
    let name = match &state.about.team {
        Some(team) => team.as_str(),
        None => state.about.project.rsplit('/').next().unwrap_or_default(),
    };
    let name = crate::console::text::sanitize::one_line(name);
    let title = match state.asks.len() {
        0 => format!("quarterdeck · {name}"),
        waiting => format!("({waiting}) quarterdeck · {name}"),
    };
    if title == state.ui.title {
        return None;
    }
    state.ui.title.clone_from(&title);
    Some(Effect::Title(title))
}
