//! The true judge: what was allowed is run by a real bash, among programs that only leave their
//! name in a log. If rules allow `ok1` and `ok2` alone, nothing else may have run, and nothing
//! may have been written outside.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use quarterdeck::permission::{Access, Bases, Decision, Effect, Rule, Source, View, decide};
use quarterdeck::protocol::op::Mode;
use serde_json::Value;
use tempfile::TempDir;

use super::dice::Dice;
use crate::support::{files_below, say, soak};

/// `@C` a command, `@Q` one in single quotes, `@W` a word, `@F` a file, `@N` a program.
const COMMANDS: &[&str] = &include!("shell_commands.in");
const WORDS: &[&str] = &[
    "a",
    "f1",
    "'a b'",
    "\"$x\"",
    "$x",
    "${x}",
    "$EVIL",
    "\"$EVIL\"",
    "${EVIL}",
    "$(@C)",
    "\"$(@C)\"",
    "`@C`",
    "'$(bad1)'",
    "'a[$(bad1)]'",
    "\\$\\(bad1\\)",
    "$'\\x62ad1'",
    "{a,b}",
    "{bad1,ok1}",
    "*",
    "~",
    "~/x",
    "$((1+1))",
    "$((EVIL))",
    "$(($EVIL))",
    "$[EVIL]",
    "${x:EVIL}",
    "${x:-a}",
    "${x:-$(@C)}",
    "${x:=bad1}",
    "${x@P}",
    "${!x}",
    "${x#a}",
    "${x//a/b}",
    "${#x}",
    "\"a\\\nb\"",
    "a\\\nb",
    "-v",
    "-n",
    "-eq",
    "=",
    "!",
    "bad1",
    "ok1",
    "a#b",
    "#a",
    "${x[$(bad1)]}",
    "<(@C)",
    "$\"a\"",
    "é",
    "1",
    "x=1",
    "a;b",
    "'a;bad1'",
    "\"a;bad1\"",
    "\\;",
    "\\\\",
    "$'\\''",
    "$'a\\'; bad1 '",
    "\"\\\"; bad1 \\\"\"",
    "'a'\\''; bad1 '\\'''",
    "\"`echo \\`@C\\``\"",
    "$",
    "\"$\"",
    "$''bad1",
    "[a]",
    "?1",
    "--",
    "-",
    "{}",
    "{}}",
    "}",
    "@(a|b)",
    "a=~/x",
    "$@",
    "\"$@\"",
    "$*",
    "${EVIL:0:1}",
    "$(<f1)",
    "$(( 1 + (2) ))",
    "$((x[0]))",
    "%1",
    "!!",
    "!bad1",
    "\"!!\"",
    "^a^b",
];
const FILES: &[&str] = &[
    "o1",
    "\"o 2\"",
    "../out/x",
    "link/x",
    "./o3",
    "$x",
    "o{1,2}",
    "~/x",
    "sub/../o4",
    "link/../x",
    "/dev/null",
    "'o5'",
    "o\\6",
    "sub/o7",
    "sub/../../out/y",
    "\"$x\"/../../out/z",
    "$'..\\x2fout/w",
    "$'..\\x2fout/w'",
    "&1",
    "&2",
    "1",
];
const NAMES: &[&str] = &[
    "ok1",
    "\"ok1\"",
    "o\\k1",
    "$'ok1'",
    "o\"\"k1",
    "'ok'1",
    "ok\\\n1",
    "bad1",
    "b'a'd1",
    "\\bad1",
    "$'\\x62ad1'",
    "$'\\142ad1'",
    "../evil/ok1",
    "./ok1",
    "ok?",
    "o{k1,k2}",
    "$N",
    "ok1$N",
    "ok1\u{a0}",
];
/// What is put anywhere into some of the commands.
const NOISE: &[&str] = &[
    "\\", "\n", "'", "\"", "`", "#", ";", " ", "$", "(", ")", "{", "}", "|", "&", "<", ">", "\\\n",
    "=", "\t", "!", "*", "[", "]", "$(", "bad1", ";bad1", "\nbad1\n", "<<E\n", "\nE\n", "esac",
    "done", "$'", "${", "((", "))", "[[", "]]", "~", ",", "..", "\r",
];

struct Yard {
    _dir: TempDir,
    root: PathBuf,
}

impl Yard {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for name in ["w/sub", "out", "evil", "bin", "user"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        let log = root.join("log");
        let program = |path: &str, name: &str| {
            let text = format!("#!/bin/sh\necho '{name} ran' >> '{}'\n", log.display());
            fs::write(root.join(path), text).unwrap();
            fs::set_permissions(root.join(path), fs::Permissions::from_mode(0o755)).unwrap();
        };
        for name in ["ok1", "ok2", "bad1", "bad2"] {
            program(&format!("bin/{name}"), name);
        }
        for name in ["evil/ok1", "evil/ok2", "w/ok1", "w/cat", "w/bash"] {
            program(name, "bad-other");
        }
        fs::write(&log, "").unwrap();
        let yard = Self { _dir: dir, root };
        yard.tidy();
        yard
    }

