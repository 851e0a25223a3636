//! A session that runs: it owns the journal, the desk, the shell and the agents.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use super::resume;
use crate::agent::born::{self, Cradle};
use crate::agent::brains::Brains;
use crate::agent::context::{Agent, Birth, Books, Brain, Limits, Talk};
use crate::agent::definition::{Catalog, Definition, Watcher};
use crate::agent::fork::run_forked;
use crate::agent::life::{Doing, live};
use crate::agent::office::{Office, Policy};
use crate::agent::prompt::{GitState, Reader};
use crate::agent::solo::Solo;
use crate::agent::spawn::{self, Started};
use crate::agent::tools::builtin as agent_tools;
use crate::model::Stop;
use crate::model::pricing::{Ledger, Spent};
use crate::model::request::Purpose;
use crate::permission::View;
use crate::permission::desk::AskDesk;
use crate::protocol::ask::{Judge, Permit, Verdict};
use crate::protocol::event::{AgentAbout, Event, Fact, Level};
use crate::protocol::ids::{AgentId, SessionId};
use crate::protocol::op::{Mode, Op};
use crate::settings::grants::GrantFiles;
use crate::settings::{layers, mcp};
use crate::store::journal::Journal;
use crate::store::state::StateFile;
use crate::store::{Store, StoreError};
use crate::tools::Crew;
use crate::tools::context::Wish;
use crate::tools::registry::{Limits as ToolLimits, Role, ToolSet, builtin};
use crate::tools::seen::ReadCache;
use crate::tools::shell::{Options as ShellOptions, Shell};
use crate::worktree;

/// Where the definitions of agents come from.
pub enum Definitions {
    /// These, whatever happens to files.
    Fixed(Catalog),
    /// Followed while the session runs.
    Files(Watcher),
}

/// What a session is started with.
pub struct Start {
    pub store: Store,
    /// `None`: a new one.
    pub session: Option<SessionId>,
    pub project: PathBuf,
    pub view: View,
    /// Whether the mode of the view was asked for, rather than being the usual one.
    pub mode_is_given: bool,
    pub brains: Brains,
    pub brain: Brain,
    pub definitions: Definitions,
    /// The definition that the lead follows.
    pub lead: Option<Definition>,
    pub tools: Option<Vec<String>>,
    pub disallowed: Vec<String>,
    pub policy: Policy,
    pub limits: Limits,
    pub limit_usd: Option<f64>,
}

/// How long agents that were told to end may take.
const LAST_WORDS: Duration = Duration::from_secs(15);

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{0}")]
    Other(String),
}

/// Why an op was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

pub struct Live {
    pub office: Arc<Office>,
    crew: Arc<Solo>,
    lead: Arc<Agent>,
    doing: watch::Receiver<Doing>,
    task: JoinHandle<()>,
    obeying: JoinHandle<()>,
    /// The number of the newest event before this start.
    pub began_after: u64,
}

