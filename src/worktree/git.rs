//! Git as a child process that can neither ask nor hang.
//!
//! It gets no standard input, no way to prompt, none of the variables that would send it to
//! another repository, and a time limit after which its whole process group is killed: hooks of
//! the repository run here too.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind, Read};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::error::WorktreeError;
use crate::store::files;

/// How long one command may take.
pub const LIMIT: Duration = Duration::from_secs(60);

/// How long another git may hold a lock before we give up.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);

/// How long to wait before trying again.
const LOCK_NAP: Duration = Duration::from_millis(50);

/// How long output may stay open once git has ended: a hook may have left a daemon behind.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// As much output as is kept; the rest is read and forgotten.
const MOST_OUTPUT: u64 = 16 * 1024 * 1024;

/// Variables that tie git to a repository, an index or a configuration of whoever started us.
const FOREIGN: &[&str] = &[
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NAMESPACE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// Git in one directory.
#[derive(Debug, Clone, Copy)]
pub struct Git<'a> {
    pub dir: &'a Path,
    pub limit: Duration,
}

/// How one command ended.
struct Ended {
    good: bool,
    code: Option<i32>,
    /// `None` where somebody kept it open: half an answer could be taken for a whole one.
    stdout: Option<Vec<u8>>,
    stderr: Option<Vec<u8>>,
}

impl<'a> Git<'a> {
    pub fn at(dir: &'a Path) -> Self {
        Self { dir, limit: LIMIT }
    }

    /// What git prints, without the last line break.
    pub fn bytes<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Vec<u8>, WorktreeError> {
        let ended = self.run(args)?;
        if !ended.good {
            return Err(failed(args, &ended));
        }
        let mut bytes = ended.stdout.ok_or_else(|| WorktreeError::Git {
            command: words(args),
            said: "another process keeps its output open".to_owned(),
        })?;
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        }
        Ok(bytes)
    }

    pub fn text<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<String, WorktreeError> {
        self.bytes(args).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    pub fn path<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<PathBuf, WorktreeError> {
        self.bytes(args).map(|bytes| PathBuf::from(OsString::from_vec(bytes)))
    }

    /// The answer of a command that says yes with 0 and no with 1.
    pub fn says<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<bool, WorktreeError> {
        let ended = self.run(args)?;
        match ended.code {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            Some(_) | None => Err(failed(args, &ended)),
        }
    }

    /// The answer of a command that says yes with 0 and no with 1, and what it printed.
    pub fn answer<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<(bool, String), WorktreeError> {
        let ended = self.run(args)?;
        match (ended.code, &ended.stdout) {
            (Some(code @ (0 | 1)), Some(said)) => {
                Ok((code == 0, String::from_utf8_lossy(said).into_owned()))
            }
            (Some(_) | None, _) => Err(failed(args, &ended)),
        }
    }

    /// Runs something that writes, again while another git holds a lock on what it needs.
    pub fn change<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<(), WorktreeError> {
        patiently(|| {
            let ended = self.run(args)?;
            if ended.good { Ok(()) } else { Err(failed(args, &ended)) }
        })
    }

    fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Ended, WorktreeError> {
        let child = self.command(args).spawn().map_err(|source| {
            // The program is missing, or the directory is.
            if source.kind() == ErrorKind::NotFound && !self.dir.is_dir() {
                return WorktreeError::NotARepository { path: self.dir.to_owned() };
            }
            WorktreeError::NoGit { source }
        })?;
        let ended = finish(child, self.limit).map_err(|source| WorktreeError::NoGit { source })?;
        ended.ok_or_else(|| WorktreeError::TooSlow { command: words(args), limit: self.limit })
    }

    fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new("git");
        command.args(args).current_dir(self.dir);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0);
        for name in FOREIGN {
            command.env_remove(name);
        }
        let numbered = |name: &OsStr| {
            let name = name.to_string_lossy();
            name.starts_with("GIT_CONFIG_KEY_") || name.starts_with("GIT_CONFIG_VALUE_")
        };
        for (name, _) in env::vars_os().filter(|(name, _)| numbered(name)) {
            command.env_remove(name);
        }
        command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_ASKPASS", "");
        // An ssh that wants a password or a confirmation is refused at once.
        command.env("SSH_ASKPASS", "false").env("SSH_ASKPASS_REQUIRE", "force");
        // Looking must not take locks that the user's own git needs.
        command.env("GIT_OPTIONAL_LOCKS", "0").env("LC_ALL", "C");
        command
    }
}

/// Repeats what fails because of a lock, for a while.
pub fn patiently<T>(
    mut work: impl FnMut() -> Result<T, WorktreeError>,
) -> Result<T, WorktreeError> {
    let since = Instant::now();
    loop {
        match work() {
            Err(error) if error.is_lock() && since.elapsed() < LOCK_PATIENCE => {
                files::nap(LOCK_NAP);
            }
            outcome => return outcome,
        }
    }
}

/// Waits for the end. `None` when the time was over and everything has been killed.
fn finish(mut child: Child, limit: Duration) -> io::Result<Option<Ended>> {
    let stdout = child.stdout.take().map(collect);
    let stderr = child.stderr.take().map(collect);
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let (tell, ended) = sync_channel(1);
    thread::spawn(move || {
        // Without reaping it: until then its group cannot become somebody else's.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        if let Some(group) = group {
            while matches!(waitid(WaitId::Pid(group), options), Err(Errno::INTR)) {}
        }
        let _ = tell.send(());
    });
    if ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
        if let Some(group) = group {
            // It may have ended in this moment, which is as good.
            let _ = kill_process_group(group, Signal::KILL);
        }
        child.wait()?;
        return Ok(None);
    }
    let (stdout, stderr) = (last_words(stdout), last_words(stderr));
    let status = child.wait()?;
    Ok(Some(Ended { good: status.success(), code: status.code(), stdout, stderr }))
}

/// Reads a stream to its end beside us.
fn collect(stream: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (tell, read) = sync_channel(1);
    thread::spawn(move || {
        let mut kept = Vec::new();
        let mut stream = stream;
        // What was read before an error counts.
        let _ = stream.by_ref().take(MOST_OUTPUT).read_to_end(&mut kept);
        let _ = io::copy(&mut stream, &mut io::sink());
        let _ = tell.send(kept);
    });
    read
}

fn last_words(stream: Option<Receiver<Vec<u8>>>) -> Option<Vec<u8>> {
    stream.and_then(|stream| stream.recv_timeout(LAST_WORDS).ok())
}

fn failed<S: AsRef<OsStr>>(args: &[S], ended: &Ended) -> WorktreeError {
    let said = String::from_utf8_lossy(ended.stderr.as_deref().unwrap_or_default());
    let said = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let said = said.collect::<Vec<_>>().join("; ");
    let said = match (said.is_empty(), ended.code) {
        (false, _) => said,
        (true, Some(code)) => format!("it said nothing and ended with {code}"),
        (true, None) => "it was killed".to_owned(),
    };
    WorktreeError::Git { command: words(args), said }
}

/// The first words of a command, which say what was tried.
fn words<S: AsRef<OsStr>>(args: &[S]) -> String {
    let words = args.iter().map(|word| word.as_ref().to_string_lossy());
    words.take(2).collect::<Vec<_>>().join(" ")
}
