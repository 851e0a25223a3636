//! What the person looks at: which panel has the keys, how the screen is divided, what is armed.

use crate::protocol::ids::AgentId;
use crate::protocol::time::Stamp;

/// The size of the terminal in cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub columns: u16,
    pub rows: u16,
}

/// Which panel has the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Focus {
    #[default]
    Composer,
    /// The transcript of the selected agent.
    Pane,
    Tasks,
    Queue,
}

/// How the teammates share the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Arrangement {
    /// The lead, all teammates, tasks and queue.
    #[default]
    Overview,
    /// The lead and the selected teammate.
    Focus,
    /// All agents alike.
    Grid,
}

impl Arrangement {
    pub const fn next(self) -> Self {
        match self {
            Self::Overview => Self::Focus,
            Self::Focus => Self::Grid,
            Self::Grid => Self::Overview,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Overview => "overview",
            Self::Focus => "focus",
            Self::Grid => "grid",
        }
    }
}

/// Something that the same key does at its second press.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Armed {
    Stop(AgentId),
    Quit,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ui {
    pub focus: Focus,
    pub arrangement: Arrangement,
    /// `Ctrl+X` was pressed and the key after it is awaited.
    pub prefix: bool,
    pub mouse: bool,
    /// Whether the terminal has the focus of the desktop; assumed until it says otherwise.
    pub is_watched: bool,
    /// When a key was pressed last.
    pub last_key: Option<Stamp>,
    /// When a printable key went into the composer last.
    pub last_typed: Option<Stamp>,
    /// When `Esc` closed something last.
    pub closed: Option<Stamp>,
    pub armed: Option<(Armed, Stamp)>,
    /// The click before, for double clicks.
    pub clicked: Option<(u16, u16, Stamp)>,
    /// Where the mouse button went down, and where it is now: columns and rows.
    pub dragged: Option<Drag>,
    /// The title that the window wears.
    pub title: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drag {
    pub pane: AgentId,
    pub from: (u16, u16),
    pub to: (u16, u16),
}

impl Default for Ui {
    fn default() -> Self {
        Self {
            focus: Focus::default(),
            arrangement: Arrangement::default(),
            prefix: false,
            mouse: true,
            is_watched: true,
            last_key: None,
            last_typed: None,
            closed: None,
            armed: None,
            clicked: None,
            dragged: None,
            title: String::new(),
        }
    }
}
