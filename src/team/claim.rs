//! Free tasks go to idle teammates. One watcher per team does it, so that a change of the list
//! costs one look at it and not one per teammate.

use std::sync::Arc;

use super::crew::Team;
use super::member::Member;
use super::roll::Roll;
use super::words;
use crate::protocol::event::{Fact, Level};
use crate::protocol::op::{Mode, When};
use crate::protocol::task::{Status, Task};
use crate::store::StoreError;
use crate::store::tasks::Load;

/// Gives tasks away until the team is gone.
pub async fn dispatch(team: std::sync::Weak<Team>, roll: std::sync::Weak<Roll>) {
    let Some(post) = roll.upgrade().map(|roll| Arc::clone(&roll.post)) else { return };
    let mut tasks = post.tasks();
    loop {
        // What changes from here on is offered in the next round, and until then nobody rests.
        let state = *tasks.borrow_and_update();
        {
            let (Some(team), Some(roll)) = (team.upgrade(), roll.upgrade()) else { return };
            if team.policy.auto_claim {
                give_away(&team, &roll).await;
            }
            roll.dispatched(state);
        }
        if !matches!(post.closed.run_until_cancelled(tasks.changed()).await, Some(Ok(()))) {
            return;
        }
    }
}

async fn give_away(team: &Team, roll: &Roll) {
    for name in roll.free() {
        let Some(member) = roll.member(&name) else {
            roll.no_longer_free(&name);
            continue;
        };
        // Who waits for the approval of its plan begins nothing else.
        let waits = member.agent.planning().request.is_some();
        if member.is_leaving() || member.agent.queue.is_paused() || waits {
            continue;
        }
        match claim(team, roll, &member).await {
            Claimed::Task(task) => {
                roll.no_longer_free(&name);
                *member.claimed() = Some((task.id.clone(), false));
                member.agent.tell(Fact::TaskChanged { task: Task::clone(&task) });
                let words = words::claimed(&task);
                if member.agent.queue.push(When::Later, "task-list", words).is_none() {
                    // It takes nothing more, so somebody else must.
                    *member.claimed() = None;
                    team.release(roll, &name, &member.agent).await;
                }
                roll.post.moved();
            }
            Claimed::Busy => {}
            // Somebody else may have one of their own.
            Claimed::Nothing => {}
        }
    }
}

enum Claimed {
    Task(Box<Task>),
    /// This teammate has something to finish first.
    Busy,
    Nothing,
}

async fn claim(team: &Team, roll: &Roll, member: &Arc<Member>) -> Claimed {
    let (store, list, name) = (team.store(), roll.dir.clone(), member.name.clone());
    let planning = member.agent.mode() == Mode::Plan;
    let claimed = tokio::task::spawn_blocking(move || {
        let tasks = store.tasks(&list);
        // A look costs no lock.
        let (busy, own, any) = tasks.look(|tasks| {
            let mine = |task: &&Task| task.owner() == Some(&name);
            let busy = tasks.iter().filter(mine).any(|task| task.status == Status::InProgress);
            let waits = |task: &&Task| {
                task.status == Status::Pending && tasks.open_blockers(&task.id).is_empty()
            };
            let own = tasks.iter().filter(mine).find(waits).map(|task| task.id.clone());
            (busy, own, tasks.iter().any(|task| tasks.is_ready(task)))
        })?;
        match (busy, own) {
            (true, _) => Ok(Claimed::Busy),
            // What was assigned to it can begin now.
            (false, Some(own)) => Ok(match tasks.claim(&own, &name, Load::AnyNumber)? {
                Ok(task) => Claimed::Task(Box::new(task)),
                Err(_) => Claimed::Busy,
            }),
            // Whoever still plans takes nothing new.
            (false, None) if planning => Ok(Claimed::Busy),
            (false, None) if !any => Ok(Claimed::Nothing),
            (false, None) => Ok(match tasks.claim_next(&name, Load::OneAtATime)? {
                Ok(Some(task)) => Claimed::Task(Box::new(task)),
                Ok(None) => Claimed::Nothing,
                Err(_) => Claimed::Busy,
            }),
        }
    });
    match claimed.await {
        Ok(Ok(claimed)) => claimed,
        Ok(Err(error)) => {
            let error: StoreError = error;
            member.agent.notice(Level::Warning, format!("No task could be claimed: {error}"));
            Claimed::Nothing
        }
        Err(_) => Claimed::Nothing,
    }
}
