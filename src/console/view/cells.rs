//! The lines of one cell of a transcript.

mod call;
mod time;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

pub use self::time::{duration, tokens};
use super::cache::Cache;
use super::theme::Theme;
use super::transcript::badge;
use crate::console::state::cell::{Cell, Kind, PlanVerdict, Resting};
use crate::console::state::words::Words;
use crate::console::text::markdown;
use crate::console::text::sanitize::{one_line, printable};
use crate::console::text::width::{cut, width};
use crate::console::text::wrap::{wrap, wrap_after, wrap_with};
use crate::protocol::event::Level;
use crate::protocol::op::When;

/// Rows of a long text that are shown while its cell is closed.
const CLOSED_ROWS: usize = 6;
const CLOSED_PROMPT_ROWS: usize = 12;

/// What cells are written on.
pub(super) struct Sheet<'a> {
    pub width: usize,
    pub theme: &'a Theme,
    pub cache: &'a Cache,
}

/// Whether a blank row stands between two cells: what is read stands apart, what is only
/// glanced at does not.
pub(super) fn stand_apart(before: &Kind, after: &Kind) -> bool {
    let read = |kind: &Kind| {
        matches!(
            kind,
            Kind::Prompt { .. } | Kind::Said { .. } | Kind::Plan { .. } | Kind::TurnEnd { .. }
        )
    };
    let queued = |kind: &Kind| matches!(kind, Kind::Queued { .. });
    (read(before) || read(after) || queued(after) != queued(before))
        && !matches!((before, after), (_, Kind::TurnEnd { .. }))
}

pub(super) fn lines(cell: &Cell, sheet: &Sheet<'_>) -> Vec<Line<'static>> {
    let theme = sheet.theme;
    if !cell.is_seen() {
        return Vec::new();
    }
    match &cell.kind {
        Kind::Prompt { from, text } => prompt(from, text, cell.open, sheet),
        Kind::Mail { from, color, summary, text } => {
            mail(from, color.as_deref(), summary.as_deref(), text, cell.open, sheet)
        }
        Kind::Sent { from, color, to, summary, text } => {
            sent((from, color.as_deref()), to, summary, text, cell.open, sheet)
        }
        Kind::Said { text, .. } => said(text, sheet),
        Kind::Thought { text, live } => thought(text, *live, cell.open, sheet),
        Kind::Call(call) => call::lines(call, cell.open, sheet),
        Kind::Decision { good, text, more } => decision(*good, text, more, sheet),
        Kind::Plan { file, text, verdict } => plan(file, text, verdict.as_ref(), sheet),
        Kind::Notice { level, text } => notice(*level, text, sheet),
        Kind::Member { name, color, joined } => {
            let color = color.as_deref().or_else(|| sheet.cache.color_of(name));
            let did = if *joined { " joined" } else { " left" };
            vec![Line::from(vec![badge(name, color, theme), Span::styled(did, theme.faint)])]
        }
        Kind::Idle { who } => vec![idle(who, sheet)],
        Kind::Retry { why, until, attempt, of, over } => {
            let count = format!("({attempt}/{of})");
            let left = until.millis() - sheet.cache.now().millis();
            let (words, style) = match (*over, left > 0) {
                (true, _) => (format!("{why}; retried {count}"), theme.faint),
                (false, true) => {
                    let seconds = (left + 999) / 1000;
                    (format!("{why}, trying again in {seconds} s {count}"), theme.attention)
                }
                (false, false) => (format!("{why}, trying again {count}"), theme.attention),
            };
            signed(theme.glyphs.waits, style, &words, style, sheet)
        }
        Kind::Compacted { before, after, summary } => {
            compacted(*before, *after, summary, cell.open, sheet)
        }
        Kind::Finished { good, summary, result } => {
            let (sign, style) = verdict_sign(*good, theme);
            let mut lines = signed(sign, style, summary, theme.text, sheet);
            lines.extend(
                cell.open.then(|| inset(&marked(result, sheet, 2), sheet)).into_iter().flatten(),
            );
            lines
        }
        Kind::Queued { when, from, text, .. } => queued(*when, from, text, sheet),
        Kind::TurnEnd { outcome, why, rounds, millis, usd } => {
            let about = TurnEnd { outcome, why, rounds: *rounds, millis: *millis, usd: *usd };
            turn_end(&about, cell, sheet)
        }
        Kind::Gap { cells } => {
            let words = format!("{cells} earlier entries are in the journal only");
            signed(theme.glyphs.ellipsis, theme.faint, &words, theme.faint, sheet)
        }
        Kind::Void => Vec::new(),
    }
}

/// A sign, then words that wrap beside it.
fn signed(
    sign: &str,
    sign_style: Style,
    words: &str,
    style: Style,
    sheet: &Sheet<'_>,
) -> Vec<Line<'static>> {
    let mark = [Span::styled(format!("{sign} "), sign_style)];
    let blank = [Span::raw(" ".repeat(width(sign) + 1))];
    let mut lines = Vec::new();
    for (at, line) in printable(words.trim_end()).lines().enumerate() {
        let first = if at == 0 { &mark } else { &blank };
        lines.extend(wrap_with(&Line::styled(line.to_owned(), style), sheet.width, first, &blank));
    }
    lines
}

