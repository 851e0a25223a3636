//! What the person sees: state in, cells of a terminal out.
//!
//! Drawn from the bottom up: header, panes, panels, composer, footer; then what lies over them;
//! an ask over all.

pub mod cache;
pub mod cells;
mod composer;
pub mod dag;
mod dag_paint;
pub mod dialog;
pub mod editor;
mod footer;
pub mod glyphs;
mod header;
pub mod layout;
mod notices;
pub mod pane;
pub mod queue;
pub mod roster;
pub mod scrub;
pub mod status;
pub mod surroundings;
pub mod tasks;
pub mod tasks_dialog;
pub mod tasks_screen;
pub mod theme;
pub mod transcript;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;

pub use self::cache::Cache;
use self::layout::Plan;
use self::theme::Theme;
use super::state::State;
use super::state::dialog::Dialog;
use super::state::ui::Focus;

/// The whole screen.
pub fn draw(frame: &mut Frame<'_>, state: &State, cache: &mut Cache, theme: &Theme) {
    let area = frame.area();
    if let Some(cursor) = paint(area, frame.buffer_mut(), state, cache, theme) {
        frame.set_cursor_position(cursor);
    }
}

/// The whole screen into a buffer; where the cursor is, if it is anywhere.
pub fn paint(
    area: Rect,
    buf: &mut Buffer,
    state: &State,
    cache: &mut Cache,
    theme: &Theme,
) -> Option<Position> {
    let colors = state.agents.all();
    cache.begin(
        state.now,
        colors.filter_map(|agent| Some((agent.name.as_str(), agent.color.as_deref()?))),
    );
    buf.set_style(area, theme.text);
    // A terminal that shrinks may be painted before it has told so.
    let plan = layout::arrange(state);
    if plan.is_too_small || area.width < state.size.columns || area.height < state.size.rows {
        draw_too_small(area, buf, theme);
        return None;
    }
    header::draw_header(plan.header, buf, state, theme);
    let mut cursor = draw_below(&plan, buf, state, cache, theme);
    for layer in &state.layers {
        cursor = dialog::draw_layer(layer, area, buf, state, cache, theme);
    }
    if state.tasks.dialog.is_some() {
        cursor = tasks_dialog::draw_task_dialog(plan.body, buf, state, theme);
    }
    footer::draw_footer(plan.footer, buf, state, theme);
    notices::draw_notices(&plan, buf, state, theme);
    if state.ui.prefix {
        dialog::draw_prefix(area, buf, state, theme);
    }
    if state.asks.dialog.is_some() {
        cursor = None;
        dialog::draw_ask_over(&plan, area, buf, state, cache, theme);
    }
    cursor.filter(|cursor| area.contains(*cursor))
}

/// What lies on the bottom. Nothing of it is drawn where something hides all of it.
fn draw_below(
    plan: &Plan,
    buf: &mut Buffer,
    state: &State,
    cache: &mut Cache,
    theme: &Theme,
) -> Option<Position> {
    if state.layers.iter().any(|layer| matches!(layer, Dialog::Zoom | Dialog::Tasks)) {
        return None;
    }
    if let Some(strip) = plan.strip {
        roster::draw_strip(strip, buf, state, theme);
    }
    pane::draw_panes(plan, buf, state, cache, theme);
    if let Some(area) = plan.queue_strip {
        let line = queue::strip(state, usize::from(area.width.saturating_sub(2)), theme);
        buf.set_line(area.x + 1, area.y, &line, area.width.saturating_sub(1));
    }
    if let Some(area) = plan.task_strip {
        let line = pane::task_line(state, usize::from(area.width.saturating_sub(2)), theme);
        buf.set_line(area.x + 1, area.y, &line, area.width.saturating_sub(1));
    }
    composer::draw_composer(plan, buf, state, theme)
}

fn draw_too_small(area: Rect, buf: &mut Buffer, theme: &Theme) {
    let (columns, rows) = layout::LEAST;
    let words = format!("quarterdeck needs {columns}×{rows}");
    let line = Line::styled(super::text::width::cut(&words, usize::from(area.width)), theme.text);
    if !area.is_empty() {
        buf.set_line(area.x, area.y, &line, area.width);
    }
}

/// Whether a panel has the keys.
fn has_keys(state: &State, focus: Focus) -> bool {
    state.ui.focus == focus && state.layers.is_empty() && state.asks.dialog.is_none()
}
