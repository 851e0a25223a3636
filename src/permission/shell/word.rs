//! One word of a command with its quotes taken off.
//!
//! A second reading, independent of the parser's: where the two do not agree on where a word
//! ends or what in it is an expansion, the command is not understood.

use std::ops::Range;
use std::path::Path;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// What the program gets; for words that are not fixed, as it was written.
    pub text: String,
    /// Whether that is known before the command runs: no expansion, no wildcard.
    pub fixed: bool,
    /// Whether any of it was quoted, which keeps aliases from being looked up.
    pub quoted: bool,
    /// Whether it is one argument whatever it becomes: fixed, or in double quotes.
    pub one: bool,
}

impl Word {
    /// A word that is what it says.
    pub fn plain(text: &str) -> Self {
        Self { text: text.to_owned(), fixed: true, quoted: false, one: true }
    }

    /// A word that nobody knows before the command runs.
    pub fn unknown() -> Self {
        Self { text: "…".to_owned(), fixed: false, quoted: false, one: false }
    }
}

/// Reads the word at `range`. `holes` are the expansions that the parser found in it, in order.
pub(super) fn read(
    source: &str,
    range: Range<usize>,
    holes: &[Range<usize>],
    user: Option<&Path>,
) -> Result<Word, String> {
    let mut reader = Reader {
        source,
        at: range.start,
        end: range.end,
        holes,
        text: String::new(),
        fixed: true,
        quoted: false,
        one: true,
        user,
    };
    reader.tilde();
    reader.unquoted()?;
    let written = source.get(range).unwrap_or_default();
    let text = if reader.fixed { reader.text } else { written.to_owned() };
    Ok(Word { text, fixed: reader.fixed, quoted: reader.quoted, one: reader.one })
}

