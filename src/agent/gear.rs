//! What a definition gives its agent besides prompt, tools and model: a memory of its own, skills
//! that it knows from the beginning, its colour, how much trouble it takes, its hooks, and the
//! servers that wait for their client.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::context::Brain;
use super::definition::{Definition, EffortWish, McpServer, MemoryScope, body};
use super::hooks::Hooks;
use super::memory::beginning;
use super::skills::{is_plain, skill_places};
use crate::model::request::{Effort, Thinking};
use crate::permission::View;
use crate::permission::path::is_below;
use crate::settings::models::ThinkingKind;
use crate::settings::paths;
use crate::tools::registry::ToolSet;

/// What is told of a memory at the beginning.
const MOST_LINES: usize = 200;
const MOST_BYTES: u64 = 25_000;

/// As much of a skill as is told.
const LARGEST_SKILL: u64 = 64_000;

/// The fewest tokens that a model may be told to think with.
const FEWEST_TOKENS: u32 = 1_024;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gear {
    pub color: Option<String>,
    /// What is run beside its work.
    pub hooks: Hooks,
    /// Servers of its own, for whoever opens them.
    pub own_servers: Vec<McpServer>,
    /// The directory of its memory.
    pub memory: Option<PathBuf>,
    /// What its person should know when it starts.
    pub notices: Vec<String>,
    /// Parts of its prompt.
    pub words: Vec<String>,
}

impl Gear {
    /// The gear for work in `project`, and leave to use it.
    pub fn of(own: &Definition, project: &Path, tools: &ToolSet, view: &mut View) -> Self {
        // What is wrong with them is a mistake of the definition, and told there.
        let read = own.hooks.as_ref().and_then(|written| Hooks::read(written).ok());
        let hooks = read.map(|(hooks, _)| hooks).unwrap_or_default();
        let is_own = |server: &&McpServer| matches!(server, McpServer::Own { .. });
        let mut gear = Self {
            color: own.color.clone(),
            hooks: hooks.of(&own.source, project),
            own_servers: own.mcp_servers.iter().filter(is_own).cloned().collect(),
            ..Self::default()
        };
        gear.say_what_does_not_run(&own.name);
        if let Some(scope) = own.memory {
            gear.remember(scope, &own.name, project, tools, view);
        }
        let places = skill_places(project);
        for name in &own.skills {
            gear.learn(name, &own.name, &places);
        }
        gear
    }

    fn say_what_does_not_run(&mut self, kind: &str) {
        if !self.own_servers.is_empty() {
            let names: Vec<&str> = self.own_servers.iter().map(McpServer::name).collect();
            self.notices.push(format!(
                "`{kind}` runs without its own MCP servers ({}): they are not supported yet.",
                names.join(", ")
            ));
        }
    }

    fn remember(
        &mut self,
        scope: MemoryScope,
        kind: &str,
        project: &Path,
        tools: &ToolSet,
        view: &mut View,
    ) {
        let dir = match memory_dir(scope, kind, project) {
            Ok(dir) => dir,
            Err(why) => {
                self.notices.push(format!("`{kind}` has no memory: {why}"));
                return;
            }
        };
        for tool in ["Read", "Edit"] {
            // Two slashes begin a path that stands alone.
            view.rules.extend(view.session_rule(&format!("{tool}(/{}/**)", dir.display())));
        }
        let may_write = ["Write", "Edit"].iter().any(|tool| tools.get(tool).is_some());
        self.words.push(memory_in_words(&dir, may_write));
        self.memory = Some(dir);
    }

    fn learn(&mut self, skill: &str, kind: &str, places: &[PathBuf]) {
        let files = places.iter().map(|place| place.join(skill).join("SKILL.md"));
        let found =
            is_plain(skill).then(|| files.into_iter().find(|file| file.is_file())).flatten();
        let read = found.map(|file| {
            let text = beginning(&file, LARGEST_SKILL);
            text.map(|text| (file, text)).map_err(|error| error.to_string())
        });
        match read {
            Some(Ok((file, text))) => {
                let dir = file.parent().unwrap_or(&file).display();
                let text = body(&text).trim();
                self.words.push(format!(
                    "# Skill `{skill}`\n\nFiles that it names are below {dir}.\n\n{text}"
                ));
            }
            Some(Err(why)) => {
                self.notices.push(format!("`{kind}` runs without the skill `{skill}`: {why}"));
            }
            None => {
                self.notices
                    .push(format!("`{kind}` names the skill `{skill}`, which was not found."));
            }
        }
    }
}

