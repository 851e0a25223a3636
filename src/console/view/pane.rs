//! The panes of agents, in the colours of their badges, and the panels beside them.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::symbols::merge::MergeStrategy;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Widget as _};

use super::cache::Cache;
use super::layout::{Form, Plan, Spot};
use super::theme::Theme;
use super::transcript::draw_transcript;
use super::{has_keys, queue, roster, status, tasks};
use crate::console::keys::{Action, Context};
use crate::console::state::State;
use crate::console::state::agents::{Agent, Kind};
use crate::console::state::ui::{Drag, Focus};
use crate::console::text::sanitize::one_line;
use crate::console::text::width::{cut, width};

/// All panes and panels. Whoever has the keys is drawn last, so that its frame wins where
/// neighbours share one.
pub fn draw_panes(plan: &Plan, buf: &mut Buffer, state: &State, cache: &mut Cache, theme: &Theme) {
    draw_panels(plan, buf, state, cache, theme);
    let selected = |spot: &&Spot| spot.agent == state.selected;
    for spot in plan.panes.iter().filter(|spot| !selected(spot)) {
        draw_pane(spot, buf, state, cache, theme);
    }
    for spot in plan.panes.iter().filter(selected) {
        draw_pane(spot, buf, state, cache, theme);
    }
}

fn draw_panels(plan: &Plan, buf: &mut Buffer, state: &State, cache: &mut Cache, theme: &Theme) {
    if let Some((area, members)) = &plan.roster {
        let inner = panel(*area, buf, Line::from(" others "), false, theme);
        roster::draw_roster(inner, buf, state, members, theme);
    }
    let mut panels = [(plan.tasks, Focus::Tasks), (plan.queue, Focus::Queue)];
    panels.sort_by_key(|(_, focus)| has_keys(state, *focus));
    for (area, focus) in panels {
        let Some(area) = area else { continue };
        let is_focused = has_keys(state, focus);
        if focus == Focus::Tasks {
            let (done, all) = state.tasks.counts();
            let title =
                if all == 0 { " tasks ".to_owned() } else { format!(" tasks {done}/{all} ") };
            let inner = panel(area, buf, Line::from(title), is_focused, theme);
            tasks::draw_tasks(inner, buf, state, cache, theme);
        } else {
            let waiting = state.asks.len();
            let style = if waiting > 0 { theme.attention } else { theme.title };
            let title = match waiting {
                0 => " needs you ".to_owned(),
                waiting => format!(" needs you {waiting} "),
            };
            let inner = panel(area, buf, Line::styled(title, style), is_focused, theme);
            queue::draw_queue(inner, buf, state, theme);
        }
    }
}

/// A frame with a title; gives what is inside.
pub fn panel(area: Rect, buf: &mut Buffer, title: Line<'_>, focused: bool, theme: &Theme) -> Rect {
    let (set, style, name) = match focused {
        true => (theme.glyphs.border_focused, theme.border_focused, theme.border_focused),
        // A border may be hardly seen, a name may not.
        false => (theme.glyphs.border, theme.border, theme.faint),
    };
    let block = Block::new()
        .borders(Borders::ALL)
        .border_set(set)
        .border_style(style)
        .merge_borders(MergeStrategy::Fuzzy)
        .title_style(name.patch(theme.title))
        .title(title);
    let inner = block.inner(area);
    block.render(area, buf);
    inner
}

