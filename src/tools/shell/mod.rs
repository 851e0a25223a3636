//! The shell of a session: what every command begins with, how one is run, what runs in the
//! background, and the end of all of it.
//!
//! Invariant: whatever a command started is known by its mark, and ends with the session. What a
//! killed program left behind is ended by the next one that starts: see [`Shell::sweep`].

mod environment;
mod fed;
pub mod jobs;
mod ledger;
mod place;
mod program;
mod run;
mod snapshot;
mod speaker;
mod spool;
mod tree;
mod waiting;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OnceCell, mpsc, oneshot};
use uuid::Uuid;

pub use environment::Named;
pub use fed::{Fed, Thought};
pub use ledger::Swept;
pub use run::{Cause, Front, Outcome, signal_name, spoken};
pub use spool::LONGEST;

use self::jobs::{Job, Jobs, Kind, Plan};
use self::ledger::Ledger;
use self::program::{Known, Program, Start, find_setsid, start};
use self::run::{Run, Times};
use self::snapshot::{Snapshot, Taking};
use self::speaker::Speaker;
use self::spool::Spool;
use self::tree::{Leader, Tree};
use crate::model::Stop;
use crate::protocol::ids::{AgentId, SessionId};
use crate::settings::paths::Home;
use crate::store::files;
use crate::tools::context::Crew;

/// What a shell is made of; the times are those of the tests' wishes or of everyone's.
#[derive(Debug, Clone)]
pub struct Options {
    /// What commands inherit, before secrets are taken out.
    pub environment: BTreeMap<OsString, OsString>,
    pub named: Named,
    /// Where everyone's temporary files are.
    pub tmp: PathBuf,
    /// How long the user's start-up files may take.
    pub start: Duration,
    /// After how long without output a background command is looked at.
    pub quiet: Duration,
    /// What a command gets to end in peace, after its time is up and after it was stopped.
    pub grace: Duration,
    pub grace_when_stopped: Duration,
    /// The largest file of output, in bytes.
    pub largest: u64,
    /// How long outputs of ended sessions are kept.
    pub kept: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            environment: std::env::vars_os().collect(),
            named: Named::default(),
            tmp: std::env::temp_dir(),
            start: Duration::from_secs(10),
            quiet: Duration::from_secs(45),
            grace: Duration::from_secs(2),
            grace_when_stopped: Duration::from_millis(500),
            largest: 256 * 1024 * 1024,
            kept: Duration::from_secs(7 * 24 * 60 * 60),
        }
    }
}

pub struct Shell {
    home: Home,
    session: SessionId,
    options: Options,
    program: Program,
    setsid: Option<PathBuf>,
    /// What the marks of all our processes begin with.
    mark: String,
    snapshot_file: PathBuf,
    snapshot: OnceCell<Snapshot>,
    /// Whether somebody was told that there is no snapshot.
    told: AtomicBool,
    ledger: Mutex<Option<Ledger>>,
    runs: AtomicU64,
    tracks: Arc<Tracks>,
}

/// What the tasks of running commands share with the shell.
#[derive(Default)]
pub(super) struct Tracks {
    jobs: Jobs,
    leaders: Mutex<Vec<Leader>>,
    /// Fires when the session ends.
    over: Stop,
}

impl Tracks {
    fn leaders(&self) -> MutexGuard<'_, Vec<Leader>> {
        self.leaders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn forget(&self, leader: Leader) {
        self.leaders().retain(|known| *known != leader);
    }
}

/// A command that shall run.
pub struct Request<'a> {
    pub command: &'a str,
    /// A few words, for people.
    pub description: &'a str,
    pub cwd: &'a Path,
    /// The agent's own directory, by which its outputs are kept.
    pub project: &'a Path,
    pub limit: Duration,
    pub background: bool,
    /// Those that were known when the command was decided upon.
    pub aliases: &'a BTreeMap<String, String>,
    pub functions: &'a BTreeSet<String>,
    pub owner: &'a AgentId,
    pub use_id: &'a str,
    pub crew: &'a Arc<dyn Crew>,
}

