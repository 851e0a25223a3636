//! Facts that happened in a session. The journal keeps them, clients fold them into their state.
//!
//! A fact carries its data, not ids to look up, so a journal alone replays a session.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ask::{Ask, GrantRecord, Judge, Verdict};
use super::content::ChatMessage;
use super::ids::{AgentId, AgentName, AskId, TaskId, TeamName};
use super::message::Message;
use super::op::{Mode, When};
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
    /// An agent begins: a lead, a subagent, a teammate.
    AgentStarted {
        about: Box<AgentAbout>,
    },
    AgentEnded {
        /// `completed`, `failed` or `killed`.
        status: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        why: String,
    },
    /// Something waits for the agent's next safe boundary.
    Queued {
        id: u64,
        when: When,
        from: String,
        text: String,
    },
    TurnStarted,
    /// Something entered the agent's conversation: a prompt, mail, results of tools.
    Heard {
        /// Whose words these are: `user`, a name, `tools`, `system`.
        from: String,
        message: ChatMessage,
        /// What of the queue this delivers.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        queued: Vec<u64>,
    },
    /// More of an answer that is not whole yet: whole lines where possible.
    Speaking {
        text: String,
    },
    Thinking {
        text: String,
    },
    /// What was spoken since the last whole message is void: the answer broke off.
    Restarted {
        why: String,
    },
    Retrying {
        why: String,
        wait_ms: u64,
        attempt: u32,
        of: u32,
    },
    /// A whole answer of the model.
    Spoke {
        id: String,
        model: String,
        message: ChatMessage,
        stop: String,
        usage: Value,
        /// What the session cost so far, where prices are known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usd: Option<f64>,
        /// What this agent's own answers cost so far.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        own_usd: Option<f64>,
        /// Tokens of the conversation, and how many fit.
        context: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        window: Option<u64>,
    },
    TurnEnded {
        /// `done`, `interrupted`, `max_turns`, `budget` or `failed`.
        outcome: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        why: String,
        /// Answers of the model in this turn.
        rounds: u32,
        millis: u64,
    },
    /// The conversation was replaced by a summary of itself.
    Compacted {
        before: u64,
        after: u64,
        summary: String,
    },
    ModeChanged {
        mode: Mode,
    },
    TeamCreated {
        name: TeamName,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        description: String,
    },
    TeamDeleted {
        name: TeamName,
    },
    /// A teammate has nothing to do and waits.
    WentIdle {
        /// `available`, `interrupted` or `failed`.
        reason: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        why: String,
    },
    /// The agent does nothing more until the person lets it.
    Paused,
    Unpaused,
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

/// What is known of an agent when it begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentAbout {
    pub agent_type: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    pub model: String,
    pub mode: Mode,
    pub cwd: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// Who started it, and with which call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<AgentId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub use_id: Option<String>,
    #[serde(default)]
    pub background: bool,
    /// The same for a lead and everyone who works for it, and how deep below it this one is.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub chain_id: String,
    #[serde(default)]
    pub depth: u32,
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
