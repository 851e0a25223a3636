//! Programs that run other programs: what they would run is listed beside them.

use super::git;
use super::{Part, Redirect, Simple, Word};

/// Something that a command would run in turn.
#[derive(Debug)]
pub(super) enum Inner {
    /// Words that are run as they are.
    Command { env: Vec<Word>, words: Vec<Word> },
    /// A text that a shell reads.
    Script {
        text: String,
        /// Whether that shell is another one.
        own_shell: bool,
    },
    /// It runs something, and nobody can say what.
    Unclear(String),
}

#[derive(Debug)]
pub(super) struct Unwrapped {
    pub part: Part,
    pub inner: Vec<Inner>,
    /// Files that an option of the command names for writing.
    pub redirects: Vec<Redirect>,
}

impl Unwrapped {
    pub(super) fn of(part: Part, inner: Vec<Inner>) -> Self {
        Self { part, inner, redirects: Vec::new() }
    }

    fn own() -> Self {
        Self::of(Part::Own, Vec::new())
    }
}

/// Programs that run commands in ways that are not analysed.
const OPAQUE: [&str; 42] = [
    "parallel",
    "su",
    "script",
    "ssh",
    "coproc",
    "unshare",
    "chroot",
    "nsenter",
    "fish",
    "flock",
    "entr",
    "expect",
    "csh",
    "tcsh",
    "mksh",
    "yash",
    "rbash",
    "pwsh",
    "strace",
    "ltrace",
    "taskset",
    "chrt",
    "prlimit",
    "setpriv",
    "runuser",
    "pkexec",
    "systemd-run",
    "unbuffer",
    "xvfb-run",
    "dbus-run-session",
    "numactl",
    "fakeroot",
    "firejail",
    "bwrap",
    "at",
    "batch",
    "run-parts",
    "toybox",
    "gosu",
    "start-stop-daemon",
    "rlwrap",
    "hyperfine",
];

/// The options of a wrapper that are known. Any other makes it unclear.
struct Options {
    /// Stand alone: `-n`.
    flags: &'static [&'static str],
    /// Take the next word: `-u root`.
    valued: &'static [&'static str],
    /// Words in front of the command that belong to the wrapper, such as a duration.
    operands: usize,
}

/// The name of the program, however it is reached.
pub(super) fn base_name(text: &str) -> &str {
    text.rsplit('/').next().unwrap_or(text)
}

pub(super) fn unwrap(simple: &Simple) -> Unwrapped {
    let Some((name, rest)) = simple.words.split_first().filter(|(name, _)| name.fixed) else {
        return Unwrapped::own();
    };
    let mut unwrapped = named(base_name(&name.text), rest);
    if name.text.contains('/') {
        // A program in another place is another program, whatever it is called.
        unwrapped.part = Part::Own;
    }
    unwrapped
}

fn named(name: &str, rest: &[Word]) -> Unwrapped {
    if let Some((part, options)) = runner(name) {
        return Unwrapped::of(part, run(name, rest, &options));
    }
    match name {
        "env" => env(rest),
        "xargs" => xargs(rest),
        "bash" | "sh" | "zsh" | "dash" | "ksh" | "ash" | "busybox" => shell(name, rest),
        "eval" => Unwrapped::of(Part::Passing, vec![script(behind_dashes(rest), false)]),
        "watch" => watch(rest),
        "trap" => {
            let code = behind_dashes(rest).first().map(|word| text(word, false));
            Unwrapped::of(Part::Own, code.into_iter().collect())
        }
        "find" => find(rest),
        "git" => git::unwrap(rest),
        _ if OPAQUE.contains(&name) => {
            let why = format!("`{name}` runs commands that are not analysed");
            Unwrapped::of(Part::Own, vec![Inner::Unclear(why)])
        }
        _ => Unwrapped::own(),
    }
}

