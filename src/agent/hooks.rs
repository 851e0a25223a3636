//! Commands that a definition has run beside its agent's work: before a tool, after it, and before
//! the agent stops. Each is told what it is about, as JSON; an exit code of 2 is an objection, and
//! what it wrote to its standard error says why. Every other failure is told to the person, and
//! the work goes on.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use regex::Regex;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::context::Agent;
use super::definition::Source;
use crate::model::Stop;
use crate::permission::view::mode_name;
use crate::permission::{Access, Decision, decide};
use crate::protocol::content::{Block, Content};
use crate::protocol::event::{Fact, Level};
use crate::tools::shell::Fed;
use crate::tools::{Output, Use};

/// How long a hook may take that does not say.
const USUAL_LIMIT: Duration = Duration::from_secs(60);

/// By this a hook objects.
const OBJECTS: i32 = 2;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hooks {
    all: Vec<Hook>,
    /// Where the session works, for hooks that lie there.
    project: PathBuf,
    /// Whether somebody must have allowed their commands: they came along with something else.
    need_leave: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Hook {
    event: Event,
    /// Of which tools; empty for all.
    matcher: String,
    command: String,
    limit: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    PreToolUse,
    PostToolUse,
    Stop,
    SubagentStop,
}

const EVENTS: [Event; 4] =
    [Event::PreToolUse, Event::PostToolUse, Event::Stop, Event::SubagentStop];

impl Event {
    const fn name(self) -> &'static str {
        match self {
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::Stop => "Stop",
            Self::SubagentStop => "SubagentStop",
        }
    }
}

/// Hooks for one kind of tools, as they are written.
#[derive(Deserialize)]
struct Group {
    #[serde(default)]
    matcher: Option<String>,
    hooks: Vec<Written>,
}

#[derive(Deserialize)]
struct Written {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    command: Option<String>,
    /// In seconds.
    #[serde(default)]
    timeout: Option<f64>,
}

impl Hooks {
    /// Those of a definition. What does not run here is said in words; what makes no sense is an
    /// error, for a hook that watches over something must not be passed over.
    pub fn read(written: &Value) -> Result<(Self, Vec<String>), String> {
        let (mut hooks, mut idle) = (Self::default(), Vec::new());
        for (name, groups) in written.as_object().into_iter().flatten() {
            let Some(event) = EVENTS.into_iter().find(|event| event.name() == name) else {
                idle.push(format!("hooks for `{name}` are not supported"));
                continue;
            };
            let groups: Vec<Group> = serde_json::from_value(groups.clone())
                .map_err(|error| format!("the hooks for `{name}` cannot be read: {error}"))?;
            for group in groups {
                let matcher = group.matcher.filter(|all| all != "*").unwrap_or_default();
                Regex::new(&matcher).map_err(|_| format!("`{matcher}` matches no tools"))?;
                for hook in group.hooks {
                    if hook.kind != "command" {
                        idle.push(format!("hooks of type `{}` are not supported", hook.kind));
                        continue;
                    }
                    let command = hook.command.filter(|command| !command.trim().is_empty());
                    let command =
                        command.ok_or_else(|| format!("a hook for `{name}` has no command"))?;
                    let limit = hook.timeout.map(Duration::try_from_secs_f64).transpose();
                    let limit =
                        limit.map_err(|_| format!("a hook for `{name}` has an invalid timeout"))?;
                    let limit = limit.unwrap_or(USUAL_LIMIT);
                    hooks.all.push(Hook { event, matcher: matcher.clone(), command, limit });
                }
            }
        }
        Ok((hooks, idle))
    }

    /// The same for work in a project. What comes with a project or a plug-in runs only commands
    /// that are allowed anyway.
    #[must_use]
    pub fn of(self, source: &Source, project: &Path) -> Self {
        let need_leave = matches!(source, Source::Project | Source::Plugin(_));
        Self { need_leave, project: project.to_owned(), ..self }
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    fn on<'a>(&'a self, events: &'a [Event], tool: &'a str) -> impl Iterator<Item = &'a Hook> {
        let fits = move |hook: &&Hook| events.contains(&hook.event) && hook.is_for(tool);
        self.all.iter().filter(fits)
    }
}