impl Live {
    pub async fn start(start: Start) -> Result<Self, StartError> {
        let resumed = start.session.is_some();
        let session =
            start.session.clone().unwrap_or_else(|| SessionId::found(&Uuid::new_v4().to_string()));
        let store = start.store.clone();
        let journal = Arc::new(Journal::open(store.home(), &session, store.durability())?);
        let began_after = journal.latest();
        let files = GrantFiles::of(&start.project);
        let desk = AskDesk::open_for(&store, &session, Arc::clone(&journal), files)?;
        let state = StateFile::new(&store, &session);
        let ledger: Ledger = state.read("cost")?.unwrap_or_default();
        let kept: Option<Mode> = state.read("mode")?;
        let git = GitState::of(&start.project);
        let shell = Arc::new(Shell::new(store.home(), &session, ShellOptions::default()));
        shell.prepare().await;
        let tools = ToolSet::new(builtin()).with(agent_tools());
        let (definitions, watcher) = match start.definitions {
            Definitions::Fixed(catalog) => (catalog, None),
            Definitions::Files(watcher) => (Catalog::clone(&watcher.catalog()), Some(watcher)),
        };
        let mcp_servers = mcp::configured(&start.project);
        // A mistake in the settings is told by whoever reads them to start a session.
        let settings = layers::load(&layers::files(&start.project)).unwrap_or_default();
        let worktrees = worktree::Options::from(&settings);
        let office = Arc::new(Office {
            session,
            store,
            journal,
            desk,
            shell,
            books: Arc::new(Books::new(ledger, start.limit_usd)),
            brains: start.brains,
            definitions: RwLock::new(definitions),
            watcher: Mutex::new(watcher),
            tasks: TaskTracker::new(),
            abandoned: Stop::new(),
            tools,
            project: start.project,
            mcp_servers,
            worktrees,
            git_branch: git.map(|git| git.branch).unwrap_or_default(),
            policy: start.policy,
        });
        let mut view = start.view;
        view.aliases = office.shell.aliases().into();
        view.functions = office.shell.functions().into();
        // What was too long for the conversation may be read without asking.
        if let Ok(outputs) = office.shell.outputs(&office.project) {
            let rule = format!("Read(/{}/**)", outputs.display());
            view.rules.extend(view.session_rule(&rule));
        }
        if let Some(kept) = kept.filter(|_| !start.mode_is_given) {
            view.mode = kept;
        }
        let crew = Solo::new(Arc::clone(&office));
        let of_lead = OfLead {
            brain: start.brain,
            definition: start.lead.as_ref(),
            view,
            limits: start.limits,
            tools: start.tools,
            disallowed: start.disallowed,
        };
        let lead = of_lead.bear(&office, &crew)?;
        let talk = if resumed { resume::recall(&office, &lead)? } else { Talk::default() };
        resume::withdraw_orphans(&office, &lead)?;
        lead.set_said(talk.messages.clone());
        crew.enter(&lead, None);
        tell_of(&lead);
        // Calls that were left open are made without anybody saying a word.
        let first = match talk.pending.uses.is_empty() {
            true => Doing::Waiting { last: None },
            false => Doing::Working,
        };
        let (sender, doing) = watch::channel(first);
        let (abandoned, working) =
            (office.abandoned.clone(), live(Arc::clone(&lead), talk, sender));
        let task = tokio::spawn(async move {
            tokio::select! {
                // First: whoever is abandoned does not see that others were.
                biased;
                () = abandoned.cancelled() => {}
                () = working => {}
            }
        });
        let obeying = tokio::spawn(obey_modes(Arc::clone(&crew), began_after));
        Ok(Self { office, crew, lead, doing, task, obeying, began_after })
    }

    pub fn session(&self) -> &SessionId {
        &self.office.session
    }

    pub fn lead(&self) -> &Arc<Agent> {
        &self.lead
    }

    /// What the lead is doing.
    pub fn doing(&self) -> watch::Receiver<Doing> {
        self.doing.clone()
    }

    pub fn spent(&self) -> Spent {
        self.office.books.total()
    }