/// Programs whose command simply follows their options.
fn runner(name: &str) -> Option<(Part, Options)> {
    let options = |flags, valued, operands| Options { flags, valued, operands };
    Some(match name {
        "time" => (Part::Passing, options(&["-p"], &[], 0)),
        "nohup" | "setsid" | "exec" => (Part::Passing, options(&[], &[], 0)),
        "command" | "builtin" => (Part::Passing, options(&["-p"], &[], 0)),
        "nice" => (Part::Passing, options(&[], &["-n"], 0)),
        "ionice" => (Part::Passing, options(&[], &["-c", "-n"], 0)),
        "stdbuf" => (Part::Passing, options(&["-oL", "-eL", "-o0", "-e0"], &["-i", "-o", "-e"], 0)),
        "timeout" => {
            (Part::Passing, options(&["--foreground", "--preserve-status", "-v"], &["-k", "-s"], 1))
        }
        "sudo" => (Part::Own, options(&["-n", "-E", "-H", "-S"], &["-u", "-g"], 0)),
        "doas" => (Part::Own, options(&["-n"], &["-u"], 0)),
        _ => return None,
    })
}

fn run(name: &str, words: &[Word], options: &Options) -> Vec<Inner> {
    // `command -v git` only looks.
    if name == "command" && words.first().is_some_and(|word| matches!(&*word.text, "-v" | "-V")) {
        return vec![Inner::Command { env: Vec::new(), words: vec![Word::plain("type")] }];
    }
    match behind_options(name, words, options) {
        Err(why) => vec![Inner::Unclear(why)],
        Ok([]) => Vec::new(),
        // `time` is a word of the language: aliases are looked up behind it, and only there.
        Ok(words) => vec![command(words, name == "time")],
    }
}

/// A command with what it sets in front (`sudo A=1 rm`).
fn command(words: &[Word], with_aliases: bool) -> Inner {
    let set = words.iter().take_while(|word| word.text.contains('=')).count();
    let (env, words) = words.split_at(set);
    let mut words = words.to_vec();
    if let Some(name) = words.first_mut() {
        name.quoted |= !with_aliases;
    }
    Inner::Command { env: env.to_vec(), words }
}

fn behind_dashes(words: &[Word]) -> &[Word] {
    match words.split_first() {
        Some((first, rest)) if first.text == "--" => rest,
        Some(_) | None => words,
    }
}

fn watch(words: &[Word]) -> Unwrapped {
    let options = Options { flags: &["-d", "-t", "-x", "-e", "-g"], valued: &["-n"], operands: 0 };
    let inner = match behind_options("watch", words, &options) {
        Err(why) => Inner::Unclear(why),
        Ok(words) => script(words, true),
    };
    Unwrapped::of(Part::Own, vec![inner])
}

/// What stands behind the options of a wrapper and its operands.
fn behind_options<'a>(
    name: &str,
    mut words: &'a [Word],
    options: &Options,
) -> Result<&'a [Word], String> {
    while let Some((word, rest)) = words.split_first() {
        if !word.fixed {
            return Err(format!("an argument of `{name}` is known only when it runs"));
        }
        let text = word.text.as_str();
        if text == "--" {
            words = rest;
            break;
        } else if options.flags.contains(&text) {
            words = rest;
        } else if options.valued.contains(&text) {
            words = rest.get(1..).unwrap_or_default();
        } else if text.starts_with('-') {
            return Err(format!("the option `{text}` of `{name}` is not known here"));
        } else {
            break;
        }
    }
    Ok(words.get(options.operands..).unwrap_or_default())
}

fn env(words: &[Word]) -> Unwrapped {
    let options = Options { flags: &["-i", "-0"], valued: &["-u"], operands: 0 };
    let words = match behind_options("env", words, &options) {
        Ok(words) => words,
        Err(why) => return Unwrapped::of(Part::Own, vec![Inner::Unclear(why)]),
    };
    if words.iter().all(|word| word.text.contains('=')) {
        // It prints the environment, which may hold secrets.
        return Unwrapped::own();
    }
    Unwrapped::of(Part::Passing, vec![command(words, false)])
}

