//! The `quarterdeck` program.

fn main() {}
