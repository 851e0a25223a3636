//! What answers cost: estimated while they arrive, exact at their end, summed up by agent.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::chunk::Chunk;
use super::usage::Usage;
use crate::settings::models::{LongPrice, Price};

/// Characters that make about one token.
const CHARACTERS_PER_TOKEN: u64 = 4;

/// The cost of an answer in US dollars.
pub fn cost(price: &Price, usage: &Usage) -> f64 {
    let Price { input, output, cache_write, cache_read, long } = *price;
    let long = long.filter(|long| usage.all_input() > long.above);
    let normal = LongPrice { above: 0, input, output, cache_write, cache_read };
    let price = long.unwrap_or(normal);
    // Exact for any number of tokens that anybody will ever pay for.
    let part = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
    part(usage.input, price.input)
        + part(usage.output, price.output)
        + part(usage.cache_write, price.cache_write)
        + part(usage.cache_read, price.cache_read)
}

/// Follows one answer: what it has cost so far.
#[derive(Debug, Clone, Default)]
pub struct Meter {
    usage: Usage,
    /// Characters that arrived; counted as tokens until the server says how many there were.
    characters: u64,
    exact: bool,
}

impl Meter {
    pub fn absorb(&mut self, chunk: &Chunk) {
        match chunk {
            // An earlier attempt is gone with everything it said.
            Chunk::Retrying { .. } => *self = Self::default(),
            Chunk::Started { usage, .. } => {
                *self = Self { usage: *usage, ..Self::default() };
            }
            Chunk::Text { text, .. } | Chunk::Thinking { text, .. } => self.arrived(text),
            Chunk::ToolInput { json, .. } => self.arrived(json),
            Chunk::ToolStarted { name, .. } => self.arrived(name),
            Chunk::Block { .. } => {}
            Chunk::Ended { usage, .. } => {
                self.usage = *usage;
                self.exact = true;
            }
        }
    }

    fn arrived(&mut self, text: &str) {
        self.characters += text.chars().count() as u64;
    }

    /// Exact once the answer has ended, estimated before.
    pub fn usage(&self) -> Usage {
        if self.exact {
            return self.usage;
        }
        let estimated = self.characters.div_ceil(CHARACTERS_PER_TOKEN);
        Usage { output: self.usage.output.max(estimated), ..self.usage }
    }

    pub fn is_exact(&self) -> bool {
        self.exact
    }
}

/// What was spent in a session, by agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    agents: BTreeMap<String, Spent>,
}

/// What one agent, or all of them, spent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spent {
    pub usage: Usage,
    pub usd: f64,
    pub requests: u64,
    /// Requests to models whose price is not known: `usd` is too low by these.
    pub unpriced: u64,
}

impl Ledger {
    /// Enters a finished answer.
    pub fn enter(&mut self, agent: &str, price: Option<&Price>, usage: Usage) {
        let spent = self.agents.entry(agent.to_owned()).or_default();
        spent.usage += usage;
        spent.requests += 1;
        match price {
            Some(price) => spent.usd += cost(price, &usage),
            None => spent.unpriced += 1,
        }
    }

    /// Enters an answer from what was told of it: `usd` is what its agent had spent with it.
    pub fn recall(&mut self, agent: &str, usage: Usage, usd: Option<f64>) {
        let spent = self.agents.entry(agent.to_owned()).or_default();
        spent.usage += usage;
        spent.requests += 1;
        match usd {
            Some(usd) => spent.usd = spent.usd.max(usd),
            None => spent.unpriced += 1,
        }
    }

    pub fn knows(&self, agent: &str) -> bool {
        self.agents.contains_key(agent)
    }

    pub fn by_agent(&self) -> impl Iterator<Item = (&str, &Spent)> {
        self.agents.iter().map(|(agent, spent)| (agent.as_str(), spent))
    }

    pub fn total(&self) -> Spent {
        self.agents.values().fold(Spent::default(), |sum, spent| Spent {
            usage: sum.usage + spent.usage,
            usd: sum.usd + spent.usd,
            requests: sum.requests + spent.requests,
            unpriced: sum.unpriced + spent.unpriced,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::StopReason;

    fn usage(input: u64, output: u64, cache_write: u64, cache_read: u64) -> Usage {
        Usage { input, output, cache_write, cache_read }
    }

    fn price() -> Price {
        let long =
            LongPrice { above: 100, input: 10.0, output: 50.0, cache_write: 12.5, cache_read: 1.0 };
        Price { input: 2.0, output: 10.0, cache_write: 2.5, cache_read: 0.2, long: Some(long) }
    }

    fn near(one: f64, two: f64) {
        assert!((one - two).abs() < 1e-12, "{one} is not {two}");
    }

    #[test]
    fn every_kind_of_token_has_its_price_and_long_requests_another() {
        near(cost(&price(), &usage(10, 20, 30, 40)), (20.0 + 200.0 + 75.0 + 8.0) / 1e6);
        near(cost(&price(), &usage(10, 20, 30, 70)), (100.0 + 1000.0 + 375.0 + 70.0) / 1e6);
    }

    #[test]
    fn a_meter_estimates_until_it_knows() {
        let mut meter = Meter::default();
        let started =
            Chunk::Started { id: "m".into(), model: "x".into(), usage: usage(7, 1, 0, 3) };
        meter.absorb(&started);
        assert_eq!(meter.usage(), usage(7, 1, 0, 3));
        meter.absorb(&Chunk::Text { index: 0, text: "twelve chars".into() });
        assert_eq!((meter.usage(), meter.is_exact()), (usage(7, 3, 0, 3), false));
        let wait = std::time::Duration::ZERO;
        meter.absorb(&Chunk::Retrying { why: "x".into(), wait, attempt: 1, of: 2 });
        meter.absorb(&started);
        meter.absorb(&Chunk::Ended { stop: StopReason::EndTurn, usage: usage(7, 99, 0, 3) });
        assert_eq!((meter.usage(), meter.is_exact()), (usage(7, 99, 0, 3), true));
    }

    #[test]
    fn a_ledger_sums_up_by_agent_and_says_what_it_does_not_know() {
        let mut ledger = Ledger::default();
        ledger.enter("lead", Some(&price()), usage(10, 0, 0, 0));
        ledger.enter("lead", Some(&price()), usage(20, 0, 0, 0));
        ledger.enter("scout", None, usage(5, 5, 0, 0));
        let total = ledger.total();
        assert_eq!((total.usage, total.requests, total.unpriced), (usage(35, 5, 0, 0), 3, 1));
        near(total.usd, 60.0 / 1e6);
        let (agent, lead) = ledger.by_agent().next().unwrap();
        assert_eq!((agent, lead.usage.input), ("lead", 30));
        let text = serde_json::to_string(&ledger).unwrap();
        assert_eq!(serde_json::from_str::<Ledger>(&text).unwrap(), ledger, "kept with the session");
    }
}
