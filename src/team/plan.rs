//! Plans and who approves them. A teammate that must plan hands its plan in by mail; who judges
//! it is the person, the lead's model or nobody; the answer is a message of the lead, and the
//! teammate's runtime acts on it.
//!
//! A request stays unread in the lead's inbox until its answer is sent, so that a restart takes
//! it up again, finds the same ask, and answers once.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use super::crew::Team;
use super::member::Member;
use super::policy::PlanJudge;
use super::roll::Roll;
use super::send::roster;
use super::spawn::teammate_mode;
use crate::agent::context::Agent;
use crate::agent::planning::{Planning, how_to_plan, read_plan, write_plan};
use crate::model::Stop;
use crate::permission::view::{mode_name, mode_named};
use crate::protocol::ask::{
    Ask, Choice, Grant, Grantee, Lasts, Permit, Question, Reason, Risk, Verdict,
};
use crate::protocol::event::Level;
use crate::protocol::ids::{AgentId, AgentName, AskId};
use crate::protocol::message::{Body, Message, PlanApprovalRequest, PlanApprovalResponse};
use crate::protocol::op::Mode;
use crate::store::mailbox::stamp;
use crate::tools::{Call, Output, ToolContext};

/// How the ids of requests begin.
const REQUEST: &str = "plan_approval-";

/// Whether an ask is about the plan of a teammate: its mode changes with the lead's answer, and
/// not before.
pub fn is_request(ask: &AskId) -> bool {
    ask.as_str().starts_with(REQUEST)
}

/// What EnterPlanMode does.
pub async fn enter(team: &Team, cx: &ToolContext) -> Output {
    let Some(agent) = team.solo.agent(&cx.me) else {
        return Output::failed("This agent has ended.");
    };
    let (office, planner) = (Arc::clone(team.office()), Arc::clone(&agent));
    let prepared = tokio::task::spawn_blocking(move || {
        let file = planner.prepare_plan(&office)?;
        if planner.mode() != Mode::Plan {
            planner.set_mode(Mode::Plan);
            planner.planning().own = true;
        }
        planner.planning().told = true;
        planner.keep_mode(&office);
        Ok::<PathBuf, crate::store::StoreError>(file)
    });
    match prepared.await {
        Ok(Ok(file)) => {
            let said =
                json!({ "message": how_to_plan(&file), "plan_file": file.to_string_lossy() });
            super::crew::said(said).with_summary(cx.shown(&file))
        }
        Ok(Err(error)) => Output::failed(format!("There is no file for your plan: {error}")),
        Err(error) => Output::failed(error.to_string()),
    }
}

/// What ExitPlanMode does.
pub async fn leave(team: &Team, cx: &ToolContext, call: &Call, given: Option<String>) -> Output {
    let Some(agent) = team.solo.agent(&cx.me) else {
        return Output::failed("This agent has ended.");
    };
    if agent.mode() != Mode::Plan {
        return Output::failed("You are not in plan mode.");
    }
    let given = given.filter(|plan| !plan.trim().is_empty());
    if let (Some(plan), Some(file)) = (given, agent.plan_file()) {
        let office = Arc::clone(team.office());
        let kept = tokio::task::spawn_blocking(move || write_plan(&office, &file, &plan)).await;
        if let Ok(Err(error)) = kept {
            return Output::failed(format!("The plan could not be written: {error}"));
        }
    }
    let (own, before) = {
        let planning = agent.planning();
        (planning.own, planning.before)
    };
    if own {
        let mode = before.unwrap_or_default();
        change_mode(team, &agent, mode).await;
        let text = format!("You have left plan mode and are in mode `{}` again.", mode_name(mode));
        return Output::text(text);
    }
    let seat = team.roll().and_then(|roll| Some((roll.member(&cx.me.name)?, roll)));
    let seat = seat.filter(|(member, _)| member.agent.cx.me == cx.me);
    let is_lead = cx.me == team.office().lead();
    let (file, text) = match (agent.plan_file(), seat.is_some() || is_lead) {
        (Some(file), true) => match written(&file).await {
            Ok(text) => (file, text),
            Err(why) => return Output::failed(why),
        },
        (_, _) => {
            return Output::failed(
                "You were started to plan, not to carry anything out: give your plan as your \
                 answer to whoever started you.",
            );
        }
    };
    match seat {
        Some((member, roll)) => hand_in(team, &roll, &member, &file, text).await,
        None => ask_person(team, cx, call, &agent, &file, text).await,
    }
}

