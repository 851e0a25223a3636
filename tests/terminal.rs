//! The real program in a pseudo-terminal: what a person sees, presses and gets back.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)]

mod terminal {
    mod console;
    mod life;
    mod recorded;
}
