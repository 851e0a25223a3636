//! Pictures of what the console draws, and recordings that draw the same again.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)]

mod pictures {
    mod formats;
    mod gallery;
    mod recordings;
    mod shots;
    mod task_keys;
    mod tasks;
}
