//! A disk for a real shell to play on: programs that only leave their name in a log, a
//! repository, links that lead out, and texts outside that nobody may get to see.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use quarterdeck::permission::{Bases, Effect, Rule, Source, View};
use quarterdeck::protocol::op::Mode;
use tempfile::TempDir;

/// What stands in files outside.
const HIDDEN: &str = "a-text-from-outside";

/// What stays in the working directory from one command to the next.
const KEPT: [&str; 5] = ["ok1", "cat", "bash", ".git", "deep"];

/// Where links of the working directory lead.
const LINKS: [(&str, &str); 8] = [
    ("link", "../out"),
    ("flink", "../out/secret"),
    ("dangling", "../out/none"),
    ("keys", "../user/.ssh"),
    ("self", "."),
    ("ink", "deep/er/still"),
    ("ring", "ring"),
    ("sub/up", "../.."),
];

pub struct Yard {
    _dir: TempDir,
    pub root: PathBuf,
    before: Vec<(PathBuf, Vec<u8>)>,
}

impl Yard {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for name in ["w/deep/er/still", "out", "evil", "bin", "user/.ssh"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        let mut yard = Self { _dir: dir, root, before: Vec::new() };
        for name in ["ok1", "ok2", "bad1", "bad2", "pager", "less", "man", "vi", "fd"] {
            yard.program(&format!("bin/{name}"), name);
        }
        for name in ["evil/ok1", "evil/ok2", "w/ok1", "w/cat", "w/bash"] {
            yard.program(name, "bad-other");
        }
        for name in ["out/secret", "user/.ssh/id_rsa", "user/.netrc"] {
            fs::write(yard.root.join(name), format!("{HIDDEN}\n")).unwrap();
        }
        yard.repository();
        yard.tidy();
        yard.before = yard.outside();
        yard
    }

    fn program(&self, path: &str, name: &str) {
        let (path, log) = (self.root.join(path), self.root.join("log"));
        let text = format!("#!/bin/sh\necho '{name} ran' >> '{}'\n", log.display());
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn repository(&self) {
        let git = |args: &[&str]| {
            let mut git = Command::new("git");
            git.args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]);
            git.args(args).current_dir(self.root.join("w")).env("HOME", self.root.join("user"));
            let done = git.stdin(Stdio::null()).output().unwrap();
            assert!(done.status.success(), "{done:?}");
        };
        git(&["init", "-q", "-b", "main"]);
        fs::write(self.root.join("w/f1"), "was\n").unwrap();
        git(&["add", "f1"]);
        git(&["commit", "-q", "-m", "one"]);
    }

    /// The working directory and the log as they were.
    pub fn tidy(&self) {
        let w = self.root.join("w");
        for entry in fs::read_dir(&w).unwrap() {
            let path = entry.unwrap().path();
            if KEPT.iter().any(|name| path == w.join(name)) {
                continue;
            }
            if path.symlink_metadata().unwrap().is_dir() {
                fs::remove_dir_all(path).unwrap();
            } else {
                fs::remove_file(path).unwrap();
            }
        }
        fs::create_dir(w.join("sub")).unwrap();
        fs::write(w.join("f1"), "bad1\n").unwrap();
        fs::write(w.join("names"), "../out/secret\0").unwrap();
        for (name, target) in LINKS {
            symlink(target, w.join(name)).unwrap();
        }
        fs::write(self.root.join("log"), "").unwrap();
    }

    /// Rules allow `ok1` and `ok2` alone.
    pub fn view(&self) -> View {
        let w = self.root.join("w");
        let user = self.root.join("user");
        let mut view = View::new(Mode::Default, &w, Some(&user));
        let bases = Bases { cwd: w.clone(), user: Some(user), settings: w };
        for text in ["Bash(ok1:*)", "Bash(ok2:*)"] {
            view.rules.push(Rule::parse(text, Effect::Allow, Source::Session, &bases).unwrap());
        }
        view
    }

    /// Runs it, bounded in time, output and files, and tells which programs ran.
    pub fn run(&self, command: &str) -> (String, Output) {
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", self.root.join("bin").display());
        let bounds =
            "ulimit -t 3 -f 256 -c 0; exec timeout -k 1 3 bash --noprofile --norc -c \"$0\"";
        let mut shell = Command::new("sh");
        shell.args(["-c", bounds, command]).env_clear().current_dir(self.root.join("w"));
        shell.env("PATH", path).env("HOME", self.root.join("user")).env("EVIL", "a[$(bad1)]");
        shell.env("x", "y").env("N", "bad1").stdin(Stdio::null());
        // Functions that call themselves must not fill the machine with processes.
        shell.env("FUNCNEST", "4");
        let output = shell.output().unwrap();
        (fs::read_to_string(self.root.join("log")).unwrap(), output)
    }

    /// What went wrong with a command that was allowed, if anything did.
    pub fn wrong(&self, log: &str, output: &Output) -> Option<String> {
        let is_ok = |line: &str| line.starts_with("ok1 ") || line.starts_with("ok2 ");
        let shows = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains(HIDDEN);
        let copied = |(file, bytes): (PathBuf, Vec<u8>)| shows(&bytes).then_some(file);
        if !log.lines().all(is_ok) {
            Some(format!("ran {log:?}"))
        } else if shows(&output.stdout) || shows(&output.stderr) {
            Some("showed a text from outside".to_owned())
        } else if let Some(file) = self.files_of(&["w"]).into_iter().find_map(copied) {
            Some(format!("copied a text from outside to {}", file.display()))
        } else if self.outside() != self.before {
            Some("wrote outside".to_owned())
        } else {
            None
        }
    }

    /// All files but the log and those where commands may write.
    fn outside(&self) -> Vec<(PathBuf, Vec<u8>)> {
        self.files_of(&["out", "evil", "bin", "user", "w/.git/hooks", "w/.git/config"])
    }

    fn files_of(&self, names: &[&str]) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        names.iter().for_each(|name| collect(&self.root.join(name), &mut found));
        found.sort();
        found
    }
}

/// Files and their texts; links are not followed.
fn collect(path: &Path, found: &mut Vec<(PathBuf, Vec<u8>)>) {
    let kind = path.symlink_metadata().unwrap().file_type();
    if kind.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| collect(&entry.unwrap().path(), found));
    } else if kind.is_file() {
        found.push((path.to_owned(), fs::read(path).unwrap()));
    } else {
        found.push((path.to_owned(), Vec::new()));
    }
}
