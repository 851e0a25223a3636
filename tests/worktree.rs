//! Worktrees, with real repositories and the real git.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

mod support;
mod worktree {
    mod command;
    mod create;
    mod end;
    mod hostile;
    mod repo;
    mod review;
    mod slug;
}
