//! A list to pick from: the palette, agents, themes, questions of the console itself.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::{centred, open};
use crate::console::state::dialog::Picker;
use crate::console::text::width::{cut, fit, width};
use crate::console::view::theme::Theme;

/// A list is easy to read in so many columns.
const WIDEST: u16 = 100;

pub fn draw_picker(
    area: Rect,
    buf: &mut Buffer,
    picker: &Picker,
    theme: &Theme,
) -> Option<Position> {
    let matching = picker.matching();
    let size = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
    let head = picker.words.len() + usize::from(!picker.words.is_empty());
    let search = usize::from(picker.narrows) * 2;
    let wanted = size(picker.entries.len() + head + search + 2);
    let place = centred(area, WIDEST, wanted.min(area.height * 3 / 4).max(size(head + search + 3)));
    let title = Line::styled(format!(" {} ", picker.title), theme.title);
    let inner = open(place, buf, title, theme);
    let mut y = inner.y;
    for words in &picker.words {
        if y < inner.bottom() {
            buf.set_stringn(inner.x + 1, y, words, usize::from(inner.width), theme.text);
        }
        y += 1;
    }
    y += u16::from(!picker.words.is_empty());
    let mut cursor = None;
    if picker.narrows && y < inner.bottom() {
        let line = Line::from(vec![
            Span::styled(format!(" {} ", theme.glyphs.prompt), theme.accent),
            Span::styled(picker.filter.clone(), theme.text),
        ]);
        buf.set_line(inner.x, y, &line, inner.width);
        cursor = Some(Position::new(inner.x + 3 + size(width(&picker.filter)), y));
        y += 2;
    }
    let room = usize::from(inner.bottom().saturating_sub(y));
    let first = (picker.selected + 1).saturating_sub(room);
    let columns = usize::from(inner.width);
    let label_width = matching.iter().map(|entry| width(&entry.label)).max().unwrap_or(0);
    let help_width = matching.iter().map(|entry| width(&entry.help)).max().unwrap_or(0);
    // What a label does for the person stands in its help: that is cut last.
    let label_width = label_width.min(columns.saturating_sub(help_width + 5).max(columns * 2 / 5));
    for (at, (entry, y)) in matching.iter().skip(first).zip(y..inner.bottom()).enumerate() {
        let keys = width(&entry.keys);
        let label = match entry.help.is_empty() {
            true => cut(&entry.label, columns.saturating_sub(keys + 3)).into_owned(),
            false => fit(&cut(&entry.label, label_width), label_width),
        };
        let help = cut(&entry.help, columns.saturating_sub(width(&label) + keys + 5)).into_owned();
        let line = Line::from(vec![
            Span::styled(format!(" {label}  "), theme.text),
            Span::styled(help, theme.faint),
        ]);
        buf.set_line(inner.x, y, &line, inner.width);
        let x = inner.right().saturating_sub(size(keys + 1)).max(inner.x);
        buf.set_stringn(x, y, &entry.keys, keys, theme.key);
        if first + at == picker.selected {
            buf.set_style(Rect { y, height: 1, ..inner }, theme.selection);
        }
    }
    if matching.is_empty() && y < inner.bottom() {
        buf.set_stringn(inner.x + 1, y, "no match", columns, theme.faint);
    }
    cursor
}
