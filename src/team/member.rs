//! The life of a teammate in this process: handle, go idle, wait, wake.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;

use super::activity;
use super::crew::Team;
use super::idle::{Deeds, idle_notification, reason};
use super::post::Tray;
use super::roll::Roll;
use super::words;
use crate::agent::context::{Agent, Talk};
use crate::agent::life::shorten;
use crate::agent::rebuild::rebuild;
use crate::agent::turn::{End, Outcome, turn};
use crate::model::ModelError;
use crate::protocol::event::{Fact, Level};
use crate::protocol::ids::{AgentName, TaskId};
use crate::protocol::message::IdleReason;
use crate::protocol::op::When;
use crate::protocol::task::{Status, Task};
use crate::store::mailbox::stamp;
use crate::store::roster::Activity;
use crate::worktree::Worktree;

/// Whose words tasks are.
const TASK_LIST: &str = "task-list";

/// A teammate that runs.
pub struct Member {
    pub name: AgentName,
    pub agent: Arc<Agent>,
    pub tray: Arc<Tray>,
    /// Where it works, if that is a tree of its own.
    pub worktree: Mutex<Option<Worktree>>,
    deeds: Mutex<Deeds>,
    /// The task that was claimed for it, and whether it was asked about it.
    claimed: Mutex<Option<(TaskId, bool)>>,
    /// Whether it is in a turn, or about to begin one.
    working: AtomicBool,
    failed: AtomicBool,
    /// It agreed to end, or was made to; why, if there is anything to say.
    leaving: Mutex<Option<String>>,
}

impl Member {
    pub fn new(
        name: AgentName,
        agent: Arc<Agent>,
        tray: Arc<Tray>,
        tree: Option<Worktree>,
    ) -> Self {
        Self {
            name,
            agent,
            tray,
            worktree: Mutex::new(tree),
            deeds: Mutex::default(),
            claimed: Mutex::default(),
            working: AtomicBool::new(true),
            failed: AtomicBool::new(false),
            leaving: Mutex::default(),
        }
    }

    pub fn deeds(&self) -> MutexGuard<'_, Deeds> {
        self.deeds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn claimed(&self) -> MutexGuard<'_, Option<(TaskId, bool)>> {
        self.claimed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives it a task as its prompt. `false` when it takes nothing more.
    pub fn give(&self, task: &Task) -> bool {
        // Held until it waits for it: nobody asks about a task that was not given yet.
        let mut claimed = self.claimed();
        *claimed = Some((task.id.clone(), false));
        self.agent.queue.push(When::Later, TASK_LIST, words::claimed(task)).is_some()
    }

    fn leaving(&self) -> MutexGuard<'_, Option<String>> {
        self.leaving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn is_leaving(&self) -> bool {
        self.leaving().is_some()
    }

    /// It ends after the tools that run now: it agreed.
    pub fn leave_after_round(&self) {
        self.leaving().get_or_insert_with(String::new);
        self.agent.queue.finish();
    }

    /// It ends now, whatever it does.
    pub fn stop(&self, why: &str) {
        self.leaving().get_or_insert_with(|| why.to_owned());
        self.agent.life.cancel();
    }

    /// It does nothing, and nothing that it has not seen is on its way to it.
    pub fn is_resting(&self) -> bool {
        let held = self.agent.queue.is_paused();
        !self.working.load(Ordering::SeqCst)
            && (held || self.agent.queue.is_empty())
            && self.tray.is_quiet()
    }

    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::SeqCst)
    }

    pub fn is_working(&self) -> bool {
        self.working.load(Ordering::SeqCst)
    }
}

/// How long a look at an inbox may hold up somebody who wants to rest.
const LONGEST_LOOK: Duration = Duration::from_millis(500);

/// Runs a teammate until it leaves or is stopped. A conversation that ends with something that
/// nobody answered is answered first.
pub async fn live(
    team: Arc<Team>,
    roll: Arc<Roll>,
    member: Arc<Member>,
    mut talk: Talk,
    due: bool,
) {
    let mut due = due || talk.is_due();
    talk.held = false;
    if !due {
        activity::note(team.office(), &roll, &member.name, Activity::Idle);
        // What it had begun when the program ended is still its own.
        if team.policy.auto_claim {
            ask_about_task(&team, &roll, &member).await;
        }
        member.working.store(false, Ordering::SeqCst);
        roll.is_free(&member.name);
    }
    loop {
        if !due && !wait(&roll, &member, &mut talk).await {
            break;
        }
        let outcome = handle(&team, &roll, &member, &mut talk).await;
        if member.is_leaving() || member.agent.life.is_cancelled() {
            break;
        }
        let failed = reason(&outcome.end).0 == IdleReason::Failed;
        if failed {
            team.release(&roll, &member.name, &member.agent).await;
        } else if outcome.end == End::Done && ask_about_task(&team, &roll, &member).await {
            due = true;
            continue;
        }
        // What came meanwhile is answered before anybody is told that there is nothing to do. Of
        // one who was interrupted that is only what the person said.
        let queue = &member.agent.queue;
        due = match outcome.end {
            End::Done => {
                settle(&roll, &member).await;
                !queue.is_empty()
            }
            End::Interrupted => queue.has_from("user"),
            End::MaxTurns | End::Budget { .. } | End::OverBudget(_) | End::Failed(_) => false,
        };
        if due {
            continue;
        }
        rest(&team, &roll, &member, &outcome).await;
    }
    let why = member.leaving().clone();
    team.left(&roll, &member, why.as_deref().unwrap_or("it was stopped")).await;
}

