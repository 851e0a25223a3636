//! An agent's transcript, written as things happen: one record for each message, and one for each
//! result of a tool as soon as it is there.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::model::usage::Usage;
use crate::protocol::content::{Block, ChatMessage, Role};
use crate::protocol::ids::{MessageId, SessionId};
use crate::protocol::json::Json;
use crate::protocol::time::Stamp;
use crate::store::transcript::Transcript;
use crate::store::{Durability, StoreError, files};

/// Whose transcript it is: what every record repeats.
#[derive(Debug, Clone)]
pub struct Whose {
    pub session: SessionId,
    pub cwd: PathBuf,
    pub git_branch: String,
    /// For everyone but a lead.
    pub agent_id: Option<String>,
    pub team: Option<String>,
    pub agent_name: Option<String>,
}

/// The one writer of an agent's transcript.
#[derive(Debug)]
pub struct Recorder {
    whose: Whose,
    transcript: Mutex<Transcript>,
}

/// What an answer brought besides its words.
#[derive(Debug, Clone)]
pub struct AnswerFacts<'a> {
    pub id: &'a str,
    pub model: &'a str,
    pub stop: &'a str,
    pub usage: Usage,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Record<'a> {
    #[serde(skip_serializing_if = "is_unset")]
    parent_uuid: Option<Value>,
    is_sidechain: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    team_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_name: Option<&'a str>,
    user_type: &'static str,
    cwd: std::borrow::Cow<'a, str>,
    session_id: &'a str,
    version: &'static str,
    git_branch: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_id: Option<&'a str>,
    #[serde(rename = "type")]
    kind: &'static str,
    message: Value,
    uuid: String,
    timestamp: Stamp,
    #[serde(skip_serializing_if = "Value::is_null")]
    tool_use_result: Value,
    #[serde(rename = "sourceToolAssistantUUID", skip_serializing_if = "Option::is_none")]
    source: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_meta: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_compact_summary: bool,
    /// The messages of the inbox that this holds: they are not delivered again.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    mail: &'a [MessageId],
}

// The signature is serde's.
#[allow(clippy::ref_option)]
fn is_unset(value: &Option<Value>) -> bool {
    value.is_none()
}

impl Recorder {
    pub fn open(path: &Path, whose: Whose, durability: Durability) -> Result<Self, StoreError> {
        Ok(Self { whose, transcript: Mutex::new(Transcript::open(path, durability)?) })
    }

    pub fn path(&self) -> PathBuf {
        self.transcript().path().to_owned()
    }

    /// Whose transcript it is; `None` for a lead.
    pub fn agent_id(&self) -> Option<&str> {
        self.whose.agent_id.as_deref()
    }

    /// Whether nothing was written yet.
    pub fn is_new(&self) -> bool {
        self.transcript().newest().is_none()
    }

    /// Something said to the agent, and which of it was mail. Returns the record's uuid.
    pub fn heard(
        &self,
        message: &ChatMessage,
        is_meta: bool,
        mail: &[MessageId],
    ) -> Result<String, StoreError> {
        let mut record = self.record("user", json!(message));
        (record.is_meta, record.mail) = (is_meta, mail);
        self.append(&record)
    }

    /// The first words of a branch: they follow a record of the transcript it branched from.
    pub fn branched(&self, message: &ChatMessage, from: &str) -> Result<String, StoreError> {
        let mut record = self.record("user", json!(message));
        record.parent_uuid = Some(json!(from));
        self.append(&record)
    }

    /// What a tool answered.
    pub fn result(&self, block: &Block, data: &Value, source: &str) -> Result<String, StoreError> {
        let mut record = self.record("user", json!(ChatMessage::results(vec![block.clone()])));
        record.tool_use_result = data.clone();
        record.source = Some(source).filter(|source| !source.is_empty());
        self.append(&record)
    }

    pub fn spoke(
        &self,
        message: &ChatMessage,
        facts: &AnswerFacts<'_>,
    ) -> Result<String, StoreError> {
        let usage = json!({
            "input_tokens": facts.usage.input,
            "cache_creation_input_tokens": facts.usage.cache_write,
            "cache_read_input_tokens": facts.usage.cache_read,
            "output_tokens": facts.usage.output,
        });
        let whole = json!({
            "model": facts.model, "id": facts.id, "type": "message", "role": "assistant",
            "content": message.content, "stop_reason": facts.stop, "stop_sequence": null,
            "usage": usage,
        });
        self.append(&self.record("assistant", whole))
    }

    /// The conversation begins anew with this summary of itself; then come the messages that
    /// are kept as they were.
    pub fn compacted(&self, messages: &[ChatMessage]) -> Result<(), StoreError> {
        for (at, message) in messages.iter().enumerate() {
            let kind = match message.role {
                Role::User => "user",
                Role::Assistant => "assistant",
            };
            let mut record = self.record(kind, json!(message));
            if at == 0 {
                // What it follows is on disk, and no longer part of the conversation.
                record.parent_uuid = Some(Value::Null);
                record.is_compact_summary = true;
            }
            record.is_meta = true;
            self.append(&record)?;
        }
        Ok(())
    }

    fn record<'a>(&'a self, kind: &'static str, message: Value) -> Record<'a> {
        let whose = &self.whose;
        Record {
            parent_uuid: None,
            is_sidechain: whose.agent_id.is_some(),
            team_name: whose.team.as_deref(),
            agent_name: whose.agent_name.as_deref(),
            user_type: "external",
            cwd: whose.cwd.to_string_lossy(),
            session_id: whose.session.as_str(),
            version: env!("CARGO_PKG_VERSION"),
            git_branch: &whose.git_branch,
            agent_id: whose.agent_id.as_deref(),
            kind,
            message,
            uuid: Uuid::new_v4().to_string(),
            timestamp: files::now(),
            tool_use_result: Value::Null,
            source: None,
            is_meta: false,
            is_compact_summary: false,
            mail: &[],
        }
    }

    fn append(&self, record: &Record<'_>) -> Result<String, StoreError> {
        self.transcript().append(Json::of(record))
    }

    fn transcript(&self) -> MutexGuard<'_, Transcript> {
        self.transcript.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
