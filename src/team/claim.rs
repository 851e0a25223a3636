//! Free tasks go to idle teammates. One watcher per team does it, so that a change of the list
//! costs one look at it and not one per teammate.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::crew::Team;
use super::member::Member;
use super::roll::Roll;
use crate::protocol::event::{Fact, Level};
use crate::protocol::graph::TaskSet;
use crate::protocol::ids::{AgentName, TaskId};
use crate::protocol::op::Mode;
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
    let free = roll.free().into_iter().filter_map(|name| match roll.member(&name) {
        None => {
            roll.no_longer_free(&name);
            None
        }
        // Who waits for the approval of its plan begins nothing else.
        Some(member) => {
            let waits = member.agent.planning().request.is_some();
            let takes = !member.is_leaving() && !member.agent.queue.is_paused() && !waits;
            takes.then_some(member)
        }
    });
    let free: Vec<Arc<Member>> = free.collect();
    let Some(first) = free.first() else { return };
    let offers = match look(team, roll, &free).await {
        Ok(offers) => offers,
        Err(error) => {
            roll.post.list_unseen();
            return could_not(first, &error);
        }
    };
    let offers = free.iter().zip(offers).filter(|(_, offer)| *offer != Offer::None);
    for (member, offer) in offers {
        match claim(team, roll, member, offer).await {
            Ok(Some(task)) => {
                roll.no_longer_free(&member.name);
                member.agent.tell(Fact::TaskChanged { task: task.clone() });
                if !member.give(&task) {
                    // It takes nothing more, so somebody else must.
                    *member.claimed() = None;
                    team.release(roll, &member.name, &member.agent).await;
                }
                roll.post.moved();
            }
            Ok(None) => {}
            Err(error) => could_not(member, &error),
        }
    }
}

fn could_not(member: &Member, error: &StoreError) {
    member.agent.notice(Level::Warning, format!("No task could be claimed: {error}"));
}

/// What there is for a free teammate, as far as a look without a lock can tell.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Offer {
    /// What was assigned to it can begin now.
    Own(TaskId),
    /// The first task that nobody has.
    Any,
    /// Nothing, or it has something to finish first.
    None,
}

/// Looks once for all of them: a list may be long, and a team large. The files are only looked
/// at when something may have changed in them.
async fn look(team: &Team, roll: &Roll, free: &[Arc<Member>]) -> Result<Vec<Offer>, StoreError> {
    let (store, list, changed) = (team.store(), roll.dir.clone(), roll.post.take_list_changed());
    let who: Vec<(AgentName, bool)> = free
        .iter()
        .map(|member| (member.name.clone(), member.agent.mode() == Mode::Plan))
        .collect();
    blocking(move || {
        let offers = |tasks: &TaskSet| offers(tasks, &who);
        match changed {
            true => store.tasks(&list).look(offers),
            false => Ok(store.tasks(&list).look_again(&[], offers)),
        }
    })
    .await
}

fn offers(tasks: &TaskSet, who: &[(AgentName, bool)]) -> Vec<Offer> {
    let mut ready = tasks.iter().filter(|task| tasks.is_ready(task)).count();
    let (mut busy, mut own) = (HashSet::new(), HashMap::new());
    for task in tasks.iter() {
        let Some(owner) = task.owner() else { continue };
        if task.status == Status::InProgress {
            busy.insert(owner);
        } else if task.status == Status::Pending && tasks.open_blockers(&task.id).is_empty() {
            own.entry(owner).or_insert(&task.id);
        }
    }
    let mut offer = |(name, plans): &(AgentName, bool)| match own.get(name) {
        _ if busy.contains(name) => Offer::None,
        Some(id) => Offer::Own(TaskId::clone(id)),
        // Whoever still plans takes nothing new.
        None if *plans || ready == 0 => Offer::None,
        None => {
            ready -= 1;
            Offer::Any
        }
    };
    who.iter().map(&mut offer).collect()
}

/// Takes what was offered, if it is still there.
async fn claim(
    team: &Team,
    roll: &Roll,
    member: &Member,
    offer: Offer,
) -> Result<Option<Task>, StoreError> {
    let (store, list, name) = (team.store(), roll.dir.clone(), member.name.clone());
    blocking(move || {
        let tasks = store.tasks(&list);
        Ok(match offer {
            Offer::None => None,
            Offer::Own(id) => tasks.claim(&id, &name, Load::AnyNumber)?.ok(),
            Offer::Any => tasks.claim_next(&name, Load::OneAtATime)?.ok().flatten(),
        })
    })
    .await
}

async fn blocking<T: Default + Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    // Whoever ends meanwhile gets nothing.
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| Ok(T::default()))
}
