//! The turn loop, context, transcripts, resuming, and what happens when things break.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

mod support;
mod turns {
    mod case;
    mod compaction;
    mod headless;
    mod interrupts;
    mod kills;
    mod prompt;
    mod rebuilding;
    mod resuming;
    mod rig;
    mod rounds;
    mod valid;
}
