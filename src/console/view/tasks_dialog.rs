//! The dialogs about a task: details, status, blockers, a new one, deleting.

use ratatui::buffer::Buffer;
use ratatui::layout::{Margin, Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Clear, Widget as _};

use super::footer::key_of;
use super::tasks::Look;
use super::tasks_screen::{details, write};
use super::theme::Theme;
use crate::console::keys::{Action, Context};
use crate::console::state::State;
use crate::console::state::editor::Editor;
use crate::console::state::tasks::dialog::{Blockers, NewTask, STATUSES, TaskDialog};
use crate::console::text::sanitize::one_line;
use crate::console::text::width::{cut, width};
use crate::console::text::wrap::wrap;
use crate::console::update::tasks::offered;
use crate::protocol::ids::TaskId;

/// The dialog that lies over the tasks, if there is one. Says where the cursor belongs.
pub fn draw_task_dialog(
    area: Rect,
    buf: &mut Buffer,
    state: &State,
    theme: &Theme,
) -> Option<Position> {
    match state.tasks.dialog.as_ref()? {
        TaskDialog::Details { id, scroll } => draw_details(area, buf, state, id, *scroll, theme),
        TaskDialog::Status { id, at } => draw_status(area, buf, state, id, *at, theme),
        TaskDialog::Blockers(blockers) => draw_blockers(area, buf, state, blockers, theme),
        TaskDialog::Delete { id } => draw_delete(area, buf, state, id, theme),
        TaskDialog::New(new) => return draw_new(area, buf, state, new, theme),
    }
    None
}

/// A frame in the middle of an area; its inside comes back.
fn framed(
    area: Rect,
    buf: &mut Buffer,
    title: &str,
    hint: &[(String, &str)],
    size: (usize, usize),
    theme: &Theme,
) -> Rect {
    let short = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
    let columns = short(size.0 + 4).min(area.width);
    let rows = short(size.1 + 2).min(area.height);
    let place = Rect {
        x: area.x + (area.width - columns) / 2,
        y: area.y + (area.height - rows) / 2,
        width: columns,
        height: rows,
    };
    Clear.render(place, buf);
    buf.set_style(place, theme.dialog);
    let mut keys = Vec::new();
    for (key, meaning) in hint {
        keys.push(Span::styled(format!(" {key} "), theme.key));
        keys.push(Span::styled(format!("{meaning} "), theme.faint));
    }
    let room = usize::from(columns).saturating_sub(4);
    let frame = Block::new()
        .borders(Borders::ALL)
        .border_set(theme.glyphs.border_focused)
        .border_style(theme.border_focused)
        .title(Line::styled(format!(" {} ", cut(title, room)), theme.title))
        .title_bottom(Line::from(keys));
    let inner = frame.inner(place).inner(Margin::new(1, 0));
    frame.render(place, buf);
    inner
}

fn title(state: &State, id: &TaskId) -> String {
    let subject = state.tasks.get(id).map(|task| one_line(&task.subject)).unwrap_or_default();
    format!("#{} {subject}", one_line(id.as_str()))
}

fn draw_details(
    area: Rect,
    buf: &mut Buffer,
    state: &State,
    id: &TaskId,
    scroll: usize,
    theme: &Theme,
) {
    let Some(task) = state.tasks.get(id) else { return };
    let most = usize::from(area.width).saturating_sub(8).min(76);
    let lines = details(state, task, most, theme);
    let key = |action| key_of(state, Context::Sheet, action, theme);
    let hint = [
        (format!("{}{}", key(Action::Up), key(Action::Down)), "scroll"),
        (key(Action::Escape), "close"),
    ];
    let inside = framed(area, buf, "task", &hint, (most, lines.len()), theme);
    let last = lines.len().saturating_sub(usize::from(inside.height));
    write(inside, buf, &lines, scroll.min(last));
}

fn draw_status(area: Rect, buf: &mut Buffer, state: &State, id: &TaskId, at: usize, theme: &Theme) {
    let key = |action| key_of(state, Context::List, action, theme);
    let hint = [(key(Action::Accept), "take"), (key(Action::Escape), "close")];
    let size = (width(&title(state, id)).clamp(28, 50), STATUSES.len());
    let inside = framed(area, buf, &title(state, id), &hint, size, theme);
    for (nth, (y, (key, _, words))) in (inside.y..inside.bottom()).zip(STATUSES).enumerate() {
        let line = Rect { y, height: 1, ..inside };
        let spans = vec![
            Span::styled(format!(" {key} "), theme.key),
            Span::styled(format!(" {words}"), theme.text),
        ];
        Line::from(spans).render(line, buf);
        if nth == at {
            buf.set_style(line, theme.selection);
        }
    }
}