    /// The working directory as it was.
    fn tidy(&self) {
        let w = self.root.join("w");
        for file in files_below(&w) {
            let keep = ["ok1", "cat", "bash"].iter().any(|name| file == w.join(name));
            if !keep {
                fs::remove_file(file).unwrap();
            }
        }
        fs::write(w.join("f1"), "bad1\n").unwrap();
        if !w.join("link").exists() {
            symlink("../out", w.join("link")).unwrap();
        }
        fs::write(self.root.join("log"), "").unwrap();
    }

    fn view(&self) -> View {
        let w = self.root.join("w");
        let user = self.root.join("user");
        let mut view = View::new(Mode::Default, &w, Some(&user));
        let bases = Bases { cwd: w.clone(), user: Some(user), settings: w };
        for text in ["Bash(ok1:*)", "Bash(ok2:*)"] {
            view.rules.push(Rule::parse(text, Effect::Allow, Source::Session, &bases).unwrap());
        }
        view
    }

    /// Runs it, bounded in time, output and files, and tells what ran.
    fn run(&self, command: &str) -> String {
        let path = format!("{}:/usr/bin:/bin", self.root.join("bin").display());
        let bounds =
            "ulimit -t 5 -f 256 -c 0; exec timeout -k 1 10 bash --noprofile --norc -c \"$0\"";
        let mut shell = Command::new("sh");
        shell.args(["-c", bounds, command]).env_clear().current_dir(self.root.join("w"));
        shell.env("PATH", path).env("HOME", self.root.join("user")).env("EVIL", "a[$(bad1)]");
        shell.env("x", "y").env("N", "bad1").stdin(Stdio::null());
        shell.output().unwrap();
        fs::read_to_string(self.root.join("log")).unwrap()
    }

    /// All files but the log and those where commands may write.
    fn outside(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let all = ["out", "evil", "bin", "user"].map(|name| files_below(&self.root.join(name)));
        let all = all.into_iter().flatten();
        all.map(|file| (file.clone(), fs::read(file).unwrap())).collect()
    }
}

fn quoted(text: &str) -> String {
    text.replace('\'', r"'\''")
}

fn made(dice: &mut Dice, template: &str, depth: usize) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, behind)) = rest.split_once('@') {
        text.push_str(before);
        let deeper = depth.saturating_sub(1);
        match behind.chars().next() {
            Some(kind @ ('C' | 'Q')) => {
                let all = if depth == 0 { &COMMANDS[..6] } else { COMMANDS };
                let template = dice.pick(all);
                let command = made(dice, template, deeper);
                text.push_str(&if kind == 'Q' { quoted(&command) } else { command });
            }
            Some('W') => {
                let all = if depth == 0 { &WORDS[..4] } else { WORDS };
                let template = dice.pick(all);
                text.push_str(&made(dice, template, deeper));
            }
            Some('F') => text.push_str(dice.pick(FILES)),
            Some('N') => text.push_str(dice.pick(NAMES)),
            Some(_) | None => {
                text.push('@');
                rest = behind;
                continue;
            }
        }
        rest = &behind[1..];
    }
    text + rest
}

fn noisy(dice: &mut Dice, mut text: String) -> String {
    for _ in 0..dice.below(3) {
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        if let Some(at) = (!places.is_empty()).then(|| dice.pick(&places)) {
            text.insert_str(at, dice.pick(NOISE));
        }
    }
    text
}

fn allows(view: &View, command: &str) -> bool {
    let access = [Access::Run(command.to_owned())];
    matches!(decide(view, "Bash", &Value::Null, &access), Decision::Allow { .. })
}

#[test]
fn what_is_allowed_runs_nothing_else_in_a_real_shell() {
    let yard = Yard::new();
    let view = yard.view();
    assert!(yard.run("bad1 x").starts_with("bad1 ran"), "the log tells what ran");
    yard.tidy();
    let before = yard.outside();
    let mut dice = Dice::new();
    let wanted = if soak() { 10_000 } else { 250 };
    let (mut tried, mut ran, mut useful) = (0, 0, 0);
    while ran < wanted {
        tried += 1;
        assert!(tried < wanted * 2_000, "too little is allowed: {ran} of {tried}");
        let template = dice.pick(COMMANDS);
        let depth = 1 + dice.below(3);
        let command = made(&mut dice, template, depth);
        let command = if dice.below(2) == 0 { noisy(&mut dice, command) } else { command };
        if command.len() < 12 || !allows(&view, &command) {
            continue;
        }
        ran += 1;
        let log = yard.run(&command);
        let only_ok = log.lines().all(|line| line.starts_with("ok1 ") || line.starts_with("ok2 "));
        assert!(only_ok, "seed {}: {command:?} ran {log:?}", dice.seed);
        assert_eq!(yard.outside(), before, "seed {}: {command:?} wrote outside", dice.seed);
        useful += usize::from(!log.is_empty());
        yard.tidy();
    }
    assert!(useful * 5 > ran, "only {useful} of {ran} commands ran a program");
    say(&format!("{ran} of {tried} commands were allowed and run, {useful} with a program"));
}
