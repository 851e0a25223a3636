//! What all agents of a session share.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio_util::task::TaskTracker;

use super::books::Books;
use super::brains::Brains;
use super::definition::{Catalog, Definition, Watcher};
use crate::model::Stop;
use crate::permission::desk::AskDesk;
use crate::protocol::event::{Fact, Level};
use crate::protocol::ids::{AgentId, SessionId, TeamName};
use crate::settings::paths::Home;
use crate::store::Store;
use crate::store::journal::Journal;
use crate::store::state::StateFile;
use crate::tools::registry::ToolSet;
use crate::tools::shell::Shell;
use crate::worktree;

pub struct Office {
    pub session: SessionId,
    pub store: Store,
    pub journal: Arc<Journal>,
    pub desk: Arc<AskDesk>,
    pub shell: Arc<Shell>,
    pub books: Arc<Books>,
    pub brains: Brains,
    pub definitions: std::sync::RwLock<Catalog>,
    /// Where they come from; `None` where they never change.
    pub watcher: Mutex<Option<Watcher>>,
    /// The agents at work; whoever ends the session waits for them.
    pub tasks: TaskTracker,
    /// Has them dropped where they stand, as if the program had been killed: what they asked
    /// stays open, and nothing more is written down.
    pub abandoned: Stop,
    /// Every tool there is; agents get theirs from it.
    pub tools: ToolSet,
    /// Where the session was started, links followed.
    pub project: PathBuf,
    pub git_branch: String,
    /// The names of the MCP servers that are configured.
    pub mcp_servers: BTreeSet<String>,
    /// Where worktrees are made.
    pub worktrees: worktree::Options,
    pub policy: Policy,
    /// What the person was warned of already.
    pub warned: Mutex<BTreeSet<String>>,
}

/// How agents are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Whether an agent without a type is a fork.
    pub fork: bool,
    /// After this long an agent that is waited for goes to the background.
    pub auto_background_after: Option<Duration>,
    /// How deep agents may start agents.
    pub deepest: u32,
}

impl Default for Policy {
    fn default() -> Self {
        Self { fork: false, auto_background_after: None, deepest: 4 }
    }
}

impl Office {
    pub fn home(&self) -> &Home {
        self.store.home()
    }

    pub fn state(&self) -> StateFile {
        StateFile::new(&self.store, &self.session)
    }

    /// Warns the person, unless that was said before: what is wrong with a file is wrong for every
    /// agent that reads it.
    pub fn warn_once(&self, text: String) {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        if warned.insert(text.clone()) {
            self.journal.emit(None, Fact::Notice { level: Level::Warning, text });
        }
    }

    /// Reads the definitions of agents again if their files are others now. Prompts that are in
    /// use stay as they are: a new kind can be started, but is in no roster of those who run.
    pub fn follow_definitions(&self) {
        let mut watcher = self.watcher.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(watcher) = watcher.as_mut() else { return };
        if !watcher.reload_if_changed() {
            return;
        }
        let fresh = Catalog::clone(&watcher.catalog());
        let mut known = self.definitions.write().unwrap_or_else(PoisonError::into_inner);
        for problem in fresh.problems.iter().filter(|problem| !known.problems.contains(problem)) {
            let fact = Fact::Notice { level: Level::Warning, text: problem.to_string() };
            self.journal.emit(None, fact);
        }
        *known = fresh;
    }

    /// Those of the definitions whose servers are all configured.
    pub fn available<'c>(&self, definitions: &'c Catalog) -> Vec<&'c Definition> {
        let servers: Vec<&str> = self.mcp_servers.iter().map(String::as_str).collect();
        definitions.available(&servers)
    }

    /// The name of the team that agents without one belong to: the session itself.
    pub fn session_team(&self) -> TeamName {
        session_team(&self.session)
    }

    pub fn lead(&self) -> AgentId {
        AgentId::new(&crate::protocol::ids::AgentName::lead(), &self.session_team())
    }
}

/// `session-` and the first eight characters of the id.
pub fn session_team(session: &SessionId) -> TeamName {
    let short: String = session.as_str().chars().take(8).collect();
    TeamName::found(&format!("session-{short}"))
}
