//! All that a decision may depend on, gathered once and then only read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::load::layer_source;
use super::path::{is_below, resolve};
use super::rule::{Bases, Content, Effect, Rule, RuleError, Source};
use super::shell::pattern::Reach;
use super::touch::{Place, reads};
use crate::protocol::op::Mode;
use crate::settings::paths::{self, Home};
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
    /// Shared between copies, as a view is copied for every use of a tool.
    pub protected: Arc<Vec<Protected>>,
    /// Files that hold keys.
    pub secrets: Arc<Vec<Secret>>,
    /// What the agent may write in plan mode.
    pub plan_file: Option<PathBuf>,
    /// Aliases of the shell that commands run in.
    pub aliases: Arc<BTreeMap<String, String>>,
    /// Names that are functions in that shell: nobody knows what they do.
    pub functions: Arc<BTreeSet<String>>,
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

impl Protected {
    pub(super) fn is_of_system(&self) -> bool {
        self.what == DEVICE || self.what == KERNEL
    }
}

const DEVICE: &str = "a device";
const KERNEL: &str = "the kernel";

/// A file or directory that holds keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    pub path: PathBuf,
    pub secrecy: Secrecy,
}

/// How well keys are kept from agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Secrecy {
    /// Read only after asking, unless a rule names the path.
    Asked,
    /// Never read by a tool.
    Never,
}

