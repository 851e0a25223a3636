//! One ask as it is shown: which page of it, since when, and the letter that is being weighed.

use std::cell::Cell;

use super::scope::ScopeMenu;
use super::words::WordsForm;
use crate::console::keys::Action;
use crate::console::state::editor::Editor;
use crate::protocol::ask::{Ask, Question};
use crate::protocol::ids::AskId;
use crate::protocol::time::Stamp;

#[derive(Debug, Clone)]
pub struct AskDialog {
    pub ask: AskId,
    /// The version that is shown: a verdict is given for no other.
    pub rev: u32,
    pub way: Way,
    /// Since when this very page is seen.
    pub shown_at: Stamp,
    /// When the dialog opened, whatever it showed then.
    pub opened_at: Stamp,
    pub stage: Stage,
    /// The letter that opened the page, and when: typing that goes on right behind it was no
    /// answer.
    pub entered: Option<(char, Stamp)>,
    pub held: Option<Held>,
    /// Rows of the text that are above what is seen.
    pub scroll: usize,
    /// How far it can be scrolled. Only the view knows, and says so whenever it draws.
    pub reach: Cell<usize>,
    /// Over the whole screen.
    pub full: bool,
    /// One sentence about what just happened, or did not.
    pub note: Option<String>,
    /// What is said with a yes.
    pub remark: Editor,
    /// What is said with a no.
    pub instead: Editor,
    /// Answers to questions in words.
    pub form: WordsForm,
    /// The line of a list of choices that the person went to. None until they did: Enter alone
    /// must not answer.
    pub cursor: Option<usize>,
}

/// How a dialog came to be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The person may not have noticed yet.
    ByItself,
    OnPurpose,
}

#[derive(Debug, Clone)]
pub enum Stage {
    /// What is asked, and the letters that answer.
    Choices,
    /// Words to go with a yes.
    Remark,
    /// Words to go with a no.
    Instead,
    /// What may run instead of what was asked.
    Edit(EditBox),
    Scope(ScopeMenu),
    /// Own words as the answer to a question.
    Own(Editor),
    /// It is settled, and not from here.
    Gone {
        how: String,
        since: Stamp,
    },
}

/// A letter that may be an answer or the beginning of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    pub action: Action,
    pub typed: char,
    pub at: Stamp,
    /// Pressed before the page was seen long enough: it will mean nothing.
    pub early: bool,
}

/// An input that is being changed.
#[derive(Debug, Clone)]
pub struct EditBox {
    pub editor: Editor,
    /// The text as it was, to tell whether anything was changed.
    pub was: String,
    pub form: EditForm,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditForm {
    /// The text of a shell command.
    Command,
    /// What a file is to hold.
    Content,
    /// What is put in place of a passage.
    Replacement,
    /// The whole input of a tool.
    Json,
    /// A plan.
    Plan,
}

impl EditForm {
    /// The field of the input that is edited alone.
    pub const fn field(self) -> Option<&'static str> {
        match self {
            Self::Command => Some("command"),
            Self::Content => Some("content"),
            Self::Replacement => Some("new_string"),
            Self::Json | Self::Plan => None,
        }
    }
}

impl AskDialog {
    pub fn new(ask: &Ask, way: Way, now: Stamp) -> Self {
        let form = match &ask.question {
            Question::Words { questions } => WordsForm::new(questions),
            Question::Tool { .. }
            | Question::Plan { .. }
            | Question::Budget { .. }
            | Question::NoAnswerToShutdown => WordsForm::default(),
        };
        Self {
            ask: ask.id.clone(),
            rev: ask.rev,
            way,
            shown_at: now,
            opened_at: now,
            stage: Stage::Choices,
            entered: None,
            held: None,
            scroll: 0,
            reach: Cell::new(0),
            full: false,
            note: None,
            remark: Editor::default(),
            instead: Editor::default(),
            form,
            cursor: None,
        }
    }

    /// The editor that letters go to on this page.
    pub fn editor_mut(&mut self) -> Option<&mut Editor> {
        match &mut self.stage {
            Stage::Remark => Some(&mut self.remark),
            Stage::Instead => Some(&mut self.instead),
            Stage::Edit(edit) => Some(&mut edit.editor),
            Stage::Own(editor) => Some(editor),
            Stage::Choices | Stage::Scope(_) | Stage::Gone { .. } => None,
        }
    }

    pub fn editor(&self) -> Option<&Editor> {
        match &self.stage {
            Stage::Remark => Some(&self.remark),
            Stage::Instead => Some(&self.instead),
            Stage::Edit(edit) => Some(&edit.editor),
            Stage::Own(editor) => Some(editor),
            Stage::Choices | Stage::Scope(_) | Stage::Gone { .. } => None,
        }
    }

    /// Whether the page has been seen long enough for a letter to count.
    pub fn is_seen(&self, now: Stamp) -> bool {
        now.millis().saturating_sub(self.shown_at.millis()) >= super::VISIBLE
    }

    /// Scrolls by so many rows, within the text.
    pub fn scroll_by(&mut self, rows: isize) {
        let reach = self.reach.get();
        self.scroll = self.scroll.min(reach).saturating_add_signed(rows).min(reach);
    }

    /// Back to what is asked.
    pub fn turn_to_choices(&mut self) {
        self.stage = Stage::Choices;
        self.entered = None;
        self.held = None;
        self.note = None;
    }
}

/// The text that `e` lets the person change, and how it is to be read.
pub fn editable(ask: &Ask) -> Option<(String, EditForm)> {
    match &ask.question {
        Question::Tool { name, input, .. } => {
            let form = match name.as_str() {
                "Bash" => EditForm::Command,
                "Write" => EditForm::Content,
                "Edit" => EditForm::Replacement,
                _ => EditForm::Json,
            };
            let text = form.field().and_then(|field| input.get(field)?.as_str());
            match text {
                Some(text) => Some((text.to_owned(), form)),
                None => Some((serde_json::to_string_pretty(input).ok()?, EditForm::Json)),
            }
        }
        Question::Plan { text, .. } => Some((text.clone(), EditForm::Plan)),
        Question::Words { .. } | Question::Budget { .. } | Question::NoAnswerToShutdown => None,
    }
}
