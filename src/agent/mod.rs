//! One agent: its conversation, its turns, its subagents.

pub mod born;
pub mod brains;
pub mod compact;
pub mod context;
pub mod definition;
pub mod fork;
pub mod life;
mod listen;
pub mod memory;
mod notes;
pub mod office;
pub mod prompt;
pub mod queue;
pub mod rebuild;
pub mod record;
pub mod report;
mod revive;
mod rounds;
mod route;
pub mod solo;
pub mod spawn;
pub mod tools;
pub mod turn;
