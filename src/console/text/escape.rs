//! Finds the escape sequences in a text, so that others can leave them out or read their colours.

/// What a text is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// Text without escape sequences; it may still hold control characters.
    Plain(&'a str),
    /// The parameters of `CSI … m`, which sets colours.
    Colour(&'a str),
}

/// The pieces of a text in order. Sequences other than colours are left out.
pub(super) fn pieces(text: &str) -> Pieces<'_> {
    Pieces { rest: text }
}

#[derive(Debug)]
pub(super) struct Pieces<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        loop {
            let first = self.rest.chars().next()?;
            if !introduces(first) {
                let end = self.rest.find(introduces).unwrap_or(self.rest.len());
                let (plain, rest) = self.rest.split_at(end);
                self.rest = rest;
                return Some(Piece::Plain(plain));
            }
            let (sequence, rest) = self.rest.split_at(length(self.rest));
            self.rest = rest;
            if let Some(colour) = colour(sequence) {
                return Some(Piece::Colour(colour));
            }
        }
    }
}

fn introduces(c: char) -> bool {
    matches!(c, '\x1b' | '\u{90}' | '\u{98}' | '\u{9b}' | '\u{9d}' | '\u{9e}' | '\u{9f}')
}

/// How many bytes the sequence takes that begins the text. Never beyond its line: one that is
/// torn or never closed must not hide what follows.
fn length(text: &str) -> usize {
    let mut chars = text.chars();
    let (head, kind) = match chars.next() {
        Some('\x1b') => match chars.next() {
            Some(second @ ('[' | ']' | 'P' | '_' | '^' | 'X')) => (2, second),
            Some(' '..='/') => {
                let ends = chars.next().filter(|c| ('0'..='~').contains(c));
                return 2 + usize::from(ends.is_some());
            }
            Some('0'..='~') => return 2,
            Some(_) | None => return 1,
        },
        Some('\u{9b}') => (2, '['),
        Some(other) => (other.len_utf8(), ']'),
        None => return 0,
    };
    let body = text.get(head..).unwrap_or_default();
    head + if kind == '[' { parameters(body) } else { string(body) }
}

/// Up to and with the letter that ends a control sequence.
fn parameters(body: &str) -> usize {
    let within = body.bytes().take_while(|byte| (0x20..0x40).contains(byte)).count();
    let ends = body.as_bytes().get(within).is_some_and(|byte| (0x40..0x7f).contains(byte));
    within + usize::from(ends)
}

/// Up to and with what closes a string: BEL, ST, or `ESC \`.
fn string(body: &str) -> usize {
    let stop = |c: char| matches!(c, '\n' | '\x07' | '\u{9c}' | '\x1b');
    let Some(at) = body.find(stop) else { return body.len() };
    let rest = body.get(at..).unwrap_or_default();
    at + match rest.chars().next() {
        Some('\x07') => 1,
        Some('\u{9c}') => 2,
        Some('\x1b') if rest.starts_with("\x1b\\") => 2,
        Some('\x1b') => 1,
        Some(_) | None => 0,
    }
}

fn colour(sequence: &str) -> Option<&str> {
    let body = sequence.strip_prefix("\x1b[").or_else(|| sequence.strip_prefix('\u{9b}'))?;
    let parameters = body.strip_suffix('m')?;
    let plain = |c: char| c.is_ascii_digit() || matches!(c, ';' | ':');
    parameters.chars().all(plain).then_some(parameters)
}
