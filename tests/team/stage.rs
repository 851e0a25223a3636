//! The real program with a team, on a playbook, in a project of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

pub const PATIENCE: Duration = Duration::from_secs(90);

pub struct Stage {
    dir: TempDir,
}

/// What one run printed.
pub struct Show {
    pub code: i32,
    pub lines: Vec<Value>,
    pub stderr: String,
}

impl Stage {
    pub fn new(playbook: &str) -> Self {
        let stage = Self { dir: tempfile::tempdir().unwrap() };
        fs::create_dir_all(stage.project()).unwrap();
        fs::write(stage.root().join("book.yaml"), playbook).unwrap();
        // What a playbook calls to keep the files as they are at a moment.
        let home = stage.home().display().to_string();
        let snap = format!("mkdir -p snaps && rm -rf snaps/$1 && cp -r {home} snaps/$1\n");
        fs::write(stage.project().join("snap"), snap).unwrap();
        let read = format!("cat {home}/teams/*/config.json\n");
        fs::write(stage.project().join("roster"), read).unwrap();
        stage
    }

    /// On a playbook of `tests/playbooks/team`.
    pub fn of(name: &str) -> Self {
        let books = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/playbooks/team");
        Self::new(&fs::read_to_string(books.join(name)).unwrap())
    }

    fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    pub fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// The files as they were when the playbook kept them.
    pub fn snap(&self, number: u32) -> PathBuf {
        self.project().join("snaps").join(number.to_string())
    }

    pub fn program(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quarterdeck"));
        command.args(args).current_dir(self.project()).env_clear().stdin(Stdio::null());
        command.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", self.root());
        command.env("SHELL", "/bin/sh").env("QUARTERDECK_HOME", self.home());
        command
    }

    pub fn run(&self, args: &[&str]) -> Command {
        let book = self.root().join("book.yaml").display().to_string();
        let mut command = self.program(&["run", "--playbook", &book]);
        command.args(["--output-format", "stream-json"]).args(args);
        command
    }

    pub fn show(&self, args: &[&str]) -> Show {
        let ran = self.run(args).output().unwrap();
        let text = String::from_utf8(ran.stdout).unwrap();
        let parse = |line: &str| serde_json::from_str(line).unwrap();
        let stderr = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(!stderr.contains("panicked"), "{stderr}");
        let code = ran.status.code().unwrap();
        Show { code, lines: text.lines().map(parse).collect(), stderr }
    }

    /// A run that goes on, its lines in a file.
    pub fn start(&self, args: &[&str]) -> Child {
        let mut options = fs::OpenOptions::new();
        let lines = options.create(true).append(true).open(self.root().join("lines")).unwrap();
        self.run(args).stdout(lines).stderr(Stdio::null()).spawn().unwrap()
    }

    /// What a command of the program printed as JSON.
    pub fn json(&self, args: &[&str]) -> Option<Value> {
        let ran = self.program(&["--json"]).args(args).output().unwrap();
        serde_json::from_slice(&ran.stdout).ok()
    }

    /// The transcripts of teammates, by name.
    pub fn transcripts(&self) -> Vec<(String, Vec<Value>)> {
        let mut found = crate::support::files_below(&self.home().join("projects"));
        found.retain(|path| path.to_string_lossy().ends_with(".meta.json"));
        let read = |path: &PathBuf| {
            let meta: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
            let lines = path.to_string_lossy().replace(".meta.json", ".jsonl");
            let name = meta["name"].as_str().unwrap_or_default().to_owned();
            (name, records(Path::new(&lines)))
        };
        found.iter().map(read).collect()
    }

    /// Every fact of the one session, in order.
    pub fn facts(&self) -> Vec<Value> {
        let mut found = crate::support::files_below(&self.home().join("quarterdeck/sessions"));
        found.retain(|path| path.ends_with("events.jsonl"));
        assert_eq!(found.len(), 1, "{found:?}");
        records(&found[0])
    }
}

pub fn records(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    // A killed writer may leave half a line.
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

impl Show {
    pub fn of_type<'s>(&'s self, kind: &'s str) -> impl Iterator<Item = &'s Value> {
        self.lines.iter().filter(move |line| line["type"] == kind)
    }

    /// Everything that an agent was told, as text.
    pub fn heard(&self, agent: &str) -> String {
        let own = self.of_type("user").filter(|line| line["agent"] == agent);
        own.map(|line| line["message"]["content"].to_string()).collect()
    }
}

/// Waits for a process to end.
pub fn ended(child: &mut Child) -> Option<i32> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        assert!(Instant::now() < deadline, "it does not end");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Numbers that are the same in every run.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}