impl Hook {
    /// Plain names, with bars between them, mean just these; anything else is a pattern.
    fn is_for(&self, tool: &str) -> bool {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '|');
        match self.matcher.as_str() {
            "" => true,
            names if names.chars().all(plain) => names.split('|').any(|name| name == tool),
            // It was read before.
            pattern => Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(tool)),
        }
    }
}

/// What hooks say before a tool is used: why it must not be, if one objects.
pub async fn before(agent: &Agent, tool: &str, wanted: &Use, stop: &Stop) -> Result<(), String> {
    let more = json!({ "tool_name": tool, "tool_input": wanted.input, "tool_use_id": wanted.id });
    let Some(why) = objection(agent, &[Event::PreToolUse], tool, more, stop).await else {
        return Ok(());
    };
    let why = format!("A hook blocked this: {why}");
    agent.tell(Fact::Decided {
        use_id: wanted.id.clone(),
        tool: wanted.tool.clone(),
        decision: "deny".to_owned(),
        reason: why.clone(),
        rule: None,
        source: Some("hook".to_owned()),
    });
    Err(why)
}

/// What hooks say after a tool was used goes to the model with its result.
pub async fn after(agent: &Agent, tool: &str, wanted: &Use, output: &mut Output, stop: &Stop) {
    if output.failed {
        return;
    }
    let response = match output.data.is_null() {
        true => json!(output.content),
        false => output.data.clone(),
    };
    let more = json!({
        "tool_name": tool, "tool_input": wanted.input, "tool_response": response,
        "tool_use_id": wanted.id,
    });
    if let Some(why) = objection(agent, &[Event::PostToolUse], tool, more, stop).await {
        let words = format!("<hook-feedback>\n{why}\n</hook-feedback>");
        let mut blocks = match std::mem::replace(&mut output.content, Content::Blocks(vec![])) {
            Content::Text(text) => vec![Block::text(text)],
            Content::Blocks(blocks) => blocks,
        };
        blocks.push(Block::text(words));
        output.content = Content::Blocks(blocks);
    }
}

/// What hooks say when an agent has nothing more to do: what it should do all the same.
pub async fn at_end(agent: &Agent, said: &str, again: bool, stop: &Stop) -> Option<String> {
    let events: &[Event] = match agent.birth.depth {
        0 => &[Event::Stop],
        // What a definition says of its end is about the agents made of it.
        _ => &[Event::Stop, Event::SubagentStop],
    };
    let more = json!({ "stop_hook_active": again, "last_assistant_message": said });
    objection(agent, events, "", more, stop).await
}

/// The first objection of those that fit.
async fn objection(
    agent: &Agent,
    events: &[Event],
    tool: &str,
    more: Value,
    stop: &Stop,
) -> Option<String> {
    let hooks = &agent.birth.gear.hooks;
    for hook in hooks.on(events, tool) {
        if hooks.need_leave && !may_run(agent, &hook.command) {
            let why = format!(
                "the hook `{}` of `{}` is not allowed to run; a Bash rule can allow its command",
                hook.command, agent.birth.kind
            );
            agent.notice(Level::Warning, why.as_str());
            // What it would have said of a tool, nobody knows.
            match hook.event {
                Event::PreToolUse => return Some(why),
                Event::PostToolUse | Event::Stop | Event::SubagentStop => continue,
            }
        }
        let fed = Fed {
            command: &hook.command,
            cwd: &agent.cx.cwd.get(),
            variables: &[("CLAUDE_PROJECT_DIR", hooks.project.as_os_str() as &OsStr)],
            input: about(agent, hook.event, &more).to_string(),
            limit: hook.limit,
        };
        let trouble = match agent.cx.shell.feed(fed, stop).await {
            Ok(thought) if thought.exit == Some(0) => continue,
            Ok(thought) if thought.exit == Some(OBJECTS) => {
                let silent = thought.complaint.is_empty();
                let usual = || format!("`{}` objects", hook.command);
                return Some(if silent { usual() } else { thought.complaint });
            }
            Ok(thought) => {
                let exit = thought.exit.map_or("a signal".to_owned(), |code| code.to_string());
                format!("ended with {exit}: {}", thought.complaint)
            }
            Err(_) if stop.is_cancelled() => return None,
            Err(error) => error.to_string(),
        };
        agent.notice(Level::Warning, format!("The hook `{}`: {trouble}", hook.command));
    }
    None
}

