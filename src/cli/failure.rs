//! How a command ends when it does not succeed, and which exit code that is.

use std::io;

use serde_json::{Value, json};

use crate::protocol::graph::GraphError;
use crate::protocol::ids::{AgentName, BadName, TaskId};
use crate::protocol::task::{Refusal, id_list};
use crate::settings::paths::NoHome;
use crate::store::StoreError;
use crate::store::error::LockError;

#[derive(Debug)]
pub enum Failure {
    /// The answer is no: exit 1.
    No { reason: &'static str, message: String },
    /// The question was wrong: exit 2.
    BadInput { message: String },
    /// The question was wrong, and all about it has been said: exit 2.
    Told,
    /// A signal ended it: exit 130.
    Interrupted,
    /// As another one, but what scripts read was printed already.
    Printed(Box<Failure>),
}

impl Failure {
    pub fn no(reason: &'static str, message: impl Into<String>) -> Self {
        Self::No { reason, message: message.into() }
    }

    pub fn bad_input(message: impl Into<String>) -> Self {
        Self::BadInput { message: message.into() }
    }

    pub fn refused(id: &TaskId, agent: &AgentName, refusal: &Refusal) -> Self {
        let message = match refusal {
            Refusal::NotFound => format!("there is no task #{id}"),
            Refusal::AlreadyClaimed(owner) => format!("task #{id} already belongs to {owner}"),
            Refusal::AlreadyResolved => format!("task #{id} is already completed"),
            Refusal::Blocked(by) => format!("task #{id} is blocked by {}", id_list(by)),
            Refusal::ForeignStatus => {
                format!("task #{id} has a status that Quarterdeck does not know")
            }
            Refusal::AgentBusy(with) => format!("{agent} is busy with {}", id_list(with)),
        };
        Self::No { reason: refusal.reason(), message }
    }

    pub fn exit_code(&self) -> u8 {
        match self {
            Self::No { .. } => 1,
            Self::BadInput { .. } | Self::Told => 2,
            Self::Interrupted => 130,
            Self::Printed(failure) => failure.exit_code(),
        }
    }

    pub fn message(&self) -> &str {
        match self {
            Self::No { message, .. } | Self::BadInput { message } => message,
            Self::Told => "",
            Self::Interrupted => "interrupted",
            Self::Printed(failure) => failure.message(),
        }
    }

    pub fn to_json(&self) -> Value {
        let reason = match self {
            Self::No { reason, .. } => reason,
            Self::BadInput { .. } | Self::Told => "bad_input",
            Self::Interrupted => "interrupted",
            Self::Printed(failure) => return failure.to_json(),
        };
        json!({ "success": false, "reason": reason, "message": self.message() })
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        let reason = match error {
            StoreError::Name(_) | StoreError::Unreadable(_) | StoreError::Forged(_) => {
                return Self::bad_input(message);
            }
            StoreError::Io { .. } => "io",
            StoreError::Broken { .. } => "broken_file",
            StoreError::Lock(LockError::Held { .. } | LockError::Busy { .. }) => "locked",
            StoreError::Lock(LockError::Lost { .. }) => "lock_lost",
            StoreError::Lock(LockError::Io { .. }) => "io",
            StoreError::TeamExists { .. } => "team_exists",
            StoreError::NoTeam { .. } | StoreError::NoList => "team_not_found",
            StoreError::NoMoreIds { .. } => "no_more_ids",
            StoreError::InUse { .. } => "in_use",
            StoreError::NoMember { .. } => "member_not_found",
            StoreError::LeadStays => "lead_stays",
            StoreError::SessionRunning { .. } => "session_running",
            StoreError::AskExists(_) => "ask_exists",
            StoreError::StillMembers { .. } => "still_members",
            StoreError::NoTask(_) | StoreError::Graph(GraphError::Unknown(_)) => "task_not_found",
            StoreError::Graph(GraphError::Cycle(_)) => "cycle",
        };
        Self::No { reason, message }
    }
}

impl From<BadName> for Failure {
    fn from(error: BadName) -> Self {
        Self::bad_input(error.to_string())
    }
}

impl From<NoHome> for Failure {
    fn from(error: NoHome) -> Self {
        Self::bad_input(error.to_string())
    }
}

/// Only standard output and input are written and read here; the store has its own errors.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::InvalidData {
            return Self::bad_input(format!("standard input is not text: {error}"));
        }
        Self::no("io", error.to_string())
    }
}
