//! The composer: to whom, what is written, what is offered.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::symbols::merge::MergeStrategy;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Clear, Widget as _};

use super::editor::laid;
use super::has_keys;
use super::layout::{Form, Plan};
use super::theme::Theme;
use crate::console::state::State;
use crate::console::state::composer::Completion;
use crate::console::state::ui::Focus;
use crate::console::text::sanitize::one_line;
use crate::console::text::width::{cut, fit, width};

/// Completions that are shown at a time.
const SHOWN: usize = 8;

/// Draws it; where the cursor is, if it is here.
pub fn draw_composer(
    plan: &Plan,
    buf: &mut Buffer,
    state: &State,
    theme: &Theme,
) -> Option<Position> {
    let area = plan.composer;
    let is_focused = has_keys(state, Focus::Composer);
    let inner = draw_frame(plan, buf, state, is_focused, theme);
    let prompt = format!("{} ", theme.glyphs.prompt);
    let color = state.selected_agent().and_then(|agent| agent.color.clone());
    buf.set_stringn(inner.x, inner.y, &prompt, 2, theme.badge(color.as_deref()));
    let text_area = Rect { x: inner.x + 2, width: inner.width.saturating_sub(2), ..inner };
    if state.composer.search.is_some() {
        draw_search(text_area, buf, state, theme);
        return is_focused.then(|| Position::new(text_area.x, text_area.y));
    }
    let laid = laid(&state.composer.draft.editor, usize::from(text_area.width));
    let height = usize::from(text_area.height).max(1);
    let first = laid.cursor.0.saturating_sub(height - 1);
    if state.composer.draft.is_empty() {
        let (x, y, width) = (text_area.x, text_area.y, usize::from(text_area.width));
        match state.offered() {
            Some(offer) => {
                let (end, _) = buf.set_stringn(x, y, one_line(offer), width, theme.text);
                let left = usize::from(text_area.right().saturating_sub(end));
                buf.set_stringn(end, y, "   Enter sends this, or type your own", left, theme.faint);
            }
            None => {
                buf.set_stringn(x, y, placeholder(state), width, theme.faint);
            }
        }
    }
    for (row, y) in laid.rows.iter().skip(first).zip(text_area.y..text_area.bottom()) {
        buf.set_stringn(text_area.x, y, row, usize::from(text_area.width), theme.text);
    }
    if let Some(completion) = &state.composer.completion {
        draw_completion(completion, area, buf, theme);
    }
    let short = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
    let cursor = Position::new(
        text_area.x + short(laid.cursor.1).min(text_area.width.saturating_sub(1)),
        text_area.y + short(laid.cursor.0 - first),
    );
    is_focused.then_some(cursor)
}

fn placeholder(state: &State) -> &'static str {
    if state.about.is_replay {
        return "this session is over: you can only read it";
    }
    match state.selected_agent() {
        Some(agent) if agent.evidence.ended => "this agent has ended",
        Some(agent) if agent.is_busy() => "what you send now is read at its next step",
        Some(_) | None => "",
    }
}

fn draw_frame(plan: &Plan, buf: &mut Buffer, state: &State, focused: bool, theme: &Theme) -> Rect {
    let (set, style) = match focused {
        true => (theme.glyphs.border_focused, theme.border_focused),
        false => (theme.glyphs.border, theme.border),
    };
    let borders = match plan.composer_form {
        Some(Form::Boxed) => Borders::ALL,
        Some(Form::Open) | None => Borders::TOP,
    };
    let block = Block::new()
        .borders(borders)
        .border_set(set)
        .border_style(style)
        .merge_borders(MergeStrategy::Fuzzy)
        .title_style(theme.text)
        .title(to_whom(state, theme));
    let inner = block.inner(plan.composer);
    block.render(plan.composer, buf);
    Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner }
}

/// The name that the prompt wears, and what waits to be heard.
fn to_whom<'a>(state: &State, theme: &Theme) -> Line<'a> {
    let Some(agent) = state.selected_agent() else { return Line::default() };
    // Not in the colour of the frame that it stands on.
    let badge = theme.title.patch(theme.badge(agent.color.as_deref()));
    let sign = if agent.color.is_some() { theme.glyphs.badge } else { "" };
    let name = format!("{sign}{}", cut(&agent.name, 24));
    let mut spans =
        vec![Span::styled(" to ", theme.faint), Span::styled(name, badge), Span::raw(" ")];
    let queued = agent.queued.iter().filter(|waiting| waiting.from == "user").count();
    if queued > 0 {
        let words = format!("{} {queued} queued ", theme.glyphs.dot);
        spans.push(Span::styled(words, theme.attention));
    }
    Line::from(spans)
}

fn draw_search(area: Rect, buf: &mut Buffer, state: &State, theme: &Theme) {
    let Some(search) = &state.composer.search else { return };
    let found = state.composer.history.matches(&search.wanted);
    let text = found.get(search.at).copied().unwrap_or("no match");
    let text = crate::console::text::sanitize::one_line(text);
    let head = format!(
        "search `{}` {}/{}: ",
        search.wanted,
        (search.at + 1).min(found.len()),
        found.len()
    );
    let room = usize::from(area.width).saturating_sub(width(&head));
    let line = Line::from(vec![
        Span::styled(head, theme.accent),
        Span::styled(cut(&text, room).into_owned(), theme.text),
    ]);
    buf.set_line(area.x, area.y, &line, area.width);
}

/// The list above the composer.
fn draw_completion(completion: &Completion, composer: Rect, buf: &mut Buffer, theme: &Theme) {
    let many = completion.items.len().min(SHOWN);
    let first = completion.selected.saturating_sub(many.saturating_sub(1));
    let shown = &completion.items[first.min(completion.items.len())..];
    let shown = &shown[..many.min(shown.len())];
    // What is taken is the name as it is; what is seen of it is harmless.
    let words: Vec<(String, String)> =
        shown.iter().map(|item| (one_line(item.text.trim_end()), one_line(&item.help))).collect();
    let text_width = words.iter().map(|(text, _)| width(text)).max().unwrap_or(0);
    let help_width = words.iter().map(|(_, help)| width(help)).max().unwrap_or(0);
    let wide = (text_width + help_width + 6).min(usize::from(composer.width.saturating_sub(4)));
    let height = u16::try_from(many + 2).unwrap_or(0).min(composer.y);
    let area = Rect {
        x: composer.x + 2,
        y: composer.y - height,
        width: u16::try_from(wide).unwrap_or(composer.width),
        height,
    };
    Clear.render(area, buf);
    buf.set_style(area, theme.dialog);
    let inner = super::pane::panel(area, buf, Line::default(), true, theme);
    let rows = shown.iter().zip(&words).zip(inner.y..inner.bottom());
    for (at, ((item, (text, help)), y)) in rows.enumerate() {
        let is_selected = first + at == completion.selected;
        let style = match item.color.as_deref() {
            Some(color) => theme.badge(Some(color)),
            None => theme.accent,
        };
        let text = fit(text, text_width);
        let line = Line::from(vec![
            Span::styled(format!(" {text}  "), style),
            Span::styled(help.as_str(), theme.faint),
        ]);
        buf.set_line(inner.x, y, &line, inner.width);
        if is_selected {
            buf.set_style(Rect { y, height: 1, ..inner }, theme.selection);
        }
    }
}
