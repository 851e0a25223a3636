//! Everything a key can mean. A key table row, the palette and a user's key file name these.

/// Where keys are read. From the focused surface outwards; the innermost that knows a key wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Context {
    Everywhere,
    /// After `Ctrl+X`.
    Prefix,
    Composer,
    /// The list of completions above the composer.
    Completion,
    /// The search through what was said before.
    History,
    /// A transcript: in its pane or over the whole screen.
    Pane,
    /// The task panel and the full-screen graph.
    Tasks,
    /// The line for what is searched in a transcript.
    Find,
    /// The permission queue.
    Queue,
    /// An ask that is shown: letters answer.
    Ask,
    /// Words are written into an ask: a remark, a changed command.
    AskWords,
    /// The menu of how long and for whom.
    AskScope,
    /// Lists to pick from: the palette, themes, choices.
    List,
    /// Pages to read: help, costs, what was found.
    Sheet,
    /// A recorded session that is played.
    Replay,
}

impl Context {
    pub const ALL: &[Self] = &[
        Self::Everywhere,
        Self::Composer,
        Self::Completion,
        Self::History,
        Self::Pane,
        Self::Find,
        Self::Ask,
        Self::AskWords,
        Self::AskScope,
        Self::Queue,
        Self::Tasks,
        Self::List,
        Self::Sheet,
        Self::Replay,
        Self::Prefix,
    ];

    /// As the key file and the manual call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Everywhere => "everywhere",
            Self::Prefix => "prefix",
            Self::Composer => "composer",
            Self::Completion => "completion",
            Self::History => "history",
            Self::Pane => "pane",
            Self::Tasks => "tasks",
            Self::Find => "find",
            Self::Queue => "queue",
            Self::Ask => "ask",
            Self::AskWords => "ask-words",
            Self::AskScope => "ask-scope",
            Self::List => "list",
            Self::Sheet => "sheet",
            Self::Replay => "replay",
        }
    }

    /// As the help and the README head its rows.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Everywhere => "everywhere",
            Self::Prefix => "after Ctrl+X",
            Self::Composer => "composer",
            Self::Completion => "completions",
            Self::History => "history search",
            Self::Pane => "pane or zoom",
            Self::Tasks => "tasks",
            Self::Find => "search in a transcript",
            Self::Queue => "queue",
            Self::Ask => "ask",
            Self::AskWords => "words to an ask",
            Self::AskScope => "scope of a yes",
            Self::List => "lists",
            Self::Sheet => "pages",
            Self::Replay => "replay",
        }
    }
}

macro_rules! actions {
    ($($(#[$doc:meta])* $name:ident = $written:literal,)*) => {
        /// What a key, a palette entry or a command asks of the console.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Action { $($(#[$doc])* $name,)* }

        impl Action {
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// As the key file calls it.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $written,)* }
            }

            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|action| action.name() == name)
            }
        }
    };
}

actions! {
    // Everywhere.
    PreviousAgent = "previous-agent",
    NextAgent = "next-agent",
    JumpTo1 = "jump-to-1",
    JumpTo2 = "jump-to-2",
    JumpTo3 = "jump-to-3",
    JumpTo4 = "jump-to-4",
    JumpTo5 = "jump-to-5",
    JumpTo6 = "jump-to-6",
    JumpTo7 = "jump-to-7",
    JumpTo8 = "jump-to-8",
    JumpTo9 = "jump-to-9",
    NextPanel = "next-panel",
    CycleLayout = "cycle-layout",
    ShowTasks = "show-tasks",
    Zoom = "zoom",
    AnswerOldest = "answer-oldest",
    NextNeed = "next-need",
    OpenPalette = "open-palette",
    ShowHelp = "show-help",
    CycleMode = "cycle-mode",
    ToBackground = "to-background",
    ClearOrQuit = "clear-or-quit",
    OpenShell = "open-shell",
    Redraw = "redraw",
    PageUp = "page-up",
    PageDown = "page-down",
    Prefix = "prefix",
    /// Closes, goes back, interrupts: in the order of the manual.
    Escape = "escape",
    ToggleMouse = "toggle-mouse",
    ShowQueue = "show-queue",
    PauseAgent = "pause-agent",
    Quit = "quit",
    // Moves, in whatever is focused.
    Up = "up",
    Down = "down",
    Left = "left",
    Right = "right",
    HalfPageUp = "half-page-up",
    HalfPageDown = "half-page-down",
    Top = "top",
    Bottom = "bottom",
    // Composer.
    Send = "send",
    Newline = "newline",
    HistorySearch = "history-search",
    ExternalEditor = "external-editor",
    Accept = "accept",
    Undo = "undo",
    Redo = "redo",
    WordLeft = "word-left",
    WordRight = "word-right",
    LineStart = "line-start",
    LineEnd = "line-end",
    Backspace = "backspace",
    Delete = "delete",
    DeleteWord = "delete-word",
    DeleteNextWord = "delete-next-word",
    DeleteToStart = "delete-to-start",
    DeleteToEnd = "delete-to-end",
    // A transcript.
    Search = "search",
    SearchNext = "search-next",
    SearchPrevious = "search-previous",
    OpenCell = "open-cell",
    CopyCell = "copy-cell",
    StopAgent = "stop-agent",
    MessageAgent = "message-agent",
    ViewInEditor = "view-in-editor",
    // Asks.
    AllowOnce = "allow-once",
    AllowWithRemark = "allow-with-remark",
    AllowAlways = "allow-always",
    EditInput = "edit-input",
    Deny = "deny",
    DenyWithWords = "deny-with-words",
    MarkAlike = "mark-alike",
    GoToAsker = "go-to-asker",
    FullView = "full-view",
    Later = "later",
    OpenAsk = "open-ask",
    Take = "take",
    Toggle = "toggle",
    NextField = "next-field",
    PreviousField = "previous-field",
    Submit = "submit",
    // Tasks.
    OpenTask = "open-task",
    AssignTask = "assign-task",
    TaskStatus = "task-status",
    TaskBlockers = "task-blockers",
    NewTask = "new-task",
    ReleaseTask = "release-task",
    DeleteTask = "delete-task",
    CriticalPath = "critical-path",
    PanLeft = "pan-left",
    PanRight = "pan-right",
    PanUp = "pan-up",
    PanDown = "pan-down",
    // Replay.
    PlayOrPause = "play-or-pause",
    StepForward = "step-forward",
    StepBack = "step-back",
    Faster = "faster",
    Slower = "slower",
    NextAsk = "next-ask",
    NextMessage = "next-message",
    NextError = "next-error",
    NextTaskChange = "next-task-change",
}

impl Action {
    /// The jump to the agent at this place, counted from nought.
    pub fn jump_to(place: usize) -> Option<Self> {
        Self::ALL.iter().copied().find(|action| action.jump() == Some(place))
    }

    /// Which agent a jump goes to, counted from nought.
    pub fn jump(self) -> Option<usize> {
        let first = Self::JumpTo1 as usize;
        let last = Self::JumpTo9 as usize;
        (first..=last).contains(&(self as usize)).then(|| self as usize - first)
    }
}
