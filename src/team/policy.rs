//! How a team is run, as far as the person decides it.

use std::time::Duration;

pub use crate::settings::layers::PlanApproval as PlanJudge;
use crate::store::watch::Pace;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Whether a teammate without work takes the next free task.
    pub auto_claim: bool,
    /// Who says whether a plan is good.
    pub plans: PlanJudge,
    /// How long a teammate may take to answer a request to end.
    pub shutdown_patience: Duration,
    /// Whether somebody is there to be asked. Where nobody is, what would be asked is decided.
    pub attended: bool,
    /// How what other processes write is noticed.
    pub watch: Pace,
    /// Whether what teammates ask also goes to the lead's inbox, for other programs to answer:
    /// nobody looks at a screen, and nothing answers at once.
    pub asks_by_mail: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            auto_claim: true,
            plans: PlanJudge::Human,
            shutdown_patience: Duration::from_secs(60),
            attended: false,
            watch: Pace::default(),
            asks_by_mail: false,
        }
    }
}
