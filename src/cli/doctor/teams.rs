//! Teams: orphans, members without a process, tasks that nobody does, panes that are left.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::finding::{Deed, Finding};
use crate::protocol::ids::{SessionId, TeamDir};
use crate::protocol::task::{Status, Task};
use crate::protocol::team::{Member, Team};
use crate::store::Store;
use crate::store::journal::is_running;

const AREA: &str = "teams";

/// A task of a team that another program may lead counts as nobody's after so long.
const UNTOUCHED: Duration = Duration::from_secs(60 * 60);

/// Who leads a team, as far as we can tell.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lead {
    /// A session of ours that runs now.
    Runs,
    /// A session of ours that does not run.
    Rests,
    /// No session of ours: another program, or nobody.
    Foreign,
}

pub fn look(store: &Store) -> Vec<Finding> {
    let mut found = Vec::new();
    let panes = panes();
    let all = store.rosters().list().unwrap_or_default();
    for (dir, team) in &all.teams {
        let lead = lead_of(store, team);
        if lead == Lead::Runs {
            continue;
        }
        if lead == Lead::Rests && is_orphan(team) {
            let what = format!(
                "team `{}` worked in {}, which is gone: its session cannot be resumed",
                team.name,
                team.lead().and_then(|lead| lead.cwd.as_deref()).unwrap_or_default()
            );
            let words = "delete the team with its mail and tasks";
            found.push(Finding::wrong(AREA, what).asking(words, Deed::DeleteTeam(dir.clone())));
            continue;
        }
        members(dir, team, lead, &panes, &mut found);
        tasks(store, dir, Some(team), lead, &mut found);
    }
    orphans(store, &mut found);
    if found.is_empty() {
        let what = match all.teams.len() {
            0 => "none".to_owned(),
            1 => "one team, without problems".to_owned(),
            many => format!("{many} teams, without problems"),
        };
        found.push(Finding::fine(AREA, what));
    }
    found
}

fn lead_of(store: &Store, team: &Team) -> Lead {
    let Some(id) = &team.lead_session_id else { return Lead::Foreign };
    let journal = store.home().journal(&SessionId::found(id));
    match (journal.exists(), is_running(&journal)) {
        (true, true) => Lead::Runs,
        (true, false) => Lead::Rests,
        (false, _) => Lead::Foreign,
    }
}

/// Whether the directory of the lead is gone: a session goes on where it was.
fn is_orphan(team: &Team) -> bool {
    let cwd = team.lead().and_then(|lead| lead.cwd.as_deref());
    cwd.is_some_and(|cwd| !Path::new(cwd).is_dir())
}

/// Directories of teams and lists of tasks that no roster stands for.
fn orphans(store: &Store, found: &mut Vec<Finding>) {
    let home = store.home();
    for dir in visible(&home.teams()).filter(|dir| !home.config(dir).exists()) {
        let path = home.team(&dir);
        let is_set_aside =
            fs::read_dir(&path).into_iter().flatten().flatten().any(|entry| {
                entry.file_name().to_string_lossy().starts_with("config.json.broken-")
            });
        let what = match is_set_aside {
            true => format!("{} has only a broken roster", path.display()),
            false => format!("{} has no roster, so it is not a team", path.display()),
        };
        found.push(Finding::wrong(AREA, what).asking("remove it", Deed::Remove(path)));
    }
    for dir in visible(&home.task_lists()) {
        // Without a team, a session has a list of its own, by its id.
        let is_session = uuid::Uuid::parse_str(dir.as_str()).is_ok();
        if !is_session && !home.team(&dir).exists() {
            let path = home.tasks(&dir);
            let what =
                format!("{} holds the tasks of a team that no longer exists", path.display());
            found.push(Finding::wrong(AREA, what).asking("remove it", Deed::Remove(path)));
        }
    }
}

