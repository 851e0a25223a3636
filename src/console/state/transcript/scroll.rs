//! Where the person looks in a transcript, which cell they have chosen, what they search.
//!
//! Heights are known only to the view, so a place is a row of a cell plus rows moved since; the
//! view finds out what that shows and says so with [`Seen`], from which the next move begins.

use regex::{Regex, RegexBuilder};

use super::Transcript;
use crate::console::state::cell::{Cell, CellId};

/// How far a page goes before anything was drawn.
const UNSEEN_PAGE: u16 = 20;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scroll {
    place: Place,
    /// Rows that the person went down since, or up if it is negative.
    moved: i64,
    /// What must be seen, wherever the place is.
    reveal: Option<Reveal>,
    /// Rows that were shown last.
    height: u16,
    /// The newest cell when the end was last seen.
    known: u64,
    /// Rows of the chosen cell that were out of sight, above and below.
    hidden: (usize, usize),
    pub selected: Option<CellId>,
    pub search: Option<Search>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Place {
    /// The end, wherever it goes.
    #[default]
    End,
    /// This row of this cell is the topmost: of so many, at that width.
    Row { cell: CellId, row: usize, of: usize, width: u16 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reveal {
    pub cell: CellId,
    /// The find in it that must be seen, counted from its beginning.
    pub find: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    pub needle: String,
    /// The cell that is shown now for it.
    pub at: Option<CellId>,
    /// Which of how many cells with it that is, when it was last looked for; counted from one.
    pub place: (usize, usize),
}

/// What a drawing showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    pub top: CellId,
    pub row: usize,
    /// Rows of that cell, and the width at which it has them.
    pub of: usize,
    pub width: u16,
    pub at_end: bool,
    pub height: u16,
    /// The newest cell there was.
    pub newest: u64,
    /// Rows of the chosen cell that are out of sight, above and below.
    pub hidden: (usize, usize),
}

impl Scroll {
    pub fn is_following(&self) -> bool {
        self.place == Place::End && self.moved >= 0 && self.reveal.is_none()
    }

    /// How many cells came since the person left the end.
    pub fn new_below(&self, transcript: &Transcript) -> usize {
        match self.is_following() {
            true => 0,
            false => {
                usize::try_from(transcript.newest().saturating_sub(self.known)).unwrap_or_default()
            }
        }
    }

    pub fn up(&mut self, rows: u16, transcript: &Transcript) {
        self.leave(transcript);
        self.moved -= i64::from(rows);
    }

    pub fn down(&mut self, rows: u16, transcript: &Transcript) {
        if self.is_following() {
            return;
        }
        self.leave(transcript);
        self.moved += i64::from(rows);
    }

    /// Rows of a page: one less than is shown, so that a line stays to go on from.
    pub fn page(&self) -> u16 {
        if self.height == 0 { UNSEEN_PAGE } else { self.height.saturating_sub(1).max(1) }
    }

    pub fn page_up(&mut self, transcript: &Transcript) {
        self.up(self.page(), transcript);
    }

    pub fn page_down(&mut self, transcript: &Transcript) {
        self.down(self.page(), transcript);
    }

    pub fn top(&mut self, transcript: &Transcript) {
        self.leave(transcript);
        let Some(first) = transcript.at(0) else { return };
        (self.place, self.moved) = (Place::Row { cell: first.id, row: 0, of: 1, width: 0 }, 0);
        self.selected = None;
    }

    /// To the end, and stays with it.
    pub fn bottom(&mut self) {
        (self.place, self.moved, self.reveal) = (Place::End, 0, None);
        self.selected = None;
    }

    /// The cell before or after the chosen one; without one, the last that is shown. What is
    /// higher than the screen is read to its edge first.
    pub fn select_previous(&mut self, transcript: &Transcript) {
        if self.selected.is_some() && self.hidden.0 > 0 {
            let rows = self.within(self.hidden.0);
            return self.up(rows, transcript);
        }
        let before = match self.selected {
            Some(id) => transcript.index_of(id),
            None => transcript.len(),
        };
        let cells = (0..before).rev().filter_map(|index| transcript.at(index));
        self.select(cells.into_iter().find(|cell| is_shown(cell)), transcript);
    }

    pub fn select_next(&mut self, transcript: &Transcript) {
        let Some(id) = self.selected else { return };
        if self.hidden.1 > 0 {
            let rows = self.within(self.hidden.1);
            return self.down(rows, transcript);
        }
        let after = transcript.index_of(id) + 1..transcript.len();
        let next = after.filter_map(|index| transcript.at(index)).find(|cell| is_shown(cell));
        match next {
            Some(cell) => self.select(Some(cell), transcript),
            // Behind the last one is the end itself.
            None => self.bottom(),
        }
    }

    fn within(&mut self, hidden: usize) -> u16 {
        self.hidden = (0, 0);
        u16::try_from(hidden).unwrap_or(u16::MAX).min(self.page())
    }

    fn select(&mut self, cell: Option<&Cell>, transcript: &Transcript) {
        let Some(cell) = cell else { return };
        self.leave(transcript);
        (self.selected, self.hidden) = (Some(cell.id), (0, 0));
        self.reveal = Some(Reveal { cell: cell.id, find: None });
    }

    /// Chooses a cell, as a click does.
    pub fn choose(&mut self, cell: CellId) {
        self.selected = Some(cell);
    }

    /// The chosen cell; without one, the last that there is more of.
    pub fn chosen<'a>(&self, transcript: &'a Transcript) -> Option<&'a Cell> {
        match self.selected {
            Some(id) => transcript.cell(id),
            None => transcript.cells().rev().find(|cell| cell.opens()),
        }
    }

    /// Searches from the end. Small letters find capital ones too, capital ones only themselves.
    pub fn search(&mut self, needle: &str, transcript: &mut Transcript) -> bool {
        if needle.is_empty() {
            self.search = None;
            return false;
        }
        self.search = Some(Search::of(needle));
        self.find_previous(transcript)
    }

    pub fn end_search(&mut self) {
        self.search = None;
    }

    /// The next older find; round again from the end. Whether there is one.
    pub fn find_previous(&mut self, transcript: &mut Transcript) -> bool {
        let all = transcript.len();
        let from = self.found_at(transcript).unwrap_or(all);
        self.find(transcript, |found| {
            let older = found.iter().rposition(|index| *index < from);
            older.or(found.len().checked_sub(1))
        })
    }

    pub fn find_next(&mut self, transcript: &mut Transcript) -> bool {
        let from = self.found_at(transcript).map_or(0, |at| at + 1);
        self.find(transcript, |found| {
            let newer = found.iter().position(|index| *index >= from);
            newer.or((!found.is_empty()).then_some(0))
        })
    }

    fn found_at(&self, transcript: &Transcript) -> Option<usize> {
        let at = self.search.as_ref()?.at?;
        Some(transcript.index_of(at))
    }

    /// Goes to the one that is chosen of all cells that hold the words.
    fn find(
        &mut self,
        transcript: &mut Transcript,
        choose: impl FnOnce(&[usize]) -> Option<usize>,
    ) -> bool {
        let Some(search) = &self.search else { return false };
        let found = search.cells(transcript);
        let chosen = choose(&found);
        let id = chosen.and_then(|nth| transcript.at(*found.get(nth)?)).map(|cell| cell.id);
        if let Some(id) = id {
            self.show_find(id, 0, transcript);
        }
        if let Some(search) = &mut self.search {
            search.place = (chosen.map_or(0, |nth| nth + 1), found.len());
        }
        id.is_some()
    }

    /// Goes to a find that is known: the so manieth row of a cell that holds the words.
    pub fn go_to_find(&mut self, needle: &str, cell: CellId, nth: usize, in_: &mut Transcript) {
        let mut search = Search::of(needle);
        let found = search.cells(in_);
        let here = in_.index_of(cell);
        let place = found.iter().position(|index| *index == here);
        search.place = (place.map_or(0, |place| place + 1), found.len());
        self.search = Some(search);
        self.show_find(cell, nth, in_);
    }

    fn show_find(&mut self, id: CellId, nth: usize, transcript: &mut Transcript) {
        if let Some(search) = &mut self.search {
            search.at = Some(id);
        }
        // It may stand where only an open cell shows it.
        if transcript.cell(id).is_some_and(|cell| cell.opens() && !cell.open) {
            transcript.toggle(id);
        }
        self.leave(transcript);
        self.selected = Some(id);
        self.reveal = Some(Reveal { cell: id, find: Some(nth) });
    }

    /// Takes note of what was shown: the next move begins there, and whoever sees the end stays
    /// with it.
    pub fn settle(&mut self, seen: Seen) {
        (self.height, self.hidden) = (seen.height, seen.hidden);
        let shows_end = seen.at_end && self.selected.is_none();
        let moved = self.moved != 0 || self.reveal.is_some();
        (self.moved, self.reveal) = (0, None);
        let same = matches!(self.place, Place::Row { cell, .. } if cell == seen.top);
        if shows_end {
            self.place = Place::End;
            self.known = seen.newest;
        } else if moved || !same {
            // Only then: a place that is counted anew at every width would wander.
            let Seen { top, row, of, width, .. } = seen;
            self.place = Place::Row { cell: top, row, of, width };
        }
    }

    pub fn place(&self) -> (Place, i64) {
        (self.place, self.moved)
    }

    pub fn reveal(&self) -> Option<Reveal> {
        self.reveal
    }

    fn leave(&mut self, transcript: &Transcript) {
        if self.is_following() {
            self.known = transcript.newest();
        }
        self.reveal = None;
    }
}

fn is_shown(cell: &Cell) -> bool {
    cell.is_seen()
}

impl Search {
    pub fn of(needle: &str) -> Self {
        Self { needle: needle.to_owned(), at: None, place: (0, 0) }
    }

    /// The cells that hold the words, by their place.
    fn cells(&self, transcript: &Transcript) -> Vec<usize> {
        let Some(pattern) = self.pattern() else { return Vec::new() };
        let holds = |cell: &Cell| is_shown(cell) && pattern.is_match(&cell.text());
        let cells = transcript.cells().enumerate().filter(|(_, cell)| holds(cell));
        cells.map(|(index, _)| index).collect()
    }

    /// What is looked for.
    pub fn pattern(&self) -> Option<Regex> {
        let small = !self.needle.chars().any(char::is_uppercase);
        let plain = regex::escape(&self.needle);
        RegexBuilder::new(&plain).case_insensitive(small).build().ok()
    }
}
