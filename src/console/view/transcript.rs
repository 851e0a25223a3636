//! Draws a transcript: finds the topmost row, lays out what is visible and nothing else.
//!
//! The cost depends on the rows that are shown and on how far the person moved since the last
//! frame, not on how long the transcript is.

use std::rc::Rc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use regex::Regex;

use super::cache::{Cache, HeightKey, LinesKey};
use super::cells::{self, Sheet};
use super::theme::Theme;
use crate::console::state::cell::Cell;
use crate::console::state::transcript::{Place, Reveal, Scroll, Search, Seen, Transcript};
use crate::console::text::wrap::push;

/// Draws it, and says what was shown; the cache keeps that too.
pub fn draw_transcript(
    area: Rect,
    buf: &mut Buffer,
    transcript: &Transcript,
    scroll: &Scroll,
    cache: &mut Cache,
    theme: &Theme,
    focused: bool,
) -> Option<Seen> {
    let area = area.intersection(buf.area);
    if area.is_empty() || transcript.is_empty() {
        return None;
    }
    // A column of air on both sides, where there is room.
    let air = u16::from(area.width > 24);
    let width = area.width - 2 * air;
    let mut page = Page { transcript, key: transcript.key(), cache, theme, width };
    let height = usize::from(area.height);
    let top = page.top(scroll, height);
    let found = scroll.search.as_ref().and_then(|search| Some((search.pattern()?, search.at)));
    let mut y = area.y;
    let mut spot = top;
    while y < area.bottom()
        && let Some(cell) = transcript.at(spot.index)
    {
        let lines = page.lines(spot.index);
        let chosen = focused && scroll.selected == Some(cell.id);
        for line in lines.iter().skip(spot.row).take(usize::from(area.bottom() - y)) {
            let row = Rect { y, height: 1, ..area };
            draw_row(row, air, buf, line, chosen, theme);
            if let Some((pattern, at)) = &found {
                let here = *at == Some(cell.id);
                mark(Rect { x: area.x + air, width, ..row }, buf, line, pattern, here, theme);
            }
            y += 1;
        }
        spot = Spot { index: spot.index + 1, row: 0 };
    }
    let seen = page.seen(top, height, scroll);
    page.cache.saw(page.key, seen);
    if !seen.at_end {
        draw_news(area, buf, scroll.new_below(transcript), theme);
    }
    Some(seen)
}

fn draw_row(row: Rect, air: u16, buf: &mut Buffer, line: &Line<'_>, chosen: bool, theme: &Theme) {
    buf.set_line(row.x + air, row.y, line, row.width - 2 * air);
    if chosen {
        buf.set_style(row, theme.selection);
        if air > 0 && !line.spans.is_empty() {
            buf.set_string(row.x, row.y, theme.glyphs.badge, theme.accent);
        }
    }
}

/// Shows what a search found in a row.
fn mark(row: Rect, buf: &mut Buffer, line: &Line<'_>, found: &Regex, here: bool, theme: &Theme) {
    use crate::console::text::width::width;
    let text: String = line.spans.iter().map(|span| span.content.as_ref()).collect();
    let style = if here { theme.found_here } else { theme.found };
    for find in found.find_iter(&text).filter(|find| !find.is_empty()) {
        let column = |at: usize| u16::try_from(width(&text[..at])).unwrap_or(u16::MAX);
        let (from, to) = (column(find.start()).min(row.width), column(find.end()).min(row.width));
        buf.set_style(Rect { x: row.x + from, width: to - from, ..row }, style);
    }
}

fn draw_news(area: Rect, buf: &mut Buffer, count: usize, theme: &Theme) {
    if count == 0 {
        return;
    }
    let words = format!(" {count} new below {} ", theme.glyphs.below);
    let mut spans = Vec::new();
    push(&mut spans, &words, theme.attention);
    let line = Line::from(spans);
    let wide = u16::try_from(line.width()).unwrap_or(u16::MAX).min(area.width);
    buf.set_line(area.right() - wide, area.bottom() - 1, &line, wide);
}

