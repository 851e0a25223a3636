//! Facts that happened in a session. The journal keeps them, clients fold them into their state.
//!
//! A fact carries its data, not ids to look up, so a journal alone replays a session.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ask::{Ask, GrantRecord, Judge, Verdict};
use super::ids::{AgentId, AgentName, AskId, TaskId};
use super::message::Message;
use super::task::Task;
use super::team::Member;
use super::time::Stamp;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Counts up by one from 1 within a session.
    pub seq: u64,
    pub at: Stamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    pub fact: Fact,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Fact {
    MemberJoined {
        member: Box<Member>,
    },
    MemberLeft {
        name: AgentName,
    },
    MailSent {
        to: AgentName,
        message: Message,
    },
    /// The task as it is now.
    TaskChanged {
        task: Task,
    },
    TaskDeleted {
        id: TaskId,
    },
    /// A new question, or a new version of one.
    Asked {
        ask: Box<Ask>,
    },
    Settled {
        ask: AskId,
        rev: u32,
        verdict: Verdict,
        by: Judge,
    },
    /// Whether a tool may run, and why. Every use of a tool has one.
    Decided {
        use_id: String,
        tool: String,
        /// `allow`, `ask` or `deny`; an `ask` is followed by what came of it.
        decision: String,
        reason: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<String>,
        /// Where that rule stands.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<String>,
    },
    /// A tool begins to run. On disk before it does, so it never runs twice.
    ToolStarted {
        use_id: String,
        tool: String,
        /// What will be done, in one line.
        summary: String,
        input: Value,
    },
    /// What a running tool printed: whole lines where possible.
    ToolOutput {
        use_id: String,
        text: String,
    },
    ToolEnded {
        use_id: String,
        failed: bool,
        /// What came of it, in one line.
        summary: String,
        millis: u64,
        /// What the console shows beyond the words: a diff, an exit code.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        data: Value,
    },
    /// A rule was given, or taken back, while the session ran.
    Granted {
        grant: GrantRecord,
    },
    Revoked {
        grant: GrantRecord,
    },
    /// Something the person should know, in one plain sentence.
    Notice {
        level: Level,
        text: String,
    },
    /// A fact of a later version, kept as it is.
    #[serde(untagged)]
    Unknown(Value),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Level {
    Info,
    Warning,
    Error,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_of_a_later_version_survives_a_round_trip() {
        let line = r#"{"seq":3,"at":"2026-11-16T03:04:53.900Z","agent":"bob@t","fact":{"kind":"danced","steps":[1,2]}}"#;
        let event: Event = serde_json::from_str(line).unwrap();
        assert!(matches!(event.fact, Fact::Unknown(_)));
        assert_eq!(serde_json::to_string(&event).unwrap(), line);
        let notice = r#"{"seq":4,"at":"2026-11-16T03:04:53.900Z","fact":{"kind":"notice","level":"info","text":"hi"}}"#;
        let event: Event = serde_json::from_str(notice).unwrap();
        assert_eq!(event.fact, Fact::Notice { level: Level::Info, text: "hi".into() });
        assert_eq!(serde_json::to_string(&event).unwrap(), notice);
    }
}
