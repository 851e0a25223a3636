//! Slash commands as data: names, what they take, one line of help each; and what could be meant
//! by the beginning of one. `update::commands` runs them.

pub mod export;

use super::state::State;
use super::state::composer::Item;
use super::state::offers::Tree;
use super::text::sanitize::one_line;
use super::view::theme;
use crate::agent::recipes::Recipe;
use crate::protocol::op::Mode;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    Help,
    Team,
    Spawn,
    Tasks,
    Task,
    Agents,
    Asks,
    Permissions,
    Mode,
    Model,
    Cost,
    Context,
    Compact,
    Fork,
    Worktree,
    Diff,
    Merge,
    Resume,
    Pause,
    GoOn,
    Stop,
    Shutdown,
    Search,
    Export,
    Doctor,
    Theme,
    Layout,
    Mouse,
    Notices,
    Clear,
    Quit,
}

#[derive(Debug, Clone, Copy)]
pub struct Command {
    pub name: &'static str,
    /// `<…>` must be there, `[…]` may be.
    pub arguments: &'static str,
    pub help: &'static str,
    pub verb: Verb,
    /// What its first argument is.
    pub first: Argument,
}

/// What an argument is chosen from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Argument {
    Nothing,
    /// Words that nobody can foresee.
    Words,
    Teammate,
    Mode,
    Model,
    Theme,
    /// A worktree that an agent left behind.
    Tree,
    /// The name of a file to be written.
    Export,
    OneOf(&'static [&'static str]),
}

impl Command {
    /// Whether it can do nothing without being told more.
    pub fn needs_words(&self) -> bool {
        self.arguments.starts_with('<')
    }
}

#[rustfmt::skip]
pub const COMMANDS: &[Command] = &[
    command("help", "", "all keys and what they do", Verb::Help, Argument::Nothing),
    command("team", "", "everyone, with state, model, mode and cost", Verb::Team, Argument::Nothing),
    command("spawn", "<name> [--type T] [--model M] [--mode M] [--worktree] <prompt>", "start a teammate", Verb::Spawn, Argument::Words),
    command("tasks", "", "the task graph over the whole screen", Verb::Tasks, Argument::Nothing),
    command("task", "<subject>", "add a task", Verb::Task, Argument::Words),
    command("agents", "", "go to an agent", Verb::Agents, Argument::Nothing),
    command("asks", "", "everything that waits for your answer", Verb::Asks, Argument::Nothing),
    command("permissions", "", "modes in force and rules granted in this session", Verb::Permissions, Argument::Nothing),
    command("mode", "<mode> [name]", "permission mode of the selected agent, or of another", Verb::Mode, Argument::Mode),
    command("model", "[name]", "another model for the selected agent; without a name, who uses which", Verb::Model, Argument::Model),
    command("cost", "", "what each agent has cost", Verb::Cost, Argument::Nothing),
    command("context", "", "how full each conversation is", Verb::Context, Argument::Nothing),
    command("compact", "[wishes]", "replace the conversation with a summary", Verb::Compact, Argument::Words),
    command("fork", "<directive>", "a branch of the conversation does this in the background", Verb::Fork, Argument::Words),
    command("worktree", "", "worktrees that agents left behind", Verb::Worktree, Argument::Nothing),
    command("diff", "[name]", "what was changed where the selected agent works, or another", Verb::Diff, Argument::Teammate),
    command("merge", "[worktree]", "bring a worktree into the project; shows first what it would do", Verb::Merge, Argument::Tree),
    command("resume", "[id]", "resume another session of this project", Verb::Resume, Argument::Words),
    command("pause", "[name]", "pause an agent at its next step", Verb::Pause, Argument::Teammate),
    command("go-on", "[name]", "resume a paused agent", Verb::GoOn, Argument::Teammate),
    command("stop", "[name]", "stop a teammate at once; for the lead, its turn", Verb::Stop, Argument::Teammate),
    command("shutdown", "<name> [reason]", "ask a teammate to shut down", Verb::Shutdown, Argument::Teammate),
    command("search", "<words>", "search all transcripts, mail, tasks and asks", Verb::Search, Argument::Words),
    command("export", "[file]", "write the session as Markdown", Verb::Export, Argument::Export),
    command("doctor", "", "what is wrong on this machine and in the home directory", Verb::Doctor, Argument::Nothing),
    command("theme", "[name]", "another theme, shown while you choose", Verb::Theme, Argument::Theme),
    command("layout", "<layout>", "how the panes share the screen", Verb::Layout, Argument::OneOf(&["overview", "focus", "grid"])),
    command("mouse", "<on|off>", "who gets the mouse: the console or the terminal", Verb::Mouse, Argument::OneOf(&["on", "off"])),
    command("notices", "", "all notices of this session", Verb::Notices, Argument::Nothing),
    command("clear", "", "clear notices, marks and searches, and follow every transcript", Verb::Clear, Argument::Nothing),
    command("quit", "", "leave; asks first while agents work", Verb::Quit, Argument::Nothing),
];

const fn command(
    name: &'static str,
    arguments: &'static str,
    help: &'static str,
    verb: Verb,
    first: Argument,
) -> Command {
    Command { name, arguments, help, verb, first }
}

/// Other words for the same.
const ALSO: &[(&str, &str)] = &[("exit", "quit"), ("q", "quit"), ("?", "help"), ("kill", "stop")];

