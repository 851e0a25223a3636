//! Rows that lose nothing: a command is broken where it must be, and every blank stays.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation as _;

use crate::console::text::width::width;

/// A line as rows of at most that many columns, each with something before it. Broken behind a
/// blank where there is one, else anywhere.
pub fn whole_rows(
    line: &Line<'_>,
    most: usize,
    first: &Span<'static>,
    others: &Span<'static>,
) -> Vec<Line<'static>> {
    let room = most.saturating_sub(width(&first.content)).max(1);
    let mut rows: Vec<Vec<Piece<'_>>> = vec![Vec::new()];
    let mut used = 0;
    for span in &line.spans {
        for grapheme in span.content.graphemes(true) {
            let piece = Piece { text: grapheme, style: line.style.patch(span.style) };
            let columns = width(grapheme);
            if used + columns > room {
                let carried = carried(rows.last_mut());
                used = carried.iter().map(|piece| width(piece.text)).sum();
                rows.push(carried);
            }
            used += columns;
            if let Some(row) = rows.last_mut() {
                row.push(piece);
            }
        }
    }
    let before = |at: usize| if at == 0 { first.clone() } else { others.clone() };
    rows.into_iter().enumerate().map(|(at, row)| joined(before(at), &row)).collect()
}

struct Piece<'a> {
    text: &'a str,
    style: Style,
}

/// What of a full row belongs to the next: what stands behind its last blank.
fn carried<'a>(row: Option<&mut Vec<Piece<'a>>>) -> Vec<Piece<'a>> {
    let Some(row) = row else { return Vec::new() };
    match row.iter().rposition(|piece| piece.text == " ") {
        Some(blank) if blank + 1 < row.len() => row.split_off(blank + 1),
        Some(_) | None => Vec::new(),
    }
}

fn joined(before: Span<'static>, row: &[Piece<'_>]) -> Line<'static> {
    let mut spans: Vec<Span<'static>> = vec![before];
    for run in row.chunk_by(|one, next| one.style == next.style) {
        let text: String = run.iter().map(|piece| piece.text).collect();
        spans.extend(run.first().map(|first| Span::styled(text, first.style)));
    }
    Line::from(spans)
}