struct Reader<'a> {
    source: &'a str,
    at: usize,
    end: usize,
    holes: &'a [Range<usize>],
    text: String,
    fixed: bool,
    quoted: bool,
    one: bool,
    user: Option<&'a Path>,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.source.get(self.at..self.end).unwrap_or_default()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.rest().chars().next()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn skip_hole(&mut self, in_quotes: bool) -> bool {
        let hole = self.holes.iter().find(|hole| hole.start == self.at && !hole.is_empty());
        let Some(hole) = hole else { return false };
        let lists = self.source.get(hole.clone()).is_some_and(|text| text.contains('@'));
        self.one &= in_quotes && !lists;
        self.at = hole.end;
        self.fixed = false;
        true
    }

    fn tilde(&mut self) {
        if !self.rest().starts_with('~') {
            return;
        }
        match self.user {
            Some(user) if self.rest() == "~" || self.rest().starts_with("~/") => {
                self.at += 1;
                self.text.push_str(&user.to_string_lossy());
            }
            Some(_) | None => self.fixed = false,
        }
    }

    /// In `NAME=~/x` a home directory is meant too, also behind a command.
    fn equals(&mut self) {
        let name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let first = !self.quoted && self.text.chars().all(name);
        self.text.push('=');
        if first {
            self.tilde();
        }
    }

    fn unquoted(&mut self) -> Result<(), String> {
        if self.rest().starts_with('#') {
            return Err("a word begins with `#`".to_owned());
        }
        loop {
            if self.skip_hole(false) {
                continue;
            }
            let Some(c) = self.next() else { return Ok(()) };
            match c {
                '\\' => {
                    self.quoted = true;
                    match self.next() {
                        Some('\n') => {}
                        Some(escaped) => self.text.push(escaped),
                        None => return Err("a backslash stands at the end of a word".to_owned()),
                    }
                }
                '\'' => self.single()?,
                '"' => self.double()?,
                '$' => self.dollar()?,
                '`' => return Err("a backquote is not where the parser saw one".to_owned()),
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => {
                    return Err(format!("{c:?} stands in what the parser took for a word"));
                }
                '*' | '?' | '[' => self.open(c),
                '{' if !self.is_lone_pair() => self.open(c),
                '=' => self.equals(),
                plain => self.text.push(plain),
            }
        }
    }

    /// `{}` alone, as `find` and `xargs` take it.
    fn is_lone_pair(&self) -> bool {
        self.text.is_empty() && !self.quoted && self.rest() == "}"
    }

    fn open(&mut self, c: char) {
        self.fixed = false;
        self.one = false;
        self.text.push(c);
    }

    fn dollar(&mut self) -> Result<(), String> {
        match self.rest().chars().next() {
            Some('\'') => {
                self.at += 1;
                self.ansi()
            }
            Some('"') => {
                self.at += 1;
                self.double()
            }
            next => self.lone_dollar(next),
        }
    }

    /// A dollar that no expansion begins with is a dollar.
    fn lone_dollar(&mut self, next: Option<char>) -> Result<(), String> {
        let begins = |c: char| {
            c.is_alphanumeric()
                || matches!(c, '_' | '{' | '(' | '[' | '@' | '*' | '#' | '?' | '-' | '$' | '!')
        };
        if next.is_some_and(begins) {
            return Err("an expansion is not where the parser saw one".to_owned());
        }
        self.text.push('$');
        Ok(())
    }

    fn single(&mut self) -> Result<(), String> {
        self.quoted = true;
        loop {
            match self.next() {
                Some('\'') => return Ok(()),
                Some(c) => self.text.push(c),
                None => return Err("a single quote is not closed".to_owned()),
            }
        }
    }

    fn double(&mut self) -> Result<(), String> {
        self.quoted = true;
        loop {
            if self.skip_hole(true) {
                continue;
            }
            match self.next() {
                Some('"') => return Ok(()),
                Some('\\') => match self.next() {
                    Some('\n') => {}
                    Some(c @ ('$' | '`' | '"' | '\\')) => self.text.push(c),
                    Some(c) => self.text.extend(['\\', c]),
                    None => return Err("a double quote is not closed".to_owned()),
                },
                Some('`') => return Err("a backquote is not where the parser saw one".to_owned()),
                Some('$') => {
                    let next = self.rest().chars().next().filter(|c| !matches!(c, '"' | '\''));
                    self.lone_dollar(next)?;
                }
                Some(c) => self.text.push(c),
                None => return Err("a double quote is not closed".to_owned()),
            }
        }
    }

    /// `$'…'`: escapes as in C. One that is rare is not decoded, and the word is not fixed.
    fn ansi(&mut self) -> Result<(), String> {
        self.quoted = true;
        loop {
            match self.next() {
                Some('\'') => return Ok(()),
                Some('\\') => self.ansi_escape()?,
                Some(c) => self.text.push(c),
                None => return Err("a quote is not closed".to_owned()),
            }
        }
    }

    fn ansi_escape(&mut self) -> Result<(), String> {
        let decoded = match self.next() {
            Some('n') => Some('\n'),
            Some('t') => Some('\t'),
            Some(c @ ('\\' | '\'' | '"' | '?')) => Some(c),
            Some('x') => self.digits(16, 2),
            Some('u') => self.digits(16, 4),
            Some('U') => self.digits(16, 8),
            Some('0'..='7') => {
                self.at -= 1;
                self.digits(8, 3)
            }
            Some(_) => None,
            None => return Err("a quote is not closed".to_owned()),
        };
        match decoded {
            // Bytes beyond ASCII and a NUL are rare, and shells do not agree on them.
            Some(c) if c != '\0' => self.text.push(c),
            Some(_) | None => self.fixed = false,
        }
        Ok(())
    }

    fn digits(&mut self, radix: u32, most: usize) -> Option<char> {
        let count = self.rest().chars().take(most).take_while(|c| c.is_digit(radix)).count();
        let number = u32::from_str_radix(self.rest().get(..count)?, radix).ok()?;
        self.at += count;
        char::from_u32(number).filter(|c| c.is_ascii() || most > 3)
    }
}