async fn written(file: &Path) -> Result<String, String> {
    let path = file.to_owned();
    let read = tokio::task::spawn_blocking(move || read_plan(&path)).await;
    let text = read.map_err(|e| e.to_string())?.map_err(|error| error.to_string())?;
    match text.trim().is_empty() {
        true => Err(format!("There is no plan yet. Write it to `{}` first.", file.display())),
        false => Ok(text),
    }
}

async fn change_mode(team: &Team, agent: &Arc<Agent>, mode: Mode) {
    agent.set_mode(mode);
    keep(team, agent).await;
}

async fn keep(team: &Team, agent: &Arc<Agent>) {
    let (office, agent) = (Arc::clone(team.office()), Arc::clone(agent));
    let kept = tokio::task::spawn_blocking(move || agent.keep_mode(&office)).await;
    if let Err(error) = kept {
        tracing::warn!(%error, "a mode was not kept");
    }
}

/// The person put the lead into plan mode, and lets it out.
async fn ask_person(
    team: &Team,
    cx: &ToolContext,
    call: &Call,
    agent: &Arc<Agent>,
    file: &Path,
    text: String,
) -> Output {
    let before = agent.planning().before.unwrap_or_default();
    let ask = Ask {
        // Follows from the use alone, so that it is the same after a restart.
        id: AskId::found(&format!("{}-plan@{}", call.id, cx.me)),
        chain: cx.chain.clone(),
        color: cx.color.clone(),
        cwd: cx.cwd.get(),
        ..question(file, text, before)
    };
    match cx.desk.raise(ask, &|| None, cx.view.clone(), &call.stop).await {
        Verdict::Allow { input, grant, remark } => {
            let edited = match edit(team, file, input.as_ref()).await {
                Ok(edited) => edited,
                Err(why) => return Output::failed(format!("{why}. You are still in plan mode.")),
            };
            let mode = granted_mode(grant.as_ref()).unwrap_or(before);
            change_mode(team, agent, mode).await;
            let mut said = format!(
                "The user has approved your plan. You are in mode `{}` now: carry it out.",
                mode_name(mode)
            );
            said.extend(edited.into_iter().chain(remark).map(|more| format!(" {more}")));
            Output::text(said)
        }
        Verdict::Deny { why } | Verdict::Chose { text: why, .. } => {
            let why = why.map(|why| format!(" They say: {why}")).unwrap_or_default();
            Output::failed(format!(
                "The user has not approved your plan. You are still in plan mode: change it, and \
                 call ExitPlanMode again.{why}"
            ))
        }
        Verdict::Answered { .. } => Output::failed("The user has not approved your plan."),
        Verdict::Withdrawn { why } => Output::failed(format!("Nobody has judged it: {why}.")),
    }
}

