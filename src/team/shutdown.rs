//! Ending a teammate: it is asked, it answers, and if it does not, the person decides.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::crew::{Team, said};
use super::member::Member;
use super::roll::Roll;
use super::send::roster;
use crate::model::Stop;
use crate::protocol::ask::{Ask, Choice, Judge, Question, Reason, Risk, Verdict};
use crate::protocol::event::{Fact, Level};
use crate::protocol::ids::{AgentName, AskId};
use crate::protocol::message::{Body, ShutdownApproved, ShutdownRejected, ShutdownRequest};
use crate::protocol::time::Stamp;
use crate::store::StoreError;
use crate::store::mailbox::stamp;
use crate::tools::Output;

/// How the ids of questions about a teammate that does not answer begin.
const NO_ANSWER: &str = "no-answer-";

/// A request that waits for its answer.
#[derive(Debug, Clone)]
pub struct Request {
    pub id: String,
    /// Cancelled by the answer.
    pub answered: Stop,
}

/// Asks a teammate to end.
pub async fn request(
    team: &Team,
    roll: &Arc<Roll>,
    to: &AgentName,
    reason: Option<String>,
) -> Output {
    let roster = match roster(team, roll).await {
        Ok(roster) => roster,
        Err(error) => return Output::failed(error),
    };
    if to.is_lead() || roster.member(to).is_none() {
        let names: Vec<&str> = roster.teammates().map(|member| member.name.as_str()).collect();
        let message = format!("There is no teammate `{to}`. There are: {}", names.join(", "));
        return said(json!({ "success": false, "message": message }));
    }
    let at = stamp();
    let id = format!("shutdown-{}@{to}", at.millis());
    let body = Body::ShutdownRequest(ShutdownRequest {
        request_id: id.clone(),
        from: AgentName::lead(),
        reason,
        timestamp: at.to_string(),
    });
    let answered = expect(roll, to, id.clone());
    let (post, lead, receiver) = (Arc::clone(&roll.post), team.office().lead(), to.clone());
    let sent = tokio::task::spawn_blocking(move || {
        post.send_body(&lead, &AgentName::lead(), &receiver, &body, at)
    });
    match sent.await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => return Output::failed(format!("The request was not sent: {error}")),
        Err(error) => return Output::failed(error.to_string()),
    }
    if let Some(member) = roll.member(to) {
        deny_asks(team, &member).await;
        if member.agent.queue.pause(false) {
            member.agent.tell(Fact::Unpaused);
        }
        watch(team, roll, &member, answered);
    }
    said(json!({
        "success": true,
        "message": format!("Shutdown request sent to {to}. Request ID: {id}"),
        "request_id": id,
        "target": to,
    }))
    .with_summary(format!("to {to}"))
}

/// Whoever should end needs nothing any more.
async fn deny_asks(team: &Team, member: &Member) {
    let (desk, me) = (Arc::clone(&team.office().desk), member.agent.cx.me.clone());
    let denied = tokio::task::spawn_blocking(move || {
        let open = desk.open_asks()?;
        for ask in open.asks.iter().filter(|ask| ask.chain.contains(&me)) {
            let verdict = Verdict::Deny { why: Some("shutting down".to_owned()) };
            let by = Judge::Policy { name: "shutdown".to_owned() };
            if let Err(error) = desk.settle(&ask.id, ask.rev, verdict, by) {
                tracing::info!(%error, "an ask was settled elsewhere");
            }
        }
        Ok::<(), StoreError>(())
    });
    if let Ok(Err(error)) = denied.await {
        tracing::warn!(%error, "asks of a teammate that should end");
    }
}

