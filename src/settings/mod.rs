//! Where files are and what the user configured.

pub mod paths;
