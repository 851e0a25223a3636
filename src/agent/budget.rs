//! Budgets: what each agent, and all of them together, may spend before somebody is asked. They
//! are looked at between two answers of the model: near the limit everybody is told, at the limit
//! the agent waits until somebody lets it go on, or fails where nobody is there to be asked.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::context::Agent;
use super::turn::End;
use crate::model::Stop;
use crate::protocol::ask::{
    Ask, Choice, Measure, Question, Reason, Risk, Spender, Verdict, measured,
};
use crate::protocol::event::Level;
use crate::protocol::ids::AskId;
use crate::settings::budgets::{Allowance, Budgets};
use crate::store::files;

/// From this share of a limit on everybody knows.
const NEAR: f64 = 0.8;

/// The budgets of a session, and what was done about them.
#[derive(Debug)]
pub struct Purse {
    limits: Budgets,
    /// Whether somebody is there to be asked.
    asks: bool,
    since: Instant,
    state: Mutex<State>,
    /// Held while somebody is asked about what all share.
    asking: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    accounts: BTreeMap<Key, Account>,
    /// How long agents have been at it, without the turn that is going on.
    worked: BTreeMap<String, Duration>,
    /// How often somebody said that the team must not go on.
    refusals: u64,
}

/// Whose limit of what; `None` is everybody's.
type Key = (Option<String>, Measure);

#[derive(Debug, Clone, Copy, Default)]
struct Account {
    /// What was given beyond the limit of the settings.
    raised: f64,
    told: bool,
}

/// What was given beyond a limit, as the session's state keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Raised {
    pub agent: Option<String>,
    pub what: Measure,
    pub by: f64,
}

/// A limit, and how much of it is used.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Gauge {
    of: Spender,
    what: Measure,
    used: f64,
    limit: f64,
    /// By how much it is raised.
    step: f64,
}

impl Gauge {
    fn is_of(&self, other: &Self) -> bool {
        (self.of, self.what) == (other.of, other.what)
    }
}

impl Default for Purse {
    fn default() -> Self {
        Self::new(Budgets::default(), false, Vec::new())
    }
}

impl Purse {
    pub fn new(limits: Budgets, asks: bool, raised: Vec<Raised>) -> Self {
        let account = |one: Raised| {
            let account = Account { raised: one.by.max(0.0), told: false };
            ((one.agent, one.what), account)
        };
        let accounts = raised.into_iter().map(account).collect();
        let state = Mutex::new(State { accounts, ..State::default() });
        Self { limits, asks, since: Instant::now(), state, asking: tokio::sync::Mutex::default() }
    }

    /// What was given so far.
    pub fn raised(&self) -> Vec<Raised> {
        let state = self.state();
        let given = state.accounts.iter().filter(|(_, account)| account.raised > 0.0);
        given
            .map(|((agent, what), account)| Raised {
                agent: agent.clone(),
                what: *what,
                by: account.raised,
            })
            .collect()
    }

