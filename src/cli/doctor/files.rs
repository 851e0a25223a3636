//! Files of the home directory: broken ones, stale locks, what was left behind half way.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::finding::{Deed, Finding};
use crate::protocol::ids::{AgentName, SessionId, TeamDir};
use crate::protocol::json::Json;
use crate::store::Store;
use crate::store::files::{self, HALF_WRITTEN};
use crate::store::journal::is_running;

const AREA: &str = "home";

/// A lock directory that nobody has touched for so long belongs to nobody.
const STALE: Duration = Duration::from_secs(10);
/// What is half done for so long will not be finished.
const LEFT: Duration = Duration::from_secs(60);
const LARGEST: u64 = 64 << 20;

pub fn look(store: &Store) -> Vec<Finding> {
    let home = store.home();
    let shown = home.root().display();
    let mut found = Vec::new();
    if !home.root().is_dir() {
        found.push(Finding::fine(AREA, format!("{shown} does not exist yet")));
        return found;
    }
    for team in entries(&home.teams()).filter_map(|path| dir_name(&path)) {
        look_at_team(store, &team, &mut found);
    }
    for list in entries(&home.task_lists()).filter_map(|path| dir_name(&path)) {
        look_at_tasks(store, &list, &mut found);
    }
    for session in entries(&home.ours().join("sessions")).filter(|path| path.is_dir()) {
        look_at_session(store, &session, &mut found);
    }
    for dir in [home.teams(), home.task_lists()] {
        deleted(&dir, &mut found);
    }
    let places = [home.teams(), home.task_lists(), home.plans(), home.ours()];
    for place in places.into_iter().chain([home.root().join("shell-snapshots")]) {
        leftovers(&place, &mut found);
    }
    if found.is_empty() {
        found.push(Finding::fine(AREA, format!("{shown}: every file can be read")));
    }
    found
}

fn look_at_team(store: &Store, team: &TeamDir, found: &mut Vec<Finding>) {
    let home = store.home();
    let config = home.config(team);
    let domain = ["team", team.as_str()];
    broken(&config, &domain, found);
    stale(&config, &domain, found);
    for path in entries(&home.inboxes(team)) {
        let Some(stem) = stem_of(&path, ".json") else { continue };
        stale(&path, &["inbox", team.as_str(), &stem], found);
        if let Some(why) = damage(&path) {
            let agent = AgentName::found(&stem);
            let what = format!("{} is broken: {why}", path.display());
            found.push(Finding::wrong(AREA, what).with(
                "keep the messages that can be read and set the broken file aside",
                Deed::Rescue { team: team.clone(), agent },
            ));
        }
    }
    // A lock may outlive the inbox that it was for.
    for path in entries(&home.inboxes(team)) {
        let Some(stem) = stem_of(&path, ".json.lock") else { continue };
        let target = path.with_extension("");
        if !target.exists() {
            stale(&target, &["inbox", team.as_str(), &stem], found);
        }
    }
}

fn look_at_tasks(store: &Store, list: &TeamDir, found: &mut Vec<Finding>) {
    let dir = store.home().tasks(list);
    let domain = ["tasks", list.as_str()];
    stale(&dir.join(".lock"), &domain, found);
    for path in entries(&dir).filter(|path| stem_of(path, ".json").is_some()) {
        broken(&path, &domain, found);
        stale(&path, &domain, found);
    }
}

/// Files of a session that runs are its own affair.
fn look_at_session(store: &Store, dir: &Path, found: &mut Vec<Finding>) {
    let stem = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let id = SessionId::found(&stem);
    if is_running(&store.home().journal(&id)) {
        return;
    }
    broken(&dir.join("state.json"), &["state", &stem], found);
    for path in entries(&dir.join("asks")).filter(|path| stem_of(path, ".json").is_some()) {
        broken(&path, &["asks", &stem], found);
    }
}

