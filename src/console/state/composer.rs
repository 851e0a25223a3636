//! Where the person writes: one draft per agent, folded pastes, history, completions.

use std::collections::HashMap;

use super::editor::Editor;
use super::history::History;
use crate::protocol::ids::AgentId;

/// Pastes of so many lines or characters are folded.
const FOLD_LINES: usize = 10;
const FOLD_CHARACTERS: usize = 1_000;
/// More big pastes than these are not known again.
const MOST_PASTES: usize = 20;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Composer {
    pub draft: Draft,
    /// The drafts of the agents that are not selected.
    drafts: HashMap<AgentId, Draft>,
    /// Big pastes of this session: text that comes back is folded again where it holds one.
    pastes: Vec<String>,
    pub history: History,
    /// What is suggested to say to the lead; Enter in an empty draft sends it.
    pub offer: Option<String>,
    pub completion: Option<Completion>,
    pub search: Option<Search>,
}

/// What is being written to one agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Draft {
    pub editor: Editor,
    /// Folded pastes: what stands for each, and what it is.
    folded: Vec<(String, String)>,
}

impl Draft {
    /// With this text, in which these pastes are folded.
    fn folding(text: &str, pastes: &[String]) -> Self {
        let mut draft = Self::default();
        let mut rest = text;
        // The first that comes, and the longest of those that begin there.
        let next = |rest: &str| {
            let found = pastes.iter().filter_map(|paste| Some((rest.find(paste.as_str())?, paste)));
            found.min_by_key(|(at, paste)| (*at, usize::MAX - paste.len()))
        };
        while let Some((at, paste)) = next(rest) {
            draft.editor.insert_str(&rest[..at]);
            draft.fold(paste.clone());
            rest = &rest[at + paste.len()..];
        }
        draft.editor.insert_str(rest);
        draft
    }

    /// The text with all pastes unfolded.
    pub fn whole(&self) -> String {
        let text = self.editor.text();
        let (mut whole, mut rest) = (String::new(), text.as_str());
        let mut left: Vec<&(String, String)> = self.folded.iter().collect();
        // From left to right: a paste that looks like a mark is not taken for one.
        loop {
            let marks = left.iter().enumerate();
            let next = marks.filter_map(|(nth, (mark, _))| Some((rest.find(mark)?, nth))).min();
            let Some((at, nth)) = next else { break };
            let (mark, paste) = left.remove(nth);
            whole.push_str(&rest[..at]);
            whole.push_str(paste);
            rest = &rest[at + mark.len()..];
        }
        whole.push_str(rest);
        whole
    }

    pub fn is_empty(&self) -> bool {
        self.editor.is_empty()
    }

    /// Inserts a paste; a big one as a mark that stands for it. What was folded comes back.
    fn paste(&mut self, text: &str) -> Option<String> {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        if text.lines().count() < FOLD_LINES && text.chars().count() < FOLD_CHARACTERS {
            self.editor.insert_str(&text);
            return None;
        }
        self.fold(text.clone());
        Some(text)
    }

    fn fold(&mut self, text: String) {
        let lines = text.lines().count();
        let number = self.folded.len() + 1;
        let size = match lines {
            0 | 1 => format!("{} characters", text.chars().count()),
            lines => format!("{lines} lines"),
        };
        let mark = format!("[paste {number}: {size}]");
        self.editor.insert_str(&mark);
        self.folded.push((mark, text));
    }

    /// Deletes before the cursor: a folded paste as one.
    pub fn backspace(&mut self) {
        let before = self.editor.before_cursor();
        let mark = self.folded.iter().find(|(mark, _)| before.ends_with(mark.as_str()));
        match mark.map(|(mark, _)| mark.chars().count()) {
            Some(characters) => self.editor.delete_before(characters),
            None => self.editor.backspace(),
        }
    }
}

impl Composer {
    /// Puts the draft for one agent away and takes up that for another.
    pub fn switch(&mut self, from: &AgentId, to: &AgentId) {
        if from == to {
            return;
        }
        let next = self.drafts.remove(to).unwrap_or_default();
        let left = std::mem::replace(&mut self.draft, next);
        if !left.is_empty() {
            self.drafts.insert(from.clone(), left);
        }
        self.history.leave();
        self.completion = None;
        self.search = None;
    }

    /// The draft for an agent that is not selected.
    pub fn kept(&self, agent: &AgentId) -> Option<&Draft> {
        self.drafts.get(agent)
    }

    /// Puts text into the draft, replacing it. Pastes that were folded are folded again.
    pub fn set_text(&mut self, text: &str) {
        self.draft = Draft::folding(text, &self.pastes);
        self.completion = None;
    }

    /// Inserts a paste into the draft, and knows it again.
    pub fn paste(&mut self, text: &str) {
        let folded = self.draft.paste(text);
        if let Some(paste) = folded.filter(|paste| !self.pastes.contains(paste)) {
            if self.pastes.len() >= MOST_PASTES {
                self.pastes.remove(0);
            }
            self.pastes.push(paste);
        }
    }
}

/// A list of what could stand at the cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    pub items: Vec<Item>,
    pub selected: usize,
    /// How many characters before the cursor an item replaces.
    pub replaces: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// What is put in.
    pub text: String,
    pub help: String,
    /// The colour of an agent's badge.
    pub color: Option<String>,
}

/// The search through what was said before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Search {
    pub wanted: String,
    /// Which match is shown, the newest being nought.
    pub at: usize,
}