    /// Every event with a larger number, then the new ones as they come.
    pub fn events(&self, after: u64) -> BoxStream<'static, Arc<Event>> {
        self.office.journal.after(after)
    }

    /// Whether the lead has nothing to do and nothing will wake it.
    pub fn is_idle(&self) -> bool {
        let mut doing = self.doing.clone();
        if matches!(*doing.borrow_and_update(), Doing::Working) {
            return false;
        }
        // In this order: what ends in the background is in the queue before it counts as over.
        let quiet = !self.office.shell.jobs().has_agents() && self.lead.queue.is_empty();
        // What was in the queue may have been taken between two looks, and begun a turn.
        quiet && !doing.has_changed().unwrap_or(false)
    }

    /// Changes whenever something happens in the background.
    pub fn background(&self) -> watch::Receiver<u64> {
        self.office.shell.jobs().news()
    }

    /// The kinds of agents that can be started.
    pub fn agent_types(&self) -> Vec<String> {
        let definitions = self.office.definitions.read().unwrap_or_else(PoisonError::into_inner);
        self.office.available(&definitions).into_iter().map(|one| one.name.clone()).collect()
    }

    /// Ends the turn of the lead and everything in the background. The lead begins no other:
    /// nobody is left to be told how that ended.
    pub fn interrupt_all(&self) {
        self.lead.queue.halt();
        for job in self.office.shell.jobs().list() {
            job.stop.cancel();
        }
    }

    pub async fn submit(&self, op: Op) -> Result<(), Refused> {
        let unknown = |agent: &AgentId| Refused(format!("there is no agent `{agent}`"));
        match op {
            Op::Say { text, .. } if text.trim().is_empty() => {
                Err(Refused("there is nothing to say".to_owned()))
            }
            Op::Say { to, text, when } => match self.crew.queue(&to, when, "user", text) {
                true => Ok(()),
                false if self.crew.agent(&to).is_some() => {
                    Err(Refused(format!("`{to}` has ended")))
                }
                false => Err(unknown(&to)),
            },
            Op::Answer { ask, rev, verdict } => {
                let desk = Arc::clone(&self.office.desk);
                let settled = tokio::task::spawn_blocking(move || {
                    desk.settle(&ask, rev, verdict, Judge::Human)
                });
                let settled = settled.await.map_err(|error| Refused(error.to_string()))?;
                settled.map_err(|error| Refused(error.to_string()))
            }
            Op::Interrupt { agent } => {
                let found = self.crew.agent(&agent).ok_or_else(|| unknown(&agent))?;
                found.queue.interrupt();
                Ok(())
            }
            Op::Stop { agent } => {
                let found = self.crew.agent(&agent).ok_or_else(|| unknown(&agent))?;
                found.life.cancel();
                Ok(())
            }
            Op::Mode { agent, mode } => {
                let found = self.crew.agent(&agent).ok_or_else(|| unknown(&agent))?;
                found.set_mode(mode);
                self.keep().await;
                Ok(())
            }
            Op::Background { use_id } => {
                let moved = self.office.shell.jobs().to_background(&use_id);
                moved.map(|_| ()).ok_or_else(|| Refused("nothing of this call runs".to_owned()))
            }
            Op::Compact { agent, wishes } => {
                let found = self.crew.agent(&agent).ok_or_else(|| unknown(&agent))?;
                found.queue.want_compact(wishes);
                Ok(())
            }
        }
    }

    /// Asks an agent something beside its conversation, which learns nothing of it: a title, what
    /// it did since somebody looked, a question of the person, what is worth remembering. No tool
    /// runs, and the prompt cache of the conversation is used.
    pub async fn aside(
        &self,
        agent: &AgentId,
        purpose: Purpose,
        directive: String,
        stop: &Stop,
    ) -> Result<String, Refused> {
        if matches!(purpose, Purpose::Turn | Purpose::Fork) {
            return Err(Refused("this is no question beside a conversation".to_owned()));
        }
        let found = self.crew.agent(agent);
        let found = found.ok_or_else(|| Refused(format!("there is no agent `{agent}`")))?;
        let asked = run_forked(&found, &found.said(), directive, purpose, stop).await;
        asked.map_err(|error| Refused(error.to_string()))
    }

    /// Runs a definition as a subagent of `by` for somebody who is no tool, such as a skill with
    /// a context of its own.
    pub async fn run_as_subagent(
        &self,
        by: &AgentId,
        definition: Definition,
        wish: &Wish,
        stop: &Stop,
    ) -> Result<Started, Refused> {
        spawn::run_as_subagent(&self.crew, by, definition, wish, stop).await.map_err(Refused)
    }

    /// Puts down what the session is resumed with.
    pub async fn keep(&self) {
        let (state, mode) = (self.office.state(), self.lead.mode());
        let ledger = self.office.books.ledger();
        let kept = tokio::task::spawn_blocking(move || {
            state.write("mode", &mode).and_then(|()| state.write("cost", &ledger))
        });
        if let Ok(Err(error)) = kept.await {
            self.lead.notice(Level::Warning, format!("The session's state is not kept: {error}"));
        }
    }

    /// Ends everything that the session started.
    pub async fn end(self) {
        self.keep().await;
        self.lead.life.cancel();
        for job in self.office.shell.jobs().list() {
            job.stop.cancel();
        }
        self.close().await;
    }

    /// Ends the session where it stands, as a killed program would: what waits for an answer
    /// stays open, and whoever resumes the session goes on with it.
    pub async fn suspend(self) {
        self.keep().await;
        self.office.abandoned.cancel();
        self.close().await;
    }

    async fn close(self) {
        let Self { office, crew, task, obeying, .. } = self;
        let abort = task.abort_handle();
        match tokio::time::timeout(LAST_WORDS, task).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(%error, "the lead's task"),
            Err(_) => abort.abort(),
        }
        office.shell.end().await;
        office.tasks.close();
        if tokio::time::timeout(LAST_WORDS, office.tasks.wait()).await.is_err() {
            office.abandoned.cancel();
            office.tasks.wait().await;
        }
        obeying.abort();
        // It and the crew hold each other, and the journal with its lock.
        crew.disband();
        let _ = obeying.await;
    }
}

