//! What lies over the panels.

pub mod ask;
mod ask_body;
mod ask_pages;
mod ask_rows;
mod help;
mod picker;
mod sheet;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget as _};

use super::cache::Cache;
use super::layout::{self, Plan};
use super::pane::{draw_pane, panel};
use super::queue::draw_queue;
use super::tasks_screen::draw_dag;
use super::theme::Theme;
use crate::console::keys::{Action, Chord, Context};
use crate::console::state::State;
use crate::console::state::dialog::Dialog;
use crate::console::state::editor::Editor;
use crate::console::text::width::{fit, width};

/// An ask is easy to read in so many columns.
const ASK_COLUMNS: u16 = 96;
/// Less beside the asker's pane is no room for it.
const ASK_LEAST: u16 = 46;
/// Columns of a page that is copied.
const COPIED_COLUMNS: usize = 98;
/// Columns beside a dialog that are not worth keeping.
const TORN: u16 = 16;
/// On a screen that is narrower than this an ask has all of it.
const ASK_ALONE: u16 = 76;

/// Draws a layer; where the cursor is, if it is in it.
pub fn draw_layer(
    layer: &Dialog,
    area: Rect,
    buf: &mut Buffer,
    state: &State,
    cache: &mut Cache,
    theme: &Theme,
) -> Option<Position> {
    match layer {
        Dialog::Help { scroll } => help::draw_help(area, buf, state, *scroll, theme),
        Dialog::Picker(picker) => return picker::draw_picker(area, buf, picker, theme),
        Dialog::Sheet(sheet) => sheet::draw_sheet(area, buf, state, sheet, theme),
        Dialog::Zoom => draw_pane(&layout::zoomed(state), buf, state, cache, theme),
        Dialog::Tasks => {
            let body = Rect { y: area.y + 1, height: area.height.saturating_sub(2), ..area };
            draw_dag(body, buf, state, cache, theme);
        }
        Dialog::Queue => {
            let wanted = u16::try_from(state.asks.len()).unwrap_or(u16::MAX).saturating_add(2);
            let area = centred(area, 90, wanted.max(4));
            let title = Line::styled(format!(" needs you {} ", state.asks.len()), theme.attention);
            let inner = open(area, buf, title, theme);
            draw_queue(inner, buf, state, theme);
        }
        Dialog::Find(editor) => return draw_find(area, buf, editor, theme),
    }
    None
}

/// All that a page says, as far as it is one.
pub fn text_of(layer: &Dialog, state: &State) -> Option<String> {
    let theme = Theme::named(&state.theme).unwrap_or_default();
    let lines = match layer {
        Dialog::Help { .. } => help::lines(state, COPIED_COLUMNS, &theme),
        Dialog::Sheet(sheet) => sheet::page(state, sheet, &theme).1,
        Dialog::Picker(_) | Dialog::Zoom | Dialog::Tasks | Dialog::Queue | Dialog::Find(_) => {
            return None;
        }
    };
    let lines: Vec<String> =
        lines.iter().map(|line| line.to_string().trim_end().to_owned()).collect();
    Some(lines.join("\n"))
}

/// An area in the middle, as large as it can be.
fn centred(area: Rect, columns: u16, rows: u16) -> Rect {
    // A few columns of what lies below, left and right of it, would only look torn.
    let width = if area.width < columns.saturating_add(TORN) { area.width } else { columns };
    let height = rows.min(area.height.saturating_sub(4));
    Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    }
}

/// Says in the frame of a page which rows of how many are shown, where that is not all.
fn draw_rows(
    place: Rect,
    buf: &mut Buffer,
    (first, height, all): (usize, usize, usize),
    theme: &Theme,
) {
    if all <= height {
        return;
    }
    let words = format!(" rows {}-{} of {all} ", first + 1, (first + height).min(all));
    let columns = u16::try_from(width(&words)).unwrap_or(u16::MAX);
    let x = place.right().saturating_sub(columns.saturating_add(2)).max(place.x);
    buf.set_stringn(
        x,
        place.bottom().saturating_sub(1),
        words,
        usize::from(place.width),
        theme.faint,
    );
}

/// An empty frame over what was there; gives what is inside.
fn open(area: Rect, buf: &mut Buffer, title: Line<'_>, theme: &Theme) -> Rect {
    Clear.render(area, buf);
    buf.set_style(area, theme.dialog);
    panel(area, buf, title, true, theme)
}

/// A line at the bottom, as in other pagers.
fn draw_find(area: Rect, buf: &mut Buffer, editor: &Editor, theme: &Theme) -> Option<Position> {
    let row = Rect { y: area.bottom().saturating_sub(2), height: 1, ..area };
    Clear.render(row, buf);
    buf.set_style(row, theme.dialog);
    let text = editor.text();
    let line = Line::from(vec![Span::styled(" / ", theme.key), Span::styled(text, theme.text)]);
    buf.set_line(row.x, row.y, &line, row.width);
    let x = u16::try_from(width(editor.before_cursor())).unwrap_or(u16::MAX);
    Some(Position::new(row.x.saturating_add(3).saturating_add(x), row.y))
}

