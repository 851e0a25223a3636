//! One entry of a transcript: plain data, no lines and no colours.

use super::words::{Words, brief};
use crate::protocol::event::Level;
use crate::protocol::ids::AskId;
use crate::protocol::op::When;
use crate::protocol::time::Stamp;

/// Turns that took as long are marked at their end.
const LONG_TURN_MS: u64 = 1000;

/// Counts up within a transcript; what waits for its turn counts from far above.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CellId(pub u64);

#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    pub id: CellId,
    /// Counts the changes: part of every cache key.
    pub revision: u32,
    pub at: Stamp,
    /// Whether all of it is shown.
    pub open: bool,
    pub kind: Kind,
}

/// What a cell tells.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// What the person said, or somebody else in their place.
    Prompt {
        from: String,
        text: Words,
    },
    /// What another agent wrote to this one.
    Mail {
        from: String,
        color: Option<String>,
        summary: Option<String>,
        text: Words,
    },
    /// What this agent wrote to another.
    Sent {
        from: String,
        color: Option<String>,
        to: String,
        summary: String,
        text: Words,
    },
    /// What the agent said; `live` while it speaks.
    Said {
        text: Words,
        live: bool,
    },
    Thought {
        text: Words,
        live: bool,
    },
    Call(Box<Call>),
    /// What the person decided.
    Decision {
        good: bool,
        text: String,
        more: Vec<String>,
    },
    Plan {
        file: String,
        text: Words,
        verdict: Option<PlanVerdict>,
    },
    Notice {
        level: Level,
        text: String,
    },
    /// Somebody came or went.
    Member {
        name: String,
        color: Option<String>,
        joined: bool,
    },
    /// Teammates that have nothing to do, with the last words of each.
    Idle {
        who: Vec<Resting>,
    },
    Retry {
        why: String,
        until: Stamp,
        attempt: u32,
        of: u32,
        over: bool,
    },
    Compacted {
        before: u64,
        after: u64,
        summary: Words,
    },
    /// Something in the background ended.
    Finished {
        good: bool,
        summary: String,
        result: Words,
    },
    /// What waits for the agent's next boundary.
    Queued {
        waiting: u64,
        when: When,
        from: String,
        text: Words,
    },
    TurnEnd {
        outcome: String,
        why: String,
        rounds: u32,
        millis: u64,
        usd: Option<f64>,
    },
    /// The beginning is no longer kept here.
    Gap {
        cells: u64,
    },
    /// It was taken back: nothing is shown.
    Void,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resting {
    pub name: String,
    pub color: Option<String>,
    pub said: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanVerdict {
    Approved,
    Rejected(Option<String>),
    Withdrawn,
}

/// One use of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub use_id: String,
    pub tool: String,
    /// What is to be done, in one line.
    pub summary: String,
    pub input: String,
    pub phase: Phase,
    pub ask: Option<AskId>,
    pub started: Option<Stamp>,
    pub millis: Option<u64>,
    /// What came of it, in one line.
    pub outcome: String,
    pub output: Words,
    pub change: Option<Change>,
    /// Agents that work for this call.
    pub children: Vec<Child>,
    /// The person had it started, not the agent: it is over when its child is.
    pub by_person: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// The agent wants it; it is not decided yet.
    Wanted,
    /// The person is asked.
    Waiting,
    Running,
    Done,
    Failed,
    Denied(String),
}

/// What a call changes in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub path: String,
    pub how: How,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    /// As it was asked for: this text becomes that one.
    Swap {
        old: String,
        new: String,
        /// Where it begins in the file, as far as somebody looked.
        lines: Vec<usize>,
    },
    /// As it was done, with the lines of the file.
    Patch(String),
}

/// An agent that works for a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Child {
    pub agent: String,
    pub kind: String,
    pub description: String,
    /// What it did, newest last; older steps are only counted.
    pub steps: Vec<Step>,
    pub count: usize,
    pub tokens: u64,
    pub asks: bool,
    /// `completed`, `failed` or `killed`.
    pub ended: Option<String>,
    /// What it said last.
    pub said: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub use_id: String,
    pub tool: String,
    pub summary: String,
    pub phase: Phase,
}

impl Cell {
    /// Whether there is more to it than is shown while it is closed.
    pub fn opens(&self) -> bool {
        match &self.kind {
            Kind::Call(call) => {
                !call.output.is_empty() || !call.input.is_empty() || !call.children.is_empty()
            }
            Kind::Thought { text, .. } | Kind::Compacted { summary: text, .. } => !text.is_empty(),
            Kind::Finished { result, .. } => !result.is_empty(),
            Kind::Mail { text, .. } | Kind::Sent { text, .. } => !text.is_empty(),
            Kind::Prompt { .. }
            | Kind::Plan { .. }
            | Kind::Said { .. }
            | Kind::Decision { .. }
            | Kind::Notice { .. }
            | Kind::Member { .. }
            | Kind::Idle { .. }
            | Kind::Retry { .. }
            | Kind::Queued { .. }
            | Kind::TurnEnd { .. }
            | Kind::Gap { .. }
            | Kind::Void => false,
        }
    }

