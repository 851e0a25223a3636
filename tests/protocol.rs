//! The protocol types against files that the reference program wrote.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)]

mod protocol {
    mod fixtures;
}
mod support;