fn verdict_sign(good: bool, theme: &Theme) -> (&'static str, Style) {
    match good {
        true => (theme.glyphs.done, theme.good),
        false => (theme.glyphs.failed, theme.bad),
    }
}

/// Lines below a line that they belong to.
fn inset(lines: &[Line<'static>], sheet: &Sheet<'_>) -> Vec<Line<'static>> {
    let air = [Span::raw("  ")];
    lines.iter().flat_map(|line| wrap_with(line, sheet.width, &air, &air)).collect()
}

/// Markdown in what an inset leaves of the width, and how much of it is missing.
fn marked(text: &Words, sheet: &Sheet<'_>, inset: usize) -> Vec<Line<'static>> {
    let room = sheet.width.saturating_sub(inset).max(1);
    let mut lines = Vec::new();
    lines.extend(missing(text, sheet.theme));
    lines.extend(markdown::lines(text.as_str(), room, sheet.theme, &sheet.cache.pens));
    lines
}

fn missing(text: &Words, theme: &Theme) -> Option<Line<'static>> {
    (text.dropped() > 0).then(|| {
        let words = format!("{} {} earlier bytes", theme.glyphs.ellipsis, text.dropped());
        Line::styled(words, theme.faint)
    })
}

/// The beginning of many lines, and how many more there are.
fn folded(
    mut lines: Vec<Line<'static>>,
    open: bool,
    most: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    if !open && lines.len() > most + 1 {
        let more = lines.len() - most;
        lines.truncate(most);
        lines.push(Line::styled(format!("{} {more} more", theme.glyphs.ellipsis), theme.faint));
    }
    lines
}

fn prompt(from: &str, text: &Words, open: bool, sheet: &Sheet<'_>) -> Vec<Line<'static>> {
    let theme = sheet.theme;
    let sign = format!("{} ", theme.glyphs.prompt);
    let mut first = Vec::new();
    if !matches!(from, "user" | "") {
        let color = sheet.cache.color_of(from);
        let name = if from == crate::protocol::ids::LEAD { "lead" } else { from };
        first.extend([badge(name, color, theme), Span::raw(" ")]);
    }
    first.push(Span::styled(sign, theme.accent));
    let others = [Span::raw("  ")];
    let mut lines: Vec<Line<'static>> = missing(text, theme).into_iter().collect();
    let shown = printable(text.as_str());
    for (at, line) in shown.trim_end().lines().enumerate() {
        let begin = if at == 0 { &first[..] } else { &others[..] };
        let line = Line::styled(line.to_owned(), theme.prompt);
        lines.extend(wrap_with(&line, sheet.width, begin, &others));
    }
    folded(lines, open, CLOSED_PROMPT_ROWS, theme)
}

fn mail(
    from: &str,
    color: Option<&str>,
    summary: Option<&str>,
    text: &Words,
    open: bool,
    sheet: &Sheet<'_>,
) -> Vec<Line<'static>> {
    let theme = sheet.theme;
    let color = color.or_else(|| sheet.cache.color_of(from));
    let name = if from == crate::protocol::ids::LEAD { "lead" } else { from };
    let mut head = vec![badge(name, color, theme), Span::raw(": ")];
    let Some(summary) = summary.filter(|summary| !summary.trim().is_empty()) else {
        // Without a summary the words themselves stand behind the name.
        let columns: usize = head.iter().map(Span::width).sum();
        return folded(beside(head, columns, text, sheet), open, CLOSED_ROWS, theme);
    };
    let body = marked(text, sheet, 2);
    head.push(Span::styled(one_line(summary), theme.strong));
    let mut lines = wrap_after(&Line::from(head), sheet.width, 2);
    let same = text.as_str().trim() == summary.trim();
    let rest = if same { Vec::new() } else { inset(&body, sheet) };
    lines.extend(folded(rest, open, CLOSED_ROWS / 2, theme));
    lines
}

