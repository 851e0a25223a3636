//! From a press to what it means: the innermost surface that knows a key has it; what nobody
//! knows is text for whoever takes text.

use super::asks::{self, AskInput};
use super::{Effect, complete, composer, dialogs, everywhere, pane, reach, tasks};
use crate::console::keys::{Action, Chord, Context};
use crate::console::state::State;
use crate::console::state::dialog::Dialog;
use crate::console::state::ui::Focus;

pub fn on_key(state: &mut State, chord: Chord) -> Vec<Effect> {
    let effects = match (state.ui.prefix, state.asks.contexts()) {
        (true, _) => after_prefix(state, chord),
        (false, Some(contexts)) => to_ask(state, contexts, chord),
        (false, None) if state.tasks.dialog.is_some() => to_task_dialog(state, chord),
        (false, None) => to_surface(state, chord),
    };
    // After what it did: a press that closes something is the one before the next.
    state.ui.last_key = Some(state.now);
    effects
}

/// An ask has all keys but those that touch nothing but the screen.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "whatever else is meant outside means nothing here"
)]
fn to_ask(state: &mut State, contexts: &[Context], chord: Chord) -> Vec<Effect> {
    let stack: Vec<Context> = contexts.iter().copied().chain([Context::Everywhere]).collect();
    let action = match state.keymap.resolve(&stack, chord) {
        Some((Context::Everywhere, action)) => match action {
            Action::Redraw
            | Action::OpenShell
            | Action::ToggleMouse
            // Whom one looks at meanwhile has nothing to do with the answer.
            | Action::NextAgent
            | Action::PreviousAgent => return everywhere::act(state, action),
            // Help covers the request, which is put off and never answered by that.
            Action::ShowHelp if contexts.contains(&Context::Ask) => {
                asks::on_key(state, AskInput { action: Some(Action::Later), typed: None });
                return everywhere::act(state, action);
            }
            Action::PageUp | Action::PageDown => Some(action),
            Action::Escape | Action::ClearOrQuit => Some(Action::Later),
            _ => return Vec::new(),
        },
        Some((_, action)) => Some(action),
        None => None,
    };
    asks::on_key(state, AskInput { action, typed: chord.typed() })
}

/// A dialog about a task has all keys but those that touch nothing but the screen.
fn to_task_dialog(state: &mut State, chord: Chord) -> Vec<Effect> {
    let inner = state.tasks.dialog.as_ref().map_or(&[][..], |dialog| dialog.contexts());
    let stack: Vec<Context> = inner.iter().copied().chain([Context::Everywhere]).collect();
    match state.keymap.resolve(&stack, chord) {
        Some((Context::Everywhere, Action::Redraw | Action::OpenShell | Action::ToggleMouse)) => {
            to_surface(state, chord)
        }
        Some((_, Action::ClearOrQuit)) => tasks::on_dialog(state, Action::Escape),
        Some((_, action)) => {
            if action == Action::Escape {
                state.ui.closed = Some(state.now);
            }
            tasks::on_dialog(state, action)
        }
        None => chord.typed().map_or_else(Vec::new, |typed| tasks::on_typed(state, typed)),
    }
}

fn after_prefix(state: &mut State, chord: Chord) -> Vec<Effect> {
    state.ui.prefix = false;
    match state.keymap.resolve(&[Context::Prefix], chord) {
        Some((_, Action::Later)) => Vec::new(),
        Some((_, action)) => everywhere::act(state, action),
        None => {
            let prefix = state.keymap.key(Context::Everywhere, Action::Prefix);
            state.info(format!("{prefix} {} is not bound to anything.", chord.shown()));
            Vec::new()
        }
    }
}

fn to_surface(state: &mut State, chord: Chord) -> Vec<Effect> {
    match state.keymap.resolve(&state.contexts(), chord) {
        Some((context, action)) => act(state, context, action),
        None => chord.typed().map_or_else(Vec::new, |typed| type_char(state, typed)),
    }
}

fn act(state: &mut State, context: Context, action: Action) -> Vec<Effect> {
    match context {
        Context::Everywhere | Context::Prefix => everywhere::act(state, action),
        Context::Composer => composer::act(state, action),
        Context::Completion => complete::act(state, action),
        Context::History => composer::act_on_search(state, action),
        Context::Pane => pane::act(state, action),
        Context::Queue => reach::act_on_queue(state, action),
        Context::Tasks => reach::act_on_tasks(state, action),
        Context::List | Context::Find | Context::Sheet => dialogs::act(state, action),
        Context::Replay | Context::Ask | Context::AskWords | Context::AskScope => Vec::new(),
    }
}

/// A letter that means nothing where it was pressed.
fn type_char(state: &mut State, typed: char) -> Vec<Effect> {
    if state.top().is_some() {
        return dialogs::type_char(state, typed);
    }
    if let Some(search) = &mut state.composer.search {
        search.wanted.push(typed);
        search.at = 0;
        return Vec::new();
    }
    if typed == '?' && state.ui.focus == Focus::Composer && state.composer.draft.is_empty() {
        return everywhere::act(state, Action::ShowHelp);
    }
    state.ui.focus = Focus::Composer;
    state.ui.last_typed = Some(state.now);
    state.composer.draft.editor.insert_char(typed);
    state.composer.history.leave();
    complete::refresh(state)
}

pub fn on_paste(state: &mut State, text: &str) -> Vec<Effect> {
    state.ui.last_key = Some(state.now);
    state.ui.prefix = false;
    if state.asks.dialog.is_some() {
        asks::on_paste(state, text);
        return Vec::new();
    }
    if state.tasks.dialog.is_some() {
        return tasks::on_paste(state, text);
    }
    match state.layers.last_mut() {
        Some(Dialog::Picker(picker)) if picker.narrows => {
            let filter = format!("{}{}", picker.filter, first_line(text));
            picker.retype(filter);
        }
        Some(Dialog::Find(editor)) => editor.insert_str(&first_line(text)),
        Some(
            Dialog::Picker(_)
            | Dialog::Help { .. }
            | Dialog::Sheet(_)
            | Dialog::Zoom
            | Dialog::Tasks
            | Dialog::Queue,
        ) => {}
        None => match &mut state.composer.search {
            Some(search) => search.wanted.push_str(&first_line(text)),
            None => {
                state.ui.focus = Focus::Composer;
                state.composer.paste(text);
                state.composer.history.leave();
                return complete::refresh(state);
            }
        },
    }
    Vec::new()
}

fn first_line(text: &str) -> String {
    crate::console::text::sanitize::one_line(text.lines().next().unwrap_or_default())
}
