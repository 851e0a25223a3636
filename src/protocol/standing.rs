//! How every agent of a session stands, folded from the session's events: what is known of each,
//! and the task it is on.

use std::collections::BTreeMap;

use super::event::{AgentAbout, Event, Fact};
use super::ids::{AgentId, TaskId};
use super::liveness::Evidence;
use super::task::{Status, Task};

/// One agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Standing {
    /// What was known of it when it began; `None` where that was not told.
    pub about: Option<AgentAbout>,
    /// Whether it has a place in the team, now or before.
    pub is_member: bool,
    pub evidence: Evidence,
}

/// All agents of a session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Standings {
    agents: BTreeMap<AgentId, Standing>,
    tasks: BTreeMap<TaskId, Task>,
}

impl Standings {
    pub fn of<'e>(events: impl IntoIterator<Item = &'e Event>) -> Self {
        let mut all = Self::default();
        events.into_iter().for_each(|event| all.absorb(event));
        all
    }

    pub fn absorb(&mut self, event: &Event) {
        if let Fact::TaskChanged { task } = &event.fact {
            self.tasks.insert(task.id.clone(), task.clone());
        } else if let Fact::TaskDeleted { id } = &event.fact {
            self.tasks.remove(id);
        }
        let Some(agent) = &event.agent else { return };
        let standing = self.agents.entry(agent.clone()).or_default();
        if let Fact::AgentStarted { about } = &event.fact {
            standing.about = Some(AgentAbout::clone(about));
        } else if let Fact::MemberJoined { .. } = &event.fact {
            standing.is_member = true;
        }
        standing.evidence.absorb(event);
    }

    /// Everyone who is there or has been part of the team, the lead first. Helpers that have
    /// ended are left out.
    pub fn agents(&self) -> impl Iterator<Item = (&AgentId, &Standing)> {
        let shown = |(id, one): &(&AgentId, &Standing)| {
            one.about.is_some() && (id.name.is_lead() || one.is_member || !one.evidence.ended)
        };
        let (leads, others): (Vec<_>, Vec<_>) =
            self.agents.iter().filter(shown).partition(|(id, _)| id.name.is_lead());
        leads.into_iter().chain(others)
    }

    /// What an agent is on.
    pub fn task_of(&self, agent: &AgentId) -> Option<&Task> {
        self.tasks
            .values()
            .find(|task| task.status == Status::InProgress && task.owner() == Some(&agent.name))
    }
}
