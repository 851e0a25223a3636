//! The one list of keys: dispatch, footer, help overlay and the README's table all read it.
//!
//! Rows stand in the order in which they are shown. Several keys of a row are set apart by
//! blanks.

use super::{Action, Context};
use Action as A;
use Context as C;

/// One meaning of one or several keys in a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    pub context: Context,
    /// In the notation of `Chord`, set apart by blanks.
    pub keys: &'static str,
    pub action: Action,
    pub help: &'static str,
    /// What the footer calls it; nothing for keys that it does not show.
    pub footer: &'static str,
}

pub const fn row(context: Context, keys: &'static str, action: Action, help: &'static str) -> Row {
    Row { context, keys, action, help, footer: "" }
}

impl Row {
    /// The same row, shown in the footer under this word.
    pub const fn footer(self, word: &'static str) -> Self {
        Self { footer: word, ..self }
    }
}

/// All rows of the console.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    ROWS.iter().chain(MORE.iter().copied().flatten())
}

/// Rows that stand beside what they are for.
const MORE: &[&[Row]] = &[crate::console::state::asks::ASK_KEYS];

#[rustfmt::skip]
pub const ROWS: &[Row] = &[
    row(C::Everywhere, "<C-y>",      A::AnswerOldest,  "answer the oldest ask").footer("answer"),
    row(C::Everywhere, "<S-up>",     A::PreviousAgent, "previous teammate, the lead included"),
    row(C::Everywhere, "<S-down>",   A::NextAgent,     "next teammate, the lead included").footer("teammate"),
    row(C::Everywhere, "<A-1>",      A::JumpTo1,       "jump to the lead"),
    row(C::Everywhere, "<A-2>",      A::JumpTo2,       "jump to the 1st teammate"),
    row(C::Everywhere, "<A-3>",      A::JumpTo3,       "jump to the 2nd teammate"),
    row(C::Everywhere, "<A-4>",      A::JumpTo4,       "jump to the 3rd teammate"),
    row(C::Everywhere, "<A-5>",      A::JumpTo5,       "jump to the 4th teammate"),
    row(C::Everywhere, "<A-6>",      A::JumpTo6,       "jump to the 5th teammate"),
    row(C::Everywhere, "<A-7>",      A::JumpTo7,       "jump to the 6th teammate"),
    row(C::Everywhere, "<A-8>",      A::JumpTo8,       "jump to the 7th teammate"),
    row(C::Everywhere, "<A-9>",      A::JumpTo9,       "jump to the 8th teammate"),
    row(C::Everywhere, "<C-n>",      A::NextNeed,      "visit the next agent that needs you"),
    row(C::Everywhere, "<tab>",      A::NextPanel,     "next panel").footer("panels"),
    row(C::Everywhere, "<C-t>",      A::ShowTasks,     "tasks, over the whole screen").footer("tasks"),
    row(C::Everywhere, "<C-o>",      A::Zoom,          "the whole transcript of the selected agent").footer("zoom"),
    row(C::Everywhere, "<f2>",       A::CycleLayout,   "layout: overview, focus, grid"),
    row(C::Everywhere, "<C-p>",      A::OpenPalette,   "command palette").footer("commands"),
    row(C::Everywhere, "<f1>",       A::ShowHelp,      "help").footer("help"),
    row(C::Everywhere, "<S-tab>",    A::CycleMode,     "permission mode of the selected agent"),
    row(C::Everywhere, "<C-b>",      A::ToBackground,  "send the running subagent or command to the background"),
    row(C::Everywhere, "<esc>",      A::Escape,        "close, then back to the composer, then interrupt the selected agent"),
    row(C::Everywhere, "<C-c>",      A::ClearOrQuit,   "clear the draft; with none, twice quits"),
    row(C::Everywhere, "<C-z>",      A::OpenShell,     "a shell, while the agents keep working"),
    row(C::Everywhere, "<C-l>",      A::Redraw,        "redraw the screen"),
    row(C::Everywhere, "<pageup>",   A::PageUp,        "scroll up a page"),
    row(C::Everywhere, "<pagedown>", A::PageDown,      "scroll down a page"),
    row(C::Everywhere, "<f3>",       A::ToggleMouse,   "give the mouse to the terminal, or take it back"),
    row(C::Everywhere, "<C-x>",      A::Prefix,        "then a key: the chords above, for terminals that keep them"),

    row(C::Composer, "<ret>",               A::Send,           "send to the selected agent; `@name …` and `@all …` to others").footer("send"),
    row(C::Composer, "<C-j> <S-ret> <A-ret>", A::Newline,      "new line"),
    row(C::Composer, "<up>",                A::Up,             "up; on the first line, earlier prompts"),
    row(C::Composer, "<down>",              A::Down,           "down; on the last line, later prompts"),
    row(C::Composer, "<C-r>",               A::HistorySearch,  "search earlier prompts"),
    row(C::Composer, "<C-g>",               A::ExternalEditor, "write it in $EDITOR"),
    row(C::Composer, "<left>",              A::Left,           "left"),
    row(C::Composer, "<right>",             A::Right,          "right"),
    row(C::Composer, "<C-left> <A-b>",      A::WordLeft,       "a word left"),
    row(C::Composer, "<C-right> <A-f>",     A::WordRight,      "a word right"),
    row(C::Composer, "<home> <C-a>",        A::LineStart,      "start of the line"),
    row(C::Composer, "<end> <C-e>",         A::LineEnd,        "end of the line"),
    row(C::Composer, "<backspace>",         A::Backspace,      "delete before the cursor"),
    row(C::Composer, "<del> <C-d>",         A::Delete,         "delete at the cursor"),
    row(C::Composer, "<C-w> <A-backspace>", A::DeleteWord,     "delete the word before the cursor"),
    row(C::Composer, "<A-d>",               A::DeleteNextWord, "delete the word after the cursor"),
    row(C::Composer, "<C-u>",               A::DeleteToStart,  "delete to the start of the line"),
    row(C::Composer, "<C-k>",               A::DeleteToEnd,    "delete to the end of the line"),
    row(C::Composer, "<C-_> <C-7>",         A::Undo,           "undo"),
    row(C::Composer, "<A-_>",               A::Redo,           "redo"),

    row(C::Completion, "<tab>",       A::Accept, "take it").footer("take"),
    row(C::Completion, "<ret>",       A::Send,   "take it; send a complete command"),
    row(C::Completion, "<up>",        A::Up,     "previous"),
    row(C::Completion, "<down>",      A::Down,   "next"),
    row(C::Completion, "<esc>",       A::Escape, "close").footer("close"),

    row(C::History, "<ret> <tab>",   A::Accept,        "take it").footer("take"),
    row(C::History, "<C-r> <up>",    A::HistorySearch, "an older one").footer("older"),
    row(C::History, "<down>",        A::Down,          "a newer one"),
    row(C::History, "<backspace>",   A::Backspace,     "delete a letter"),
    row(C::History, "<esc> <C-c>",   A::Escape,        "back to the draft").footer("back"),

    row(C::Pane, "j <down>",     A::Down,           "down").footer("move"),
    row(C::Pane, "k <up>",       A::Up,             "up"),
    row(C::Pane, "<C-d>",        A::HalfPageDown,   "half a page down"),
    row(C::Pane, "<C-u>",        A::HalfPageUp,     "half a page up"),
    row(C::Pane, "g <home>",     A::Top,            "to the top"),
    row(C::Pane, "G <end>",      A::Bottom,         "to the end, and follow"),
    row(C::Pane, "/",            A::Search,         "search").footer("search"),
    row(C::Pane, "n",            A::SearchNext,     "next match").footer("next"),
    row(C::Pane, "N",            A::SearchPrevious, "previous match").footer("previous"),
    row(C::Pane, "<ret>",        A::OpenCell,       "zoom; when zoomed, open or fold the cell").footer("open"),
    row(C::Pane, "c",            A::CopyCell,       "copy the cell").footer("copy"),
    row(C::Pane, "x",            A::StopAgent,      "twice: stop the agent").footer("stop"),
    row(C::Pane, "m",            A::MessageAgent,   "write to the agent").footer("message"),
    row(C::Pane, "v",            A::ViewInEditor,   "open the transcript in $EDITOR").footer("editor"),

    row(C::Find, "<ret>",       A::Accept,    "find it").footer("find"),
    row(C::Find, "<backspace>", A::Backspace, "delete a letter"),
    row(C::Find, "<esc>",       A::Escape,    "close").footer("close"),

    row(C::Queue, "j <down>", A::Down,    "next").footer("move"),
    row(C::Queue, "k <up>",   A::Up,      "previous"),
    row(C::Queue, "<ret>",    A::OpenAsk, "show it").footer("show"),

    row(C::Tasks, "j <down>",  A::Down,         "down").footer("move"),
    row(C::Tasks, "k <up>",    A::Up,           "up"),
    row(C::Tasks, "h <left>",  A::Left,         "left"),
    row(C::Tasks, "l <right>", A::Right,        "right"),
    row(C::Tasks, "<ret>",     A::OpenTask,     "details").footer("details"),
    row(C::Tasks, "s",         A::AssignTask,   "assign to the selected teammate").footer("assign"),
    row(C::Tasks, "<space>",   A::TaskStatus,   "status").footer("status"),
    row(C::Tasks, "b",         A::TaskBlockers, "dependencies").footer("blockers"),
    row(C::Tasks, "+",         A::NewTask,      "new task").footer("new"),
    row(C::Tasks, "u",         A::ReleaseTask,  "release a stale claim"),
    row(C::Tasks, "x",         A::DeleteTask,   "delete; asks first"),
    row(C::Tasks, "c",         A::CriticalPath, "show the critical path"),
    row(C::Tasks, "H",         A::PanLeft,      "move the drawing left"),
    row(C::Tasks, "L",         A::PanRight,     "move the drawing right"),
    row(C::Tasks, "K",         A::PanUp,        "move the drawing up"),
    row(C::Tasks, "J",         A::PanDown,      "move the drawing down"),
    row(C::Tasks, "g <home>",  A::Top,          "to the first"),
    row(C::Tasks, "G <end>",   A::Bottom,       "to the last"),

    row(C::List, "<down> <C-n>", A::Down,      "next").footer("move"),
    row(C::List, "<up> <C-p>",   A::Up,        "previous"),
    row(C::List, "<ret>",        A::Accept,    "take it").footer("take"),
    row(C::List, "<backspace>",  A::Backspace, "delete a letter"),
    row(C::List, "<esc>",        A::Escape,    "close").footer("close"),

    row(C::Sheet, "j <down>",   A::Down,         "down").footer("scroll"),
    row(C::Sheet, "k <up>",     A::Up,           "up"),
    row(C::Sheet, "<C-d>",      A::HalfPageDown, "half a page down"),
    row(C::Sheet, "<C-u>",      A::HalfPageUp,   "half a page up"),
    row(C::Sheet, "g <home>",   A::Top,          "to the top"),
    row(C::Sheet, "G <end>",    A::Bottom,       "to the end"),
    row(C::Sheet, "<ret>",      A::Accept,       "go there"),
    row(C::Sheet, "c",          A::CopyCell,     "copy").footer("copy"),
    row(C::Sheet, "<esc> q",    A::Escape,       "close").footer("close"),

    row(C::Replay, "<space>",    A::PlayOrPause,    "play or pause"),
    row(C::Replay, "<right> .",  A::StepForward,    "one event forward"),
    row(C::Replay, "<left> ,",   A::StepBack,       "one event back"),
    row(C::Replay, "<pagedown>", A::PageDown,       "a twentieth forward"),
    row(C::Replay, "<pageup>",   A::PageUp,         "a twentieth back"),
    row(C::Replay, "g <home>",   A::Top,            "to the start"),
    row(C::Replay, "G <end>",    A::Bottom,         "to the end"),
    row(C::Replay, "+ =",        A::Faster,         "faster"),
    row(C::Replay, "-",          A::Slower,         "slower"),
    row(C::Replay, "a",          A::NextAsk,        "to the next ask"),
    row(C::Replay, "m",          A::NextMessage,    "to the next message between agents"),
    row(C::Replay, "e",          A::NextError,      "to the next error"),
    row(C::Replay, "t",          A::NextTaskChange, "to the next task change"),
    row(C::Replay, "q",          A::Quit,           "quit"),

    row(C::Prefix, "y",        A::AnswerOldest,   "answer the oldest ask"),
    row(C::Prefix, "k <up>",   A::PreviousAgent,  "previous teammate"),
    row(C::Prefix, "j <down>", A::NextAgent,      "next teammate"),
    row(C::Prefix, "1",        A::JumpTo1,        "jump to the lead"),
    row(C::Prefix, "2",        A::JumpTo2,        "jump to the 1st teammate"),
    row(C::Prefix, "3",        A::JumpTo3,        "jump to the 2nd teammate"),
    row(C::Prefix, "4",        A::JumpTo4,        "jump to the 3rd teammate"),
    row(C::Prefix, "5",        A::JumpTo5,        "jump to the 4th teammate"),
    row(C::Prefix, "6",        A::JumpTo6,        "jump to the 5th teammate"),
    row(C::Prefix, "7",        A::JumpTo7,        "jump to the 6th teammate"),
    row(C::Prefix, "8",        A::JumpTo8,        "jump to the 7th teammate"),
    row(C::Prefix, "9",        A::JumpTo9,        "jump to the 8th teammate"),
    row(C::Prefix, "n",        A::NextNeed,       "next that needs you"),
    row(C::Prefix, "<tab>",    A::NextPanel,      "next panel"),
    row(C::Prefix, "t",        A::ShowTasks,      "tasks"),
    row(C::Prefix, "a",        A::ShowQueue,      "queue of asks"),
    row(C::Prefix, "o",        A::Zoom,           "zoom"),
    row(C::Prefix, "l",        A::CycleLayout,    "layout"),
    row(C::Prefix, "p",        A::OpenPalette,    "command palette"),
    row(C::Prefix, "h ?",      A::ShowHelp,       "help"),
    row(C::Prefix, "m",        A::CycleMode,      "permission mode"),
    row(C::Prefix, "b",        A::ToBackground,   "to the background"),
    row(C::Prefix, "<space>",  A::PauseAgent,     "pause or resume the agent"),
    row(C::Prefix, "z",        A::OpenShell,      "shell"),
    row(C::Prefix, "r",        A::HistorySearch,  "search earlier prompts"),
    row(C::Prefix, "g",        A::ExternalEditor, "write in $EDITOR"),
    row(C::Prefix, "<ret>",    A::Newline,        "new line"),
    row(C::Prefix, "u <pageup>",   A::PageUp,     "page up"),
    row(C::Prefix, "d <pagedown>", A::PageDown,   "page down"),
    row(C::Prefix, "i",        A::Escape,         "what Esc does: close, back, interrupt"),
    row(C::Prefix, "c",        A::ClearOrQuit,    "clear the draft"),
    row(C::Prefix, "w",        A::ToggleMouse,    "mouse on or off"),
    row(C::Prefix, "R",        A::Redraw,         "redraw"),
    row(C::Prefix, "q",        A::Quit,           "quit"),
    row(C::Prefix, "<esc> <C-x>", A::Later,       "nothing"),
];
