//! The task tools: a team's list, or the session's own where there is no team.
//!
//! What they share is here: who acts, on which list, and that everybody hears of every task that
//! was touched. The store blocks, so it is used on a thread of its own.

mod create;
mod get;
mod list;
mod update;

pub use create::TaskCreateTool;
pub use get::TaskGetTool;
pub use list::TaskListTool;
pub use update::TaskUpdateTool;

use std::sync::Arc;

use super::{Output, ToolContext};
use crate::protocol::event::Fact;
use crate::protocol::graph::GraphError;
use crate::protocol::ids::{AgentId, AgentName, TeamDir};
use crate::protocol::task::Task;
use crate::store::journal::Journal;
use crate::store::{Store, StoreError};

/// The list, and who stands before it.
struct Here {
    store: Store,
    team: Option<TeamDir>,
    list: TeamDir,
    me: AgentId,
    journal: Arc<Journal>,
    /// The agent first, its lead last.
    chain: Vec<AgentName>,
}

impl Here {
    /// Says what became of a task, right behind the change: whoever hears of it otherwise and acts
    /// upon it must not be told of before.
    fn tell(&self, task: &Task) {
        self.journal.emit(Some(&self.me), Fact::TaskChanged { task: task.clone() });
    }

    fn is_member(&self, name: &AgentName) -> bool {
        let team = self.team.as_ref().and_then(|dir| self.store.rosters().team(dir).ok());
        team.is_some_and(|team| team.member(name).is_some())
    }

    /// In whose name something is done: a subagent is no member, so it acts for whoever made it.
    fn actor(&self) -> AgentName {
        let known = self.chain.iter().find(|name| self.is_member(name));
        known.or(self.chain.first()).cloned().unwrap_or_else(AgentName::lead)
    }

    /// The agent itself, where it is a member of the team and not its lead.
    fn teammate(&self) -> Option<&AgentName> {
        self.chain.first().filter(|name| !name.is_lead() && self.is_member(name))
    }
}

/// Does something with the store on a thread that may block.
async fn with_list<T: Send + 'static>(
    cx: &ToolContext,
    work: impl FnOnce(&Here) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, Output> {
    let place = cx.crew.place();
    let chain = match cx.chain.is_empty() {
        true => vec![cx.me.name.clone()],
        false => cx.chain.iter().map(|agent| agent.name.clone()).collect(),
    };
    let here = Here {
        store: cx.store.clone(),
        team: place.team,
        list: place.tasks,
        me: cx.me.clone(),
        journal: Arc::clone(&cx.journal),
        chain,
    };
    match tokio::task::spawn_blocking(move || work(&here)).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(refused(&error)),
        Err(broken) => Err(Output::failed(format!("The task list could not be used: {broken}"))),
    }
}

/// An error of the store as a sentence.
fn refused(error: &StoreError) -> Output {
    let words = error.to_string();
    let mut letters = words.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string());
    let unknown =
        matches!(error, StoreError::NoTask(_) | StoreError::Graph(GraphError::Unknown(_)));
    let hint = if unknown { "; TaskList shows those that exist" } else { "" };
    Output::failed(format!("{}{}{hint}.", first.unwrap_or_default(), letters.as_str()))
}

/// A subject on one line, so that no subject can look like another task.
fn one_line(subject: &str) -> String {
    subject.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
