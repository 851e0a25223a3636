//! Everything that becomes lines: strings in, styled lines out. Pure, but for the worker that
//! colours code.
//!
//! What comes from outside goes through [`sanitize`] first; nothing else here lets a control
//! character into a line.

pub mod ansi;
pub mod diff;
mod escape;
pub mod highlight;
pub mod markdown;
pub mod sanitize;
mod syntax;
mod table;
pub mod width;
pub mod wrap;