/// The directory of a memory, which is there afterwards. What a project brings along must not
/// lead out of it.
fn memory_dir(scope: MemoryScope, kind: &str, project: &Path) -> Result<PathBuf, String> {
    let name: String =
        kind.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let (root, below) = match scope {
        MemoryScope::User => (paths::claude_dir(), "agent-memory"),
        MemoryScope::Project => (Some(project.join(".claude")), "agent-memory"),
        MemoryScope::Local => (Some(project.join(".claude")), "agent-memory-local"),
    };
    let root = root.ok_or("no home directory was found")?;
    let dir = root.join(below).join(name);
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&dir);
    let real = made.and_then(|()| dir.canonicalize());
    let real = real.map_err(|error| format!("{}: {error}", dir.display()))?;
    let within = if scope == MemoryScope::User { &root } else { project };
    match within.canonicalize() {
        Ok(within) if is_below(&real, &within) => Ok(real),
        Ok(_) | Err(_) => Err(format!("{} is a link to another place", dir.display())),
    }
}

fn memory_in_words(dir: &Path, may_write: bool) -> String {
    let file = dir.join("MEMORY.md");
    let inside = file.canonicalize().is_ok_and(|real| is_below(&real, dir));
    let text =
        if inside { beginning(&file, MOST_BYTES).unwrap_or_default() } else { String::new() };
    let mut lines: Vec<&str> = text.lines().take(MOST_LINES + 1).collect();
    if lines.len() > MOST_LINES {
        lines[MOST_LINES] = "(cut here: it is too long)";
    }
    let now = lines.join("\n");
    let now = if now.trim().is_empty() { "(nothing yet)" } else { now.trim() };
    let how = match may_write {
        true => {
            "Write down there what will be useful again, and correct what turned out to be wrong."
        }
        false => "You have no tools to change it.",
    };
    format!(
        "# Your memory\n\nThe directory {} belongs to agents of your kind: what one leaves there, \
         the next one finds. You begin with the first {MOST_LINES} lines of its `MEMORY.md`; keep \
         that short, and let it name the files with the details. {how}\n\n## MEMORY.md\n\n{now}",
        dir.display()
    )
}

/// A brain that takes as much trouble as a definition wants.
pub fn with_effort(brain: Brain, wish: Option<EffortWish>) -> Brain {
    let (Some(wish), Some(kind)) = (wish, brain.chosen.facts.thinking) else { return brain };
    let thinking = match kind {
        ThinkingKind::Adaptive => Thinking::Adaptive(level(wish)),
        ThinkingKind::Budget => {
            let most = brain.max_tokens.saturating_sub(FEWEST_TOKENS).max(FEWEST_TOKENS);
            Thinking::Budget(tokens(wish).clamp(FEWEST_TOKENS, most))
        }
    };
    Brain { thinking, ..brain }
}

/// For models that decide by themselves how long they think.
const fn level(wish: EffortWish) -> Effort {
    match wish {
        EffortWish::Level(level) => level,
        EffortWish::Number(0..4_096) => Effort::Low,
        EffortWish::Number(4_096..12_288) => Effort::Medium,
        EffortWish::Number(_) => Effort::High,
    }
}

/// For models that are told.
const fn tokens(wish: EffortWish) -> u32 {
    match wish {
        EffortWish::Number(tokens) => tokens,
        EffortWish::Level(Effort::Low) => 2_048,
        EffortWish::Level(Effort::Usual | Effort::Medium) => 8_192,
        EffortWish::Level(Effort::High) => 24_576,
    }
}
