//! Server-sent events out of bytes that were cut anywhere.
//!
//! Lines end in LF, CRLF or CR. Only the data of an event counts here: both formats that we read
//! say within the data what it is. No byte is looked at twice, however long an event is and in
//! however many pieces it comes, and no event may grow without bound.

use std::ops::Range;

/// A server that sends a longer event is not a model.
const LONGEST: usize = 16 * 1024 * 1024;

/// Bytes in, events out.
#[derive(Debug, Default)]
pub struct Events {
    buffer: Vec<u8>,
    /// Where the line begins that is not whole yet.
    line: usize,
    /// Up to here there is no end of that line.
    scanned: usize,
    data: Data,
    /// The last line ended in CR: a LF that follows belongs to it.
    after_cr: bool,
    /// Some bytes have come: a byte order mark can come no more.
    begun: bool,
}

/// The data of the event that is being read. One line, the usual case, stays where it is.
#[derive(Debug, Default)]
enum Data {
    #[default]
    None,
    Line(Range<usize>),
    Lines(Vec<u8>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong;

impl Events {
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        self.forget_what_was_read();
        self.buffer.extend_from_slice(bytes);
        match self.buffer.len() + self.data.kept() {
            ..=LONGEST => Ok(()),
            _ => Err(TooLong),
        }
    }

    /// Hands the data of every event that is whole to `each`, until it fails.
    pub fn drain<E>(&mut self, mut each: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        while let Some(line) = self.next_line() {
            if !line.is_empty() {
                self.data.add(&self.buffer, line);
            } else if let Some(data) = self.data.take(&self.buffer).as_slice() {
                each(data)?;
            }
        }
        Ok(())
    }

    /// The same at the end of the stream, where some servers leave out the empty line.
    pub fn finish<E>(&mut self, mut each: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        self.data.take(&self.buffer).as_slice().map_or(Ok(()), &mut each)
    }

    fn next_line(&mut self) -> Option<Range<usize>> {
        if self.after_cr && self.buffer.get(self.line).is_some() {
            self.after_cr = false;
            if self.buffer[self.line] == b'\n' {
                self.line += 1;
            }
        }
        if !self.begun && self.buffer.len() >= 3 {
            self.begun = true;
            if self.buffer.starts_with(b"\xEF\xBB\xBF") {
                self.line = 3;
            }
        }
        let from = self.scanned.max(self.line);
        let found = self.buffer.get(from..)?.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        let Some(found) = found else {
            self.scanned = self.buffer.len();
            return None;
        };
        let line = self.line..from + found;
        self.begun = true;
        self.after_cr = self.buffer[line.end] == b'\r';
        self.line = line.end + 1;
        self.scanned = self.line;
        Some(line)
    }

    /// Makes room: called once for each piece that arrives, not for each event.
    fn forget_what_was_read(&mut self) {
        let needed = match &self.data {
            Data::Line(range) => range.start,
            Data::None | Data::Lines(_) => self.line,
        };
        self.buffer.drain(..needed);
        self.line -= needed;
        self.scanned = self.scanned.saturating_sub(needed);
        if let Data::Line(range) = &mut self.data {
            *range = 0..range.end - needed;
        }
    }
}

impl Data {
    fn kept(&self) -> usize {
        match self {
            Self::None | Self::Line(_) => 0,
            Self::Lines(lines) => lines.len(),
        }
    }

    fn add(&mut self, buffer: &[u8], line: Range<usize>) {
        let text = &buffer[line.clone()];
        let Some(value) = text.strip_prefix(b"data") else { return };
        let value = match value {
            [] => value,
            [b':', b' ', value @ ..] | [b':', value @ ..] => value,
            _ => return, // a field whose name only begins so
        };
        let value = line.end - value.len()..line.end;
        *self = match std::mem::take(self) {
            Self::None => Self::Line(value),
            Self::Line(first) => Self::Lines([&buffer[first], &buffer[value]].join(&b'\n')),
            Self::Lines(mut lines) => {
                lines.push(b'\n');
                lines.extend_from_slice(&buffer[value]);
                Self::Lines(lines)
            }
        };
    }

    fn take<'a>(&mut self, buffer: &'a [u8]) -> Taken<'a> {
        match std::mem::take(self) {
            Self::None => Taken::Nothing,
            Self::Line(range) => Taken::Line(&buffer[range]),
            Self::Lines(lines) => Taken::Lines(lines),
        }
    }
}

enum Taken<'a> {
    Nothing,
    Line(&'a [u8]),
    Lines(Vec<u8>),
}

impl Taken<'_> {
    fn as_slice(&self) -> Option<&[u8]> {
        match self {
            Self::Nothing => None,
            Self::Line(line) => Some(line),
            Self::Lines(lines) => Some(lines),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(pieces: &[&[u8]]) -> Vec<String> {
        let (mut events, mut read) = (Events::default(), Vec::new());
        let mut keep = |data: &[u8]| -> Result<(), ()> {
            read.push(String::from_utf8(data.to_vec()).unwrap());
            Ok(())
        };
        for piece in pieces {
            events.push(piece).unwrap();
            events.drain(&mut keep).unwrap();
        }
        events.finish(&mut keep).unwrap();
        read
    }

    #[test]
    fn fields_comments_and_several_lines_are_understood() {
        let text = "\u{feff}: hello\nevent: x\ndata: one\n\ndata:two\ndata\ndata:  three\n\n\
                    database: no\nid: 7\n\nretry: 1\ndata: last\n";
        assert_eq!(read(&[text.as_bytes()]), ["one", "two\n\n three", "last"]);
        assert_eq!(read(&[b"data: a\n\ndata: half a li"]), ["a"], "half a line is none");
    }

    #[test]
    fn an_event_without_end_is_refused() {
        let mut events = Events::default();
        let piece = vec![b'x'; LONGEST / 4];
        let pushed: Vec<bool> = (0..5).map(|_| events.push(&piece).is_ok()).collect();
        assert_eq!(pushed, [true, true, true, true, false]);
    }

    proptest! {
        #[test]
        fn cuts_do_not_matter(
            lines in prop::collection::vec("(data: ?[a-zé😀]{0,6}|event: x|)", 0..12),
            ends in prop::collection::vec(0_usize..3, 12),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        ) {
            let ends = ends.iter().map(|end| ["\n", "\r\n", "\r"][*end]);
            let text: String = lines.iter().zip(ends).map(|(line, end)| format!("{line}{end}")).collect();
            let text = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &text[cut[0]..cut[1]]).collect();
            prop_assert_eq!(read(&pieces), read(&[text]));
        }
    }
}
