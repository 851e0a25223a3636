//! Text from outside, made safe to show: the console's own way, for commands too.

pub use crate::console::text::sanitize::{one_line, printable};
