//! What a lead is told when a teammate has nothing more to do.

use crate::agent::turn::{End, Outcome};
use crate::protocol::ids::{AgentName, TaskId};
use crate::protocol::message::{Body, IdleNotification, IdleReason};
use crate::protocol::time::Stamp;

/// What a teammate did since it was idle last, as far as its lead should hear of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deeds {
    /// The last message to a peer: to whom, and its summary.
    pub to_peer: Option<(AgentName, String)>,
    /// Whether it wrote to its lead since it spoke last.
    pub told_lead: bool,
    /// What it said at the end of each piece of work of which its lead heard nothing.
    pub last_words: Vec<String>,
    /// The last task that it finished.
    pub finished: Option<TaskId>,
}

impl Deeds {
    /// It answered without calling anything.
    pub fn spoke(&mut self, words: &str) {
        if !std::mem::take(&mut self.told_lead) && !words.is_empty() {
            self.last_words.push(words.to_owned());
        }
    }
}

/// Why a teammate is idle, and why it failed if it did.
pub fn reason(end: &End) -> (IdleReason, Option<String>) {
    match end {
        End::Done => (IdleReason::Available, None),
        End::Interrupted => (IdleReason::Interrupted, None),
        End::MaxTurns | End::Budget { .. } | End::OverBudget(_) | End::Failed(_) => {
            (IdleReason::Failed, Some(end.why()))
        }
    }
}

pub fn idle_notification(name: &AgentName, deeds: &Deeds, outcome: &Outcome, at: Stamp) -> Body {
    let (reason, failure) = reason(&outcome.end);
    let mut words = deeds.last_words.clone();
    // Whoever was cut off has said something, too.
    let is_new = !outcome.text.is_empty() && words.last() != Some(&outcome.text);
    if outcome.end != End::Done && !deeds.told_lead && is_new {
        words.push(outcome.text.clone());
    }
    let last = (!words.is_empty()).then(|| words.join("\n\n"));
    Body::IdleNotification(IdleNotification {
        from: name.clone(),
        timestamp: at.to_string(),
        idle_reason: Some(reason),
        summary: deeds.to_peer.as_ref().map(|(to, words)| format!("[to {to}] {words}")),
        completed_task_id: deeds.finished.as_ref().map(ToString::to_string),
        completed_status: deeds.finished.as_ref().map(|_| "resolved".to_owned()),
        failure_reason: failure,
        last_message: last,
    })
}