/// One agent: its frame, its title, its transcript.
pub fn draw_pane(spot: &Spot, buf: &mut Buffer, state: &State, cache: &mut Cache, theme: &Theme) {
    let Some(agent) = state.agents.get(&spot.agent) else { return };
    if spot.area.is_empty() {
        return;
    }
    let is_selected = agent.id == state.selected;
    let is_focused = is_selected && (has_keys(state, Focus::Pane) || state.is_zoomed());
    draw_frame(spot, buf, state, agent, (is_selected, is_focused), theme);
    let inner = spot.inner();
    if agent.transcript.is_empty() {
        draw_empty(inner, buf, state, agent, theme);
    } else {
        draw_transcript(inner, buf, &agent.transcript, &agent.scroll, cache, theme, is_focused);
    }
    if let Some(drag) = state.ui.dragged.as_ref().filter(|drag| drag.pane == agent.id) {
        for (y, from, to) in dragged(drag, inner) {
            let row = Rect::new(from, y, to.saturating_sub(from), 1);
            buf.set_style(row.intersection(buf.area), theme.selection);
        }
    }
}

fn draw_frame(
    spot: &Spot,
    buf: &mut Buffer,
    state: &State,
    agent: &Agent,
    (is_selected, is_focused): (bool, bool),
    theme: &Theme,
) {
    let badge = theme.badge(agent.color.as_deref());
    let border = match (agent.kind, is_selected) {
        _ if is_focused && agent.color.is_none() => theme.border_focused,
        (Kind::Lead, true) => theme.border_focused,
        (Kind::Lead, false) => theme.border,
        (_, true) => badge,
        (_, false) => badge.remove_modifier(Modifier::BOLD).add_modifier(Modifier::DIM),
    };
    let set = match is_focused {
        true => theme.glyphs.border_focused,
        false => theme.glyphs.border,
    };
    let room = usize::from(spot.area.width.saturating_sub(4));
    let block = Block::new()
        .borders(match spot.form {
            Form::Boxed => Borders::ALL,
            Form::Open => Borders::TOP,
        })
        .border_set(set)
        .border_style(border)
        .merge_borders(MergeStrategy::Fuzzy)
        // The border may step back; who needs the person may not.
        .title_style(Style::new().remove_modifier(Modifier::DIM))
        .title(title(state, agent, is_selected, room, theme));
    let block = match found(agent, theme).filter(|found| is_focused && found.width() < room / 2) {
        Some(found) => block.title_top(found.right_aligned()),
        None => block,
    };
    block.render(spot.area, buf);
}

/// Badge, name, sign, what it is doing; at the end what is new.
fn title<'a>(
    state: &State,
    agent: &Agent,
    is_selected: bool,
    room: usize,
    theme: &Theme,
) -> Line<'a> {
    let badge = theme.badge(agent.color.as_deref());
    let name_style = if is_selected { badge.add_modifier(Modifier::BOLD) } else { badge };
    let sign = if agent.color.is_some() { theme.glyphs.badge } else { "" };
    let name = format!("{sign}{}", cut(&agent.name, room.min(24)));
    let (mark, mark_style) = status::sign(state, agent, theme);
    let news = match agent.unseen {
        0 => String::new(),
        new => format!(" +{new}"),
    };
    let fixed = width(&name) + width(mark) + width(&news) + 5;
    let words = status::words(state, agent);
    let words = cut(&words, room.saturating_sub(fixed)).into_owned();
    let words_style = match mark_style == theme.attention || mark_style == theme.bad {
        true => mark_style,
        false => theme.faint,
    };
    let mut spans = vec![Span::raw(" "), Span::styled(name, name_style)];
    if room > fixed.saturating_sub(4) {
        spans.push(Span::styled(format!(" {mark} "), mark_style));
        spans.push(Span::styled(words, words_style));
        spans.push(Span::styled(news, theme.accent));
    }
    spans.push(Span::raw(" "));
    Line::from(spans)
}

/// What is searched in a transcript, and which of the finds is shown.
fn found(agent: &Agent, theme: &Theme) -> Option<Line<'static>> {
    let search = agent.scroll.search.as_ref()?;
    let needle = cut(&one_line(&search.needle), 24).into_owned();
    let place = match search.place {
        (_, 0) => "not found".to_owned(),
        (nth, all) => format!("{nth} of {all}"),
    };
    Some(Line::from(vec![
        Span::styled(format!(" /{needle} "), theme.key),
        Span::styled(format!("{place} "), theme.text),
    ]))
}

