//! The only place that changes the state: a message goes in, wishes come out.
//!
//! No clock, no file, no channel, no await: what was in the state and in the message decides.

pub mod asks;
mod commands;
mod complete;
mod composer;
mod dialogs;
mod effect;
mod events;
mod everywhere;
mod find;
mod keys;
mod leave;
mod looks;
mod mouse;
mod msg;
mod pane;
mod reach;
mod story;
pub mod tasks;
mod time;

pub use effect::{Effect, Look, Parting, Show};
pub use msg::{Editing, Mouse, MouseKind, Msg, Seen};
pub use time::wake;

use super::state::State;

/// The only function that changes `State`.
pub fn update(state: &mut State, msg: Msg) -> Vec<Effect> {
    let mut effects = match msg {
        Msg::Event(event) => events::on_event(state, &event),
        Msg::Key(chord) => keys::on_key(state, chord),
        Msg::Paste(text) => keys::on_paste(state, &text),
        Msg::Mouse(mouse) => mouse::on_mouse(state, mouse),
        Msg::Resized { columns, rows } => {
            state.size = super::state::ui::Size { columns, rows };
            Vec::new()
        }
        Msg::Tick(now) => time::on_tick(state, now),
        Msg::Focus(is_watched) => {
            state.ui.is_watched = is_watched;
            Vec::new()
        }
        Msg::TakenBack { columns, rows } => {
            state.size = super::state::ui::Size { columns, rows };
            state.ui.is_watched = true;
            // Whoever had it may have given the window another title.
            state.ui.title.clear();
            Vec::new()
        }
        Msg::Refused { op, why } => events::on_refused(state, *op, &why),
        Msg::Edited { purpose, text } => events::on_edited(state, &purpose, text),
        Msg::FilesListed(files) => {
            state.files = Some(files);
            complete::refresh(state)
        }
        Msg::HistoryLoaded(said) => {
            state.composer.history.load(said);
            Vec::new()
        }
        Msg::Looked(seen) => looks::on_looked(state, *seen),
        Msg::Told { level, text } => {
            state.say(level, text);
            Vec::new()
        }
        Msg::SessionOver => {
            state.about.is_over = true;
            Vec::new()
        }
        Msg::EndRequested => vec![Effect::Quit(Parting::Suspend)],
    };
    effects.extend(time::retitle(state));
    effects
}
