//! What an agent is doing, in a sign and in a few words. The same everywhere on the screen.

use ratatui::style::Style;

use super::theme::Theme;
use crate::console::state::State;
use crate::console::state::agents::Agent;
use crate::console::state::asks::gist;
use crate::console::text::sanitize::one_line;
use crate::protocol::liveness::State as Live;
use crate::protocol::time::Stamp;

/// The sign of a state and how it looks.
pub fn sign(state: &State, agent: &Agent, theme: &Theme) -> (&'static str, Style) {
    let glyphs = &theme.glyphs;
    if agent.evidence.ended && agent.evidence.failed.is_some() {
        return (glyphs.failed, theme.bad);
    }
    match agent.state(state.now) {
        Live::Ended => (glyphs.ended, theme.faint),
        _ if state.asks_of(&agent.id).next().is_some() => (glyphs.needs_you, theme.attention),
        Live::WaitingForYou | Live::Stalled { .. } => (glyphs.needs_you, theme.attention),
        Live::Failed(_) => (glyphs.failed, theme.bad),
        Live::Working | Live::Retrying { .. } => (glyphs.working, theme.good),
        Live::WaitingForPeer(_) => (glyphs.waits, theme.faint),
        Live::Idle => (glyphs.idle, theme.faint),
        Live::Paused => (glyphs.paused, theme.faint),
    }
}

/// What it is doing, in one line.
pub fn words(state: &State, agent: &Agent) -> String {
    if let Some(known) = state.asks_of(&agent.id).next() {
        return match known.asker() == Some(&agent.id) {
            true => gist::wants(&known.ask),
            false => gist::headline(&known.ask),
        };
    }
    match agent.state(state.now) {
        Live::Working => working(state, agent),
        Live::WaitingForYou => "waits for you".to_owned(),
        Live::WaitingForPeer(peer) => format!("waits for {}", one_line(&peer)),
        Live::Idle => "idle".to_owned(),
        Live::Retrying { why, until } => {
            let left = (until.millis() - state.now.millis()).max(0) / 1_000;
            format!("tries again in {left}s: {}", one_line(&why))
        }
        Live::Stalled { seconds } => format!("silent for {}", seconds_in_words(seconds)),
        Live::Failed(why) => format!("failed: {}", one_line(&why)),
        Live::Paused => "paused".to_owned(),
        Live::Ended => match &agent.evidence.failed {
            Some(why) => format!("failed: {}", one_line(why)),
            None => "ended".to_owned(),
        },
    }
}

fn working(state: &State, agent: &Agent) -> String {
    if let Some(call) = agent.running.last() {
        let summary = one_line(&call.summary);
        let what = match summary.starts_with(&call.tool) || summary.is_empty() {
            true if summary.is_empty() => one_line(&call.tool),
            true => summary,
            false => format!("{} {summary}", one_line(&call.tool)),
        };
        let more = agent.running.len() - 1;
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        return format!("{what}{more} {}", since(state.now, call.since));
    }
    match agent.evidence.turn_since {
        Some(began) => format!("working {}", since(state.now, began)),
        None => "working".to_owned(),
    }
}

/// How long ago, in as few letters as can be.
pub fn since(now: Stamp, then: Stamp) -> String {
    gist::age(now, then)
}

fn seconds_in_words(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        _ => format!("{}h", seconds / 3_600),
    }
}

/// A count in as few letters as can be: 950, 61k, 1.2M.
pub fn brief(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..10_000 => format!("{}.{}k", number / 1_000, number % 1_000 / 100),
        10_000..1_000_000 => format!("{}k", number / 1_000),
        _ => format!("{}.{}M", number / 1_000_000, number % 1_000_000 / 100_000),
    }
}
