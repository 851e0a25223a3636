//! What one agent did, heard and said, as cells: a fold over its events.
//!
//! Ids of cells count up and never change, so a place in a transcript stays a place. What is too
//! old goes, in one piece; what was taken back stays as a cell that shows nothing.

mod calls;
mod child;
mod frames;
mod heard;
mod scroll;
mod speech;

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

pub use self::scroll::{Place, Reveal, Scroll, Search, Seen};
use super::cell::{Cell, CellId, Kind};
use super::words::{Words, beginning, brief};
use crate::protocol::ask::Ask;
use crate::protocol::event::{Event, Fact, Level};
use crate::protocol::ids::{AgentId, AskId};
use crate::protocol::time::Stamp;

/// How much of a transcript is kept in memory; the journal has all of it.
const MOST_CELLS: usize = 20_000;
const MOST_BYTES: usize = 16 * 1024 * 1024;
/// Where ids of what waits begin.
const WAITING: u64 = 1 << 62;

#[derive(Debug, Clone, Default)]
pub struct Transcript {
    cells: VecDeque<Cell>,
    /// The id of the first cell that is kept, and the text that all of them hold.
    first: u64,
    bytes: usize,
    /// What waits for the agent's next boundary: always at the end.
    waiting: Vec<Cell>,
    agent: Option<AgentId>,
    color: Option<String>,
    cwd: String,
    calls: HashMap<String, CellId>,
    asks: HashMap<AskId, Asked>,
    speaking: Option<CellId>,
    thinking: Option<CellId>,
    retrying: Option<CellId>,
    /// What the agent's answers cost, and what they had cost when the turn began.
    usd: Option<f64>,
    usd_before: Option<f64>,
}

/// A question that is open.
#[derive(Debug, Clone)]
struct Asked {
    /// What it is about, in a few words.
    gist: String,
    /// The call or the plan that waits for it.
    cell: Option<CellId>,
    /// Questions in words, by their short names.
    headers: Vec<String>,
}

impl Transcript {
    /// Takes in an event of this agent.
    pub fn absorb(&mut self, event: &Event) {
        let at = event.at;
        if let Some(agent) = &event.agent
            && self.agent.is_none()
        {
            self.agent = Some(agent.clone());
        }
        match &event.fact {
            Fact::AgentStarted { about } => {
                self.cwd = about.cwd.clone();
                self.color = about.color.clone().or(self.color.take());
            }
            Fact::AgentEnded { status, why } => self.ended(at, status, why),
            Fact::Queued { id, when, from, text } => {
                let text = Words::new(text);
                let from = brief(from);
                let kind = Kind::Queued { waiting: *id, when: *when, from, text };
                let id = CellId(WAITING + id);
                self.waiting.push(Cell { id, revision: 0, at, open: false, kind });
            }
            Fact::TurnStarted => self.usd_before = self.usd,
            Fact::Heard { from, message, queued } => self.heard(at, from, message, queued),
            Fact::Speaking { text } => self.speaking(at, text),
            Fact::Thinking { text } => self.thinking(at, text),
            Fact::Restarted { why } => self.restarted(at, why),
            Fact::Retrying { why, wait_ms, attempt, of } => {
                let wait = i64::try_from(*wait_ms).unwrap_or(i64::MAX);
                let until = Stamp::from_millis(at.millis().saturating_add(wait));
                self.retrying(at, why, until, (*attempt, *of));
            }
            Fact::Spoke { message, own_usd, .. } => {
                self.usd = own_usd.or(self.usd);
                self.spoke(at, message);
            }
            Fact::TurnEnded { outcome, why, rounds, millis } => {
                self.turn_ended(at, outcome, why, *rounds, *millis);
            }
            Fact::Compacted { before, after, summary } => {
                let summary = Words::new(summary);
                self.add(at, Kind::Compacted { before: *before, after: *after, summary });
            }
            Fact::Asked { ask } => self.asked(at, ask),
            Fact::Settled { ask, verdict, by, .. } => self.settled(at, ask, verdict, by),
            Fact::Decided { use_id, decision, reason, .. } => {
                self.decided(use_id, decision, reason);
            }
            Fact::ToolStarted { use_id, tool, summary, input } => {
                self.tool_started(at, use_id, tool, summary, input);
            }
            Fact::ToolOutput { use_id, text } => self.tool_output(use_id, text),
            Fact::ToolEnded { use_id, failed, summary, millis, data } => {
                self.tool_ended(use_id, *failed, summary, *millis, data);
            }
            Fact::ModeChanged { .. }
            | Fact::TeamCreated { .. }
            | Fact::TeamDeleted { .. }
            | Fact::WentIdle { .. }
            | Fact::Paused
            | Fact::Unpaused
            | Fact::MemberJoined { .. }
            | Fact::MemberLeft { .. }
            | Fact::MailSent { .. }
            | Fact::TaskChanged { .. }
            | Fact::TaskDeleted { .. }
            | Fact::Granted { .. }
            | Fact::Revoked { .. }
            | Fact::Notice { .. }
            | Fact::Unknown(_) => self.news(at, &event.fact),
        }
        self.forget();
    }

