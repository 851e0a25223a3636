//! Facts that reach the console: what was pressed, what happened, what time it is.

use std::sync::Arc;

use super::Show;
use crate::agent::recipes::Recipe;
use crate::console::keys::Chord;
use crate::console::state::offers::{Checked, Past, Tree};
use crate::protocol::event::{Event, Level};
use crate::protocol::op::Op;
use crate::protocol::time::Stamp;
use crate::worktree::Preview;

#[derive(Debug, Clone, PartialEq)]
pub enum Msg {
    /// Something happened in the session.
    Event(Arc<Event>),
    Key(Chord),
    Paste(String),
    Mouse(Mouse),
    Resized {
        columns: u16,
        rows: u16,
    },
    /// It is this late. Comes before every other message and when `wake` asked for it.
    Tick(Stamp),
    /// The terminal got or lost the focus of the desktop.
    Focus(bool),
    /// The terminal is the console's again, after an editor or a shell had it: this large.
    TakenBack {
        columns: u16,
        rows: u16,
    },
    /// The session did not do what it was asked to.
    Refused {
        op: Box<Op>,
        why: String,
    },
    /// What came of an external editor; `None` when it was left without saving.
    Edited {
        purpose: Editing,
        text: Option<String>,
    },
    /// The files of the project, for completion.
    FilesListed(Arc<[String]>),
    /// What the person said in earlier sessions, oldest first.
    HistoryLoaded(Vec<String>),
    /// What was looked up.
    Looked(Box<Seen>),
    /// Something that an effect has to say.
    Told {
        level: Level,
        text: String,
    },
    /// The session publishes nothing more.
    SessionOver,
    /// The program was told to end: SIGTERM, SIGHUP.
    EndRequested,
}

/// What was looked up.
#[derive(Debug, Clone, PartialEq)]
pub enum Seen {
    Worktrees {
        trees: Vec<Tree>,
        show: Show,
    },
    Diff {
        of: String,
        text: String,
    },
    Merge {
        preview: Preview,
        /// What is in the worktree.
        state: String,
    },
    Sessions {
        sessions: Vec<Past>,
        wanted: String,
    },
    Recipes(Arc<[Recipe]>),
    Doctor(Vec<Checked>),
}

/// What is written in an external editor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Editing {
    /// The draft of the composer.
    Draft,
    /// What an ask would run.
    Ask,
    /// The words of a dialog about tasks.
    Task,
    /// Only looked at.
    Reading,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mouse {
    pub kind: MouseKind,
    pub column: u16,
    pub row: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MouseKind {
    Down,
    Drag,
    Up,
    WheelUp,
    WheelDown,
}
