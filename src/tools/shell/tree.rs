//! Everything that a command started, and its end.
//!
//! A process is ours if it is in the process group that we made, if it was started with our mark
//! in its environment, or if it descends from one of those. So what left its group (`setsid`, a
//! daemon) is found as well, and nothing else is ever sent a signal. Only what leaves the group,
//! clears its environment and outlives its parent gets away: to adopt such orphans we would have
//! to adopt those of every other child of this program, and could not tell them apart.
//!
//! Where there is no `/proc` (macOS) the process group is all that is known.

use std::time::Duration;

use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};

/// The environment variable by which our processes are known.
pub(super) const MARK: &str = "QUARTERDECK_SHELL_ID";

/// How long a killed process may take to be gone; one that hangs in the kernel takes longer.
const DEATH: Duration = Duration::from_secs(5);

/// A process as one of its kind: numbers are used again, with another start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Leader {
    #[serde(with = "number")]
    pub pid: Pid,
    start: Option<u64>,
}

impl Leader {
    pub(super) fn of(pid: Pid) -> Self {
        Self { pid, start: list::start_of(pid) }
    }
}

/// A process in a file.
mod number {
    use rustix::process::Pid;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(pid: &Pid, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_i32(pid.as_raw_nonzero().get())
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Pid, D::Error> {
        let pid = i32::deserialize(from)?;
        let pid = (pid > 0).then(|| Pid::from_raw(pid)).flatten();
        pid.ok_or_else(|| D::Error::custom("no process has this number"))
    }
}

/// Whether this very process was started by a command of a session, however far up: its own
/// environment has the mark, or that of a process it descends from. Or it descends from one of
/// the owners of shells: a command can take the place of its shell and leave the mark behind.
/// As with all that we find, one that also outlives its parent gets away.
pub(super) fn is_inside(owners: &[Leader]) -> bool {
    std::env::var_os(MARK).is_some() || list::is_below(owners)
}

/// Whom we mean: a command and all it started, or all commands of a session.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    /// What the mark begins with.
    pub mark: String,
    /// The groups we made.
    pub leaders: Vec<Leader>,
}

/// A living process of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    pub pid: Pid,
    start: u64,
    /// Stopped by a signal, as one is that reads a terminal from the background.
    pub stopped: bool,
}

impl Tree {
    pub(super) fn living(&self) -> Vec<Found> {
        list::living(self)
    }

    /// Asks everyone to end, and after the grace ends them. Whether all are gone.
    pub(super) async fn end(&self, grace: Duration) -> bool {
        self.signalled_until_gone(Signal::TERM, grace).await
            || self.signalled_until_gone(Signal::KILL, DEATH).await
    }

    async fn signalled_until_gone(&self, signal: Signal, limit: Duration) -> bool {
        let until = tokio::time::Instant::now() + limit;
        let mut pause = Duration::from_millis(5);
        let mut asked: Vec<Found> = Vec::new();
        loop {
            let (tree, before) = (self.clone(), std::mem::take(&mut asked));
            let looked = tokio::task::spawn_blocking(move || tree.signal_new(signal, before)).await;
            asked = looked.unwrap_or_default();
            if asked.is_empty() {
                return true;
            }
            if tokio::time::Instant::now() >= until {
                return false;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(100));
        }
    }

    /// Sends a signal to all who live and were not asked before, and says who lives. One `TERM`
    /// is enough: many programs take a second one as an order to skip their clearing up.
    fn signal_new(&self, signal: Signal, asked: Vec<Found>) -> Vec<Found> {
        let living = self.living();
        for one in &living {
            let known = asked.iter().any(|old| old.pid == one.pid && old.start == one.start);
            if !known || signal == Signal::KILL {
                list::send(self, one, signal);
                // A stopped process notices only once it goes on.
                list::send(self, one, Signal::CONT);
            }
        }
        living
    }

    /// Ends everyone at once, for where nothing can be awaited.
    pub(super) fn kill_now(&self) {
        // Whoever was just being started when the first look was taken is there by the second.
        for _ in 0..20 {
            if self.signal_new(Signal::KILL, Vec::new()).is_empty() {
                return;
            }
            crate::store::files::nap(Duration::from_millis(5));
        }
    }
}

#[cfg(target_os = "linux")]
pub(super) use list::waits_for_terminal;

#[cfg(target_os = "linux")]
mod list {
    use std::collections::{HashMap, HashSet};
    use std::fs;

    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

    use super::{Found, Leader, MARK, Tree};

    /// A line of the process table.
    struct Row {
        pid: i32,
        parent: i32,
        group: i32,
        start: u64,
        state: u8,
    }

    fn row(pid: i32) -> Option<Row> {
        let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
        // The name stands in brackets and may hold anything.
        let rest = &stat[stat.iter().rposition(|byte| *byte == b')')? + 1..];
        let fields: Vec<&str> = std::str::from_utf8(rest).ok()?.split_ascii_whitespace().collect();
        Some(Row {
            pid,
            state: *fields.first()?.as_bytes().first()?,
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            start: fields.get(19)?.parse().ok()?,
        })
    }