/// Words beside a head, or below it where too little room is left.
fn beside(
    head: Vec<Span<'static>>,
    columns: usize,
    text: &Words,
    sheet: &Sheet<'_>,
) -> Vec<Line<'static>> {
    if columns * 3 > sheet.width {
        let mut lines = wrap_after(&Line::from(head), sheet.width, 2);
        lines.extend(inset(&marked(text, sheet, 2), sheet));
        return lines;
    }
    let blank = [Span::raw(" ".repeat(columns))];
    let mut lines = Vec::new();
    for line in marked(text, sheet, columns) {
        let first = if lines.is_empty() { &head[..] } else { &blank[..] };
        lines.extend(wrap_with(&line, sheet.width, first, &blank));
    }
    lines
}

/// Everybody who rests, on one dim line; alone, with their last words.
fn idle(who: &[Resting], sheet: &Sheet<'_>) -> Line<'static> {
    let theme = sheet.theme;
    let mut spans = vec![Span::styled(format!("{} ", theme.glyphs.done), theme.faint)];
    for (at, one) in who.iter().enumerate() {
        if at > 0 {
            spans.push(Span::styled(", ", theme.faint));
        }
        let color = one.color.as_deref().or_else(|| sheet.cache.color_of(&one.name));
        spans.push(badge(&one.name, color, theme));
    }
    let words = match who {
        [one] if !one.said.is_empty() => {
            let words: Vec<&str> = one.said.split_whitespace().collect();
            format!(" idle: {}", one_line(&words.join(" ")))
        }
        [] | [_] | [..] => " idle".to_owned(),
    };
    let used: usize = spans.iter().map(Span::width).sum();
    let room = sheet.width.saturating_sub(used);
    spans.push(Span::styled(cut(&words, room).into_owned(), theme.faint));
    Line::from(spans)
}

fn sent(
    (from, color): (&str, Option<&str>),
    to: &str,
    summary: &str,
    text: &Words,
    open: bool,
    sheet: &Sheet<'_>,
) -> Vec<Line<'static>> {
    let theme = sheet.theme;
    let color = color.or_else(|| sheet.cache.color_of(from));
    let line = Line::from(vec![
        badge(from, color, theme),
        Span::styled(format!(" {} ", theme.glyphs.arrow), theme.faint),
        badge(to, sheet.cache.color_of(to), theme),
        Span::raw(format!(": {}", one_line(summary))),
    ]);
    let mut lines = wrap_after(&line, sheet.width, 2);
    if open && !text.is_empty() {
        lines.extend(inset(&marked(text, sheet, 2), sheet));
    }
    lines
}

