//! Mail between agents: the envelope in an inbox, and the typed bodies inside its `text`.
//!
//! The envelope is what a file holds; a body is a view of its text. Texts that other programs
//! wrote are never written again from a body, so nothing in them can get lost.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ids::{AgentName, MessageId};
use super::json;
use super::time::Stamp;

/// One entry of `inboxes/<agent>.json`. The last fields before `read` belong to session builds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub from: AgentName,
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Kept as written: it is part of the message's identity.
    #[serde(default, deserialize_with = "json::or_default")]
    pub timestamp: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    #[serde(rename = "msgV", default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    #[serde(rename = "msg_id", default, skip_serializing_if = "Option::is_none")]
    pub msg_id: Option<String>,
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(default, deserialize_with = "json::or_default")]
    pub read: bool,
}

impl Message {
    /// A new, unread message in the classic form.
    pub fn new(from: &AgentName, text: impl Into<String>, at: Stamp) -> Self {
        Self {
            from: from.clone(),
            text: text.into(),
            summary: None,
            timestamp: at.to_string(),
            color: None,
            version: None,
            msg_id: None,
            kind: None,
            read: false,
        }
    }

    /// A new message that carries a typed body.
    pub fn with_body(from: &AgentName, body: &Body, at: Stamp) -> Self {
        Self::new(from, body.to_text(), at)
    }

    #[must_use]
    pub fn summary(mut self, summary: Option<String>) -> Self {
        self.summary = summary;
        self
    }

    #[must_use]
    pub fn color(mut self, color: Option<String>) -> Self {
        self.color = color;
        self
    }

    /// The same message at a time of its own: after the last one of the same inbox. A clock that
    /// is far off (of another program, another machine) is not followed.
    #[must_use]
    pub fn later_than(mut self, last: Option<Stamp>) -> Self {
        const FAR_OFF: i64 = 10_000;
        if let (Some(last), Some(own)) = (last, Stamp::parse(&self.timestamp))
            && own <= last
            && last.millis() - own.millis() < FAR_OFF
        {
            self.timestamp = Stamp::from_millis(last.millis() + 1).to_string();
        }
        self
    }

    /// The form that session builds write, with an id of its own.
    #[must_use]
    pub fn in_session_form(mut self, msg_id: String) -> Self {
        self.version = Some(1);
        self.msg_id = Some(msg_id);
        self.kind = Some("message".to_owned());
        self
    }

    pub fn id(&self) -> MessageId {
        let msg_id = self.msg_id.as_deref();
        MessageId::of(msg_id, self.from.as_str(), &self.timestamp, &self.text)
    }

    pub fn body(&self) -> Body {
        Body::parse(&self.text)
    }
}

