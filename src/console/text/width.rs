//! How many columns a text takes on a terminal, counted as ratatui draws it: by grapheme.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// The columns of a text on one line.
pub fn width(text: &str) -> usize {
    match is_simple(text) {
        true => text.len(),
        false => text.graphemes(true).map(columns).sum(),
    }
}

/// The columns of one grapheme.
pub(super) fn columns(grapheme: &str) -> usize {
    // No terminal gives one character more than two columns, whatever it is made of.
    grapheme.width().min(2)
}

/// Whether every byte is one column.
pub(super) fn is_simple(text: &str) -> bool {
    text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

/// The text in at most that many columns; where something had to go, it ends in `…`.
pub fn cut(text: &str, most: usize) -> Cow<'_, str> {
    // A line of megabytes is not measured to its end.
    let begin = prefix(text, most);
    if begin.len() == text.len() {
        return Cow::Borrowed(text);
    }
    if most == 0 {
        return Cow::Borrowed("");
    }
    Cow::Owned(format!("{}…", prefix(text, most - 1)))
}

/// The same, from the other end: paths say most at theirs.
pub fn cut_start(text: &str, most: usize) -> Cow<'_, str> {
    if width(text) <= most {
        return Cow::Borrowed(text);
    }
    if most == 0 {
        return Cow::Borrowed("");
    }
    let mut left = most - 1;
    let mut from = text.len();
    for (at, grapheme) in text.grapheme_indices(true).rev() {
        let Some(rest) = left.checked_sub(columns(grapheme)) else { break };
        (left, from) = (rest, at);
    }
    Cow::Owned(format!("…{}", text.get(from..).unwrap_or_default()))
}

/// Cut or filled with blanks to exactly that many columns.
pub fn fit(text: &str, exactly: usize) -> String {
    let cut = cut(text, exactly);
    let blanks = exactly.saturating_sub(width(&cut));
    format!("{cut}{:blanks$}", "")
}

/// As much of the beginning as fits.
pub fn prefix(text: &str, most: usize) -> &str {
    let mut left = most;
    for (at, grapheme) in text.grapheme_indices(true) {
        match left.checked_sub(columns(grapheme)) {
            Some(rest) => left = rest,
            None => return text.get(..at).unwrap_or_default(),
        }
    }
    text
}
