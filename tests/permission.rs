//! Who may do what: the table of decisions, generated commands, and the command line.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

mod permission {
    mod cli;
    mod dice;
    mod generated;
    mod layers;
    mod pieces;
    mod real_shell;
    mod suggestions;
    mod table;
    mod world;
    mod yard;
}
mod support;
