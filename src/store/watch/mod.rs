//! Says what changes below a home directory, whoever changes it: a stream of typed changes.
//!
//! A change is a hint to look: the file is the truth, and it may be newer than the change.
//! Nothing gets lost: what the operating system does not tell, a scan every five seconds finds.

mod model;
mod place;
mod watches;
mod worker;

use std::path::{self, PathBuf};
use std::sync::mpsc::SyncSender;
use std::thread;
use std::time::Duration;

use tokio::sync::mpsc;

use super::error::StoreError;
use super::files;
use crate::protocol::ids::{AgentName, MessageId, TaskId, TeamDir};
use crate::settings::paths::Home;
use watches::Signal;
use worker::Worker;

/// How many changes wait for a slow reader before the watch waits for it.
const QUEUE: usize = 1024;

/// Something below the home is no longer as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A roster is new, or changed in any way. Who joined and who left is told after this.
    TeamChanged {
        team: TeamDir,
    },
    /// A roster is gone, and all its members with it.
    TeamGone {
        team: TeamDir,
    },
    MemberJoined {
        team: TeamDir,
        name: AgentName,
    },
    MemberLeft {
        team: TeamDir,
        name: AgentName,
    },
    /// An inbox holds at least one message that was not there before.
    MailArrived {
        team: TeamDir,
        inbox: InboxStem,
        /// Those messages: whoever knows them already need not look.
        new: Vec<MessageId>,
        unread: usize,
    },
    /// An inbox changed without a new message: some were marked or removed, or all of it is gone.
    MailChanged {
        team: TeamDir,
        inbox: InboxStem,
        unread: usize,
    },
    /// A task is new, or changed in any way. It is named by its file.
    TaskChanged {
        list: TeamDir,
        id: TaskId,
    },
    TaskGone {
        list: TeamDir,
        id: TaskId,
    },
    /// A file stays broken (told once for each version of it), or events cannot be had.
    Trouble {
        path: PathBuf,
        why: String,
    },
}

/// Whose mail it is: the name of an inbox file without `.json`. Several names may share one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InboxStem(String);

impl InboxStem {
    pub fn of(agent: &AgentName) -> Self {
        Self(agent.file_stem())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_of(&self, agent: &AgentName) -> bool {
        self.0 == agent.file_stem()
    }
}

/// When a watch looks. The default is right; tests need others to show one part at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    window: Duration,
    look_again: Duration,
    patience: Duration,
    scan: Option<Duration>,
    events: Events,
}

/// Whether the operating system is asked for events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Events {
    Wanted,
    Unwanted,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            window: Duration::from_millis(5),
            look_again: Duration::from_millis(10),
            patience: files::HALF_WRITTEN,
            scan: Some(Duration::from_secs(5)),
            events: Events::Wanted,
        }
    }
}

impl Pace {
    /// How long events are gathered, from the first one on, before the files are looked at.
    #[must_use]
    pub fn window(mut self, window: Duration) -> Self {
        self.window = window;
        self
    }

    /// How long a file may stay broken before it is reported.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// How often everything is looked at.
    #[must_use]
    pub fn scan_every(mut self, interval: Duration) -> Self {
        self.scan = Some(interval);
        self
    }

    /// Never looks at everything by itself: what no event tells is not seen.
    #[must_use]
    pub fn events_only(mut self) -> Self {
        self.scan = None;
        self
    }

    /// Asks the operating system for no events, as on a file system that has none.
    #[must_use]
    pub fn scan_only(mut self) -> Self {
        self.events = Events::Unwanted;
        self
    }
}

/// Starts watching.
#[derive(Debug)]
pub struct Watch;

impl Watch {
    /// Reports everything that changes after this returns, and nothing that is there now, but
    /// for files that turn out to be broken. Blocks: it reads all rosters and inboxes.
    ///
    /// The home itself may be missing: its coming is noticed by the scan.
    pub fn start(home: &Home) -> Result<Changes, StoreError> {
        Self::start_with(home, Pace::default())
    }

    /// As `start`, for tests.
    pub fn start_with(home: &Home, pace: Pace) -> Result<Changes, StoreError> {
        let failed = |source| StoreError::io("watch", home.root(), source);
        // Events carry absolute paths, whatever was asked for.
        let home = Home::at(path::absolute(home.root()).map_err(failed)?);
        let (sender, changes) = mpsc::channel(QUEUE);
        let (worker, waker) = Worker::new(home, pace, sender);
        let thread = thread::Builder::new().name("watch".into());
        thread.spawn(move || worker.run()).map_err(failed)?;
        Ok(Changes { changes, waker })
    }
}

/// The changes, in the order in which they were noticed. Dropping it ends the watch.
#[derive(Debug)]
pub struct Changes {
    changes: mpsc::Receiver<Change>,
    waker: SyncSender<Signal>,
}

impl Changes {
    /// Waits for the next change. `None`: the watch has ended, there will be no more. Dropping
    /// the future loses nothing.
    pub async fn next(&mut self) -> Option<Change> {
        self.changes.recv().await
    }

    /// As `next`, for threads outside any async runtime.
    pub fn next_blocking(&mut self) -> Option<Change> {
        self.changes.blocking_recv()
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        self.changes.close();
        // When the queue is full the thread is awake, and sees that nobody listens.
        let _ = self.waker.try_send(Signal::LookUp);
    }
}
