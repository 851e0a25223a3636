//! Changes of a file: from two texts or from a patch, to lines with numbers and signs.
//!
//! What changed within a line stands out; the code keeps its colours where they are ready.

use std::time::{Duration, Instant};

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use similar::{ChangeTag, DiffTag, TextDiff};

use super::highlight::{self, Pens};
use super::sanitize::printable;
use super::syntax::Paint;
use super::width::{cut, width};
use super::wrap;
use crate::console::view::theme::Theme;

/// Unchanged lines around a change.
const AROUND: usize = 3;
/// How long comparing may take: a rough answer is better than a late one.
const PATIENCE: Duration = Duration::from_millis(20);
/// A change that is made in many places is shown in so many.
const MOST_PLACES: usize = 100;
/// Changed lines that are compared letter by letter: so many bytes at once.
const LONGEST_INLINE: usize = 4 * 1024;

/// A change of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diff {
    pub hunks: Vec<Hunk>,
    pub added: usize,
    pub removed: usize,
    /// What code it is: the ending of the file's name, as a rule.
    pub language: String,
    /// What stands below: that there is more, say.
    pub note: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hunk {
    pub rows: Vec<Row>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub sign: Sign,
    /// Its number: in the old text for a removed line, in the new one for others. None where
    /// nobody knows where in its file the text stands.
    pub number: Option<usize>,
    /// The line in parts; `true` where it differs from its counterpart.
    pub parts: Vec<(bool, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    Same,
    Added,
    Removed,
}

/// What one text has to become the other, at each of the lines where it begins in its file.
/// Without any, there is one change, and its lines have no numbers.
pub fn of_edit(old: &str, new: &str, at: &[usize]) -> Diff {
    let (old, new) = (printable(old), printable(new));
    let mut once = Diff::default();
    once.compare(&old, &new, 1, 1);
    let grown = new.matches('\n').count().cast_signed() - old.matches('\n').count().cast_signed();
    let mut diff = Diff::default();
    for (nth, line) in at.iter().take(MOST_PLACES).enumerate() {
        let moved = nth.cast_signed() * grown;
        diff.add(once.hunks.iter().map(|hunk| hunk.begun_at(Some(*line), moved)));
    }
    if at.is_empty() {
        diff.add(once.hunks.iter().map(|hunk| hunk.begun_at(None, 0)));
    }
    if at.len() > MOST_PLACES {
        diff.note = Some("… and the same in other places".to_owned());
    }
    diff
}

/// A patch in the unified form, as tools tell it.
pub fn of_patch(patch: &str) -> Diff {
    let patch = printable(patch);
    let mut diff = Diff::default();
    let mut hunk: Option<(usize, usize, String, String)> = None;
    for line in patch.lines() {
        if let Some((old, new)) = starts(line) {
            if let Some((at, to, old, new)) = hunk.take() {
                diff.compare(&old, &new, at, to);
            }
            hunk = Some((old, new, String::new(), String::new()));
            continue;
        }
        let Some((_, _, old, new)) = &mut hunk else { continue };
        let text = line.get(1..).unwrap_or_default();
        match line.chars().next() {
            Some('-') => add_line(old, text),
            Some('+') => add_line(new, text),
            Some(' ') | None => {
                add_line(old, text);
                add_line(new, text);
            }
            Some('\\') => {}
            Some(_) => diff.note = Some(line.to_owned()),
        }
    }
    if let Some((at, to, old, new)) = hunk {
        diff.compare(&old, &new, at, to);
    }
    diff
}

fn add_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// Where a hunk begins, from `@@ -1,3 +1,4 @@`.
fn starts(line: &str) -> Option<(usize, usize)> {
    let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let first = |range: &str| range.split(',').next()?.parse().ok();
    Some((first(old)?, first(new)?))
}

impl Diff {
    /// Says what code it is, by the name of the file.
    #[must_use]
    pub fn in_file(mut self, path: &str) -> Self {
        let name = path.rsplit('/').next().unwrap_or_default();
        self.language = name.rsplit('.').next().unwrap_or_default().to_owned();
        self
    }

    pub fn is_empty(&self) -> bool {
        self.hunks.is_empty()
    }

    /// Adds the hunks between two texts that begin at these lines.
    fn compare(&mut self, old: &str, new: &str, old_first: usize, new_first: usize) {
        let until = Instant::now() + PATIENCE;
        let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(old, new);
        for group in diff.grouped_ops(AROUND) {
            let mut hunk = Hunk::default();
            for op in group {
                let bytes: usize = diff.iter_changes(&op).map(|change| change.value().len()).sum();
                if op.tag() == DiffTag::Replace && bytes <= LONGEST_INLINE {
                    for change in diff.iter_inline_changes_deadline(&op, Some(until)) {
                        let part = |(marked, text): &(bool, &str)| (*marked, without_end(text));
                        let parts = change.values().iter().map(part).collect();
                        let at = (change.old_index(), change.new_index());
                        hunk.rows.push(row(change.tag(), at, (old_first, new_first), parts));
                    }
                } else {
                    for change in diff.iter_changes(&op) {
                        let parts = vec![(false, without_end(change.value()))];
                        let at = (change.old_index(), change.new_index());
                        hunk.rows.push(row(change.tag(), at, (old_first, new_first), parts));
                    }
                }
            }
            self.add([hunk]);
        }
    }

    fn add(&mut self, hunks: impl IntoIterator<Item = Hunk>) {
        for hunk in hunks {
            let count = |sign| hunk.rows.iter().filter(|row| row.sign == sign).count();
            self.added += count(Sign::Added);
            self.removed += count(Sign::Removed);
            self.hunks.push(hunk);
        }
    }
}

impl Hunk {
    /// The same hunk of a text that begins at this line of its file, where changes further up
    /// move what is new.
    fn begun_at(&self, line: Option<usize>, moved: isize) -> Self {
        let number = |row: &Row| {
            let number = row.number? + line? - 1;
            Some(match row.sign {
                Sign::Removed => number,
                Sign::Same | Sign::Added => number.saturating_add_signed(moved),
            })
        };
        let rows = self.rows.iter().map(|row| Row { number: number(row), ..row.clone() });
        Self { rows: rows.collect() }
    }
}

fn row(
    tag: ChangeTag,
    (old, new): (Option<usize>, Option<usize>),
    (old_first, new_first): (usize, usize),
    parts: Vec<(bool, String)>,
) -> Row {
    let (sign, number) = match tag {
        ChangeTag::Equal => (Sign::Same, new.unwrap_or_default() + new_first),
        ChangeTag::Insert => (Sign::Added, new.unwrap_or_default() + new_first),
        ChangeTag::Delete => (Sign::Removed, old.unwrap_or_default() + old_first),
    };
    Row { sign, number: Some(number), parts }
}

fn without_end(text: &str) -> String {
    text.strip_suffix('\n').unwrap_or(text).to_owned()
}

impl Row {
    fn text(&self) -> String {
        self.parts.iter().map(|(_, text)| text.as_str()).collect()
    }
}

/// The rows of a change: number, sign, code.
pub fn lines(diff: &Diff, most: usize, theme: &Theme, pens: &Pens) -> Vec<Line<'static>> {
    let largest = diff.hunks.iter().flat_map(|hunk| &hunk.rows).filter_map(|row| row.number).max();
    let digits = largest.map_or(0, |number| number.to_string().len().max(3));
    let mut lines = Vec::new();
    for (at, hunk) in diff.hunks.iter().enumerate() {
        if at > 0 {
            let gap = format!("{:>1$}", theme.glyphs.ellipsis, digits.max(3));
            lines.push(Line::styled(cut(&gap, most).into_owned(), theme.faint));
        }
        hunk_lines(hunk, &diff.language, digits, most, (theme, pens), &mut lines);
    }
    if let Some(note) = &diff.note {
        lines.extend(wrap::wrap(&Line::styled(note.clone(), theme.faint), most));
    }
    lines
}