    /// Whether anything of a cell is seen. A short turn ends without a word, and mail that went out
    /// stands on a line of its own.
    pub fn is_seen(&self) -> bool {
        match &self.kind {
            Kind::Void => false,
            Kind::TurnEnd { outcome, millis, .. } => outcome != "done" || *millis >= LONG_TURN_MS,
            Kind::Call(call) => self.open || !call.is_told_elsewhere(),
            Kind::Prompt { .. }
            | Kind::Mail { .. }
            | Kind::Sent { .. }
            | Kind::Said { .. }
            | Kind::Thought { .. }
            | Kind::Decision { .. }
            | Kind::Plan { .. }
            | Kind::Notice { .. }
            | Kind::Member { .. }
            | Kind::Idle { .. }
            | Kind::Retry { .. }
            | Kind::Compacted { .. }
            | Kind::Finished { .. }
            | Kind::Queued { .. }
            | Kind::Gap { .. } => true,
        }
    }

    /// Whether what is shown depends on the clock.
    pub fn ticks(&self) -> bool {
        match &self.kind {
            Kind::Call(call) => call.phase == Phase::Running,
            Kind::Retry { over, .. } => !over,
            Kind::Prompt { .. }
            | Kind::Mail { .. }
            | Kind::Sent { .. }
            | Kind::Said { .. }
            | Kind::Thought { .. }
            | Kind::Decision { .. }
            | Kind::Plan { .. }
            | Kind::Notice { .. }
            | Kind::Member { .. }
            | Kind::Idle { .. }
            | Kind::Compacted { .. }
            | Kind::Finished { .. }
            | Kind::Queued { .. }
            | Kind::TurnEnd { .. }
            | Kind::Gap { .. }
            | Kind::Void => false,
        }
    }

    /// All of its text, to copy it or to search in it.
    pub fn text(&self) -> String {
        match &self.kind {
            Kind::Prompt { text, .. }
            | Kind::Said { text, .. }
            | Kind::Thought { text, .. }
            | Kind::Plan { text, .. }
            | Kind::Queued { text, .. }
            | Kind::Compacted { summary: text, .. } => text.as_str().to_owned(),
            Kind::Mail { from, summary, text, .. } => {
                let summary = summary.as_deref().unwrap_or_default();
                lines([&format!("{from}: {summary}"), text.as_str()])
            }
            Kind::Sent { from, to, summary, text, .. } => {
                lines([&format!("{from} → {to}: {summary}"), text.as_str()])
            }
            Kind::Call(call) => call.text(),
            Kind::Decision { text, more, .. } => {
                lines(std::iter::once(text.as_str()).chain(more.iter().map(String::as_str)))
            }
            Kind::Finished { summary, result, .. } => lines([summary, result.as_str()]),
            Kind::Notice { text, .. } => text.clone(),
            Kind::Member { name, .. } => name.clone(),
            Kind::Idle { who } => lines(who.iter().map(|one| one.name.as_str())),
            Kind::Retry { why, .. } => why.clone(),
            Kind::TurnEnd { outcome, why, .. } => lines([outcome.as_str(), why]),
            Kind::Gap { .. } | Kind::Void => String::new(),
        }
    }

    /// Whether somebody who chose no cell could mean this one.
    pub fn is_worth_copying(&self) -> bool {
        !matches!(self.kind, Kind::TurnEnd { .. }) && !self.text().is_empty()
    }

    /// About how much memory its text takes.
    pub fn size(&self) -> usize {
        const CELL: usize = 200;
        CELL + match &self.kind {
            Kind::Prompt { text, .. }
            | Kind::Mail { text, .. }
            | Kind::Sent { text, .. }
            | Kind::Said { text, .. }
            | Kind::Thought { text, .. }
            | Kind::Plan { text, .. }
            | Kind::Queued { text, .. }
            | Kind::Finished { result: text, .. }
            | Kind::Compacted { summary: text, .. } => text.len(),
            Kind::Call(call) => call.size(),
            Kind::Decision { text, .. } | Kind::Notice { text, .. } => text.len(),
            Kind::TurnEnd { why, .. } | Kind::Retry { why, .. } => why.len(),
            Kind::Idle { who } => who.len() * 128,
            Kind::Member { .. } | Kind::Gap { .. } | Kind::Void => 0,
        }
    }
}

impl Call {
    pub fn new(use_id: &str, tool: &str) -> Self {
        Self {
            use_id: use_id.to_owned(),
            tool: brief(tool),
            summary: String::new(),
            input: String::new(),
            phase: Phase::Wanted,
            ask: None,
            started: None,
            millis: None,
            outcome: String::new(),
            output: Words::default(),
            change: None,
            children: Vec::new(),
            by_person: false,
        }
    }

    /// Mail that went out is a line of its own already.
    fn is_told_elsewhere(&self) -> bool {
        self.tool == "SendMessage" && self.phase == Phase::Done
    }

    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Done | Phase::Failed | Phase::Denied(_))
    }

    fn text(&self) -> String {
        let head = format!("{} {}", self.tool, self.summary);
        let patch = match &self.change {
            Some(Change { how: How::Patch(patch), .. }) => patch.as_str(),
            Some(Change { how: How::Swap { new, .. }, .. }) => new,
            None => "",
        };
        let input = if self.change.is_some() { "" } else { &self.input };
        lines([&head, input, patch, self.output.as_str(), &self.outcome])
    }

    fn size(&self) -> usize {
        let change = match &self.change {
            Some(Change { how: How::Patch(patch), .. }) => patch.len(),
            Some(Change { how: How::Swap { old, new, .. }, .. }) => old.len() + new.len(),
            None => 0,
        };
        self.input.len() + self.output.len() + change + self.children.len() * 1024
    }
}

/// Those that are not empty, one below the other.
fn lines<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.trim().is_empty()).collect();
    parts.join("\n")
}
