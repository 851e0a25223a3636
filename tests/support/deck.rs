//! The real program on a home directory of its own.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use quarterdeck::protocol::ids::{AgentName, TeamDir};
use quarterdeck::settings::paths::Home;
use quarterdeck::store::{Durability, Store};
use tempfile::TempDir;

pub struct Deck {
    dir: TempDir,
}

/// How one run of the program ended.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// The one JSON value that was printed.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    #[track_caller]
    pub fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{self:?}");
        self
    }
}

impl Deck {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a temporary directory") }
    }

    /// With a team `t` and these teammates.
    pub fn with_team(teammates: &[&str]) -> Self {
        let deck = Self::new();
        deck.run(&["team", "create", "t", "--cwd", "/demo"]).ok();
        for name in teammates {
            deck.run(&["team", "join", "t", name, "--cwd", "/demo"]).ok();
        }
        deck
    }

    pub fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    pub fn store(&self) -> Store {
        Store::open(Home::at(self.home()), Durability::ProcessCrash)
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quarterdeck"));
        command.args(args).env("QUARTERDECK_HOME", self.home()).env("XDG_STATE_HOME", self.state());
        command.env_remove("QUARTERDECK_LOG").current_dir(self.dir.path());
        command
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        let ran = self.command(args).stdin(Stdio::null()).output().expect("the program runs");
        Ran {
            code: ran.status.code().expect("an exit code"),
            stdout: String::from_utf8(ran.stdout).expect("text"),
            stderr: String::from_utf8(ran.stderr).expect("text"),
        }
    }

    /// Starts the program with these lines waiting on its standard input.
    pub fn start(&self, args: &[&str], input: &str) -> Child {
        let mut child = self
            .command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        let input = input.to_owned();
        // A thread: the program may be killed, or print more than a pipe holds, before it has
        // read everything. A broken pipe is then what is wanted.
        std::thread::spawn(move || stdin.write_all(input.as_bytes()));
        child
    }

    pub fn inbox(&self, agent: &str) -> PathBuf {
        self.store().home().inbox(&team(), &AgentName::found(agent))
    }

    pub fn tasks(&self) -> PathBuf {
        self.store().home().tasks(&team())
    }

    pub fn config(&self) -> PathBuf {
        self.store().home().config(&team())
    }
}

/// The directory of the team that `with_team` makes.
pub fn team() -> TeamDir {
    TeamDir::found("t").expect("a directory")
}

/// Everything below a home that should not outlive an operation: locks, temporary files.
pub fn leftovers(home: &Path) -> Vec<PathBuf> {
    fn collect(dir: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(dir).expect("a directory") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let lock = path.is_dir() && name.ends_with(".lock");
            if lock || name.ends_with(".tmp") || name.contains(".deleted-") {
                found.push(path.clone());
            }
            if path.is_dir() {
                collect(&path, found);
            }
        }
    }
    let mut found = Vec::new();
    collect(home, &mut found);
    found
}
