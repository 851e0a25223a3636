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

use super::lead::{OfLead, chain_id, lead_brain, tell_of};
use super::{keeper, resume};
use crate::agent::books::Books;
use crate::agent::brains::Brains;
use crate::agent::budget::Purse;
use crate::agent::context::{Agent, Brain, Limits, Talk};
use crate::agent::definition::{Catalog, Definition, Watcher};
use crate::agent::life::{Doing, live};
use crate::agent::office::{Office, Policy};
use crate::agent::planning::PLANNING;
use crate::agent::prompt::GitState;
use crate::agent::solo::Solo;
use crate::agent::tools::builtin as agent_tools;
use crate::model::Stop;
use crate::model::pricing::Spent;
use crate::permission::desk::AskDesk;
use crate::permission::{Seat, View};
use crate::protocol::ask::{Permit, Verdict};
use crate::protocol::event::{Event, Fact, Level};
use crate::protocol::ids::{AgentId, SessionId};
use crate::protocol::op::Mode;
use crate::settings::budgets::Budgets;
use crate::settings::grants::GrantFiles;
use crate::settings::{layers, mcp};
use crate::store::journal::{Journal, read_after};
use crate::store::state::StateFile;
use crate::store::{Store, StoreError};
use crate::team::crew::Team;
use crate::team::plan;
use crate::team::policy::Policy as TeamPolicy;
use crate::team::resume as team_resume;
use crate::team::tools::{Slot, builtin as team_tools};
use crate::tools::registry::{ToolSet, builtin};
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
    /// Whether the brain was asked for by name: it is kept then, and else what was kept counts.
    pub model_is_given: bool,
    pub brains: Brains,
    pub brain: Brain,
    pub definitions: Definitions,
    /// The definition that the lead follows.
    pub lead: Option<Definition>,
    pub tools: Option<Vec<String>>,
    pub disallowed: Vec<String>,
    pub policy: Policy,
    pub team: TeamPolicy,
    pub limits: Limits,
    pub limit_usd: Option<f64>,
    pub budgets: Budgets,
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

pub struct Live {
    pub office: Arc<Office>,
    pub(super) crew: Arc<Solo>,
    pub(super) team: Arc<Team>,
    pub(super) lead: Arc<Agent>,
    doing: watch::Receiver<Doing>,
    task: JoinHandle<()>,
    /// What follows the events beside the agents.
    beside: [JoinHandle<()>; 2],
    /// The number of the newest event before this start.
    pub began_after: u64,
    /// Whether there was something to do from the beginning.
    pub had_work: bool,
    /// What the lead's definition puts before the first words to it.
    opening: Mutex<Option<String>>,
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
        let (mut cost, spent) = keeper::kept(&state)?;
        let kept: Option<Mode> = state.read("mode")?;
        let past = match resumed {
            true => read_after(journal.path(), 0)?.events,
            false => Vec::new(),
        };
        cost.catch_up(&past);
        let purse = Purse::new(start.budgets, start.team.attended, &spent, &past);
        let git = GitState::of(&start.project);
        // A mistake in the settings is told by whoever reads them to start a session.
        let settings = layers::load(&layers::files(&start.project)).unwrap_or_default();
        let usual = ShellOptions::default();
        let quiet = settings.quiet_after.map_or(usual.quiet, Duration::from_secs_f64);
        let options = ShellOptions { quiet, ..usual };
        let shell = Arc::new(Shell::new(store.home(), &session, options));
        shell.prepare().await;
        let slot = Slot::default();
        let tools = ToolSet::new(builtin()).with(agent_tools()).with(team_tools(&slot));
        let (definitions, watcher) = match start.definitions {
            Definitions::Fixed(catalog) => (catalog, None),
            Definitions::Files(watcher) => (Catalog::clone(&watcher.catalog()), Some(watcher)),
        };
        let mcp_servers = mcp::configured(&start.project);
        let worktrees = worktree::Options::from(&settings);
        let office = Arc::new(Office {
            session,
            store,
            journal,
            desk,
            shell,
            books: Arc::new(Books::new(cost, start.limit_usd).with_purse(purse)),
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
            warned: Mutex::default(),
        });
        let mut view = start.view;
        view.seat = Seat::Lead;
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
        let team = Team::new(Arc::clone(&crew), start.team);
        slot.set(&team);
        let (brain, lost) = lead_brain(&office, &state, start.brain, start.model_is_given)?;
        let of_lead = OfLead {
            brain,
            definition: start.lead.as_ref(),
            view,
            limits: start.limits,
            tools: start.tools,
            disallowed: start.disallowed,
            chain_id: chain_id(&state)?,
        };
        let lead = of_lead.bear(&office, &team)?;
        if lead.mode() == Mode::Plan {
            *lead.planning() = state.read(PLANNING)?.filter(|_| resumed).unwrap_or_default();
            lead.prepare_plan(&office)?;
        }
        crew.enter(&lead, None);
        tell_of(&lead);
        if let Some(lost) = lost {
            lead.notice(Level::Warning, lost);
        }
        let talk = match resumed {
            true => resume::take_up(&crew, &lead).await?,
            false => Talk::default(),
        };
        if resumed {
            team_resume::take_up(&team, &lead).await.map_err(StartError::Other)?;
        }
        resume::withdraw_orphans(&office, &crew)?;
        let quiet = lead.queue.is_idle() && !office.shell.jobs().has_agents() && team.is_quiet();
        let had_work = talk.is_due() || !quiet;
        // Calls that were left open are made without anybody saying a word.
        let first = match talk.is_due() {
            true => Doing::Working,
            false => Doing::Waiting { last: None },
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
        let keeping =
            tokio::spawn(keeper::follow(Arc::clone(&office), Arc::clone(&lead), began_after));
        let beside = [obeying, keeping];
        let opening = start.lead.and_then(|own| own.initial_prompt).filter(|_| !resumed);
        let opening = Mutex::new(opening);
        Ok(Self { office, crew, team, lead, doing, task, beside, began_after, had_work, opening })
    }

