//! Commands that a definition has run beside its agent's work: before a tool, after it, and before
//! the agent stops. Each is told what it is about, as JSON; an exit code of 2 is an objection, and
//! what it wrote to its standard error says why. One that ends well may say the same, and more, as
//! JSON on its standard output. Every other failure is told to the person, and the work goes on.

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

/// What hooks say before a tool is used: why it must not be, if one objects, else why somebody
/// must be asked first, if one wants that.
pub async fn before(
    agent: &Agent,
    tool: &str,
    wanted: &Use,
    stop: &Stop,
) -> Result<Option<String>, String> {
    let more = json!({ "tool_name": tool, "tool_input": wanted.input, "tool_use_id": wanted.id });
    let heard = heard(agent, &[Event::PreToolUse], tool, more, stop).await;
    let Some(why) = heard.objection else {
        return Ok(heard.doubt);
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
    let heard = heard(agent, &[Event::PostToolUse], tool, more, stop).await;
    let words: Vec<String> = heard.context.into_iter().chain(heard.objection).collect();
    if !words.is_empty() {
        let words = format!("<hook-feedback>\n{}\n</hook-feedback>", words.join("\n"));
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
    heard(agent, events, "", more, stop).await.objection
}

/// What the hooks that fit say together.
#[derive(Debug, Default, PartialEq, Eq)]
struct Heard {
    /// The first objection; hooks behind it are not heard.
    objection: Option<String>,
    /// Why somebody must be asked.
    doubt: Option<String>,
    /// What the model is told.
    context: Vec<String>,
}

/// What a hook prints that ends well. `allow` and `approve` say nothing new: what may be done is
/// for the rules of the user to say.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Printed {
    decision: Option<String>,
    reason: Option<String>,
    #[serde(rename = "continue")]
    goes_on: Option<bool>,
    stop_reason: Option<String>,
    system_message: Option<String>,
    hook_specific_output: Specific,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Specific {
    permission_decision: Option<String>,
    permission_decision_reason: Option<String>,
    additional_context: Option<String>,
    updated_input: Option<Value>,
}

impl Heard {
    /// Takes up what a hook printed; returns what the person is told of it.
    fn take_up(&mut self, event: Event, printed: Printed) -> Vec<String> {
        let own = printed.hook_specific_output;
        let mut told: Vec<String> = printed.system_message.into_iter().collect();
        let decision = own.permission_decision.filter(|_| event == Event::PreToolUse);
        let decision = decision.or(printed.decision);
        let reason = own.permission_decision_reason.or(printed.reason).unwrap_or_default();
        match decision.as_deref() {
            Some("block" | "deny") => self.objection = Some(reason),
            Some("ask") => self.doubt = Some(reason),
            Some("allow" | "approve" | "defer") | None => {}
            // Whatever it means, it is not nothing.
            Some(odd) => told.push(format!("`{odd}` is not a decision")),
        }
        if printed.goes_on == Some(false) {
            let why =
                printed.stop_reason.unwrap_or_else(|| "it wants the agent to stop".to_owned());
            match event {
                Event::PreToolUse => self.objection = Some(why),
                Event::PostToolUse => self.context.push(why),
                // It stops anyway.
                Event::Stop | Event::SubagentStop => self.objection = None,
            }
        }
        if own.updated_input.is_some() && event == Event::PreToolUse {
            self.objection =
                Some("it wants to change the input, which hooks cannot do here".to_owned());
        }
        self.context.extend(own.additional_context.filter(|_| event == Event::PostToolUse));
        told
    }
}

async fn heard(agent: &Agent, events: &[Event], tool: &str, more: Value, stop: &Stop) -> Heard {
    let mut heard = Heard::default();
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
                Event::PreToolUse => return Heard { objection: Some(why), ..heard },
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
            Ok(thought) if thought.exit == Some(0) => {
                let told = match read_printed(&thought.answer) {
                    Some(Ok(printed)) => heard.take_up(hook.event, printed),
                    Some(Err(what)) => vec![what],
                    None => Vec::new(),
                };
                for words in told {
                    agent.notice(Level::Warning, format!("The hook `{}`: {words}", hook.command));
                }
                None
            }
            Ok(thought) if thought.exit == Some(OBJECTS) => {
                heard.objection = Some(thought.complaint);
                None
            }
            Ok(thought) => {
                let exit = thought.exit.map_or("a signal".to_owned(), |code| code.to_string());
                Some(format!("ended with {exit}: {}", thought.complaint))
            }
            Err(_) if stop.is_cancelled() => return Heard::default(),
            Err(error) => Some(error.to_string()),
        };
        if let Some(trouble) = trouble {
            agent.notice(Level::Warning, format!("The hook `{}`: {trouble}", hook.command));
        }
        if let Some(why) = &mut heard.objection {
            if why.is_empty() {
                *why = format!("`{}` objects", hook.command);
            }
            return heard;
        }
    }
    heard
}

/// What a hook printed, if that is an object of JSON; other words are for nobody.
fn read_printed(answer: &str) -> Option<Result<Printed, String>> {
    answer.starts_with('{').then(|| {
        serde_json::from_str(answer)
            .map_err(|error| format!("its output could not be read: {error}"))
    })
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
    fn what_is_printed_counts_as_what_an_exit_code_says() {
        let heard = |event: Event, printed: Value| {
            let mut heard = Heard::default();
            let told = heard.take_up(event, read_printed(&printed.to_string()).unwrap().unwrap());
            (heard, told.len())
        };
        let specific = |fields: Value| json!({ "hookSpecificOutput": fields });
        let why = |why: &str| Some(why.to_owned());
        let nothing = Heard::default;
        let table = [
            (
                Event::PreToolUse,
                json!({ "decision": "block", "reason": "no" }),
                Heard { objection: why("no"), ..nothing() },
            ),
            (
                Event::PreToolUse,
                specific(json!({ "permissionDecision": "deny", "permissionDecisionReason": "no" })),
                Heard { objection: why("no"), ..nothing() },
            ),
            (
                Event::PreToolUse,
                specific(json!({ "permissionDecision": "ask", "permissionDecisionReason": "hm" })),
                Heard { doubt: why("hm"), ..nothing() },
            ),
            (Event::PreToolUse, specific(json!({ "permissionDecision": "allow" })), nothing()),
            (
                Event::PreToolUse,
                json!({ "continue": false, "stopReason": "enough" }),
                Heard { objection: why("enough"), ..nothing() },
            ),
            (
                Event::PostToolUse,
                specific(json!({ "additionalContext": "by the way" })),
                Heard { context: vec!["by the way".to_owned()], ..nothing() },
            ),
            (
                Event::Stop,
                json!({ "decision": "block", "reason": "go on" }),
                Heard { objection: why("go on"), ..nothing() },
            ),
            (
                Event::Stop,
                json!({ "decision": "block", "reason": "go on", "continue": false }),
                nothing(),
            ),
            (Event::Stop, json!({}), nothing()),
        ];
        for (event, printed, wanted) in table {
            assert_eq!(heard(event, printed.clone()), (wanted, 0), "{event:?} {printed}");
        }
        let (odd, told) = heard(Event::PreToolUse, json!({ "decision": "perhaps" }));
        assert_eq!((odd, told), (nothing(), 1));
        let other = specific(json!({ "updatedInput": { "command": "ls" } }));
        assert!(heard(Event::PreToolUse, other).0.objection.is_some(), "it is not run as it was");
        assert_eq!(heard(Event::Stop, json!({ "systemMessage": "hello" })), (nothing(), 1));
        assert!(read_printed("plain words").is_none());
        assert!(read_printed("{ half").unwrap().is_err());
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
