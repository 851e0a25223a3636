//! Where the person writes: one draft per agent, folded pastes, history, completions.

use std::collections::HashMap;

use super::editor::Editor;
use super::history::History;
use crate::protocol::ids::AgentId;

/// Pastes of so many lines or characters are folded.
const FOLD_LINES: usize = 10;
const FOLD_CHARACTERS: usize = 1_000;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Composer {
    pub draft: Draft,
    /// The drafts of the agents that are not selected.
    drafts: HashMap<AgentId, Draft>,
    pub history: History,
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
    pub fn with_text(text: &str) -> Self {
        Self { editor: Editor::with_text(text), folded: Vec::new() }
    }

    /// The text with all pastes unfolded.
    pub fn whole(&self) -> String {
        let mut text = self.editor.text();
        for (mark, paste) in &self.folded {
            text = text.replacen(mark, paste, 1);
        }
        text
    }

    pub fn is_empty(&self) -> bool {
        self.editor.is_empty()
    }

    /// Inserts a paste; a big one as a mark that stands for it.
    pub fn paste(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let lines = text.lines().count();
        if lines < FOLD_LINES && text.chars().count() < FOLD_CHARACTERS {
            self.editor.insert_str(&text);
            return;
        }
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

    /// Puts text into the draft, replacing it.
    pub fn set_text(&mut self, text: &str) {
        self.draft = Draft::with_text(text);
        self.completion = None;
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
