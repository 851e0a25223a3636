//! Where definitions are looked for.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::Source;
use crate::settings::paths;
use crate::store::files::Signature;

/// As deep as directories of definitions go; a loop of links ends here.
const DEEPEST: usize = 8;

/// As many files as are read; more are a mistake.
const MOST_FILES: usize = 2_000;

/// All places, each list with the strongest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sources {
    pub policy: Vec<PathBuf>,
    /// JSON: an object of names, each with its fields.
    pub command_line: Option<String>,
    pub project: Vec<PathBuf>,
    pub user: Vec<PathBuf>,
    /// Directories of plug-ins, each with its `agents/` in it.
    pub plugins: Vec<PathBuf>,
}

/// A definition file that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub source: Source,
    /// The directory that it was looked for in.
    pub place: PathBuf,
    pub file: PathBuf,
    pub version: Option<Signature>,
}

/// All files that are there, the strongest first, and what could not be looked at.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Survey {
    pub found: Vec<Found>,
    pub unreadable: Vec<(Source, PathBuf, String)>,
}

impl Sources {
    /// The usual places for work in `cwd`.
    pub fn of(cwd: &Path, command_line: Option<String>) -> Self {
        let beside = |dir: PathBuf| dir.join("agents");
        let claude = paths::claude_dir();
        let user: Vec<PathBuf> =
            [paths::config_dir(), claude.clone()].into_iter().flatten().map(beside).collect();
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let users: Vec<PathBuf> = user.iter().map(|place| real(place)).collect();
        let mut project = Vec::new();
        for dir in up_to_the_root(&real(cwd)) {
            for name in [".quarterdeck", ".claude"] {
                let place = beside(dir.join(name));
                // Whoever works in the home directory has the user's own there.
                if !users.contains(&real(&place)) {
                    project.push(place);
                }
            }
        }
        Self {
            policy: vec![paths::policy_agents_dir()],
            command_line,
            project,
            user,
            plugins: claude.into_iter().map(|dir| dir.join("plugins")).collect(),
        }
    }

    /// Looks for files; reads none.
    pub(super) fn survey(&self) -> Survey {
        let mut survey = Survey::default();
        for place in &self.policy {
            survey.add(&Source::Policy, place);
        }
        for place in &self.project {
            survey.add(&Source::Project, place);
        }
        for place in &self.user {
            survey.add(&Source::User, place);
        }
        for (name, place) in self.plugins.iter().flat_map(|dir| plugins_in(dir)) {
            survey.add(&Source::Plugin(name), &place);
        }
        survey
    }
}

impl Survey {
    fn add(&mut self, source: &Source, place: &Path) {
        let mut files = Vec::new();
        if let Err((dir, error)) = collect(place, 0, &mut files) {
            self.unreadable.push((source.clone(), dir, error.to_string()));
        }
        files.sort();
        for file in files {
            let version = Signature::of(&file);
            let place = place.to_owned();
            self.found.push(Found { source: source.clone(), place, file, version });
        }
    }

    /// Whether every later write will show as another version.
    pub fn is_settled(&self) -> bool {
        self.found.iter().filter_map(|found| found.version).all(|version| version.is_settled())
    }
}

/// The directory and those above it, the nearest first, up to the one that is a repository. Where
/// there is none, only the directory itself.
fn up_to_the_root(cwd: &Path) -> Vec<PathBuf> {
    let mut dirs = Vec::new();
    for dir in cwd.ancestors() {
        dirs.push(dir.to_owned());
        if dir.join(".git").exists() {
            return dirs;
        }
    }
    dirs.truncate(1);
    dirs
}

fn plugins_in(dir: &Path) -> Vec<(String, PathBuf)> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut plugins: Vec<(String, PathBuf)> = entries
        .flatten()
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()))
        .filter(|(name, path)| !name.starts_with('.') && path.is_dir())
        .map(|(name, path)| (name, path.join("agents")))
        .collect();
    plugins.sort();
    plugins
}

/// All Markdown files below a directory that may not be there.
fn collect(dir: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), (PathBuf, io::Error)> {
    let failed = |error| (dir.to_owned(), error);
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(());
        }
        Err(error) => return Err(failed(error)),
    };
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with('.') {
            continue;
        }
        if name.ends_with(".md") {
            if files.len() == MOST_FILES {
                let text = format!("there are more than {MOST_FILES} files; the rest are not read");
                return Err(failed(io::Error::other(text)));
            }
            files.push(path);
        } else if depth < DEEPEST && path.is_dir() {
            collect(&path, depth + 1, files)?;
        }
    }
    Ok(())
}
