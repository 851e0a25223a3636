//! What was laid out before, kept as long as its key is true. It may be dropped at any time.
//!
//! A key holds everything that the lines depend on, so nothing is ever invalidated by hand.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::rc::Rc;

use jiff::tz::TimeZone;
use ratatui::text::Line;

use crate::console::state::cell::CellId;
use crate::console::state::transcript::{Seen, Transcript};
use crate::console::text::highlight::Pens;
use crate::console::view::dialog::ask::AskLines;
use crate::protocol::time::Stamp;

/// Rows that are remembered in all. More are made again when they are looked at again.
const MOST_ROWS: usize = 32 * 1024;
const MOST_HEIGHTS: usize = 200_000;

#[derive(Debug)]
pub struct Cache {
    pub pens: Pens,
    /// The lines of the ask that is shown.
    pub ask: AskLines,
    /// Which hour it is where the person sits.
    pub zone: TimeZone,
    now: Stamp,
    /// Colours of agents by their names, and what tells one set of them from another.
    badges: HashMap<String, String>,
    badges_key: u64,
    frame: u64,
    rows: usize,
    laid: HashMap<(u64, CellId), Laid>,
    heights: HashMap<(u64, CellId), (HeightKey, usize)>,
    seen: HashMap<u64, Seen>,
    pub tasks: super::tasks::Kept,
}

/// What the height of a cell depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HeightKey {
    pub revision: u32,
    pub width: u16,
    pub theme: u32,
    pub gap: bool,
}

/// What the lines of a cell depend on besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LinesKey {
    pub height: HeightKey,
    pub badges: u64,
    /// Seconds, for what shows the time; hundredths of it are nobody's business.
    pub second: Option<i64>,
}

#[derive(Debug)]
struct Laid {
    key: LinesKey,
    /// Set where code waits for its colours: when they have changed, it is worth another try.
    pens: Option<u32>,
    lines: Rc<[Line<'static>]>,
    used: u64,
}

impl Default for Cache {
    fn default() -> Self {
        Self::with_pens(Pens::new(|| ()))
    }
}

impl Cache {
    pub fn with_pens(pens: Pens) -> Self {
        Self {
            pens,
            ask: AskLines::default(),
            zone: TimeZone::UTC,
            now: Stamp::from_millis(0),
            badges: HashMap::new(),
            badges_key: 0,
            frame: 0,
            rows: 0,
            laid: HashMap::new(),
            heights: HashMap::new(),
            seen: HashMap::new(),
            tasks: super::tasks::Kept::default(),
        }
    }

    /// A new frame begins: at this time, with these colours of agents by their names.
    pub fn begin<'a>(&mut self, now: Stamp, badges: impl IntoIterator<Item = (&'a str, &'a str)>) {
        self.now = now;
        self.frame += 1;
        let mut hasher = DefaultHasher::new();
        let mut known = HashMap::new();
        for (name, color) in badges {
            (name, color).hash(&mut hasher);
            known.insert(name.to_owned(), color.to_owned());
        }
        (self.badges, self.badges_key) = (known, hasher.finish());
    }

    pub fn now(&self) -> Stamp {
        self.now
    }

    /// The colour of whoever has this name.
    pub fn color_of(&self, name: &str) -> Option<&str> {
        self.badges.get(name).map(String::as_str)
    }

    /// What the last drawing of a transcript showed: `Scroll::settle` wants to know.
    pub fn seen(&self, transcript: &Transcript) -> Option<Seen> {
        self.seen.get(&transcript.key()).copied()
    }

    /// The same, once: only what was drawn since counts as seen.
    pub fn take_seen(&mut self, transcript: &Transcript) -> Option<Seen> {
        self.seen.remove(&transcript.key())
    }

    pub(super) fn saw(&mut self, transcript: u64, seen: Seen) {
        self.seen.insert(transcript, seen);
    }

    pub(super) fn badges_key(&self) -> u64 {
        self.badges_key
    }

    /// The lines of a cell, if they are as they were.
    pub(super) fn lines(
        &mut self,
        of: (u64, CellId),
        key: LinesKey,
    ) -> Option<Rc<[Line<'static>]>> {
        let pens = self.pens.revision();
        let laid = self.laid.get_mut(&of)?;
        let fresh = laid.key == key && laid.pens.is_none_or(|seen| seen == pens);
        laid.used = self.frame;
        fresh.then(|| Rc::clone(&laid.lines))
    }

    /// Keeps the lines of a cell. `waits` says that code in it has no colours yet.
    pub(super) fn keep(
        &mut self,
        of: (u64, CellId),
        key: LinesKey,
        lines: Vec<Line<'static>>,
        waits: Option<u32>,
    ) -> Rc<[Line<'static>]> {
        let lines: Rc<[Line<'static>]> = lines.into();
        if self.rows + lines.len() > MOST_ROWS {
            let frame = self.frame;
            self.laid.retain(|_, laid| laid.used + 1 >= frame);
            self.rows = self.laid.values().map(|laid| laid.lines.len()).sum();
        }
        // Even what one frame shows may be too much to keep, while a far way is measured.
        if self.rows + lines.len() > 2 * MOST_ROWS {
            self.laid.clear();
            self.rows = 0;
        }
        if self.heights.len() > MOST_HEIGHTS {
            self.heights.clear();
        }
        self.heights.insert(of, (key.height, lines.len()));
        self.rows += lines.len();
        let kept = Rc::clone(&lines);
        let laid = Laid { key, pens: waits, lines, used: self.frame };
        if let Some(old) = self.laid.insert(of, laid) {
            self.rows = self.rows.saturating_sub(old.lines.len());
        }
        kept
    }

    pub(super) fn height(&self, of: (u64, CellId), key: HeightKey) -> Option<usize> {
        self.heights.get(&of).filter(|(known, _)| *known == key).map(|(_, height)| *height)
    }

    /// Rows that are kept, for tests of its bound.
    pub fn kept_rows(&self) -> usize {
        self.rows
    }
}
