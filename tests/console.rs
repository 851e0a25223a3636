//! The console in process: messages in, effects and pictures out.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)]

mod support;
mod console {
    mod commands;
    mod composer;
    mod drawing;
    mod escape;
    mod everything;
    mod files;
    mod hostile;
    mod keys;
    mod layouts;
    mod leaving;
    mod looks;
    mod lookups;
    mod mouse;
    mod panes;
    mod replay;
    mod search;
    pub mod story;
    mod surfaces;
    mod team;
}
