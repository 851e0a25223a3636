//! Keys in a transcript: the selected agent's pane, or the same over the whole screen.

use super::everywhere::is_armed;
use super::{Editing, Effect, find};
use crate::console::keys::{Action, Context};
use crate::console::state::State;
use crate::console::state::agents::{Agent, Kind};
use crate::console::state::cell::Cell;
use crate::console::state::dialog::Dialog;
use crate::console::state::ui::{Armed, Focus};
use crate::protocol::op::Op;

#[expect(clippy::wildcard_enum_match_arm, reason = "the rest means nothing in a transcript")]
pub fn act(state: &mut State, action: Action) -> Vec<Effect> {
    let is_zoomed = state.is_zoomed();
    match action {
        Action::OpenCell if !is_zoomed => state.layers.push(Dialog::Zoom),
        Action::Search => find::open(state),
        Action::CopyCell => return copy(state),
        Action::StopAgent => return stop(state),
        Action::MessageAgent => {
            state.layers.clear();
            state.ui.focus = Focus::Composer;
        }
        Action::ViewInEditor => return view(state),
        _ => {
            let selected = state.selected.clone();
            if let Some(agent) = state.agents.get_mut(&selected) {
                scroll(agent, action);
            }
        }
    }
    Vec::new()
}

/// Moves in a transcript.
#[expect(clippy::wildcard_enum_match_arm, reason = "the rest moves nothing")]
pub fn scroll(agent: &mut Agent, action: Action) {
    let Agent { transcript, scroll, .. } = agent;
    let half = (scroll.page() / 2).max(1);
    match action {
        Action::Up => scroll.select_previous(transcript),
        Action::Down => scroll.select_next(transcript),
        Action::PageUp => scroll.page_up(transcript),
        Action::PageDown => scroll.page_down(transcript),
        Action::HalfPageUp => scroll.up(half, transcript),
        Action::HalfPageDown => scroll.down(half, transcript),
        Action::Top => scroll.top(transcript),
        Action::Bottom => scroll.bottom(),
        Action::SearchNext => {
            scroll.find_next(transcript);
        }
        Action::SearchPrevious => {
            scroll.find_previous(transcript);
        }
        Action::OpenCell => {
            if let Some(id) = scroll.chosen(transcript).map(|cell| cell.id) {
                transcript.toggle(id);
            }
        }
        _ => {}
    }
}

fn copy(state: &mut State) -> Vec<Effect> {
    let chosen = state.selected_agent().and_then(|agent| {
        let cell = match agent.scroll.selected {
            Some(id) => agent.transcript.cell(id),
            // The last that says something: the line under a turn does not.
            None => agent.transcript.cells().rev().find(|cell| cell.is_worth_copying()),
        };
        cell.map(Cell::text)
    });
    match chosen.filter(|text| !text.is_empty()) {
        Some(text) => vec![Effect::Copy(text)],
        None => {
            state.info("There is nothing to copy yet.");
            Vec::new()
        }
    }
}

/// The second press within two seconds stops the agent.
fn stop(state: &mut State) -> Vec<Effect> {
    let Some(agent) = state.selected_agent() else { return Vec::new() };
    let (id, name, kind) = (agent.id.clone(), agent.name.clone(), agent.kind);
    let has_ended = agent.evidence.ended;
    if has_ended {
        state.info(format!("{name} has ended already."));
        return Vec::new();
    }
    if kind == Kind::Lead {
        let key = state.keymap.key(Context::Everywhere, Action::Escape);
        state.info(format!("The lead ends with the session; {key} in the composer interrupts it."));
        return Vec::new();
    }
    if is_armed(state, &Armed::Stop(id.clone())) {
        state.ui.armed = None;
        state.info(format!("Stopping {name}."));
        return vec![Effect::Send(Op::Stop { agent: id })];
    }
    state.ui.armed = Some((Armed::Stop(id), state.now));
    Vec::new()
}

fn view(state: &mut State) -> Vec<Effect> {
    let Some(agent) = state.selected_agent() else { return Vec::new() };
    let cells = agent.transcript.cells().map(Cell::text);
    let text = cells.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n");
    vec![Effect::OpenEditor { purpose: Editing::Reading, text, ending: "md" }]
}
