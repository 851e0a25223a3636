//! Which tools an agent has: all there are, narrowed by its definition and by what it is.

use std::sync::Arc;

use super::Tool;
use super::ask_user::AskUserTool;
use super::bash::Bash;
use super::edit::EditTool;
use super::glob::GlobTool;
use super::grep::GrepTool;
use super::read::ReadTool;
use super::tasks::{TaskCreateTool, TaskGetTool, TaskListTool, TaskUpdateTool};
use super::web_fetch::WebFetchTool;
use super::write::WriteTool;
use crate::model::request::ToolSpec;
use crate::protocol::nearest::nearest;

/// The tools that need nobody else, in the order the model sees them.
pub fn builtin() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(ReadTool::new()),
        Arc::new(WriteTool::new()),
        Arc::new(EditTool::new()),
        Arc::new(Bash::default()),
        Arc::new(GlobTool::new()),
        Arc::new(GrepTool::new()),
        Arc::new(WebFetchTool::new()),
        Arc::new(TaskCreateTool::new()),
        Arc::new(TaskGetTool::new()),
        Arc::new(TaskListTool::new()),
        Arc::new(TaskUpdateTool::new()),
        Arc::new(AskUserTool::new()),
    ]
}

/// What a lead can do that delegates everything.
const COORDINATION: [&str; 11] = [
    "Agent",
    "SendMessage",
    "TeamCreate",
    "TeamDelete",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskUpdate",
    "TaskOutput",
    "TaskStop",
    "AskUserQuestion",
];

/// A team has one roster, and its lead keeps it.
const OF_THE_LEAD: [&str; 2] = ["TeamCreate", "TeamDelete"];

const LEAVES_PLAN_MODE: &str = "ExitPlanMode";

/// The tools of one agent, in the order the model sees them.
#[derive(Clone, Default)]
pub struct ToolSet {
    tools: Vec<Arc<dyn Tool>>,
}

/// What an agent gets of the tools there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// What its definition lists. `*` is everything, `mcp__server` all tools of a server, and of
    /// an entry such as `Agent(x, y)` the name counts: the rest is for the permission engine.
    /// `None`: everything.
    pub tools: Option<Vec<String>>,
    /// What its definition takes away. An entry with a content takes away no tool: it is a rule
    /// that denies some uses of it.
    pub disallowed: Vec<String>,
    pub role: Role,
    /// Whether it is in plan mode. The tools that write stay on the list, so that the list does not
    /// change under the model: using them is refused by decision.
    pub planning: bool,
}

/// What an agent is to its team.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Lead,
    /// A lead that only coordinates.
    Delegate,
    Teammate,
    Subagent,
    /// It goes on with its parent's conversation, so it keeps its parent's exact list.
    Fork,
}

impl Limits {
    /// Everything that this role may have.
    pub const fn of(role: Role) -> Self {
        Self { tools: None, disallowed: Vec::new(), role, planning: false }
    }
}

/// A set that was narrowed, and what in the limits made no sense.
#[derive(Clone)]
pub struct Narrowed {
    pub tools: ToolSet,
    /// One sentence each.
    pub warnings: Vec<String>,
}

impl ToolSet {
    pub fn new(tools: Vec<Arc<dyn Tool>>) -> Self {
        Self { tools }
    }

    /// The tool of this name; `Task` is an older name of `Agent`.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        let name = current_name(name);
        self.tools.iter().find(|tool| tool.spec().name == name)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.tools.iter()
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| tool.spec().name.as_ref())
    }

    /// These and more. One of a name that is there already takes its place.
    #[must_use]
    pub fn with(&self, extra: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        let mut tools = self.tools.clone();
        for tool in extra {
            match tools.iter_mut().find(|known| known.spec().name == tool.spec().name) {
                Some(known) => *known = tool,
                None => tools.push(tool),
            }
        }
        Self { tools }
    }

    /// What the model is told about them. The same tools give the same list, byte by byte, which
    /// is what the prompt cache of a provider needs.
    pub fn specs(&self) -> Vec<ToolSpec> {
        let spec = |tool: &Arc<dyn Tool>| {
            let spec = tool.spec();
            ToolSpec {
                name: spec.name.to_string(),
                description: spec.description.to_string(),
                input_schema: spec.input.clone(),
            }
        };
        self.tools.iter().map(spec).collect()
    }

    /// What to tell a model that wants a tool which is not there.
    pub fn missing(&self, name: &str) -> String {
        let meant = match nearest(name, self.names()) {
            Some(meant) => format!(" Did you mean `{meant}`?"),
            None => String::new(),
        };
        let names: Vec<&str> = self.names().collect();
        format!("There is no tool `{name}`.{meant} There are: {}", names.join(", "))
    }

    /// What of these an agent gets, in the same order.
    pub fn narrowed(&self, limits: &Limits) -> Narrowed {
        if limits.role == Role::Fork {
            return Narrowed { tools: self.clone(), warnings: Vec::new() };
        }
        let listed: Option<Vec<&str>> =
            limits.tools.as_ref().map(|entries| entries.iter().map(|entry| name(entry)).collect());
        let taken: Vec<&str> = limits.disallowed.iter().filter_map(|entry| bare(entry)).collect();
        let keeps = |tool: &str| {
            listed.as_ref().is_none_or(|listed| listed.iter().any(|entry| covers(entry, tool)))
                && !taken.iter().any(|entry| covers(entry, tool))
                && fits(limits, tool)
        };
        let kept = self.tools.iter().filter(|tool| keeps(&tool.spec().name)).cloned().collect();
        let warnings = listed.iter().flatten().filter_map(|entry| self.unknown(entry)).collect();
        Narrowed { tools: Self::new(kept), warnings }
    }

    /// What is wrong with an entry that stands for no tool at all.
    fn unknown(&self, entry: &str) -> Option<String> {
        if self.names().any(|tool| covers(entry, tool)) {
            return None;
        }
        let meant = nearest(entry, self.names());
        let meant = meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
        Some(format!("there is no tool `{entry}`{meant}"))
    }
}

fn current_name(name: &str) -> &str {
    if name.eq_ignore_ascii_case("Task") { "Agent" } else { name }
}

/// The name in an entry that may be a rule.
fn name(entry: &str) -> &str {
    entry.split_once('(').map_or(entry, |(name, _)| name).trim()
}

/// The name in an entry that means every use of a tool.
fn bare(entry: &str) -> Option<&str> {
    let content = entry.split_once('(').map(|(_, content)| content.trim().trim_end_matches(')'));
    matches!(content, None | Some("*" | ":*")).then(|| name(entry))
}

/// Whether an entry of a list means a tool.
fn covers(entry: &str, tool: &str) -> bool {
    if entry == "*" {
        return true;
    }
    let (entry, tool) = (current_name(entry).to_lowercase(), tool.to_lowercase());
    let below = |start: &str| tool.strip_prefix(start).is_some_and(|rest| !rest.is_empty());
    let is_server = entry.starts_with("mcp__");
    entry == tool
        || (is_server && below(&format!("{entry}__")))
        || (is_server && entry.strip_suffix('*').is_some_and(below))
}

/// Whether a tool is for agents of this kind.
fn fits(limits: &Limits, tool: &str) -> bool {
    if tool == LEAVES_PLAN_MODE {
        return limits.planning;
    }
    match limits.role {
        Role::Lead | Role::Fork => true,
        Role::Delegate => COORDINATION.contains(&tool),
        Role::Teammate | Role::Subagent => !OF_THE_LEAD.contains(&tool),
    }
}