fn broken(path: &Path, domain: &[&str], found: &mut Vec<Finding>) {
    let Some(why) = damage(path) else { return };
    let domain = domain.iter().map(|part| (*part).to_owned()).collect();
    let what = format!("{} is broken: {why}", path.display());
    let deed = Deed::SetAside { domain, path: path.to_owned() };
    found.push(Finding::wrong(AREA, what).with("set it aside as `….broken-<time>`", deed));
}

/// Why a JSON file cannot be read; one that is being written is looked at again.
fn damage(path: &Path) -> Option<String> {
    if !path.exists() {
        return None;
    }
    let parse = |text: &str| Json::parse(text).map(|_| ());
    match files::read_parsed(path, LARGEST, parse) {
        Ok(_) => None,
        Err(crate::store::StoreError::Broken { source, .. }) => Some(source.to_string()),
        Err(error) => Some(error.to_string()),
    }
}

fn stale(target: &Path, domain: &[&str], found: &mut Vec<Finding>) {
    let mut name = target.as_os_str().to_owned();
    name.push(".lock");
    let lock = PathBuf::from(name);
    if !lock.is_dir() || age(&lock).is_none_or(|age| age <= STALE) {
        return;
    }
    let domain = domain.iter().map(|part| (*part).to_owned()).collect();
    let deed = Deed::Unlock { domain, target: target.to_owned() };
    let what = format!("{} is a lock that nobody holds", lock.display());
    found.push(Finding::wrong(AREA, what).with("remove it", deed));
}

/// Teams whose deletion was interrupted.
fn deleted(dir: &Path, found: &mut Vec<Finding>) {
    for path in all_entries(dir) {
        let name = name_of(&path);
        let since = name.strip_prefix('.').and_then(|name| name.rsplit_once(".deleted-"));
        let Some((team, since)) = since else { continue };
        let is_old = since
            .parse::<i64>()
            .is_ok_and(|at| files::now().millis() - at > LEFT.as_millis() as i64);
        if path.is_dir() && is_old {
            let what = format!("{} is left over from `{team}`, which was deleted", path.display());
            found.push(Finding::wrong(AREA, what).asking("remove it", Deed::Remove(path)));
        }
    }
}

/// Files that were being prepared when somebody died, and those that were set aside.
fn leftovers(dir: &Path, found: &mut Vec<Finding>) {
    for path in all_entries(dir) {
        let name = name_of(&path);
        let is_link = fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink());
        if is_link || name.contains(".deleted-") {
            continue;
        }
        let is_temporary = name.starts_with('.') && name.ends_with(".tmp");
        if is_temporary && age(&path).is_some_and(|age| age > LEFT) {
            let what = format!("{} was never finished", path.display());
            found.push(Finding::wrong(AREA, what).with("remove it", Deed::Remove(path)));
        } else if name.contains(".broken-") && !path.is_dir() {
            let what = format!("{} was set aside because it was broken", path.display());
            found.push(Finding::note(AREA, what).asking("remove it", Deed::Remove(path)));
        } else if path.is_dir() {
            leftovers(&path, found);
        }
    }
}

fn age(path: &Path) -> Option<Duration> {
    let touched = fs::metadata(path).and_then(|found| found.modified()).ok()?;
    touched.elapsed().ok().filter(|age| *age > HALF_WRITTEN)
}

fn stem_of(path: &Path, ending: &str) -> Option<String> {
    let name = name_of(path);
    if name.starts_with('.') {
        return None;
    }
    name.strip_suffix(ending).map(str::to_owned)
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn dir_name(path: &Path) -> Option<TeamDir> {
    path.is_dir().then(|| TeamDir::found(&name_of(path))).flatten()
}

/// What is visible in a directory, by name.
fn entries(dir: &Path) -> impl Iterator<Item = PathBuf> {
    all_entries(dir).into_iter().filter(|path| !name_of(path).starts_with('.'))
}

fn all_entries(dir: &Path) -> Vec<PathBuf> {
    let read = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut all: Vec<PathBuf> = read.map(|entry| entry.path()).collect();
    all.sort();
    all
}
