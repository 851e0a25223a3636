//! Where files are and what the user configured.

pub mod budgets;
pub mod check;
pub mod grants;
pub mod layers;
pub mod mcp;
pub mod models;
pub mod paths;
pub mod permissions;
