//! Definitions of agents, as people write them.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

mod agents {
    mod builtin;
    mod catalog;
    mod command;
    mod fields;
    mod hostile;
    mod shelf;
    mod watch;
}
mod support;
