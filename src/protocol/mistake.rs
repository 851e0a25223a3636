//! What is wrong with a file that a person wrote, and where.
//!
//! Reading never stops at the first mistake: whoever writes such a file wants to see all of them.

use std::fmt;

use serde::Serialize;

use crate::protocol::nearest::nearest;

/// A place in a file, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    pub line: usize,
    pub column: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mistake {
    pub line: usize,
    pub column: usize,
    pub what: String,
    /// How to put it right, where we have an idea.
    pub hint: Option<String>,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.what)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

/// The mistakes found so far.
#[derive(Debug, Default)]
pub struct Mistakes {
    found: Vec<Mistake>,
}

impl Mistakes {
    pub fn add(&mut self, at: Place, what: impl Into<String>) {
        self.note(at, what.into(), None);
    }

    pub fn add_with(&mut self, at: Place, what: impl Into<String>, hint: impl Into<String>) {
        self.note(at, what.into(), Some(hint.into()));
    }

    /// A word that stands where only some words may.
    pub fn add_unknown(&mut self, at: Place, what: impl Into<String>, word: &str, known: &[&str]) {
        let hint = match nearest(word, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known ones: {}", known.join(", ")),
        };
        self.note(at, what.into(), Some(hint));
    }

    fn note(&mut self, at: Place, what: String, hint: Option<String>) {
        self.found.push(Mistake { line: at.line, column: at.column, what, hint });
    }

    pub fn len(&self) -> usize {
        self.found.len()
    }

    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// In the order of the file.
    pub fn into_sorted(mut self) -> Vec<Mistake> {
        self.found.sort_by_key(|mistake| (mistake.line, mistake.column));
        self.found
    }
}
