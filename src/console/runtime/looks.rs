//! Looking things up for the person: worktrees, what was changed in them, earlier sessions, words
//! of their own. All of it blocks, and is done beside the loop.

use std::path::{Path, PathBuf};

use super::files;
use crate::agent::recipes;
use crate::console::commands::export::exported;
use crate::console::state::offers::{Checked, Past, Tree};
use crate::console::update::{Look, Msg, Seen};
use crate::protocol::event::Level;
use crate::protocol::ids::SessionId;
use crate::protocol::nearest::nearest;
use crate::protocol::time::Stamp;
use crate::session::resume;
use crate::settings::layers;
use crate::settings::paths::Home;
use crate::store::journal::read_after;
use crate::worktree::{self, Options, WorktreeError};

/// Where things are looked up.
#[derive(Debug, Clone)]
pub struct Library {
    pub project: PathBuf,
    pub home: Home,
    /// Looks at this machine and at the home directory.
    pub doctor: fn(&Home) -> Result<Vec<Checked>, String>,
}

impl Library {
    pub fn look(&self, wish: Look) -> Msg {
        let seen = match wish {
            Look::Worktrees(show) => self.trees().map(|trees| Seen::Worktrees { trees, show }),
            Look::Diff { of, dir } => {
                let text = worktree::diff(Path::new(&dir), &self.project);
                text.map(|text| Seen::Diff { of, text }).map_err(|error| error.to_string())
            }
            Look::Merge { name } => self.preview(&name),
            Look::Sessions { wanted } => Ok(Seen::Sessions { sessions: self.sessions(), wanted }),
            Look::Recipes => Ok(Seen::Recipes(recipes::find(&self.project).into())),
            Look::Doctor => (self.doctor)(&self.home).map(Seen::Doctor),
        };
        match seen {
            Ok(seen) => Msg::Looked(Box::new(seen)),
            Err(why) => Msg::Told { level: Level::Error, text: sentence(&why) },
        }
    }

    /// Merges a branch into the project, and says what came of it.
    pub fn merge(&self, branch: &str) -> Msg {
        match worktree::merge(&self.project, branch) {
            Ok(()) => Msg::Told { level: Level::Info, text: format!("Merged {branch}.") },
            Err(error) => {
                let text = format!("{branch} was not merged: {error}");
                Msg::Told { level: Level::Error, text }
            }
        }
    }

    /// Writes all that happened in a session to a file, and says so.
    pub fn export(&self, session: &str, name: &str) -> Msg {
        match read_after(&self.home.journal(&SessionId::found(session)), 0) {
            Ok(batch) => files::exported(&self.project, name, &exported(session, &batch.events)),
            Err(error) => Msg::Told { level: Level::Error, text: sentence(&error.to_string()) },
        }
    }

    fn options(&self) -> Options {
        // A mistake in the settings was told when the session began.
        Options::from(&layers::load(&layers::files(&self.project)).unwrap_or_default())
    }

    fn trees(&self) -> Result<Vec<Tree>, String> {
        let options = self.options();
        let listed = worktree::list(&self.project, &options);
        let tree = |listed: worktree::Listed| {
            let state = match worktree::examine(&self.project, &listed, &options) {
                Ok(changes) => changes.summary.lines().next().unwrap_or_default().to_owned(),
                Err(why) => why,
            };
            Tree {
                name: listed.name,
                branch: listed.branch.unwrap_or_default(),
                path: listed.path.display().to_string(),
                state,
            }
        };
        listed
            .map(|all| all.into_iter().map(tree).collect())
            .map_err(|error: WorktreeError| error.to_string())
    }

    fn preview(&self, name: &str) -> Result<Seen, String> {
        let trees = self.trees()?;
        let is = |tree: &&Tree| tree.name == name || tree.branch == name;
        let Some(tree) = trees.iter().find(is).filter(|tree| !tree.branch.is_empty()) else {
            let near = nearest(name, trees.iter().map(|tree| tree.name.as_str()));
            let hint = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
            return Err(format!("there is no worktree {name} with a branch{hint}"));
        };
        let preview = worktree::preview(&self.project, &tree.branch);
        let state = tree.state.clone();
        preview.map(|preview| Seen::Merge { preview, state }).map_err(|error| error.to_string())
    }

    fn sessions(&self) -> Vec<Past> {
        let past = |listed: resume::Listed| Past {
            id: listed.id,
            first: listed.first,
            changed: Stamp::from(listed.changed),
            is_running: listed.is_running,
        };
        resume::listed(&self.home, &self.project).into_iter().map(past).collect()
    }
}

/// As a sentence on its own.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", chars.as_str().trim_end_matches('.'))
}