async fn handle(team: &Team, roll: &Arc<Roll>, member: &Member, talk: &mut Talk) -> Outcome {
    let agent = &member.agent;
    member.failed.store(false, Ordering::SeqCst);
    activity::note(team.office(), roll, &member.name, Activity::Working);
    let ran = AssertUnwindSafe(turn(agent, talk)).catch_unwind().await;
    agent.set_said(talk.messages.clone());
    match ran {
        Ok(outcome) => outcome,
        Err(_) => {
            agent.queue.turn_ends();
            // What it had in its head is not to be trusted; the transcript is.
            if let Ok(found) = rebuild(&agent.recorder.path()) {
                *talk = Talk::recalled(found, |_| true);
            }
            let message = "it crashed; see the log".to_owned();
            let why = ModelError::InvalidRequest { message: message.clone() };
            agent.tell(Fact::TurnEnded {
                outcome: "failed".to_owned(),
                why: message,
                rounds: 0,
                millis: 0,
            });
            Outcome { end: End::Failed(why), text: String::new(), rounds: 0 }
        }
    }
}

/// Waits until all that was sent to it before is in its queue, unless its inbox cannot be read.
async fn settle(roll: &Roll, member: &Member) {
    let mut moves = roll.post.moves();
    let settled = async { while !member.tray.is_quiet() && moves.changed().await.is_ok() {} };
    tokio::time::timeout(LONGEST_LOOK, settled).await.ok();
}

/// Waits until there is something to do. `false` when the teammate ends.
async fn wait(roll: &Roll, member: &Member, talk: &mut Talk) -> bool {
    let agent = &member.agent;
    loop {
        tokio::select! {
            biased;
            () = agent.life.cancelled() => return false,
            () = agent.queue.filled() => {}
        }
        member.working.store(true, Ordering::SeqCst);
        roll.post.moved();
        if !agent.queue.is_empty() {
            roll.no_longer_free(&member.name);
            return true;
        }
        shorten(agent, talk).await;
        member.working.store(false, Ordering::SeqCst);
        roll.post.moved();
    }
}

/// A teammate that ends its turn with the task it was given in progress is asked about it, once.
async fn ask_about_task(team: &Team, roll: &Roll, member: &Member) -> bool {
    let claimed = member.claimed().clone();
    let Some((id, false)) = claimed else { return false };
    // It has not even heard of it, or the person has its plan and decides.
    if member.agent.queue.has_from(TASK_LIST) || member.agent.planning().request.is_some() {
        return false;
    }
    let (store, list) = (team.store(), roll.dir.clone());
    let wanted = id.clone();
    let found = tokio::task::spawn_blocking(move || store.tasks(&list).get(&wanted)).await;
    let open = found
        .ok()
        .and_then(Result::ok)
        .flatten()
        .filter(|task| task.status == Status::InProgress && task.owner() == Some(&member.name));
    match open {
        Some(task) => {
            *member.claimed() = Some((id, true));
            member.agent.queue.push(When::Later, TASK_LIST, words::unfinished(&task)).is_some()
        }
        None => {
            *member.claimed() = None;
            false
        }
    }
}

/// Goes idle: says so on the roster and to the lead, once.
async fn rest(team: &Team, roll: &Arc<Roll>, member: &Member, outcome: &Outcome) {
    let deeds = std::mem::take(&mut *member.deeds());
    activity::note(team.office(), roll, &member.name, Activity::Idle);
    let (why_idle, failure) = reason(&outcome.end);
    let at = stamp();
    let body = idle_notification(&member.name, &deeds, outcome, at);
    let text = match &why_idle {
        IdleReason::Available => "available",
        IdleReason::Interrupted => "interrupted",
        IdleReason::Failed => "failed",
        IdleReason::Other(other) => other,
    };
    let why = failure.unwrap_or_default();
    member.agent.tell(Fact::WentIdle { reason: text.to_owned(), why: why.clone() });
    if why_idle == IdleReason::Failed {
        member.failed.store(true, Ordering::SeqCst);
        let name = &member.name;
        member
            .agent
            .notice(Level::Error, format!("{name} failed: {why}. A message wakes it again."));
    }
    if let Err(error) = team.to_lead(roll, &member.agent.cx.me, body, at).await {
        let text = format!("The lead could not be told that {} is idle: {error}", member.name);
        member.agent.notice(Level::Warning, text);
    }
    member.working.store(false, Ordering::SeqCst);
    match why_idle {
        // Whoever was interrupted waits for words, whoever failed for a decision.
        IdleReason::Available => roll.is_free(&member.name),
        IdleReason::Interrupted | IdleReason::Failed | IdleReason::Other(_) => roll.post.moved(),
    }
}
