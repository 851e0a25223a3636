//! Agents in lines: those without a pane by what they are to the person, or all in one line.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::status;
use super::theme::Theme;
use crate::console::state::State;
use crate::console::state::agents::{Agent, Group};
use crate::console::text::width::{cut, width};
use crate::protocol::ids::AgentId;

/// Columns of the word before the names.
const HEAD: usize = 11;
/// A name in the list takes no more.
const NAME: usize = 16;

/// One name on its place.
struct Entry<'a> {
    agent: &'a Agent,
    row: usize,
    column: usize,
}

/// Names by group, flowing within the width.
fn flow<'a>(state: &'a State, members: &[AgentId], columns: usize) -> (Vec<Entry<'a>>, Vec<Group>) {
    let mut entries = Vec::new();
    // The group that each row belongs to, in the order of rows.
    let mut rows = Vec::new();
    for group in Group::ALL {
        let agents = members.iter().filter_map(|id| state.agents.get(id));
        let mut column = HEAD;
        let mut begun = false;
        for agent in agents.filter(|agent| state.group(agent) == *group) {
            let wide = entry_width(agent);
            if !begun || (column + wide > columns && column > HEAD) {
                rows.push(*group);
                column = HEAD;
                begun = true;
            }
            entries.push(Entry { agent, row: rows.len() - 1, column });
            column += wide;
        }
    }
    (entries, rows)
}

fn entry_width(agent: &Agent) -> usize {
    // Badge, name, blank, sign, two blanks.
    width(&cut(&agent.name, NAME)) + 5
}

pub fn lines_needed(state: &State, members: &[AgentId], columns: usize) -> usize {
    flow(state, members, columns).1.len()
}

/// Those without a pane, below each other by group.
pub fn draw_roster(
    area: Rect,
    buf: &mut Buffer,
    state: &State,
    members: &[AgentId],
    theme: &Theme,
) {
    let (entries, rows) = flow(state, members, usize::from(area.width));
    for (at, group) in rows.iter().enumerate().take(usize::from(area.height)) {
        let is_first = at == 0 || rows.get(at - 1) != Some(group);
        let title = if is_first { group.title() } else { "" };
        let style = match group {
            Group::NeedsYou => theme.attention,
            Group::Working | Group::Idle | Group::Ended => theme.faint,
        };
        let y = area.y + u16::try_from(at).unwrap_or_default();
        buf.set_stringn(area.x, y, format!(" {title}"), usize::from(area.width), style);
    }
    for entry in entries.iter().filter(|entry| entry.row < usize::from(area.height)) {
        let line = entry_line(state, entry.agent, theme);
        let x = area.x + u16::try_from(entry.column).unwrap_or(u16::MAX).min(area.width);
        let y = area.y + u16::try_from(entry.row).unwrap_or_default();
        buf.set_line(x, y, &line, area.right().saturating_sub(x));
    }
}

fn entry_line(state: &State, agent: &Agent, theme: &Theme) -> Line<'static> {
    let (sign, style) = status::sign(state, agent, theme);
    let name = cut(&agent.name, NAME).into_owned();
    let badge = theme.badge(agent.color.as_deref());
    let badge = if agent.id == state.selected { badge.patch(theme.selection) } else { badge };
    Line::from(vec![
        Span::styled(format!("{}{name}", theme.glyphs.badge), badge),
        Span::raw(" "),
        Span::styled(sign, style),
    ])
}

/// Who stands under the mouse in the list.
pub fn member_at(state: &State, area: Rect, members: &[AgentId], at: Position) -> Option<AgentId> {
    let inner = Rect { x: area.x + 1, y: area.y + 1, width: area.width.saturating_sub(2), ..area };
    let row = usize::from(at.y.checked_sub(inner.y)?);
    let column = usize::from(at.x.checked_sub(inner.x)?);
    let (entries, _) = flow(state, members, usize::from(inner.width));
    let hit = entries.iter().find(|entry| {
        entry.row == row
            && (entry.column..entry.column + entry_width(entry.agent)).contains(&column)
    });
    hit.map(|entry| entry.agent.id.clone())
}

/// One piece of the one-line roster: from where to where, who, and how it looks.
struct Piece {
    from: usize,
    to: usize,
    agent: Option<AgentId>,
    spans: Vec<(String, Style)>,
}

/// All agents in one line, as many as fit around the selected one.
fn pieces(state: &State, columns: usize, theme: &Theme) -> Vec<Piece> {
    let team: Vec<&Agent> = state.agents.team().collect();
    let label = |agent: &Agent| cut(&agent.name, NAME).into_owned();
    let wide = |agent: &Agent| width(&label(agent)) + 4 + new_words(agent).len();
    let at = team.iter().position(|agent| agent.id == state.selected).unwrap_or(0);
    // From the selected one to the left as long as there is room, then from there on.
    let mut from = at;
    let mut used = team.get(at).map_or(0, |agent| wide(agent));
    let tail: usize = team.iter().skip(at + 1).map(|agent| wide(agent)).sum();
    let room = columns.saturating_sub(12);
    while from > 0 && used + wide(team[from - 1]) + tail.min(room / 2) <= room {
        from -= 1;
        used += wide(team[from]);
    }
    let mut pieces = Vec::new();
    let mut x = 1;
    if from > 0 {
        let words = format!("{} {from} ", theme.glyphs.ellipsis);
        let end = x + width(&words);
        pieces.push(Piece { from: x, to: end, agent: None, spans: vec![(words, theme.faint)] });
        x = end;
    }
    for (place, agent) in team.iter().enumerate().skip(from) {
        let end = x + wide(agent);
        let left = team.len() - place;
        if end + if left > 1 { 6 } else { 0 } > columns && place > at {
            let words = format!("{} {left} more", theme.glyphs.ellipsis);
            let to = x + width(&words);
            pieces.push(Piece { from: x, to, agent: None, spans: vec![(words, theme.faint)] });
            break;
        }
        pieces.push(Piece {
            from: x,
            to: end,
            agent: Some(agent.id.clone()),
            spans: spans(state, agent, theme),
        });
        x = end;
    }
    pieces
}

fn new_words(agent: &Agent) -> String {
    match agent.unseen {
        0 => String::new(),
        new => format!("+{} ", new.min(99)),
    }
}

fn spans(state: &State, agent: &Agent, theme: &Theme) -> Vec<(String, Style)> {
    let (sign, style) = status::sign(state, agent, theme);
    let is_selected = agent.id == state.selected;
    let badge = theme.badge(agent.color.as_deref());
    let name = format!("{}{}", theme.glyphs.badge, cut(&agent.name, NAME));
    let look = if is_selected { badge.patch(theme.selection) } else { badge };
    vec![(name, look), (sign.to_owned(), style), (format!(" {}", new_words(agent)), theme.faint)]
}

pub fn draw_strip(area: Rect, buf: &mut Buffer, state: &State, theme: &Theme) {
    for piece in pieces(state, usize::from(area.width), theme) {
        let line: Line<'_> =
            piece.spans.iter().map(|(text, style)| Span::styled(text.as_str(), *style)).collect();
        let x = area.x + u16::try_from(piece.from).unwrap_or(u16::MAX).min(area.width);
        buf.set_line(x, area.y, &line, area.right().saturating_sub(x));
    }
}

/// Who stands at this column of the one-line roster.
pub fn agent_at(state: &State, area: Rect, column: u16) -> Option<AgentId> {
    let column = usize::from(column.checked_sub(area.x)?);
    let pieces = pieces(state, usize::from(area.width), &Theme::default());
    pieces.into_iter().find(|piece| (piece.from..piece.to).contains(&column))?.agent
}
