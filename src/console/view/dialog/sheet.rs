//! Pages to read: the team, costs, contexts, permissions, what was found.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::{centred, draw_rows, open};
use crate::console::commands::mode_name;
use crate::console::state::State;
use crate::console::state::agents::Agent;
use crate::console::state::dialog::{Hit, Page, Sheet};
use crate::console::state::offers::{Checked, CheckedKind};
use crate::console::text::sanitize::one_line;
use crate::console::text::width::{cut, fit};
use crate::console::text::wrap::{wrap, wrap_with};
use crate::console::view::status::{self, brief};
use crate::console::view::theme::Theme;
use crate::protocol::ask::Lasts;
use crate::protocol::event::Level;

/// Columns of a name.
const NAME: usize = 16;
/// A page is easy to read in so many columns.
const COLUMNS: u16 = 110;
/// Columns of a bar.
const BAR: usize = 24;

pub fn draw_sheet(area: Rect, buf: &mut Buffer, state: &State, sheet: &Sheet, theme: &Theme) {
    let (title, mut lines) = page(state, sheet, theme);
    if matches!(sheet.page, Page::Words { .. } | Page::Doctor(_)) {
        let room = usize::from(centred(area, COLUMNS, 5).width.saturating_sub(4));
        lines = lines.iter().flat_map(|line| wrapped(line, room)).collect();
    }
    let wanted = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX);
    let place = centred(area, COLUMNS, wanted.max(5));
    let inner = open(place, buf, Line::styled(format!(" {title} "), theme.title), theme);
    let height = usize::from(inner.height);
    let most = lines.len().saturating_sub(height);
    let follows = matches!(sheet.page, Page::Found { .. });
    let first = match follows {
        true => (sheet.selected + 1).saturating_sub(height).min(most),
        false => sheet.scroll.min(most),
    };
    for (at, (line, y)) in lines.iter().skip(first).zip(inner.y..inner.bottom()).enumerate() {
        buf.set_line(inner.x + 1, y, line, inner.width.saturating_sub(1));
        if follows && first + at == sheet.selected {
            buf.set_style(Rect { y, height: 1, ..inner }, theme.selection);
        }
    }
    draw_rows(place, buf, (first, height, lines.len()), theme);
}

/// What stands behind a sign goes on below itself.
fn wrapped(line: &Line<'static>, room: usize) -> Vec<Line<'static>> {
    match line.spans.as_slice() {
        [sign, _] => wrap_with(line, room, &[], &[Span::raw(" ".repeat(sign.width()))]),
        _ => wrap(line, room),
    }
}

pub fn page(state: &State, sheet: &Sheet, theme: &Theme) -> (String, Vec<Line<'static>>) {
    match &sheet.page {
        Page::Team => ("team".to_owned(), team(state, theme)),
        Page::Cost => ("cost".to_owned(), cost(state, theme)),
        Page::Context => ("context".to_owned(), context(state, theme)),
        Page::Permissions => ("permissions".to_owned(), permissions(state, theme)),
        Page::Notices => ("notices".to_owned(), notices(state, theme)),
        Page::Words { title, lines } => {
            let lines = lines.iter().map(|line| Line::styled(one_line(line), theme.text));
            (one_line(title), lines.collect())
        }
        Page::Doctor(found) => ("doctor".to_owned(), doctor(found, theme)),
        Page::Diff { of, text } => {
            (format!("changed where {} works", one_line(of)), diff(text, theme))
        }
        Page::Found { query, hits } => {
            (format!("`{}`: {}", one_line(query), hits.len()), found(hits, theme))
        }
    }
}

fn doctor(found: &[Checked], theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for Checked { kind, text } in found {
        let (sign, of_sign, of_text) = match kind {
            CheckedKind::Area | CheckedKind::End => {
                if !lines.is_empty() {
                    lines.push(Line::default());
                }
                let style = if *kind == CheckedKind::End { theme.text } else { theme.heading };
                lines.push(Line::styled(one_line(text), style));
                continue;
            }
            CheckedKind::Fine => (theme.glyphs.done, theme.good, theme.text),
            CheckedKind::Note => (theme.glyphs.dot, theme.faint, theme.text),
            CheckedKind::Wrong => (theme.glyphs.failed, theme.bad, theme.strong),
            CheckedKind::Cure => (" ", theme.faint, theme.faint),
        };
        lines.push(Line::from(vec![
            Span::styled(format!("  {sign} "), of_sign),
            Span::styled(one_line(text), of_text),
        ]));
    }
    lines
}

fn badge(agent: &Agent, theme: &Theme) -> Span<'static> {
    let sign = if agent.color.is_some() { theme.glyphs.badge } else { " " };
    let name = fit(&cut(&agent.name, NAME), NAME);
    Span::styled(format!("{sign}{name} "), theme.badge(agent.color.as_deref()))
}

