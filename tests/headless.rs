//! `quarterdeck run` as scripts use it, answers from another terminal, and the session beneath.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]
#![allow(clippy::wildcard_enum_match_arm)] // a test waits for one fact among many

mod headless {
    mod asks;
    mod ending;
    mod flags;
    mod live;
    mod ops;
    mod recipes;
    mod resume;
    mod settings;
    mod signals;
    mod stream;

    use crate::support::rig;
}
mod support;
