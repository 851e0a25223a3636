//! Settings of this directory, worktrees of its repository, scratch copies of rehearsals.

use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use super::finding::{Deed, Finding};
use crate::agent::definition::{Catalog, Sources};
use crate::cli::console;
use crate::cli::failure::Failure;
use crate::settings::{layers, permissions};
use crate::worktree::{self, Options};

const SETTINGS: &str = "settings";
const WORKTREES: &str = "worktrees";
const TEMPORARY: &str = "temporary files";

/// A rehearsal that nobody has touched for so long is over.
const OVER: Duration = Duration::from_secs(24 * 60 * 60);

pub fn look() -> Result<Vec<Finding>, Failure> {
    let here = env::current_dir()?;
    let mut found = settings(&here);
    found.extend(worktrees(&here));
    found.extend(rehearsals(&env::temp_dir()));
    Ok(found)
}

fn settings(here: &Path) -> Vec<Finding> {
    let mut found = Vec::new();
    let files = layers::files(here);
    if let Err(error) = layers::load(&files) {
        found.push(Finding::wrong(SETTINGS, error.to_string()));
    }
    if let Err(error) = permissions::load(&permissions::all_files(here, &[])) {
        let what = error.to_string();
        // A file that is no JSON at all is wrong in both ways.
        if found.iter().all(|known| known.what != what) {
            found.push(Finding::wrong(SETTINGS, what));
        }
    }
    found.extend(layers::slips(&files).into_iter().map(|slip| Finding::wrong(SETTINGS, slip)));
    if let Err(failure) = console::keymap() {
        found.push(Finding::wrong(SETTINGS, failure.message().to_owned()));
    }
    let catalog = Catalog::load(&Sources::of(here, None));
    let problems = catalog.problems.iter();
    found.extend(problems.map(|problem| Finding::note(SETTINGS, problem.to_string())));
    if found.is_empty() {
        found.push(Finding::fine(SETTINGS, "all settings files are valid"));
    }
    found
}

fn worktrees(here: &Path) -> Vec<Finding> {
    let options = Options::from(&layers::load(&layers::files(here)).unwrap_or_default());
    // Outside of a repository there are none.
    let Ok(all) = worktree::list(here, &options) else { return Vec::new() };
    let mut found = Vec::new();
    for listed in all.iter().filter(|listed| !listed.in_use) {
        let path = listed.path.display();
        let deed = Deed::Worktree { repo: here.to_owned(), name: listed.name.clone() };
        if listed.missing {
            let what = format!("{path} is gone, but git still lists it");
            found.push(Finding::wrong(WORKTREES, what).with("remove it from git's list", deed));
            continue;
        }
        let opened = worktree::open(here, listed, &options);
        found.push(match opened.and_then(|tree| worktree::changes(&tree)) {
            Ok(changes) if changes.is_empty() => {
                let what = format!("{path} is left over, without changes");
                Finding::wrong(WORKTREES, what).with("remove it with its branch", deed)
            }
            Ok(changes) => Finding::note(
                WORKTREES,
                format!(
                    "{path} holds work ({}); `quarterdeck worktree clean --force {}` discards it",
                    changes.summary, listed.name
                ),
            ),
            Err(error) => Finding::note(WORKTREES, format!("{path}: {error}")),
        });
    }
    if found.is_empty() {
        found.push(Finding::fine(WORKTREES, "none left over"));
    }
    found
}

/// Scratch copies that rehearsals of this user worked in.
fn rehearsals(tmp: &Path) -> Vec<Finding> {
    let user = rustix::process::getuid().as_raw();
    let mut found = Vec::new();
    for entry in fs::read_dir(tmp).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        // Of the entry itself: a link of this name is nothing of ours.
        let Ok(about) = entry.metadata() else { continue };
        let age = about.modified().ok().and_then(|at| at.elapsed().ok());
        let is_ours =
            name.starts_with("quarterdeck-demo-") && about.is_dir() && about.uid() == user;
        if is_ours && age.is_some_and(|age| age > OVER) {
            let path = entry.path();
            let what = format!("{} is left over from a rehearsal", path.display());
            found.push(Finding::wrong(TEMPORARY, what).asking("remove it", Deed::Remove(path)));
        }
    }
    if found.is_empty() {
        found.push(Finding::fine(TEMPORARY, "none left over from rehearsals"));
    }
    found
}
