//! Tables fitted to a width: columns as wide as they need, else the widest give way first.

use pulldown_cmark::Alignment;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::width::width;
use super::wrap::wrap;
use crate::console::view::theme::Theme;

/// Narrower columns cannot be read.
const NARROWEST: usize = 5;

#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) alignments: Vec<Alignment>,
    /// The head first.
    pub(super) rows: Vec<Vec<Line<'static>>>,
}

impl Table {
    pub(super) fn lines(&self, most: usize, theme: &Theme) -> Vec<Line<'static>> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let widths = self.widths(columns, most);
        match widths {
            Some(widths) => self.grid(&widths, theme),
            None => self.records(most, theme),
        }
    }

    /// How wide each column is; nothing if they do not fit side by side.
    fn widths(&self, columns: usize, most: usize) -> Option<Vec<usize>> {
        let natural = |at: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(at));
            cells.map(line_width).max().unwrap_or_default().max(1)
        };
        let mut widths: Vec<usize> = (0..columns).map(natural).collect();
        let room = most.checked_sub(columns.saturating_sub(1) * 3)?;
        while widths.iter().sum::<usize>() > room {
            let widest = widths.iter().copied().max().unwrap_or_default();
            if widest <= NARROWEST {
                return None;
            }
            let next = widths.iter().copied().filter(|own| *own < widest).max().unwrap_or(0);
            let wide = widths.iter().filter(|own| **own == widest).count();
            let over = widths.iter().sum::<usize>() - room;
            let step = over.div_ceil(wide).min(widest - next.max(NARROWEST)).max(1);
            widths.iter_mut().filter(|own| **own == widest).for_each(|own| *own -= step);
        }
        Some(widths)
    }

    fn grid(&self, widths: &[usize], theme: &Theme) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        for (at, row) in self.rows.iter().enumerate() {
            let style = if at == 0 { theme.strong } else { Style::new() };
            self.row_lines(row, widths, style, theme, &mut lines);
            if at == 0 {
                let (rule, cross) = (theme.glyphs.rule, theme.glyphs.cross);
                let parts: Vec<String> = widths.iter().map(|width| rule.repeat(*width)).collect();
                let line = parts.join(&format!("{rule}{cross}{rule}"));
                lines.push(Line::styled(line, theme.border));
            }
        }
        lines
    }

    fn row_lines(
        &self,
        row: &[Line<'static>],
        widths: &[usize],
        style: Style,
        theme: &Theme,
        lines: &mut Vec<Line<'static>>,
    ) {
        let cells: Vec<Vec<Line<'static>>> = widths
            .iter()
            .enumerate()
            .map(|(at, width)| row.get(at).map(|cell| wrap(cell, *width)).unwrap_or_default())
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(1).max(1);
        for y in 0..height {
            let mut spans = Vec::new();
            for (at, (cell, width)) in cells.iter().zip(widths).enumerate() {
                if at > 0 {
                    spans.push(Span::styled(format!(" {} ", theme.glyphs.bar), theme.border));
                }
                let used = cell.get(y).map(line_width).unwrap_or_default();
                let free = width.saturating_sub(used);
                let before = match self.alignments.get(at) {
                    Some(Alignment::Right) => free,
                    Some(Alignment::Center) => free / 2,
                    Some(Alignment::Left | Alignment::None) | None => 0,
                };
                spans.push(Span::raw(" ".repeat(before)));
                for span in cell.get(y).into_iter().flat_map(|line| &line.spans) {
                    spans.push(Span::styled(span.content.clone(), style.patch(span.style)));
                }
                if at + 1 < widths.len() {
                    spans.push(Span::raw(" ".repeat(free - before)));
                }
            }
            lines.push(Line::from(spans));
        }
    }

    /// One row after the other, each cell with the head of its column.
    fn records(&self, most: usize, theme: &Theme) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        let Some((head, rows)) = self.rows.split_first() else { return lines };
        for (at, row) in rows.iter().enumerate() {
            if at > 0 {
                lines.push(Line::styled(theme.glyphs.rule.repeat(3.min(most)), theme.border));
            }
            for (column, cell) in row.iter().enumerate() {
                let mut spans = Vec::new();
                if let Some(name) = head.get(column) {
                    let named = |span: &Span<'static>| span.clone().patch_style(theme.strong);
                    spans.extend(name.spans.iter().map(named));
                    spans.push(Span::raw(": "));
                }
                spans.extend(cell.spans.iter().cloned());
                lines.extend(wrap(&Line::from(spans), most));
            }
        }
        lines
    }
}

fn line_width(line: &Line<'_>) -> usize {
    line.spans.iter().map(|span| width(&span.content)).sum()
}
