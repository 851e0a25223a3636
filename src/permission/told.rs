//! What the journal already says of asks, so that nothing is said twice after a restart.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::question::ask_id;
use crate::protocol::ask::Question;
use crate::protocol::event::{Event, Fact};
use crate::protocol::ids::{AgentId, AskId};
use crate::protocol::json::{self, JsonError};
use crate::store::StoreError;
use crate::store::lines::{LineReader, Place};

/// The newest version of each ask that was told of.
#[derive(Debug, Default)]
pub(super) struct Told {
    asked: HashMap<AskId, u32>,
    settled: HashMap<AskId, u32>,
    /// The ids of grants.
    pub(super) granted: HashSet<String>,
    /// Asks whose verdicts are used up: the tool has run, or the turn is over in which a budget was
    /// asked about.
    pub(super) spent: HashSet<AskId>,
    /// Of those who are in a turn, what they asked about their budgets and was answered.
    answered: HashMap<AgentId, Vec<AskId>>,
    budgets: HashSet<AskId>,
}

impl Told {
    pub(super) fn read(journal: &Path) -> Result<Self, StoreError> {
        let mut told = Self::default();
        let Some(mut lines) = LineReader::open(journal, Place::default())? else {
            return Ok(told);
        };
        while let Some(line) = lines.read()? {
            // A line that is no event has been reported by the journal itself.
            if let Ok(Some(event)) = line.parse(event) {
                told.note(&event);
            }
        }
        Ok(told)
    }

    fn note(&mut self, event: &Event) {
        if let Fact::Asked { ask } = &event.fact {
            self.asks(&ask.id, ask.rev);
            if matches!(ask.question, Question::Budget { .. }) {
                self.budgets.insert(ask.id.clone());
            }
        } else if let Fact::Settled { ask, rev, .. } = &event.fact {
            self.settles(ask, *rev);
            if let Some(agent) = event.agent.as_ref().filter(|_| self.budgets.contains(ask)) {
                self.answered.entry(agent.clone()).or_default().push(ask.clone());
            }
        } else if let Fact::Granted { grant } = &event.fact {
            self.granted.insert(grant.id.clone());
        } else if let (Fact::ToolStarted { use_id, .. }, Some(agent)) = (&event.fact, &event.agent)
        {
            self.spent.insert(ask_id(use_id, agent));
        } else if let (Fact::TurnEnded { .. }, Some(agent)) = (&event.fact, &event.agent) {
            self.spent.extend(self.answered.remove(agent).into_iter().flatten());
        }
    }

    /// Whether this is news; it is none from now on.
    pub(super) fn asks(&mut self, id: &AskId, rev: u32) -> bool {
        newer(&mut self.asked, id, rev)
    }

    /// Whether this is news; it is none from now on.
    pub(super) fn settles(&mut self, id: &AskId, rev: u32) -> bool {
        newer(&mut self.settled, id, rev)
    }

    /// The file stems of asks about which all was said.
    pub(super) fn done(&self) -> HashSet<String> {
        let done = self
            .settled
            .iter()
            .filter(|(id, rev)| self.asked.get(*id).is_none_or(|asked| asked <= *rev));
        done.map(|(id, _)| id.file_stem()).collect()
    }
}

fn newer(known: &mut HashMap<AskId, u32>, id: &AskId, rev: u32) -> bool {
    let last = known.insert(id.clone(), rev);
    match last {
        Some(last) if last >= rev => {
            known.insert(id.clone(), last);
            false
        }
        Some(_) | None => true,
    }
}

/// A line, if it may be of use: most are not, and are many.
fn event(line: &str) -> Result<Option<Event>, JsonError> {
    let kinds = ["asked", "settled", "granted", "toolStarted", "turnEnded"];
    let of_use = kinds.iter().any(|kind| line.contains(&format!("\"kind\":\"{kind}\"")));
    if of_use { json::from_text(line).map(Some) } else { Ok(None) }
}
