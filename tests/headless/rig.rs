//! A project, a home and a user of their own, and the real program on a playbook.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// Long, for a machine that does much else. Nothing that works takes it.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub struct Rig {
    dir: TempDir,
    pub project: PathBuf,
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

    /// The last line.
    #[track_caller]
    pub fn result(&self) -> Value {
        let last = self.lines().pop().unwrap_or_else(|| panic!("nothing: {self:?}"));
        assert_eq!(last["type"], "result", "{self:?}");
        last
    }
}

impl Rig {
    /// On a playbook whose lead has these turns, written as YAML list items.
    pub fn new(turns: &str) -> Self {
        Self::with_actors(&format!("  - who: team-lead\n    turns:\n{}", indented(turns, 6)))
    }

    pub fn with_actors(actors: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let project = root.join("project");
        for name in ["project", "user"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        let playbook = format!("name: test\npace: 0\nactors:\n{actors}\n");
        fs::write(root.join("book.yaml"), playbook).unwrap();
        Self { dir, project }
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
        self.root().join("book.yaml").to_string_lossy().into_owned()
    }

    /// The program, where nothing of the user who runs the tests is seen.
    pub fn program(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quarterdeck"));
        command.args(args).current_dir(&self.project).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", self.user());
        command.env("SHELL", "/bin/bash").env("QUARTERDECK_HOME", self.home());
        command
    }

    /// Any command of the program.
    pub fn quarterdeck(&self, args: &[&str]) -> Ran {
        ran(self.program(args).stdin(Stdio::null()).output().unwrap())
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
        let mut child = self
            .run_command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
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
        Going { child, input, lines, complaints, seen: Vec::new() }
    }

    /// The one session there is.
    pub fn session(&self) -> String {
        let listed = fs::read_dir(self.home().join("quarterdeck/sessions")).unwrap();
        let mut ids: Vec<String> =
            listed.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        assert_eq!(ids.len(), 1, "{ids:?}");
        ids.remove(0)
    }

    /// The open asks of the one session, once there are some.
    pub fn asked(&self) -> Vec<Value> {
        until("an ask", || {
            let listed = self.quarterdeck(&["--json", "asks", "list", "latest"]);
            let asks: Vec<Value> = serde_json::from_str(&listed.stdout).ok()?;
            (!asks.is_empty()).then_some(asks)
        })
    }
}

/// A run that goes on.
pub struct Going {
    pub child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    complaints: Receiver<String>,
    seen: Vec<String>,
}

impl Going {
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
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left);
            let line = line.unwrap_or_else(|_| panic!("no {kind} in {:#?}", self.seen));
            self.seen.push(line.clone());
            let line: Value = serde_json::from_str(&line).unwrap();
            if line["type"] == kind {
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
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}
