//! An ask: a question of an agent that must be settled. Its own type, not just another event.
//!
//! `rev` counts the versions of a question. A verdict names the version it was given for, so
//! nobody can approve something that changed under their fingers.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::ids::{AgentId, AskId};
use super::op::Mode;
use super::scope::Scope;
use super::time::Stamp;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ask {
    pub id: AskId,
    pub rev: u32,
    /// Who asks, then through whom: the agent itself first, its lead last.
    pub chain: Vec<AgentId>,
    /// The badge of the asker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    pub at: Stamp,
    #[serde(serialize_with = "as_text")]
    pub cwd: PathBuf,
    pub why: Reason,
    #[serde(default)]
    pub risk: Risk,
    pub question: Question,
    /// What may be answered, in the order shown. Empty: a plain yes or no.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Choice>,
    /// What would let the same through from now on, in the forms of `permission_suggestions`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suggestions: Vec<Value>,
    /// How far a yes could reach, narrow first. Each was tried: with it, the same goes through.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<Scope>,
    /// Where the passages stand in the file that would be replaced: the first line of each, when
    /// it was asked. Empty where nobody knows. No part of the question: a verdict holds for the
    /// passage, wherever it has moved meanwhile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<usize>,
}

/// How much could go wrong.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Risk {
    /// It only looks.
    Low,
    /// It changes what can be changed back.
    #[default]
    Medium,
    /// It deletes, leaves the working directories, or was not understood.
    High,
}

/// Paths may be no text, and JSON is: what cannot be said is shown as U+FFFD.
fn as_text<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

/// Why this is asked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reason {
    /// The agent's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The rule or mode that made it ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// One word for what made it ask: `mode`, `rule`, `outside`, `unparsable`…
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Question {
    /// May this tool run with this input?
    Tool { use_id: String, name: String, input: Value },
    /// Is this plan good?
    Plan {
        #[serde(serialize_with = "as_text")]
        file: PathBuf,
        text: String,
    },
    /// Questions in words, for the person to answer.
    Words { questions: Vec<Words> },
    /// What was given is spent: may the agent go on?
    Budget {
        /// Whose limit it is.
        of: Spender,
        what: Measure,
        used: f64,
        limit: f64,
    },
    /// An agent does not answer a request to shut down: end it?
    NoAnswerToShutdown,
}

/// Who spends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Spender {
    /// The one that asks.
    Agent,
    /// All agents of the session together.
    Team,
}

/// What is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Measure {
    Turns,
    Tokens,
    Usd,
    Minutes,
}

impl Measure {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Turns => "turns",
            Self::Tokens => "tokens",
            Self::Usd => "usd",
            Self::Minutes => "minutes",
        }
    }
}

/// So much of it, for people.
pub fn measured(what: Measure, number: f64) -> String {
    match what {
        Measure::Turns | Measure::Tokens => format!("{number:.0} {}", what.as_str()),
        Measure::Usd => dollars(number),
        Measure::Minutes => format!("{number:.1} minutes"),
    }
}

/// Money for people: cents, and their parts where there is less than ten of them.
pub fn dollars(usd: f64) -> String {
    if usd == 0.0 || usd.abs() >= 0.1 { format!("${usd:.2}") } else { format!("${usd:.4}") }
}

/// One question in words. Whatever it offers, the person may answer with words of their own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Words {
    pub question: String,
    /// A word or two that stand for the question where space is short.
    #[serde(default)]
    pub header: String,
    #[serde(default)]
    pub options: Vec<Offer>,
    /// Whether several options may be taken.
    #[serde(default)]
    pub multi_select: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    pub label: String,
    #[serde(default)]
    pub description: String,
}

/// One answer that an ask offers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Choice {
    pub label: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What taking it means: the verdict to send, with the exact rule that it would write.
    /// Without one, `Verdict::Chose` with its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}

/// What became of an ask.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Verdict {
    Allow {
        /// The input that may run, where it differs from what was asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grant: Option<Grant>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remark: Option<String>,
    },
    Deny {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    Chose {
        choice: usize,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// Answers to questions in words, in their order; each is what was taken or written.
    Answered { answers: Vec<Vec<String>> },
    /// The asker no longer needs an answer.
    Withdrawn { why: String },
}

/// What is given with a verdict: "and don't ask again".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Grant {
    /// All that is needed so that the same goes through: `a && b` may need two rules.
    pub permits: Vec<Permit>,
    pub to: Grantee,
    pub lasts: Lasts,
}

/// One thing that is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Permit {
    /// A rule as it is written to settings, `Bash(git status:*)`.
    Rule(String),
    /// One more directory to work in.
    Directory(String),
    /// The mode that the asker changes to. It is the session's to act on: a mode is no rule.
    Mode(Mode),
}

impl fmt::Display for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(rule) => f.write_str(rule),
            Self::Directory(dir) => write!(f, "directory {dir}"),
            Self::Mode(mode) => {
                write!(f, "mode {}", super::json::to_compact(mode).trim_matches('"'))
            }
        }
    }
}

/// A grant as it was given: to whom, when, and under which name it can be taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GrantRecord {
    pub id: String,
    #[serde(flatten)]
    pub permit: Permit,
    /// `None`: every agent of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    pub lasts: Lasts,
    pub at: Stamp,
    /// The ask that it was given with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<AskId>,
    /// The settings file that it was written to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Grantee {
    Asker,
    Team,
}

/// How long a grant holds, and so where it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Lasts {
    Session,
    Until(Stamp),
    /// In the project's settings for this machine.
    Project,
    /// In the user's settings.
    User,
}

/// Who settled an ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Judge {
    /// The person, wherever they answered.
    Human,
    /// A rule, a mode or a policy, named.
    Policy { name: String },
    /// The asker or its runtime: it ended, or no longer needs to know.
    Asker,
}
