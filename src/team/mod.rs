//! Many agents: a lead, teammates that work beside it, their mail and their shared tasks.
//!
//! [`Team`](crew::Team) is the crew of a session that may have a team. Everything an agent can do
//! without one it leaves to [`Solo`](crate::agent::solo::Solo), which it wraps.

pub mod activity;
pub mod claim;
pub mod crew;
mod heed;
pub mod idle;
pub mod member;
pub mod permits;
pub mod plan;
pub mod policy;
pub mod post;
pub mod resume;
pub mod roll;
pub mod send;
pub mod shutdown;
pub mod spawn;
pub mod tools;
pub mod words;
