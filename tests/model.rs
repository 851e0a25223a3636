//! Language models over HTTP: what they send, what we understand, and what goes wrong.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

mod model {
    mod anthropic;
    mod bodies;
    mod dialect;
    mod faults;
    mod hostile;
    mod openai;
    mod retry;
    mod secrets;
}
mod support;