/// The question whether a plan is good, without those who ask it.
fn question(file: &Path, text: String, mode: Mode) -> Ask {
    let allow = |mode: Option<Mode>| Verdict::Allow {
        input: None,
        grant: mode.map(|mode| Grant {
            permits: vec![Permit::Mode(mode)],
            to: Grantee::Asker,
            lasts: Lasts::Session,
        }),
        remark: None,
    };
    let choice = |label: &str, description: &str, verdict| Choice {
        label: label.to_owned(),
        description: Some(description.to_owned()),
        verdict: Some(verdict),
    };
    let usual = format!("It is carried out in mode {}.", mode_name(mode));
    let mut choices = vec![choice("Approve", &usual, allow(None))];
    if mode == Mode::Default {
        let edits = "It is carried out, and files here are changed without asking.";
        choices.push(choice("Approve, accept edits", edits, allow(Some(Mode::AcceptEdits))));
    }
    let no = "It stays in plan mode and changes its plan.";
    choices.push(choice("Reject", no, Verdict::Deny { why: None }));
    Ask {
        id: AskId::found(""),
        rev: 1,
        chain: Vec::new(),
        color: None,
        at: stamp(),
        cwd: PathBuf::new(),
        why: Reason { kind: Some("plan".to_owned()), ..Reason::default() },
        risk: Risk::Medium,
        question: Question::Plan { file: file.to_owned(), text },
        choices,
        suggestions: Vec::new(),
        scopes: Vec::new(),
        lines: Vec::new(),
    }
}

/// The mode that a verdict gives.
fn granted_mode(grant: Option<&Grant>) -> Option<Mode> {
    let mut modes = grant?.permits.iter().filter_map(|permit| match permit {
        Permit::Mode(mode) => Some(*mode),
        Permit::Rule(_) | Permit::Directory(_) => None,
    });
    modes.next_back()
}

/// Puts the plan as the person wrote it in its place, and says so.
async fn edit(team: &Team, file: &Path, input: Option<&Value>) -> Result<Option<String>, String> {
    let edited = input.and_then(|input| input.get("plan")).and_then(Value::as_str);
    let Some(text) = edited.map(str::to_owned) else { return Ok(None) };
    let (office, path) = (Arc::clone(team.office()), file.to_owned());
    let wrote = tokio::task::spawn_blocking(move || write_plan(&office, &path, &text)).await;
    match wrote.map_err(|error| error.to_string())? {
        Ok(true) => Ok(Some(format!(
            "The plan was changed before it was approved: read `{}` again first.",
            file.display()
        ))),
        Ok(false) => Ok(Some(
            "The plan was to be changed before it was approved, but its file is not one of ours."
                .to_owned(),
        )),
        Err(error) => Err(format!("The changed plan could not be written: {error}")),
    }
}

/// A teammate hands its plan in.
async fn hand_in(
    team: &Team,
    roll: &Arc<Roll>,
    member: &Arc<Member>,
    file: &Path,
    text: String,
) -> Output {
    let agent = &member.agent;
    if team.policy.plans == PlanJudge::Auto {
        let mode = lead_mode(team);
        change_mode(team, agent, mode).await;
        agent
            .notice(Level::Info, format!("The plan of {} is approved automatically.", member.name));
        let mode = mode_name(mode);
        return Output::text(format!("Your plan is approved. You are in mode `{mode}` now."));
    }
    let Planning { request: open, unheard, .. } = agent.planning().clone();
    if unheard.is_some() {
        let why = "Your plan has been answered. End your turn: the answer comes as a message.";
        return Output::failed(why);
    }
    if let Some(id) = open {
        match handed_in(team, roll, &id).await {
            Ok(Some(known)) if known.plan_content == text => return waits(&id, file),
            Ok(Some(_)) => team.withdraw(AskId::found(&id), "a newer plan took its place").await,
            Ok(None) => {}
            Err(why) => return Output::failed(why),
        }
    }
    let at = stamp();
    let id = format!("{REQUEST}{}@{}@{}", at.millis(), member.name, roll.name);
    agent.planning().request = Some(id.clone());
    keep(team, agent).await;
    let body = Body::PlanApprovalRequest(PlanApprovalRequest {
        from: member.name.clone(),
        timestamp: at.to_string(),
        plan_file_path: file.to_string_lossy().into_owned(),
        plan_content: text,
        request_id: id.clone(),
    });
    if let Err(error) = team.to_lead(roll, &agent.cx.me, body, at).await {
        agent.planning().request = None;
        return Output::failed(format!("The plan was not handed in: {error}. Try again."));
    }
    waits(&id, file)
}

