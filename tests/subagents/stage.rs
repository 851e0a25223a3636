//! The real program in a project of its own, on a playbook or against its server.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::files_below;

pub struct Stage {
    dir: TempDir,
}

/// What one run printed.
#[derive(Debug)]
pub struct Show {
    pub code: i32,
    pub lines: Vec<Value>,
    pub stderr: String,
}

/// A server of playbooks that writes down what it is asked.
pub struct Served {
    child: Child,
    address: String,
    log: PathBuf,
}

impl Stage {
    pub fn new() -> Self {
        let stage = Self { dir: tempfile::tempdir().expect("a temporary directory") };
        fs::create_dir_all(stage.project()).expect("a directory");
        stage
    }

    /// With a repository that holds one file, `shared.txt`.
    pub fn with_repository() -> Self {
        let stage = Self::new();
        stage.write("shared.txt", "one\ntwo\nthree\n");
        stage.git(&["init", "-q", "-b", "main"]);
        stage.git(&["add", "shared.txt"]);
        stage.git(&["commit", "-q", "-m", "first"]);
        stage
    }

    pub fn project(&self) -> PathBuf {
        let dir = self.dir.path().canonicalize().expect("a directory");
        dir.join("project")
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.project().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(&path, text).expect("written");
        path
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.project().join(name)).unwrap_or_default()
    }

    pub fn git(&self, args: &[&str]) -> String {
        let ran = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@t"])
            .args(args)
            .current_dir(self.project())
            .output()
            .expect("git");
        assert!(ran.status.success(), "{args:?}: {ran:?}");
        String::from_utf8_lossy(&ran.stdout).into_owned()
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quarterdeck"));
        command.env("QUARTERDECK_HOME", self.dir.path().join("home"));
        command.env("XDG_STATE_HOME", self.dir.path().join("state"));
        command.env("HOME", self.dir.path()).env_remove("QUARTERDECK_LOG");
        command.current_dir(self.project()).stdin(Stdio::null());
        command
    }

    /// A run that is given the whole playbook.
    pub fn play(&self, playbook: &str, args: &[&str]) -> Show {
        let file = self.dir.path().join("playbook.yaml");
        fs::write(&file, playbook).expect("written");
        let file = file.to_string_lossy().into_owned();
        self.show(self.command().args(["run", "--playbook", &file]), args)
    }

    /// A run that asks a server.
    pub fn ask(&self, served: &Served, args: &[&str]) -> Show {
        let mut command = self.command();
        command.env("ANTHROPIC_BASE_URL", &served.address).env("ANTHROPIC_API_KEY", "sk-test");
        self.show(command.args(["run", "--model", "sonnet"]), args)
    }

    fn show(&self, command: &mut Command, args: &[&str]) -> Show {
        let ran = command.args(["--output-format", "stream-json"]).args(args).output();
        let ran = ran.expect("the program runs");
        let text = String::from_utf8(ran.stdout).expect("text");
        let parse = |line: &str| serde_json::from_str(line).expect("a line of JSON");
        let show = Show {
            code: ran.status.code().expect("an exit code"),
            lines: text.lines().map(parse).collect(),
            stderr: String::from_utf8_lossy(&ran.stderr).into_owned(),
        };
        assert!(!show.stderr.contains("panicked"), "{show:#?}");
        show
    }

    pub fn serve(&self, playbook: &str) -> Served {
        let (file, log) = (self.dir.path().join("served.yaml"), self.dir.path().join("served.log"));
        fs::write(&file, playbook).expect("written");
        let mut child = self
            .command()
            .args(["playbook", "serve"])
            .arg(&file)
            .arg("--log")
            .arg(&log)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut first = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut first).expect("a line");
        let address = first.trim().strip_prefix("listening on ").expect("an address").to_owned();
        Served { child, address, log }
    }

    /// The records of the lead's newest transcript.
    pub fn lead_records(&self) -> Vec<Value> {
        let mut paths = self.homes(".jsonl");
        paths.retain(|path| !path.to_string_lossy().contains("subagents"));
        let path = paths.into_iter().max_by_key(|path| fs::metadata(path).unwrap().modified().ok());
        records(&path.expect("a transcript"))
    }

    /// Transcripts of subagents with what is kept beside them.
    pub fn subagents(&self) -> Vec<(Value, Vec<Value>)> {
        let mut found = self.homes(".meta.json");
        found.sort();
        let read = |path: PathBuf| {
            let meta = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
            let name = path.to_string_lossy().replace(".meta.json", ".jsonl");
            (meta, records(Path::new(&name)))
        };
        found.into_iter().map(read).collect()
    }

    fn homes(&self, ending: &str) -> Vec<PathBuf> {
        let mut found = files_below(&self.dir.path().join("home/projects"));
        found.retain(|path| path.to_string_lossy().ends_with(ending));
        found
    }

    /// What the calls of the lead answered, as data.
    pub fn tool_data(&self) -> Vec<Value> {
        let records = self.lead_records();
        records
            .into_iter()
            .map(|one| one["toolUseResult"].clone())
            .filter(|it| !it.is_null())
            .collect()
    }
}

