//! What can be typed. The texts here are the manual.

mod team;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub use team::{Join, TeamCommand};

const AFTER_HELP: &str = "\
Examples:
  quarterdeck                         the console, in this directory; without a key, the rehearsal
  quarterdeck demo                    the rehearsal: a scripted team fixes a small program
  quarterdeck -c                      resume the newest session of this directory
  quarterdeck run -p 'Fix the tests'  without a screen
  quarterdeck doctor                  what is missing or wrong, and how to fix it

Exit codes: 0 done; 1 no (not found, refused); 2 wrong usage or bad input; \
130 interrupted.

Environment: QUARTERDECK_HOME (the home directory), QUARTERDECK_MODEL, ANTHROPIC_API_KEY, \
ANTHROPIC_AUTH_TOKEN, ANTHROPIC_BASE_URL, ANTHROPIC_BETAS, OPENAI_API_KEY, OPENAI_BASE_URL (the \
model), QUARTERDECK_STALL_SECS (seconds a model's server may be silent; 90), QUARTERDECK_TRIES (how \
often a request is tried; 10), QUARTERDECK_RETRY_MS (milliseconds before the first retry; 500), HTTPS_PROXY, \
HTTP_PROXY, NO_PROXY, QUARTERDECK_LOG (what is logged: error, warn, info, debug), \
QUARTERDECK_FSYNC=1 (every write survives a power failure).";

/// Command a team of coding agents from one terminal.
///
/// Without a command it opens the console: a lead to talk to, its team, their tasks and asks.
/// `run` works without a screen. The other commands show and change what agents work with.
#[derive(Debug, Parser)]
#[command(
    name = "quarterdeck",
    version,
    propagate_version = true,
    after_help = AFTER_HELP
)]
pub struct Cli {
    /// Where all state is kept; `~/.claude` shares it with Claude Code
    #[arg(long, global = true, value_name = "DIR")]
    pub home: Option<PathBuf>,
    /// Print one JSON value (with --follow and --lines: one per line) instead of text
    #[arg(long, global = true)]
    pub json: bool,
    #[command(flatten)]
    pub console: super::console::ConsoleArgs,
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Open the console; the same as no command
    Console(Box<super::console::ConsoleArgs>),
    /// Play the rehearsal: a scripted team fixes a small program; needs no key
    Demo(super::demo::Demo),
    /// Watch a recorded session, or write it as Markdown
    Replay(Box<super::replay::Replay>),
    /// Take a picture of the console in a scripted session; needs no terminal
    Screenshot(Box<super::screenshot::Screenshot>),
    /// Give the lead something to do, without a screen
    Run(Box<super::run::args::Run>),
    /// Teams and their members
    #[command(subcommand)]
    Team(TeamCommand),
    /// The shared task list of a team
    #[command(subcommand)]
    Task(TaskCommand),
    /// Send a message to one member of a team, or to all
    Send(Send),
    /// Read the inbox of a member
    Inbox(Inbox),
    /// Scripted models: check a playbook, or serve it as an API
    #[command(subcommand)]
    Playbook(PlaybookCommand),
    /// Language models: list them, see which would be used, ask one a question
    #[command(subcommand)]
    Model(ModelCommand),
    /// Permissions: the rules in force, and what they decide
    #[command(subcommand)]
    Permissions(PermissionsCommand),
    /// Asks: what agents want to do or know, and your answers
    #[command(subcommand)]
    Asks(AsksCommand),
    /// Git worktrees that agents work in
    #[command(subcommand)]
    Worktree(WorktreeCommand),
    /// Agent types, and where each is defined
    #[command(subcommand)]
    Agents(super::agents::AgentsCommand),
    /// Find what is wrong on this machine and in the home directory, and fix it
    ///
    /// Looks at the terminal, at git, tmux and the shell, at model keys (whether they are set,
    /// never what they are), settings, worktrees, and every file of the home directory. Exits with 1
    /// while something is wrong.
    Doctor(super::doctor::Doctor),
    /// Settings: see what is in force, find the files, edit them
    ///
    /// All settings are in `settings.json` files: yours in the configuration directory, the
    /// project's in `.quarterdeck/`, and `settings.local.json` there for this machine. Later files
    /// win. From Claude Code's files, only `permissions` are used.
    #[command(subcommand)]
    Config(super::config::ConfigCommand),
    /// Print a script that completes commands in your shell
    Completions(super::manual::Completions),
    /// The manual page
    Man(super::manual::Man),
}