fn said(text: &Words, sheet: &Sheet<'_>) -> Vec<Line<'static>> {
    marked(text, sheet, 0)
}

/// Folded to one line: its beginning, or its end while it goes on.
fn thought(text: &Words, live: bool, open: bool, sheet: &Sheet<'_>) -> Vec<Line<'static>> {
    let theme = sheet.theme;
    let fold = if open { theme.glyphs.open_fold } else { theme.glyphs.closed_fold };
    let shown = printable(text.as_str());
    if open {
        let mut lines = vec![Line::styled(format!("{fold} thinking"), theme.thought)];
        lines.extend(missing(text, theme));
        let plain: Vec<_> = shown
            .trim_end()
            .lines()
            .map(|line| Line::styled(line.to_owned(), theme.thought))
            .collect();
        lines.extend(inset(&plain, sheet));
        return lines;
    }
    let mut all = shown.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = if live { all.next_back() } else { all.next() };
    let words = format!("{fold} thinking: {}", line.unwrap_or_default());
    vec![Line::styled(cut(&words, sheet.width).into_owned(), theme.thought)]
}

fn decision(good: bool, text: &str, more: &[String], sheet: &Sheet<'_>) -> Vec<Line<'static>> {
    let theme = sheet.theme;
    let (sign, style) = verdict_sign(good, theme);
    let mut lines = signed(sign, style, &one_line(text), theme.text, sheet);
    for line in more.iter().filter(|line| !line.is_empty()) {
        let line = Line::styled(format!("  {}", one_line(line)), theme.faint);
        lines.extend(wrap(&line, sheet.width));
    }
    lines
}

/// A card: its head says what became of it.
fn plan(
    file: &str,
    text: &Words,
    verdict: Option<&PlanVerdict>,
    sheet: &Sheet<'_>,
) -> Vec<Line<'static>> {
    let theme = sheet.theme;
    let (state, style) = match verdict {
        None => ("waits for you".to_owned(), theme.attention),
        Some(PlanVerdict::Approved) => ("approved".to_owned(), theme.good),
        Some(PlanVerdict::Rejected(None)) => ("rejected".to_owned(), theme.bad),
        Some(PlanVerdict::Rejected(Some(why))) => {
            (format!("rejected: {}", one_line(why)), theme.bad)
        }
        Some(PlanVerdict::Withdrawn) => ("withdrawn".to_owned(), theme.faint),
    };
    let border = theme.glyphs.border;
    let edge = |sign: &str| Span::styled(sign.to_owned(), theme.border);
    let name = file.rsplit('/').next().unwrap_or_default();
    let head = vec![
        edge(&format!("{}{} ", border.top_left, border.horizontal_top)),
        Span::styled("plan ", theme.title),
        Span::styled(cut(&state, sheet.width.saturating_sub(10)).into_owned(), style),
        Span::styled(format!(" {}", one_line(name)), theme.faint),
    ];
    let bar = [edge(&format!("{} ", border.vertical_left))];
    let mut lines: Vec<_> = wrap_with(&Line::from(head), sheet.width, &[], &bar);
    for line in marked(text, sheet, 2) {
        lines.extend(wrap_with(&line, sheet.width, &bar, &bar));
    }
    let rule = border.horizontal_bottom.repeat(sheet.width.saturating_sub(1).min(24));
    lines.push(Line::from(edge(&format!("{}{rule}", border.bottom_left))));
    lines
}

fn notice(level: Level, text: &str, sheet: &Sheet<'_>) -> Vec<Line<'static>> {
    let theme = sheet.theme;
    let (sign, style) = match level {
        Level::Info => (theme.glyphs.dot, theme.faint),
        Level::Warning => (theme.glyphs.needs_you, theme.attention),
        Level::Error => (theme.glyphs.failed, theme.bad),
    };
    signed(sign, style, text, style, sheet)
}

fn compacted(
    before: u64,
    after: u64,
    summary: &Words,
    open: bool,
    sheet: &Sheet<'_>,
) -> Vec<Line<'static>> {
    let theme = sheet.theme;
    let words = format!(
        "conversation summarised: {} {} {} tokens",
        tokens(before),
        theme.glyphs.arrow,
        tokens(after)
    );
    let mut lines = vec![ruled(&words, theme.faint, sheet)];
    if open {
        lines.extend(inset(&marked(summary, sheet, 2), sheet));
    }
    lines
}

fn queued(when: When, from: &str, text: &Words, sheet: &Sheet<'_>) -> Vec<Line<'static>> {
    let theme = sheet.theme;
    let when = match when {
        When::Now => "now",
        When::Next => "next",
        When::Later => "later",
    };
    let from = if from == "user" { String::new() } else { format!("{} ", one_line(from)) };
    let head = format!("{} {from}{when}: ", theme.glyphs.waits);
    let first = [Span::styled(head, theme.attention)];
    let shown = printable(text.as_str());
    let words = shown.trim_end().replace('\n', " ");
    let lines =
        wrap_with(&Line::styled(words, theme.quote), sheet.width, &first, &[Span::raw("  ")]);
    folded(lines, false, CLOSED_ROWS / 2, theme)
}

struct TurnEnd<'a> {
    outcome: &'a str,
    why: &'a str,
    rounds: u32,
    millis: u64,
    usd: Option<f64>,
}

fn turn_end(turn: &TurnEnd<'_>, cell: &Cell, sheet: &Sheet<'_>) -> Vec<Line<'static>> {
    let theme = sheet.theme;
    let mut lines = Vec::new();
    let because = if turn.why.is_empty() { String::new() } else { format!(": {}", turn.why) };
    let outcome = match turn.outcome {
        "done" => None,
        "interrupted" => Some((format!("interrupted{because}"), theme.attention)),
        "max_turns" => {
            Some((format!("stopped after {} answers{because}", turn.rounds), theme.attention))
        }
        "budget" => Some((format!("stopped: the budget is spent{because}"), theme.attention)),
        other => Some((format!("{other}{because}"), theme.bad)),
    };
    if let Some((words, style)) = outcome {
        let sign =
            if turn.outcome == "failed" { theme.glyphs.failed } else { theme.glyphs.needs_you };
        lines.extend(signed(sign, style, &words, style, sheet));
    }
    let mut parts = vec![duration(turn.millis)];
    parts.extend(turn.usd.map(|usd| format!("${usd:.2}")).filter(|usd| usd != "$0.00"));
    parts.extend(time::clock(cell.at, &sheet.cache.zone));
    lines.push(ruled(&parts.join(&format!(" {} ", theme.glyphs.dot)), theme.faint, sheet));
    lines
}

/// Words on a rule across the width.
fn ruled(words: &str, style: Style, sheet: &Sheet<'_>) -> Line<'static> {
    let theme = sheet.theme;
    let rule = theme.glyphs.rule;
    let words = cut(words, sheet.width.saturating_sub(6)).into_owned();
    let rest = sheet.width.saturating_sub(width(&words) + 4);
    Line::from(vec![
        Span::styled(rule.repeat(2.min(sheet.width)), theme.border),
        Span::styled(format!(" {words} "), style),
        Span::styled(rule.repeat(rest), theme.border),
    ])
}