pub fn records(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("a transcript");
    text.lines().map(|line| serde_json::from_str(line).expect("a record")).collect()
}

impl Show {
    #[track_caller]
    pub fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{self:#?}");
        self
    }

    pub fn result(&self) -> &str {
        self.lines.last().and_then(|line| line["result"].as_str()).unwrap_or_default()
    }

    /// Every result of a call that reached this agent, with whether it was an error.
    pub fn results(&self, agent: &str) -> Vec<(String, bool)> {
        let blocks = self.heard(agent).into_iter().filter(|block| block["type"] == "tool_result");
        blocks.map(|block| (text_of(&block["content"]), block["is_error"] == true)).collect()
    }

    /// Every piece of what was said to an agent.
    fn heard(&self, agent: &str) -> Vec<Value> {
        let lines = self.lines.iter().filter(|line| line["type"] == "user");
        let own = lines.filter(|line| line["agent"] == agent);
        let blocks = own.flat_map(|line| {
            let content = &line["message"]["content"];
            let text = || vec![serde_json::json!({ "type": "text", "text": content })];
            content.as_array().cloned().unwrap_or_else(text)
        });
        blocks.collect()
    }

    /// Notifications of background work that reached an agent.
    pub fn notes(&self, agent: &str) -> Vec<String> {
        let texts = self.heard(agent).into_iter().filter(|block| block["type"] == "text");
        let texts = texts.map(|block| text_of(&block["text"]));
        texts.filter(|text| text.contains("<task-notification>")).collect()
    }

    /// The agents that were started, as their first event tells of them.
    pub fn started(&self) -> Vec<Value> {
        let is_start = |line: &&Value| line["status"] == "started" && line["agent"] != "team-lead";
        self.lines.iter().filter(is_start).cloned().collect()
    }

    pub fn of_type(&self, kind: &str) -> Vec<&Value> {
        self.lines.iter().filter(|line| line["type"] == kind).collect()
    }
}

fn text_of(content: &Value) -> String {
    let texts = content.as_array().into_iter().flatten().filter_map(|block| block["text"].as_str());
    content.as_str().map_or_else(|| texts.collect::<Vec<_>>().join("\n"), str::to_owned)
}

impl Served {
    /// Every request so far.
    pub fn log(&self) -> Vec<Value> {
        records(&self.log)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A playbook of a lead with these turns, and more actors.
pub fn playbook(lead: &str, others: &str) -> String {
    let turns: String = lead.trim().lines().map(|line| format!("      {line}\n")).collect();
    format!("actors:\n  - who: team-lead\n    turns:\n{turns}{others}")
}

/// One more actor.
pub fn actor(who: &str, turns: &str) -> String {
    let turns: String = turns.trim().lines().map(|line| format!("      {line}\n")).collect();
    format!("  - who: \"{who}\"\n    turns:\n{turns}")
}