#[derive(Debug, Subcommand)]
pub enum AsksCommand {
    /// What waits for an answer, oldest first
    List {
        /// The session: its id, the beginning of it, `latest`, or the name of its team
        session: String,
    },
    /// One ask with its choices, open or settled
    Show {
        /// The session: its id, the beginning of it, `latest`, or the name of its team
        session: String,
        /// The ask: its id or the beginning of it
        ask: String,
    },
    /// Say yes
    Approve(Approve),
    /// Answer questions in words, one TEXT for each
    ///
    /// A TEXT is the number or the label of an option, or your own words. To choose several
    /// options, put `|` between them: `asks answer latest ID 2 'tests|docs'`.
    Answer {
        /// The session: its id, the beginning of it, `latest`, or the name of its team
        session: String,
        /// The ask: its id or the beginning of it
        ask: String,
        /// The answers, in the order of the questions
        #[arg(value_name = "TEXT", required = true, allow_hyphen_values = true)]
        texts: Vec<String>,
    },
    /// Say no
    Deny {
        /// The session: its id, the beginning of it, `latest`, or the name of its team
        session: String,
        /// The ask: its id or the beginning of it
        ask: String,
        /// What the agent is told
        #[arg(long, value_name = "TEXT")]
        why: Option<String>,
    },
}

