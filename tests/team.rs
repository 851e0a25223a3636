//! Teams: a lead and its teammates, their mail, tasks and ends, in this process and in the real
//! program.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]
#![allow(clippy::wildcard_enum_match_arm)] // a test waits for one fact among many

mod support;
mod team {
    mod again;
    mod failures;
    mod kinds;
    mod leaving;
    mod letters;
    mod mixed;
    mod order;
    mod restarts;
    mod rig;
    mod ring;
    mod roles;
    mod shutdown;
    mod stage;
    mod user;
    mod verify;
    mod window;
}