/// What a message says: plain words, or JSON with `type` first and the fields in this order.
/// Optional fields are absent, never `null`, when they are not known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Body {
    #[serde(skip)]
    Plain(String),
    TaskAssignment(TaskAssignment),
    IdleNotification(IdleNotification),
    ShutdownRequest(ShutdownRequest),
    ShutdownApproved(ShutdownApproved),
    ShutdownRejected(ShutdownRejected),
    PlanApprovalRequest(PlanApprovalRequest),
    PlanApprovalResponse(PlanApprovalResponse),
    PermissionRequest(PermissionRequest),
    PermissionResponse(PermissionResponse),
    /// A JSON object with a `type` that we do not know, or do not understand in this shape;
    /// verbatim.
    #[serde(skip)]
    Unknown {
        kind: String,
        text: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskAssignment {
    pub task_id: String,
    pub subject: String,
    pub description: String,
    pub assigned_by: AgentName,
    pub timestamp: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IdleNotification {
    pub from: AgentName,
    pub timestamp: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_reason: Option<IdleReason>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_task_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_status: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_message: Option<String>,
}

/// Why an agent stopped working. Reasons of other programs stay as they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IdleReason {
    Available,
    Interrupted,
    Failed,
    #[serde(untagged)]
    Other(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShutdownRequest {
    pub request_id: String,
    pub from: AgentName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub timestamp: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShutdownApproved {
    pub request_id: String,
    pub from: AgentName,
    pub timestamp: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pane_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend_type: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShutdownRejected {
    pub request_id: String,
    pub from: AgentName,
    pub reason: String,
    pub timestamp: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanApprovalRequest {
    pub from: AgentName,
    pub timestamp: String,
    pub plan_file_path: String,
    pub plan_content: String,
    pub request_id: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanApprovalResponse {
    pub request_id: String,
    pub approved: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
    pub timestamp: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PermissionRequest {
    pub request_id: String,
    /// The bare name of the agent, whatever the field is called.
    pub agent_id: AgentName,
    pub tool_name: String,
    pub tool_use_id: String,
    #[serde(default)]
    pub description: String,
    pub input: Value,
    #[serde(default)]
    pub permission_suggestions: Vec<Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PermissionResponse {
    pub request_id: String,
    #[serde(flatten)]
    pub outcome: PermissionOutcome,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "subtype", rename_all = "lowercase")]
pub enum PermissionOutcome {
    Success { response: Permitted },
    Error { error: String },
}

/// What was allowed: the input that may run, and the rules that were granted with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Permitted {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_input: Option<Value>,
    #[serde(default)]
    pub permission_updates: Vec<Value>,
}

/// The `type`s that mean something to a runtime. Plain text must not look like one of them.
const PROTOCOL_TYPES: &[&str] = &[
    "task_assignment",
    "idle_notification",
    "shutdown_request",
    "shutdown_approved",
    "shutdown_rejected",
    "plan_approval_request",
    "plan_approval_response",
    "permission_request",
    "permission_response",
    TERMINATED,
];

/// What the lead's runtime says of a teammate that is gone. It is never in an inbox.
pub const TERMINATED: &str = "teammate_terminated";

impl Body {
    pub fn parse(text: &str) -> Self {
        let Some(kind) = json::text_member(text, "type") else {
            return Self::Plain(text.to_owned());
        };
        let unknown = |_| Self::Unknown { kind, text: text.to_owned() };
        json::from_text(text).unwrap_or_else(unknown)
    }

    pub fn to_text(&self) -> String {
        if let Self::Plain(text) | Self::Unknown { text, .. } = self {
            return text.clone();
        }
        json::to_compact(self)
    }

    /// What it says in plain words, for lists that people read.
    pub fn in_words(&self) -> String {
        let because = |reason: &Option<String>| match reason {
            Some(reason) => format!(": {reason}"),
            None => String::new(),
        };
        match self {
            Self::Unknown { kind, text } if kind == TERMINATED => {
                json::text_member(text, "message").unwrap_or_else(|| text.clone())
            }
            Self::Plain(text) | Self::Unknown { text, .. } => text.clone(),
            Self::TaskAssignment(task) => {
                format!("Task #{} is yours: {}\n{}", task.task_id, task.subject, task.description)
                    .trim_end()
                    .to_owned()
            }
            Self::IdleNotification(idle) => {
                let how = match &idle.idle_reason {
                    Some(IdleReason::Interrupted) => "interrupted",
                    Some(IdleReason::Failed) => "failed",
                    Some(IdleReason::Other(reason)) => reason,
                    Some(IdleReason::Available) | None => "idle",
                };
                let why = idle.failure_reason.as_ref().or(idle.last_message.as_ref());
                format!(
                    "{} is {how}{}",
                    idle.from,
                    because(&why.or(idle.summary.as_ref()).cloned())
                )
            }
            Self::ShutdownRequest(ask) => format!("Please shut down{}", because(&ask.reason)),
            Self::ShutdownApproved(answer) => format!("{} is shutting down", answer.from),
            Self::ShutdownRejected(answer) => {
                format!("{} declines to shut down: {}", answer.from, answer.reason)
            }
            Self::PlanApprovalRequest(ask) => {
                format!("{} asks to approve a plan\n{}", ask.from, ask.plan_content)
            }
            Self::PlanApprovalResponse(answer) => match answer.approved {
                true => "The plan is approved".to_owned(),
                false => format!("The plan is rejected{}", because(&answer.feedback)),
            },
            Self::PermissionRequest(ask) => {
                format!("{} asks to use {}: {}", ask.agent_id, ask.tool_name, ask.description)
            }
            Self::PermissionResponse(answer) => match &answer.outcome {
                PermissionOutcome::Success { .. } => "Allowed".to_owned(),
                PermissionOutcome::Error { error } => format!("Denied: {error}"),
            },
        }
    }

    /// The protocol type that a text would be taken for, if any. Whoever sends plain text asks
    /// this first: mail must not be able to forge protocol.
    pub fn forged_type(text: &str) -> Option<&'static str> {
        let kind = json::text_member(text, "type")?;
        PROTOCOL_TYPES.iter().find(|known| **known == kind).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every body as PROTOCOL shows it: parsed as the right kind, and written back to the byte.
    #[test]
    fn every_body_is_written_as_it_was_read() {
        let bodies = [
            r#"{"type":"task_assignment","taskId":"1","subject":"Task A","description":"Do A","assignedBy":"team-lead","timestamp":"t"}"#,
            r#"{"type":"idle_notification","from":"alice","timestamp":"t","idleReason":"available"}"#,
            r#"{"type":"idle_notification","from":"alice","timestamp":"t","idleReason":"failed","summary":"[to bob] hi","completedTaskId":"1","completedStatus":"resolved","failureReason":"x","lastMessage":"bye"}"#,
            r#"{"type":"idle_notification","from":"alice","timestamp":"t","idleReason":"resting"}"#,
            r#"{"type":"shutdown_request","requestId":"shutdown-1@alice","from":"team-lead","reason":"done","timestamp":"t"}"#,
            r#"{"type":"shutdown_request","requestId":"shutdown-1@alice","from":"team-lead","timestamp":"t"}"#,
            r#"{"type":"shutdown_approved","requestId":"shutdown-1@bob","from":"bob","timestamp":"t","paneId":"in-process","backendType":"in-process"}"#,
            r#"{"type":"shutdown_rejected","requestId":"shutdown-1@alice","from":"alice","reason":"busy","timestamp":"t"}"#,
            r##"{"type":"plan_approval_request","from":"carol","timestamp":"t","planFilePath":"/p.md","planContent":"# P","requestId":"plan_approval-1@carol@t"}"##,
            r#"{"type":"plan_approval_response","requestId":"r","approved":true,"timestamp":"t","permissionMode":"default"}"#,
            r#"{"type":"plan_approval_response","requestId":"r","approved":false,"feedback":"no","timestamp":"t"}"#,
            r#"{"type":"permission_request","request_id":"perm-1-abcdefg","agent_id":"bob","tool_name":"Bash","tool_use_id":"toolu_1","description":"d","input":{"z":1,"a":[]},"permission_suggestions":[{"type":"setMode","mode":"acceptEdits","destination":"session"}]}"#,
            r#"{"type":"permission_response","request_id":"perm-1","subtype":"success","response":{"updated_input":{"command":"ls"},"permission_updates":[]}}"#,
            r#"{"type":"permission_response","request_id":"perm-1","subtype":"error","error":"no"}"#,
        ];
        for text in bodies {
            let body = Body::parse(text);
            assert!(!matches!(body, Body::Plain(_) | Body::Unknown { .. }), "{text}");
            assert_eq!(body.to_text(), text);
            assert!(Body::forged_type(text).is_some());
        }
    }

    #[test]
    fn what_is_not_known_is_kept_verbatim() {
        let text = r#"{ "type": "weather_report", "sky" : "\ud83d" }"#;
        let body = Body::parse(text);
        assert_eq!(body, Body::Unknown { kind: "weather_report".into(), text: text.into() });
        assert_eq!(body.to_text(), text);
        assert_eq!(Body::forged_type(text), None);
        let odd = r#"{"type":"shutdown_request","requestId":7}"#;
        assert_eq!(Body::parse(odd).to_text(), odd);
        assert_eq!(Body::forged_type(odd), Some("shutdown_request"), "even in a broken shape");
        let (open, close) = ("[".repeat(500), "]".repeat(500));
        let deep = format!(r#"{{"type":"shutdown_request","x":{open}{close}}}"#);
        assert_eq!(Body::forged_type(&deep), Some("shutdown_request"), "however deep it is");
        for plain in ["hello", "", "{not json", "[1]", r#"{"kind":"x"}"#, r#"{"type":3}"#] {
            assert_eq!(Body::parse(plain), Body::Plain(plain.into()));
        }
    }

    #[test]
    fn identity_is_the_id_or_sender_time_and_text() {
        let at = Stamp::from_millis(0);
        let message = Message::new(&AgentName::lead(), "hi", at);
        let twin = Message { read: true, ..message.clone() };
        assert_eq!(message.id(), twin.id(), "reading does not change who it is");
        assert_ne!(message.id(), Message::new(&AgentName::lead(), "ho", at).id());
        assert_eq!(message.in_session_form("abc".into()).id().as_str(), "abc");
        // Written into transcripts: must never change from one release to the next.
        assert_eq!(twin.id().as_str(), "team-lead/1970-01-01T00:00:00.000Z/08ba5f07b55ec3da");
    }
}
