//! The name of a worktree: checked once, here, since it becomes a directory and a branch.

use std::fmt;

/// The longest name.
const LONGEST: usize = 64;

/// A name that is one plain path component and a good end for a branch name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slug(String);

/// Why a text cannot name a worktree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` cannot name a worktree: {why}")]
pub struct BadSlug {
    pub text: String,
    pub why: &'static str,
}

impl Slug {
    /// `user/feature` becomes `user+feature`: git cannot have both a branch `a` and a branch `a/b`.
    pub fn new(text: &str) -> Result<Self, BadSlug> {
        match mistake(text) {
            Some(why) => Err(BadSlug { text: text.to_owned(), why }),
            None => Ok(Self(text.replace('/', "+"))),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// This name for the `nth` who asked for it: `name-2`, `name-3`…, within the length limit.
    pub fn numbered(&self, nth: usize) -> Self {
        let tail = format!("-{nth}");
        let room = LONGEST.saturating_sub(tail.len());
        let base: String = self.0.chars().take(room).collect();
        Self(format!("{base}{tail}"))
    }
}

impl fmt::Display for Slug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn mistake(text: &str) -> Option<&'static str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if text.is_empty() {
        return Some("it is empty");
    }
    if text.len() > LONGEST {
        return Some("use at most 64 characters");
    }
    if text.starts_with('/') {
        return Some("it must not be an absolute path");
    }
    if text.contains("..") {
        return Some("it must not contain `..`");
    }
    let segments = || text.split('/');
    if !segments().all(|segment| !segment.is_empty() && segment.chars().all(plain)) {
        return Some("use letters, digits, `.`, `_` and `-`, in parts with `/` between them");
    }
    if segments().any(|segment| segment == "." || segment.eq_ignore_ascii_case(".git")) {
        return Some("no part of it may be `.` or `.git`");
    }
    // Git refuses such branches.
    let end = text.to_ascii_lowercase();
    (end.ends_with('.') || end.ends_with(".lock")).then_some("it must not end in `.` or `.lock`")
}
