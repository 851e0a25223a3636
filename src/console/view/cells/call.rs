//! A use of a tool: one line with what it does and what came of it, and below it what is worth
//! seeing at once. Opened, it shows its input and its output.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::{Sheet, duration, folded, inset, missing, tokens};
use crate::console::state::cell::{Call, Change, Child, How, Phase, Step};
use crate::console::text::sanitize::one_line;
use crate::console::text::width::{cut, width};
use crate::console::text::wrap::wrap_with;
use crate::console::text::{ansi, diff};
use crate::console::view::theme::Theme;

/// Rows of a change, of an error and of a child's steps that are shown while a call is closed.
const CLOSED_CHANGE: usize = 12;
const CLOSED_ERROR: usize = 3;
const CLOSED_STEPS: usize = 3;
/// What took less is not worth a number.
const SLOW_MS: u64 = 1000;

pub(super) fn lines(call: &Call, open: bool, sheet: &Sheet<'_>) -> Vec<Line<'static>> {
    let mut lines = vec![head(call, open, sheet)];
    if open && call.change.is_none() {
        lines.extend(input(call, sheet));
    }
    if let Some(change) = &call.change {
        lines.extend(changed(change, open, sheet));
    }
    for child in &call.children {
        lines.extend(child_lines(child, open, sheet));
    }
    lines.extend(if open { output(call, sheet) } else { glance(call, sheet) });
    lines
}

fn sign(call: &Call, theme: &Theme) -> (&'static str, Style) {
    let glyphs = &theme.glyphs;
    match &call.phase {
        Phase::Wanted => (glyphs.open, theme.faint),
        Phase::Waiting => (glyphs.needs_you, theme.attention),
        Phase::Running => (glyphs.working, theme.accent),
        Phase::Done => (glyphs.working, theme.good),
        Phase::Failed | Phase::Denied(_) => (glyphs.failed, theme.bad),
    }
}

/// Sign, tool, what it does; then state, outcome, time.
fn head(call: &Call, open: bool, sheet: &Sheet<'_>) -> Line<'static> {
    let theme = sheet.theme;
    let (sign, style) = sign(call, theme);
    let tool = cut(&one_line(&call.tool), sheet.width / 2).into_owned();
    let begin = width(sign) + 1 + width(&tool);
    let tail = tail(call, open, sheet);
    let room = sheet.width.saturating_sub(begin + 1);
    // What it does has the greater right to the room; what came of it takes what is left.
    let summary = one_line(&call.summary);
    let tail_columns = if tail.0.is_empty() { 0 } else { width(&tail.0) + 2 };
    let least = room.saturating_sub(tail_columns).max(room * 3 / 5).min(room);
    let summary = cut(&summary, least).into_owned();
    let left = room.saturating_sub(width(&summary));
    let mut spans = vec![
        Span::styled(format!("{sign} "), style),
        Span::styled(tool, theme.strong),
        Span::raw(if summary.is_empty() { String::new() } else { format!(" {summary}") }),
    ];
    if !tail.0.is_empty() && left > 4 {
        spans.push(Span::styled(format!("  {}", cut(&tail.0, left - 2)), tail.1));
    }
    Line::from(spans)
}

fn tail(call: &Call, open: bool, sheet: &Sheet<'_>) -> (String, Style) {
    let theme = sheet.theme;
    let dot = format!(" {} ", theme.glyphs.dot);
    let outcome = one_line(&call.outcome);
    // What the line says already is not said again.
    let outcome = match call.tool.as_str() {
        "TaskCreate" => outcome.split(' ').next().unwrap_or_default().to_owned(),
        "TaskUpdate" if call.phase == Phase::Done => String::new(),
        "Edit" | "Write" => outcome.replace(" -", &format!(" {}", theme.glyphs.minus)),
        _ => outcome,
    };
    let took = call.millis.filter(|millis| *millis >= SLOW_MS).map(duration);
    match &call.phase {
        Phase::Wanted => (String::new(), theme.faint),
        Phase::Waiting => ("waiting".to_owned(), theme.attention),
        Phase::Running => {
            let since = call.started.map_or(0, |at| sheet.cache.now().millis() - at.millis());
            let since = u64::try_from(since).unwrap_or_default();
            let shown = if since < 1000 { String::new() } else { duration(since / 1000 * 1000) };
            (shown, theme.accent)
        }
        Phase::Done => {
            let outcome = Some(outcome).filter(|text| !text.is_empty());
            let parts: Vec<String> = outcome.into_iter().chain(took).collect();
            (parts.join(&dot), theme.faint)
        }
        Phase::Failed => {
            // Below the line, or open, all of it is shown.
            let outcome = Some(outcome).filter(|text| !text.is_empty() && !open);
            let parts: Vec<String> = outcome.into_iter().chain(took).collect();
            (parts.join(&dot), theme.bad)
        }
        Phase::Denied(_) => ("denied".to_owned(), theme.bad),
    }
}

/// What is worth seeing without opening: where it is, what went wrong.
fn glance(call: &Call, sheet: &Sheet<'_>) -> Vec<Line<'static>> {
    let theme = sheet.theme;
    match &call.phase {
        Phase::Running if call.children.is_empty() => {
            let printed = last_line(call.output.as_str());
            let line = ansi::lines(printed, theme).pop().filter(|line| line.width() > 0);
            line.into_iter().map(|line| hooked(&line, theme.faint, sheet)).collect()
        }
        Phase::Failed => {
            let all = ansi::lines(call.output.as_str(), theme);
            let said = all.into_iter().filter(|line| line.width() > 0).collect::<Vec<_>>();
            // The outcome stands on the line above already.
            let known = |line: &Line<'_>| plain(line).trim() == call.outcome.trim();
            if said.len() == 1 && said.iter().all(known) {
                return Vec::new();
            }
            let from = said.len().saturating_sub(CLOSED_ERROR);
            said[from..].iter().map(|line| hooked(line, theme.bad, sheet)).collect()
        }
        Phase::Denied(why) if !why.is_empty() => {
            let why = Line::raw(one_line(why));
            vec![hooked(&why, theme.faint, sheet)]
        }
        Phase::Denied(_) | Phase::Wanted | Phase::Waiting | Phase::Running | Phase::Done => {
            Vec::new()
        }
    }
}

fn plain(line: &Line<'_>) -> String {
    line.spans.iter().map(|span| span.content.as_ref()).collect()
}

fn last_line(text: &str) -> &str {
    let text = text.trim_end_matches(['\n', '\r', ' ']);
    text.rfind('\n').and_then(|at| text.get(at + 1..)).unwrap_or(text)
}

/// One row that hangs below the line of the call.
fn hooked(line: &Line<'_>, style: Style, sheet: &Sheet<'_>) -> Line<'static> {
    let theme = sheet.theme;
    let hook = format!("  {} ", theme.glyphs.hook);
    let words = cut(&plain(line), sheet.width.saturating_sub(width(&hook))).into_owned();
    Line::from(vec![Span::styled(hook, theme.border), Span::styled(words, style)])
}

fn input(call: &Call, sheet: &Sheet<'_>) -> Vec<Line<'static>> {
    let theme = sheet.theme;
    if call.input.is_empty() {
        return Vec::new();
    }
    let language = if call.tool == "Bash" { "sh" } else { "yaml" };
    let shown = crate::console::text::sanitize::printable(&call.input);
    let bar = [Span::styled(format!("  {} ", theme.glyphs.bar), theme.border)];
    let lines = sheet.cache.pens.code(language, &shown, theme);
    lines.iter().flat_map(|line| wrap_with(line, sheet.width, &bar, &bar)).collect()
}

fn output(call: &Call, sheet: &Sheet<'_>) -> Vec<Line<'static>> {
    let mut lines: Vec<Line<'static>> = missing(&call.output, sheet.theme).into_iter().collect();
    lines.extend(ansi::lines(call.output.as_str(), sheet.theme));
    if let Phase::Denied(why) = &call.phase
        && lines.is_empty()
    {
        lines.push(Line::styled(one_line(why), sheet.theme.faint));
    }
    inset(&lines, sheet)
}

fn changed(change: &Change, open: bool, sheet: &Sheet<'_>) -> Vec<Line<'static>> {
    let made = match &change.how {
        How::Swap { old, new, lines } => diff::of_edit(old, new, lines),
        How::Patch(patch) => diff::of_patch(patch),
    };
    let made = made.in_file(&change.path);
    let room = sheet.width.saturating_sub(2).max(1);
    let lines = diff::lines(&made, room, sheet.theme, &sheet.cache.pens);
    inset(&folded(lines, open, CLOSED_CHANGE, sheet.theme), sheet)
}

fn child_lines(child: &Child, open: bool, sheet: &Sheet<'_>) -> Vec<Line<'static>> {
    let theme = sheet.theme;
    let mut lines = Vec::new();
    let over = child.ended.is_some();
    let most = if open {
        usize::MAX
    } else if over {
        0
    } else {
        CLOSED_STEPS
    };
    let from = child.steps.len().saturating_sub(most);
    let steps = child.steps.get(from..).unwrap_or_default();
    let hidden = child.count - steps.len();
    if hidden > 0 && !over {
        let words = format!("{} {hidden} more", theme.glyphs.ellipsis);
        lines.push(hooked(&Line::raw(words), theme.faint, sheet));
    }
    lines.extend(steps.iter().map(|step| step_line(step, sheet)));
    let mut words = Vec::new();
    if child.asks {
        words.push("waits for you".to_owned());
    } else if !over && !child.said.is_empty() {
        words.push(one_line(&child.said));
    }
    if over || open {
        words.push(format!("{} tool{}", child.count, if child.count == 1 { "" } else { "s" }));
        words.push(format!("{} tokens", tokens(child.tokens)));
    }
    match child.ended.as_deref() {
        Some("completed") | None => {}
        Some(status) => words.insert(0, status.to_owned()),
    }
    if !words.is_empty() && (open || !over || child.ended.as_deref() != Some("completed")) {
        let style = if child.asks { theme.attention } else { theme.faint };
        let words = words.join(&format!(" {} ", theme.glyphs.dot));
        lines.push(hooked(&Line::raw(words), style, sheet));
    }
    lines
}

fn step_line(step: &Step, sheet: &Sheet<'_>) -> Line<'static> {
    let theme = sheet.theme;
    let (sign, style) = match &step.phase {
        Phase::Running => (theme.glyphs.working, theme.accent),
        Phase::Failed | Phase::Denied(_) => (theme.glyphs.failed, theme.bad),
        Phase::Wanted | Phase::Waiting => (theme.glyphs.open, theme.faint),
        Phase::Done => (theme.glyphs.dot, theme.good),
    };
    let words = format!("{} {}", one_line(&step.tool), one_line(&step.summary));
    let room = sheet.width.saturating_sub(4 + width(sign) + 1);
    Line::from(vec![
        Span::styled(format!("  {} ", theme.glyphs.tee_left), theme.border),
        Span::styled(format!("{sign} "), style),
        Span::styled(cut(&words, room).into_owned(), theme.faint),
    ])
}
