//! Permissions by mail. What a member of another process asks becomes an ask of this session, and
//! its verdict is mailed back. What teammates of this process ask is put into the lead's inbox
//! too while nobody looks at a screen, and an answer in the teammate's inbox settles it.
//!
//! The id of a request follows from its ask, so that it is the same after a restart.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::StreamExt;
use serde_json::Value;

use super::crew::Team;
use super::heed::{Heeded, pass_over};
use super::roll::Roll;
use super::send::roster;
use crate::agent::context::Agent;
use crate::model::Stop;
use crate::permission::path::resolve;
use crate::permission::question::choices;
use crate::permission::scope::permits;
use crate::permission::suggest::{Suggestion, suggestion_of};
use crate::protocol::ask::{
    Ask, Grant, Grantee, Judge, Lasts, Permit, Question, Reason, Risk, Verdict,
};
use crate::protocol::event::{Fact, Level};
use crate::protocol::ids::{AgentId, AgentName, AskId, MessageId, digest};
use crate::protocol::message::{
    Body, PermissionOutcome, PermissionRequest, PermissionResponse, Permitted,
};
use crate::protocol::op::Mode;
use crate::store::mailbox::stamp;
use crate::tools::edit;

/// The id under which an ask goes by mail: `perm-<ms>-<7 of a-z0-9>`.
pub fn request_id(ask: &Ask) -> String {
    const LETTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let mut left = digest(&format!("{}/{}", ask.id, ask.rev));
    let mut word = String::new();
    for _ in 0..7 {
        word.extend(LETTERS.get((left % 36) as usize).copied().map(char::from));
        left /= 36;
    }
    format!("perm-{}-{word}", ask.at.millis())
}

/// Puts what teammates of this process ask into the lead's inbox, until the team ends.
pub async fn tell_lead(team: Arc<Team>, roll: Arc<Roll>) {
    let office = Arc::clone(team.office());
    let closed = roll.post.closed.clone();
    let mut events = office.journal.after(office.journal.latest());
    // In this order: what is asked after the look is an event.
    let desk = Arc::clone(&office.desk);
    let open = tokio::task::spawn_blocking(move || desk.open_asks()).await;
    let mut letters = Letters { team, roll, sent: HashMap::new() };
    if let Ok(Ok(open)) = open {
        for ask in &open.asks {
            letters.asked(ask).await;
        }
    }
    loop {
        let event = tokio::select! {
            event = events.next() => event,
            () = closed.cancelled() => return,
        };
        let Some(event) = event else { return };
        if let Fact::Asked { ask } = &event.fact {
            letters.asked(ask).await;
        } else if let Fact::Settled { ask, .. } = &event.fact {
            letters.settled(ask);
        }
    }
}

struct Letters {
    team: Arc<Team>,
    roll: Arc<Roll>,
    /// The mail of what is open.
    sent: HashMap<AskId, MessageId>,
}

impl Letters {
    async fn asked(&mut self, ask: &Ask) {
        let Question::Tool { use_id, name, input } = &ask.question else { return };
        // Who works for a teammate asks in its name.
        let asker = ask.chain.iter().find(|one| one.team == self.roll.name && !one.name.is_lead());
        let Some(asker) = asker.cloned() else { return };
        // A member of another process asked by mail itself.
        if ask.id.as_str().starts_with(BY_MAIL) {
            return;
        }
        let request = request_id(ask);
        let description = ask.why.description.clone().or_else(|| ask.why.rule.clone());
        let body = Body::PermissionRequest(PermissionRequest {
            request_id: request.clone(),
            agent_id: asker.name.clone(),
            tool_name: name.clone(),
            tool_use_id: use_id.clone(),
            description: description.unwrap_or_default(),
            input: input.clone(),
            permission_suggestions: ask.suggestions.clone(),
        });
        let (post, store, dir) =
            (Arc::clone(&self.roll.post), self.team.store(), self.roll.dir.clone());
        let sent = tokio::task::spawn_blocking(move || {
            let inbox = store.mail(&dir).read(&AgentName::lead())?;
            let known = inbox.messages.iter().find(|message| {
                message.text.contains(&request)
                    && matches!(message.body(), Body::PermissionRequest(known) if known.request_id == request)
            });
            match known {
                Some(known) => Ok(known.id()),
                None => {
                    let sent =
                        post.send_body(&asker, &asker.name, &AgentName::lead(), &body, stamp());
                    sent.map(|message| message.id())
                }
            }
        });
        match sent.await {
            Ok(Ok(mail)) => {
                self.sent.insert(ask.id.clone(), mail);
            }
            Ok(Err(error)) => {
                let error: crate::store::StoreError = error;
                tracing::warn!(%error, "an ask did not go by mail");
            }
            Err(error) => tracing::warn!(%error, "an ask did not go by mail"),
        }
    }