/// Sees to it that a request does not stay unanswered for ever.
pub fn watch(team: &Team, roll: &Arc<Roll>, member: &Arc<Member>, answered: Stop) {
    let Some(team) = team.own() else { return };
    let office = Arc::clone(team.office());
    let (roll, member) = (Arc::clone(roll), Arc::clone(member));
    let over = member.agent.life.child_token();
    let watching = async move {
        let insisting = insist(&team, &member, &over);
        tokio::pin!(insisting);
        tokio::select! {
            () = answered.cancelled() => {
                // What the person was asked is taken back; only then it is over.
                over.cancel();
                insisting.await;
            }
            () = &mut insisting => {}
        }
        roll.post.moved();
    };
    office.tasks.spawn(super::crew::until_abandoned(&office, watching));
}

/// Waits for an answer, then has somebody decide, until it is over.
async fn insist(team: &Team, member: &Member, over: &Stop) {
    let patience = team.policy.shutdown_patience;
    let name = &member.name;
    let waited = async |time| over.run_until_cancelled(tokio::time::sleep(time)).await.is_some();
    while waited(patience).await {
        if !team.policy.attended {
            if !waited(patience).await {
                return;
            }
            member.agent.notice(
                Level::Warning,
                format!("{name} did not answer the request to end and is stopped."),
            );
            return member.stop("it did not answer the request to end");
        }
        match decide(team, member, patience, over).await {
            Decision::Wait => {}
            Decision::Interrupt => {
                member.agent.queue.interrupt();
            }
            Decision::Stop => return member.stop("the user stopped it"),
        }
    }
}

enum Decision {
    Wait,
    Interrupt,
    Stop,
}

/// Asks the person what to do with a teammate that does not answer.
async fn decide(team: &Team, member: &Member, waited: Duration, over: &Stop) -> Decision {
    let choice = |label: &str, description: &str| Choice {
        label: label.to_owned(),
        description: Some(description.to_owned()),
        verdict: None,
    };
    let (agent, seconds) = (&member.agent, waited.as_secs());
    let at = stamp();
    let ask = Ask {
        id: AskId::found(&format!("{NO_ANSWER}{}@{}", at.millis(), agent.cx.me)),
        rev: 1,
        chain: agent.cx.chain.clone(),
        color: agent.cx.color.clone(),
        at,
        cwd: agent.cx.cwd.get(),
        why: Reason {
            description: Some(format!(
                "{} was asked to end and has not answered for {seconds} seconds.",
                member.name
            )),
            rule: None,
            kind: Some("shutdown".to_owned()),
        },
        risk: Risk::Medium,
        question: Question::NoAnswerToShutdown,
        choices: vec![
            choice("Wait", "Give it more time."),
            choice("Interrupt", "End what it does now, so that it sees the request."),
            choice("Stop", "End it by force; what it was doing is lost."),
        ],
        suggestions: Vec::new(),
        scopes: Vec::new(),
        lines: Vec::new(),
    };
    let views = agent.views.subscribe();
    match team.office().desk.raise(ask, &|| None, views, over).await {
        Verdict::Chose { choice: 1, .. } => Decision::Interrupt,
        Verdict::Chose { choice: 2, .. } | Verdict::Allow { .. } => Decision::Stop,
        Verdict::Chose { .. }
        | Verdict::Deny { .. }
        | Verdict::Answered { .. }
        | Verdict::Withdrawn { .. } => Decision::Wait,
    }
}

/// How a teammate that comes back stands to the newest request to end in its inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// There is none, or it refused.
    Stays,
    /// This one waits for its answer.
    Asked(String),
    /// It had agreed, and was only not gone yet.
    Agreed,
}

