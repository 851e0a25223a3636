//! Wishes of the console. `runtime::effects` is the only place that carries them out.

use super::msg::Editing;
use crate::console::state::ui::Drag;
use crate::protocol::ids::SessionId;
use crate::protocol::op::Op;

#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    Send(Op),
    /// To the clipboard.
    Copy(String),
    /// What the screen shows in this part of a pane, to the clipboard.
    CopyArea(Drag),

    /// Somebody who looks elsewhere should look here.
    Ring {
        title: String,
        body: String,
    },
    /// The title of the window.
    Title(String),
    /// Has a text written in `$EDITOR`; `Msg::Edited` brings it back.
    OpenEditor {
        purpose: Editing,
        text: String,
        ending: &'static str,
    },
    /// A shell over the console, until it is left.
    Shell,
    /// Draws every cell anew.
    Redraw,
    Mouse(bool),
    /// Keeps a prompt for later sessions of this project.
    Remember(String),
    /// Looks up the files of the project; `Msg::FilesListed` brings them.
    ListFiles,
    /// Looks something up; `Msg::Looked` brings it.
    Look(Look),
    /// Merges a branch into the project and says so.
    Merge(String),
    /// Another theme by name.
    Theme(String),
    /// Writes the session to a file as Markdown and says so.
    Export {
        name: String,
    },
    Quit(Parting),
}

/// What is looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look {
    Worktrees(Show),
    /// What was changed where an agent works.
    Diff {
        of: String,
        dir: String,
    },
    /// What merging a worktree would do.
    Merge {
        name: String,
    },
    /// The sessions of this project; the one whose id begins like this, if that is given.
    Sessions {
        wanted: String,
    },
    /// The person's own commands and skills.
    Recipes,
    /// What is wrong on this machine and in the home directory.
    Doctor,
}

/// What worktrees are looked up for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Show {
    Page,
    Merge,
    /// Only to complete their names.
    Nothing,
}

/// What becomes of the agents when the person leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parting {
    /// Everything ends.
    End,
    /// All stops where it stands; the session can be resumed.
    Suspend,
    /// The same, and the console opens again on this session.
    Resume(SessionId),
}
