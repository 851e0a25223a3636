//! Events as lines of JSON, the form that other programs read from headless agents.

use std::collections::HashMap;

use serde_json::{Value, json};
use uuid::Uuid;

use crate::model::usage::Usage;
use crate::permission::view::mode_name;
use crate::protocol::event::{Event, Fact, Level};
use crate::protocol::ids::{AgentId, SessionId};
use crate::protocol::op::Mode;

/// Turns events into lines. Remembers which call started which agent.
pub struct Lines {
    session: SessionId,
    started_by: HashMap<AgentId, String>,
}

/// What the first line says.
pub struct Init<'a> {
    pub cwd: &'a str,
    pub model: &'a str,
    pub mode: Mode,
    pub tools: Vec<&'a str>,
    pub agents: Vec<String>,
    /// The names of the MCP servers that are configured.
    pub mcp_servers: Vec<&'a str>,
}

impl Lines {
    pub fn new(session: &SessionId) -> Self {
        Self { session: session.clone(), started_by: HashMap::new() }
    }

    pub fn init(&self, init: &Init<'_>) -> Value {
        // Nobody has spoken to them yet.
        let servers = init.mcp_servers.iter();
        let servers = servers.map(|name| json!({ "name": name, "status": "configured" }));
        json!({
            "type": "system", "subtype": "init", "cwd": init.cwd, "session_id": self.session,
            "tools": init.tools, "mcp_servers": servers.collect::<Vec<_>>(), "model": init.model,
            "permissionMode": mode_name(init.mode), "agents": init.agents,
            "agent": "team-lead", "version": env!("CARGO_PKG_VERSION"), "uuid": uuid(),
        })
    }

    /// The line for an event, if it has one.
    pub fn line(&mut self, event: &Event) -> Option<Value> {
        let agent = event.agent.as_ref();
        let body = match &event.fact {
            Fact::Spoke { id, model, message, stop, usage, .. } => json!({
                "type": "assistant",
                "message": {
                    "id": id, "type": "message", "role": "assistant", "model": model,
                    "content": message.content, "stop_reason": stop, "stop_sequence": null,
                    "usage": wire_usage(usage),
                },
            }),
            Fact::Heard { from, .. } if from == "user" => return None,
            Fact::Heard { message, .. } => json!({ "type": "user", "message": message }),
            Fact::AgentStarted { about } => {
                if let (Some(agent), Some(call)) = (agent, &about.use_id) {
                    self.started_by.insert(agent.clone(), call.clone());
                }
                json!({ "type": "status", "status": "started", "about": about })
            }
            Fact::AgentEnded { status, why } => {
                json!({ "type": "status", "status": status, "why": why })
            }
            Fact::Retrying { why, wait_ms, attempt, of } => json!({
                "type": "status", "status": "retrying", "why": why, "wait_ms": wait_ms,
                "attempt": attempt, "of": of,
            }),
            Fact::Compacted { before, after, .. } => json!({
                "type": "system", "subtype": "compact_boundary",
                "compact_metadata": { "pre_tokens": before, "post_tokens": after },
            }),
            Fact::ModeChanged { mode } => {
                json!({ "type": "status", "status": "mode", "permissionMode": mode_name(*mode) })
            }
            Fact::TeamCreated { name, description } => json!({
                "type": "status", "status": "team_created", "team_name": name,
                "description": description,
            }),
            Fact::TeamDeleted { name } => {
                json!({ "type": "status", "status": "team_deleted", "team_name": name })
            }
            Fact::MemberJoined { member } => {
                json!({ "type": "status", "status": "joined", "member": member })
            }
            Fact::MemberLeft { name } => {
                json!({ "type": "status", "status": "left", "name": name })
            }
            Fact::WentIdle { reason, why } => {
                json!({ "type": "status", "status": "idle", "reason": reason, "why": why })
            }
            Fact::Paused => json!({ "type": "status", "status": "paused" }),
            Fact::Unpaused => json!({ "type": "status", "status": "unpaused" }),
            Fact::TaskChanged { task } => json!({ "type": "task", "task": task }),
            Fact::TaskDeleted { id } => json!({ "type": "task", "deleted": id }),
            Fact::MailSent { to, message } => {
                json!({ "type": "mail", "to": to, "message": message })
            }
            Fact::Asked { ask } => json!({ "type": "ask", "ask": ask }),
            Fact::Settled { ask, rev, verdict, by } => json!({
                "type": "ask_settled", "ask": ask, "rev": rev, "verdict": verdict, "by": by,
            }),
            Fact::Notice { level, text } => {
                json!({ "type": "notice", "level": level_name(*level), "text": text })
            }
            Fact::Queued { .. }
            | Fact::TurnStarted
            | Fact::Speaking { .. }
            | Fact::Thinking { .. }
            | Fact::Restarted { .. }
            | Fact::TurnEnded { .. }
            | Fact::Decided { .. }
            | Fact::ToolStarted { .. }
            | Fact::ToolOutput { .. }
            | Fact::ToolEnded { .. }
            | Fact::Granted { .. }
            | Fact::Revoked { .. }
            | Fact::Unknown(_) => return None,
        };
        Some(self.framed(body, agent))
    }

    /// What every line says: which session, which agent, and which call it belongs to.
    pub fn framed(&self, mut body: Value, agent: Option<&AgentId>) -> Value {
        let call = agent.and_then(|agent| self.started_by.get(agent));
        let name = agent.map_or("team-lead".to_owned(), |agent| agent.name.to_string());
        if let Some(members) = body.as_object_mut() {
            members.insert("parent_tool_use_id".to_owned(), json!(call));
            members.insert("session_id".to_owned(), json!(self.session));
            members.insert("agent".to_owned(), json!(name));
            members.insert("uuid".to_owned(), json!(uuid()));
        }
        body
    }

    pub fn result(&self, result: &RunResult) -> Value {
        json!({
            "type": "result", "subtype": result.subtype, "is_error": result.subtype != "success",
            "result": result.text, "error": result.why, "num_turns": result.turns,
            "duration_ms": result.millis, "duration_api_ms": result.api_millis,
            "errors": result.why.iter().collect::<Vec<_>>(), "total_cost_usd": result.usd,
            "usage": usage_json(&result.usage), "session_id": self.session, "agent": "team-lead",
            "uuid": uuid(),
        })
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct RunResult {
    pub subtype: &'static str,
    pub text: String,
    pub why: Option<String>,
    pub turns: u32,
    pub millis: u64,
    /// How much of it the lead's model took.
    pub api_millis: u64,
    /// `None` where a price is not known.
    pub usd: Option<f64>,
    pub usage: Usage,
}

fn uuid() -> String {
    Uuid::new_v4().to_string()
}

const fn level_name(level: Level) -> &'static str {
    match level {
        Level::Info => "info",
        Level::Warning => "warning",
        Level::Error => "error",
    }
}

/// Usage in the words of the Messages API.
fn wire_usage(usage: &Value) -> Value {
    let read = serde_json::from_value::<Usage>(usage.clone());
    usage_json(&read.unwrap_or_default())
}

fn usage_json(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
    })
}
