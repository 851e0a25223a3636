//! The real program in a pseudo-terminal: what a person sees, presses and gets back.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)]

mod support;
mod terminal {
    mod asks;
    mod console;
    mod idle;
    mod life;
    mod models;
    mod outside;
    mod place;
    mod recorded;
    mod rehearsal;
    mod sessions;
    mod team;
}
