//! A project, a home and a user of their own, and the real program on a playbook.
#![allow(clippy::disallowed_methods)] // nobody else runs while a test waits for a state

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Long, for a machine that does much else. Nothing that works takes it.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub struct Rig {
    dir: TempDir,
    pub project: PathBuf,
    book: PathBuf,
}

/// The playbook as a server of the Messages API that writes down what it is asked.
pub struct Served {
    child: Child,
    pub url: String,
    log: PathBuf,
}

impl Served {
    /// Every request so far: who asked, why, and the body.
    pub fn log(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The requests of one agent.
    pub fn of(&self, agent: &str) -> Vec<Value> {
        self.log().into_iter().filter(|one| one["agent"] == agent).collect()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    #[track_caller]
    pub fn code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        self
    }

    /// Every line of stdout, each of which is JSON.
    #[track_caller]
    pub fn lines(&self) -> Vec<Value> {
        let line = |line: &str| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
        };
        self.stdout.lines().map(line).collect()
    }

    /// Every piece of what was said to an agent: words, and results of its calls.
    pub fn heard(&self, agent: &str) -> Vec<Value> {
        heard(&self.lines(), agent)
    }

    /// The notifications that reached an agent.
    pub fn notes(&self, agent: &str) -> Vec<String> {
        let texts = self.heard(agent).into_iter();
        let texts = texts.filter_map(|block| Some(block["text"].as_str()?.to_owned()));
        texts.filter(|text| text.contains("<task-notification>")).collect()
    }

    /// The results of an agent's calls, with whether they are errors.
    pub fn results(&self, agent: &str) -> Vec<(String, bool)> {
        let results = self.heard(agent).into_iter().filter(|block| block["type"] == "tool_result");
        results.map(|block| (text_of(&block["content"]), block["is_error"] == true)).collect()
    }

    /// What is told of the agents that were started.
    pub fn started(&self) -> Vec<Value> {
        let is_start = |line: &Value| line["status"] == "started" && line["agent"] != "team-lead";
        self.lines().into_iter().filter(is_start).collect()
    }

    /// The last line.
    #[track_caller]
    pub fn result(&self) -> Value {
        let last = self.lines().pop().unwrap_or_else(|| panic!("nothing: {self:?}"));
        assert_eq!(last["type"], "result", "{self:?}");
        last
    }
}

fn heard(lines: &[Value], agent: &str) -> Vec<Value> {
    let own = lines.iter().filter(|line| line["type"] == "user" && line["agent"] == agent);
    let blocks = own.flat_map(|line| {
        let content = &line["message"]["content"];
        let text = || vec![json!({ "type": "text", "text": content })];
        content.as_array().cloned().unwrap_or_else(text)
    });
    blocks.collect()
}

fn text_of(content: &Value) -> String {
    let texts = content.as_array().into_iter().flatten().filter_map(|block| block["text"].as_str());
    content.as_str().map_or_else(|| texts.collect::<Vec<_>>().join("\n"), str::to_owned)
}

impl Rig {
    /// On a playbook whose lead has these turns, written as YAML list items.
    pub fn new(turns: &str) -> Self {
        Self::with_actors(&format!("  - who: team-lead\n    turns:\n{}", indented(turns, 6)))
    }

    pub fn with_actors(actors: &str) -> Self {
        let mut rig = Self::at(PathBuf::new());
        rig.book = rig.root().join("book.yaml");
        let playbook = format!("name: test\npace: 0\nactors:\n{actors}\n");
        fs::write(&rig.book, playbook).unwrap();
        rig
    }

    /// On a playbook of `tests/playbooks`.
    pub fn on(name: &str) -> Self {
        let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/playbooks");
        let book = all.join(format!("{name}.yaml"));
        assert!(book.is_file(), "there is no playbook {}", book.display());
        Self::at(book)
    }

    fn at(book: PathBuf) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let project = root.join("project");
        for name in ["project", "user"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        Self { dir, project, book }
    }

    /// The project is a repository with one commit.
    pub fn in_git(self) -> Self {
        fs::write(self.project.join("kept.txt"), "kept\n").unwrap();
        for args in [
            &["init", "-q", "-b", "main"][..],
            &["add", "."],
            &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first"],
        ] {
            let mut git = Command::new("git");
            git.args(args).current_dir(&self.project).env("HOME", self.user());
            assert!(git.status().unwrap().success(), "git {args:?}");
        }
        self
    }

    pub fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    pub fn user(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("user")
    }

