//! The real program in a project of its own, on a playbook.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::support::deck::{Deck, Ran};
use crate::support::files_below;

pub struct Case {
    pub deck: Deck,
}

impl Case {
    pub fn new(playbook: &str) -> Self {
        let case = Self { deck: Deck::new() };
        fs::create_dir(case.project()).unwrap();
        fs::write(case.file(), playbook).unwrap();
        case
    }

    fn root(&self) -> PathBuf {
        self.deck.home().parent().unwrap().canonicalize().unwrap()
    }

    pub fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    pub fn file(&self) -> PathBuf {
        self.root().join("book.yaml")
    }

    /// A command in the project, which knows nothing of this machine's user.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = self.deck.command(args);
        command.current_dir(self.project()).stdin(Stdio::null());
        command.env("HOME", self.root()).env("XDG_CONFIG_HOME", self.root().join("config"));
        for name in ["CLAUDE_CONFIG_DIR", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"] {
            command.env_remove(name);
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// `run` with the playbook, one JSON object for each event.
    pub fn play(&self, more: &[&str]) -> Command {
        let file = self.file();
        let mut args =
            vec!["run", "--playbook", file.to_str().unwrap(), "--output-format", "stream-json"];
        args.extend(more);
        self.command(&args)
    }

    pub fn start(&self, more: &[&str]) -> Child {
        self.play(more).spawn().unwrap()
    }

    pub fn run(&self, more: &[&str]) -> Ran {
        ran(&mut self.play(more))
    }

    /// The lead's transcript.
    pub fn transcript(&self) -> PathBuf {
        let all = files_below(&self.deck.home().join("projects"));
        let is_lead = |path: &PathBuf| {
            path.extension().is_some_and(|end| end == "jsonl")
                && !path.to_string_lossy().contains("/subagents/")
        };
        all.into_iter().find(is_lead).unwrap()
    }

    /// What the commands wrote.
    pub fn log(&self) -> Vec<String> {
        let text = fs::read_to_string(self.project().join("log")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// The playbook as a server: its address, the file that it writes requests to, and what
    /// ends it.
    pub fn serve(&self) -> Served {
        let log = self.root().join("requests.jsonl");
        let (file, log_arg) = (self.file(), log.to_str().unwrap().to_owned());
        let args = ["playbook", "serve", file.to_str().unwrap(), "--port", "0", "--log", &log_arg];
        let mut child = self.command(&args).spawn().unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("listening on ").expect("an address").to_owned();
        Served { url, log, child }
    }
}

pub struct Served {
    pub url: String,
    log: PathBuf,
    child: Child,
}

impl Served {
    /// The bodies of the requests so far.
    pub fn requests(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn ran(command: &mut Command) -> Ran {
    let ran = command.output().unwrap();
    Ran {
        code: ran.status.code().unwrap(),
        stdout: String::from_utf8(ran.stdout).unwrap(),
        stderr: String::from_utf8(ran.stderr).unwrap(),
    }
}

pub fn lines(ran: &Ran) -> Vec<Value> {
    ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Reads until a line of this type was printed, or the end.
pub fn read_until(out: &mut impl BufRead, kind: &str) -> Vec<Value> {
    let (mut seen, mut line) = (Vec::new(), String::new());
    while out.read_line(&mut line).unwrap() > 0 {
        let value: Value = serde_json::from_str(&line).unwrap();
        let found = value["type"] == kind;
        seen.push(value);
        line.clear();
        if found {
            break;
        }
    }
    seen
}

/// What came until the program was gone; its last line may be cut.
pub fn rest(out: &mut impl BufRead) -> Vec<Value> {
    let mut text = Vec::new();
    out.read_to_end(&mut text).unwrap();
    let text = String::from_utf8_lossy(&text).into_owned();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}
