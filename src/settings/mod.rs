//! Where files are and what the user configured.

pub mod layers;
pub mod models;
pub mod paths;
pub mod permissions;