    /// Tells whose transcript this is apart, for caches.
    pub fn key(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.agent.hash(&mut hasher);
        hasher.finish()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many cells there are to show, what waits included.
    pub fn len(&self) -> usize {
        self.cells.len() + self.waiting.len()
    }

    pub fn at(&self, index: usize) -> Option<&Cell> {
        self.cells.get(index).or_else(|| self.waiting.get(index.checked_sub(self.cells.len())?))
    }

    pub fn cells(&self) -> impl DoubleEndedIterator<Item = &Cell> {
        self.cells.iter().chain(&self.waiting)
    }

    /// Where a cell stands; the first that is still there for one that was forgotten.
    pub fn index_of(&self, id: CellId) -> usize {
        if id.0 >= WAITING {
            let waits = self.waiting.iter().position(|cell| cell.id == id);
            return self.cells.len() + waits.unwrap_or_default();
        }
        let index = usize::try_from(id.0.saturating_sub(self.first)).unwrap_or(usize::MAX);
        index.min(self.len().saturating_sub(1))
    }

    pub fn cell(&self, id: CellId) -> Option<&Cell> {
        self.at(self.index_of(id)).filter(|cell| cell.id == id)
    }

    /// How many cells there have ever been: counts what is new.
    pub fn newest(&self) -> u64 {
        self.first + u64::try_from(self.cells.len()).unwrap_or_default()
    }

    /// Shows all of a cell, or only its line.
    pub fn toggle(&mut self, id: CellId) {
        self.change(id, |cell| cell.open = !cell.open);
    }

    /// Shows all of every cell that opens, or of none: whatever changes more.
    pub fn toggle_all(&mut self) {
        let open = self.cells.iter().any(|cell| cell.opens() && !cell.open);
        for cell in self.cells.iter_mut().filter(|cell| cell.opens()) {
            cell.open = open;
            cell.revision += 1;
        }
    }

    fn add(&mut self, at: Stamp, kind: Kind) -> CellId {
        let id = CellId(self.newest());
        let cell = Cell { id, revision: 0, at, open: false, kind };
        self.bytes += cell.size();
        self.cells.push_back(cell);
        id
    }

    fn notice(&mut self, at: Stamp, level: Level, text: impl Into<String>) {
        self.add(at, Kind::Notice { level, text: beginning(&text.into()) });
    }

    /// Changes a cell and takes note that it did.
    fn change(&mut self, id: CellId, with: impl FnOnce(&mut Cell)) {
        let Some(index) = id.0.checked_sub(self.first) else { return };
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        let Some(cell) = self.cells.get_mut(index) else { return };
        let before = cell.size();
        with(cell);
        cell.revision += 1;
        self.bytes = (self.bytes + cell.size()).saturating_sub(before);
    }

    /// Lets the oldest eighth go when it has become too much.
    fn forget(&mut self) {
        if self.cells.len() <= MOST_CELLS && self.bytes <= MOST_BYTES {
            return;
        }
        let (cells, bytes) = (MOST_CELLS / 8 * 7, MOST_BYTES / 8 * 7);
        while self.cells.len() > cells || (self.bytes > bytes && self.cells.len() > 2) {
            let Some(cell) = self.cells.pop_front() else { break };
            self.bytes = self.bytes.saturating_sub(cell.size());
            self.first += 1;
        }
        let first = self.first;
        self.calls.retain(|_, cell| cell.0 > first);
        self.change(CellId(first), |cell| cell.kind = Kind::Gap { cells: first + 1 });
    }

    fn gist_of(&self, ask: &Ask) -> Asked {
        calls::gist(ask, &self.cwd)
    }
}
