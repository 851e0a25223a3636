//! A short command that is told something and says what it thinks of it.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::process::Pid;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

use super::Shell;
use super::tree::{Leader, Tree};
use crate::model::Stop;

/// As much as is kept of what it says.
const LONGEST: usize = 16 * 1024;

/// How long its last words are waited for, if somebody we cannot end holds the pipe open.
const LINGER: Duration = Duration::from_secs(1);

pub struct Fed<'a> {
    pub command: &'a str,
    pub cwd: &'a Path,
    /// Beside those that every command has.
    pub variables: &'a [(&'a str, &'a OsStr)],
    /// What it reads.
    pub input: String,
    pub limit: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thought {
    /// `None` when a signal ended it.
    pub exit: Option<i32>,
    /// What it wrote to its standard output.
    pub answer: String,
    /// What it wrote to its standard error.
    pub complaint: String,
}

impl Shell {
    /// Runs a command to its end; whatever it started ends with it.
    pub async fn feed(&self, fed: Fed<'_>, stop: &Stop) -> io::Result<Thought> {
        self.prepare().await;
        let number = self.runs.fetch_add(1, Ordering::SeqCst);
        let mark = format!("{}{number}.", self.mark);
        let mut command = Command::new(self.setsid.as_deref().unwrap_or(Path::new("/bin/sh")));
        match self.setsid {
            Some(_) => command.arg("/bin/sh"),
            None => command.process_group(0),
        };
        command
            .args(["-c", fed.command])
            .env_clear()
            .envs(self.environment(&mark))
            .envs(fed.variables.iter().copied())
            .current_dir(fed.cwd)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut child = command.spawn()?;
        let pid = child.id().and_then(|pid| Pid::from_raw(pid.cast_signed()));
        let leader = pid.map(Leader::of);
        self.tracks.leaders().extend(leader);
        let tree = Tree { mark, leaders: leader.into_iter().collect() };
        let stdin = child.stdin.take();
        let writing = async move {
            if let Some(mut stdin) = stdin {
                // Who does not want to hear it need not.
                let _ = stdin.write_all(fed.input.as_bytes()).await;
            }
        };
        let answer = tokio::spawn(beginning(child.stdout.take()));
        let complaint = tokio::spawn(beginning(child.stderr.take()));
        let ended = tokio::select! {
            (status, ()) = async { tokio::join!(child.wait(), writing) } => status,
            () = tokio::time::sleep(fed.limit) => {
                Err(io::Error::other(format!("it took longer than {:?}", fed.limit)))
            }
            () = stop.cancelled() => Err(io::Error::other("it was interrupted")),
            () = self.tracks.over.cancelled() => Err(io::Error::other("the session ends")),
        };
        tree.end(self.options.grace_when_stopped).await;
        leader.into_iter().for_each(|leader| self.tracks.forget(leader));
        let words = async { tokio::join!(answer, complaint) };
        let (answer, complaint) = match tokio::time::timeout(LINGER, words).await {
            Ok((answer, complaint)) => (answer.unwrap_or_default(), complaint.unwrap_or_default()),
            Err(_) => Default::default(),
        };
        Ok(Thought { exit: ended?.code(), answer, complaint })
    }
}

/// Reads everything and keeps the beginning, so that whoever writes is never held up.
async fn beginning(pipe: Option<impl AsyncRead + Unpin>) -> String {
    let (mut kept, mut buffer) = (Vec::new(), vec![0; 4_096]);
    let Some(mut pipe) = pipe else { return String::new() };
    while let Ok(count @ 1..) = pipe.read(&mut buffer).await {
        let room = LONGEST.saturating_sub(kept.len()).min(count);
        kept.extend_from_slice(&buffer[..room]);
    }
    String::from_utf8_lossy(&kept).trim().to_owned()
}
