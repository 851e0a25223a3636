//! What a session has spent and may spend, and what of that survives the program: money and
//! tokens by agent, and the time that they worked. What was kept last is made whole with what the
//! journal says of later answers, so that not even a killed program forgets what it cost.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::budget::Purse;
use super::context::Brain;
use crate::model::pricing::{Ledger, Spent};
use crate::model::usage::Usage;
use crate::protocol::event::{Event, Fact};

/// What a session has spent, and may spend.
#[derive(Debug, Default)]
pub struct Books {
    cost: Mutex<Cost>,
    limit_usd: Option<f64>,
    pub purse: Purse,
}

/// The cost as the session's state keeps it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cost {
    #[serde(flatten)]
    ledger: Ledger,
    /// The last answer of each agent that is in it.
    #[serde(default)]
    up_to: BTreeMap<String, String>,
}

/// An answer as the journal tells of it: its id, its tokens, what its agent had spent with it.
type Answer<'e> = (&'e str, Usage, Option<f64>);

impl Cost {
    /// Enters the answers that were given after this was kept.
    pub fn catch_up(&mut self, events: &[Event]) {
        let mut later: HashMap<String, Vec<Answer<'_>>> = HashMap::new();
        for event in events {
            let (Some(agent), Fact::Spoke { id, usage, own_usd, .. }) = (&event.agent, &event.fact)
            else {
                continue;
            };
            let agent = agent.to_string();
            let answers = later.entry(agent.clone()).or_default();
            match self.up_to.get(&agent) == Some(id) {
                true => answers.clear(),
                // One that was broken off has no name.
                false if id.is_empty() => {}
                false => {
                    let usage = serde_json::from_value(usage.clone()).unwrap_or_default();
                    answers.push((id, usage, *own_usd));
                }
            }
        }
        for (agent, answers) in later {
            let is_older = self.ledger.knows(&agent) && !self.up_to.contains_key(&agent);
            for (id, usage, usd) in answers.into_iter().filter(|_| !is_older) {
                self.ledger.recall(&agent, usage, usd);
                self.up_to.insert(agent.clone(), id.to_owned());
            }
        }
    }
}

impl Books {
    pub fn new(cost: Cost, limit_usd: Option<f64>) -> Self {
        Self { cost: Mutex::new(cost), limit_usd, purse: Purse::default() }
    }

    #[must_use]
    pub fn with_purse(self, purse: Purse) -> Self {
        Self { purse, ..self }
    }

    pub fn enter(&self, agent: &str, brain: &Brain, usage: Usage) {
        self.lock().ledger.enter(agent, brain.chosen.facts.price.as_ref(), usage);
    }

    /// Enters an answer that the journal will tell of under this id.
    pub fn enter_answer(&self, agent: &str, brain: &Brain, usage: Usage, id: &str) {
        let mut cost = self.lock();
        cost.ledger.enter(agent, brain.chosen.facts.price.as_ref(), usage);
        cost.up_to.insert(agent.to_owned(), id.to_owned());
    }

    pub fn total(&self) -> Spent {
        self.lock().ledger.total()
    }

    /// What one agent has spent.
    pub fn of(&self, agent: &str) -> Spent {
        let cost = self.lock();
        let found = cost.ledger.by_agent().find(|(name, _)| *name == agent);
        found.map(|(_, spent)| *spent).unwrap_or_default()
    }

    pub fn cost(&self) -> Cost {
        self.lock().clone()
    }

    /// What was spent and what may be, once that is reached.
    pub fn exhausted(&self) -> Option<(f64, f64)> {
        let spent = self.total().usd;
        self.limit_usd.filter(|limit| spent >= *limit).map(|limit| (spent, limit))
    }

    fn lock(&self) -> MutexGuard<'_, Cost> {
        self.cost.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
