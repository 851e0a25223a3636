//! The shell of a session.

/// What every command of a session begins with, and what runs in the background.
#[derive(Debug, Default)]
pub struct Shell {}