    /// A turn of an agent took so long.
    pub fn worked(&self, agent: &str, time: Duration) {
        *self.state().worked.entry(agent.to_owned()).or_default() += time;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every limit that holds for an agent, with what is used of it.
    fn gauges(&self, agent: &Agent, turn: Instant) -> Vec<Gauge> {
        let me = agent.cx.me.to_string();
        let before = self.state().worked.get(&me).copied().unwrap_or_default();
        let own = (agent.books.of(&me), before + turn.elapsed());
        let all = (agent.books.total(), self.since.elapsed());
        let mut levels = Vec::new();
        for (of, allowance, (spent, time)) in
            [(Spender::Agent, &self.limits.agent, own), (Spender::Team, &self.limits.team, all)]
        {
            for (what, step) in limits(allowance) {
                let used = match what {
                    Measure::Turns => spent.requests as f64,
                    Measure::Tokens => spent.usage.total() as f64,
                    Measure::Usd => spent.usd,
                    Measure::Minutes => time.as_secs_f64() / 60.0,
                };
                let raised =
                    self.state().accounts.get(&key(of, what, &me)).map_or(0.0, |one| one.raised);
                levels.push(Gauge { of, what, used, limit: step + raised, step });
            }
        }
        levels
    }

    /// Whether this is the first time that somebody hears of it.
    fn is_news(&self, key: Key) -> bool {
        !std::mem::replace(&mut self.state().accounts.entry(key).or_default().told, true)
    }

    fn raise(&self, key: Key, level: &Gauge) {
        let mut state = self.state();
        let account = state.accounts.entry(key).or_default();
        *account = Account { raised: level.limit.max(level.used), told: false };
    }
}

fn key(of: Spender, what: Measure, me: &str) -> Key {
    match of {
        Spender::Agent => (Some(me.to_owned()), what),
        Spender::Team => (None, what),
    }
}

/// What is limited, and how.
fn limits(allowance: &Allowance) -> impl Iterator<Item = (Measure, f64)> {
    let Allowance { turns, tokens, usd, minutes } = *allowance;
    let all = [
        (Measure::Turns, turns.map(|turns| turns as f64)),
        (Measure::Tokens, tokens.map(|tokens| tokens as f64)),
        (Measure::Usd, usd),
        (Measure::Minutes, minutes),
    ];
    all.into_iter().filter_map(|(what, limit)| Some((what, limit?)))
}

/// Looks at all limits of an agent before it asks the model again. `Some` ends its turn.
pub async fn check(agent: &Agent, turn: Instant, stop: &Stop) -> Option<End> {
    let purse = &agent.books.purse;
    let me = agent.cx.me.to_string();
    loop {
        let levels = purse.gauges(agent, turn);
        let over = levels.iter().find(|level| level.used >= level.limit).copied();
        for near in levels.iter().filter(|level| level.used >= level.limit * NEAR) {
            if purse.is_news(key(near.of, near.what, &me)) {
                agent.notice(Level::Warning, format!("{}.", sentence(agent, near)));
            }
        }
        let level = over?;
        if !purse.asks {
            return Some(End::OverBudget(sentence(agent, &level)));
        }
        if let Some(end) = ask(agent, &level, turn, stop).await {
            return Some(end);
        }
    }
}

/// `alice has used 3 of its 3 turns`.
fn sentence(agent: &Agent, level: &Gauge) -> String {
    let who = match level.of {
        Spender::Agent => format!("{} has used", agent.cx.me.name),
        Spender::Team => "All agents together have used".to_owned(),
    };
    let (used, limit) = (measured(level.what, level.used), measured(level.what, level.limit));
    format!("{who} {used} of {limit}")
}

/// Asks whether the agent may go on. `None`: it may, or the limit is another by now.
async fn ask(agent: &Agent, level: &Gauge, turn: Instant, stop: &Stop) -> Option<End> {
    let purse = &agent.books.purse;
    let me = agent.cx.me.to_string();
    let key = key(level.of, level.what, &me);
    let _alone = match level.of {
        Spender::Agent => None,
        Spender::Team => {
            let refusals = purse.state().refusals;
            let alone = tokio::select! {
                alone = purse.asking.lock() => alone,
                () = stop.cancelled() => return Some(End::Interrupted),
            };
            // Somebody else was asked meanwhile, and their answer holds for all.
            if purse.state().refusals != refusals {
                return Some(End::OverBudget(sentence(agent, level)));
            }
            let raised = purse.state().accounts.get(&key).map_or(0.0, |account| account.raised);
            if level.step + raised > level.limit {
                return None;
            }
            Some(alone)
        }
    };
    let views = agent.views.subscribe();
    let verdict = agent.cx.desk.raise(question(agent, level), &|| None, views, stop).await;
    match verdict {
        Verdict::Allow { .. } | Verdict::Chose { choice: 0, .. } => {
            // Time went on meanwhile.
            let used = purse.gauges(agent, turn).into_iter().find(|now| now.is_of(level));
            purse.raise(key, &used.unwrap_or(*level));
            None
        }
        Verdict::Withdrawn { .. } if stop.is_cancelled() => Some(End::Interrupted),
        Verdict::Withdrawn { .. }
        | Verdict::Deny { .. }
        | Verdict::Chose { .. }
        | Verdict::Answered { .. } => {
            purse.state().refusals += u64::from(level.of == Spender::Team);
            Some(End::OverBudget(sentence(agent, level)))
        }
    }
}

fn question(agent: &Agent, level: &Gauge) -> Ask {
    let choice = |label: &str, description: String, verdict| Choice {
        label: label.to_owned(),
        description: Some(description),
        verdict: Some(verdict),
    };
    let more = measured(level.what, level.step);
    let on = Verdict::Allow { input: None, grant: None, remark: None };
    let (of, what) = match level.of {
        Spender::Agent => ("agent", level.what),
        Spender::Team => ("team", level.what),
    };
    let limit = level.limit;
    Ask {
        // The same after a restart, and another one for the next limit.
        id: AskId::found(&format!("budget-{of}-{}-{limit}@{}", what.as_str(), agent.cx.me)),
        rev: 1,
        chain: agent.cx.chain.clone(),
        color: agent.cx.color.clone(),
        at: files::now(),
        cwd: agent.cx.cwd.get(),
        why: Reason {
            description: Some(format!("{}.", sentence(agent, level))),
            rule: None,
            kind: Some("budget".to_owned()),
        },
        risk: Risk::Low,
        question: Question::Budget {
            of: level.of,
            what: level.what,
            used: level.used,
            limit: level.limit,
        },
        choices: vec![
            choice("Go on", format!("It may use {more} more."), on),
            choice("Stop", "It ends its turn as failed.".to_owned(), Verdict::Deny { why: None }),
        ],
        suggestions: Vec::new(),
        scopes: Vec::new(),
    }
}
