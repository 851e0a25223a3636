//! The first line: which session, who needs the person, how far the work is, what it cost.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::status::brief;
use super::theme::Theme;
use crate::console::commands::mode_name;
use crate::console::state::State;
use crate::console::state::agents::{Group, Kind};
use crate::console::text::sanitize::one_line;
use crate::console::text::width::{cut, width};
use crate::protocol::liveness;

/// A part of the line; the less it matters, the sooner it goes.
struct Part {
    spans: Vec<Span<'static>>,
    matters: u8,
}

pub fn draw_header(area: Rect, buf: &mut Buffer, state: &State, theme: &Theme) {
    buf.set_style(area, theme.bar);
    let mut parts = vec![name(state, theme), needs(state, theme)];
    parts.extend(counts(state, theme));
    parts.extend(money(state, theme));
    parts.push(mode(state, theme));
    let room = usize::from(area.width.saturating_sub(1));
    while wide(&parts) > room {
        let least = parts.iter().map(|part| part.matters).min().unwrap_or(0);
        if least >= 9 {
            break;
        }
        parts.retain(|part| part.matters != least);
    }
    let mut spans = vec![Span::raw(" ")];
    for (at, part) in parts.into_iter().enumerate() {
        if at > 0 {
            spans.push(Span::raw("   "));
        }
        spans.extend(part.spans);
    }
    buf.set_line(area.x, area.y, &Line::from(spans), area.width);
}

fn wide(parts: &[Part]) -> usize {
    let text = |part: &Part| part.spans.iter().map(|span| width(&span.content)).sum::<usize>();
    parts.iter().map(|part| text(part) + 3).sum()
}

fn part(matters: u8, text: impl Into<String>, style: Style) -> Part {
    Part { spans: vec![Span::styled(text.into(), style)], matters }
}

fn name(state: &State, theme: &Theme) -> Part {
    let name = match &state.about.team {
        Some(team) => one_line(team),
        None => one_line(state.about.project.rsplit('/').next().unwrap_or_default()),
    };
    let most = usize::from(state.size.columns / 4).max(8);
    let spans = vec![
        Span::styled("quarterdeck", theme.strong),
        Span::styled(format!(" {} {}", theme.glyphs.dot, cut(&name, most)), theme.text),
    ];
    Part { spans, matters: 9 }
}

/// Who needs the person, who works, who waits: told from evidence alone.
fn needs(state: &State, theme: &Theme) -> Part {
    let team: Vec<_> = state.agents.team().collect();
    let asks = state.asks.len();
    let troubled = team.iter().filter(|agent| {
        state.group(agent) == Group::NeedsYou && state.asks_of(&agent.id).next().is_none()
    });
    // An ask counts once, and so does an agent in trouble that asks nothing.
    let need = asks + troubled.filter(|agent| agent.evidence.open_asks.is_empty()).count();
    let working = team.iter().filter(|agent| state.group(agent) == Group::Working).count();
    let waits = team
        .iter()
        .filter(|agent| matches!(agent.state(state.now), liveness::State::WaitingForPeer(_)));
    let mut spans = Vec::new();
    let mut add = |count: usize, words: &str, style: Style| {
        if count > 0 {
            if !spans.is_empty() {
                spans.push(Span::styled(format!(" {} ", theme.glyphs.dot), theme.faint));
            }
            spans.push(Span::styled(format!("{count} {words}"), style));
        }
    };
    add(need, if need == 1 { "needs you" } else { "need you" }, theme.attention);
    add(working, "working", theme.good);
    add(waits.count(), "waits", theme.faint);
    if spans.is_empty() {
        spans.push(Span::styled("all quiet", theme.faint));
    }
    Part { spans, matters: 8 }
}

fn counts(state: &State, theme: &Theme) -> Option<Part> {
    let (done, all) = state.tasks.counts();
    (all > 0).then(|| part(6, format!("tasks {done}/{all}"), theme.text))
}

fn money(state: &State, theme: &Theme) -> Option<Part> {
    let tokens: u64 = state.agents.all().map(|agent| agent.tokens).sum();
    let usd = state.about.usd.filter(|usd| *usd > 0.0).map(|usd| format!("${usd:.2}"));
    let tokens = (tokens > 0).then(|| format!("{} tok", brief(tokens)));
    let text: Vec<String> = [usd, tokens].into_iter().flatten().collect();
    (!text.is_empty()).then(|| part(3, text.join(&format!(" {} ", theme.glyphs.dot)), theme.faint))
}

/// The mode of whoever is selected, named where it is not the lead.
fn mode(state: &State, theme: &Theme) -> Part {
    let Some(agent) = state.selected_agent() else { return part(0, "", theme.text) };
    let name = mode_name(agent.mode);
    let style = if name == "default" { theme.faint } else { theme.accent };
    match agent.kind {
        Kind::Lead => part(5, format!("mode {name}"), style),
        Kind::Teammate | Kind::Subagent => {
            part(5, format!("{} mode {name}", cut(&agent.name, 12)), style)
        }
    }
}