fn xargs(words: &[Word]) -> Unwrapped {
    let options = Options {
        flags: &["-0", "-r", "-t", "-x", "--null", "--no-run-if-empty", "--verbose"],
        valued: &["-n", "-P", "-I", "-L", "-d", "-s"],
        operands: 0,
    };
    match behind_options("xargs", words, &options) {
        Err(why) => Unwrapped::of(Part::Own, vec![Inner::Unclear(why)]),
        Ok([]) => Unwrapped::own(),
        Ok(command) => {
            // With `-I x` every x in the command becomes something else.
            let given = words.len() - command.len();
            let options = words.get(..given).unwrap_or_default();
            let mark = options.windows(2).find(|pair| pair[0].text == "-I").map(|pair| &pair[1]);
            let replaced = |word: &Word| match mark {
                Some(mark) if word.text.contains(&mark.text) => Word::unknown(),
                Some(_) | None => word.clone(),
            };
            let words: Vec<Word> = command.iter().map(replaced).chain([Word::unknown()]).collect();
            Unwrapped::of(Part::Passing, vec![self::command(&words, false)])
        }
    }
}

/// `bash -c TEXT`. Without a text and without a file a shell takes its commands from its input.
fn shell(name: &str, words: &[Word]) -> Unwrapped {
    let unclear = |why: &str| Unwrapped::of(Part::Own, vec![Inner::Unclear(why.to_owned())]);
    let mut words = words;
    let mut is_code = false;
    while let Some((word, rest)) = words.split_first() {
        let flag = word.text.strip_prefix('-').filter(|flag| !flag.starts_with('-'));
        if !word.fixed {
            return unclear("which script a shell runs is known only when it runs");
        }
        match flag {
            // The text is the first word that is no option, wherever the `c` stands.
            Some(flag) if flag.chars().all(|c| "celuxv".contains(c)) && !flag.is_empty() => {
                is_code |= flag.contains('c');
                words = rest;
            }
            Some(_) => return unclear("an option of a shell is not known here"),
            None if word.text.starts_with(['-', '+']) || name == "busybox" => {
                return unclear("an option of a shell is not known here");
            }
            None if is_code => return Unwrapped::of(Part::Passing, vec![text(word, true)]),
            None => return Unwrapped::own(),
        }
    }
    unclear("a shell takes its commands from its input")
}

fn text(word: &Word, own_shell: bool) -> Inner {
    if word.fixed {
        Inner::Script { text: word.text.clone(), own_shell }
    } else {
        Inner::Unclear("which commands a shell gets is known only when it runs".to_owned())
    }
}

fn script(words: &[Word], own_shell: bool) -> Inner {
    if words.iter().all(|word| word.fixed) {
        let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        Inner::Script { text: texts.join(" "), own_shell }
    } else {
        Inner::Unclear("which commands a shell gets is known only when it runs".to_owned())
    }
}

fn find(words: &[Word]) -> Unwrapped {
    let mut inner = Vec::new();
    if words.iter().any(|word| !word.fixed) {
        inner.push(Inner::Unclear("what `find` does is known only when it runs".to_owned()));
    }
    let runs = |word: &Word| matches!(&*word.text, "-exec" | "-execdir" | "-ok" | "-okdir");
    let ends = |word: &Word| word.text == ";" || word.text == "+";
    let mut rest = words;
    while let Some(at) = rest.iter().position(runs) {
        let behind = rest.get(at + 1..).unwrap_or_default();
        let Some(end) = behind.iter().position(ends) else {
            inner.push(Inner::Unclear("`-exec` of `find` has no end".to_owned()));
            break;
        };
        let named = |word: &Word| match word.text.contains("{}") {
            true => Word::unknown(),
            false => word.clone(),
        };
        let words: Vec<Word> = behind.iter().take(end).map(named).collect();
        inner.push(command(&words, false));
        rest = behind.get(end + 1..).unwrap_or_default();
    }
    Unwrapped::of(Part::Own, inner)
}
