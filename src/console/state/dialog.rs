//! What can lie over the screen. A closed set; the topmost has the keys.

use super::cell::CellId;
use super::editor::Editor;
use super::offers::Checked;
use crate::console::keys::Action;
use crate::console::update::Parting;
use crate::protocol::ids::{AgentId, AskId, SessionId, TaskId};

#[derive(Debug, Clone, PartialEq)]
pub enum Dialog {
    Help {
        scroll: usize,
    },
    /// Something to pick from a list, with a search.
    Picker(Picker),
    /// Pages to read.
    Sheet(Sheet),
    /// The whole transcript of the selected agent.
    Zoom,
    /// The task graph over the whole screen.
    Tasks,
    /// The queue, where it has no panel.
    Queue,
    /// A word that is searched in the selected transcript.
    Find(Box<Editor>),
}

/// What picking an entry does.
#[derive(Debug, Clone, PartialEq)]
pub enum Pick {
    Act(Action),
    /// A slash command, run as it is.
    Run(String),
    /// A slash command that wants more words: put into the composer.
    Write(String),
    Agent(AgentId),
    Theme(String),
    Leave(Parting),
    Stop(AgentId),
    /// Merges a branch into the project.
    Merge(String),
    /// Leaves, and goes on with another session.
    Resume(SessionId),
    Stay,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub label: String,
    pub help: String,
    /// The keys that do the same.
    pub keys: String,
    pub pick: Pick,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Picker {
    pub title: String,
    /// Lines above the list.
    pub words: Vec<String>,
    pub filter: String,
    /// Whether typing narrows the list; else the first letter of a label picks it.
    pub narrows: bool,
    pub entries: Vec<Entry>,
    /// Among those that match.
    pub selected: usize,
    /// The theme to go back to when nothing is picked.
    pub before: Option<String>,
}

impl Picker {
    pub fn new(title: impl Into<String>, entries: Vec<Entry>) -> Self {
        Self {
            title: title.into(),
            words: Vec::new(),
            filter: String::new(),
            narrows: true,
            entries,
            selected: 0,
            before: None,
        }
    }

    /// A question with a few answers.
    pub fn question(title: impl Into<String>, words: Vec<String>, entries: Vec<Entry>) -> Self {
        Self { words, narrows: false, ..Self::new(title, entries) }
    }

    /// The entries that match what was typed, the best first.
    pub fn matching(&self) -> Vec<&Entry> {
        let wanted = self.filter.to_lowercase();
        if wanted.is_empty() {
            return self.entries.iter().collect();
        }
        let rank = |entry: &Entry| {
            let label = entry.label.to_lowercase();
            let text = format!("{label} {}", entry.help.to_lowercase());
            let words_in = |hay: &str| wanted.split_whitespace().all(|word| hay.contains(word));
            let name = label.split_whitespace().next().unwrap_or_default();
            match () {
                () if name == wanted.trim_end() => Some(0),
                () if label.starts_with(&wanted) => Some(1),
                // Whoever writes a slash means a command.
                () if wanted.starts_with('/') => None,
                () if label.trim_start_matches('/').starts_with(&wanted) => Some(1),
                () if words_in(&label) => Some(2),
                () if words_in(&text) => Some(3),
                () if in_order(&label, &wanted) => Some(4),
                () => None,
            }
        };
        let mut found: Vec<(u8, &Entry)> =
            self.entries.iter().filter_map(|entry| Some((rank(entry)?, entry))).collect();
        found.sort_by_key(|(rank, _)| *rank);
        found.into_iter().map(|(_, entry)| entry).collect()
    }

    pub fn picked(&self) -> Option<Entry> {
        self.matching().get(self.selected).map(|entry| (*entry).clone())
    }

    pub fn step(&mut self, by: isize) {
        let many = self.matching().len();
        let next = self.selected.saturating_add_signed(by);
        self.selected = next.min(many.saturating_sub(1));
    }

    pub fn retype(&mut self, filter: String) {
        self.filter = filter;
        self.selected = 0;
    }
}

/// Whether all letters of `wanted` stand in `text` in their order.
fn in_order(text: &str, wanted: &str) -> bool {
    let mut rest = text.chars();
    wanted.chars().filter(|c| !c.is_whitespace()).all(|c| rest.any(|other| other == c))
}

#[derive(Debug, Clone, PartialEq)]
pub struct Sheet {
    pub page: Page,
    pub scroll: usize,
    /// The line that `Enter` follows, among those that lead somewhere.
    pub selected: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Page {
    /// Drawn from the state, so they stay true while they are open.
    Team,
    Cost,
    Context,
    Permissions,
    Notices,
    /// Plain lines.
    Words {
        title: String,
        lines: Vec<String>,
    },
    /// How this machine and the home directory are.
    Doctor(Vec<Checked>),
    /// What was changed where an agent works.
    Diff {
        of: String,
        text: String,
    },
    /// What was found where.
    Found {
        query: String,
        hits: Vec<Hit>,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    pub place: String,
    pub line: String,
    pub goes_to: Goal,
}

/// Where a line of a page leads.
#[derive(Debug, Clone, PartialEq)]
pub enum Goal {
    /// A cell of a transcript, at the row that is the so manieth of those that hold the words.
    Cell {
        agent: AgentId,
        cell: CellId,
        nth: usize,
    },
    Task(TaskId),
    Ask(AskId),
}

impl Sheet {
    pub fn new(page: Page) -> Self {
        Self { page, scroll: 0, selected: 0 }
    }
}
