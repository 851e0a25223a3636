//! SendMessage within a team: words to one or all, requests to end and the answers to them.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::crew::{Team, said};
use super::roll::Roll;
use super::{plan, shutdown};
use crate::protocol::ids::{AgentId, AgentName};
use crate::protocol::team::Team as Roster;
use crate::store::StoreError;
use crate::tools::context::{Letter, LetterKind};
use crate::tools::{Call, Crew, Output};

pub async fn send(team: &Team, by: &AgentId, call: &Call, letter: Letter) -> Output {
    let Some(roll) = team.roll() else { return team.solo.send(by, call, letter).await };
    match letter.kind.clone() {
        LetterKind::Message => message(team, &roll, by, call, letter).await,
        LetterKind::Broadcast => broadcast(team, &roll, by, letter).await,
        LetterKind::ShutdownRequest => {
            if team.member_of(by).is_some() {
                return Output::failed("Only the lead asks teammates to end.");
            }
            let to = AgentName::found(bare(letter.to.as_deref().unwrap_or_default()));
            let reason = Some(letter.words).filter(|words| !words.trim().is_empty());
            shutdown::request(team, &roll, &to, reason).await
        }
        LetterKind::ShutdownResponse { request_id, approve } => match team.member_of(by) {
            Some(member) if member.agent.cx.me == *by => {
                shutdown::answer(team, &roll, &member, &request_id, approve, letter.words).await
            }
            Some(_) | None => Output::failed("Only a teammate answers a request to end."),
        },
        LetterKind::PlanResponse { request_id, approve } => {
            if *by != team.office().lead() {
                return Output::failed("Only the lead answers about plans.");
            }
            let to = AgentName::found(bare(letter.to.as_deref().unwrap_or_default()));
            plan::answer_of_lead(team, &roll, &to, &request_id, approve, letter.words).await
        }
    }
}

/// A name without the team behind it, or the `@` before it.
fn bare(to: &str) -> &str {
    let to = to.trim().trim_start_matches('@');
    to.split('@').next().unwrap_or(to)
}

/// In whose name an agent writes: as the teammate that it is or works for, else as the lead.
fn sender(team: &Team, by: &AgentId) -> AgentName {
    team.member_of(by).map_or_else(AgentName::lead, |member| member.name.clone())
}

fn color(roster: &Roster, name: &AgentName) -> Option<String> {
    roster.member(name).and_then(|member| member.color.clone())
}

/// Where a message went, as the ecosystem says it.
fn routing(roster: &Roster, from: &AgentName, target: &str, letter: &Letter) -> Map<String, Value> {
    let mut routing = Map::new();
    routing.insert("sender".to_owned(), json!(from));
    if let Some(color) = color(roster, from) {
        routing.insert("senderColor".to_owned(), json!(color));
    }
    routing.insert("target".to_owned(), json!(target));
    let known = color(roster, &AgentName::found(target.trim_start_matches('@')));
    if let Some(color) = known.filter(|_| from.is_lead()) {
        routing.insert("targetColor".to_owned(), json!(color));
    }
    routing.insert("summary".to_owned(), json!(letter.summary));
    routing.insert("content".to_owned(), json!(letter.words));
    routing
}

async fn message(
    team: &Team,
    roll: &Arc<Roll>,
    by: &AgentId,
    call: &Call,
    letter: Letter,
) -> Output {
    let from = sender(team, by);
    let to = AgentName::found(bare(letter.to.as_deref().unwrap_or_default()));
    if to == from {
        return Output::failed("You cannot send a message to yourself.");
    }
    let (post, author, words) = (Arc::clone(&roll.post), by.clone(), letter.words.clone());
    let (sender, receiver, summary) = (from.clone(), to.clone(), letter.summary.clone());
    let sent = tokio::task::spawn_blocking(move || {
        let roster = post.roster()?;
        let known = roster.member(&receiver).is_some();
        let send = || post.send(&roster, &author, &sender, &receiver, &words, summary);
        let sent = known.then(send).transpose()?;
        Ok::<_, StoreError>((roster, sent))
    });
    let (roster, sent) = match flat(sent.await) {
        Ok(done) => done,
        Err(error) => return Output::failed(format!("The message was not sent: {error}")),
    };
    if sent.is_none() {
        // Perhaps an agent that works for one of them, in the background.
        if team.solo.find(to.as_str()).is_some() {
            return team.solo.send(by, call, letter).await;
        }
        let names = roster.names().join(", ");
        let message = format!("There is no `{to}` in team {}. There are: {names}", roll.name);
        return said(json!({ "success": false, "message": message }));
    }
    note(team, by, &to, &letter);
    let answer = json!({
        "success": true,
        "message": format!("Message sent to {to}'s inbox"),
        "routing": routing(&roster, &from, &format!("@{to}"), &letter),
    });
    said(answer).with_summary(format!("to {to}"))
}

async fn broadcast(team: &Team, roll: &Arc<Roll>, by: &AgentId, letter: Letter) -> Output {
    let from = sender(team, by);
    let roster = match roster(team, roll).await {
        Ok(roster) => roster,
        Err(error) => return Output::failed(error),
    };
    let others: Vec<AgentName> = roster.members.iter().map(|member| member.name.clone()).collect();
    let (mut reached, mut failed) = (Vec::new(), Vec::new());
    for to in others.into_iter().filter(|name| *name != from) {
        let (post, author, words) = (Arc::clone(&roll.post), by.clone(), letter.words.clone());
        let (sender, receiver, summary) = (from.clone(), to.clone(), letter.summary.clone());
        let among = Arc::clone(&roster);
        let sent = tokio::task::spawn_blocking(move || {
            post.send(&among, &author, &sender, &receiver, &words, summary)
        });
        match flat(sent.await) {
            Ok(_) => {
                note(team, by, &to, &letter);
                reached.push(to.to_string());
            }
            Err(error) => failed.push(format!("{to}: {error}")),
        }
    }
    if reached.is_empty() && failed.is_empty() {
        return said(json!({ "success": false, "message": "There is nobody else in the team." }));
    }
    let names = reached.join(", ");
    let mut message = format!("Message broadcast to {} teammate(s): {names}", reached.len());
    if !failed.is_empty() {
        message.push_str(&format!(". It did not reach {}", failed.join("; ")));
    }
    let answer = json!({
        "success": failed.is_empty(), "message": message, "recipients": reached,
        "routing": routing(&roster, &from, "@team", &letter),
    });
    said(answer).with_summary(format!("to all {}", reached.len()))
}

/// What the lead will hear of when this teammate is idle.
fn note(team: &Team, by: &AgentId, to: &AgentName, letter: &Letter) {
    let Some(member) = team.member_of(by) else { return };
    let mut deeds = member.deeds();
    match to.is_lead() {
        true => deeds.told_lead = true,
        false => deeds.to_peer = Some((to.clone(), letter.summary.clone().unwrap_or_default())),
    }
}

pub async fn roster(team: &Team, roll: &Roll) -> Result<Arc<Roster>, String> {
    let (store, dir) = (team.store(), roll.dir.clone());
    let read = tokio::task::spawn_blocking(move || store.rosters().team(&dir)).await;
    read.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
}

fn flat<T>(sent: Result<Result<T, StoreError>, tokio::task::JoinError>) -> Result<T, String> {
    sent.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
}
