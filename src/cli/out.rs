//! What commands print: text for people, one JSON value for scripts.

use std::io::{self, Write};
use std::process::ExitCode;

use serde::Serialize;

use super::failure::Failure;
use super::printable::{one_line, printable};
use crate::protocol::json::Json;
use crate::store::{Problem, Problems};

#[derive(Debug)]
pub struct Out {
    json: bool,
    /// Whoever read our output went away. That ends nothing but the printing.
    gone: bool,
    /// Remarks that are kept for a screen that is not there yet.
    held: Option<Vec<String>>,
}

impl Out {
    pub fn new(json: bool) -> Self {
        Self { json, gone: false, held: None }
    }

    /// Failures are JSON too from here on.
    pub fn use_json(&mut self) {
        self.json = true;
    }

    pub fn is_json(&self) -> bool {
        self.json
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

    /// One JSON value on a line, whatever was asked for.
    pub fn value<T: Serialize>(&mut self, value: &T) -> Result<(), Failure> {
        self.line(&crate::protocol::json::to_compact(value))
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
        if text.is_empty() { Ok(()) } else { self.print(&printable(text)) }
    }

    /// JSON is printed as it is but for control characters that a terminal would obey.
    fn line(&mut self, json: &str) -> Result<(), Failure> {
        let obeyed = |c: char| matches!(c, '\u{7f}'..='\u{9f}');
        if !json.contains(obeyed) {
            return self.print(json);
        }
        let escaped = |c: char| match obeyed(c) {
            true => format!("\\u{:04x}", u32::from(c)),
            false => c.to_string(),
        };
        self.print(&json.chars().map(escaped).collect::<String>())
    }

    fn print(&mut self, line: &str) -> Result<(), Failure> {
        if self.gone {
            return Ok(());
        }
        let mut stdout = io::stdout().lock();
        match writeln!(stdout, "{line}").and_then(|()| stdout.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.gone = true;
                Ok(())
            }
            outcome => Ok(outcome?),
        }
    }

    /// Whether nobody reads any more.
    pub fn is_gone(&self) -> bool {
        self.gone
    }

    /// Something that was passed over; on stderr, so that scripts can go on.
    pub fn problems(&mut self, problems: &[Problem]) {
        for problem in problems {
            let path = one_line(&problem.path.to_string_lossy());
            self.complain(&format!("warning: {path}: {}", one_line(&problem.what)));
        }
    }

    /// As `problems`, where there may be very many.
    pub fn many_problems(&mut self, problems: &Problems) {
        self.problems(&problems.first);
        let more = problems.total - problems.first.len() as u64;
        if more > 0 {
            self.complain(&format!("warning: and {more} more"));
        }
    }

    /// A line on stderr as it is, for those who jump to `FILE:LINE:COLUMN`.
    pub fn remark(&mut self, line: &str) {
        if let Some(held) = &mut self.held {
            held.push(line.to_owned());
            return;
        }
        // There is nobody left to tell when stderr is closed.
        let _ = writeln!(io::stderr(), "{}", printable(line));
    }

    /// Remarks are kept from here on, until they are taken.
    pub fn hold_remarks(&mut self) {
        self.held = Some(Vec::new());
    }

    pub fn take_remarks(&mut self) -> Vec<String> {
        self.held.take().unwrap_or_default()
    }

    fn complain(&self, line: &str) {
        // There is nobody left to tell when stderr is closed.
        let _ = writeln!(io::stderr(), "quarterdeck: {}", one_line(line));
    }

    pub fn finish(mut self, outcome: Result<(), Failure>) -> ExitCode {
        let Err(failure) = outcome else { return ExitCode::SUCCESS };
        if !failure.message().is_empty() {
            self.complain(failure.message());
            if self.json && !matches!(failure, Failure::Printed(_)) {
                // Said on stderr already.
                let _ = self.line(&failure.to_json().to_string());
            }
        }
        ExitCode::from(failure.exit_code())
    }
}

/// Columns as wide as their widest cell, two blanks apart.
pub fn table<const N: usize>(rows: &[[String; N]]) -> String {
    use unicode_width::UnicodeWidthStr as _;
    let rows: Vec<[String; N]> =
        rows.iter().map(|row| row.each_ref().map(|cell| one_line(cell))).collect();
    let mut widths = [0; N];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.width().max(*width);
        }
    }
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths);
        let padded =
            cells.map(|(cell, width)| format!("{cell}{}", " ".repeat(width - cell.width())));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}
