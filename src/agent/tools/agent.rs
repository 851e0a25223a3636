//! Agent: hands work to another agent.

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::permission::Access;
use crate::protocol::op::Mode;
use crate::tools::context::Wish;
use crate::tools::{Bad, Call, Needs, Output, Spec, Tool, ToolContext, first_line, parse};

const DESCRIPTION: &str = "\
Starts another agent for a piece of work and gives you its report. Use it for work that is \
self-contained and would fill this conversation with detail you do not need (broad searches, \
reading many files, running and analysing a test suite), or that can run alongside yours.

- `subagent_type` names the kind of agent; the kinds are listed in your instructions. Without it \
the agent may be a fork of yourself that knows this whole conversation, or a general one.
- An agent that is not a fork has seen nothing of this conversation: put everything it needs into \
`prompt`, and say exactly what it should report.
- Several Agent calls in one answer run side by side.
- `run_in_background`: you continue at once and are told when it ends; do not wait or poll. Its \
output file can be read meanwhile.
- `isolation: \"worktree\"` gives it a git worktree of its own, so that its edits do not touch yours.
- `name` makes it addressable by SendMessage later.";

#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct Input {
    /// What this is about, in three to five words.
    description: String,
    /// The whole task, with everything the agent needs to know.
    prompt: String,
    /// The kind of agent.
    #[serde(default)]
    subagent_type: Option<String>,
    /// Another model for this agent: an alias or an id.
    #[serde(default)]
    model: Option<String>,
    /// Whether to go on without waiting for it.
    #[serde(default)]
    run_in_background: Option<bool>,
    /// A name by which messages reach it.
    #[serde(default)]
    name: Option<String>,
    /// The team that it joins, with `name`.
    #[serde(default)]
    team_name: Option<String>,
    /// The permission mode of a teammate.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    mode: Option<Mode>,
    /// `worktree`: work in a git worktree of its own.
    #[serde(default)]
    isolation: Option<Isolation>,
    /// The directory to work in; not together with a worktree.
    #[serde(default)]
    cwd: Option<String>,
    /// The most answers it may take.
    #[serde(default)]
    max_turns: Option<u32>,
    /// The id of an earlier agent that should go on with this prompt.
    #[serde(default)]
    resume: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Isolation {
    Worktree,
}

pub struct AgentTool {
    spec: Spec,
}

impl AgentTool {
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self { spec: Spec::of::<Input>("Agent", DESCRIPTION, Needs::Nothing, true) }
    }
}

impl Tool for AgentTool {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn access(&self, cx: &ToolContext, input: &Value) -> Result<Vec<Access>, Bad> {
        let input: Input = parse("Agent", input)?;
        if input.isolation.is_some() && input.cwd.is_some() {
            return Err(Bad("`cwd` and `isolation: worktree` cannot be combined.".to_owned()));
        }
        if input.prompt.trim().is_empty() {
            return Err(Bad("`prompt` is empty: say what the agent should do.".to_owned()));
        }
        let kind = cx.crew.kind_of(&cx.me, input.subagent_type.as_deref());
        let mut access = vec![Access::Spawn(kind)];
        if let Some(cwd) = &input.cwd {
            access.push(Access::Read(cx.resolve(cwd)));
        }
        Ok(access)
    }

    fn summary(&self, input: &Value) -> String {
        let text = |key: &str| input.get(key).and_then(Value::as_str).unwrap_or_default();
        match text("subagent_type") {
            "" => text("description").to_owned(),
            kind => format!("{kind}: {}", first_line(text("description"))),
        }
    }

    fn run<'a>(
        &'a self,
        cx: &'a ToolContext,
        call: &'a Call,
        input: Value,
    ) -> BoxFuture<'a, Output> {
        Box::pin(async move {
            let input: Input = match parse("Agent", &input) {
                Ok(input) => input,
                Err(bad) => return Output::failed(bad.0),
            };
            let wish = Wish {
                description: input.description,
                prompt: input.prompt,
                kind: input.subagent_type,
                model: input.model,
                background: input.run_in_background.unwrap_or(false),
                name: input.name,
                team: input.team_name,
                mode: input.mode,
                lent: None,
                worktree: input.isolation.is_some(),
                cwd: input.cwd.map(|cwd| cx.resolve(&cwd)),
                max_turns: input.max_turns,
                resume: input.resume,
            };
            cx.crew.spawn(&cx.me, call, wish).await
        })
    }
}
