//! Playbooks: their mistakes, the rehearsal model that plays them, and the server.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)]

mod playbook {
    mod check;
    mod client;
    mod faults;
    mod play;
    mod scene;
    mod server;
    mod wire;
}
mod support;
