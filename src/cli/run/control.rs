//! What a program that drives a run may ask of it between messages: lines of the type
//! `control_request` in, a `control_response` with the same `request_id` out for each. The frame
//! is the one that clients of the ecosystem know; what they do not know, they need not use.

use std::collections::HashMap;
use std::sync::PoisonError;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::agent::report::job_status;
use crate::agent::spawn::Started;
use crate::cli::permissions::known_mode;
use crate::model::Stop;
use crate::model::request::Purpose;
use crate::protocol::ids::AgentId;
use crate::protocol::op::{Mode, Op, SpawnWish, When};
use crate::session::live::Live;
use crate::tools::context::Wish;

/// A request as it came; what it wants is read when it is carried out, so that a mistake in it
/// is an answer and not the end.
#[derive(Debug, Clone, PartialEq)]
pub struct Control {
    pub id: String,
    pub request: Value,
}

/// `agent` is a name or an id; without it the lead is meant.
#[derive(Debug, Deserialize)]
#[serde(tag = "subtype", rename_all = "snake_case")]
enum Request {
    Initialize,
    Interrupt { agent: Option<String> },
    Background { tool_use_id: String },
    StopTask { task_id: String },
    Compact { agent: Option<String>, instructions: Option<String> },
    SetPermissionMode { agent: Option<String>, mode: String },
    Aside { agent: Option<String>, purpose: Aside, prompt: String },
    RunAgent(RunAgent),
    Say { agent: Option<String>, text: String, priority: Option<When> },
    Pause { agent: Option<String> },
    Unpause { agent: Option<String> },
    Spawn(Spawn),
    Stop { agent: String },
    Shutdown { agent: String, reason: Option<String> },
}

/// A teammate to start, or one that failed or left to start again: then no prompt is needed.
#[derive(Debug, Deserialize)]
struct Spawn {
    name: String,
    #[serde(default)]
    prompt: String,
    agent_type: Option<String>,
    model: Option<String>,
    mode: Option<Mode>,
    #[serde(default)]
    worktree: bool,
}

/// What is asked beside a conversation.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Aside {
    Title,
    Summary,
    SideQuestion,
    Memory,
}

#[derive(Debug, Deserialize)]
struct RunAgent {
    /// Whose subagent it is.
    agent: Option<String>,
    agent_type: Option<String>,
    prompt: String,
    description: Option<String>,
    model: Option<String>,
    #[serde(default)]
    run_in_background: bool,
}

type Answer = (String, Result<Value, String>);

/// Carries requests out; those that take long go on beside the run.
pub struct Controls<'a> {
    live: &'a Live,
    going: FuturesUnordered<BoxFuture<'a, Answer>>,
    stops: HashMap<String, Stop>,
}

impl<'a> Controls<'a> {
    pub fn new(live: &'a Live) -> Self {
        Self { live, going: FuturesUnordered::new(), stops: HashMap::new() }
    }

    /// Whether nobody waits for an answer.
    pub fn is_idle(&self) -> bool {
        self.going.is_empty()
    }

    /// Carries a request out. The answer, unless that comes later.
    pub async fn take(&mut self, control: Control) -> Option<Value> {
        let Control { id, request } = control;
        let live = self.live;
        let request: Request = match serde_json::from_value(request) {
            Ok(request) => request,
            Err(error) => return Some(response((id, Err(error.to_string())))),
        };
        let stop = Stop::new();
        let done = match request {
            Request::Aside { agent, purpose, prompt } => {
                self.stops.insert(id.clone(), stop.clone());
                let asked = async move { (id, aside(live, agent, purpose, prompt, &stop).await) };
                self.going.push(Box::pin(asked));
                return None;
            }
            Request::RunAgent(wanted) => {
                self.stops.insert(id.clone(), stop.clone());
                let ran = async move { (id, run_agent(live, wanted, &stop).await) };
                self.going.push(Box::pin(ran));
                return None;
            }
            Request::Initialize => Ok(json!({ "commands": [], "agents": live.agent_types() })),
            Request::StopTask { task_id } => stop_task(live, &task_id).await,
            Request::SetPermissionMode { agent, mode } => set_mode(live, agent, &mode).await,
            Request::Background { tool_use_id: use_id } => {
                submit(live, Ok(Op::Background { use_id })).await
            }
            Request::Interrupt { agent } => {
                submit(live, whom(live, agent).map(|agent| Op::Interrupt { agent })).await
            }
            Request::Compact { agent, instructions: wishes } => {
                submit(live, whom(live, agent).map(|agent| Op::Compact { agent, wishes })).await
            }
            Request::Say { agent, text, priority } => {
                let when = priority.unwrap_or(When::Next);
                submit(live, whom(live, agent).map(|to| Op::Say { to, text, when })).await
            }
            Request::Pause { agent } => {
                submit(live, whom(live, agent).map(|agent| Op::Pause { agent })).await
            }
            Request::Unpause { agent } => {
                submit(live, whom(live, agent).map(|agent| Op::Unpause { agent })).await
            }
            Request::Spawn(wanted) => submit(live, Ok(wanted.op())).await,
            Request::Stop { agent } => {
                submit(live, whom(live, Some(agent)).map(|agent| Op::Stop { agent })).await
            }
            Request::Shutdown { agent, reason } => {
                let reason = reason.unwrap_or_default();
                let agent = whom(live, Some(agent));
                submit(live, agent.map(|agent| Op::Shutdown { agent, reason })).await
            }
        };
        Some(response((id, done)))
    }

