//! The protocols of a team through the real program: plans and who approves them, permissions by
//! mail, budgets, and what `team status` makes of the signs of life.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]
#![allow(clippy::wildcard_enum_match_arm)] // a test waits for one fact among many

mod protocols {
    mod budgets;
    mod control;
    mod permits;
    mod plans;
    mod stage;
    mod status;
}
mod support;
