//! Budgets: what each agent, and all of them together, may spend before somebody is asked. They
//! are looked at between two answers of the model: near the limit everybody is told, at the limit
//! the agent waits until somebody lets it go on, or fails where nobody is there to be asked.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::context::Agent;
use super::turn::End;
use crate::model::Stop;
use crate::protocol::ask::{
    Ask, Choice, Judge, Measure, Question, Reason, Risk, Spender, Verdict, measured,
};
use crate::protocol::event::{Event, Fact, Level};
use crate::protocol::ids::{AgentId, AskId};
use crate::protocol::time::Stamp;
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
    /// How long the session ran in earlier processes.
    before: Duration,
    state: Mutex<State>,
    /// Held while somebody is asked about what all share.
    asking: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    accounts: BTreeMap<Key, Account>,
    /// How long agents have been at it, without the turn that is going on.
    worked: BTreeMap<String, Duration>,
    /// Since when they are in the turn that is going on.
    turns: HashMap<String, Instant>,
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

/// What the session's state keeps of a purse.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Kept {
    /// Seconds that the session ran.
    time: f64,
    /// Seconds of each agent's turns.
    agents: BTreeMap<String, f64>,
    raised: Vec<Raised>,
}

/// What was given beyond a limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Raised {
    agent: Option<String>,
    what: Measure,
    by: f64,
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

impl State {
    /// How long an agent has been at it.
    fn time_of(&self, agent: &str) -> Duration {
        let before = self.worked.get(agent).copied().unwrap_or_default();
        before + self.turns.get(agent).map(Instant::elapsed).unwrap_or_default()
    }
}

impl Gauge {
    fn is_of(&self, other: &Self) -> bool {
        (self.of, self.what) == (other.of, other.what)
    }
}

impl Default for Purse {
    fn default() -> Self {
        Self::new(Budgets::default(), false, &Kept::default(), &[])
    }
}

impl Purse {
    /// The purse of a session of which this was kept; `events` tell what was given in it since,
    /// and how long everybody worked.
    pub fn new(limits: Budgets, asks: bool, kept: &Kept, events: &[Event]) -> Self {
        let seconds = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let Times { mut worked, ran } = Times::of(events);
        for (agent, time) in &kept.agents {
            let known = worked.entry(agent.clone()).or_default();
            *known = seconds(*time).max(*known);
        }
        let mut accounts = given(events);
        for Raised { agent, what, by } in kept.raised.iter().cloned() {
            let account: &mut Account = accounts.entry((agent, what)).or_default();
            account.raised = account.raised.max(by);
        }
        let state = State { accounts, worked, ..State::default() };
        Self {
            limits,
            asks,
            since: Instant::now(),
            before: seconds(kept.time).max(ran),
            state: Mutex::new(state),
            asking: tokio::sync::Mutex::default(),
        }
    }

    /// What the session is resumed with.
    pub fn keep(&self) -> Kept {
        let state = self.state();
        let names = state.worked.keys().chain(state.turns.keys());
        let agents = names.map(|name| (name.clone(), state.time_of(name).as_secs_f64()));
        let given = state.accounts.iter().filter(|(_, account)| account.raised > 0.0);
        let raised = given.map(|((agent, what), account)| Raised {
            agent: agent.clone(),
            what: *what,
            by: account.raised,
        });
        let (agents, raised) = (agents.collect(), raised.collect());
        Kept { time: self.time().as_secs_f64(), agents, raised }
    }

    fn time(&self) -> Duration {
        self.before + self.since.elapsed()
    }

    /// A turn of an agent begins.
    pub fn begins(&self, agent: &str) {
        self.state().turns.insert(agent.to_owned(), Instant::now());
    }