    pub fn book(&self) -> String {
        self.book.to_string_lossy().into_owned()
    }

    /// The program, where nothing of the user who runs the tests is seen.
    pub fn program(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quarterdeck"));
        command.args(args).current_dir(&self.project).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", self.user());
        command.env("SHELL", "/bin/bash").env("QUARTERDECK_HOME", self.home());
        command.env("QUARTERDECK_POLICY_AGENTS", self.root().join("policy"));
        command
    }

    /// Any command of the program.
    pub fn quarterdeck(&self, args: &[&str]) -> Ran {
        ran(self.program(args).stdin(Stdio::null()).output().unwrap())
    }

    /// Writes a file of the project.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.project.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// What is in a file of the project; nothing where there is none.
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.project.join(name)).unwrap_or_default()
    }

    /// Waits until a file of the project is there.
    #[track_caller]
    pub fn appears(&self, name: &str) {
        until(name, || self.project.join(name).exists().then_some(()));
    }

    pub fn serve(&self) -> Served {
        let log = self.root().join("requests.jsonl");
        let mut command = self.program(&["playbook", "serve", &self.book(), "--log"]);
        let mut child = command.arg(&log).stdout(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let url = first.trim().strip_prefix("listening on ").expect("an address").to_owned();
        Served { child, url, log }
    }

    /// `run` against a server, with its lines.
    pub fn ask(&self, served: &Served, args: &[&str]) -> Ran {
        let mut command = self.asking(served, args);
        ran(command.stdin(Stdio::null()).output().unwrap())
    }

    fn asking(&self, served: &Served, args: &[&str]) -> Command {
        let mut command = self.program(&["run", "--model", "sonnet"]);
        command.env("ANTHROPIC_BASE_URL", &served.url).env("ANTHROPIC_API_KEY", "sk-test");
        command.args(["--output-format", "stream-json"]).args(args);
        command
    }

    /// A run that is driven by lines, against a server.
    pub fn drive(&self, served: &Served, args: &[&str]) -> Going {
        let lines = ["--input-format", "stream-json"];
        going(self.asking(served, &[&lines, args].concat()))
    }

    /// A run that is driven by lines, on the playbook itself.
    pub fn driven(&self, args: &[&str]) -> Going {
        let lines = ["--input-format", "stream-json", "--output-format", "stream-json"];
        self.start(&[&lines, args].concat())
    }

    /// The records of the lead's transcript.
    pub fn records(&self) -> Vec<Value> {
        let mut found = super::files_below(&self.home().join("projects"));
        found.retain(|path| {
            let path = path.to_string_lossy();
            path.ends_with(".jsonl") && !path.contains("/subagents/")
        });
        assert_eq!(found.len(), 1, "{found:?}");
        let text = fs::read_to_string(&found[0]).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn run_command(&self, args: &[&str]) -> Command {
        let mut command = self.program(&["run", "--playbook", &self.book()]);
        command.args(args);
        command
    }

    /// `run` on the playbook.
    pub fn run(&self, args: &[&str]) -> Ran {
        ran(self.run_command(args).stdin(Stdio::null()).output().unwrap())
    }

    /// `run` on the playbook, with its lines.
    pub fn stream(&self, args: &[&str]) -> Ran {
        let stream = ["--output-format", "stream-json"];
        self.run(&[&stream, args].concat())
    }

    /// `run` with something on its standard input.
    pub fn fed(&self, args: &[&str], input: &str) -> Ran {
        let mut going = self.start(args);
        going.write(input);
        going.close_input();
        going.end()
    }

    pub fn start(&self, args: &[&str]) -> Going {
        going(self.run_command(args))
    }

    /// The one session there is.
    pub fn session(&self) -> String {
        let listed = fs::read_dir(self.home().join("quarterdeck/sessions")).unwrap();
        let mut ids: Vec<String> =
            listed.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        assert_eq!(ids.len(), 1, "{ids:?}");
        ids.remove(0)
    }

    /// How many asks were ever put.
    pub fn asks_put(&self) -> usize {
        let sessions = self.home().join("quarterdeck/sessions");
        let dirs = fs::read_dir(sessions).into_iter().flatten().flatten();
        let asks = dirs.flat_map(|dir| fs::read_dir(dir.path().join("asks")).into_iter().flatten());
        let is_ask = |name: &str| name.ends_with(".json") && name.contains('@');
        asks.flatten().filter(|ask| is_ask(&ask.file_name().to_string_lossy())).count()
    }

    /// The open asks of the one session, once there are some.
    pub fn asked(&self) -> Vec<Value> {
        until("an ask", || {
            // The program is started only when there is something to list.
            (self.asks_put() > 0).then_some(())?;
            let listed = self.quarterdeck(&["--json", "asks", "list", "latest"]);
            let asks: Vec<Value> = serde_json::from_str(&listed.stdout).ok()?;
            (!asks.is_empty()).then_some(asks)
        })
    }
}

fn going(mut command: Command) -> Going {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (out, lines) = channel();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    std::thread::spawn(move || {
        for line in stdout.lines().map_while(Result::ok) {
            let _ = out.send(line);
        }
    });
    let (err, complaints) = channel();
    let stderr = BufReader::new(child.stderr.take().unwrap());
    std::thread::spawn(move || {
        for line in stderr.lines().map_while(Result::ok) {
            let _ = err.send(line);
        }
    });
    let input = child.stdin.take();
    Going { child, input, lines, complaints, seen: Vec::new(), requests: 0 }
}

/// A run that goes on.
pub struct Going {
    pub child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    complaints: Receiver<String>,
    seen: Vec<String>,
    requests: u32,
}

impl Going {
    /// Says something to the lead.
    pub fn say(&mut self, text: &str) {
        self.say_when(text, "next");
    }

    pub fn say_when(&mut self, text: &str, priority: &str) {
        let message = json!({ "role": "user", "content": text });
        let line = json!({ "type": "user", "message": message, "priority": priority });
        self.write(&format!("{line}\n"));
    }

    /// Makes a request, whose answer comes as a line. Returns its id.
    pub fn request(&mut self, request: &Value) -> String {
        self.requests += 1;
        let id = format!("request-{}", self.requests);
        let line = json!({ "type": "control_request", "request_id": id, "request": request });
        self.write(&format!("{line}\n"));
        id
    }

    /// Makes a request and waits for its answer.
    #[track_caller]
    pub fn control(&mut self, request: &Value) -> Value {
        let id = self.request(request);
        let line = self.line("control_response");
        assert_eq!(line["response"]["request_id"], id.as_str(), "{line}");
        line["response"].clone()
    }

    /// Makes a request that is granted.
    #[track_caller]
    pub fn granted(&mut self, request: &Value) -> Value {
        let answer = self.control(request);
        assert_eq!(answer["subtype"], "success", "{request}: {answer}");
        answer["response"].clone()
    }

    /// Ends it as the power would.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub fn write(&mut self, text: &str) {
        // It may have ended already, which the test sees elsewhere.
        let _ = self.input.as_mut().unwrap().write_all(text.as_bytes());
    }

    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// The next line of this type; all lines are kept for the end.
    #[track_caller]
    pub fn line(&mut self, kind: &str) -> Value {
        self.line_with(kind, |line| line["type"] == kind)
    }

    /// The next line with these words.
    #[track_caller]
    pub fn line_saying(&mut self, words: &str) -> Value {
        self.line_with(words, |line| line.to_string().contains(words))
    }

    #[track_caller]
    pub fn line_with(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left);
            let line = line.unwrap_or_else(|_| panic!("no {what} in {:#?}", self.seen));
            self.seen.push(line.clone());
            let line: Value = serde_json::from_str(&line).unwrap();
            if fits(&line) {
                return line;
            }
        }
    }

    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }

    #[track_caller]
    pub fn end(mut self) -> Ran {
        self.input = None;
        let child = &mut self.child;
        let status = until("the end", || child.try_wait().unwrap());
        // Its output ends with it.
        self.seen.extend(self.lines.iter());
        let join = |lines: Vec<String>| lines.into_iter().map(|line| line + "\n").collect();
        Ran {
            code: status.code().expect("an exit code"),
            stdout: join(self.seen.clone()),
            stderr: join(self.complaints.iter().collect()),
        }
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        // What a failed test leaves must not stay.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn ran(output: std::process::Output) -> Ran {
    Ran {
        code: output.status.code().expect("an exit code"),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[track_caller]
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "waited for {what} in vain");
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub fn indented(text: &str, by: usize) -> String {
    let pad = " ".repeat(by);
    text.trim_matches('\n').lines().map(|line| format!("{pad}{line}\n")).collect()
}

/// Whether a process runs; one that only waits to be collected does not.
pub fn alive(pid: &str) -> bool {
    assert!(pid.parse::<u32>().is_ok(), "`{pid}` is no process");
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}