/// A row of a transcript: which cell, and which of its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Spot {
    index: usize,
    row: usize,
}

struct Page<'a> {
    transcript: &'a Transcript,
    key: u64,
    cache: &'a mut Cache,
    theme: &'a Theme,
    width: u16,
}

impl Page<'_> {
    /// The topmost row that is shown.
    fn top(&mut self, scroll: &Scroll, height: usize) -> Spot {
        let (place, moved) = scroll.place();
        let rows = usize::try_from(moved.unsigned_abs()).unwrap_or(usize::MAX);
        let mut top = match place {
            Place::End if moved < 0 => self.above_end(height.saturating_add(rows)),
            Place::End => self.above_end(height),
            Place::Row { cell, row, of, width } => {
                let index = self.transcript.index_of(cell);
                // What stood there stands there still, however the cell is wrapped now.
                let now = self.height(index);
                let row = if width == self.width { row } else { row * now / of.max(1) };
                let spot = Spot { index, row: row.min(now.saturating_sub(1)) };
                if moved < 0 { self.up(spot, rows) } else { self.down(spot, rows) }
            }
        };
        if let Some(reveal) = scroll.reveal() {
            top = self.revealing(top, reveal, scroll, height);
        }
        // Nothing is shown below the end.
        if self.rows_from(top, height) < height { self.above_end(height) } else { top }
    }

    /// The spot so many rows above the end, or the beginning.
    fn above_end(&mut self, rows: usize) -> Spot {
        self.up(Spot { index: self.transcript.len(), row: 0 }, rows)
    }

    fn up(&mut self, from: Spot, rows: usize) -> Spot {
        let mut have = from.row;
        let mut index = from.index;
        while have < rows && index > 0 {
            index -= 1;
            have = have.saturating_add(self.height(index));
        }
        Spot { index, row: have.saturating_sub(rows) }
    }

    fn down(&mut self, from: Spot, rows: usize) -> Spot {
        let mut left = from.row.saturating_add(rows);
        let mut index = from.index;
        while index + 1 < self.transcript.len() {
            let height = self.height(index);
            if left < height {
                break;
            }
            left -= height;
            index += 1;
        }
        Spot { index, row: left }
    }

    /// How many rows there are from here, counted no further than needed.
    fn rows_from(&mut self, spot: Spot, most: usize) -> usize {
        let mut rows = 0;
        for index in spot.index..self.transcript.len() {
            rows += self.height(index);
            if rows >= most + spot.row {
                return most;
            }
        }
        rows.saturating_sub(spot.row)
    }

    /// A top from which a cell, or a find in it, can be seen.
    fn revealing(&mut self, top: Spot, reveal: Reveal, scroll: &Scroll, height: usize) -> Spot {
        let index = self.transcript.index_of(reveal.cell);
        let target = Spot { index, row: self.row_to_show(index, reveal, scroll) };
        let own = self.height(index);
        let whole = own <= height && reveal.find.is_none();
        let last = Spot { index, row: if whole { own.saturating_sub(1) } else { target.row } };
        let bottom = self.down(top, height.saturating_sub(1));
        let first = if whole { Spot { index, row: 0 } } else { target };
        if first >= top && last <= bottom {
            return top;
        }
        match (first < top, whole) {
            (true, true) => first,
            (false, true) => self.up(last, height - 1),
            // A find stands a third below the edge, so that what is around it can be read.
            (_, false) => self.up(target, if reveal.find.is_some() { height / 3 } else { 0 }),
        }
    }

    fn row_to_show(&mut self, index: usize, reveal: Reveal, scroll: &Scroll) -> usize {
        let pattern = scroll.search.as_ref().filter(|_| reveal.find.is_some());
        let Some(pattern) = pattern.and_then(Search::pattern) else { return 0 };
        let holds = |line: &Line<'_>| {
            let text: String = line.spans.iter().map(|span| span.content.as_ref()).collect();
            pattern.is_match(&text)
        };
        let nth = reveal.find.unwrap_or_default();
        let lines = self.lines(index);
        let mut rows = (0..lines.len()).filter(|row| lines.get(*row).is_some_and(holds));
        rows.nth(nth).unwrap_or_default()
    }

    /// Rows of the chosen cell above and below what is shown, if any of it is.
    fn hidden(&mut self, top: Spot, height: usize, scroll: &Scroll) -> (usize, usize) {
        let Some(id) = scroll.selected else { return (0, 0) };
        let index = self.transcript.index_of(id);
        if index < top.index || index > top.index + height {
            return (0, 0);
        }
        let rows: usize = (top.index..=index).map(|index| self.height(index)).sum();
        let below = rows.saturating_sub(top.row + height);
        let above = if index == top.index { top.row } else { 0 };
        (above, below.min(self.height(index)))
    }

    fn seen(&mut self, top: Spot, height: usize, scroll: &Scroll) -> Seen {
        let below = self.rows_from(top, height + 1);
        let of = self.height(top.index);
        let cell = self.transcript.at(top.index).map(|cell| cell.id);
        Seen {
            top: cell.unwrap_or(crate::console::state::cell::CellId(0)),
            row: top.row,
            of,
            width: self.width,
            at_end: below <= height,
            height: u16::try_from(height).unwrap_or(u16::MAX),
            newest: self.transcript.newest(),
            hidden: self.hidden(top, height, scroll),
        }
    }

    fn height(&mut self, index: usize) -> usize {
        let Some(cell) = self.transcript.at(index) else { return 0 };
        let key = self.height_key(index, cell);
        match self.cache.height((self.key, cell.id), key) {
            Some(height) => height,
            None => self.lines(index).len(),
        }
    }

    fn height_key(&self, index: usize, cell: &Cell) -> HeightKey {
        let gap = self.gap(index, cell);
        let (revision, theme) = (cell.revision, self.theme.revision);
        HeightKey { revision, width: self.width, theme, gap }
    }

    /// Whether a blank row stands before a cell.
    fn gap(&self, index: usize, cell: &Cell) -> bool {
        let before = (0..index).rev().filter_map(|index| self.transcript.at(index));
        let mut before = before.filter(|cell| cell.is_seen());
        before.next().is_some_and(|before| cells::stand_apart(&before.kind, &cell.kind))
    }

    fn lines(&mut self, index: usize) -> Rc<[Line<'static>]> {
        let Some(cell) = self.transcript.at(index) else { return Rc::default() };
        let height = self.height_key(index, cell);
        let second = cell.ticks().then(|| self.cache.now().millis() / 1000);
        let key = LinesKey { height, badges: self.cache.badges_key(), second };
        let of = (self.key, cell.id);
        if let Some(lines) = self.cache.lines(of, key) {
            return lines;
        }
        let (missed, revision) = (self.cache.pens.missed(), self.cache.pens.revision());
        let sheet = Sheet { width: usize::from(self.width), theme: self.theme, cache: self.cache };
        let mut lines = cells::lines(cell, &sheet);
        if height.gap && !lines.is_empty() {
            lines.insert(0, Line::default());
        }
        let waits = (self.cache.pens.missed() != missed).then_some(revision);
        self.cache.keep(of, key, lines, waits)
    }
}

/// A cell on its own, for dialogs and for copies with a picture.
pub fn cell_lines(cell: &Cell, width: u16, cache: &Cache, theme: &Theme) -> Vec<Line<'static>> {
    cells::lines(cell, &Sheet { width: usize::from(width), theme, cache })
}

/// A line that says who it is about: the badge and the name in the agent's colour.
pub fn badge(name: &str, color: Option<&str>, theme: &Theme) -> Span<'static> {
    let style: Style = theme.badge(color);
    let sign = if color.is_some() { theme.glyphs.badge } else { "" };
    Span::styled(format!("{sign}{}", crate::console::text::sanitize::one_line(name)), style)
}
