//! The tasks over the whole screen: the graph, and beside it what there is to know of the
//! selected task.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Clear, Widget as _};

use super::Cache;
use super::footer::key_of;
use super::tasks::{Look, draw_graph, owner_spans};
use super::theme::Theme;
use crate::console::keys::{Action, Context};
use crate::console::state::State;
use crate::console::state::asks::gist::age;
use crate::console::state::tasks::Stage;
use crate::console::text::sanitize::{one_line, printable};
use crate::console::text::wrap::wrap;
use crate::protocol::ids::TaskId;
use crate::protocol::task::Task;

/// A screen at least so wide has room for details beside the graph.
const DETAILS_FROM: u16 = 120;
const DETAILS: u16 = 42;

/// All of it, frame included.
pub fn draw_dag(area: Rect, buf: &mut Buffer, state: &State, cache: &mut Cache, theme: &Theme) {
    Clear.render(area, buf);
    let (done, all) = state.tasks.counts();
    let frame = Block::new()
        .borders(Borders::ALL)
        .border_set(theme.glyphs.border_focused)
        .border_style(theme.border_focused)
        .title(Line::styled(format!(" tasks {done}/{all} "), theme.title))
        .title_bottom(summary(state, theme));
    let inner = frame.inner(area);
    frame.render(area, buf);
    if state.tasks.is_empty() {
        let words = "No tasks yet. The lead makes them for its team; + adds one now.";
        Line::styled(words, theme.faint).render(inner, buf);
        return;
    }
    let has_details = area.width >= DETAILS_FROM && area.height >= 12;
    let beside = if has_details { DETAILS } else { 0 };
    let [graph, side] =
        Layout::horizontal([Constraint::Fill(1), Constraint::Length(beside)]).areas(inner);
    let window = graph.inner(ratatui::layout::Margin::new(1, 0));
    let hidden = draw_graph(window, buf, state, cache, theme);
    draw_hidden(area, buf, hidden, state, theme);
    if has_details {
        let frame = Block::new()
            .borders(Borders::LEFT)
            .border_set(theme.glyphs.border)
            .border_style(theme.border);
        let inside = frame.inner(side).inner(ratatui::layout::Margin::new(1, 0));
        frame.render(side, buf);
        if let Some(task) = state.tasks.selected() {
            let lines = details(state, task, usize::from(inside.width), theme);
            write(inside, buf, &lines, 0);
        }
    }
}

/// Says in the frame that there is more than is seen, and which keys show it.
fn draw_hidden(area: Rect, buf: &mut Buffer, hidden: usize, state: &State, theme: &Theme) {
    if hidden == 0 {
        return;
    }
    let moves = [Action::PanLeft, Action::PanDown, Action::PanUp, Action::PanRight];
    let keys: String =
        moves.iter().map(|action| key_of(state, Context::Tasks, *action, theme)).collect();
    let words = Line::from(vec![
        Span::styled(format!(" {hidden} out of sight "), theme.text),
        Span::styled(format!("{keys} "), theme.key),
        Span::styled("move ", theme.faint),
    ]);
    let columns = u16::try_from(words.width()).unwrap_or(u16::MAX);
    if let Some(x) = area.right().checked_sub(columns.saturating_add(2)).filter(|x| *x > area.x) {
        // At the top: below stands how many there are of each kind.
        buf.set_line(x, area.y, &words, columns);
    }
}

/// How many there are of each kind, and how long the way to the end is.
fn summary(state: &State, theme: &Theme) -> Line<'static> {
    let (mut working, mut ready, mut blocked, mut stale) = (0, 0, 0, 0);
    for task in state.tasks.shown() {
        match state.tasks.stage(task) {
            Stage::Working => working += 1,
            Stage::Ready => ready += 1,
            Stage::Blocked(_) => blocked += 1,
            Stage::Done | Stage::Taken | Stage::Foreign => {}
        }
        stale += usize::from(state.claim(task).is_some_and(|claim| claim.is_stale()));
    }
    let glyphs = &theme.glyphs;
    let mut spans = vec![
        Span::styled(format!(" {} {working} working ", glyphs.working), theme.text),
        Span::styled(format!(" {} {ready} ready ", glyphs.open), theme.accent),
        Span::styled(format!(" {} {blocked} blocked ", glyphs.waits), theme.faint),
    ];
    if stale > 0 {
        let words = format!(" {} {stale} stale (u releases) ", glyphs.needs_you);
        spans.push(Span::styled(words, theme.attention));
    }
    if state.tasks.shows_path {
        let steps = state.tasks.set().critical_path().len();
        spans.push(Span::styled(format!(" critical path: {steps} to go "), theme.attention));
    }
    Line::from(spans)
}

/// All there is to know of a task.
pub fn details(state: &State, task: &Task, most: usize, theme: &Theme) -> Vec<Line<'static>> {
    let look = Look::of(state, task, theme);
    let mut lines = wrap(
        &Line::styled(
            format!("#{} {}", one_line(task.id.as_str()), one_line(&task.subject)),
            theme.heading,
        ),
        most,
    );
    let stage = match &look.stage {
        Stage::Done => "completed",
        Stage::Working => "in progress",
        Stage::Ready => "ready: no owner",
        Stage::Taken => "not started",
        Stage::Blocked(_) => "blocked",
        Stage::Foreign => "unknown status",
    };
    let since = state.tasks.since(&task.id).map(|since| age(state.now, since));
    let since = since.map(|since| format!(", for {since}")).unwrap_or_default();
    lines.push(Line::from(vec![
        Span::styled(format!("{} ", look.sign), look.sign_style),
        Span::styled(format!("{stage}{since}"), theme.text),
    ]));
    if task.owner().is_some() {
        lines.push(Line::from(owner_spans(state, task, &look, theme)));
    }
    let before: Vec<&TaskId> = state.tasks.set().blockers(&task.id).collect();
    let after: Vec<&TaskId> = state.tasks.set().blocked(&task.id).collect();
    lines.extend(neighbours("waits for", &before, state, most, theme));
    lines.extend(neighbours("before", &after, state, most, theme));
    if !task.description.trim().is_empty() {
        lines.push(Line::default());
        for line in printable(&task.description).lines() {
            lines.extend(wrap(&Line::styled(line.to_owned(), theme.text), most));
        }
    }
    lines
}

fn neighbours(
    title: &'static str,
    ids: &[&TaskId],
    state: &State,
    most: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    if ids.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![Line::default(), Line::styled(title, theme.faint)];
    for id in ids {
        let id_text = one_line(id.as_str());
        let Some(task) = state.tasks.get(id) else {
            lines.push(Line::styled(format!("? #{id_text} cannot be read"), theme.attention));
            continue;
        };
        let look = Look::of(state, task, theme);
        let words = format!("#{id_text} {}", one_line(&task.subject));
        let room = most.saturating_sub(2);
        let words = crate::console::text::width::cut(&words, room).into_owned();
        lines.push(Line::from(vec![
            Span::styled(format!("{} ", look.sign), look.sign_style),
            Span::styled(words, look.word_style),
        ]));
    }
    lines
}

/// Lines from `first` on, one below the other.
pub fn write(area: Rect, buf: &mut Buffer, lines: &[Line<'_>], first: usize) {
    for (y, line) in (area.y..area.bottom()).zip(lines.iter().skip(first)) {
        line.render(Rect { y, height: 1, ..area }, buf);
    }
}
