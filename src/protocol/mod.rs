//! Plain data and pure functions on it: what is written to files and said between agents.
//!
//! No I/O, no clock, no locks. Everything that other programs may have written is read
//! leniently here; everything that we create is checked here, once.

pub mod ask;
pub mod content;
pub mod event;
pub mod graph;
pub mod ids;
pub mod json;
pub mod liveness;
pub mod message;
pub mod mistake;
pub mod nearest;
pub mod op;
pub mod scope;
pub mod standing;
pub mod task;
pub mod team;
pub mod time;
pub mod yaml;
