//! A small disk with everything that decisions depend on.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use quarterdeck::permission::{Access, Bases, Effect, Rule, Source, View};
use quarterdeck::protocol::op::Mode;
use quarterdeck::settings::paths::Home;
use tempfile::TempDir;

pub struct World {
    _dir: TempDir,
    pub root: PathBuf,
}

impl World {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for name in [
            "w/src",
            "w/.claude",
            "w/a/b/c",
            "w/.git",
            "w/bare",
            "other",
            "outside/deep",
            "user/.ssh",
            "home/teams",
            "settings",
        ] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        std::fs::write(root.join("w/src/main.rs"), "fn main() {}\n").unwrap();
        for name in ["w/bare/HEAD", "w/bare/config", "w/.claude/settings.json"] {
            std::fs::write(root.join(name), "").unwrap();
        }
        symlink(root.join("user/.ssh"), root.join("w/tokeys")).unwrap();
        symlink(root.join("outside/deep"), root.join("w/link")).unwrap();
        symlink("a/b/c", root.join("w/ink")).unwrap();
        symlink("/etc/passwd", root.join("w/passwd")).unwrap();
        symlink(root.join("home/teams"), root.join("w/toteams")).unwrap();
        Self { _dir: dir, root }
    }

    pub fn w(&self) -> PathBuf {
        self.root.join("w")
    }

    pub fn view(&self, mode: Mode) -> View {
        let mut view = View::new(mode, &self.w(), Some(&self.root.join("user")));
        view.protect_home(&Home::at(self.root.join("home")));
        view.add_directory(&self.root.join("other"));
        view.add_directory(&self.root.join("home/plans"));
        view.plan_file = Some(self.w().join("plan.md"));
        view
    }

    pub fn rule(&self, effect: Effect, text: &str) -> Rule {
        let bases = Bases {
            cwd: self.w(),
            user: Some(self.root.join("user")),
            settings: self.root.join("settings"),
        };
        let source = Source::File("rules.json".into());
        Rule::parse(text, effect, source, &bases).unwrap_or_else(|error| panic!("{error}"))
    }

    /// The names of places in a text, filled in.
    pub fn fill(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for name in ["w", "other", "user", "home", "settings"] {
            let path = self.root.join(name);
            text = text.replace(&format!("{{{name}}}"), &path.display().to_string());
        }
        text.replace("{root}", &self.root.display().to_string())
    }
}

/// What a case touches, and which tool would.
pub fn access(kind: &str, text: &str) -> (String, Access) {
    let path = || Path::new(text).to_owned();
    let (tool, access) = match kind {
        "run" => ("Bash", Access::Run(text.to_owned())),
        "read" => ("Read", Access::Read(path())),
        "grep" => ("Grep", Access::Read(path())),
        "write" => ("Write", Access::Write(path())),
        "fetch" => ("WebFetch", Access::Fetch(text.to_owned())),
        "spawn" => ("Task", Access::Spawn(text.to_owned())),
        "skill" => ("Skill", Access::Free),
        "free" => (text, Access::Free),
        "mcp" => {
            let (server, tool) = text.split_once('/').unwrap();
            let access = Access::Mcp { server: server.to_owned(), tool: tool.to_owned() };
            return (format!("mcp__{server}__{tool}"), access);
        }
        other => panic!("no access is called {other}"),
    };
    (tool.to_owned(), access)
}