fn waits(id: &str, file: &Path) -> Output {
    Output::text(format!(
        "Your plan is handed in and waits for approval. Do not begin with it: end your turn now; \
         the answer reaches you as a message. Until then you stay in plan mode.\nPlan: {}\n\
         Request ID: {id}",
        file.display()
    ))
    .with_summary("waits for approval")
    .with_data(json!({ "requestId": id, "filePath": file.to_string_lossy() }))
}

/// The request of this id in the lead's inbox.
async fn handed_in(
    team: &Team,
    roll: &Roll,
    id: &str,
) -> Result<Option<PlanApprovalRequest>, String> {
    let mail = inbox(team, roll, AgentName::lead()).await?;
    Ok(mail.iter().rev().find_map(|message| {
        let body = message.body();
        let Body::PlanApprovalRequest(ask) = body else { return None };
        (ask.request_id == id && ask.from == message.from).then_some(ask)
    }))
}

/// Whether the request was answered by mail already.
async fn is_answered(team: &Team, roll: &Roll, name: &AgentName, id: &str) -> Result<bool, String> {
    let mail = inbox(team, roll, name.clone()).await?;
    let answers = |message: &Message| {
        let body = message.body();
        let Body::PlanApprovalResponse(answer) = body else { return false };
        message.from.is_lead() && answer.request_id == id
    };
    Ok(mail.iter().any(answers))
}

async fn inbox(team: &Team, roll: &Roll, of: AgentName) -> Result<Vec<Message>, String> {
    let (store, dir) = (team.store(), roll.dir.clone());
    let read = tokio::task::spawn_blocking(move || store.mail(&dir).read(&of)).await;
    let inbox = read.map_err(|e| e.to_string())?.map_err(|error| error.to_string())?;
    Ok(inbox.messages)
}

/// The mode that whoever was approved gets.
fn lead_mode(team: &Team) -> Mode {
    teammate_mode(team.lead().map(|lead| lead.mode()).unwrap_or_default(), None)
}

/// Has a request judged that is in the lead's inbox, and answers it.
pub async fn judge(team: &Team, roll: &Arc<Roll>, request: &PlanApprovalRequest) {
    let (name, id) = (&request.from, request.request_id.as_str());
    let Ok(roster) = roster(team, roll).await else { return };
    let Some(entry) = roster.member(name) else { return };
    let here = roll.member(name);
    let is_old = here.is_some_and(|member| member.agent.planning().request.as_deref() != Some(id));
    if is_old || is_answered(team, roll, name, id).await.unwrap_or(false) {
        return;
    }
    let file = PathBuf::from(&request.plan_file_path);
    let lead = team.office().lead();
    let own = format!("@{name}@{}", roll.name);
    // Nobody can take the place of somebody else's question.
    let ask_id = match id.starts_with(REQUEST) && id.ends_with(&own) {
        true => id.to_owned(),
        false => format!("{REQUEST}mail-{id}{own}"),
    };
    let ask = Ask {
        id: AskId::found(&ask_id),
        chain: vec![AgentId::new(name, &roll.name), lead],
        color: entry.color.clone(),
        cwd: PathBuf::from(entry.cwd.clone().unwrap_or_default()),
        ..question(&file, request.plan_content.clone(), lead_mode(team))
    };
    let verdict = match (team.policy.plans, team.lead()) {
        (PlanJudge::Auto, _) => Verdict::Allow { input: None, grant: None, remark: None },
        (PlanJudge::Human | PlanJudge::Lead, Some(lead)) => {
            let views = lead.views.subscribe();
            team.office().desk.raise(ask, &|| None, views, &Stop::new()).await
        }
        (PlanJudge::Human | PlanJudge::Lead, None) => return,
    };
    let rejected = |why: Option<String>| Answer {
        approved: false,
        words: why.unwrap_or_default(),
        mode: Mode::Plan,
    };
    let answer = match verdict {
        Verdict::Allow { input, grant, remark } => {
            let edited = edit(team, &file, input.as_ref()).await.unwrap_or_else(Some);
            let words: Vec<String> = edited.into_iter().chain(remark).collect();
            let mode = granted_mode(grant.as_ref()).unwrap_or_else(|| lead_mode(team));
            Answer { approved: true, words: words.join(" "), mode }
        }
        Verdict::Deny { why } | Verdict::Chose { text: why, .. } => rejected(why),
        Verdict::Answered { .. } => rejected(None),
        // Whoever asked does not wait any more.
        Verdict::Withdrawn { .. } => return,
    };
    if let Err(error) = respond(team, roll, name, id, answer).await
        && let Some(lead) = team.lead()
    {
        let text = format!("{name} could not be told what became of its plan: {error}");
        lead.notice(Level::Error, text);
    }
}

