//! Quarterdeck: a terminal console from which one person commands a team of coding agents.
//!
//! The layers, lowest first: `protocol` (plain data), `settings` (where files are), `store`
//! (durable state), `model` (language models), `worktree` (trees of their own for agents),
//! `permission` (who may do what), `tools` (what agents can do), `agent` (one agent at work),
//! `team` (many), `session` (the façade), `console` (the full screen), `cli` (the commands).
//! Imports go downwards only;
//! `tests/house_rules.rs` checks it.

pub mod agent;
pub mod cli;
pub mod console;
pub mod model;
pub mod permission;
pub mod protocol;
pub mod session;
pub mod settings;
pub mod store;
pub mod team;
pub mod tools;
pub mod worktree;
