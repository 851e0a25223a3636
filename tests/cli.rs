//! The commands as people and scripts see them.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

mod cli {
    mod commands;
    mod config;
    mod doctor;
    mod follow;
    mod model;
    mod stories;
}
mod support;