/// Changes the mode of an agent when a verdict on its question says so, whoever gave it.
async fn obey_modes(crew: Arc<Solo>, after: u64) {
    let mut events = crew.office.journal.after(after);
    while let Some(event) = events.next().await {
        let Fact::Settled { verdict: Verdict::Allow { grant: Some(grant), .. }, .. } = &event.fact
        else {
            continue;
        };
        let asker = event.agent.as_ref().and_then(|asker| crew.agent(asker));
        let mut modes = grant.permits.iter().filter_map(|permit| match permit {
            Permit::Mode(mode) => Some(*mode),
            Permit::Rule(_) | Permit::Directory(_) => None,
        });
        if let (Some(asker), Some(mode)) = (asker, modes.next_back()) {
            asker.set_mode(mode);
        }
    }
}

struct OfLead<'a> {
    brain: Brain,
    definition: Option<&'a Definition>,
    view: View,
    limits: Limits,
    tools: Option<Vec<String>>,
    disallowed: Vec<String>,
}

impl OfLead<'_> {
    fn bear(self, office: &Arc<Office>, crew: &Arc<Solo>) -> Result<Arc<Agent>, StartError> {
        let id = office.lead();
        let own = self.definition;
        let mut disallowed = self.disallowed;
        disallowed.extend(own.into_iter().flat_map(|own| own.disallowed_tools.iter().cloned()));
        let limits = ToolLimits {
            tools: self.tools.or_else(|| own.and_then(|own| own.tools.clone())),
            disallowed,
            ..ToolLimits::of(Role::Lead)
        };
        let narrowed = office.tools.narrowed(&limits);
        for warning in &narrowed.warnings {
            let fact = Fact::Notice { level: Level::Warning, text: warning.clone() };
            office.journal.emit(Some(&id), fact);
        }
        let reader = Reader::Lead(own.map(|own| own.prompt.as_str()));
        let rosters = [born::agents_roster(office, &narrowed.tools)];
        let prefix = born::prefix(reader, &narrowed.tools, &self.view, &self.brain, &rosters);
        let cradle = Cradle {
            chain: vec![id.clone()],
            id,
            agent_id: None,
            called: "team-lead".to_owned(),
            birth: Birth {
                kind: own.map_or("team-lead".to_owned(), |own| own.name.clone()),
                description: String::new(),
                depth: 0,
                is_fork: false,
                may_spawn: own.and_then(|own| own.spawnable.clone()),
            },
            cwd: office.project.clone(),
            seen: ReadCache::default(),
            view: self.view,
            tools: narrowed.tools,
            brain: self.brain,
            prefix,
            purpose: Purpose::Turn,
            limits: self.limits,
            echo: None,
            durability: office.store.durability(),
        };
        let crew = Arc::clone(crew) as Arc<dyn Crew>;
        Ok(Arc::new(born::bear(office, crew, cradle)?))
    }
}

fn tell_of(lead: &Agent) {
    let about = AgentAbout {
        agent_type: lead.birth.kind.clone(),
        description: String::new(),
        model: lead.brain.chosen.name(),
        mode: lead.mode(),
        cwd: lead.cx.cwd.get().to_string_lossy().into_owned(),
        color: None,
        parent: None,
        use_id: None,
        background: false,
    };
    lead.tell(Fact::AgentStarted { about: Box::new(about) });
}