    /// The first words to the lead, with what its definition puts before them.
    pub(super) fn opened(&self, to: &AgentId, text: String) -> String {
        if *to != self.lead.cx.me {
            return text;
        }
        let opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner).take();
        opening.map_or(text.clone(), |opening| format!("{opening}\n\n{text}"))
    }

    pub fn session(&self) -> &SessionId {
        &self.office.session
    }

    pub fn lead(&self) -> &Arc<Agent> {
        &self.lead
    }

    /// Whom a name or an id means.
    pub fn named(&self, name: &str) -> Option<AgentId> {
        self.crew.named(name)
    }

    /// Whom a name or an id means, also when it has ended.
    pub fn find(&self, name: &str) -> Option<AgentId> {
        self.crew.find(name)
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
        let quiet = !self.office.shell.jobs().has_agents()
            && self.team.is_quiet()
            && self.lead.queue.is_idle();
        // What was in the queue may have been taken between two looks, and begun a turn.
        quiet && !doing.has_changed().unwrap_or(false)
    }

    pub fn team(&self) -> &Arc<Team> {
        &self.team
    }

    /// Changes whenever something happens in the background.
    pub fn background(&self) -> watch::Receiver<u64> {
        self.office.shell.jobs().news()
    }

    /// The kinds of agents that can be started.
    pub fn agent_types(&self) -> Vec<String> {
        self.office.follow_definitions();
        let definitions = self.office.definitions.read().unwrap_or_else(PoisonError::into_inner);
        self.office.available(&definitions).into_iter().map(|one| one.name.clone()).collect()
    }

    /// Ends the turn of the lead and everything in the background. The lead begins no other:
    /// nobody is left to be told how that ended.
    pub fn interrupt_all(&self) {
        self.lead.queue.halt();
        for member in self.team.roll().iter().flat_map(|roll| roll.members()) {
            member.agent.queue.halt();
        }
        for job in self.office.shell.jobs().list() {
            job.stop.cancel();
        }
    }

    /// Ends everything that the session started.
    pub async fn end(self) {
        self.interrupt_all();
        self.team.dismiss().await;
        self.last_news().await;
        self.lead.life.cancel();
        self.team.disband();
        self.close().await;
    }

    /// Waits until the lead can hear how everything in the background ended.
    async fn last_news(&self) {
        let jobs = self.office.shell.jobs();
        let mut news = jobs.news();
        let all = async {
            while jobs.list().iter().any(|job| job.is_pending()) && news.changed().await.is_ok() {}
        };
        if tokio::time::timeout(LAST_WORDS, all).await.is_err() {
            tracing::warn!("something in the background does not end");
        }
    }

    /// Ends the session where it stands, as a killed program would: what waits for an answer
    /// stays open, and whoever resumes the session goes on with it.
    pub async fn suspend(self) {
        self.office.abandoned.cancel();
        self.close().await;
    }

    async fn close(self) {
        let Self { office, crew, team, lead, task, beside, .. } = self;
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
        for task in beside {
            task.abort();
            let _ = task.await;
        }
        keeper::keep(&office, &lead).await;
        // They and the agents hold each other, and the journal with its lock.
        team.disband();
        crew.disband();
    }
}

/// Changes the mode of an agent when a verdict on its question says so, whoever gave it.
async fn obey_modes(crew: Arc<Solo>, after: u64) {
    let mut events = crew.office.journal.after(after);
    while let Some(event) = events.next().await {
        let Fact::Settled { ask, verdict: Verdict::Allow { grant: Some(grant), .. }, .. } =
            &event.fact
        else {
            continue;
        };
        if plan::is_request(ask) {
            continue;
        }
        let asker = event.agent.as_ref().and_then(|asker| crew.agent(asker));
        let mut modes = grant.permits.iter().filter_map(|permit| match permit {
            Permit::Mode(mode) => Some(*mode),
            Permit::Rule(_) | Permit::Directory(_) => None,
        });
        if let (Some(asker), Some(mode)) = (asker, modes.next_back()) {
            asker.set_mode(mode);
            let office = Arc::clone(&crew.office);
            let kept = tokio::task::spawn_blocking(move || asker.keep_mode(&office)).await;
            if let Err(error) = kept {
                tracing::warn!(%error, "a mode was not kept");
            }
        }
    }
}
