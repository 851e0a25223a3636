//! An ask over the panels: the request scrolls, what can be answered stays in sight.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Widget as _};

pub use super::ask_body::asker;
use super::ask_body::{self, Hand, Request};
use super::ask_pages::{self, Room};
use crate::console::state::State;
use crate::console::state::asks::{AskDialog, Stage, Waiting, gist};
use crate::console::text::highlight::Pens;
use crate::console::text::width::{cut, width};
use crate::console::view::theme::{Theme, as_line};
use crate::protocol::ask::{Ask, Question, Risk};
use crate::protocol::ids::AskId;

/// Where fewer rows of a request are seen at once, what would be done comes first.
const LOW: usize = 8;

/// The lines of a request, made again only when something that they depend on has changed.
#[derive(Debug, Default)]
pub struct AskLines {
    made: Option<(Key, Request)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Key {
    asks: Vec<(AskId, u32)>,
    changed: bool,
    width: usize,
    is_titled: bool,
    theme: u32,
    pens: u32,
}

impl AskLines {
    fn get(&mut self, known: &Waiting, dialog: &AskDialog, hand: Hand<'_>) -> &Request {
        let together = hand.state.asks.together_with(&known.ask.id);
        let key = Key {
            asks: together.iter().map(|ask| (ask.id.clone(), ask.rev)).collect(),
            changed: known.changed,
            width: hand.width,
            is_titled: hand.is_titled,
            theme: hand.theme.revision,
            pens: hand.pens.revision(),
        };
        // Lists follow the cursor and are short: they are made each time.
        let still = matches!(known.ask.question, Question::Tool { .. } | Question::Plan { .. });
        let made = self.made.take().filter(|(have, _)| still && *have == key);
        let made = made.unwrap_or_else(|| (key, ask_body::request(known, dialog, hand)));
        &self.made.insert(made).1
    }
}

/// How high the dialog would like to be at this width, with its border.
pub fn wanted_height(
    state: &State,
    columns: u16,
    lines: &mut AskLines,
    pens: &Pens,
    theme: &Theme,
) -> u16 {
    let (Some(dialog), Some(known)) = (&state.asks.dialog, state.asks.shown()) else { return 5 };
    let width = usize::from(columns.saturating_sub(4)).max(1);
    let is_titled = Title::of(state, known, theme, usize::from(columns)).is_whole;
    let hand = Hand { state, width, theme, pens, is_titled };
    let body = lines.get(known, dialog, hand).len();
    let room = Room { width, height: usize::from(state.size.rows) };
    let below = ask_pages::lines(state, known, dialog, room, theme).len();
    u16::try_from(body + below + 4).unwrap_or(u16::MAX)
}

/// Draws the dialog over an area that is its own.
pub fn draw_ask(
    area: Rect,
    buf: &mut Buffer,
    state: &State,
    lines: &mut AskLines,
    pens: &Pens,
    theme: &Theme,
) {
    let Some(dialog) = &state.asks.dialog else { return };
    let area = area.intersection(buf.area);
    Clear.render(area, buf);
    let Some(known) = state.asks.shown() else {
        draw_gone(area, buf, dialog, theme);
        return;
    };
    let title = Title::of(state, known, theme, usize::from(area.width));
    let is_titled = title.is_whole;
    let frame = title.frame(&known.ask, theme);
    let inner = frame.inner(area);
    frame.render(area, buf);
    let inner = match inner.width {
        12.. => Rect { x: inner.x + 1, width: inner.width - 2, ..inner },
        _ => inner,
    };
    if inner.is_empty() {
        return;
    }
    let width = usize::from(inner.width);
    let height = usize::from(inner.height);
    let hand = Hand { state, width, theme, pens, is_titled };
    let request = lines.get(known, dialog, hand);
    let below = below(state, known, dialog, Room { width, height }, theme);
    // A line between both, where there is room for it.
    let between = usize::from(height >= 12);
    let shown = height.saturating_sub(below.len() + between);
    let reach = request.len().saturating_sub(shown);
    let body = request.rows(reach > 0 && shown < LOW);
    dialog.reach.set(reach);
    let from = first_row(&body, dialog, shown, theme).min(reach);
    put(body.iter().skip(from).take(shown).copied(), inner, buf);
    let rest = Rect {
        y: inner.y + u16::try_from(shown.min(height)).unwrap_or_default(),
        height: u16::try_from(height - shown.min(height)).unwrap_or_default(),
        ..inner
    };
    let rest = rule(rest, buf, between == 1, theme);
    put(below.iter(), rest, buf);
    if reach > 0 {
        position(area, buf, (from, shown, body.len()), theme);
    }
}

/// What stands below the request gets what it needs, as long as the request keeps a part.
fn below(
    state: &State,
    known: &Waiting,
    dialog: &AskDialog,
    inner: Room,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let share = match &dialog.stage {
        Stage::Choices | Stage::Gone { .. } => inner.height / 2,
        Stage::Scope(_) => inner.height * 4 / 5,
        Stage::Remark | Stage::Instead | Stage::Edit(_) | Stage::Own(_) => inner.height * 2 / 3,
    };
    let room = Room { height: share.max(1), ..inner };
    let mut lines = ask_pages::lines(state, known, dialog, room, theme);
    lines.truncate(inner.height.saturating_sub(1).max(1));
    lines
}

fn first_row(body: &[&Line<'_>], dialog: &AskDialog, shown: usize, theme: &Theme) -> usize {
    match ask_body::cursor_row(body, theme) {
        Some(row) if dialog.cursor.is_some() => (row + 1).saturating_sub(shown),
        Some(_) | None => dialog.scroll,
    }
}

/// Who asks for what, and how it stands in the queue.
struct Title {
    left: Line<'static>,
    right: Line<'static>,
    is_whole: bool,
}

impl Title {
    fn of(state: &State, known: &Waiting, theme: &Theme, columns: usize) -> Self {
        let ask = &known.ask;
        let place = state.asks.place(&ask.id).unwrap_or(1);
        let (all, age) = (state.asks.len(), gist::age(state.now, ask.at));
        let place = format!("{place} of {all} {} {age} ", theme.glyphs.dot);
        let risk = match ask.risk {
            Risk::High => format!(" {} {} ", gist::risk(ask.risk), theme.glyphs.dot),
            Risk::Medium | Risk::Low => " ".to_owned(),
        };
        let name = format!("{}{}", theme.glyphs.badge, ask_body::asker(ask, state));
        let wants = format!(" {} ", gist::wants(ask));
        let room = columns.saturating_sub(width(&risk) + width(&place) + 7);
        let is_whole = width(&name) + width(&wants) <= room;
        let left = Line::from(vec![
            Span::styled(format!(" {} ", theme.glyphs.needs_you), sign(ask.risk, theme)),
            Span::styled(cut(&name, room).into_owned(), theme.badge(ask.color.as_deref())),
            Span::styled(cut(&wants, room.saturating_sub(width(&name))).into_owned(), theme.title),
        ]);
        let right = vec![Span::styled(risk, theme.bad), Span::styled(place, theme.faint)];
        Self { left, right: Line::from(right).right_aligned(), is_whole }
    }

    fn frame(self, ask: &Ask, theme: &Theme) -> Block<'static> {
        Block::bordered()
            .border_set(theme.glyphs.border_focused)
            .border_style(as_line(sign(ask.risk, theme)))
            .style(theme.dialog)
            .title_top(self.left)
            .title_top(self.right)
    }
}

fn sign(risk: Risk, theme: &Theme) -> Style {
    match risk {
        Risk::High => theme.bad,
        Risk::Low | Risk::Medium => theme.attention,
    }
}

/// Only that it is over: nothing is left of the request.
fn draw_gone(area: Rect, buf: &mut Buffer, dialog: &AskDialog, theme: &Theme) {
    let how = match &dialog.stage {
        Stage::Gone { how, .. } => how.as_str(),
        Stage::Choices
        | Stage::Remark
        | Stage::Instead
        | Stage::Edit(_)
        | Stage::Scope(_)
        | Stage::Own(_) => "answered",
    };
    let frame = Block::bordered().border_set(theme.glyphs.border).border_style(theme.border);
    let inner = frame.inner(area);
    frame.style(theme.dialog).render(area, buf);
    let text = Line::styled(format!(" This request is settled: {how}."), theme.attention);
    let width = usize::from(inner.width).max(1);
    put(crate::console::text::wrap::wrap(&text, width).iter(), inner, buf);
}

fn put<'a>(lines: impl Iterator<Item = &'a Line<'a>>, area: Rect, buf: &mut Buffer) {
    for (y, line) in (area.y..area.bottom()).zip(lines) {
        buf.set_line(area.x, y, line, area.width);
    }
}

fn rule(area: Rect, buf: &mut Buffer, wanted: bool, theme: &Theme) -> Rect {
    if !wanted || area.height == 0 {
        return area;
    }
    let line = theme.glyphs.rule.repeat(usize::from(area.width));
    buf.set_stringn(area.x, area.y, line, usize::from(area.width), theme.border);
    Rect { y: area.y + 1, height: area.height - 1, ..area }
}

/// Which rows of the request are seen, in the lower border.
fn position(
    area: Rect,
    buf: &mut Buffer,
    (from, shown, all): (usize, usize, usize),
    theme: &Theme,
) {
    let glyphs = &theme.glyphs;
    let up = if from > 0 { glyphs.above } else { "" };
    let down = if from + shown < all { glyphs.below } else { "" };
    let text = format!(" rows {}-{} of {all} {up}{down} ", from + 1, (from + shown).min(all));
    let columns = u16::try_from(width(&text)).unwrap_or_default();
    if columns + 4 > area.width || area.height == 0 {
        return;
    }
    buf.set_string(area.right() - columns - 2, area.bottom() - 1, text, theme.accent);
}
