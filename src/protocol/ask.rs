//! An ask: a question of an agent that must be settled. Its own type, not just another event.
//!
//! `rev` counts the versions of a question. A verdict names the version it was given for, so
//! nobody can approve something that changed under their fingers.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::ids::{AgentId, AskId};
use super::time::Stamp;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ask {
    pub id: AskId,
    pub rev: u32,
    /// Who asks, then through whom: the agent itself first, its lead last.
    pub chain: Vec<AgentId>,
    pub at: Stamp,
    #[serde(serialize_with = "as_text")]
    pub cwd: PathBuf,
    pub why: Reason,
    pub question: Question,
    /// What may be answered, in the order shown. Empty: a plain yes or no.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Choice>,
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
    Words { questions: Vec<String> },
    /// The agent has spent what it was given: may it go on?
    Budget { spent_usd: f64, limit_usd: f64 },
    /// An agent does not answer a request to shut down: end it?
    NoAnswerToShutdown,
}

/// One answer that an ask offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Choice {
    pub label: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
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
    /// The asker no longer needs an answer.
    Withdrawn { why: String },
}

/// A rule given with a verdict: "and don't ask again".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Grant {
    /// The rule as it is written to settings, `Bash(git status:*)`.
    pub rule: String,
    pub to: Grantee,
    pub lasts: Lasts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Grantee {
    Asker,
    Team,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Lasts {
    Session,
    Hour,
    Project,
    Always,
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
