//! The mouse: the wheel scrolls what is under it, a click focuses and presses nothing, a double
//! click zooms, a drag selects within one pane and copies.

use super::{Effect, Mouse, MouseKind, asks, reach};
use crate::console::keys::Action;
use crate::console::state::State;
use crate::console::state::dialog::Dialog;
use crate::console::state::ui::{Drag, Focus};
use crate::console::update::pane;
use crate::console::view::layout::{self, Place};
use crate::protocol::ids::AgentId;

/// Lines that a step of the wheel goes.
const WHEEL: u16 = 3;
/// Two clicks within this are a double click.
const DOUBLE_MS: i64 = 400;

pub fn on_mouse(state: &mut State, mouse: Mouse) -> Vec<Effect> {
    if state.asks.dialog.is_some() {
        return on_ask(state, mouse);
    }
    let place = layout::place_at(state, mouse.column, mouse.row);
    match mouse.kind {
        MouseKind::WheelUp => wheel(state, place, Action::Up),
        MouseKind::WheelDown => wheel(state, place, Action::Down),
        MouseKind::Down => press(state, place, mouse),
        MouseKind::Drag => {
            if let Some(drag) = &mut state.ui.dragged {
                drag.to = (mouse.column, mouse.row);
            }
        }
        MouseKind::Up => return release(state),
    }
    Vec::new()
}

/// An ask only scrolls: no click may answer.
fn on_ask(state: &mut State, mouse: Mouse) -> Vec<Effect> {
    let action = match mouse.kind {
        MouseKind::WheelUp => Action::HalfPageUp,
        MouseKind::WheelDown => Action::HalfPageDown,
        MouseKind::Down | MouseKind::Drag | MouseKind::Up => return Vec::new(),
    };
    asks::on_key(state, asks::AskInput { action: Some(action), typed: None })
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the wheel goes up or down")]
fn wheel(state: &mut State, place: Option<Place>, action: Action) {
    if !matches!(state.top(), Some(Dialog::Zoom) | None) {
        super::dialogs::act(state, action);
        if let Some(Dialog::Tasks) = state.top() {
            super::tasks::on_action(state, action);
        }
        return;
    }
    let id = match place {
        Some(Place::Pane(id)) => id,
        Some(Place::Tasks) => {
            super::tasks::on_action(state, action);
            return;
        }
        Some(Place::Queue) => {
            reach::act_on_queue(state, action);
            return;
        }
        Some(Place::Composer | Place::Roster(_)) | None => state.selected.clone(),
    };
    if let Some(agent) = state.agents.get_mut(&id) {
        match action {
            Action::Up => agent.scroll.up(WHEEL, &agent.transcript),
            _ => agent.scroll.down(WHEEL, &agent.transcript),
        }
    }
}

fn press(state: &mut State, place: Option<Place>, mouse: Mouse) {
    let (column, row) = (mouse.column, mouse.row);
    let is_double = state.ui.clicked.is_some_and(|(x, y, at)| {
        (x, y) == (column, row) && state.now.millis() - at.millis() <= DOUBLE_MS
    });
    state.ui.clicked = (!is_double).then_some((column, row, state.now));
    if !matches!(state.top(), Some(Dialog::Zoom) | None) {
        return;
    }
    match place {
        Some(Place::Pane(id)) => press_pane(state, &id, (column, row), is_double),
        Some(Place::Roster(id)) => reach::select(state, &id),
        Some(Place::Tasks) if state.layers.is_empty() => {
            panel_or(state, Focus::Tasks, Dialog::Tasks)
        }
        Some(Place::Queue) if state.layers.is_empty() => {
            panel_or(state, Focus::Queue, Dialog::Queue)
        }
        Some(Place::Composer) if state.layers.is_empty() => state.ui.focus = Focus::Composer,
        Some(Place::Tasks | Place::Queue | Place::Composer) | None => {}
    }
    let on_tasks = layout::place_at(state, column, row) == Some(Place::Tasks);
    if is_double && on_tasks && state.layers.is_empty() {
        state.layers.push(Dialog::Tasks);
    }
}

/// Goes to a panel; where only a line stands for it, the whole of it opens.
fn panel_or(state: &mut State, panel: Focus, whole: Dialog) {
    match reach::panels(state).contains(&panel) {
        true => state.ui.focus = panel,
        false => state.layers.push(whole),
    }
}

fn press_pane(state: &mut State, id: &AgentId, at: (u16, u16), is_double: bool) {
    reach::select(state, id);
    if state.layers.is_empty() {
        state.ui.focus = Focus::Pane;
    }
    if is_double {
        match state.is_zoomed() {
            true => {
                pane::act(state, Action::OpenCell);
            }
            false => state.layers.push(Dialog::Zoom),
        }
        return;
    }
    state.ui.dragged = Some(Drag { pane: id.clone(), from: at, to: at });
}

/// A drag over some cells copies what they show; the view knows what that is.
fn release(state: &mut State) -> Vec<Effect> {
    match state.ui.dragged.take() {
        Some(drag) if drag.from != drag.to => vec![Effect::CopyArea(drag)],
        Some(_) | None => Vec::new(),
    }
}
