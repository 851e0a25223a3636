//! One command from its start to the end of all it started. It is a task of its own: who asked
//! for it may wait, or go on without it at any moment.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::AsyncReadExt;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};

use super::Tracks;
use super::jobs::{End, Job, Status};
use super::program::Running;
use super::speaker::Speaker;
use super::spool::Spool;
use super::tree::Tree;
use super::waiting::waits;
use crate::store::files;
use crate::tools::context::NoteStatus;

/// How long the outputs are listened to after the shell has ended, if others hold them open.
const LINGER: Duration = Duration::from_millis(100);

/// No path is longer, in bytes.
const LONGEST_PATH: u64 = 16 * 1024;

/// What who waits for a command gets.
#[derive(Debug)]
pub enum Front {
    Ended(Box<Outcome>),
    /// It goes on in the background.
    Moved,
}

/// What came of a command.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// What it printed, cut in the middle if it is long.
    pub text: String,
    /// Where all of it is, if it is in a file.
    pub file: Option<PathBuf>,
    pub exit: Option<i32>,
    pub signal: Option<i32>,
    pub cause: Cause,
    /// How many processes it left running.
    pub strays: usize,
    /// Where it ended up.
    pub cwd: Option<PathBuf>,
    pub took: Duration,
}

/// Who ended it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    Itself,
    Timeout,
    Stopped,
}

/// How long everything may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    /// Only for as long as somebody waits for the command.
    pub limit: Option<Duration>,
    pub quiet: Duration,
    pub grace: Duration,
    pub grace_when_stopped: Duration,
}

pub(super) struct Run {
    pub running: Running,
    pub spool: Spool,
    pub speaker: Option<Speaker>,
    pub job: Arc<Job>,
    pub front: Option<oneshot::Sender<Front>>,
    pub tree: Tree,
    pub times: Times,
    pub cwd_file: PathBuf,
    pub tracks: Arc<Tracks>,
}

/// What changes while a command runs.
struct Watch {
    since: Instant,
    moves: watch::Receiver<bool>,
    /// When it printed last, or was last looked at.
    heard: Instant,
    warned: bool,
    open: bool,
    cause: Cause,
    ending: Ending,
}

/// Whether we are ending it.
#[derive(Debug)]
enum Ending {
    No,
    Begun(JoinHandle<bool>),
    Over,
}

impl Ending {
    /// Waits until everyone was ended, or could not be. Without an end there is nothing to await.
    async fn over(&mut self) {
        if let Self::Begun(handle) = self {
            // It cannot panic, and is never cancelled.
            let _ = handle.await;
            *self = Self::Over;
        }
    }
}

impl Run {
    pub(super) async fn finish(mut self) {
        let now = Instant::now();
        let mut watch = Watch {
            since: now,
            moves: self.job.moves(),
            heard: now,
            warned: false,
            open: true,
            cause: Cause::Itself,
            ending: Ending::No,
        };
        if self.job.is_behind() {
            self.go_behind();
        }
        let status = self.until_exit(&mut watch).await;
        self.linger(&mut watch).await;
        let strays = self.strays(&mut watch).await;
        let outcome = self.outcome(&watch, status, strays);
        self.deliver(outcome);
        if strays > 0 {
            self.follow_strays(&mut watch).await;
        }
        self.tracks.forget(self.running.leader);
    }

