//! Finds the passage that an edit means and puts another in its place, line endings kept.
//!
//! Models write `\n`, files may have `\r\n`. Both sides are compared with plain line ends; each
//! line of the file keeps its own. What is not found is looked for with less care, only to say
//! what is wrong.

use std::ops::Range;
use std::time::{Duration, Instant};

/// How many places of a passage are counted before "many" must do.
const MOST_COUNTED: usize = 1_000;
/// How many places an error names.
const MOST_NAMED: usize = 5;
/// How alike a line must be to be offered as the one that was meant.
const ALIKE: f64 = 0.6;
/// For how long a line is looked for that was perhaps meant.
const LOOKING: Duration = Duration::from_millis(300);

/// A text with plain line ends, and which of them were `\r\n`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flat {
    pub text: String,
    /// Where in `text` a line ends with `\r\n` in the file, in order.
    returns: Vec<usize>,
}

impl Flat {
    pub fn of(raw: &str) -> Self {
        let mut text = String::with_capacity(raw.len());
        let mut returns = Vec::new();
        for (at, part) in raw.split("\r\n").enumerate() {
            if at > 0 {
                returns.push(text.len());
                text.push('\n');
            }
            text.push_str(part);
        }
        Self { text, returns }
    }

    /// Whether most lines end with `\r\n`.
    pub fn mostly_returns(&self) -> bool {
        self.returns.len() * 2 > self.text.bytes().filter(|byte| *byte == b'\n').count()
    }

    /// The line that holds this place, counted from one.
    pub fn line_at(&self, at: usize) -> usize {
        line_of(&self.text, at)
    }

    /// The text of the file with `new` in the place of each passage. All passages are alike.
    pub fn replaced(&self, passages: &[Range<usize>], new: &str) -> String {
        let mut raw = String::with_capacity(self.text.len() + self.returns.len() + new.len());
        let usual = self.mostly_returns();
        let mut done = 0;
        for passage in passages {
            self.push_raw(&mut raw, done..passage.start);
            self.push_new(&mut raw, passage.clone(), new, usual);
            done = passage.end;
        }
        self.push_raw(&mut raw, done..self.text.len());
        raw
    }

    fn push_raw(&self, raw: &mut String, part: Range<usize>) {
        let mut done = part.start;
        for end in self.returns_in(&part) {
            raw.push_str(&self.text[done..*end]);
            raw.push_str("\r\n");
            done = end + 1;
        }
        raw.push_str(&self.text[done..part.end]);
    }

    fn returns_in(&self, part: &Range<usize>) -> &[usize] {
        let from = self.returns.partition_point(|at| *at < part.start);
        let to = self.returns.partition_point(|at| *at < part.end);
        &self.returns[from..to]
    }

    /// The lines that both have at the beginning and at the end keep their ends; the others take
    /// them from the lines they replace, and where there are none, from the rest of the file.
    fn push_new(&self, raw: &mut String, passage: Range<usize>, new: &str, usual: bool) {
        let old = &self.text[passage.clone()];
        let mut returns = self.returns_in(&passage).iter().peekable();
        let ends = old.match_indices('\n').map(|(at, _)| passage.start + at);
        let ends: Vec<bool> =
            ends.map(|at| returns.next_if(|next| **next == at).is_some()).collect();
        let before = common(old.bytes(), new.bytes());
        let room = old.len().min(new.len()) - before;
        let after = common(old.bytes().rev(), new.bytes().rev()).min(room);
        let newlines = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
        let first = newlines(&new.as_bytes()[..before]);
        let last = newlines(&new.as_bytes()[new.len() - after..]);
        let count = newlines(new.as_bytes());
        for (at, line) in new.split('\n').enumerate() {
            if at > 0 {
                let end = at - 1;
                let known = if end >= first.max(count - last) {
                    ends.get(ends.len() + end - count)
                } else {
                    ends[..ends.len() - last].get(end)
                };
                raw.push_str(if *known.unwrap_or(&usual) { "\r\n" } else { "\n" });
            }
            raw.push_str(line);
        }
    }
}

fn common(left: impl Iterator<Item = u8>, right: impl Iterator<Item = u8>) -> usize {
    left.zip(right).take_while(|(left, right)| left == right).count()
}

fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// With plain line ends, as a passage is looked for.
pub fn flattened(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// Every place of a passage that is to be replaced everywhere.
pub fn all(flat: &Flat, old: &str) -> Result<Vec<Range<usize>>, String> {
    let found: Vec<_> = flat.text.match_indices(old).map(|(at, _)| at..at + old.len()).collect();
    if found.is_empty() { Err(not_found(flat, old)) } else { Ok(found) }
}

/// The only place of a passage.
pub fn only(flat: &Flat, old: &str) -> Result<Range<usize>, String> {
    let places = places(&flat.text, old);
    match places.as_slice() {
        [] => Err(not_found(flat, old)),
        [at] => Ok(*at..at + old.len()),
        [first, ..] => {
            let lines = places.iter().take(MOST_NAMED).map(|at| flat.line_at(*at).to_string());
            let lines = lines.collect::<Vec<_>>().join(", ");
            let more = if places.len() > MOST_NAMED { ", …" } else { "" };
            let often = match places.len() {
                MOST_COUNTED.. => format!("{MOST_COUNTED} times or more"),
                count => format!("{count} times"),
            };
            let first = flat.line_at(*first);
            Err(format!(
                "old_string was found {often}; first at line {first} (lines {lines}{more}). Add \
                 lines around it until it is unique, or set replace_all."
            ))
        }
    }
}

/// Where a passage begins. Places that overlap count: either could be meant.
fn places(text: &str, old: &str) -> Vec<usize> {
    let step = old.chars().next().map_or(1, char::len_utf8);
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find(old)) {
        found.push(from + at);
        from += at + step;
        if found.len() >= MOST_COUNTED {
            break;
        }
    }
    found
}

