//! The console: a full-screen terminal client of a session.

pub mod commands;
pub mod keys;
pub mod picture;
pub mod runtime;
pub mod stage;
pub mod state;
pub mod term;
pub mod text;
pub mod update;
pub mod view;
