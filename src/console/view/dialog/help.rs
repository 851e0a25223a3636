//! All keys, from the one table, by where they work.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{centred, draw_rows, open};
use crate::console::keys::{Chord, Context};
use crate::console::state::State;
use crate::console::text::width::{fit, width};
use crate::console::text::wrap::wrap_after;
use crate::console::view::theme::Theme;

/// Columns of the keys.
const KEYS: usize = 20;

pub fn draw_help(area: Rect, buf: &mut Buffer, state: &State, scroll: usize, theme: &Theme) {
    let place = centred(area, 100, area.height);
    let inner = open(place, buf, Line::styled(" keys ", theme.title), theme);
    let lines = lines(state, usize::from(inner.width.saturating_sub(2)), theme);
    let most = lines.len().saturating_sub(usize::from(inner.height));
    let first = scroll.min(most);
    for (line, y) in lines.iter().skip(first).zip(inner.y..inner.bottom()) {
        buf.set_line(inner.x + 1, y, line, inner.width.saturating_sub(1));
    }
    draw_rows(place, buf, (first, usize::from(inner.height), lines.len()), theme);
}

pub fn lines(state: &State, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for context in Context::ALL {
        // The same again, for terminals that keep the chords: the popup shows it.
        if *context == Context::Prefix {
            continue;
        }
        let rows: Vec<_> = state.keymap.rows(*context).collect();
        if rows.is_empty() {
            continue;
        }
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        lines.push(Line::styled(context.title(), theme.heading));
        for (row, keys) in rows {
            let (keys, help) = match (row.action.jump(), state.keymap.jumps(*context)) {
                (Some(0), Some(all)) => (all, "jump to the lead, or to a teammate"),
                (Some(_), Some(_)) => continue,
                (Some(_), None) | (None, _) => (joined(keys), row.help),
            };
            let line = Line::from(vec![
                Span::styled(format!("  {} ", fit(&keys, KEYS.max(width(&keys)))), theme.key),
                Span::styled(help, theme.text),
            ]);
            lines.extend(wrap_after(&line, columns, KEYS + 3));
        }
    }
    lines
}

fn joined(keys: &[Chord]) -> String {
    keys.iter().map(Chord::shown).collect::<Vec<_>>().join(" ")
}