fn not_found(flat: &Flat, old: &str) -> String {
    let hint = numbered(flat, old)
        .or_else(|| unreadable(old))
        .or_else(|| loosely(flat, old, &without_space, "other white space"))
        .or_else(|| loosely(flat, old, &plain_signs, "other quotation marks, dashes or case"))
        .or_else(|| nearest(flat, old));
    let hint = hint.unwrap_or_else(|| "Read the file again to see what is there.".to_owned());
    format!("old_string was not found in the file. {hint}")
}

/// Line numbers that came along when lines were copied from what Read shows.
fn numbered(flat: &Flat, old: &str) -> Option<String> {
    let mut bare = Vec::new();
    for line in old.lines() {
        let rest = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
        let has_number = rest.len() < line.trim_start().len();
        match rest.strip_prefix(['\t', '→']) {
            Some(rest) if has_number => bare.push(rest),
            Some(_) | None => return None,
        }
    }
    let bare = bare.join("\n");
    let at = places(&flat.text, &bare).first().map(|at| flat.line_at(*at));
    let place = at.map_or(String::new(), |line| format!(" It is then found at line {line}."));
    let advice = "It begins with line numbers as Read shows them; remove the line numbers.";
    (!bare.is_empty()).then(|| format!("{advice}{place}"))
}

fn unreadable(old: &str) -> Option<String> {
    old.contains(char::REPLACEMENT_CHARACTER).then(|| {
        "It has the mark U+FFFD, which may stand for bytes that are no text. Choose a passage \
         without it."
            .to_owned()
    })
}

fn without_space(line: &str) -> String {
    line.split_whitespace().collect()
}

fn plain_signs(line: &str) -> String {
    let plain = |c| match c {
        '‘' | '’' | '‚' | '‛' | '`' | '"' | '“' | '”' | '„' | '«' | '»' => '\'',
        '–' | '—' | '‐' | '‑' | '−' => '-',
        c => c,
    };
    without_space(line).chars().map(plain).flat_map(char::to_lowercase).collect()
}

/// The same lines, if they are compared with less care.
fn loosely(flat: &Flat, old: &str, fold: &dyn Fn(&str) -> String, what: &str) -> Option<String> {
    let blank = |line: &String| line.is_empty();
    let wanted: Vec<String> = old.lines().map(fold).collect();
    let start = wanted.iter().position(|line| !blank(line))?;
    let end = wanted.iter().rposition(|line| !blank(line))? + 1;
    let wanted = &wanted[start..end];
    let have: Vec<String> = flat.text.lines().map(fold).collect();
    let whole = have.windows(wanted.len()).position(|lines| lines == wanted);
    let part = || match wanted {
        [line] => have.iter().position(|have| have.contains(line.as_str())),
        _ => None,
    };
    let at = whole.or_else(part)?;
    let lines: Vec<&str> = flat.text.lines().skip(at).take(wanted.len().min(12)).collect();
    let lines = lines.iter().map(|line| cut(line)).collect::<Vec<_>>().join("\n");
    Some(format!("It was found with {what} at line {}, where the file has:\n{lines}", at + 1))
}

/// The line most like the longest one of the passage.
fn nearest(flat: &Flat, old: &str) -> Option<String> {
    let wanted = old.lines().map(str::trim).max_by_key(|line| line.len())?;
    let wanted = cut(wanted);
    let since = Instant::now();
    let mut best: Option<(f64, usize, &str)> = None;
    for (at, line) in flat.text.lines().enumerate() {
        let trimmed = line.trim();
        // Lines of very different length cannot be alike.
        if trimmed.len() > 3 * wanted.len() || wanted.len() > 3 * trimmed.len() {
            continue;
        }
        let score = strsim::sorensen_dice(trimmed, &wanted);
        if score >= ALIKE && best.is_none_or(|(other, ..)| score > other) {
            best = Some((score, at + 1, line));
        }
        if since.elapsed() > LOOKING {
            break;
        }
    }
    best.map(|(_, at, line)| format!("The nearest is line {at}:\n{}", cut(line)))
}

fn cut(line: &str) -> String {
    line.chars().take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn flat_text_comes_back(raw in "[a\r\n]{0,40}") {
            let flat = Flat::of(&raw);
            prop_assert_eq!(flat.replaced(&[], ""), raw);
        }
    }

    #[test]
    fn each_line_keeps_its_end() {
        let flat = Flat::of("one\r\ntwo\nthree\r\nfour\n");
        let whole = 0..flat.text.len();
        let new = |new: &str| flat.replaced(std::slice::from_ref(&whole), new);
        assert_eq!(new("one\n2\nthree\nfour\n"), "one\r\n2\nthree\r\nfour\n");
        assert_eq!(new("one\nthree\nfour\n"), "one\r\nthree\r\nfour\n");
        assert_eq!(new("zero\none\ntwo\nthree\nfour\n").matches("\r\n").count(), 2);
    }
}
