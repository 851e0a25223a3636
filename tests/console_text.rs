//! Text that becomes lines, and transcripts that are made of it.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)]

mod console_text {
    mod cells;
    mod diff;
    mod highlight;
    mod hostile;
    mod lines;
    mod markdown;
    mod scroll;
    mod support;
    mod theme;
}