    async fn until_exit(&mut self, watch: &mut Watch) -> Option<ExitStatus> {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let limit = self.limit(watch);
            let told = self.speaker.as_ref().and_then(Speaker::due);
            let quiet = self.quiet(watch);
            tokio::select! {
                status = self.running.child.wait() => return status.ok(),
                read = self.running.output.read(&mut buffer), if watch.open => {
                    self.heard(watch, read.map(|count| &buffer[..count]).unwrap_or_default());
                }
                () = self.job.stop.cancelled(), if matches!(watch.ending, Ending::No) => {
                    self.begin_end(watch, Cause::Stopped, self.times.grace_when_stopped);
                }
                // Whoever is still there now hangs in the kernel, and nobody waits for that.
                () = watch.ending.over(), if matches!(watch.ending, Ending::Begun(_)) => {
                    let last = timeout(LINGER, self.running.child.wait()).await;
                    return last.ok().and_then(Result::ok);
                }
                () = at(limit), if limit.is_some() => {
                    self.begin_end(watch, Cause::Timeout, self.times.grace);
                }
                Ok(()) = watch.moves.changed(), if self.front.is_some() => self.go_behind(),
                () = at(told), if told.is_some() => {
                    self.speaker.iter_mut().for_each(Speaker::tell);
                }
                () = at(quiet), if quiet.is_some() => self.look_whether_it_waits(watch).await,
            }
        }
    }

    /// When the time is up, for a command that somebody waits for.
    fn limit(&self, watch: &Watch) -> Option<Instant> {
        let counts = matches!(watch.ending, Ending::No) && self.front.is_some();
        self.times.limit.filter(|_| counts).map(|limit| watch.since + limit)
    }

    /// When a command that nobody watches has been quiet for too long.
    fn quiet(&self, watch: &Watch) -> Option<Instant> {
        let wanted = !watch.warned && matches!(watch.ending, Ending::No) && self.front.is_none();
        wanted.then(|| watch.heard + self.times.quiet)
    }

    fn heard(&mut self, watch: &mut Watch, bytes: &[u8]) {
        if bytes.is_empty() {
            watch.open = false;
            return;
        }
        watch.heard = Instant::now();
        let text = self.spool.take(bytes);
        if let Some(speaker) = &mut self.speaker {
            speaker.take(&text);
        }
    }

    /// Begins to end everything. What is printed meanwhile is still read, or who prints it could
    /// not end.
    fn begin_end(&self, watch: &mut Watch, cause: Cause, grace: Duration) {
        watch.cause = cause;
        let tree = self.tree.clone();
        watch.ending = Ending::Begun(tokio::spawn(async move { tree.end(grace).await }));
    }

    /// Who waited goes on, and all of the output is in the file from now on.
    fn go_behind(&mut self) {
        self.spool.keep();
        if let Some(speaker) = self.speaker.take() {
            speaker.finish();
        }
        if let Some(front) = self.front.take() {
            // Who waited may be gone.
            let _ = front.send(Front::Moved);
        }
    }

    async fn look_whether_it_waits(&mut self, watch: &mut Watch) {
        watch.heard = Instant::now();
        let (tree, line) = (self.tree.clone(), self.spool.open_line().to_owned());
        let waiting = tokio::task::spawn_blocking(move || waits(&tree, &line)).await;
        if waiting.unwrap_or(false) {
            watch.warned = true;
            let what = format!(
                "Background command \"{}\" has printed nothing for {} and seems to wait for \
                 input, which it cannot get. Stop it and start it with options that make it ask \
                 nothing (such as --yes), or give it its input in a pipe.",
                self.job.plan.description,
                spoken(self.times.quiet)
            );
            self.job.tell(NoteStatus::Waiting, what);
        }
    }

    /// Takes what is still on its way after the shell has ended.
    async fn linger(&mut self, watch: &mut Watch) {
        let mut buffer = vec![0; 64 * 1024];
        let mut until = Instant::now() + LINGER;
        loop {
            let begun = matches!(watch.ending, Ending::Begun(_));
            if !begun && !watch.open {
                return;
            }
            tokio::select! {
                () = watch.ending.over(), if begun => until = Instant::now() + LINGER,
                read = self.running.output.read(&mut buffer), if watch.open => {
                    self.heard(watch, read.map(|count| &buffer[..count]).unwrap_or_default());
                }
                () = sleep_until(until), if !begun => return,
            }
        }
    }

    /// Who outlives the shell. Where we ended it there is nobody, unless somebody cannot die.
    async fn strays(&mut self, watch: &mut Watch) -> usize {
        let tree = self.tree.clone();
        let living = tokio::task::spawn_blocking(move || tree.living().len());
        let strays = living.await.unwrap_or_default();
        if strays > 0 && watch.open {
            self.spool.keep();
        }
        strays
    }

    fn outcome(&mut self, watch: &Watch, status: Option<ExitStatus>, strays: usize) -> Outcome {
        let text = self.spool.finish();
        if let Some(mut speaker) = self.speaker.take() {
            speaker.take(&text);
            speaker.finish();
        }
        Outcome {
            text: self.spool.text(),
            file: self.spool.file(),
            exit: status.and_then(|status| status.code()),
            signal: status.and_then(|status| status.signal()),
            cause: watch.cause,
            strays,
            cwd: self.last_cwd(),
            took: watch.since.elapsed(),
        }
    }

    fn last_cwd(&self) -> Option<PathBuf> {
        // The command knows this file and may have put anything there.
        let text = files::read_bytes(&self.cwd_file, LONGEST_PATH).ok().flatten();
        // Not there where the shell could not write it.
        let _ = fs::remove_file(&self.cwd_file);
        let text = text?;
        let path = text.strip_suffix(b"\n")?;
        let path = PathBuf::from(std::ffi::OsStr::from_bytes(path));
        path.is_absolute().then_some(path)
    }

    fn deliver(&mut self, outcome: Outcome) {
        let end = end_of(&self.job.plan.description, &outcome);
        match self.front.take() {
            Some(front) => {
                // Who waited tells of the end.
                self.job.claim();
                self.tracks.jobs.remove(&self.job);
                self.job.finish(end);
                let file = outcome.file.clone();
                let gone = front.send(Front::Ended(Box::new(outcome))).is_err();
                // Who waited is gone, so nobody will ever look for it.
                if let Some(file) = file.filter(|_| gone) {
                    let _ = fs::remove_file(file);
                }
            }
            None => self.job.finish(end),
        }
    }

    /// Reads on for those who are left: without a reader they would die of their next line. They
    /// end with the session, or when the job is stopped.
    async fn follow_strays(&mut self, watch: &mut Watch) {
        let mut buffer = vec![0; 16 * 1024];
        loop {
            tokio::select! {
                read = self.running.output.read(&mut buffer), if watch.open => {
                    self.heard(watch, read.map(|count| &buffer[..count]).unwrap_or_default());
                }
                () = self.tracks.over.cancelled() => return,
                () = self.job.stop.cancelled() => {
                    self.tree.end(self.times.grace_when_stopped).await;
                    return;
                }
            }
        }
    }
}

