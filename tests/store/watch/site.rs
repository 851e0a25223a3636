//! A home that is watched, what is put into it, and what is awaited of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use quarterdeck::protocol::ids::{AgentName, MessageId, TaskId, TeamDir};
use quarterdeck::protocol::json;
use quarterdeck::protocol::message::Message;
use quarterdeck::protocol::time::Stamp;
use quarterdeck::settings::paths::Home;
use quarterdeck::store::files;
use quarterdeck::store::watch::{Change, Changes, InboxStem, Pace, Watch};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// No change takes so long, not even on a machine with better things to do.
pub const LIMIT: Duration = Duration::from_secs(5);

/// A home that is watched.
pub struct Site {
    pub home: Home,
    pub changes: Changes,
    runtime: Runtime,
    /// The messages of the mail that arrived last.
    pub newest: Vec<MessageId>,
    marks: u64,
    pub dir: TempDir,
}

impl Site {
    /// Watches by events alone, so that no scan can cover up for them.
    pub fn new() -> Self {
        Self::with(Pace::default().events_only(), |_| {})
    }

    /// Watches a home that has something in it already.
    pub fn with(pace: Pace, prepare: impl FnOnce(&Home)) -> Self {
        let dir = TempDir::new().expect("a temporary directory");
        let home = Home::at(dir.path().join("home"));
        fs::create_dir_all(home.tasks(&marks())).expect("a list for marks");
        fs::create_dir_all(home.teams()).expect("teams");
        prepare(&home);
        let changes = Watch::start_with(&home, pace).expect("a watch");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        Self {
            home,
            changes,
            runtime: runtime.expect("a runtime"),
            marks: 0,
            newest: Vec::new(),
            dir,
        }
    }

    pub fn next(&mut self, awaited: &str) -> Change {
        let next = async { tokio::time::timeout(LIMIT, self.changes.next()).await };
        match self.runtime.block_on(next) {
            Ok(Some(Change::MailArrived { team, inbox, new, unread })) => {
                assert!(!new.is_empty(), "mail without a message");
                self.newest = new;
                Change::MailArrived { team, inbox, new: Vec::new(), unread }
            }
            Ok(Some(change)) => change,
            Ok(None) => panic!("the watch ended; awaited: {awaited}"),
            Err(_) => panic!("nothing changed for {LIMIT:?}; awaited: {awaited}"),
        }
    }

    /// Awaits exactly these changes, in this order.
    #[track_caller]
    pub fn expect(&mut self, wanted: &[Change]) {
        for change in wanted {
            assert_eq!(self.next(&format!("{change:?}")), *change);
        }
    }

    /// Awaits exactly these changes, in any order.
    #[track_caller]
    pub fn expect_all(&mut self, wanted: &[Change]) {
        let mut missing = wanted.to_vec();
        while !missing.is_empty() {
            let change = self.next(&format!("all of {missing:?}"));
            match missing.iter().position(|wanted| *wanted == change) {
                Some(at) => drop(missing.remove(at)),
                None => panic!("{change:?} was not awaited; missing: {missing:?}"),
            }
        }
    }

    /// Nothing has changed but what was awaited: the next change is one that is made now.
    #[track_caller]
    pub fn expect_nothing_else(&mut self) {
        assert_eq!(self.up_to_a_mark(), []);
    }

    /// All changes before one that is made now.
    pub fn up_to_a_mark(&mut self) -> Vec<Change> {
        self.marks += 1;
        let id = TaskId::from(self.marks);
        put(&self.home.task(&marks(), &id), &task(self.marks, "mark"));
        let mark = Change::TaskChanged { list: marks(), id };
        let mut before = Vec::new();
        loop {
            match self.next(&format!("the mark after {before:?}")) {
                change if change == mark => return before,
                change => before.push(change),
            }
        }
    }

    pub fn roster(&self) -> PathBuf {
        self.home.config(&team())
    }

    pub fn inbox(&self, agent: &str) -> PathBuf {
        self.home.inbox(&team(), &AgentName::found(agent))
    }

    pub fn task(&self, id: u64) -> PathBuf {
        self.home.task(&team(), &TaskId::from(id))
    }
}

/// Sorts behind everything else, so a mark comes last among changes of the same moment.
pub fn marks() -> TeamDir {
    TeamDir::found("zz-marks").expect("a plain name")
}

pub fn team() -> TeamDir {
    TeamDir::found("team").expect("a plain name")
}

/// Puts a file in its place whole, as the store does, with the directories above it.
pub fn put(path: &Path, content: &str) {
    fs::create_dir_all(path.parent().expect("a directory")).expect("make the directory");
    let temporary = files::temporary(path);
    fs::write(&temporary, content).expect("write");
    fs::rename(&temporary, path).expect("rename");
}

pub fn task(id: u64, subject: &str) -> String {
    format!("{{\n  \"id\": \"{id}\",\n  \"subject\": \"{subject}\"\n}}")
}

pub fn roster(members: &[&str]) -> String {
    let members: Vec<String> =
        members.iter().map(|name| format!("{{ \"name\": \"{name}\" }}")).collect();
    format!("{{ \"name\": \"Team\", \"members\": [{}] }}", members.join(", "))
}

/// An inbox with these texts; those that begin with a tick are read.
pub fn inbox(texts: &[&str]) -> String {
    let message = |text: &&str| {
        let from = AgentName::found("bob");
        let mut message = Message::new(&from, text.trim_start_matches('✓'), Stamp::from_millis(0));
        message.read = text.starts_with('✓');
        message
    };
    json::to_pretty(&texts.iter().map(message).collect::<Vec<_>>())
}

pub fn team_changed() -> Change {
    Change::TeamChanged { team: team() }
}

pub fn team_gone() -> Change {
    Change::TeamGone { team: team() }
}

pub fn joined(name: &str) -> Change {
    Change::MemberJoined { team: team(), name: AgentName::found(name) }
}

pub fn left(name: &str) -> Change {
    Change::MemberLeft { team: team(), name: AgentName::found(name) }
}

/// Mail, whichever: `newest` tells.
pub fn arrived(agent: &str, unread: usize) -> Change {
    let inbox = InboxStem::of(&AgentName::found(agent));
    Change::MailArrived { team: team(), inbox, new: Vec::new(), unread }
}

pub fn mail_changed(agent: &str, unread: usize) -> Change {
    let inbox = InboxStem::of(&AgentName::found(agent));
    Change::MailChanged { team: team(), inbox, unread }
}

pub fn task_changed(id: u64) -> Change {
    Change::TaskChanged { list: team(), id: TaskId::from(id) }
}

pub fn task_gone(id: u64) -> Change {
    Change::TaskGone { list: team(), id: TaskId::from(id) }
}