    pub(in super::super) fn start_of(pid: Pid) -> Option<u64> {
        row(pid.as_raw_nonzero().get()).map(|row| row.start)
    }

    pub(super) fn living(tree: &Tree) -> Vec<Found> {
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let table: HashMap<i32, Row> = rows().map(|row| (row.pid, row)).collect();
        let groups = groups(tree, &table);
        let mark = format!("{MARK}={}", tree.mark);
        let is_root = |row: &Row| groups.contains(&row.group) || has_mark(row.pid, &mark);
        let mut ours: HashSet<i32> =
            table.values().filter(|row| is_root(row)).map(|row| row.pid).collect();
        loop {
            let before = ours.len();
            let children = table.values().filter(|row| ours.contains(&row.parent));
            let children: Vec<i32> = children.map(|row| row.pid).collect();
            ours.extend(children);
            if ours.len() == before {
                break;
            }
        }
        ours.remove(&own);
        let alive = ours.iter().filter_map(|pid| table.get(pid));
        let alive = alive.filter(|row| !matches!(row.state, b'Z' | b'X'));
        alive
            .filter_map(|row| {
                let stopped = matches!(row.state, b'T' | b't');
                Some(Found { pid: Pid::from_raw(row.pid)?, start: row.start, stopped })
            })
            .collect()
    }

    fn rows() -> impl Iterator<Item = Row> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        entries.filter_map(|entry| row(entry.file_name().to_str()?.parse().ok()?))
    }

    /// The groups that are still ours: a group outlives its leader, but a number that leads again
    /// is another group.
    fn groups(tree: &Tree, table: &HashMap<i32, Row>) -> HashSet<i32> {
        let leaders = tree.leaders.iter().filter_map(|leader| {
            let pid = leader.pid.as_raw_nonzero().get();
            let same = table.get(&pid).is_none_or(|row| Some(row.start) == leader.start);
            same.then_some(pid)
        });
        leaders.collect()
    }

    fn has_mark(pid: i32, mark: &str) -> bool {
        let Ok(environ) = fs::read(format!("/proc/{pid}/environ")) else { return false };
        environ.split(|byte| *byte == 0).any(|entry| entry.starts_with(mark.as_bytes()))
    }

    /// Looks at what each process above was started with: what a command does to its own
    /// environment later does not show there.
    pub(super) fn is_below(owners: &[Leader]) -> bool {
        let mark = format!("{MARK}=");
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let above = |pid| row(pid).and_then(|row| Pid::from_raw(row.parent));
        let mut next = above(own);
        // Numbers are used again while we look, so this could go in a circle.
        for _ in 0..1000 {
            let Some(pid) = next.filter(|pid| !pid.is_init()) else { return false };
            let number = pid.as_raw_nonzero().get();
            if has_mark(number, &mark) || owners.contains(&Leader::of(pid)) {
                return true;
            }
            next = above(number);
        }
        true
    }

    /// Through a handle on the process: should its number be given away between the look and the
    /// signal, nobody gets it.
    pub(super) fn send(_tree: &Tree, to: &Found, signal: Signal) {
        let Ok(handle) = pidfd_open(to.pid, PidfdFlags::empty()) else { return };
        if start_of(to.pid) == Some(to.start) {
            // One that is gone by now needs no signal.
            let _ = pidfd_send_signal(handle, signal);
        }
    }

    /// Whether a process sleeps in the reading of a terminal.
    pub(in super::super) fn waits_for_terminal(pid: Pid) -> bool {
        let pid = pid.as_raw_nonzero();
        let call = fs::read_to_string(format!("/proc/{pid}/syscall")).unwrap_or_default();
        let mut fields = call.split_whitespace();
        let reads = if cfg!(target_arch = "x86_64") { "0" } else { "63" };
        if fields.next() != Some(reads) {
            return false;
        }
        let file = fields
            .next()
            .and_then(|file| i32::from_str_radix(file.trim_start_matches("0x"), 16).ok());
        let Some(file) = file else { return false };
        let link = fs::read_link(format!("/proc/{pid}/fd/{file}")).unwrap_or_default();
        link.starts_with("/dev/pts") || link.starts_with("/dev/tty")
    }
}

#[cfg(not(target_os = "linux"))]
mod list {
    use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

    use super::{Found, Leader, Tree};

    pub(super) fn start_of(_pid: Pid) -> Option<u64> {
        None
    }

    pub(super) fn is_below(owners: &[Leader]) -> bool {
        let parent = rustix::process::getppid();
        owners.iter().any(|owner| Some(owner.pid) == parent)
    }

    pub(super) fn living(tree: &Tree) -> Vec<Found> {
        let groups = tree.leaders.iter().map(|leader| leader.pid);
        let alive = groups.filter(|pid| test_kill_process_group(*pid).is_ok());
        alive.map(|pid| Found { pid, start: 0, stopped: false }).collect()
    }

    pub(super) fn send(_tree: &Tree, to: &Found, signal: Signal) {
        // One that is gone by now needs no signal.
        let _ = kill_process_group(to.pid, signal);
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn waits_for_terminal(_pid: Pid) -> bool {
    false
}