fn hunk_lines(
    hunk: &Hunk,
    language: &str,
    digits: usize,
    most: usize,
    (theme, pens): (&Theme, &Pens),
    lines: &mut Vec<Line<'static>>,
) {
    let side = |other: Sign| {
        let rows = hunk.rows.iter().filter(|row| row.sign != other);
        rows.map(|row| row.text() + "\n").collect::<String>()
    };
    let old = pens.paints(language, &side(Sign::Added));
    let new = pens.paints(language, &side(Sign::Removed));
    let (mut at_old, mut at_new) = (0, 0);
    for row in &hunk.rows {
        let paint = match row.sign {
            Sign::Removed => old.get(at_old),
            Sign::Same | Sign::Added => new.get(at_new),
        };
        at_old += usize::from(row.sign != Sign::Added);
        at_new += usize::from(row.sign != Sign::Removed);
        row_lines(row, paint, digits, most, theme, lines);
    }
}

fn row_lines(
    row: &Row,
    paint: Option<&Paint>,
    digits: usize,
    most: usize,
    theme: &Theme,
    lines: &mut Vec<Line<'static>>,
) {
    let (sign, ground, mark) = match row.sign {
        Sign::Same => (" ", Style::new(), Style::new()),
        Sign::Added => ("+", theme.added, theme.added_mark),
        Sign::Removed => ("-", theme.removed, theme.removed_mark),
    };
    let line = Line::from(code(row, paint, theme, ground, mark));
    let number = row.number.map_or(String::new(), |number| format!("{number:>digits$} "));
    let blank = " ".repeat(width(&number));
    let gutter = ground.patch(theme.faint);
    let first = [Span::styled(number, gutter), Span::styled(format!("{sign} "), ground)];
    let others = [Span::styled(blank, gutter), Span::styled("  ", ground)];
    for mut wrapped in wrap::wrap_with(&line, most, &first, &others) {
        if row.sign != Sign::Same {
            let used: usize = wrapped.spans.iter().map(|span| width(&span.content)).sum();
            let rest = " ".repeat(most.saturating_sub(used));
            wrap::push(&mut wrapped.spans, &rest, ground);
        }
        lines.push(wrapped);
    }
}

/// The code of a row: what changed in its own style, the rest in the colours of its parts.
fn code(
    row: &Row,
    paint: Option<&Paint>,
    theme: &Theme,
    ground: Style,
    mark: Style,
) -> Vec<Span<'static>> {
    // Where every part of a line is new, nothing stands out.
    let all = row.parts.iter().all(|(marked, text)| *marked || text.trim().is_empty());
    let text = row.text();
    let painted = highlight::spans(&text, paint, theme, ground);
    if all || row.parts.iter().all(|(marked, _)| !marked) {
        return painted;
    }
    let mut marks = row.parts.iter().scan(0, |end, (marked, text)| {
        *end += text.len();
        Some((*marked, *end))
    });
    let mut part = marks.next();
    let mut spans = Vec::new();
    let mut at = 0;
    for span in painted {
        let mut rest: &str = &span.content;
        while let Some((marked, end)) = part
            && !rest.is_empty()
        {
            let take = rest.floor_char_boundary((end - at).min(rest.len()));
            let (now, later) = rest.split_at(take);
            wrap::push(&mut spans, now, if marked { mark } else { span.style });
            (at, rest) = (at + take, later);
            if at >= end || take == 0 {
                part = marks.next();
            }
        }
    }
    spans
}
