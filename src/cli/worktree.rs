//! `quarterdeck worktree`: what agents left behind, and clearing it away.

use std::env;
use std::path::Path;

use serde_json::{Value, json};

use super::args::WorktreeCommand;
use super::failure::Failure;
use super::out::{Out, table};
use crate::settings::layers;
use crate::worktree::{self, Changes, Listed, Options, Outcome, WorktreeError};

pub fn run(command: WorktreeCommand, out: &mut Out) -> Result<(), Failure> {
    let here = env::current_dir()?;
    let settings = layers::load(&layers::files(&here))
        .map_err(|error| Failure::bad_input(error.to_string()))?;
    let options = Options::from(&settings);
    match command {
        WorktreeCommand::List => list(&here, &options, out),
        WorktreeCommand::Clean { force: None } => clean(&here, &options, out),
        WorktreeCommand::Clean { force: Some(name) } => discard(&here, &options, &name, out),
    }
}

fn list(here: &Path, options: &Options, out: &mut Out) -> Result<(), Failure> {
    let all: Vec<(Listed, Result<Changes, String>)> = worktree::list(here, options)?
        .into_iter()
        .map(|listed| {
            let state = worktree::examine(here, &listed, options);
            (listed, state)
        })
        .collect();
    let values: Vec<Value> = all
        .iter()
        .map(|(listed, state)| {
            let (changes, why) = (state.as_ref().ok(), state.as_ref().err());
            let mut value = described(listed);
            value["inUse"] = listed.in_use.into();
            value["missing"] = listed.missing.into();
            value["changes"] = json!(changes);
            value["unknown"] = json!(why);
            value
        })
        .collect();
    out.answer(&values, || {
        if all.is_empty() {
            return "No worktrees".to_owned();
        }
        let mut rows = vec![["NAME", "BRANCH", "STATE", "PATH"].map(str::to_owned)];
        for (listed, state) in &all {
            let state = match state {
                Ok(changes) => changes.summary.clone(),
                Err(why) => why.clone(),
            };
            let branch = listed.branch.clone().unwrap_or_else(|| "-".to_owned());
            rows.push([listed.name.clone(), branch, state, listed.path.display().to_string()]);
        }
        table(&rows)
    })
}

fn clean(here: &Path, options: &Options, out: &mut Out) -> Result<(), Failure> {
    let (mut removed, mut kept, mut lines) = (Vec::new(), Vec::new(), Vec::new());
    for listed in worktree::list(here, options)? {
        let name = &listed.name;
        match clean_one(here, &listed, options) {
            None => {
                lines.push(format!("Removed {name}"));
                removed.push(name.clone());
            }
            Some((why, changes)) => {
                lines.push(format!("Kept {name}: {why}"));
                let mut value = described(&listed);
                value["why"] = why.into();
                value["changes"] = json!(changes);
                kept.push(value);
            }
        }
    }
    let value = json!({ "removed": removed, "kept": kept });
    out.answer(&value, || match lines.is_empty() {
        true => "No worktrees".to_owned(),
        false => lines.join("\n"),
    })
}

/// Why it stays, if it does.
fn clean_one(here: &Path, listed: &Listed, options: &Options) -> Option<(String, Option<Changes>)> {
    if listed.in_use {
        return Some(("in use".to_owned(), None));
    }
    let tree = match worktree::open(here, listed, options) {
        Ok(tree) => tree,
        Err(error) => return Some((error.to_string(), None)),
    };
    match worktree::clean_up(tree) {
        Outcome::Removed => None,
        Outcome::Kept { changes, why, .. } => {
            Some((why.unwrap_or_else(|| changes.summary.clone()), Some(changes)))
        }
    }
}

fn discard(here: &Path, options: &Options, name: &str, out: &mut Out) -> Result<(), Failure> {
    let all = worktree::list(here, options)?;
    let Some(listed) = all.iter().find(|listed| listed.name == name) else {
        let known: Vec<&str> = all.iter().map(|listed| listed.name.as_str()).collect();
        let known = match known.is_empty() {
            true => "there are none".to_owned(),
            false => format!("there are {}", known.join(", ")),
        };
        let message = format!("there is no worktree `{name}`; {known}");
        return Err(Failure::no("worktree_not_found", message));
    };
    let tree = worktree::open(here, listed, options)?;
    let gone = worktree::discard(&tree)?;
    let mut value = described(listed);
    value["changes"] = json!(gone.changes);
    value["tip"] = json!(gone.tip);
    out.answer(&json!({ "removed": [value], "kept": [] }), || {
        let removed = format!("Removed {name} with {}", gone.changes.summary);
        match gone.tip.filter(|_| gone.changes.commits > 0) {
            None => removed,
            Some(tip) => format!(
                "{removed}\nFor a while, `git branch {} {tip}` brings its commits back",
                gone.branch
            ),
        }
    })
}

fn described(listed: &Listed) -> Value {
    json!({
        "name": listed.name,
        "path": listed.path.display().to_string(),
        "branch": listed.branch,
    })
}

impl From<WorktreeError> for Failure {
    fn from(error: WorktreeError) -> Self {
        let message = error.to_string();
        let reason = match error {
            WorktreeError::NoGit { .. } => "no_git",
            WorktreeError::NotARepository { .. } | WorktreeError::Bare { .. } => "no_repository",
            WorktreeError::NoCommit { .. } => "no_commit",
            WorktreeError::InUse { .. } | WorktreeError::AllInUse { .. } => "in_use",
            WorktreeError::NotWritable { .. } => "io",
            WorktreeError::BadDirectory { .. } => return Self::bad_input(message),
            WorktreeError::BranchElsewhere { .. }
            | WorktreeError::Taken { .. }
            | WorktreeError::Broken { .. }
            | WorktreeError::NotIsolated { .. }
            | WorktreeError::TooSlow { .. }
            | WorktreeError::Git { .. } => "git",
        };
        Self::no(reason, message)
    }
}
