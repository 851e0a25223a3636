//! The life of an agent that talks with the person: it waits, answers, and waits again.

use std::sync::Arc;

use tokio::sync::watch;

use super::compact;
use super::context::{Agent, Talk};
use super::turn::{Outcome, hear, turn};
use crate::protocol::event::Level;

/// What an agent is doing.
#[derive(Debug, Clone, PartialEq)]
pub enum Doing {
    Waiting { last: Option<Outcome> },
    Working,
    Ended,
}

/// Answers everything that comes into its queue until its life ends. Calls that were left open
/// are made first. What it did not hear any more stands in its transcript for the day it goes on.
pub async fn live(agent: Arc<Agent>, mut talk: Talk, doing: watch::Sender<Doing>) {
    let mut last = None;
    loop {
        let due = std::mem::take(&mut talk.held) || !talk.pending.uses.is_empty();
        if !due {
            tokio::select! {
                () = agent.queue.filled() => {}
                () = agent.life.cancelled() => break,
            }
        }
        doing.send_replace(Doing::Working);
        if agent.queue.is_empty() && !due {
            shorten(&agent, &mut talk).await;
            doing.send_replace(Doing::Waiting { last: last.clone() });
            continue;
        }
        let outcome = turn(&agent, &mut talk).await;
        agent.set_said(talk.messages.clone());
        last = Some(outcome);
        doing.send_replace(Doing::Waiting { last: last.clone() });
    }
    let left = agent.queue.close();
    // Behind calls that were never made it would look as if they had been.
    if talk.pending.uses.is_empty() {
        hear(&agent, &mut talk, left);
    }
    doing.send_replace(Doing::Ended);
}

/// A wish to summarise that came while nothing else was going on.
pub async fn shorten(agent: &Agent, talk: &mut Talk) {
    let Some(wishes) = agent.queue.take_compact() else { return };
    let shortened = compact::compact(agent, talk, wishes.as_deref(), &agent.life).await;
    if let Err(error) = shortened {
        agent.notice(Level::Error, format!("The conversation could not be summarised: {error}"));
    }
}
