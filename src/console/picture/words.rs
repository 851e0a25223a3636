//! A buffer as plain text: one line per row, blanks at the end cut.

use ratatui::buffer::{Buffer, Cell};
use unicode_width::UnicodeWidthStr;

pub fn text(buffer: &Buffer) -> String {
    let mut out = String::new();
    for row in rows(buffer) {
        let line: String = row.map(|(_, cell)| cell.symbol()).collect();
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// The cells of each row with their columns. What a wide character covers is left out.
pub fn rows(buffer: &Buffer) -> impl Iterator<Item = impl Iterator<Item = (u16, &Cell)>> {
    let width = usize::from(buffer.area.width).max(1);
    buffer.content.chunks(width).map(|row| {
        let mut covered = 0;
        (0u16..).zip(row).filter(move |(_, cell)| {
            let is_covered = covered > 0;
            covered = match is_covered {
                true => covered - 1,
                false => cell.symbol().width().saturating_sub(1),
            };
            !is_covered
        })
    })
}
