//! The tools, used as an agent uses them: through the one call that decides, asks and runs.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

mod support;

mod tools {
    mod calls;
    mod decided;
    mod files_change;
    mod files_crash;
    mod files_properties;
    mod files_races;
    mod files_read;
    mod inside;
    mod questions;
    mod registry;
    mod rig;
    mod search;
    mod shell;
    mod shell_end;
    mod shell_jobs;
    mod shell_outputs;
    mod shell_snapshot;
    mod tasks;
    mod web;
}