    /// The next answer to what takes long. There is none while nobody waits.
    pub async fn next(&mut self) -> Value {
        match self.going.next().await {
            Some(answer) => {
                self.stops.remove(&answer.0);
                response(answer)
            }
            None => std::future::pending().await,
        }
    }

    /// The answer to this request is not wanted any more.
    pub fn cancel(&self, id: &str) {
        if let Some(stop) = self.stops.get(id) {
            stop.cancel();
        }
    }

    pub fn cancel_all(&self) {
        self.stops.values().for_each(Stop::cancel);
    }
}

fn response((id, done): Answer) -> Value {
    let response = match done {
        Ok(found) => json!({ "subtype": "success", "request_id": id, "response": found }),
        Err(why) => json!({ "subtype": "error", "request_id": id, "error": why }),
    };
    json!({ "type": "control_response", "response": response })
}

fn whom(live: &Live, agent: Option<String>) -> Result<AgentId, String> {
    match agent {
        None => Ok(live.lead().cx.me.clone()),
        Some(name) => live.named(&name).ok_or_else(|| format!("there is no agent `{name}`")),
    }
}

impl Spawn {
    fn op(self) -> Op {
        let Self { name, prompt, agent_type: kind, model, mode, worktree } = self;
        Op::Spawn { wish: Box::new(SpawnWish { name, prompt, kind, model, mode, worktree }) }
    }
}

async fn submit(live: &Live, op: Result<Op, String>) -> Result<Value, String> {
    live.submit(op?).await.map(|()| json!({})).map_err(|refused| refused.to_string())
}

/// Ends background work of whichever kind.
async fn stop_task(live: &Live, id: &str) -> Result<Value, String> {
    if let Some(agent) = live.named(id) {
        return submit(live, Ok(Op::Stop { agent })).await;
    }
    let job = live.office.shell.jobs().get(id).map_err(|error| error.to_string())?;
    job.stop.cancel();
    Ok(json!({}))
}

async fn set_mode(live: &Live, agent: Option<String>, mode: &str) -> Result<Value, String> {
    let agent = whom(live, agent)?;
    let mode = known_mode(mode).map_err(|failure| failure.message().to_owned())?;
    match mode == Mode::Bubble {
        true => Err("only forks can use the mode `bubble`".to_owned()),
        false => submit(live, Ok(Op::Mode { agent, mode })).await,
    }
}

async fn aside(
    live: &Live,
    agent: Option<String>,
    purpose: Aside,
    prompt: String,
    stop: &Stop,
) -> Result<Value, String> {
    let agent = match agent {
        // Also whoever has ended.
        Some(name) => live.find(&name).ok_or_else(|| format!("there is no agent `{name}`"))?,
        None => live.lead().cx.me.clone(),
    };
    let purpose = match purpose {
        Aside::Title => Purpose::Title,
        Aside::Summary => Purpose::Summary,
        Aside::SideQuestion => Purpose::SideQuestion,
        Aside::Memory => Purpose::Memory,
    };
    let said = live.aside(&agent, purpose, prompt, stop).await;
    said.map(|text| json!({ "text": text })).map_err(|refused| refused.to_string())
}

async fn run_agent(live: &Live, wanted: RunAgent, stop: &Stop) -> Result<Value, String> {
    let by = whom(live, wanted.agent)?;
    let kind = wanted.agent_type.unwrap_or_else(|| "general-purpose".to_owned());
    let definition = {
        live.office.follow_definitions();
        let known = live.office.definitions.read().unwrap_or_else(PoisonError::into_inner);
        let mut available = live.office.available(&known).into_iter();
        available.find(|one| one.name.eq_ignore_ascii_case(&kind)).cloned()
    };
    let definition = definition.ok_or_else(|| {
        let all = live.agent_types().join(", ");
        format!("there is no agent type `{kind}`; there are: {all}")
    })?;
    let wish = Wish {
        description: wanted.description.unwrap_or_else(|| kind.clone()),
        prompt: wanted.prompt,
        kind: Some(kind),
        model: wanted.model,
        background: wanted.run_in_background,
        ..Wish::default()
    };
    let started = live.run_as_subagent(&by, definition, &wish, stop).await;
    Ok(match started.map_err(|refused| refused.to_string())? {
        Started::Ended { id, report } => json!({
            "agentId": id, "status": job_status(report.status), "result": report.text,
            "error": report.why, "totalTokens": report.tokens,
            "totalToolUseCount": report.calls, "totalDurationMs": report.millis,
        }),
        Started::Behind { id, output } => json!({
            "agentId": id, "status": "async_launched", "outputFile": output.to_string_lossy(),
        }),
    })
}
