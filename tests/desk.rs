//! The ask desk with its files, other processes, and what is granted.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

mod desk {
    mod bench;
    mod cli;
    mod crash;
    mod given;
    mod queue;
    mod race;
    mod settings;
}
mod support;
