//! What Grep takes from one file: its matching lines, and the lines around them.

use std::io::{self, Read};

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkContextKind, SinkFinish, SinkMatch};

use super::newest::{Finding, Line};
use crate::model::Stop;

/// The most characters of a line, and how many of them stand before the match.
const LONGEST: usize = 500;
const BEFORE: usize = 150;

/// A file that stops being read when the call is stopped, or grows beyond what was agreed.
pub(super) struct Stoppable<'a, R> {
    pub file: R,
    pub stop: &'a Stop,
    pub left: u64,
}

impl<R: Read> Read for Stoppable<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_cancelled() {
            return Err(io::Error::other("stopped"));
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.file.read(&mut buffer[..most])?;
        self.left -= read as u64;
        Ok(read)
    }
}

/// How much is wanted of each file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Want {
    /// Lines, at most so many.
    Lines(usize),
    Count,
    /// Whether there is a match at all.
    Any,
}

/// Takes what is wanted of one file.
pub(super) struct Gather<'a> {
    pub want: Want,
    pub matcher: &'a RegexMatcher,
    pub stop: &'a Stop,
    pub found: Finding,
    pub is_binary: bool,
    after_gap: bool,
}

impl<'a> Gather<'a> {
    pub(super) fn new(want: Want, matcher: &'a RegexMatcher, stop: &'a Stop) -> Self {
        let found = Finding::default();
        Self { want, matcher, stop, found, is_binary: false, after_gap: false }
    }

    fn add(&mut self, most: usize, number: Option<u64>, is_match: bool, bytes: &[u8]) {
        self.found.entries += 1;
        let after_gap = std::mem::take(&mut self.after_gap);
        if self.found.lines.len() < most {
            let at = if is_match { self.matcher.find(bytes).ok().flatten() } else { None };
            let text = cut(bytes, at.map_or(0, |at| at.start()));
            self.found.lines.push(Line { number, is_match, after_gap, text });
        }
    }

    fn goes_on(&self) -> bool {
        !self.found.matches.is_multiple_of(1024) || !self.stop.is_cancelled()
    }
}

impl Sink for Gather<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        match self.want {
            Want::Any => {
                self.found.matches = 1;
                return Ok(false);
            }
            Want::Count => self.found.matches += found.lines().count(),
            // One match is enough to say that a binary file has some.
            Want::Lines(_) if self.is_binary => {
                self.found.matches += 1;
                return Ok(false);
            }
            Want::Lines(most) => {
                for (line, number) in found.lines().zip(0..) {
                    self.found.matches += 1;
                    self.add(most, found.line_number().map(|first| first + number), true, line);
                }
            }
        }
        Ok(self.goes_on())
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        let is_wanted = match context.kind() {
            SinkContextKind::Before | SinkContextKind::After => !self.is_binary,
            SinkContextKind::Other => false,
        };
        if let (Want::Lines(most), true) = (self.want, is_wanted) {
            self.add(most, context.line_number(), false, context.bytes());
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.after_gap = true;
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.is_binary = true;
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> io::Result<()> {
        self.is_binary |= end.binary_byte_offset().is_some();
        Ok(())
    }
}

/// A line without its end; of a long one, the part around the byte `at`.
fn cut(bytes: &[u8], at: usize) -> String {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    if bytes.len() <= LONGEST {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    // A character has at most four bytes; more of the line need not be looked at.
    let at = at.min(bytes.len());
    let is_inside = |place: usize| bytes.get(place).is_some_and(|byte| byte & 0xC0 == 0x80);
    let border = |place: usize| (place..place + 4).find(|place| !is_inside(*place));
    let from = at.saturating_sub(4 * BEFORE);
    let from = border(from).unwrap_or(from).min(at);
    let to = (at + 4 * LONGEST).min(bytes.len());
    let to = border(to).unwrap_or(to).min(bytes.len());
    let before = String::from_utf8_lossy(&bytes[from..at]).chars().count();
    let near = String::from_utf8_lossy(&bytes[from..to]);
    let skipped = before.saturating_sub(BEFORE);
    let mut chars = near.chars().skip(skipped);
    let text: String = chars.by_ref().take(LONGEST).collect();
    let start = if from > 0 || skipped > 0 { "…" } else { "" };
    let end = if to < bytes.len() || chars.next().is_some() { "…" } else { "" };
    format!("{start}{text}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use grep_searcher::SearcherBuilder;

    /// A file without an end, during which the call is stopped.
    struct Endless<'a> {
        reads: &'a mut usize,
        stop: Stop,
    }

    impl Read for Endless<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            *self.reads += 1;
            if *self.reads == 3 {
                self.stop.cancel();
            }
            buffer.fill(b'\n');
            Ok(buffer.len())
        }
    }

    #[test]
    fn a_long_file_is_left_in_the_middle_when_the_call_is_stopped() {
        let (stop, mut reads) = (Stop::new(), 0);
        let matcher = RegexMatcher::new("never").unwrap();
        let endless = Endless { reads: &mut reads, stop: stop.clone() };
        let file = Stoppable { file: endless, stop: &stop, left: u64::MAX };
        let mut gather = Gather::new(Want::Count, &matcher, &stop);
        let searched = SearcherBuilder::new().build().search_reader(&matcher, file, &mut gather);
        assert!(searched.is_err());
        assert_eq!(reads, 3);
    }

    #[test]
    fn a_file_that_grows_is_read_as_far_as_agreed() {
        let (stop, mut got) = (Stop::new(), Vec::new());
        let mut file = Stoppable { file: io::repeat(b'x'), stop: &stop, left: 1000 };
        file.read_to_end(&mut got).unwrap();
        assert_eq!(got.len(), 1000);
    }

    #[test]
    fn a_long_line_is_cut_around_its_match() {
        let line = format!("{}NEEDLE{}\r\n", "ä".repeat(2000), "→".repeat(2000));
        let shown = cut(line.as_bytes(), 4000);
        let wanted = format!("…{}NEEDLE{}…", "ä".repeat(150), "→".repeat(344));
        assert_eq!(shown, wanted);
        let short = "é".repeat(400);
        assert_eq!(cut(short.as_bytes(), 10), short);
        assert_eq!(cut(b"a\xFFb\r\n", 0), "a\u{FFFD}b");
    }
}
