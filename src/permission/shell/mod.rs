//! What a shell command would run and which files it names, told without running it.
//!
//! The command is parsed as a whole and every node of the tree is visited. Kinds of nodes that
//! are not known here, and places where our own reading of words differs from the parser's, make
//! the command "not understood", which is never allowed without asking.

mod builtin;
mod git;
mod harmless;
pub(super) mod pattern;
mod plain;
mod tree;
mod walk;
mod word;
mod wrapper;

use std::collections::BTreeMap;
use std::path::Path;

pub(super) use harmless::{Harmless, goes_deep, harmless, may_write, path_words};
pub use word::Word;

/// Longer commands are asked about.
const LONGEST: usize = 64 * 1024;
/// Commands in commands in commands, `bash -c` and aliases included.
const DEEPEST: usize = 24;

/// A command and its arguments, quotes taken off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Simple {
    /// `NAME=value` in front of it.
    pub env: Vec<Word>,
    pub words: Vec<Word>,
    pub part: Part,
}

/// How a command counts when all must be allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// It must be allowed itself.
    Own,
    /// It only runs the command that it names (`time ls`), which is listed too and decides.
    Passing,
}

impl Simple {
    /// As it would be typed, without quotes.
    pub fn text(&self) -> String {
        let all: Vec<&str> = self.env.iter().chain(&self.words).map(|w| w.text.as_str()).collect();
        all.join(" ")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Read,
    Write,
}

/// A file that the command names with `<` or `>`, or with an option that means the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    pub direction: Direction,
    pub target: Word,
}

/// All that a command would do, as far as it can be told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Analysis {
    pub commands: Vec<Simple>,
    pub redirects: Vec<Redirect>,
    /// Whether parts of it may run more than once.
    pub repeats: bool,
    /// Why not all of it is understood. What was found still stands in the lists.
    pub unclear: Option<String>,
}

/// What the analysis must know about where the command would run.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'a> {
    pub user: Option<&'a Path>,
    pub aliases: &'a BTreeMap<String, String>,
}

/// Takes a command apart.
pub fn analyse(command: &str, setting: Setting<'_>) -> Analysis {
    let mut analysis = Analysis::default();
    gather(command, setting, 0, &mut analysis);
    analysis
}

impl Analysis {
    /// The first reason is the one that is told.
    fn not_understood(&mut self, why: impl Into<String>) {
        self.unclear.get_or_insert_with(|| why.into());
    }
}

/// Adds what `command` would do, which stands `depth` levels below what was asked.
fn gather(command: &str, setting: Setting<'_>, depth: usize, into: &mut Analysis) {
    if depth > DEEPEST {
        return into.not_understood("commands are nested too deeply");
    }
    if command.len() > LONGEST {
        return into.not_understood(format!("it is longer than {LONGEST} bytes"));
    }
    if let Some(c) = command.chars().find(|c| is_hidden(*c)) {
        into.not_understood(format!(
            "it has a character that cannot be seen, {}",
            c.escape_unicode()
        ));
    }
    if goes_on_within_a_word(command) {
        into.not_understood("a line goes on in the middle of a word");
    }
    match plain::read(command) {
        Some(commands) => walk::commands(commands, command, setting, depth, into),
        None => walk::program(command, setting, depth, into),
    }
}

/// Shells take `\` with the end of its line away before they look at anything, so that what
/// stands on both sides becomes one: `$` and `(cmd)` two lines apart run a command.
fn goes_on_within_a_word(command: &str) -> bool {
    let ends = command.match_indices("\\\n");
    ends.filter_map(|(at, _)| command[..at].chars().next_back()).any(|c| !c.is_whitespace())
}

/// Characters that shells, parsers and eyes do not agree on.
fn is_hidden(c: char) -> bool {
    let control = c.is_control() && !matches!(c, '\n' | '\t');
    let blank = c.is_whitespace() && !c.is_ascii();
    let formatting = matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    control || blank || formatting
}