/// What can follow `Ctrl+X`.
pub fn draw_prefix(area: Rect, buf: &mut Buffer, state: &State, theme: &Theme) {
    let mut entries: Vec<(String, &str)> = Vec::new();
    for (row, keys) in state.keymap.rows(Context::Prefix) {
        match (row.action.jump(), state.keymap.jumps(Context::Prefix)) {
            (Some(0), Some(all)) => entries.push((all, "jump to an agent")),
            (Some(_), Some(_)) => {}
            (Some(_), None) | (None, _) => {
                let keys: Vec<String> = keys.iter().map(Chord::shown).collect();
                entries.push((keys.join(" "), row.help));
            }
        }
    }
    let key_width = entries.iter().map(|(keys, _)| width(keys)).max().unwrap_or(0);
    let help_width = entries.iter().map(|(_, help)| width(help)).max().unwrap_or(0);
    let column = key_width + help_width + 4;
    let across = (usize::from(area.width.saturating_sub(4)) / column.max(1)).clamp(1, 3);
    let down = entries.len().div_ceil(across);
    let size = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
    let height = size(down + 2).min(area.height.saturating_sub(2));
    let wide = size(across * column + 2).min(area.width);
    let place = Rect {
        x: area.x + (area.width - wide) / 2,
        y: area.bottom().saturating_sub(height + 1),
        width: wide,
        height,
    };
    let prefix = state.keymap.key(Context::Everywhere, Action::Prefix);
    let inner = open(place, buf, Line::styled(format!(" {prefix}, then "), theme.title), theme);
    for (at, (keys, help)) in entries.iter().enumerate() {
        let (x, y) = (size(at / down * column), size(at % down));
        if y >= inner.height || x >= inner.width {
            continue;
        }
        let line = Line::from(vec![
            Span::styled(format!(" {} ", fit(keys, key_width)), theme.key),
            Span::styled((*help).to_owned(), theme.text),
        ]);
        buf.set_line(inner.x + x, inner.y + y, &line, inner.width - x);
    }
}

/// An ask, beside the pane of whoever asks where there is room for it.
pub fn draw_ask_over(
    plan: &Plan,
    area: Rect,
    buf: &mut Buffer,
    state: &State,
    cache: &mut Cache,
    theme: &Theme,
) {
    let is_full = state.asks.dialog.as_ref().is_some_and(|dialog| dialog.full);
    let body = Rect { y: 1, height: area.height.saturating_sub(2), ..area };
    if is_full || body.width < ASK_ALONE {
        ask::draw_ask(body, buf, state, &mut cache.ask, &cache.pens, theme);
        return;
    }
    let docked = beside(plan, state, body);
    let room = docked.unwrap_or(body);
    let columns = if room.width < ASK_COLUMNS + TORN { room.width } else { ASK_COLUMNS };
    let wanted = ask::wanted_height(state, columns, &mut cache.ask, &cache.pens, theme);
    let height = wanted.min(room.height);
    // Beside a pane on the left it keeps to the right; else it stands in the middle.
    let x = match docked.is_some_and(|room| room.x > body.x) {
        true => room.right() - columns,
        false => room.x + (room.width - columns) / 2,
    };
    let y = room.y + (room.height - height) / 2;
    let place = Rect { x, y, width: columns, height };
    ask::draw_ask(place, buf, state, &mut cache.ask, &cache.pens, theme);
}

/// The part of the screen that does not cover the asker's pane, if it is wide enough.
fn beside(plan: &Plan, state: &State, body: Rect) -> Option<Rect> {
    let chain = state.asks.shown().map(|known| known.ask.chain.clone()).unwrap_or_default();
    // The asker itself before those through whom it asks.
    let mut spots = chain.iter().flat_map(|id| plan.panes.iter().find(|spot| spot.agent == *id));
    let panes_are_seen = state.layers.is_empty() && plan.panes.len() > 1;
    let spot = spots.next().filter(|_| panes_are_seen)?;
    // Lines and composer below the panes stay whole.
    let panes = plan.panes.iter().map(|spot| spot.area).reduce(Rect::union)?;
    let rows = Rect { y: panes.y, height: panes.height, ..body };
    let left = Rect { width: spot.area.x.saturating_sub(body.x), ..rows };
    let right = Rect { x: spot.area.right(), width: body.right() - spot.area.right(), ..rows };
    let larger = if left.width >= right.width { left } else { right };
    (larger.width >= ASK_LEAST).then_some(larger)
}