async fn at(time: Option<Instant>) {
    if let Some(time) = time {
        sleep_until(time).await;
    }
}

fn end_of(description: &str, outcome: &Outcome) -> End {
    let (exit, signal) = (outcome.exit, outcome.signal);
    let (status, how) = match (outcome.cause, exit, signal) {
        (Cause::Stopped | Cause::Timeout, _, _) => (Status::Killed, "was stopped".to_owned()),
        (Cause::Itself, Some(0), _) => (Status::Completed, "completed (exit code 0)".to_owned()),
        (Cause::Itself, Some(code), _) => (Status::Failed, format!("failed with exit code {code}")),
        (Cause::Itself, None, Some(signal)) => {
            (Status::Killed, format!("was killed by {}", signal_name(signal)))
        }
        (Cause::Itself, None, None) => (Status::Failed, "failed".to_owned()),
    };
    let summary = format!("Background command \"{description}\" {how}");
    End { status, exit, signal, summary, result: None, usage: None }
}

/// `SIGTERM`, or the number where it has no name.
pub fn signal_name(number: i32) -> String {
    let Some(signal) = Signal::from_named_raw(number) else { return format!("signal {number}") };
    let debug = format!("{signal:?}").replace(['"'], "");
    match debug.strip_prefix("Signal::").unwrap_or(&debug) {
        "ABORT" => "SIGABRT".to_owned(),
        "ALARM" => "SIGALRM".to_owned(),
        "CHILD" => "SIGCHLD".to_owned(),
        name => format!("SIG{name}"),
    }
}

/// `2m 0s`, `45s`, `0.5s`.
pub fn spoken(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 => format!("{:.1}s", time.as_secs_f32()),
        1..60 => format!("{seconds}s"),
        _ => format!("{}m {}s", seconds / 60, seconds % 60),
    }
}