fn visible(dir: &Path) -> impl Iterator<Item = TeamDir> {
    let read = fs::read_dir(dir).into_iter().flatten().flatten();
    let dirs = read.filter(|entry| entry.path().is_dir());
    let mut names: Vec<TeamDir> = dirs
        .filter_map(|entry| TeamDir::found(&entry.file_name().to_string_lossy()))
        .filter(|name| !name.as_str().starts_with('.'))
        .collect();
    names.sort();
    names.into_iter()
}

fn members(
    dir: &TeamDir,
    team: &Team,
    lead: Lead,
    panes: &[(String, String)],
    found: &mut Vec<Finding>,
) {
    for member in team.teammates() {
        if let Some(pane) = left_pane(member, lead, panes) {
            let what = format!("pane {pane} of {} is still open", member.agent_id);
            let words = "close the pane";
            found.push(Finding::wrong(AREA, what).asking(words, Deed::Pane(pane)));
        }
        // What another program's members do, it alone knows.
        if lead == Lead::Rests && member.is_active == Some(true) {
            let what = format!("{} is marked as working, but its process is gone", member.agent_id);
            let deed = Deed::Idle { team: dir.clone(), name: member.name.clone() };
            found.push(Finding::wrong(AREA, what).with("mark it as idle", deed));
        }
    }
}

/// A pane that we made: its own start command names the member.
fn left_pane(member: &Member, lead: Lead, panes: &[(String, String)]) -> Option<String> {
    if lead != Lead::Rests || !member.tmux_pane_id.starts_with('%') {
        return None;
    }
    let (id, command) = panes.iter().find(|(id, _)| *id == member.tmux_pane_id)?;
    command.contains(&format!("--agent-id {}", member.agent_id)).then(|| id.clone())
}

/// The panes of tmux with what they were started with; none where there is no tmux.
fn panes() -> Vec<(String, String)> {
    let format = "#{pane_id} #{pane_start_command}";
    let ran = Command::new("tmux").args(["list-panes", "-a", "-F", format]).output();
    let listed = ran.map(|ran| String::from_utf8_lossy(&ran.stdout).into_owned());
    let listed = listed.unwrap_or_default();
    let pane = |line: &str| line.split_once(' ').map(|(id, how)| (id.to_owned(), how.to_owned()));
    listed.lines().filter_map(pane).collect()
}

fn tasks(store: &Store, dir: &TeamDir, team: Option<&Team>, lead: Lead, found: &mut Vec<Finding>) {
    let all =
        store.tasks(dir).look(|set| set.iter().cloned().collect::<Vec<Task>>()).unwrap_or_default();
    let mut gone = Vec::new();
    for task in all.iter().filter(|task| is_stuck(store, dir, task, lead)) {
        let Some(owner) = task.owner() else {
            let what = format!("task #{} of `{dir}` is in progress, but has no owner", task.id);
            let deed = Deed::Release { list: dir.clone(), task: task.id.clone() };
            found.push(Finding::wrong(AREA, what).with("set it back to pending", deed));
            continue;
        };
        let is_member = team.is_none_or(|team| team.member(owner).is_some());
        if !is_member && !gone.contains(owner) {
            gone.push(owner.clone());
            let what = format!("{owner} is gone, but still owns task #{} of `{dir}`", task.id);
            let deed = Deed::Unassign { list: dir.clone(), agent: owner.clone() };
            found.push(Finding::wrong(AREA, what).with("release their tasks", deed));
        }
    }
}

fn is_stuck(store: &Store, dir: &TeamDir, task: &Task, lead: Lead) -> bool {
    if task.status != Status::InProgress || task.is_internal() {
        return false;
    }
    match lead {
        Lead::Runs => false,
        Lead::Rests => true,
        Lead::Foreign => {
            let file = fs::metadata(store.home().task(dir, &task.id));
            let touched = file.and_then(|file| file.modified()).ok();
            touched.and_then(|at| at.elapsed().ok()).is_some_and(|age| age > UNTOUCHED)
        }
    }
}
