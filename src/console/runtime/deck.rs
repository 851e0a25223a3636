//! The console without a terminal: state, what it looks like, and nothing that acts. The loop
//! drives one; so do tests and pictures.

use ratatui::Frame;
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::{Position, Rect};

use crate::console::state::State;
use crate::console::state::ui::{Drag, Size};
use crate::console::text::width::width;
use crate::console::update::{Effect, Msg, update};
use crate::console::view::theme::Theme;
use crate::console::view::{self, Cache, layout, pane};

pub struct Deck {
    pub state: State,
    pub theme: Theme,
    cache: Cache,
    /// Frames that were painted so far.
    pub frames: u64,
    /// The last frame, kept while something in it is being selected.
    shown: Option<Buffer>,
}

impl Deck {
    pub fn new(state: State, theme: Theme) -> Self {
        Self::with_cache(state, theme, Cache::default())
    }

    /// With what colours code, and in the hours of a place.
    pub fn with_cache(state: State, theme: Theme, cache: Cache) -> Self {
        Self { state, theme, cache, frames: 0, shown: None }
    }

    pub fn absorb(&mut self, msg: Msg) -> Vec<Effect> {
        update(&mut self.state, msg)
    }

    pub fn paint(&mut self, frame: &mut Frame<'_>) {
        let area = frame.area();
        if let Some(cursor) = self.paint_into(area, frame.buffer_mut()) {
            frame.set_cursor_position(cursor);
        }
    }

    /// Paints without a terminal; where the cursor is.
    pub fn paint_into(&mut self, area: Rect, buf: &mut Buffer) -> Option<Position> {
        self.frames += 1;
        let cursor = view::paint(area, buf, &self.state, &mut self.cache, &self.theme);
        self.shown = self.state.ui.dragged.is_some().then(|| buf.clone());
        self.settle();
        cursor
    }

    /// What was shown is where the next move in a transcript begins.
    fn settle(&mut self) {
        for id in self.state.rotation() {
            let Some(agent) = self.state.agents.get_mut(&id) else { continue };
            if let Some(seen) = self.cache.take_seen(&agent.transcript) {
                agent.scroll.settle(seen);
            }
        }
    }

    /// What the screen showed in this part of a pane.
    pub fn text_of(&mut self, drag: &Drag) -> String {
        // A quick hand is done before the next frame: then what would be in it counts.
        let shown = self.shown.take().unwrap_or_else(|| {
            let Size { columns, rows } = self.state.size;
            let mut buffer = Buffer::empty(Rect::new(0, 0, columns, rows));
            self.paint_into(buffer.area, &mut buffer);
            buffer
        });
        let plan = layout::arrange(&self.state);
        let spot = match self.state.is_zoomed() {
            true => Some(layout::zoomed(&self.state)),
            false => plan.panes.into_iter().find(|spot| spot.agent == drag.pane),
        };
        let Some(spot) = spot else { return String::new() };
        let inner = spot.inner();
        let rows = pane::dragged(drag, inner).into_iter().map(|(y, from, to)| {
            let cells = (inner.x..to).map(|x| shown.cell((x, y)).map_or("", Cell::symbol));
            glyphs(cells.collect(), usize::from(from - inner.x)).trim_end().to_owned()
        });
        rows.collect::<Vec<_>>().join("\n")
    }

    /// Another theme, with the signs of the one before.
    pub fn wear(&mut self, name: &str) {
        if let Some(theme) = Theme::named(name) {
            self.theme = theme.with_glyphs(self.theme.glyphs);
        }
    }
}

/// The characters of a row of cells that begin at `from` or behind it. A wide one has two cells:
/// the second is no blank of the text, and whoever begins there means the character.
fn glyphs(cells: Vec<&str>, from: usize) -> String {
    let mut text = String::new();
    let mut at = 0;
    while let Some(symbol) = cells.get(at) {
        let next = at + width(symbol).max(1);
        if next > from {
            text.push_str(symbol);
        }
        at = next;
    }
    text
}
