//! A decision that somebody must take, put as an ask: everything the person needs to see, and
//! the choices with the exact rule that each would write.

use std::path::Path;

use serde_json::Value;

use super::{Access, Suggestion, View, Why};
use crate::protocol::ask::{Ask, Question, Reason, Risk};
use crate::protocol::ids::{AgentId, AskId};
use crate::protocol::time::Stamp;

/// Who asks for what.
#[derive(Debug, Clone, Copy)]
pub struct Asker<'a> {
    /// The agent itself first, its lead last.
    pub chain: &'a [AgentId],
    pub color: Option<&'a str>,
    pub use_id: &'a str,
    pub tool: &'a str,
    pub input: &'a Value,
    pub access: &'a [Access],
    pub at: Stamp,
}

/// The ask for one use of a tool. Its id follows from the agent and the use alone, so that it
/// is the same one after a restart.
pub fn question(asker: &Asker<'_>, view: &View, why: &Why, suggestions: &[Suggestion]) -> Ask {
    let me = asker.chain.first().map(ToString::to_string).unwrap_or_default();
    let description = asker.input.get("description").and_then(Value::as_str);
    Ask {
        id: AskId::found(&format!("{}@{me}", asker.use_id)),
        rev: 1,
        chain: asker.chain.to_vec(),
        color: asker.color.map(str::to_owned),
        at: asker.at,
        cwd: Path::to_owned(&view.cwd),
        why: Reason {
            description: description.map(str::to_owned),
            rule: Some(why.to_string()),
            kind: Some(why.kind().to_owned()),
        },
        risk: Risk::Medium,
        question: Question::Tool {
            use_id: asker.use_id.to_owned(),
            name: asker.tool.to_owned(),
            input: asker.input.clone(),
        },
        choices: Vec::new(),
        suggestions: suggestions.iter().map(Suggestion::to_json).collect(),
    }
}
