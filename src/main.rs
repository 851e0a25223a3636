//! The `quarterdeck` program: everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    quarterdeck::cli::run()
}
