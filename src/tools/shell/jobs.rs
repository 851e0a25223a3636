//! What runs while its agent does something else: commands now, agents in the same registry.
//!
//! Invariant: the end of a job in the background is told exactly once, by whoever is first: a
//! reader that waited for it or looked at it, else a note to its owner.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::watch;

use super::spool::Decoder;
use crate::model::Stop;
use crate::protocol::ids::AgentId;
use crate::protocol::time::Stamp;
use crate::store::files;
use crate::tools::context::{Crew, Note, NoteStatus};

/// So many ended jobs are remembered.
const MOST_ENDED: usize = 200;

/// As much of an output as one reading gives, in bytes.
const ONE_READING: u64 = 256 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Command,
    Agent,
}

/// What is known of a job from the beginning.
#[derive(Debug, Clone)]
pub struct Plan {
    pub id: String,
    /// The call that started it.
    pub use_id: String,
    pub owner: AgentId,
    pub kind: Kind,
    /// A few words, for people.
    pub description: String,
    pub output: PathBuf,
}

/// How a job ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    pub status: Status,
    pub exit: Option<i32>,
    pub signal: Option<i32>,
    /// One sentence.
    pub summary: String,
    /// What an agent reported, and what it used.
    pub result: Option<String>,
    pub usage: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Completed,
    Failed,
    Killed,
}

/// What a reading gives: what is new, and the end if there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct News {
    pub text: String,
    pub end: Option<End>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JobError {
    #[error("there is no background task `{id}`; there are: {known}")]
    Unknown { id: String, known: String },
    #[error("the output of `{id}` cannot be read: {why}")]
    Unreadable { id: String, why: String },
}

pub struct Job {
    pub plan: Plan,
    pub started: Stamp,
    /// Weak, for the crew holds the shell that holds the jobs.
    crew: Weak<dyn Crew>,
    end: watch::Sender<Option<End>>,
    behind: watch::Sender<bool>,
    /// Fires when it shall end.
    pub stop: Stop,
    told: AtomicBool,
    /// Whether telling is done with: nothing more comes of this job.
    over: AtomicBool,
    readers: AtomicUsize,
    reading: Mutex<Reading>,
    /// Counts what happened to any job.
    news: watch::Sender<u64>,
}

#[derive(Default)]
struct Reading {
    at: u64,
    decoder: Decoder,
}

impl Job {
    fn new(plan: Plan, crew: Weak<dyn Crew>, behind: bool, news: watch::Sender<u64>) -> Self {
        Self {
            plan,
            started: files::now(),
            crew,
            end: watch::Sender::new(None),
            behind: watch::Sender::new(behind),
            stop: Stop::new(),
            told: AtomicBool::new(false),
            over: AtomicBool::new(false),
            readers: AtomicUsize::new(0),
            reading: Mutex::default(),
            news,
        }
    }

    /// Whether its owner went on without it.
    pub fn is_behind(&self) -> bool {
        *self.behind.borrow()
    }

    /// How it ended; `None` while it runs.
    pub fn end(&self) -> Option<End> {
        self.end.borrow().clone()
    }

    /// Tells when it is sent to the background.
    pub fn moves(&self) -> watch::Receiver<bool> {
        self.behind.subscribe()
    }

    /// Sets the end, once, and tells the owner unless somebody waits for it.
    pub fn finish(&self, end: End) {
        let set = |state: &mut Option<End>| {
            let first = state.is_none();
            state.get_or_insert(end);
            first
        };
        if self.end.send_if_modified(set) {
            self.announce();
            self.changed();
        }
    }

    /// Changes the report of a job that has ended, for those who are not told of it yet.
    pub fn set_result(&self, result: Option<String>) {
        self.end.send_modify(|end| {
            if let Some(end) = end {
                end.result = result;
            }
        });
    }

    /// Keeps the end from being told until this is dropped.
    pub fn hold(&self) -> Reader<'_> {
        Reader::of(self)
    }

    /// Tells the owner something that is not the end.
    pub(super) fn tell(&self, status: NoteStatus, summary: String) {
        self.notify(status, summary, None, None);
    }

    fn notify(
        &self,
        status: NoteStatus,
        summary: String,
        result: Option<String>,
        usage: Option<String>,
    ) {
        let Plan { id, use_id, owner, output, .. } = self.plan.clone();
        if let Some(crew) = self.crew.upgrade() {
            let note = Note { task: id, use_id, output, status, summary, result, usage };
            crew.notify(&owner, note);
        }
    }

    /// Nobody needs to be told any more. Whether nobody was told before.
    pub fn claim(&self) -> bool {
        let first = !self.told.swap(true, Ordering::SeqCst);
        self.over.store(true, Ordering::SeqCst);
        self.changed();
        first
    }

    /// Whether its owner will still hear of it.
    pub fn is_pending(&self) -> bool {
        self.is_behind() && !self.over.load(Ordering::SeqCst)
    }

    fn changed(&self) {
        self.news.send_modify(|count| *count += 1);
    }

    /// Tells the owner of the end, unless there is none, somebody waits for it or was told.
    pub fn announce(&self) {
        let Some(end) = self.end() else { return };
        let waited_for = self.readers.load(Ordering::SeqCst) > 0 || !self.is_behind();
        if waited_for || self.told.swap(true, Ordering::SeqCst) {
            return;
        }
        let status = match end.status {
            Status::Completed => NoteStatus::Completed,
            Status::Failed => NoteStatus::Failed,
            Status::Killed => NoteStatus::Killed,
        };
        self.notify(status, end.summary, end.result, end.usage);
        // Only now: whoever waits for everything to be over finds the note in its queue.
        self.over.store(true, Ordering::SeqCst);
        self.changed();
    }

    async fn ended(&self) -> Option<End> {
        let mut ends = self.end.subscribe();
        let end = ends.wait_for(Option::is_some).await.ok()?;
        end.clone()
    }
}