/// What becomes of a plan.
struct Answer {
    approved: bool,
    words: String,
    mode: Mode,
}

async fn respond(
    team: &Team,
    roll: &Roll,
    to: &AgentName,
    id: &str,
    answer: Answer,
) -> Result<(), String> {
    let at = stamp();
    let body = Body::PlanApprovalResponse(PlanApprovalResponse {
        request_id: id.to_owned(),
        approved: answer.approved,
        feedback: Some(answer.words).filter(|words| !words.trim().is_empty()),
        timestamp: at.to_string(),
        permission_mode: answer.approved.then(|| mode_name(answer.mode).to_owned()),
    });
    team.from_lead(roll, to, body, at).await
}

/// What the lead's model answers, where it is the one to judge.
pub async fn answer_of_lead(
    team: &Team,
    roll: &Arc<Roll>,
    to: &AgentName,
    id: &str,
    approved: bool,
    words: String,
) -> Output {
    if team.policy.plans != PlanJudge::Lead {
        return Output::failed("Plans are judged by the user here, not by you.");
    }
    let answer = Answer { approved, words, mode: lead_mode(team) };
    let sent = async {
        let request = handed_in(team, roll, id).await?;
        let asks = |member: Arc<Member>| member.agent.planning().request.as_deref() == Some(id);
        let waits = roll.member(to).is_none_or(asks);
        let is_theirs = request.is_some_and(|request| request.from == *to);
        if !is_theirs || !waits || is_answered(team, roll, to, id).await? {
            return Err(format!("{to} is not waiting for an answer to `{id}`"));
        }
        respond(team, roll, to, id, answer).await
    };
    match sent.await {
        Ok(()) => {
            let what = if approved { "approved" } else { "not approved" };
            super::crew::said(json!({
                "success": true, "message": format!("{to} is told that its plan is {what}"),
                "request_id": id,
            }))
            .with_summary(format!("{to}: {what}"))
        }
        Err(why) => Output::failed(format!("Nothing was sent: {why}.")),
    }
}

/// An answer that reached a teammate: whether it counts. It changes the mode before the words are
/// heard.
pub fn heard(team: &Team, agent: &Agent, message: &Message, answer: &PlanApprovalResponse) -> bool {
    let id = message.id();
    {
        let mut planning = agent.planning();
        if planning.answered.as_ref() == Some(&id) {
            // It was acted upon, but its words are not in the transcript.
            return true;
        }
        if planning.request.as_deref() != Some(answer.request_id.as_str()) {
            return false;
        }
        (planning.request, planning.unheard) = (None, Some(id.clone()));
        planning.answered = Some(id);
    }
    if answer.approved {
        let wanted = answer.permission_mode.as_deref().and_then(mode_named);
        agent.set_mode(teammate_mode(wanted.unwrap_or_default(), None));
    }
    agent.keep_mode(team.office());
    true
}

/// Whoever left waits for nothing any more.
pub async fn forget(team: &Team, member: &Member) {
    let open = member.agent.planning().request.take();
    if let Some(id) = open {
        keep(team, &member.agent).await;
        team.withdraw(AskId::found(&id), "the agent that asked has ended").await;
    }
}