    fn settled(&mut self, ask: &AskId) {
        if let Some(mail) = self.sent.remove(ask) {
            self.roll.post.mark(&AgentName::lead(), vec![mail]);
        }
    }
}

/// An answer in the inbox of a teammate of this process. It settles what it answers, once; if
/// nobody waits for it, that is said.
pub fn answered(
    team: &Team,
    roll: &Arc<Roll>,
    agent: &Agent,
    mail: MessageId,
    answer: PermissionResponse,
    id: String,
) -> Heeded {
    let (Some(team), name) = (team.own(), agent.cx.me.name.clone()) else { return Heeded::Done };
    let (roll, under_way, me) = (Arc::clone(roll), roll.errand(), agent.cx.me.clone());
    let office = Arc::clone(team.office());
    office.tasks.spawn_blocking(move || {
        let desk = &team.office().desk;
        let open = desk.open_asks().map(|open| open.asks).unwrap_or_default();
        let mut theirs = open.iter().filter(|ask| ask.chain.contains(&me));
        let meant = theirs.find(|ask| request_id(ask) == id);
        let settled = meant.map(|ask| {
            let by = Judge::Policy { name: "permission_response".to_owned() };
            desk.settle(&ask.id, ask.rev, verdict(answer), by)
        });
        let why = match settled {
            Some(Ok(())) => None,
            Some(Err(error)) => Some(error.to_string()),
            None => Some(format!("{name} is not waiting for an answer to `{id}`")),
        };
        match (why, team.solo.agent(&me)) {
            (Some(why), Some(agent)) => pass_over(&roll, &name, &agent, mail, &why),
            (_, _) => roll.post.mark(&name, vec![mail]),
        }
        drop(under_way);
    });
    Heeded::Done
}

/// What an answer by mail means. It may give what lasts for the session, and no freer mode than
/// accepting edits.
fn verdict(answer: PermissionResponse) -> Verdict {
    match answer.outcome {
        PermissionOutcome::Error { error } => {
            Verdict::Deny { why: Some(error).filter(|error| !error.trim().is_empty()) }
        }
        PermissionOutcome::Success { response } => {
            let updates = response.permission_updates.iter().filter_map(suggestion_of);
            let given: Vec<Permit> = updates.flat_map(|update| permits(&update)).collect();
            let modest = |permit: &Permit| match permit {
                Permit::Mode(mode) => {
                    matches!(mode, Mode::Default | Mode::AcceptEdits | Mode::Plan)
                }
                Permit::Rule(_) | Permit::Directory(_) => true,
            };
            let permits: Vec<Permit> = given.into_iter().filter(modest).collect();
            let grant = Grant { permits, to: Grantee::Asker, lasts: Lasts::Session };
            Verdict::Allow {
                input: response.updated_input.filter(Value::is_object),
                grant: (!grant.permits.is_empty()).then_some(grant),
                remark: None,
            }
        }
    }
}

/// How the ids of asks begin that came by mail, so that none can take the place of another.
const BY_MAIL: &str = "mail-";