fn draw_delete(area: Rect, buf: &mut Buffer, state: &State, id: &TaskId, theme: &Theme) {
    let waiting = state.tasks.set().blocked(id).count();
    let owner = state.tasks.get(id).and_then(|task| task.owner());
    let mut lines = vec![Line::styled(title(state, id), theme.strong), Line::default()];
    if let Some(owner) = owner {
        let words = format!("{} has it.", one_line(owner.as_str()));
        lines.push(Line::styled(words, theme.attention));
    }
    if waiting > 0 {
        let words = format!("{waiting} other tasks will no longer wait for it.");
        lines.push(Line::styled(words, theme.text));
    }
    lines.push(Line::styled("It cannot be brought back.", theme.text));
    let hint = [("y".to_owned(), "delete"), ("n".to_owned(), "keep")];
    let most = usize::from(area.width).saturating_sub(8).min(60);
    let lines: Vec<Line<'_>> = lines.iter().flat_map(|line| wrap(line, most)).collect();
    let inside = framed(area, buf, "delete this task?", &hint, (most, lines.len()), theme);
    write(inside, buf, &lines, 0);
}

fn draw_blockers(area: Rect, buf: &mut Buffer, state: &State, blockers: &Blockers, theme: &Theme) {
    let others = offered(&state.tasks, &blockers.id);
    let most = usize::from(area.width).saturating_sub(8).min(64);
    let refused = blockers.refused.as_ref().map(|why| {
        let words = format!("{} {}", theme.glyphs.failed, one_line(why));
        wrap(&Line::styled(words, theme.bad), most)
    });
    let below = refused.as_ref().map_or(0, Vec::len);
    let room = usize::from(area.height).saturating_sub(4 + below).max(1);
    let rows = others.len().clamp(1, room);
    let key = |action| key_of(state, Context::List, action, theme);
    let hint = [
        ("Space".to_owned(), "choose"),
        (key(Action::Accept), "done"),
        (key(Action::Escape), "close"),
    ];
    let heading = format!("#{} waits for", one_line(blockers.id.as_str()));
    let inside = framed(area, buf, &heading, &hint, (most, rows + below), theme);
    let first = blockers.at.saturating_sub(rows / 2).min(others.len().saturating_sub(rows));
    for (nth, (y, id)) in (inside.y..).zip(others.iter().skip(first).take(rows)).enumerate() {
        let line = Rect { y, height: 1, ..inside }.intersection(inside);
        let Some(task) = state.tasks.get(id) else { continue };
        let look = Look::of(state, task, theme);
        let chosen = if blockers.chosen.contains(id) { "[x] " } else { "[ ] " };
        let words = cut(&title(state, id), most.saturating_sub(6)).into_owned();
        let spans = vec![
            Span::styled(chosen, theme.key),
            Span::styled(format!("{} ", look.sign), look.sign_style),
            Span::styled(words, theme.text),
        ];
        Line::from(spans).render(line, buf);
        if first + nth == blockers.at {
            buf.set_style(line, theme.selection);
        }
    }
    if others.is_empty() {
        Line::styled("there is no other task", theme.faint).render(inside, buf);
    }
    if let Some(lines) = refused {
        let top = inside.bottom().saturating_sub(u16::try_from(below).unwrap_or(0)).max(inside.y);
        write(Rect { y: top, height: inside.bottom() - top, ..inside }, buf, &lines, 0);
    }
}

fn draw_new(
    area: Rect,
    buf: &mut Buffer,
    state: &State,
    new: &NewTask,
    theme: &Theme,
) -> Option<Position> {
    let most = usize::from(area.width).saturating_sub(8).min(70);
    let lines = new.description.lines().len().clamp(3, 8);
    let key = |action| key_of(state, Context::List, action, theme);
    let hint = [
        (key(Action::Accept), "create it"),
        (format!("{}{}", key(Action::Up), key(Action::Down)), "field"),
        (key_of(state, Context::Composer, Action::Newline, theme), "new line"),
        (key(Action::Escape), "close"),
    ];
    let inside = framed(area, buf, "new task", &hint, (most, lines + 3), theme);
    let label = |words: &'static str, active: bool| {
        Line::styled(words, if active { theme.accent } else { theme.faint })
    };
    let mut at = inside.rows();
    label("subject", !new.in_description).render(at.next()?, buf);
    let subject = at.next()?;
    label("description", new.in_description)
        .render(Rect { y: subject.y.saturating_add(1), ..subject }.intersection(inside), buf);
    let top = subject.y.saturating_add(2).min(inside.bottom());
    let body = Rect { y: top, height: inside.bottom() - top, ..inside };
    let of_subject = field(subject, buf, &new.subject, theme);
    let of_body = field(body, buf, &new.description, theme);
    if new.in_description { of_body } else { of_subject }
}

/// The lines of an editor around its cursor, and where that is.
fn field(area: Rect, buf: &mut Buffer, editor: &Editor, theme: &Theme) -> Option<Position> {
    if area.is_empty() {
        return None;
    }
    let (row, _) = editor.cursor();
    let high = usize::from(area.height);
    let first = row.saturating_sub(high - 1);
    let before = width(editor.before_cursor());
    let aside = before.saturating_sub(usize::from(area.width) - 1);
    for (y, (nth, line)) in
        (area.y..area.bottom()).zip(editor.lines().iter().enumerate().skip(first))
    {
        let from = if nth == row { aside } else { 0 };
        let skipped = crate::console::text::width::prefix(line, from).len();
        let shown = line.get(skipped..).unwrap_or_default();
        Line::styled(shown.to_owned(), theme.text).render(Rect { y, height: 1, ..area }, buf);
    }
    let short = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
    Some(Position::new(area.x + short(before - aside), area.y + short(row - first)))
}