fn team(state: &State, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for agent in state.agents.all() {
        let (sign, style) = status::sign(state, agent, theme);
        let about = agent.about.as_ref();
        let model = about.map_or(String::new(), |about| one_line(&about.model));
        lines.push(Line::from(vec![
            badge(agent, theme),
            Span::styled(format!("{sign} "), style),
            Span::styled(fit(&cut(&status::words(state, agent), 40), 40), theme.text),
            Span::styled(format!("  {}", fit(&cut(&model, 24), 24)), theme.faint),
            Span::styled(format!("  {}", mode_name(agent.mode)), theme.faint),
        ]));
    }
    lines
}

/// A bar of so many hundredths.
fn bar(share: f64, theme: &Theme) -> String {
    let full = theme.glyphs.levels.last().copied().unwrap_or("#");
    let empty = theme.glyphs.dot;
    // Lossless: a share of a few dozen columns.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    let cells = (share.clamp(0.0, 1.0) * BAR as f64).round() as usize;
    format!("{}{}", full.repeat(cells), empty.repeat(BAR - cells.min(BAR)))
}

fn cost(state: &State, theme: &Theme) -> Vec<Line<'static>> {
    let of = |agent: &Agent| agent.evidence.usd.unwrap_or(0.0);
    let most = state.agents.all().map(of).fold(0.0, f64::max);
    let tokens: u64 = state.agents.all().map(|agent| agent.tokens).sum();
    let total = state.about.usd.unwrap_or_else(|| state.agents.all().map(of).sum());
    let mut lines = vec![
        Line::from(vec![
            Span::styled(format!("${total:.2}"), theme.strong),
            Span::styled(format!(" in all, {} tokens", brief(tokens)), theme.faint),
        ]),
        Line::default(),
    ];
    let mut agents: Vec<&Agent> = state.agents.all().collect();
    agents.sort_by(|one, two| of(two).total_cmp(&of(one)));
    for agent in agents {
        let share = if most > 0.0 { of(agent) / most } else { 0.0 };
        lines.push(Line::from(vec![
            badge(agent, theme),
            Span::styled(bar(share, theme), theme.badge(agent.color.as_deref())),
            Span::styled(format!("  ${:<8.2}", of(agent)), theme.text),
            Span::styled(format!("{} tokens", brief(agent.tokens)), theme.faint),
        ]));
    }
    lines
}

fn context(state: &State, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for agent in state.agents.all().filter(|agent| agent.evidence.context > 0) {
        let (used, window) = (agent.evidence.context, agent.evidence.window);
        // Lossless enough: a share of a bar.
        #[expect(clippy::cast_precision_loss)]
        let share = window.map(|window| used as f64 / window.max(1) as f64);
        let style: Style = match share {
            Some(share) if share >= 0.8 => theme.attention,
            Some(_) | None => theme.good,
        };
        let of = window.map_or(String::new(), |window| format!(" of {}", brief(window)));
        lines.push(Line::from(vec![
            badge(agent, theme),
            Span::styled(bar(share.unwrap_or(0.0), theme), style),
            Span::styled(fit(&format!("  {}{of}", brief(used)), 18), theme.text),
            Span::styled(spark(&agent.contexts, theme), theme.faint),
        ]));
    }
    if lines.is_empty() {
        lines.push(Line::styled("nothing yet", theme.faint));
    }
    lines
}

