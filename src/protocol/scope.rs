//! How far a yes may reach, and for how long. Which reaches an ask really has is found out where
//! rules are known; a client only lets the person choose among them.

use serde::{Deserialize, Serialize};

use super::ask::{Ask, Grant, Grantee, Lasts, Permit, Verdict};
use super::time::Stamp;

/// One reach of a yes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Scope {
    pub reach: Reach,
    /// The exact rules or directories.
    pub permits: Vec<Permit>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reach {
    /// This very command, file or page.
    This,
    /// What begins like it, or has the same host.
    Like,
    Directory,
    /// Every use of the tool.
    Tool,
}

impl Reach {
    /// For a menu.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::This => "just this",
            Self::Like => "what is like it",
            Self::Directory => "this directory",
            Self::Tool => "this tool",
        }
    }
}

/// How long a yes may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Term {
    Session,
    Hour,
    Project,
    User,
}

impl Term {
    pub const ALL: [Self; 4] = [Self::Session, Self::Hour, Self::Project, Self::User];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Hour => "hour",
            Self::Project => "project",
            Self::User => "user",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|term| term.as_str() == name)
    }

    /// What it means when the yes is said now.
    pub const fn lasts(self, now: Stamp) -> Lasts {
        match self {
            Self::Session => Lasts::Session,
            Self::Hour => Lasts::Until(Stamp::from_millis(now.millis().saturating_add(3_600_000))),
            Self::Project => Lasts::Project,
            Self::User => Lasts::User,
        }
    }

    /// To whom it can be given: what is written to settings holds for everybody.
    pub const fn grantee(self, wanted: Grantee) -> Grantee {
        match self {
            Self::Session | Self::Hour => wanted,
            Self::Project | Self::User => Grantee::Team,
        }
    }
}

/// What an ask suggests to give: the first of its choices that gives something but a mode.
pub fn suggested(ask: &Ask) -> Option<&Grant> {
    let verdicts = ask.choices.iter().filter_map(|choice| choice.verdict.as_ref());
    verdicts
        .filter_map(|verdict| match verdict {
            Verdict::Allow { grant, .. } => grant.as_ref(),
            Verdict::Deny { .. }
            | Verdict::Chose { .. }
            | Verdict::Answered { .. }
            | Verdict::Withdrawn { .. } => None,
        })
        .find(|grant| !grant.permits.iter().any(|permit| matches!(permit, Permit::Mode(_))))
}
