//! How much agents may spend before somebody is asked: each of them, and all together.

use serde::Deserialize;

/// The budgets of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Budgets {
    /// Of every single agent.
    pub agent: Allowance,
    /// Of all agents of the session together.
    pub team: Allowance,
}

/// What may be spent; `None` is as much as they like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Allowance {
    /// Answers of the model.
    pub turns: Option<u64>,
    pub tokens: Option<u64>,
    pub usd: Option<f64>,
    /// Of work for an agent, of the session for a team.
    pub minutes: Option<f64>,
}

impl Budgets {
    /// These where they say something, else those before.
    #[must_use]
    pub fn over(self, before: Self) -> Self {
        Self { agent: self.agent.over(before.agent), team: self.team.over(before.team) }
    }

    /// What is wrong with them, if anything.
    pub fn mistake(&self) -> Option<String> {
        let of = |name: &str, allowance: &Allowance| {
            allowance.mistake().map(|what| format!("`budgets.{name}.{what}` must be above 0"))
        };
        of("agent", &self.agent).or_else(|| of("team", &self.team))
    }
}

impl Allowance {
    fn over(self, before: Self) -> Self {
        Self {
            turns: self.turns.or(before.turns),
            tokens: self.tokens.or(before.tokens),
            usd: self.usd.or(before.usd),
            minutes: self.minutes.or(before.minutes),
        }
    }

    fn mistake(&self) -> Option<&'static str> {
        let is_wrong =
            |number: Option<f64>| number.is_some_and(|number| number.is_nan() || number <= 0.0);
        match self {
            Self { turns: Some(0), .. } => Some("turns"),
            Self { tokens: Some(0), .. } => Some("tokens"),
            Self { usd, .. } if is_wrong(*usd) => Some("usd"),
            Self { minutes, .. } if is_wrong(*minutes) => Some("minutes"),
            Self { .. } => None,
        }
    }
}
