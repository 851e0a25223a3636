//! Where the program runs: a project, a home and a user of their own, and a playbook instead of
//! a model.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

/// The program: the build that the environment names, or the one under test.
pub fn program() -> String {
    let own = env!("CARGO_BIN_EXE_quarterdeck");
    env::var("QUARTERDECK_BINARY").unwrap_or_else(|_| own.to_owned())
}

pub struct Place {
    dir: TempDir,
    more: Vec<(&'static str, String)>,
}

impl Place {
    /// The lead has these turns, written as YAML list items.
    pub fn new(turns: &str) -> Self {
        Self::playing(&format!("name: test\npace: 0\nactors:\n{}", actor("team-lead", turns)))
    }

    /// A lead that starts these teammates at `gather`; each then has the turns beside its name.
    /// `go` is what a teammate is told to begin with.
    pub fn team(teammates: &[(&str, &str)]) -> Self {
        let agents: String = teammates
            .iter()
            .map(|(name, _)| {
                format!(
                    "    - {{ tool: Agent, input: {{ description: {name}, name: {name}, \
                     prompt: \"You are {name}\" }} }}\n"
                )
            })
            .collect();
        let lead = format!(
            "- when: {{ user: gather }}\n  call:\n    \
             - {{ tool: TeamCreate, input: {{ team_name: crew }} }}\n{agents}\
             - when: {{ result_of: Agent }}\n  say: \"Everyone is here.\"\n\
             - when: {{ any: true }}\n  repeat: true\n  say: \"Noted.\""
        );
        let mut book = format!("name: test\npace: 0\nactors:\n{}", actor("team-lead", &lead));
        for (name, turns) in teammates {
            let first =
                format!("- when: {{ user: \"You are {name}\" }}\n  say: \"{name} is here.\"");
            let last = format!("- when: {{ any: true }}\n  repeat: true\n  say: \"{name} waits.\"");
            book += &actor(name, &format!("{first}\n{turns}\n{last}"));
        }
        Self::playing(&book)
    }

    pub fn playing(book: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["project", "user", "home"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        fs::write(dir.path().join("book.yaml"), book).unwrap();
        Self { dir, more: Vec::new() }
    }

    /// With one more variable in the environment.
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.more.push((name, value.into()));
        self
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    pub fn book(&self) -> String {
        self.path("book.yaml").display().to_string()
    }

    /// Whether the project has this file.
    pub fn has(&self, name: &str) -> bool {
        self.path("project").join(name).exists()
    }

    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let path = env::var("PATH").unwrap_or_default();
        let user = self.path("user").display().to_string();
        // All else is below a HOME that the environment names, as with somebody's own.
        let homes = match env::var("QUARTERDECK_BINARY_HOME") {
            Ok(home) => vec![("HOME", home)],
            Err(_) => {
                let ours = self.path("home").display().to_string();
                vec![("HOME", user), ("QUARTERDECK_HOME", ours)]
            }
        };
        let usual = [
            ("PATH", path),
            ("TERM", "xterm-256color".to_owned()),
            ("COLORTERM", "truecolor".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("SHELL", "/bin/sh".to_owned()),
            ("TMPDIR", self.path("user").display().to_string()),
        ];
        usual.into_iter().chain(homes).chain(self.more.clone()).collect()
    }

    /// Runs the program without a terminal.
    pub fn run(&self, args: &[&str]) -> String {
        let mut command = Command::new(program());
        command.args(args).current_dir(self.path("project")).env_clear().envs(self.variables());
        let ran = command.output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap()
    }
}

fn actor(name: &str, turns: &str) -> String {
    let turns: String = turns.lines().map(|line| format!("      {line}\n")).collect();
    format!("  - who: {name}\n    turns:\n{turns}")
}

/// A teammate that runs a command when it is told to `go`, and says how that went.
pub fn runs(name: &str, command: &str) -> String {
    format!(
        "- when: {{ user: \"^go\" }}\n  call: [{{ tool: Bash, input: {{ command: \"{command}\", \
         description: \"What {name} wants\" }} }}]\n\
         - when: {{ error_of: Bash }}\n  say: \"{name} may not.\"\n\
         - when: {{ result_of: Bash }}\n  say: \"{name} has done it.\""
    )
}