/// Whether the agent itself might run this without asking.
fn may_run(agent: &Agent, command: &str) -> bool {
    let access = [Access::Run(command.to_owned())];
    let decision = decide(&agent.cx.view(), "Bash", &json!({ "command": command }), &access);
    matches!(decision, Decision::Allow { .. })
}

fn about(agent: &Agent, event: Event, more: &Value) -> Value {
    let mut all = Map::new();
    all.insert("session_id".to_owned(), json!(agent.cx.session));
    all.insert("transcript_path".to_owned(), json!(agent.recorder.path().to_string_lossy()));
    all.insert("cwd".to_owned(), json!(agent.cx.cwd.get().to_string_lossy()));
    all.insert("permission_mode".to_owned(), json!(mode_name(agent.mode())));
    all.insert("hook_event_name".to_owned(), json!(event.name()));
    all.insert("agent_id".to_owned(), json!(agent.cx.me.name));
    all.insert("agent_type".to_owned(), json!(agent.birth.kind));
    all.extend(more.as_object().cloned().unwrap_or_default());
    Value::Object(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(written: Value) -> Result<(Hooks, Vec<String>), String> {
        Hooks::read(&written)
    }

    #[test]
    fn a_matcher_is_names_or_a_pattern() {
        let table = [
            ("", "Bash", true),
            ("*", "Bash", true),
            ("Bash", "Bash", true),
            ("Bash", "BashOutput", false),
            ("Write|Edit", "Edit", true),
            ("Write|Edit", "Read", false),
            ("mcp__.*__write", "mcp__files__write", true),
            ("^Task", "TaskList", true),
            ("^Task", "Write", false),
        ];
        for (matcher, tool, wanted) in table {
            let hook =
                json!([{ "matcher": matcher, "hooks": [{ "type": "command", "command": "x" }] }]);
            let (hooks, idle) = read(json!({ "PreToolUse": hook })).unwrap();
            assert!(idle.is_empty());
            let found = hooks.on(&[Event::PreToolUse], tool).count();
            assert_eq!(found == 1, wanted, "{matcher} {tool}");
            assert_eq!(hooks.on(&[Event::PostToolUse], tool).count(), 0);
        }
    }

    #[test]
    fn what_makes_no_sense_is_an_error_and_what_does_not_run_is_said() {
        let command = json!({ "type": "command", "command": "x", "timeout": 2 });
        let (hooks, idle) = read(json!({
            "PreCompact": [],
            "Stop": [{ "hooks": [command, { "type": "prompt", "prompt": "p" }] }],
        }))
        .unwrap();
        assert_eq!((hooks.all.len(), idle.len()), (1, 2), "{idle:?}");
        assert_eq!(hooks.all[0].limit, Duration::from_secs(2));
        for wrong in [
            json!({ "PreToolUse": "x" }),
            json!({ "PreToolUse": [{ "matcher": "(", "hooks": [] }] }),
            json!({ "PreToolUse": [{ "hooks": [{ "type": "command" }] }] }),
            json!({ "Stop": [{ "hooks": [{ "type": "command", "command": "x", "timeout": -1 }] }] }),
            json!({ "Stop": [{ "matcher": "x" }] }),
        ] {
            assert!(read(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
