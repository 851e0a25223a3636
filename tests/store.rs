//! Durable state on real files: formats, locks, crashes and contention.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

mod store {
    mod again;
    mod asks;
    mod bad_files;
    mod compat;
    mod contention;
    mod crash;
    mod hostile;
    mod journal;
    mod lines;
    mod locks;
    mod node;
    mod plans;
    mod tasks;
    mod transcript;
    mod watch;
}
mod support;