/// Somebody who waits for a job, and will tell of its end unless they go away before.
pub struct Reader<'a>(&'a Job);

impl<'a> Reader<'a> {
    fn of(job: &'a Job) -> Self {
        job.readers.fetch_add(1, Ordering::SeqCst);
        Self(job)
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        self.0.readers.fetch_sub(1, Ordering::SeqCst);
        self.0.announce();
    }
}

/// All jobs of a session.
#[derive(Default)]
pub struct Jobs {
    all: Mutex<Vec<Arc<Job>>>,
    news: watch::Sender<u64>,
}

impl Jobs {
    /// A new job; `behind` if its owner does not wait for it.
    pub fn add(&self, plan: Plan, crew: &Arc<dyn Crew>, behind: bool) -> Arc<Job> {
        let job = Arc::new(Job::new(plan, Arc::downgrade(crew), behind, self.news.clone()));
        let mut all = self.all();
        // An agent that goes on keeps its id: the news of it begin where they were last read.
        if let Some(before) = all.iter().position(|old| old.plan.id == job.plan.id) {
            let before = all.remove(before);
            let mut reading = before.reading.lock().unwrap_or_else(PoisonError::into_inner);
            *job.reading.lock().unwrap_or_else(PoisonError::into_inner) =
                std::mem::take(&mut *reading);
        }
        all.push(Arc::clone(&job));
        let ended = all.iter().filter(|job| job.end().is_some()).count();
        if ended > MOST_ENDED
            && let Some(oldest) = all.iter().position(|job| job.end().is_some())
        {
            all.remove(oldest);
        }
        job
    }

    /// Changes whenever something happens to a job.
    pub fn news(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    /// Whether an agent works in the background whose owner will hear of it.
    pub fn has_agents(&self) -> bool {
        let pending = |job: &&Arc<Job>| job.plan.kind == Kind::Agent && job.is_pending();
        self.all().iter().any(|job| pending(&job))
    }

    pub(super) fn remove(&self, job: &Job) {
        self.all().retain(|other| other.plan.id != job.plan.id);
    }

    pub fn get(&self, id: &str) -> Result<Arc<Job>, JobError> {
        let found = self.list().into_iter().find(|job| job.plan.id == id);
        found.ok_or_else(|| {
            let known: Vec<String> = self.list().iter().map(|job| job.plan.id.clone()).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            JobError::Unknown { id: id.to_owned(), known }
        })
    }

    /// What runs in the background or did so, oldest first.
    pub fn list(&self) -> Vec<Arc<Job>> {
        self.all().iter().filter(|job| job.is_behind()).cloned().collect()
    }

    /// Also what is waited for.
    pub(super) fn everything(&self) -> Vec<Arc<Job>> {
        self.all().clone()
    }

    /// Has a call return while what it started goes on. `None` if it runs no more, or never did.
    pub fn to_background(&self, use_id: &str) -> Option<Arc<Job>> {
        let all = self.all();
        let job = all.iter().find(|job| job.plan.use_id == use_id && job.end().is_none())?;
        job.behind.send_replace(true);
        job.changed();
        Some(Arc::clone(job))
    }

    /// Waits for the end, and tells of it; `None` if it still runs when the time is up.
    pub async fn wait(&self, id: &str, limit: Duration) -> Result<Option<End>, JobError> {
        let job = self.get(id)?;
        let reader = Reader::of(&job);
        let end = tokio::time::timeout(limit, job.ended()).await.ok().flatten();
        if end.is_some() {
            job.claim();
        }
        drop(reader);
        Ok(end)
    }

    /// Waits for the end of somebody else's job, who still must be told.
    pub async fn watch(&self, id: &str, limit: Duration) -> Result<Option<End>, JobError> {
        let job = self.get(id)?;
        Ok(tokio::time::timeout(limit, job.ended()).await.ok().flatten())
    }

    /// Ends a job with all it started. Its owner is told, as of every end.
    pub async fn kill(&self, id: &str, limit: Duration) -> Result<Option<End>, JobError> {
        self.get(id)?.stop.cancel();
        self.watch(id, limit).await
    }

    /// What was printed since the last reading; what is too much for one is left for the next.
    pub fn read_new(&self, id: &str) -> Result<News, JobError> {
        self.read(id, true)
    }

    /// The same for somebody who is not its owner, who still must be told of its end.
    pub fn peek_new(&self, id: &str) -> Result<News, JobError> {
        self.read(id, false)
    }

    fn read(&self, id: &str, for_owner: bool) -> Result<News, JobError> {
        let job = self.get(id)?;
        let end = job.end();
        let unreadable =
            |error: io::Error| JobError::Unreadable { id: id.to_owned(), why: error.to_string() };
        let mut reading = job.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let mut file = File::open(&job.plan.output).map_err(unreadable)?;
        file.seek(SeekFrom::Start(reading.at)).map_err(unreadable)?;
        let mut bytes = Vec::new();
        file.take(ONE_READING).read_to_end(&mut bytes).map_err(unreadable)?;
        reading.at += bytes.len() as u64;
        let mut text = reading.decoder.take(&bytes);
        let rest = bytes.len() as u64 == ONE_READING;
        let end = end.filter(|_| !rest);
        if end.is_some() {
            text.push_str(&reading.decoder.finish());
            if for_owner {
                job.claim();
            }
        }
        Ok(News { text, end })
    }

    fn all(&self) -> MutexGuard<'_, Vec<Arc<Job>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