pub fn named(name: &str) -> Option<&'static Command> {
    let name = ALSO.iter().find(|(also, _)| *also == name).map_or(name, |(_, name)| name);
    COMMANDS.iter().find(|command| command.name == name)
}

/// The person's own command of this name. One of ours hides it.
pub fn recipe<'a>(state: &'a State, name: &str) -> Option<&'a Recipe> {
    state.offers.recipes.iter().find(|recipe| recipe.name == name && named(name).is_none())
}

/// Whether a line is a whole command that takes nothing.
pub fn wants_nothing(state: &State, line: &str) -> bool {
    let line = line.trim();
    named(line).is_some_and(|command| command.arguments.is_empty())
        || recipe(state, line).is_some_and(|recipe| recipe.hint.is_empty())
}

/// What a session is exported to where nothing is said.
pub fn usual_export(state: &State) -> String {
    let session = &state.about.session;
    format!("quarterdeck-{}.md", session.get(..8).unwrap_or(session))
}

/// The modes that can be given.
pub const MODES: &[(&str, Mode)] = &[
    ("default", Mode::Default),
    ("acceptEdits", Mode::AcceptEdits),
    ("plan", Mode::Plan),
    ("delegate", Mode::Delegate),
    ("dontAsk", Mode::DontAsk),
    ("bypassPermissions", Mode::BypassPermissions),
];

/// A mode as it is written.
pub fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Bubble => "bubble",
        Mode::Default
        | Mode::AcceptEdits
        | Mode::Plan
        | Mode::BypassPermissions
        | Mode::DontAsk
        | Mode::Delegate => {
            MODES.iter().find(|(_, known)| *known == mode).map_or("default", |(name, _)| name)
        }
    }
}

/// What could stand behind the slash, and how many characters it replaces.
pub fn complete(state: &State, line: &str) -> Option<(Vec<Item>, usize)> {
    let Some((name, rest)) = line.split_once(' ') else {
        let begins = |command: &&Command| command.name.starts_with(&line.to_lowercase());
        let mut found: Vec<&Command> = COMMANDS.iter().filter(begins).collect();
        // What is written in full before what only begins with it.
        found.sort_by_key(|command| command.name != line);
        let items = found.into_iter().map(|command| Item {
            text: match command.arguments.is_empty() {
                true => format!("/{}", command.name),
                false => format!("/{} ", command.name),
            },
            help: command.help.to_owned(),
            color: None,
        });
        let own = state.offers.recipes.iter().filter(|recipe| recipe.name.starts_with(line));
        let own = own.filter(|recipe| named(&recipe.name).is_none()).map(|recipe| Item {
            text: match recipe.hint.is_empty() {
                true => format!("/{}", recipe.name),
                false => format!("/{} ", recipe.name),
            },
            help: one_line(&recipe.description),
            color: None,
        });
        return Some((items.chain(own).collect(), line.chars().count() + 1));
    };
    let command = named(name)?;
    let words: Vec<&str> = rest.split(' ').collect();
    let word = words.last().copied().unwrap_or_default();
    let before = words.len().checked_sub(2).and_then(|at| words.get(at)).copied();
    let items = match (command.verb, before) {
        (Verb::Spawn, Some(flag)) => of_spawn(state, flag, word),
        (Verb::Mode, Some(_)) if words.len() == 2 => argument(state, Argument::Teammate),
        (_, None) => argument(state, command.first),
        (_, Some(_)) => Vec::new(),
    };
    let items = items
        .into_iter()
        .filter(|item| item.text.to_lowercase().starts_with(&word.to_lowercase()))
        .collect();
    Some((items, word.chars().count()))
}

fn plain(name: &str) -> Item {
    Item { text: name.to_owned(), help: String::new(), color: None }
}

/// Flags of `/spawn`, and what may stand behind one.
fn of_spawn(state: &State, flag: &str, word: &str) -> Vec<Item> {
    match flag {
        "--type" => state.offers.kinds.iter().map(|kind| plain(kind)).collect(),
        "--model" => argument(state, Argument::Model),
        "--mode" => argument(state, Argument::Mode),
        _ if word.starts_with('-') => {
            ["--type ", "--model ", "--mode ", "--worktree "].map(plain).into()
        }
        _ => Vec::new(),
    }
}

fn argument(state: &State, kind: Argument) -> Vec<Item> {
    match kind {
        Argument::Model => state.offers.models.iter().map(|name| plain(name)).collect(),
        Argument::Export => vec![plain(&usual_export(state))],
        Argument::Tree => {
            let trees = state.offers.trees.iter().flatten();
            let item = |tree: &Tree| Item { help: one_line(&tree.state), ..plain(&tree.name) };
            trees.map(item).collect()
        }
        Argument::Nothing | Argument::Words => Vec::new(),
        Argument::Mode => MODES.iter().map(|(name, _)| plain(name)).collect(),
        Argument::Theme => theme::NAMES.iter().map(|name| plain(name)).collect(),
        Argument::OneOf(names) => names.iter().map(|name| plain(name)).collect(),
        Argument::Teammate => state
            .agents
            .team()
            .map(|agent| Item {
                text: agent.name.clone(),
                help: state.group(agent).title().to_owned(),
                color: agent.color.clone(),
            })
            .collect(),
    }
}