/// Has the person judge what a member of another process asks, and mails the verdict. `false`
/// where it stays open, and its mail unread.
pub async fn judge(team: &Team, roll: &Arc<Roll>, request: &PermissionRequest) -> bool {
    let name = &request.agent_id;
    let (Ok(roster), Some(lead)) = (roster(team, roll).await, team.lead()) else { return true };
    let Some(entry) = roster.member(name).filter(|entry| !entry.name.is_lead()) else {
        let text = format!("{name} asks for something but is not in the team.");
        lead.notice(Level::Warning, text);
        return true;
    };
    // It is brought back by this very process, and asks at the desk. Its mail is marked when that
    // is settled; where nothing goes by mail, nobody reads it.
    if entry.backend_type.as_deref() == Some("in-process") {
        return !(team.policy.asks_by_mail && is_open(team, &request.request_id).await);
    }
    let asker = AgentId::new(name, &roll.name);
    let suggestions: Vec<Suggestion> =
        request.permission_suggestions.iter().filter_map(suggestion_of).collect();
    let cwd = PathBuf::from(entry.cwd.clone().unwrap_or_default());
    let lines = lines(&cwd, request).await;
    let ask = Ask {
        id: AskId::found(&format!("{BY_MAIL}{}@{asker}", request.request_id)),
        rev: 1,
        chain: vec![asker.clone(), lead.cx.me.clone()],
        color: entry.color.clone(),
        at: stamp(),
        cwd,
        why: Reason {
            description: Some(request.description.clone()).filter(|text| !text.is_empty()),
            rule: Some("it works in a process of its own, and asks by mail".to_owned()),
            kind: Some("mail".to_owned()),
        },
        risk: Risk::Medium,
        question: Question::Tool {
            use_id: request.tool_use_id.clone(),
            name: request.tool_name.clone(),
            input: request.input.clone(),
        },
        choices: choices(Some(&asker), &suggestions),
        suggestions: request.permission_suggestions.clone(),
        scopes: Vec::new(),
        lines,
    };
    let views = lead.views.subscribe();
    let verdict = team.office().desk.raise(ask, &|| None, views, &Stop::new()).await;
    let Some(outcome) = outcome(verdict, &request.input) else { return true };
    let body = Body::PermissionResponse(PermissionResponse {
        request_id: request.request_id.clone(),
        outcome,
    });
    if is_answered(team, roll, name, &request.request_id).await {
        return true;
    }
    if let Err(error) = team.from_lead(roll, name, body, stamp()).await {
        lead.notice(Level::Error, format!("{name} could not be told the verdict: {error}"));
    }
    true
}

/// Where in its file an edit would begin.
async fn lines(cwd: &Path, request: &PermissionRequest) -> Vec<usize> {
    match request.input.get("file_path").and_then(Value::as_str) {
        Some(path) if request.tool_name == "Edit" => {
            edit::lines(resolve(cwd, Path::new(path)), &request.input).await
        }
        Some(_) | None => Vec::new(),
    }
}

/// Whether what went by mail under this id still waits at the desk.
async fn is_open(team: &Team, id: &str) -> bool {
    let desk = Arc::clone(&team.office().desk);
    let open = tokio::task::spawn_blocking(move || desk.open_asks()).await;
    matches!(open, Ok(Ok(open)) if open.asks.iter().any(|ask| request_id(ask) == id))
}

/// Whether the answer was sent before a restart.
async fn is_answered(team: &Team, roll: &Roll, name: &AgentName, id: &str) -> bool {
    let (store, dir, of) = (team.store(), roll.dir.clone(), name.clone());
    let read = tokio::task::spawn_blocking(move || store.mail(&dir).read(&of)).await;
    let Ok(Ok(inbox)) = read else { return false };
    let answered: HashSet<String> = inbox
        .messages
        .iter()
        .filter(|message| message.from.is_lead() && message.text.contains(id))
        .filter_map(|message| {
            let body = message.body();
            let Body::PermissionResponse(answer) = body else { return None };
            Some(answer.request_id)
        })
        .collect();
    answered.contains(id)
}

/// A verdict as it goes by mail; `None` where nobody waits for it any more.
fn outcome(verdict: Verdict, asked: &Value) -> Option<PermissionOutcome> {
    let denied = |why: Option<String>| PermissionOutcome::Error {
        error: why.unwrap_or_else(|| "The user did not allow this.".to_owned()),
    };
    match verdict {
        Verdict::Allow { input, grant, .. } => {
            let permits = grant.map(|grant| grant.permits).unwrap_or_default();
            Some(PermissionOutcome::Success {
                response: Permitted {
                    updated_input: Some(input.unwrap_or_else(|| asked.clone())),
                    permission_updates: permits.into_iter().map(update).collect(),
                },
            })
        }
        Verdict::Deny { why } | Verdict::Chose { text: why, .. } => Some(denied(why)),
        Verdict::Answered { .. } => Some(denied(None)),
        Verdict::Withdrawn { .. } => None,
    }
}

fn update(permit: Permit) -> Value {
    match permit {
        Permit::Rule(rule) => Suggestion::AddRules(vec![rule]),
        Permit::Directory(dir) => Suggestion::AddDirectories(vec![dir]),
        Permit::Mode(mode) => Suggestion::SetMode(mode),
    }
    .to_json()
}