/// A command that runs.
pub struct Started {
    pub job: Arc<Job>,
    /// What it prints.
    pub said: mpsc::Receiver<String>,
    pub front: oneshot::Receiver<Front>,
}

impl Shell {
    pub fn new(home: &Home, session: &SessionId, options: Options) -> Self {
        let users = options.environment.get(OsStr::new("SHELL")).map(Path::new);
        let program = Program::choose(users);
        let path = options.environment.get(OsStr::new("PATH")).map(OsString::as_os_str);
        let setsid = find_setsid(path);
        let id = Uuid::new_v4();
        let name =
            format!("snapshot-{}-{}-{}.sh", program.name(), files::now().millis(), id.simple());
        Self {
            home: home.clone(),
            session: session.clone(),
            options,
            program,
            setsid,
            mark: format!("{id}."),
            snapshot_file: snapshot::dir(home).join(name),
            snapshot: OnceCell::new(),
            told: AtomicBool::new(false),
            ledger: Mutex::default(),
            runs: AtomicU64::new(1),
            tracks: Arc::default(),
        }
    }

    pub fn jobs(&self) -> &Jobs {
        &self.tracks.jobs
    }

    /// Takes the snapshot, if it was not taken yet. A session does it when it begins, so that
    /// aliases are known before the first command is decided upon.
    pub async fn prepare(&self) {
        self.snapshot().await;
    }

    /// The aliases of the user, for the permission engine. Empty before `prepare`.
    pub fn aliases(&self) -> BTreeMap<String, String> {
        self.snapshot.get().map(|snapshot| snapshot.aliases.clone()).unwrap_or_default()
    }

    /// The names of the user's functions, for the permission engine: what they shadow is not what
    /// it seems. Before `prepare`, only those that come with the environment.
    pub fn functions(&self) -> BTreeSet<String> {
        let taken = self.snapshot.get().map(|snapshot| snapshot.functions.clone());
        let mut all = taken.unwrap_or_default();
        all.extend(environment::functions(&self.options.environment));
        all
    }

    /// Why there is no snapshot; said once.
    pub fn trouble(&self) -> Option<String> {
        let trouble = self.snapshot.get()?.trouble.clone()?;
        (!self.told.swap(true, Ordering::SeqCst)).then_some(trouble)
    }

    /// Where the outputs of work on a project are kept.
    pub fn outputs(&self, project: &Path) -> io::Result<PathBuf> {
        place::outputs(&self.options.tmp, &self.home, &self.session, project)
    }

    async fn snapshot(&self) -> &Snapshot {
        self.snapshot.get_or_init(|| self.take_snapshot()).await
    }

    async fn take_snapshot(&self) -> Snapshot {
        let home = self.home.clone();
        let (tmp, fresh) = (self.options.tmp.clone(), self.options.kept);
        let sweep = move || {
            ledger::sweep(&home, None);
            place::sweep(&tmp, fresh, &ledger::living(&home));
        };
        // Whatever it finds, this session goes on.
        let _ = tokio::task::spawn_blocking(sweep).await;
        if let Err(error) = self.open_ledger() {
            tracing::warn!(%error, "nobody will be able to clear up after this program");
        }
        let mark = format!("{}0.", self.mark);
        let (inherited, named) = (&self.options.environment, &self.options.named);
        let taking = Taking {
            program: &self.program,
            file: &self.snapshot_file,
            environment: environment::environment(inherited, named, &mark),
            mark: &mark,
            limit: self.options.start,
            setsid: self.setsid.as_deref(),
        };
        snapshot::take(taking).await
    }

    fn open_ledger(&self) -> io::Result<()> {
        let ledger = Ledger::open(&self.home, &self.session, &self.mark, &self.snapshot_file)?;
        *self.ledger() = Some(ledger);
        Ok(())
    }

