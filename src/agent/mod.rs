//! One agent: so far, what kinds of agents there are.

pub mod definition;
