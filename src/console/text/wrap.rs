//! Breaks a styled line into rows: at blanks where it can, between graphemes where it must.
//!
//! Linear in the length of the line, and every row fits, whatever the line holds.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

use super::width::{columns, width};

/// The rows of a line. Rows after the first are indented as far as the line itself.
pub fn wrap(line: &Line<'_>, most: usize) -> Vec<Line<'static>> {
    wrap_after(line, most, leading_blanks(line))
}

/// The rows of a line; rows after the first begin with that many blanks.
pub fn wrap_after(line: &Line<'_>, most: usize, indent: usize) -> Vec<Line<'static>> {
    match indent {
        0 => wrap_with(line, most, &[], &[]),
        _ => wrap_with(line, most, &[], &[Span::raw(" ".repeat(indent))]),
    }
}

/// The rows of a line, each with something before it: `first`, then `others`. Both are dropped
/// where they would leave no room for the text.
pub fn wrap_with(
    line: &Line<'_>,
    most: usize,
    first: &[Span<'static>],
    others: &[Span<'static>],
) -> Vec<Line<'static>> {
    let most = most.max(1);
    let mut rows = Rows::new(line.style, most, first, others);
    for span in &line.spans {
        let style = line.style.patch(span.style);
        for word in words(&span.content) {
            rows.word(word, style);
        }
    }
    rows.done()
}

/// How many blanks a line begins with.
fn leading_blanks(line: &Line<'_>) -> usize {
    let mut blanks = 0;
    for span in &line.spans {
        let own = span.content.len() - span.content.trim_start_matches(' ').len();
        blanks += own;
        if own < span.content.len() {
            break;
        }
    }
    blanks
}

/// Runs of blanks, and runs of anything else. Wide graphemes (CJK) stand alone: between them a
/// line may be broken.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.graphemes(true).next()?;
        let end = match first {
            " " => rest.len() - rest.trim_start_matches(' ').len(),
            first if columns(first) > 1 => first.len(),
            _ => end_of_word(rest),
        };
        let (word, after) = rest.split_at(end);
        rest = after;
        Some(word)
    })
}

fn end_of_word(text: &str) -> usize {
    if text.is_ascii() {
        return text.find(' ').unwrap_or(text.len());
    }
    let ends = |(_, grapheme): &(usize, &str)| *grapheme == " " || columns(grapheme) > 1;
    text.grapheme_indices(true).find(ends).map_or(text.len(), |(at, _)| at)
}

struct Rows<'a> {
    most: usize,
    others: &'a [Span<'static>],
    base: Style,
    done: Vec<Line<'static>>,
    row: Vec<Span<'static>>,
    used: usize,
    /// The word at the end of the row, which may still grow: it could go to the next row.
    word: Vec<Span<'static>>,
    word_columns: usize,
    /// Whether the row has text of the line already, not only what stands before it.
    begun: bool,
}

impl<'a> Rows<'a> {
    fn new(
        base: Style,
        most: usize,
        first: &'a [Span<'static>],
        others: &'a [Span<'static>],
    ) -> Self {
        let fits = |spans: &[Span<'_>]| span_columns(spans) * 2 <= most;
        let others = if fits(others) { others } else { &[] };
        let first = if fits(first) { first } else { &[] };
        Self {
            most,
            others,
            base,
            done: Vec::new(),
            row: first.to_vec(),
            used: span_columns(first),
            word: Vec::new(),
            word_columns: 0,
            begun: false,
        }
    }

    fn word(&mut self, word: &str, style: Style) {
        let columns = width(word);
        if word.starts_with(' ') {
            self.settle();
            self.blanks(columns, style);
        } else if columns == 2 && word.graphemes(true).nth(1).is_none() {
            self.settle();
            self.grow(word, columns, style);
            self.settle();
        } else {
            self.grow(word, columns, style);
        }
    }

    /// Blanks are dropped where a row ends, but kept at the beginning of the line.
    fn blanks(&mut self, columns: usize, style: Style) {
        let room = self.most - self.used;
        if columns >= room {
            if self.begun {
                self.next_row();
            }
            return;
        }
        if self.begun || self.done.is_empty() {
            push(&mut self.row, &" ".repeat(columns), style);
            self.used += columns;
        }
    }

    fn grow(&mut self, word: &str, columns: usize, style: Style) {
        if self.word_columns + columns > self.most - self.used && self.begun {
            self.next_row();
        }
        if self.word_columns + columns <= self.most - self.used {
            push(&mut self.word, word, style);
            self.word_columns += columns;
            return;
        }
        self.settle();
        self.tear(word, style);
    }

    /// A word that is longer than a row.
    fn tear(&mut self, word: &str, style: Style) {
        let mut piece = String::new();
        for grapheme in word.graphemes(true) {
            let own = columns(grapheme);
            let gains = self.begun || self.used > span_columns(self.others);
            if self.used + own > self.most && gains {
                push(&mut self.row, &std::mem::take(&mut piece), style);
                self.next_row();
            }
            // Wider than the whole row: nothing can show it.
            if self.used + own > self.most {
                continue;
            }
            piece.push_str(grapheme);
            self.used += own;
            self.begun = true;
        }
        push(&mut self.row, &piece, style);
    }

    /// The word is whole: it stays on this row.
    fn settle(&mut self) {
        if self.word.is_empty() {
            return;
        }
        for span in std::mem::take(&mut self.word) {
            push(&mut self.row, &span.content, span.style);
        }
        self.used += std::mem::take(&mut self.word_columns);
        self.begun = true;
    }

    fn next_row(&mut self) {
        let row = std::mem::replace(&mut self.row, self.others.to_vec());
        self.done.push(finished(row, self.base));
        self.used = span_columns(self.others);
        self.begun = false;
    }

    fn done(mut self) -> Vec<Line<'static>> {
        self.settle();
        if self.begun || self.done.is_empty() {
            self.done.push(finished(self.row, self.base));
        }
        self.done
    }
}

fn span_columns(spans: &[Span<'_>]) -> usize {
    spans.iter().map(|span| width(&span.content)).sum()
}

/// A row without the blanks at its end.
fn finished(mut row: Vec<Span<'static>>, base: Style) -> Line<'static> {
    if let Some(last) = row.last_mut()
        && last.content.ends_with(' ')
        && last.style.bg.is_none()
    {
        last.content = last.content.trim_end_matches(' ').to_owned().into();
    }
    Line::from(row).style(base)
}

/// Adds text to a row: to its last span where the style is the same.
pub fn push(row: &mut Vec<Span<'static>>, text: &str, style: Style) {
    if text.is_empty() {
        return;
    }
    match row.last_mut() {
        Some(last) if last.style == style => last.content.to_mut().push_str(text),
        Some(_) | None => row.push(Span::styled(text.to_owned(), style)),
    }
}