#[derive(Debug, Args)]
pub struct Approve {
    /// The session: its id, the beginning of it, `latest`, or the name of its team
    pub session: String,
    /// The ask: its id or the beginning of it
    pub ask: String,
    /// Run the tool with this input instead, a JSON object; for a plan, {"plan": TEXT}
    #[arg(long, value_name = "JSON")]
    pub edit_input: Option<String>,
    /// Don't ask again for this session, hour, project or user; `agent:` or `team:` in front says for whom
    #[arg(long, value_name = "SCOPE")]
    pub always: Option<String>,
    /// The rule to grant with --always, instead of the suggested one
    #[arg(long, value_name = "RULE", requires = "always")]
    pub rule: Option<String>,
    /// Switch the agent to this mode; for a plan, the mode it is carried out in
    #[arg(long, value_name = "MODE", conflicts_with = "always")]
    pub mode: Option<String>,
    /// What the agent is told
    #[arg(long, value_name = "TEXT")]
    pub why: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum TaskCommand {
    /// Add a task
    Add(Add),
    /// All tasks by id
    List {
        /// The team, or a session's own list
        team: String,
        /// Only those that can be claimed now
        #[arg(long)]
        ready: bool,
        /// Only those of this agent
        #[arg(long, value_name = "NAME")]
        owner: Option<String>,
        /// Also the bookkeeping tasks of other programs
        #[arg(long)]
        all: bool,
    },
    /// One task
    Show {
        /// The team, or a session's own list
        team: String,
        /// The task's number
        id: String,
    },
    /// Draw which tasks wait for which
    Dag {
        /// The team, or a session's own list
        team: String,
    },
    /// Change a task
    Update(Update),
    /// Take a task: the given one, or the lowest that is free
    Claim {
        /// The team, or a session's own list
        team: String,
        /// The task's number
        id: Option<String>,
        /// Who claims it
        #[arg(long = "as", value_name = "NAME")]
        agent: String,
        /// Refuse while NAME has another open task
        #[arg(long)]
        one_at_a_time: bool,
    },
    /// Delete a task and every mention of it
    Delete {
        /// The team, or a session's own list
        team: String,
        /// The task's number
        id: String,
    },
}

#[derive(Debug, Args)]
pub struct Add {
    /// The team, or a session's own list
    pub team: String,
    /// What is to be done; `-` with --lines reads subjects from standard input
    pub subject: String,
    /// Everything needed to do it
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub description: String,
    /// What to show while it is being done ("Fixing the parser")
    #[arg(long, value_name = "TEXT")]
    pub active_form: Option<String>,
    /// Ids of tasks that must be completed first
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    pub blocked_by: Vec<String>,
    /// A JSON object to keep with the task
    #[arg(long, value_name = "JSON")]
    pub metadata: Option<String>,
    /// One task per line of standard input
    #[arg(long)]
    pub lines: bool,
}

#[derive(Debug, Args)]
pub struct Update {
    /// The team, or a session's own list
    pub team: String,
    /// The task's number
    pub id: String,
    /// Its status; `deleted` deletes it
    #[arg(long, value_enum)]
    pub status: Option<super::task::StatusArg>,
    /// Who owns it, and is told so; an empty name releases it
    #[arg(long, value_name = "NAME")]
    pub owner: Option<String>,
    /// What is to be done
    #[arg(long, value_name = "TEXT")]
    pub subject: Option<String>,
    /// Everything needed to do it
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// What to show while it is being done
    #[arg(long, value_name = "TEXT")]
    pub active_form: Option<String>,
    /// Ids of tasks that must be completed before this one
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    pub add_blocked_by: Vec<String>,
    /// Ids of tasks that must wait for this one
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    pub add_blocks: Vec<String>,
    /// A JSON object merged into what is there; null deletes a key
    #[arg(long, value_name = "JSON")]
    pub metadata: Option<String>,
    /// Who makes the change
    #[arg(long, value_name = "NAME", default_value = "team-lead")]
    pub from: String,
}

#[derive(Debug, Args)]
pub struct Send {
    /// The team
    pub team: String,
    /// A member's name, or '*' for everyone but the sender
    pub to: String,
    /// The message; `-` reads it from standard input
    pub text: String,
    /// Who sends it
    #[arg(long, value_name = "NAME", default_value = "team-lead")]
    pub from: String,
    /// A few words for lists
    #[arg(long, value_name = "TEXT")]
    pub summary: Option<String>,
    /// One message per line of standard input, each stored before the next is read
    #[arg(long)]
    pub lines: bool,
}

#[derive(Debug, Args)]
pub struct Inbox {
    /// The team
    pub team: String,
    /// Whose inbox
    pub name: String,
    /// Only unread messages
    #[arg(long)]
    pub unread: bool,
    /// Mark what is printed as read
    #[arg(long)]
    pub mark_read: bool,
    /// Keep printing messages as they arrive, until interrupted
    #[arg(long)]
    pub follow: bool,
}

#[derive(Debug, Subcommand)]
pub enum PlaybookCommand {
    /// Summarise a playbook, or list everything that is wrong with it
    ///
    /// A turn may have a `fault`, which happens the first `times` times that it is played:
    /// `status: 529`, `cut_after: 40` (bytes), `stall_ms: 5000`, `garbage: true`, or
    /// `too_long: true` (the conversation is refused for its length, and is summarised).
    Check {
        /// The playbook: a YAML file
        file: PathBuf,
    },
    /// Serve a playbook as an Anthropic-compatible API to programs on this machine
    ///
    /// The address is printed first. Clients that do not say who they are play the actor whose
    /// `identify` matches, else the first one. Ends on SIGTERM or Ctrl-C.
    Serve(Serve),
}

#[derive(Debug, Args)]
pub struct Serve {
    /// The playbook: a YAML file
    pub file: PathBuf,
    /// The port to listen on at 127.0.0.1; 0 takes a free one
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub port: u16,
    /// Add each request to FILE, as a line of JSON
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Characters per second; 0 answers at once [default: what the playbook says]
    #[arg(long, value_name = "N")]
    pub pace: Option<u32>,
}

#[derive(Debug, Subcommand)]
pub enum ModelCommand {
    /// All known models, with their prices
    List,
    /// Which model would be used, why, and what it still needs
    Show {
        /// An alias, or `provider/model`
        name: Option<String>,
    },
    /// Ask a model one question; shows whether a key works
    Ask(AskModel),
}

#[derive(Debug, Args)]
pub struct AskModel {
    /// The question
    pub text: String,
    /// An alias, or `provider/model` [default: QUARTERDECK_MODEL, else the settings, else what the keys allow]
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Let this playbook answer instead of a model
    #[arg(long, value_name = "FILE", conflicts_with = "model")]
    pub playbook: Option<PathBuf>,
    /// What the model is told before the question
    #[arg(long, value_name = "TEXT")]
    pub system: Option<String>,
    /// How long the answer may be
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<u32>,
}

#[derive(Debug, Subcommand)]
pub enum PermissionsCommand {
    /// Say whether a tool call would be allowed, asked about or denied, and why
    ///
    /// Always exits with 0; the decision is the first word of the answer, and `decision` in the
    /// JSON.
    Check(CheckPermission),
    /// The rules in force, strongest first, each with the file it comes from
    List {
        /// One more settings file, on top of the others
        #[arg(long, value_name = "FILE")]
        settings: Vec<PathBuf>,
        /// The project [default: the current directory]
        #[arg(long, value_name = "DIR")]
        cwd: Option<PathBuf>,
    },
    /// Rules that you granted to agents in a session
    Grants {
        /// The session: its id, the beginning of it, `latest`, or the name of its team
        session: String,
    },
    /// Revoke a grant
    Revoke {
        /// The session: its id, the beginning of it, `latest`, or the name of its team
        session: String,
        /// The grant: its id or the beginning of it
        id: String,
    },
}

#[derive(Debug, Args)]
pub struct CheckPermission {
    /// The tool: Bash, Read, Edit, WebFetch, mcp__server__tool …
    pub tool: String,
    /// Its input, a JSON object
    #[arg(value_name = "INPUT-JSON")]
    pub input: String,
    /// default, acceptEdits, plan, bypassPermissions, dontAsk, delegate or bubble
    #[arg(long, value_name = "MODE")]
    pub mode: Option<String>,
    /// One more settings file, on top of the others
    #[arg(long, value_name = "FILE")]
    pub settings: Vec<PathBuf>,
    /// Where the agent works [default: the current directory]
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum WorktreeCommand {
    /// The agents' worktrees in this repository, and what was changed in each
    List,
    /// Remove those without changes that nobody works in; say why the others stay
    Clean {
        /// Remove this one, with its branch and all changes in it
        #[arg(long, value_name = "NAME")]
        force: Option<String>,
    },
}