/// Before anything was said.
fn draw_empty(area: Rect, buf: &mut Buffer, state: &State, agent: &Agent, theme: &Theme) {
    let key = |text: &str| Span::styled(text.to_owned(), theme.key);
    let help = state.keymap.key(Context::Everywhere, Action::ShowHelp);
    let faint = |text: String| Span::styled(text, theme.faint);
    let lines: Vec<Line<'_>> = match agent.kind {
        Kind::Lead => vec![
            Line::styled("Tell the lead what you want done.", theme.text),
            Line::default(),
            Line::from(vec![
                key("@"),
                faint(" files and teammates   ".into()),
                key("/"),
                faint(" commands   ".into()),
                key(&help),
                faint(" all keys".into()),
            ]),
            Line::from(faint(one_line(&state.about.project))),
        ],
        Kind::Teammate | Kind::Subagent => {
            let about = agent.about.as_ref().map(|about| one_line(&about.agent_type));
            vec![Line::from(faint(about.unwrap_or_else(|| "nothing yet".to_owned())))]
        }
    };
    let air = if area.height > 6 { 1 } else { 0 };
    for (line, y) in lines.iter().zip(area.y + air..area.bottom()) {
        buf.set_line(area.x + 2, y, line, area.width.saturating_sub(3));
    }
}

/// The rows of a drag within a pane: row, first column, column behind the last.
pub fn dragged(drag: &Drag, inner: Rect) -> Vec<(u16, u16, u16)> {
    let clamp = |(x, y): (u16, u16)| {
        let x = x.clamp(inner.x, inner.right().saturating_sub(1).max(inner.x));
        let y = y.clamp(inner.y, inner.bottom().saturating_sub(1).max(inner.y));
        (y, x)
    };
    let (mut one, mut two) = (clamp(drag.from), clamp(drag.to));
    if one == two || inner.is_empty() {
        return Vec::new();
    }
    if two < one {
        (one, two) = (two, one);
    }
    (one.0..=two.0)
        .map(|y| {
            let from = if y == one.0 { one.1 } else { inner.x };
            let to = if y == two.0 { two.1 + 1 } else { inner.right() };
            (y, from, to)
        })
        .collect()
}

/// The tasks in one line: how far, what is being done, what is ready.
pub fn task_line(state: &State, columns: usize, theme: &Theme) -> Line<'static> {
    use crate::console::state::tasks::Stage;
    let (done, all) = state.tasks.counts();
    let mut spans = vec![Span::styled(format!("tasks {done}/{all}"), theme.title)];
    let mut left = columns.saturating_sub(width(&spans[0].content));
    let stages = state.tasks.shown().map(|task| (task, state.tasks.stage(task)));
    let mut ready = 0;
    for (task, stage) in stages {
        if stage == Stage::Ready {
            ready += 1;
        }
        if stage != Stage::Working {
            continue;
        }
        let what = task.active_form.as_deref().unwrap_or(&task.subject);
        let text = format!("  {} #{} {}", theme.glyphs.working, task.id, cut(&one_line(what), 32));
        let badge = task.owner().map(|owner| {
            let style = theme.badge(state.agents.color_of(owner));
            (format!(" {}", tasks::owner_name(owner, theme)), style)
        });
        let needed = width(&text) + badge.as_ref().map_or(0, |(text, _)| width(text));
        if needed + 12 > left {
            spans.push(Span::styled(format!(" {}", theme.glyphs.ellipsis), theme.faint));
            break;
        }
        left -= needed;
        spans.push(Span::styled(text, Style::new().patch(theme.text)));
        spans.extend(badge.map(|(text, style)| Span::styled(text, style)));
    }
    if ready > 0 && left > 12 {
        spans.push(Span::styled(format!("  {} {ready} ready", theme.glyphs.open), theme.accent));
    }
    Line::from(spans)
}