    fn ledger(&self) -> MutexGuard<'_, Option<Ledger>> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a command. It runs in a task of its own, whatever becomes of the caller.
    pub async fn run(&self, request: Request<'_>) -> io::Result<Started> {
        let snapshot = self.snapshot().await;
        if self.tracks.over.is_cancelled() {
            return Err(io::Error::other("the session ends"));
        }
        let number = self.runs.fetch_add(1, Ordering::SeqCst);
        let id = format!("{}{number:02x}", place::prefix(&self.mark));
        let outputs = self.outputs(request.project)?;
        let cwd_file = outputs.join(format!("{id}.cwd"));
        let mark = format!("{}{number}.", self.mark);
        // What nobody knew of when the command was decided upon would change it.
        let known = Known {
            aliases: *request.aliases == snapshot.aliases,
            functions: *request.functions == self.functions(),
        };
        let environment = match known.functions {
            true => self.environment(&mark),
            false => environment::without_functions(self.environment(&mark)),
        };
        let file = snapshot.file.as_deref();
        let running = start(Start {
            program: &self.program.path,
            arguments: self.program.around(file, &cwd_file, known, request.command),
            environment,
            cwd: request.cwd,
            setsid: self.setsid.as_deref(),
        })?;
        self.tracks.leaders().push(running.leader);
        let tree = Tree { mark, leaders: vec![running.leader] };
        let plan = Plan {
            output: outputs.join(format!("{id}.output")),
            id,
            use_id: request.use_id.to_owned(),
            owner: request.owner.clone(),
            kind: Kind::Command,
            description: request.description.to_owned(),
        };
        let spool = Spool::new(plan.output.clone(), self.options.largest);
        let job = self.tracks.jobs.add(plan, request.crew, request.background);
        if self.tracks.over.is_cancelled() {
            job.stop.cancel();
        }
        let (speaker, said) = Speaker::new();
        let (send, front) = oneshot::channel();
        let run = Run {
            running,
            spool,
            speaker: Some(speaker),
            job: Arc::clone(&job),
            front: Some(send),
            tree,
            times: self.times(request.limit),
            cwd_file,
            tracks: Arc::clone(&self.tracks),
        };
        tokio::spawn(run.finish());
        Ok(Started { job, said, front })
    }

    fn environment(&self, mark: &str) -> environment::Variables {
        environment::environment(&self.options.environment, &self.options.named, mark)
    }

    const fn times(&self, limit: Duration) -> Times {
        let Options { quiet, grace, grace_when_stopped, .. } = self.options;
        Times { limit: Some(limit), quiet, grace, grace_when_stopped }
    }

    /// Ends everything that commands of this session started. Whether nothing is left.
    pub async fn end(&self) -> bool {
        let jobs = self.begin_end();
        let gone = self.tree().end(self.options.grace_when_stopped).await;
        for job in jobs.iter().filter(|job| job.is_behind()) {
            // Its task only has to notice.
            let _ = self.tracks.jobs.wait(&job.plan.id, Duration::from_secs(2)).await;
        }
        self.clear_up();
        gone
    }

    fn begin_end(&self) -> Vec<Arc<Job>> {
        self.tracks.over.cancel();
        let jobs = self.tracks.jobs.everything();
        for job in &jobs {
            // There is nobody left to be told.
            job.claim();
            job.stop.cancel();
        }
        jobs
    }

    fn tree(&self) -> Tree {
        Tree { mark: self.mark.clone(), leaders: self.tracks.leaders().clone() }
    }

    fn clear_up(&self) {
        // Not there where none was taken.
        let _ = fs::remove_file(&self.snapshot_file);
        if let Some(ledger) = self.ledger().take() {
            ledger.close();
        }
    }

    /// Whether this program was started by a command of an agent, directly or not.
    pub fn is_inside(home: &Home) -> bool {
        tree::is_inside(&ledger::owners(home))
    }

    /// Ends what programs that are gone left running, of one session or of all. Only what
    /// carries the mark of such a program is touched.
    pub fn sweep(home: &Home, session: Option<&SessionId>) -> Swept {
        ledger::sweep(home, session)
    }
}

/// The best that can be done without waiting: nobody gets time to end in peace.
impl Drop for Shell {
    fn drop(&mut self) {
        let used = self.ledger().is_some() || self.runs.load(Ordering::SeqCst) > 1;
        if used && !self.tracks.over.is_cancelled() {
            self.begin_end();
            self.tree().kill_now();
            self.clear_up();
        }
    }
}