/// A small chart of how a conversation grew.
fn spark(points: &[u64], theme: &Theme) -> String {
    let levels = theme.glyphs.levels;
    let most = points.iter().copied().max().unwrap_or(0).max(1);
    let last = points.len().saturating_sub(30);
    let level = |point: u64| {
        let at = point.saturating_mul(levels.len() as u64 - 1) / most;
        usize::try_from(at).ok().and_then(|at| levels.get(at)).copied().unwrap_or("")
    };
    points[last..].iter().map(|point| level(*point)).collect()
}

fn permissions(state: &State, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = vec![Line::styled("modes", theme.heading)];
    for agent in state.agents.team().filter(|agent| !agent.evidence.ended) {
        let mode = Span::styled(mode_name(agent.mode), theme.text);
        lines.push(Line::from(vec![badge(agent, theme), mode]));
    }
    lines.extend([Line::default(), Line::styled("granted in this session", theme.heading)]);
    for grant in &state.about.grants {
        let who =
            grant.agent.as_ref().map_or("everybody".to_owned(), |id| one_line(id.name.as_str()));
        let lasts = match grant.lasts {
            Lasts::Session => "for this session".to_owned(),
            Lasts::Until(until) => format!("until {until}"),
            Lasts::Project => "in this project".to_owned(),
            Lasts::User => "always".to_owned(),
        };
        lines.push(Line::from(vec![
            Span::styled(format!("  {}", one_line(&grant.permit.to_string())), theme.code),
            Span::styled(format!("  {who}, {lasts}"), theme.faint),
        ]));
    }
    if state.about.grants.is_empty() {
        lines.push(Line::styled("  nothing", theme.faint));
    }
    lines.extend([
        Line::default(),
        Line::styled(
            "`quarterdeck permissions list` shows the rules of the settings files.",
            theme.faint,
        ),
    ]);
    lines
}

fn notices(state: &State, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines: Vec<Line<'static>> = state
        .notices
        .all()
        .map(|notice| {
            let style = match notice.level {
                Level::Info => theme.text,
                Level::Warning => theme.attention,
                Level::Error => theme.bad,
            };
            let age = fit(&status::since(state.now, notice.at), 5);
            Line::from(vec![
                Span::styled(age, theme.faint),
                Span::styled(one_line(&notice.text), style),
            ])
        })
        .collect();
    if lines.is_empty() {
        lines.push(Line::styled("no notices yet", theme.faint));
    }
    lines
}

/// A patch as git tells it.
fn diff(text: &str, theme: &Theme) -> Vec<Line<'static>> {
    let style = |line: &str| match line.as_bytes().first() {
        _ if line.starts_with("diff --git") || line.starts_with("untracked:") => theme.heading,
        _ if line.starts_with("+++") || line.starts_with("---") => theme.faint,
        Some(b'+') => theme.added,
        Some(b'-') => theme.removed,
        Some(b'@') => theme.accent,
        Some(b' ') | None => theme.text,
        Some(_) => theme.faint,
    };
    text.lines().map(|line| Line::styled(one_line(line), style(line))).collect()
}

fn found(hits: &[Hit], theme: &Theme) -> Vec<Line<'static>> {
    if hits.is_empty() {
        return vec![Line::styled("no matches", theme.faint)];
    }
    let line = |hit: &Hit| {
        Line::from(vec![
            Span::styled(format!("{} ", fit(&cut(&hit.place, NAME), NAME)), theme.accent),
            Span::styled(hit.line.clone(), theme.text),
        ])
    };
    hits.iter().map(line).collect()
}
