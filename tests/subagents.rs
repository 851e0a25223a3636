//! Agents that agents start: how they are chosen, what they get, how they end, and how they are
//! reached again. Through the real program on playbooks, and through the library where a moment
//! must be forced.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)]

mod subagents {
    mod aside;
    mod background;
    mod context;
    mod forks;
    mod messages;
    mod routing;
    mod scene;
    mod soak;
    mod stage;
    mod synchronous;
    mod worktrees;
}
mod support;
