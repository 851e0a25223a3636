//! Mail of the protocol that is for a runtime, and whether it may be believed.
//!
//! What looks like an answer of the lead counts only if it is from the lead and somebody waits
//! for it; what asks for something counts only in the name of whoever sent it.

use std::sync::Arc;

use super::crew::{Team, until_abandoned};
use super::policy::PlanJudge;
use super::roll::Roll;
use super::{permits, plan};
use crate::agent::context::Agent;
use crate::protocol::event::Level;
use crate::protocol::ids::{AgentName, MessageId};
use crate::protocol::message::{Body, Message, PermissionRequest, PlanApprovalRequest};

/// What becomes of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heeded {
    /// The runtime has it.
    Done,
    /// It is handled like any other.
    Pass,
}

/// Takes what is for the runtime.
pub fn heed(
    team: &Team,
    roll: &Arc<Roll>,
    to: &AgentName,
    message: &Message,
    agent: &Agent,
) -> Heeded {
    let from = &message.from;
    let is_lead = to.is_lead();
    let why = match message.body() {
        Body::PlanApprovalRequest(ask) if is_lead && ask.from == *from => {
            if team.policy.plans == PlanJudge::Lead {
                return Heeded::Pass;
            }
            return errand(team, roll, message.id(), Wanted::Plan(ask));
        }
        Body::PermissionRequest(ask) if is_lead && ask.agent_id == *from => {
            // Those of this process are on the desk already; they are marked when settled.
            return match roll.member(from) {
                Some(_) => Heeded::Done,
                None => errand(team, roll, message.id(), Wanted::Leave(ask)),
            };
        }
        Body::PlanApprovalResponse(answer) if !is_lead && from.is_lead() => {
            if plan::heard(team, agent, message, &answer) {
                return Heeded::Pass;
            }
            format!("{to} is not waiting for an answer to `{}`", answer.request_id)
        }
        Body::PermissionResponse(answer) if !is_lead && from.is_lead() => {
            let id = answer.request_id.clone();
            return permits::answered(team, roll, agent, message.id(), answer, id);
        }
        Body::PlanApprovalRequest(_)
        | Body::PermissionRequest(_)
        | Body::PlanApprovalResponse(_)
        | Body::PermissionResponse(_) => format!("{from} may not send this to {to}"),
        Body::Plain(_)
        | Body::TaskAssignment(_)
        | Body::IdleNotification(_)
        | Body::ShutdownRequest(_)
        | Body::ShutdownApproved(_)
        | Body::ShutdownRejected(_)
        | Body::Unknown { .. } => return Heeded::Pass,
    };
    pass_over(roll, to, agent, message.id(), &why);
    Heeded::Done
}

/// Says that a message came to nothing, and puts it away.
pub fn pass_over(roll: &Roll, to: &AgentName, agent: &Agent, mail: MessageId, why: &str) {
    agent.notice(Level::Warning, format!("A message was ignored: {why}."));
    roll.post.mark(to, vec![mail]);
}

/// What somebody asks of the lead's runtime.
enum Wanted {
    Plan(PlanApprovalRequest),
    Leave(PermissionRequest),
}

/// Has a request answered, however long that takes. Its mail counts as read afterwards: whoever
/// goes on after a restart finds it again.
fn errand(team: &Team, roll: &Arc<Roll>, mail: MessageId, wanted: Wanted) -> Heeded {
    let Some(team) = team.own() else { return Heeded::Done };
    let office = Arc::clone(team.office());
    let (roll, under_way, closed) = (Arc::clone(roll), roll.errand(), roll.post.closed.clone());
    let work = async move {
        let answering = async {
            let is_over = match &wanted {
                Wanted::Plan(request) => {
                    plan::judge(&team, &roll, request).await;
                    true
                }
                Wanted::Leave(request) => permits::judge(&team, &roll, request).await,
            };
            if is_over {
                roll.post.mark(&AgentName::lead(), vec![mail]);
            }
        };
        tokio::select! {
            () = answering => {}
            () = closed.cancelled() => {}
        }
        drop(under_way);
    };
    office.tasks.spawn(until_abandoned(&office, work));
    Heeded::Done
}