/// Finds the newest request to end a teammate, and what it answered, in an earlier process.
pub async fn standing(team: &Team, roll: &Roll, name: &AgentName) -> Result<Standing, String> {
    let (store, dir, of) = (team.store(), roll.dir.clone(), name.clone());
    let read = tokio::task::spawn_blocking(move || {
        let mail = store.mail(&dir);
        let asked = mail.read(&of)?.messages.into_iter().rev().find_map(|message| {
            let body = message.body();
            let Body::ShutdownRequest(request) = body else { return None };
            message.from.is_lead().then_some((request.request_id, message.timestamp))
        });
        let Some((id, at)) = asked else { return Ok(Standing::Stays) };
        // Of an earlier teammate of this name.
        let joined = store.rosters().team(&dir)?.member(&of).map_or(0, |entry| entry.joined_at);
        if Stamp::parse(&at).is_some_and(|at| at.millis() < joined) {
            return Ok(Standing::Stays);
        }
        let lead = mail.read(&AgentName::lead())?.messages;
        let answers = lead.into_iter().filter(|message| message.from == of);
        let answer = answers.rev().find_map(|message| match message.body() {
            Body::ShutdownApproved(answer) if answer.request_id == id => Some(Standing::Agreed),
            Body::ShutdownRejected(answer) if answer.request_id == id => Some(Standing::Stays),
            Body::ShutdownApproved(_)
            | Body::ShutdownRejected(_)
            | Body::Plain(_)
            | Body::TaskAssignment(_)
            | Body::IdleNotification(_)
            | Body::ShutdownRequest(_)
            | Body::PlanApprovalRequest(_)
            | Body::PlanApprovalResponse(_)
            | Body::PermissionRequest(_)
            | Body::PermissionResponse(_)
            | Body::Unknown { .. } => None,
        });
        Ok(answer.unwrap_or(Standing::Asked(id)))
    });
    let read: Result<Standing, StoreError> = read.await.map_err(|error| error.to_string())?;
    read.map_err(|error| error.to_string())
}

/// Expects the answer to a request; the stop is cancelled by it.
pub fn expect(roll: &Roll, name: &AgentName, id: String) -> Stop {
    let answered = Stop::new();
    let request = Request { id, answered: answered.clone() };
    if let Some(before) = roll.requests().insert(name.clone(), request) {
        before.answered.cancel();
    }
    answered
}

/// Takes back what the person was asked in an earlier process about those who do not answer.
pub async fn withdraw_questions(team: &Team) {
    let desk = Arc::clone(&team.office().desk);
    let open = tokio::task::spawn_blocking(move || desk.open_asks()).await;
    let Ok(Ok(open)) = open else { return };
    for ask in open.asks.into_iter().filter(|ask| ask.id.as_str().starts_with(NO_ANSWER)) {
        team.withdraw(ask.id, "the program was started again").await;
    }
}

/// What a teammate answers.
pub async fn answer(
    team: &Team,
    roll: &Arc<Roll>,
    member: &Arc<Member>,
    request_id: &str,
    approve: bool,
    words: String,
) -> Output {
    let name = &member.name;
    let known = {
        let mut requests = roll.requests();
        match requests.get(name).is_some_and(|request| request.id == request_id) {
            true => requests.remove(name),
            false => None,
        }
    };
    let Some(known) = known else {
        return Output::failed(format!(
            "There is no open request `{request_id}` for you. Answer the newest one, with its \
             exact request_id."
        ));
    };
    let at = stamp();
    let (id, from, timestamp) = (request_id.to_owned(), name.clone(), at.to_string());
    let body = match approve {
        true => Body::ShutdownApproved(ShutdownApproved {
            request_id: id,
            from,
            timestamp,
            pane_id: Some("in-process".to_owned()),
            backend_type: Some("in-process".to_owned()),
        }),
        false => {
            let reason = match words.trim() {
                "" => "it has work to finish".to_owned(),
                words => words.to_owned(),
            };
            Body::ShutdownRejected(ShutdownRejected { request_id: id, from, reason, timestamp })
        }
    };
    if let Err(error) = team.to_lead(roll, &member.agent.cx.me, body, at).await {
        roll.requests().entry(name.clone()).or_insert(known);
        return Output::failed(format!("The lead could not be told: {error}. Try again."));
    }
    known.answered.cancel();
    let message = match approve {
        true => {
            member.leave_after_round();
            format!(
                "Shutdown approved. Sent confirmation to team-lead. Agent {name} is now exiting."
            )
        }
        false => {
            member.deeds().told_lead = true;
            format!("Shutdown rejected. Sent the reason to team-lead. {name} goes on.")
        }
    };
    said(json!({ "success": true, "message": message, "request_id": request_id }))
}
