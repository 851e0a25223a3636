//! What keys do wherever the person is.

use super::leave::leave;
use super::reach::{self, select};
use super::{Effect, composer, dialogs, find, pane};
use crate::console::keys::{Action, Context};
use crate::console::state::State;
use crate::console::state::agents::{Group, Kind};
use crate::console::state::dialog::Dialog;
use crate::console::state::ui::{Armed, Focus};
use crate::protocol::event::Level;
use crate::protocol::op::{Mode, Op};

/// Esc never interrupts so soon after it closed something.
const AFTER_CLOSING_MS: i64 = 500;
/// A second press counts for so long.
pub const SECOND_PRESS_MS: i64 = 2_000;

#[expect(clippy::wildcard_enum_match_arm, reason = "the rest belongs to other surfaces")]
pub fn act(state: &mut State, action: Action) -> Vec<Effect> {
    if let Some(place) = action.jump() {
        return reach::jump(state, place);
    }
    match action {
        Action::PreviousAgent => reach::step(state, -1),
        Action::NextAgent => reach::step(state, 1),
        Action::NextPanel => reach::next_panel(state),
        Action::NextNeed => reach::next_need(state),
        Action::CycleLayout => {
            state.ui.arrangement = state.ui.arrangement.next();
            state.info(format!("Layout: {}.", state.ui.arrangement.name()));
        }
        Action::ShowTasks => toggle(state, Dialog::Tasks),
        Action::ShowQueue => toggle(state, Dialog::Queue),
        Action::Zoom => toggle(state, Dialog::Zoom),
        Action::ShowHelp => toggle(state, Dialog::Help { scroll: 0 }),
        Action::OpenPalette => dialogs::open_palette(state),
        Action::AnswerOldest => reach::answer_oldest(state),
        Action::CycleMode => return cycle_mode(state),
        Action::ToBackground => return to_background(state),
        Action::PauseAgent => return pause(state),
        Action::ClearOrQuit => return clear_or_quit(state),
        Action::Quit => return leave(state),
        Action::OpenShell => return vec![Effect::Shell],
        Action::Redraw => return vec![Effect::Redraw],
        Action::ToggleMouse => {
            state.ui.mouse = !state.ui.mouse;
            let words = match state.ui.mouse {
                true => "The console has the mouse.",
                false => "The terminal has the mouse: select and copy as usual.",
            };
            state.info(words);
            return vec![Effect::Mouse(state.ui.mouse)];
        }
        Action::Prefix => state.ui.prefix = true,
        Action::Escape => return escape(state),
        Action::PageUp | Action::PageDown => return page(state, action),
        Action::HistorySearch | Action::ExternalEditor | Action::Newline | Action::Send => {
            to_composer(state);
            return composer::act(state, action);
        }
        Action::Search => find::open(state),
        _ => {}
    }
    Vec::new()
}

/// Closes what lies over the screen only for a moment, so that something else can.
pub fn close_passing(state: &mut State) {
    state.layers.retain(|layer| match layer {
        Dialog::Zoom | Dialog::Tasks | Dialog::Queue => true,
        Dialog::Help { .. } | Dialog::Picker(_) | Dialog::Sheet(_) | Dialog::Find(_) => false,
    });
}

fn to_composer(state: &mut State) {
    state.layers.clear();
    state.ui.focus = Focus::Composer;
}

/// Opens a layer, or closes it where it is open already.
fn toggle(state: &mut State, layer: Dialog) {
    let same = |other: &Dialog| std::mem::discriminant(other) == std::mem::discriminant(&layer);
    if state.layers.iter().any(same) {
        state.layers.retain(|other| !same(other));
        state.ui.closed = Some(state.now);
        return;
    }
    close_passing(state);
    state.layers.push(layer);
}

