//! All that a decision may depend on, gathered once and then only read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::path::{is_below, resolve};
use super::rule::{Bases, Effect, Rule, RuleError, Source};
use crate::protocol::op::Mode;
use crate::settings::paths::Home;
use crate::settings::permissions::Layer;

#[derive(Debug, Clone)]
pub struct View {
    pub mode: Mode,
    pub seat: Seat,
    pub rules: Vec<Rule>,
    /// Where the agent works. Links followed, as in all paths here.
    pub cwd: PathBuf,
    /// Where it may read freely; the first is its own.
    pub working: Vec<PathBuf>,
    /// The user's home, for `~`.
    pub user: Option<PathBuf>,
    pub protected: Vec<Protected>,
    /// What the agent may write in plan mode.
    pub plan_file: Option<PathBuf>,
    /// Aliases of the shell that commands run in.
    pub aliases: BTreeMap<String, String>,
}

/// Where an agent stands in its team.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seat {
    Lead,
    Teammate,
}

/// A path that tools never write, with all below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Protected {
    pub path: PathBuf,
    pub what: &'static str,
}

/// The mode as settings write it.
pub const fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Default => "default",
        Mode::AcceptEdits => "acceptEdits",
        Mode::Plan => "plan",
        Mode::BypassPermissions => "bypassPermissions",
        Mode::DontAsk => "dontAsk",
        Mode::Delegate => "delegate",
        Mode::Bubble => "bubble",
    }
}

/// The mode of this name, if there is one.
pub fn mode_named(name: &str) -> Option<Mode> {
    let all = [
        Mode::Default,
        Mode::AcceptEdits,
        Mode::Plan,
        Mode::BypassPermissions,
        Mode::DontAsk,
        Mode::Delegate,
        Mode::Bubble,
    ];
    all.into_iter().find(|mode| mode_name(*mode) == name)
}

impl View {
    /// Without rules, with only what no rule can change.
    pub fn new(mode: Mode, cwd: &Path, user: Option<&Path>) -> Self {
        let cwd = resolve(Path::new("/"), cwd);
        let user = user.map(|user| resolve(Path::new("/"), user));
        let mut view = Self {
            mode,
            seat: Seat::Teammate,
            rules: Vec::new(),
            working: vec![cwd.clone()],
            cwd,
            user,
            protected: Vec::new(),
            plan_file: None,
            aliases: BTreeMap::new(),
        };
        for (path, what) in [("/dev", "a device"), ("/proc", "the kernel"), ("/sys", "the kernel")]
        {
            view.protect(Path::new(path), what);
        }
        if let Some(user) = view.user.clone() {
            for name in [".ssh", ".gnupg", ".netrc", ".aws/credentials", ".git-credentials"] {
                view.protect(&user.join(name), "keys");
            }
            for name in ["settings.json", "settings.local.json"] {
                view.protect(&user.join(".claude").join(name), "settings");
            }
        }
        view.protect_settings_of(&view.cwd.clone());
        view
    }

    /// Team, task, ask, journal and transcript files below the home directory, and what is run
    /// when a shell starts. Plans stay writable.
    pub fn protect_home(&mut self, home: &Home) {
        let root = home.root();
        self.protect(&home.teams(), "team files");
        self.protect(&home.task_lists(), "task files");
        self.protect(&root.join("projects"), "transcripts");
        self.protect(&home.ours(), "journals, asks and locks");
        self.protect(&root.join("shell-snapshots"), "what shells begin with");
        self.protect(&root.join("session-env"), "what shells begin with");
        self.protect(&root.join("settings.json"), "settings");
        self.protect(&root.join("settings.local.json"), "settings");
    }

    pub fn protect(&mut self, path: &Path, what: &'static str) {
        // Both the path and where it leads: a link must not be replaced either.
        for path in [resolve(&self.cwd, path), self.cwd.join(path)] {
            let one = Protected { path, what };
            if !self.protected.contains(&one) {
                self.protected.push(one);
            }
        }
    }

    fn protect_settings_of(&mut self, dir: &Path) {
        for place in [".claude", ".quarterdeck"] {
            for name in ["settings.json", "settings.local.json"] {
                self.protect(&dir.join(place).join(name), "settings");
            }
        }
    }

    /// One more directory to work in.
    pub fn add_directory(&mut self, dir: &Path) {
        let dir = match (dir.strip_prefix("~"), &self.user) {
            (Ok(rest), Some(user)) => resolve(user, rest),
            (Ok(_) | Err(_), _) => resolve(&self.cwd, dir),
        };
        self.protect_settings_of(&dir);
        if !self.working.contains(&dir) {
            self.working.push(dir);
        }
    }

    /// The rules and directories of one settings file. What cannot be understood is handed back;
    /// the rest holds.
    pub fn add_layer(&mut self, layer: &Layer) -> Vec<RuleError> {
        let bases =
            Bases { cwd: self.cwd.clone(), user: self.user.clone(), settings: layer.base.clone() };
        let source = Source::File(layer.file.clone());
        self.protect(&layer.file, "settings");
        let mut wrong = Vec::new();
        let lists =
            [(Effect::Deny, &layer.deny), (Effect::Ask, &layer.ask), (Effect::Allow, &layer.allow)];
        for (effect, texts) in lists {
            for text in texts {
                match Rule::parse(text, effect, source.clone(), &bases) {
                    Ok(rule) => self.rules.push(rule),
                    Err(error) => wrong.push(error),
                }
            }
        }
        for dir in &layer.directories {
            self.add_directory(dir);
        }
        wrong
    }

    pub(super) fn is_inside(&self, path: &Path) -> bool {
        self.working.iter().any(|dir| is_below(path, dir))
    }

    pub(super) fn protection(&self, path: &Path) -> Option<&Protected> {
        self.protected.iter().find(|protected| is_below(path, &protected.path))
    }
}