    pub fn ends(&self, agent: &str) {
        let mut state = self.state();
        let time = state.time_of(agent);
        state.turns.remove(agent);
        state.worked.insert(agent.to_owned(), time);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every limit that holds for an agent, with what is used of it.
    fn gauges(&self, agent: &Agent) -> Vec<Gauge> {
        let me = agent.cx.me.to_string();
        let own = (agent.books.of(&me), self.state().time_of(&me));
        let all = (agent.books.total(), self.time());
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

/// How long agents were at it, and the session ran, from what the journal tells. What the end of
/// the program cut short lasted until it was last heard of.
#[derive(Debug, Default, PartialEq)]
struct Times {
    worked: BTreeMap<String, Duration>,
    ran: Duration,
}

impl Times {
    fn of(events: &[Event]) -> Self {
        let mut times = Self::default();
        let between = |from: Stamp, to: Stamp| {
            Duration::from_millis(u64::try_from(to.millis() - from.millis()).unwrap_or_default())
        };
        // Each turn that is open, by agent: when it began, and when it was heard of last.
        let mut turns: HashMap<String, (Stamp, Stamp)> = HashMap::new();
        let mut process: Option<(Stamp, Stamp)> = None;
        for event in events {
            if is_start(&event.fact) {
                times.ran += process.take().map_or(Duration::ZERO, |(from, to)| between(from, to));
                for (agent, (from, to)) in turns.drain() {
                    *times.worked.entry(agent).or_default() += between(from, to);
                }
            }
            process = Some((process.map_or(event.at, |(from, _)| from), event.at));
            let Some(agent) = event.agent.as_ref().map(AgentId::to_string) else { continue };
            if event.fact == Fact::TurnStarted {
                turns.insert(agent, (event.at, event.at));
            } else if let Fact::TurnEnded { millis, .. } = &event.fact {
                turns.remove(&agent);
                *times.worked.entry(agent).or_default() += Duration::from_millis(*millis);
            } else if let Some((_, last)) = turns.get_mut(&agent) {
                *last = event.at;
            }
        }
        times.ran += process.map_or(Duration::ZERO, |(from, to)| between(from, to));
        for (agent, (from, to)) in turns {
            *times.worked.entry(agent).or_default() += between(from, to);
        }
        times
    }
}

/// Whether a process takes the session up: its lead begins.
fn is_start(fact: &Fact) -> bool {
    matches!(fact, Fact::AgentStarted { about } if about.parent.is_none())
}

/// What was given beyond the limits, from what the journal tells of questions and answers.
fn given(events: &[Event]) -> BTreeMap<Key, Account> {
    let mut asked: HashMap<&AskId, (Key, f64)> = HashMap::new();
    let mut accounts = BTreeMap::new();
    for event in events {
        if let Fact::Asked { ask } = &event.fact {
            if let Question::Budget { of, what, used, limit } = &ask.question {
                let asker = ask.chain.first().map(AgentId::to_string).unwrap_or_default();
                asked.insert(&ask.id, (key(*of, *what, &asker), limit.max(*used)));
            }
        } else if let Fact::Settled { ask, verdict, .. } = &event.fact
            && goes_on(verdict)
            && let Some((key, raised)) = asked.get(ask)
        {
            accounts.insert(key.clone(), Account { raised: *raised, told: false });
        }
    }
    accounts
}

/// Whether whoever asked may go on.
fn goes_on(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Allow { .. } | Verdict::Chose { choice: 0, .. })
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
pub async fn check(agent: &Agent, stop: &Stop) -> Option<End> {
    let purse = &agent.books.purse;
    let me = agent.cx.me.to_string();
    loop {
        let levels = purse.gauges(agent);
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
        if let Some(end) = ask(agent, &level, stop).await {
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
async fn ask(agent: &Agent, level: &Gauge, stop: &Stop) -> Option<End> {
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
    let settled = agent.cx.desk.put(question(agent, level), &|| None, views, stop).await;
    if goes_on(&settled.verdict) {
        // Time went on meanwhile.
        let used = purse.gauges(agent).into_iter().find(|now| now.is_of(level));
        purse.raise(key, &used.unwrap_or(*level));
        return None;
    }
    match settled.verdict {
        Verdict::Withdrawn { .. } if stop.is_cancelled() => Some(End::Interrupted),
        Verdict::Allow { .. }
        | Verdict::Withdrawn { .. }
        | Verdict::Deny { .. }
        | Verdict::Chose { .. }
        | Verdict::Answered { .. } => {
            // Whoever is asked to end gets no answer, which says nothing about the others.
            let is_refusal = settled.by == Judge::Human;
            purse.state().refusals += u64::from(is_refusal && level.of == Spender::Team);
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
            choice("Continue", format!("It may use {more} more."), on),
            choice("Stop", "Its turn ends as failed.".to_owned(), Verdict::Deny { why: None }),
        ],
        suggestions: Vec::new(),
        scopes: Vec::new(),
        lines: Vec::new(),
    }
}
