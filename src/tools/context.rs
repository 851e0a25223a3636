//! What a tool may use: who it acts for, where, what was seen, and the way up.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use tokio::sync::watch;

use super::Output;
use super::call::Call;
use super::seen::ReadCache;
use super::shell::Shell;
use crate::model::Stop;
use crate::permission::View;
use crate::permission::desk::AskDesk;
use crate::protocol::ids::{AgentId, AgentName, MessageId, SessionId, TeamDir};
use crate::protocol::message::Message;
use crate::protocol::op::Mode;
use crate::protocol::task::Task;
use crate::store::Store;
use crate::store::journal::Journal;

/// All that the tools of one agent share. Tools that run side by side borrow it.
pub struct ToolContext {
    pub me: AgentId,
    /// Through whom the agent works: itself first, its lead last.
    pub chain: Vec<AgentId>,
    /// Its badge.
    pub color: Option<String>,
    pub session: SessionId,
    pub cwd: Cwd,
    /// The files it has read, as they were.
    pub seen: ReadCache,
    /// The shell of the session, and what runs in the background.
    pub shell: Arc<Shell>,
    /// Mode, rules and directories, without the grants of the session: see `AskDesk::view`.
    pub view: watch::Receiver<Arc<View>>,
    pub store: Store,
    pub journal: Arc<Journal>,
    pub desk: Arc<AskDesk>,
    pub crew: Arc<dyn Crew>,
}

/// Where an agent works; shell commands move it.
#[derive(Debug, Clone)]
pub struct Cwd(Arc<Mutex<PathBuf>>);

impl Cwd {
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self(Arc::new(Mutex::new(dir.into())))
    }

    pub fn get(&self) -> PathBuf {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn set(&self, dir: PathBuf) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = dir;
    }
}

impl ToolContext {
    /// The same agent's, with another view, and a working directory that moves on its own.
    pub fn beside(&self, view: watch::Receiver<Arc<View>>) -> Self {
        Self {
            me: self.me.clone(),
            chain: self.chain.clone(),
            color: self.color.clone(),
            session: self.session.clone(),
            cwd: Cwd::new(self.cwd.get()),
            seen: self.seen.clone(),
            shell: Arc::clone(&self.shell),
            view,
            store: self.store.clone(),
            journal: Arc::clone(&self.journal),
            desk: Arc::clone(&self.desk),
            crew: Arc::clone(&self.crew),
        }
    }

    /// What the agent may do now, from where it works now.
    pub fn view(&self) -> Arc<View> {
        let base = Arc::clone(&self.view.borrow());
        self.desk.view(&base, &self.me, &self.cwd.get())
    }

    /// Where a path of an input leads, through every link.
    pub fn resolve(&self, path: &str) -> PathBuf {
        let path = match (path.strip_prefix("~/"), self.view.borrow().user.as_deref()) {
            (Some(rest), Some(user)) => user.join(rest),
            (Some(_) | None, _) => PathBuf::from(path),
        };
        crate::permission::path::resolve(&self.cwd.get(), &path)
    }

    /// A path as people read it: relative where it is below the working directory.
    pub fn shown(&self, path: &Path) -> String {
        let cwd = self.cwd.get();
        let short = path.strip_prefix(&cwd).ok().filter(|short| !short.as_os_str().is_empty());
        short.unwrap_or(path).display().to_string()
    }
}

/// The way up: what tools need of the agents and the team above them.
pub trait Crew: Send + Sync {
    /// Where tasks and mail are at this moment.
    fn place(&self) -> Place;

    /// Puts something into an agent's queue that it did not ask for just now.
    fn notify(&self, to: &AgentId, note: Note);

    /// Has a small model answer a question about a text. `None` where there is no such model.
    fn consult<'a>(
        &'a self,
        by: &'a AgentId,
        question: String,
        stop: &'a Stop,
    ) -> BoxFuture<'a, Option<Result<String, String>>>;

    /// The kind of agent that a spawn without, or with, this type would start, as rules name it.
    fn kind_of(&self, by: &AgentId, wanted: Option<&str>) -> String;

    /// Whether this call was let through and began in an earlier process, and goes on now.
    fn has_begun(&self, _by: &AgentId, _use_id: &str) -> bool {
        false
    }

    /// Starts an agent; the output is what the tool answers.
    fn spawn<'a>(&'a self, by: &'a AgentId, call: &'a Call, wish: Wish) -> BoxFuture<'a, Output>;

    /// Mail that stands in an agent's transcript from now on.
    fn delivered(&self, to: &AgentId, mail: Vec<MessageId>);

    /// Whether what an agent starts may go on behind its back.
    fn may_leave_behind(&self, _by: &AgentId) -> bool {
        true
    }

    /// An agent answered without calling anything: its last words, unless more comes in.
    fn spoke(&self, _by: &AgentId, _words: &str) {}

    /// A task changed, or is gone: somebody may wait for that.
    fn task_changed(&self, by: &AgentId, task: Option<&Task>);

    /// Mail that a tool wrote is on disk.
    fn mail_sent(&self, to: &AgentName, message: &Message);

    /// Sends words to another agent; the output is what the tool answers.
    fn send<'a>(&'a self, by: &'a AgentId, call: &'a Call, letter: Letter)
    -> BoxFuture<'a, Output>;
}

/// The agent that somebody wants to have started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wish {
    /// A few words, for people.
    pub description: String,
    pub prompt: String,
    /// The type of a definition; without one, a fork or a general agent.
    pub kind: Option<String>,
    pub model: Option<String>,
    pub background: bool,
    pub name: Option<String>,
    pub team: Option<String>,
    /// Of a teammate.
    pub mode: Option<Mode>,
    pub worktree: bool,
    /// What it may do without asking in its first turn.
    pub lent: Option<Lent>,
    pub cwd: Option<PathBuf>,
    pub max_turns: Option<u32>,
    /// The id of an agent that should go on.
    pub resume: Option<String>,
}

/// What the person's own command allows for the turn that it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lent {
    /// The name of the command.
    pub by: String,
    /// As they are written.
    pub rules: Vec<String>,
}

/// What one agent has to say to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letter {
    pub to: Option<String>,
    pub kind: LetterKind,
    /// The words, the reason, or the feedback.
    pub words: String,
    pub summary: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LetterKind {
    Message,
    Broadcast,
    ShutdownRequest,
    ShutdownResponse { request_id: String, approve: bool },
    PlanResponse { request_id: String, approve: bool },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Without one there is nobody to send mail to.
    pub team: Option<TeamDir>,
    /// The team's list, or the session's own.
    pub tasks: TeamDir,
}

/// News for an agent: something that went on behind its back has ended or needs a look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The id of the background task it is about.
    pub task: String,
    /// The call that started it.
    pub use_id: String,
    pub output: PathBuf,
    pub status: NoteStatus,
    /// One sentence for the model.
    pub summary: String,
    /// What an agent reported, and what it used.
    pub result: Option<String>,
    pub usage: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoteStatus {
    Completed,
    Failed,
    Killed,
    /// It still runs and seems to wait for input.
    Waiting,
}

impl NoteStatus {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Killed => "killed",
            Self::Waiting => "waiting",
        }
    }
}
