//! What kinds of agents there are: Markdown files with front matter, in the places where people
//! already have them, and those that the program brings along.
//!
//! A file that cannot be used is a [`Problem`] with its line. It hides nobody: not the other
//! files, and not a definition of the same name that would have come after it.

mod builtin;
mod catalog;
mod fields;
mod file;
mod sources;

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;

pub use catalog::{Catalog, Watcher};
pub use file::{Read, body, front, header, read_file_text, read_json};
pub use sources::Sources;

use crate::model::request::Effort;
use crate::protocol::mistake::Mistake;
use crate::protocol::op::Mode;

/// A kind of agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    pub name: String,
    /// When to use it; for the model that chooses.
    pub description: String,
    /// The tools it may use; `None` for all.
    pub tools: Option<Vec<String>>,
    pub disallowed_tools: Vec<String>,
    /// The kinds of agents it may start; `None` for any.
    pub spawnable: Option<Vec<String>>,
    pub model: Option<ModelWish>,
    pub effort: Option<EffortWish>,
    pub permission_mode: Option<Mode>,
    /// Whether it always runs in the background.
    pub background: bool,
    pub isolation: Option<Isolation>,
    pub max_turns: Option<u32>,
    pub color: Option<String>,
    pub memory: Option<MemoryScope>,
    pub mcp_servers: Vec<McpServer>,
    /// Parts of names of servers without which it is of no use.
    pub required_mcp_servers: Vec<String>,
    /// As written; whoever runs hooks reads them.
    pub hooks: Option<Value>,
    pub skills: Vec<String>,
    /// What stands before its first task.
    pub initial_prompt: Option<String>,
    /// Its system prompt.
    pub prompt: String,
    pub source: Source,
    pub file: Option<PathBuf>,
}

/// Where a definition comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Policy,
    CommandLine,
    Project,
    User,
    Plugin(String),
    Builtin,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelWish {
    /// The parent's.
    Inherit,
    /// An alias, or the id of a model.
    Named(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffortWish {
    Level(Effort),
    Number(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Isolation {
    Worktree,
    Remote,
}

/// Where an agent keeps what it remembers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum MemoryScope {
    User,
    Project,
    Local,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpServer {
    /// One that the parent has too.
    Shared(String),
    /// One of its own, closed when it ends.
    Own { name: String, config: Value },
}

/// Something about a definition that its author should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub source: Source,
    /// `None` for what was given on the command line.
    pub file: Option<PathBuf>,
    /// A line of 0 means the whole.
    pub mistake: Mistake,
    pub severity: Severity,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// The definition is used all the same.
    Warning,
    /// It is not used.
    Error,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Policy => "policy",
            Self::CommandLine => "command line",
            Self::Project => "project",
            Self::User => "user",
            Self::Plugin(name) => return write!(f, "plug-in {name}"),
            Self::Builtin => "built-in",
        })
    }
}

impl fmt::Display for ModelWish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Inherit => "inherit",
            Self::Named(name) => name,
        })
    }
}

impl fmt::Display for EffortWish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Level(level) => f.write_str(level.word().unwrap_or("usual")),
            Self::Number(number) => number.fmt(f),
        }
    }
}

impl Definition {
    /// The model it wants, unless that is its parent's.
    pub fn model_name(&self) -> Option<String> {
        match &self.model {
            Some(ModelWish::Named(name)) => Some(name.clone()),
            Some(ModelWish::Inherit) | None => None,
        }
    }
}

impl McpServer {
    pub fn name(&self) -> &str {
        match self {
            Self::Shared(name) | Self::Own { name, .. } => name,
        }
    }
}

/// `FILE:LINE:COLUMN: error: what (hint)`, for those who jump to it.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mistake { line, column, what, hint } = &self.mistake;
        match &self.file {
            Some(file) => write!(f, "{}:", file.display())?,
            None => write!(f, "--agents:")?,
        }
        if *line > 0 {
            write!(f, "{line}:{column}:")?;
        }
        let severity = match self.severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        write!(f, " {severity}: {what}")?;
        hint.as_ref().map_or(Ok(()), |hint| write!(f, " ({hint})"))
    }
}
