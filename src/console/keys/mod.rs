//! Keys as data: presses, what they mean where, and the one table that says so.

mod action;
mod chord;
pub mod keymap;
pub mod table;

pub use action::{Action, Context};
pub use chord::{BadChord, Chord, Key};
pub use keymap::Keymap;
pub use table::Row;
