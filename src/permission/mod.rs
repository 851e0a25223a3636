//! Who may do what: modes, rules, the analysis of shell commands, and the decision.
//!
//! A tool says what it would touch, and [`decide`] answers from a [`View`] alone: no clock, no
//! state, no questions. Only [`path`] looks at the disk. Deny beats ask beats allow, whichever
//! settings file said so, and what is not understood is asked.

mod decide;
pub mod desk;
pub mod grant;
pub mod load;
pub mod path;
pub mod question;
pub mod risk;
pub mod rule;
mod run;
pub mod scope;
pub mod shell;
pub mod suggest;
mod told;
mod touch;
pub mod view;

use std::fmt;
use std::path::PathBuf;

pub use decide::decide;
pub use load::Warning;
pub use rule::{Bases, Effect, Rule, RuleError, Source};
pub use suggest::Suggestion;
pub use view::{Seat, View};

use crate::protocol::op::Mode;

/// What one use of a tool would touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    Read(PathBuf),
    Write(PathBuf),
    /// A shell command.
    Run(String),
    /// The address of a page.
    Fetch(String),
    /// The type of an agent.
    Spawn(String),
    Mcp {
        server: String,
        tool: String,
    },
    /// Nothing that anybody would have to allow.
    Free,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    Allow { why: Why },
    Deny { why: Why },
    Ask { why: Why, suggestions: Vec<Suggestion> },
}

impl Decision {
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Allow { .. } => "allow",
            Self::Deny { .. } => "deny",
            Self::Ask { .. } => "ask",
        }
    }

    pub const fn why(&self) -> &Why {
        match self {
            Self::Allow { why } | Self::Deny { why } | Self::Ask { why, .. } => why,
        }
    }
}

/// What made a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    Rule {
        rule: String,
        effect: Effect,
        source: Source,
    },
    /// A rule would say no if words that are not known yet turn out so.
    MayBe {
        rule: String,
        source: Source,
    },
    /// The mode; `instead` is what would have been said without it.
    Mode {
        mode: Mode,
        instead: String,
    },
    /// A path outside the working directories.
    Outside {
        path: PathBuf,
    },
    /// A path that no tool may write, whatever the rules say.
    Protected {
        path: PathBuf,
        what: &'static str,
    },
    /// A path that is written only after asking, because programs obey what it says.
    Delicate {
        path: PathBuf,
    },
    /// A file that holds keys.
    Secret {
        path: PathBuf,
    },
    /// It could not be told what would happen.
    Unparsable {
        what: String,
    },
    /// It only looks, at things inside the working directories.
    OnlyLooks,
    /// Nobody has to allow it.
    Free,
    /// No rule speaks of it.
    NoRule {
        what: String,
    },
    /// A hook of the agent wants somebody to look at it.
    Hook {
        what: String,
    },
}

impl Why {
    /// Whether no answer can hold for the next time: a rule of the user asked for this, and only
    /// the user may take it back; keys are asked for each time, and hooks speak of one use.
    pub const fn is_for_each_time(&self) -> bool {
        matches!(
            self,
            Self::Rule { .. } | Self::MayBe { .. } | Self::Secret { .. } | Self::Hook { .. }
        )
    }

    /// The rule that decided, as it was written.
    pub fn rule(&self) -> Option<&str> {
        match self {
            Self::Rule { rule, .. } | Self::MayBe { rule, .. } => Some(rule),
            Self::Mode { .. }
            | Self::Outside { .. }
            | Self::Protected { .. }
            | Self::Delicate { .. }
            | Self::Secret { .. }
            | Self::Unparsable { .. }
            | Self::OnlyLooks
            | Self::Free
            | Self::NoRule { .. }
            | Self::Hook { .. } => None,
        }
    }

    /// Where that rule stands.
    pub fn source(&self) -> Option<&Source> {
        match self {
            Self::Rule { source, .. } | Self::MayBe { source, .. } => Some(source),
            Self::Mode { .. }
            | Self::Outside { .. }
            | Self::Protected { .. }
            | Self::Delicate { .. }
            | Self::Secret { .. }
            | Self::Unparsable { .. }
            | Self::OnlyLooks
            | Self::Free
            | Self::NoRule { .. }
            | Self::Hook { .. } => None,
        }
    }

    /// One word for scripts.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Rule { .. } => "rule",
            Self::MayBe { .. } => "may_be_denied",
            Self::Mode { .. } => "mode",
            Self::Outside { .. } => "outside",
            Self::Protected { .. } => "protected",
            Self::Delicate { .. } => "delicate",
            Self::Secret { .. } => "secret",
            Self::Unparsable { .. } => "unparsable",
            Self::OnlyLooks => "only_looks",
            Self::Free => "free",
            Self::NoRule { .. } => "no_rule",
            Self::Hook { .. } => "hook",
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule { rule, effect, source } => {
                write!(f, "the {} rule `{rule}` ({source})", effect.as_str())
            }
            Self::MayBe { rule, source } => {
                write!(f, "it may be something that `{rule}` ({source}) denies")
            }
            Self::Mode { mode, instead } if instead.is_empty() => {
                write!(f, "the mode {}", view::mode_name(*mode))
            }
            Self::Mode { mode, instead } => {
                write!(f, "the mode {}: {instead}", view::mode_name(*mode))
            }
            Self::Outside { path } => {
                write!(f, "{} is outside the working directories", path.display())
            }
            Self::Protected { path, what } => {
                write!(f, "{} is never written by tools ({what})", path.display())
            }
            Self::Delicate { path } => {
                write!(f, "{} tells other programs what to run", path.display())
            }
            Self::Secret { path } => write!(f, "{} holds keys", path.display()),
            Self::Unparsable { what } => write!(f, "not understood: {what}"),
            Self::OnlyLooks => f.write_str("it only reads, inside the working directories"),
            Self::Free => f.write_str("it needs no permission"),
            Self::NoRule { what } => write!(f, "no rule allows {what}"),
            Self::Hook { what } => write!(f, "a hook wants you to be asked: {what}"),
        }
    }
}