/// Closes the top; then goes back to the composer; then interrupts.
fn escape(state: &mut State) -> Vec<Effect> {
    if let Some(closed) = state.layers.pop() {
        state.ui.closed = Some(state.now);
        return match closed {
            Dialog::Picker(picker) => dialogs::unpicked(state, picker),
            Dialog::Help { .. }
            | Dialog::Sheet(_)
            | Dialog::Zoom
            | Dialog::Tasks
            | Dialog::Queue
            | Dialog::Find(_) => Vec::new(),
        };
    }
    if state.ui.focus != Focus::Composer {
        state.ui.focus = Focus::Composer;
        state.ui.closed = Some(state.now);
        return Vec::new();
    }
    let lately = |at: crate::protocol::time::Stamp| {
        state.now.millis().saturating_sub(at.millis()) < AFTER_CLOSING_MS
    };
    if state.ui.closed.is_some_and(lately) {
        return Vec::new();
    }
    let Some(agent) = state.selected_agent().filter(|agent| agent.is_busy()) else {
        return Vec::new();
    };
    let (id, name) = (agent.id.clone(), agent.name.clone());
    if !state.composer.draft.is_empty() {
        let key = state.keymap.key(Context::Everywhere, Action::Escape);
        state.info(format!("{key} interrupts {name} only while the composer is empty."));
        return Vec::new();
    }
    state.info(format!("Interrupting {name}."));
    vec![Effect::Send(Op::Interrupt { agent: id })]
}

fn clear_or_quit(state: &mut State) -> Vec<Effect> {
    if !state.layers.is_empty() {
        return escape(state);
    }
    state.ui.focus = Focus::Composer;
    if !state.composer.draft.is_empty() {
        let text = state.composer.draft.whole();
        // Cleared by mistake, it is one press of ↑ away.
        state.composer.history.push(&text);
        state.composer.set_text("");
        return Vec::new();
    }
    if is_armed(state, &Armed::Quit) {
        state.ui.armed = None;
        return leave(state);
    }
    state.ui.armed = Some((Armed::Quit, state.now));
    Vec::new()
}

/// Whether the same key was pressed just before.
pub fn is_armed(state: &State, what: &Armed) -> bool {
    let recent = |at: crate::protocol::time::Stamp| {
        state.now.millis().saturating_sub(at.millis()) < SECOND_PRESS_MS
    };
    state.ui.armed.as_ref().is_some_and(|(armed, at)| armed == what && recent(*at))
}

fn page(state: &mut State, action: Action) -> Vec<Effect> {
    match state.top() {
        Some(Dialog::Help { .. } | Dialog::Sheet(_) | Dialog::Picker(_)) => {
            dialogs::act(state, action)
        }
        Some(Dialog::Tasks) => reach::act_on_tasks(state, action),
        Some(Dialog::Zoom | Dialog::Queue | Dialog::Find(_)) | None => pane::act(state, action),
    }
}

/// The modes that a person steps through.
fn modes(kind: Kind) -> &'static [Mode] {
    match kind {
        Kind::Lead => &[Mode::Default, Mode::AcceptEdits, Mode::Plan, Mode::Delegate],
        Kind::Teammate | Kind::Subagent => &[Mode::Default, Mode::AcceptEdits, Mode::Plan],
    }
}

fn cycle_mode(state: &mut State) -> Vec<Effect> {
    // Inert in dialogs: it is too near to Tab.
    if !state.layers.iter().all(|layer| matches!(layer, Dialog::Zoom)) {
        return Vec::new();
    }
    let Some(agent) = state.selected_agent() else { return Vec::new() };
    if state.group(agent) == Group::Ended {
        state.say(Level::Warning, "This agent has ended.");
        return Vec::new();
    }
    let known = modes(agent.kind);
    let at = known.iter().position(|mode| *mode == agent.mode);
    let next = at.map_or(0, |at| (at + 1) % known.len());
    vec![Effect::Send(Op::Mode { agent: agent.id.clone(), mode: known[next] })]
}

fn to_background(state: &mut State) -> Vec<Effect> {
    let can_go = |tool: &str| matches!(tool, "Agent" | "Task" | "Bash");
    let running = state.selected_agent().and_then(|agent| {
        agent.running.iter().rev().find(|call| can_go(&call.tool)).map(|call| call.use_id.clone())
    });
    match running {
        Some(use_id) => vec![Effect::Send(Op::Background { use_id })],
        None => {
            state.info("This agent is not waiting for a subagent or command.");
            Vec::new()
        }
    }
}

fn pause(state: &mut State) -> Vec<Effect> {
    let Some(agent) = state.selected_agent() else { return Vec::new() };
    let id = agent.id.clone();
    vec![Effect::Send(match agent.evidence.paused {
        true => Op::Unpause { agent: id },
        false => Op::Pause { agent: id },
    })]
}

/// Selects an agent and goes to its transcript.
pub fn visit(state: &mut State, agent: &crate::protocol::ids::AgentId) {
    close_passing(state);
    select(state, agent);
}
