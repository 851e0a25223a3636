//! Makes text from outside safe to show. Agents, tools and files can contain escape sequences,
//! and invisible marks that make one text read as another.

use std::borrow::Cow;
use std::fmt::Write as _;

use unicode_width::UnicodeWidthChar;

use super::escape::{self, Piece};

/// As many marks as a letter of any living script wears. More are a flood.
const MOST_MARKS: usize = 8;

/// The text without escape sequences and control characters, and with direction marks and
/// zero-width characters shown as what they are. Line ends stay, tabs become spaces.
pub fn printable(raw: &str) -> Cow<'_, str> {
    if is_plain(raw) {
        return Cow::Borrowed(raw);
    }
    let mut out = Cleaned::with_capacity(raw.len());
    for piece in escape::pieces(raw) {
        if let Piece::Plain(text) = piece {
            out.add(text);
        }
    }
    Cow::Owned(out.text)
}

/// A field that belongs on one line: it cannot look like the next one.
pub fn one_line(field: &str) -> String {
    printable(field).trim_end_matches('\n').replace('\n', "⏎")
}

/// The text with nothing left out: what is invisible or obeyed by terminals is named instead.
/// For questions, where the person must see exactly what would run.
pub fn exact(raw: &str) -> Cow<'_, str> {
    if is_plain(raw) {
        return Cow::Borrowed(raw);
    }
    let mut out = String::with_capacity(raw.len());
    let mut marks = 0;
    for c in raw.chars() {
        let mark = c.width() == Some(0);
        marks = if mark { marks + 1 } else { 0 };
        let hidden = c.is_control() || is_invisible(c) || is_joiner(c) || is_selector(c);
        match c {
            '\n' => out.push(c),
            c if hidden || marks > MOST_MARKS => name(c, &mut out),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// At most `most` bytes of the beginning of a text, cut between characters.
pub fn head(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or(text)
}

/// At most `most` bytes of the end of a text, cut between characters.
pub fn tail(text: &str, most: usize) -> &str {
    let from = text.ceil_char_boundary(text.len().saturating_sub(most));
    text.get(from..).unwrap_or(text)
}

fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte == b'\n' || (b' '..=b'~').contains(&byte))
}

/// Text that is being cleaned, with what the next character depends on.
#[derive(Default)]
pub(super) struct Cleaned {
    pub(super) text: String,
    last: Option<char>,
    marks: usize,
    joined: bool,
}

impl Cleaned {
    pub(super) fn with_capacity(bytes: usize) -> Self {
        Self { text: String::with_capacity(bytes), ..Self::default() }
    }

    /// Adds text that holds no escape sequences.
    pub(super) fn add(&mut self, text: &str) {
        for c in text.chars() {
            self.push(c);
        }
    }

    fn push(&mut self, c: char) {
        let joined = std::mem::take(&mut self.joined);
        match c {
            '\n' => self.text.push(c),
            '\t' => self.text.push_str("    "),
            c if c.is_control() => return,
            // Between two pictures it is left out: terminals do not agree how wide a joined
            // picture is. Anywhere else somebody hides something.
            c if is_joiner(c) && self.last.is_some_and(is_picture) => {
                self.joined = true;
                return;
            }
            c if is_selector(c) && self.last.is_some_and(|last| !last.is_ascii()) => {
                self.text.push(c);
                return;
            }
            c if is_selector(c) && self.last.is_some_and(|c| c.is_ascii_digit()) => return,
            c if is_invisible(c) || is_joiner(c) || is_selector(c) => name(c, &mut self.text),
            c if c.width() == Some(0) => {
                self.marks += 1;
                if self.marks <= MOST_MARKS {
                    self.text.push(c);
                }
                return;
            }
            c => {
                if joined && !is_picture(c) {
                    name('\u{200d}', &mut self.text);
                }
                self.text.push(c);
            }
        }
        self.marks = 0;
        self.last = Some(c);
    }
}

fn name(c: char, out: &mut String) {
    // Writing to a String cannot fail.
    let _ = write!(out, "<U+{:04X}>", u32::from(c));
}

fn is_joiner(c: char) -> bool {
    c == '\u{200d}'
}

/// What chooses between text and picture for the character before it.
fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe0e}' | '\u{fe0f}')
}

fn is_picture(c: char) -> bool {
    matches!(c, '\u{2190}'..='\u{2bff}' | '\u{3030}'..='\u{303d}' | '\u{1f000}'..='\u{1faff}')
}

/// Direction marks, characters of no width, fillers that look like a blank, tags.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}' | '\u{200c}' | '\u{200e}' | '\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0d}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}