/// Where keys are in a user's home.
const KEYS: [&str; 13] = [
    ".ssh",
    ".gnupg",
    ".netrc",
    ".aws/credentials",
    ".git-credentials",
    ".config/git/credentials",
    ".config/gh/hosts.yml",
    ".config/gcloud",
    ".docker/config.json",
    ".kube/config",
    ".npmrc",
    ".pypirc",
    ".claude.json",
];

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
            protected: Arc::default(),
            secrets: Arc::default(),
            plan_file: None,
            aliases: Arc::default(),
            functions: Arc::default(),
        };
        for (path, what) in [("/dev", DEVICE), ("/proc", KERNEL), ("/sys", KERNEL)] {
            view.protect(Path::new(path), what);
        }
        if let Some(user) = view.user.clone() {
            for name in KEYS {
                view.protect(&user.join(name), "keys");
                view.keep_secret(&user.join(name), Secrecy::Asked);
            }
            view.keep_secret(&user.join(".claude/.credentials.json"), Secrecy::Never);
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
        self.keep_secret(&root.join(".credentials.json"), Secrecy::Never);
        if let Some(config) = paths::config_dir() {
            self.keep_secret(&config, Secrecy::Never);
        }
    }

    /// Keeps a file, and all below it, from being read; what is never read is never written.
    pub fn keep_secret(&mut self, path: &Path, secrecy: Secrecy) {
        if secrecy == Secrecy::Never {
            self.protect(path, "keys");
        }
        let secrets = Arc::make_mut(&mut self.secrets);
        for path in [resolve(&self.cwd, path), self.cwd.join(path)] {
            let one = Secret { path, secrecy };
            if !secrets.contains(&one) {
                secrets.push(one);
            }
        }
    }

    pub fn protect(&mut self, path: &Path, what: &'static str) {
        // Both the path and where it leads: a link must not be replaced either.
        let protected = Arc::make_mut(&mut self.protected);
        for path in [resolve(&self.cwd, path), self.cwd.join(path)] {
            let one = Protected { path, what };
            if !protected.contains(&one) {
                protected.push(one);
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

    /// A rule that allows something while the session lasts, if it can be understood.
    pub fn session_rule(&self, text: &str) -> Option<Rule> {
        let (cwd, user) = (self.cwd.clone(), self.user.clone());
        let bases = Bases { settings: cwd.clone(), cwd, user };
        Rule::parse(text, Effect::Allow, Source::Session, &bases).ok()
    }

    /// Rules that the person's own command of this name allows for one turn. Hands back what is
    /// no rule.
    pub fn lend(&mut self, name: &str, rules: &[String]) -> Vec<RuleError> {
        let (cwd, user) = (self.cwd.clone(), self.user.clone());
        let bases = Bases { settings: cwd.clone(), cwd, user };
        let mut wrong = Vec::new();
        for text in rules {
            match Rule::parse(text, Effect::Allow, Source::Recipe(name.to_owned()), &bases) {
                Ok(rule) => self.rules.push(rule),
                Err(error) => wrong.push(error),
            }
        }
        wrong
    }

    /// Takes back what was lent. `false` where nothing was.
    pub fn take_back(&mut self) -> bool {
        let before = self.rules.len();
        self.rules.retain(|rule| !matches!(rule.source, Source::Recipe(_)));
        self.rules.len() < before
    }

    /// One more rule that denies while the session lasts. If it cannot be understood, all uses of
    /// its tool are asked for.
    pub fn forbid(&mut self, text: &str) {
        let (cwd, user) = (self.cwd.clone(), self.user.clone());
        let bases = Bases { settings: cwd.clone(), cwd, user };
        let rule = Rule::parse(text, Effect::Deny, Source::Session, &bases);
        let rule = rule.ok().or_else(|| Rule::in_place_of(text, Effect::Deny, Source::Session));
        self.rules.extend(rule);
    }

    /// The rules and directories of one settings file. What cannot be understood is handed back;
    /// the rest holds. In place of a rule that forbids or asks, all uses of its tool are asked.
    pub fn add_layer(&mut self, layer: &Layer) -> Vec<RuleError> {
        let bases =
            Bases { cwd: self.cwd.clone(), user: self.user.clone(), settings: layer.base.clone() };
        let source = layer_source(layer);
        if source != Source::CommandLine {
            self.protect(&layer.file, "settings");
        }
        let mut wrong = Vec::new();
        let lists =
            [(Effect::Deny, &layer.deny), (Effect::Ask, &layer.ask), (Effect::Allow, &layer.allow)];
        for (effect, texts) in lists {
            for text in texts {
                match Rule::parse(text, effect, source.clone(), &bases) {
                    Ok(rule) => self.rules.push(rule),
                    Err(error) => {
                        self.rules.extend(Rule::in_place_of(text, effect, source.clone()));
                        wrong.push(error);
                    }
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

    /// What would go when all below `dir` is taken away.
    pub(super) fn protected_below(&self, dir: &Path) -> Option<&Protected> {
        let mut below = self.protected.iter().filter(|one| is_below(&one.path, dir));
        below.find(|one| one.path.symlink_metadata().is_ok())
    }

    /// Whether a place holds keys. A rule that names the path opens what is only asked for.
    pub(super) fn secret_at(&self, place: &Place) -> Option<(PathBuf, Secrecy)> {
        let found = self.secrecy(&place.path).max(self.secrecy(&place.given))?;
        let opens = |rule: &Rule| {
            rule.effect == Effect::Allow
                && matches!(*rule.content, Content::Paths(_))
                && reads(rule, "Read", place) == Reach::Covers
        };
        let open = found == Secrecy::Asked && self.rules.iter().any(opens);
        (!open).then(|| (place.path.clone(), found))
    }

    fn secrecy(&self, path: &Path) -> Option<Secrecy> {
        let of_process = path.starts_with("/proc")
            && path.file_name().is_some_and(|name| name == "environ" || name == "mem");
        let kept = self.secrets.iter().filter(|secret| is_below(path, &secret.path));
        let kept = kept.map(|secret| secret.secrecy).max();
        kept.max(of_process.then_some(Secrecy::Never))
    }

    /// Keys somewhere below a directory, which are asked for when all of it is searched.
    pub(super) fn secret_below(&self, dir: &Path) -> Option<(PathBuf, Secrecy)> {
        let mut below = self.secrets.iter().filter(|secret| is_below(&secret.path, dir));
        let found = below.find(|secret| secret.path.symlink_metadata().is_ok());
        found.map(|secret| (secret.path.clone(), Secrecy::Asked))
    }
}
