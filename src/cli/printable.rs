//! Makes text from outside safe to show. Agents, tools and files can contain escape sequences,
//! and invisible marks that make one text read as another.

use std::fmt::Write as _;
use std::iter::Peekable;
use std::str::Chars;

/// The text without escape sequences and control characters, and with direction marks and
/// zero-width characters shown as what they are.
pub fn printable(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut chars = raw.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\x1b' => skip_escape(&mut chars),
            '\u{9b}' => skip_parameters(&mut chars),
            '\n' => out.push('\n'),
            '\t' => out.push_str("    "),
            '\u{ad}'
            | '\u{34f}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{61c}'
            | '\u{e0000}'..='\u{e007f}' => {
                // Writing to a String cannot fail.
                let _ = write!(out, "<U+{:04X}>", u32::from(c));
            }
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// A field that belongs on one line: it cannot look like the next one.
pub fn one_line(field: &str) -> String {
    printable(field).replace('\n', "⏎")
}

fn skip_escape(chars: &mut Peekable<Chars<'_>>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            skip_parameters(chars);
        }
        Some(']' | 'P' | '_' | '^' | 'X') => {
            // Not beyond its line: one that is never closed must not hide what follows.
            while let Some(c) = chars.next_if(|c| *c != '\n') {
                match c {
                    '\x07' | '\u{9c}' => return,
                    '\x1b' => {
                        chars.next_if_eq(&'\\'); // closes the string
                        return;
                    }
                    _ => {}
                }
            }
        }
        Some(' '..='/') => {
            chars.next();
            chars.next();
        }
        Some('0'..='~') => {
            chars.next();
        }
        Some(_) | None => {}
    }
}

/// Up to the letter that ends a control sequence, but not beyond the line it began on.
fn skip_parameters(chars: &mut Peekable<Chars<'_>>) {
    while let Some(c) = chars.next_if(|c| (' '..='~').contains(c)) {
        if ('@'..='~').contains(&c) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_gets_through() {
        let cases = [
            ("plain é 漢 😀", "plain é 漢 😀"),
            ("a\x1b[31mred\x1b[0m", "ared"),
            ("a\x1b]0;title\x07b", "ab"),
            ("a\x1b]8;;http://x\x1b\\b", "ab"),
            ("a\x1bPq#1\x1b\\b", "ab"),
            ("a\rb\x08c\x00d\x7fe", "abcde"),
            ("a\u{9b}2Jb", "ab"),
            ("rm \u{202e}txt", "rm <U+202E>txt"),
            ("zero\u{200b}width", "zero<U+200B>width"),
            ("tab\tstop\n", "tab    stop\n"),
            ("cut\x1b", "cut"),
            ("cut\x1b[3", "cut"),
            ("a\x1b(Bb\x1b7c", "abc"),
            ("torn \x1b[12\nnext", "torn \nnext"),
            ("open \x1b]0;for ever\nnext", "open \nnext"),
            ("tag\u{e0041}soft\u{ad}", "tag<U+E0041>soft<U+00AD>"),
        ];
        for (raw, clean) in cases {
            assert_eq!(printable(raw), clean, "{raw:?}");
        }
        assert_eq!(one_line("a\x1b]x\nb"), "a⏎b");
    }
}
