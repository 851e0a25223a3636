//! A decision that somebody must take, put as an ask: everything the person needs to see, and
//! the choices with the exact rule that each would write.

use std::path::Path;

use serde_json::Value;

use super::risk::risk;
use super::scope::{Scope, Term, permits, scopes, suggested};
use super::{Access, Suggestion, View, Why};
use crate::protocol::ask::{Ask, Choice, Grant, Grantee, Lasts, Permit, Question, Reason, Verdict};
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
    /// See `Ask::lines`.
    pub lines: &'a [usize],
    pub at: Stamp,
}

/// The name of the ask for one use of a tool. It follows from the agent and the use alone, so
/// that it is the same one after a restart.
pub fn ask_id(use_id: &str, agent: &AgentId) -> AskId {
    AskId::found(&format!("{use_id}@{agent}"))
}

/// The ask for one use of a tool.
pub fn question(asker: &Asker<'_>, view: &View, why: &Why, suggestions: &[Suggestion]) -> Ask {
    let description = asker.input.get("description").and_then(Value::as_str);
    let id = match asker.chain.first() {
        Some(me) => ask_id(asker.use_id, me),
        None => AskId::found(asker.use_id),
    };
    Ask {
        id,
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
        risk: risk(view, asker.access, why),
        question: Question::Tool {
            use_id: asker.use_id.to_owned(),
            name: asker.tool.to_owned(),
            input: asker.input.clone(),
        },
        choices: choices(asker.chain.first(), suggestions),
        suggestions: suggestions.iter().map(Suggestion::to_json).collect(),
        scopes: offered(asker, view, why, suggestions),
        lines: asker.lines.to_vec(),
    }
}

/// What a yes may reach to.
fn offered(asker: &Asker<'_>, view: &View, why: &Why, suggestions: &[Suggestion]) -> Vec<Scope> {
    if why.is_for_each_time() {
        return Vec::new();
    }
    scopes(view, asker.tool, asker.input, asker.access, suggestions)
}

/// A short list, in the order shown: yes, yes for longer, no. The console makes the full menu
/// from the scopes; an hour is offered there, since it begins when it is given.
pub fn choices(asker: Option<&AgentId>, suggestions: &[Suggestion]) -> Vec<Choice> {
    let choice =
        |label: String, verdict| Choice { label, description: None, verdict: Some(verdict) };
    let allow = |grant| Verdict::Allow { input: None, grant, remark: None };
    let mut all = vec![choice("Yes, once".to_owned(), allow(None))];
    for suggestion in suggestions {
        let permits = permits(suggestion);
        let what: Vec<String> = permits.iter().map(ToString::to_string).collect();
        let what = what.join(", ");
        let who = asker.map_or_else(|| "the agent".to_owned(), ToString::to_string);
        let label = match suggestion {
            Suggestion::SetMode(_) => format!("Yes, and change to {what}"),
            Suggestion::AddRules(_) | Suggestion::AddDirectories(_) => {
                format!("Yes, and don't ask {who} again in this session: {what}")
            }
        };
        let lasts = Lasts::Session;
        let grant = Grant { permits, to: Grantee::Asker, lasts };
        all.push(choice(label, allow(Some(grant))));
    }
    let lasting = suggestions.iter().find(|one| matches!(one, Suggestion::AddRules(_)));
    if let Some(suggestion) = lasting {
        let permits = permits(suggestion);
        let what: Vec<String> = permits.iter().map(Permit::to_string).collect();
        let label = format!("Yes, and don't ask again in this project: {}", what.join(", "));
        let grant = Grant { permits, to: Grantee::Team, lasts: Lasts::Project };
        all.push(choice(label, allow(Some(grant))));
    }
    all.push(choice("No".to_owned(), Verdict::Deny { why: None }));
    all
}

/// A yes that reaches further, as somebody asked for it at this moment: the given rule, or what
/// the ask suggests. `None` where it suggests nothing.
pub fn lasting(
    ask: &Ask,
    rule: Option<&str>,
    to: Grantee,
    term: Term,
    now: Stamp,
) -> Option<Grant> {
    let permits = match rule {
        Some(rule) => vec![Permit::Rule(rule.to_owned())],
        None => suggested(ask)?.permits.clone(),
    };
    Some(Grant { permits, to: term.grantee(to), lasts: term.lasts(now) })
}
