//! The tool of this name.
