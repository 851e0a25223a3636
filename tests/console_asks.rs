//! The queue of asks and its dialog: every key of the table, every guard with its exact times,
//! the order, batches, hostile text, and what is drawn.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

mod console_asks {
    mod bursts;
    mod guards;
    mod hostile;
    mod keys;
    mod pictures;
    mod queue;
    mod story;
    mod words;
}
