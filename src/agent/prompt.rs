//! The system prompt, from what is always the same to what differs from session to session, so
//! that the cached prefix stays the same for as long as possible.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::memory::Memory;
use crate::model::request::SystemBlock;

const LEAD: &str = include_str!("../../assets/prompts/system.md");
const SUBAGENT: &str = include_str!("../../assets/prompts/subagent.md");

/// Who is being told.
#[derive(Debug, Clone, Copy)]
pub enum Reader<'a> {
    /// A lead, with the prompt of the definition it was started with, if any.
    Lead(Option<&'a str>),
    /// A subagent with the prompt of its definition.
    Subagent(&'a str),
    /// A teammate, with what it is told of its team and the prompt of its definition.
    Teammate(&'a str),
}

/// Where an agent works, found out once when it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surroundings {
    pub cwd: PathBuf,
    pub directories: Vec<PathBuf>,
    /// `2026-11-18`.
    pub date: String,
    pub model: String,
    pub git: Option<GitState>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitState {
    pub root: PathBuf,
    pub branch: String,
    /// Changed files, cut where there are many.
    pub status: String,
    /// The newest commits, one a line.
    pub log: String,
}

/// The blocks of a system prompt. `rosters` are the lists of agents and skills, in words.
pub fn system(
    reader: Reader<'_>,
    rosters: &[String],
    memory: &Memory,
    around: &Surroundings,
) -> Vec<SystemBlock> {
    let main = match reader {
        Reader::Lead(None) => LEAD.to_owned(),
        Reader::Lead(Some(own)) => format!("{LEAD}\n# Your part\n\n{own}"),
        Reader::Teammate(own) => own.to_owned(),
        Reader::Subagent(own) => format!("{own}\n\n{SUBAGENT}"),
    };
    let mut rest: Vec<String> = rosters.to_vec();
    rest.push(memory.in_words());
    rest.push(around.in_words());
    let rest: Vec<String> = rest.into_iter().filter(|part| !part.trim().is_empty()).collect();
    [main.trim().to_owned(), rest.join("\n\n")]
        .into_iter()
        .map(|text| SystemBlock { text, cached: true })
        .collect()
}

/// The same prompt for who thinks with another model by now. What stands behind that line has
/// none like it: directories, and what git says.
pub fn with_model(system: &[SystemBlock], from: &str, to: &str) -> Vec<SystemBlock> {
    let mut system = system.to_vec();
    if let Some(block) = system.last_mut() {
        let line = format!("\n- Model: {from}\n");
        if let Some(at) = block.text.rfind(&line) {
            block.text.replace_range(at..at + line.len(), &format!("\n- Model: {to}\n"));
        }
    }
    system
}

impl Surroundings {
    fn in_words(&self) -> String {
        let mut text = format!(
            "# Surroundings\n\n- Working directory: {}\n- Platform: {} ({})\n- Date: {}\n- Model: {}",
            self.cwd.display(),
            std::env::consts::OS,
            std::env::consts::ARCH,
            self.date,
            self.model,
        );
        for dir in &self.directories {
            text.push_str(&format!("\n- Also allowed: {}", dir.display()));
        }
        match &self.git {
            None => text.push_str("\n- Not a git repository"),
            Some(git) => {
                text.push_str(&format!(
                    "\n- Git: on branch `{}`, {}",
                    git.branch,
                    git.root.display()
                ));
                let status = if git.status.is_empty() { "(clean)" } else { &git.status };
                text.push_str(&format!(
                    "\n\nGit when this began (it does not follow later changes):\n{status}\n\n{}",
                    git.log
                ));
            }
        }
        text
    }
}

impl GitState {
    /// `None` where there is no repository, or no git.
    pub fn of(cwd: &Path) -> Option<Self> {
        const MOST_LINES: usize = 40;
        let root = git(cwd, &["rev-parse", "--show-toplevel"])?;
        let branch = git(cwd, &["branch", "--show-current"]).filter(|name| !name.is_empty());
        let status = git(cwd, &["status", "--short"]).unwrap_or_default();
        let lines = status.lines().count();
        let mut status: String = status.lines().take(MOST_LINES).collect::<Vec<_>>().join("\n");
        if lines > MOST_LINES {
            status.push_str(&format!("\n(and {} more)", lines - MOST_LINES));
        }
        let log = git(cwd, &["log", "--oneline", "-n", "5"]).unwrap_or_default();
        let branch = branch.unwrap_or_else(|| "(detached)".to_owned());
        Some(Self { root: root.into(), branch, status, log })
    }
}

/// What git says, unless it fails. It never asks and never waits for a lock.
fn git(cwd: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .args(["--no-optional-locks", "-c", "core.fsmonitor=false"])
        .args(arguments)
        .current_dir(cwd)
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C")
        .stdin(std::process::Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
    output.status.success().then_some(text)
}
