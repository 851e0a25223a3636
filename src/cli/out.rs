//! What commands print: text for people, one JSON value for scripts.

use std::io::{self, Write};
use std::process::ExitCode;

use serde::Serialize;

use super::failure::Failure;
use super::printable::printable;
use crate::protocol::json::Json;
use crate::store::Problem;

#[derive(Debug)]
pub struct Out {
    json: bool,
}

impl Out {
    pub fn new(json: bool) -> Self {
        Self { json }
    }

    /// The answer of a command: `text` for people, `value` for scripts.
    pub fn answer<T: Serialize>(
        &mut self,
        value: &T,
        text: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        if self.json {
            self.line(&crate::protocol::json::to_compact(value))
        } else {
            self.text(&text())
        }
    }

    /// As `answer`, with a document that is printed as it is.
    pub fn document(
        &mut self,
        document: &Json,
        text: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        if self.json { self.line(&document.compact()) } else { self.text(&text()) }
    }

    /// Text for people, free of anything that a terminal would obey. Nothing for nothing.
    pub fn text(&mut self, text: &str) -> Result<(), Failure> {
        if text.is_empty() { Ok(()) } else { self.line(&printable(text)) }
    }

    fn line(&mut self, line: &str) -> Result<(), Failure> {
        let mut stdout = io::stdout().lock();
        writeln!(stdout, "{line}")?;
        stdout.flush()?;
        Ok(())
    }

    /// Something that was passed over; on stderr, so that scripts can go on.
    pub fn problems(&mut self, problems: &[Problem]) {
        for problem in problems {
            self.complain(&format!("warning: {problem}"));
        }
    }

    fn complain(&self, line: &str) {
        // There is nobody left to tell when stderr is closed.
        let _ = writeln!(io::stderr(), "quarterdeck: {}", printable(line));
    }

    pub fn finish(mut self, outcome: Result<(), Failure>) -> ExitCode {
        let Err(failure) = outcome else { return ExitCode::SUCCESS };
        if !failure.message().is_empty() {
            self.complain(failure.message());
            if self.json {
                // Said on stderr already.
                let _ = self.line(&failure.to_json().to_string());
            }
        }
        ExitCode::from(failure.exit_code())
    }
}
