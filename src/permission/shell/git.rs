//! What git would run and write beside its own work: options that name programs or files.

use super::wrapper::{Inner, Unwrapped};
use super::{Direction, Part, Redirect, Word};

/// Settings that may be given with `-c` and that git runs nothing for.
const PLAIN_KEYS: [&str; 8] = [
    "color.",
    "user.name",
    "user.email",
    "core.quotepath",
    "advice.",
    "init.defaultbranch",
    "log.",
    "column.",
];

/// Long options whose value is run by a shell.
const RUNS: [&str; 6] =
    ["--exec", "--extcmd", "--open-files-in-pager", "--upload-pack", "--receive-pack", "--tool"];

pub(super) fn unwrap(words: &[Word]) -> Unwrapped {
    let mut unwrapped = Unwrapped::of(Part::Own, Vec::new());
    let (before, command, rest) = split(words);
    for (at, word) in before.iter().enumerate() {
        let value = before.get(at + 1).map_or("", |word| word.text.as_str());
        let plain = |key: &&str| value.to_ascii_lowercase().starts_with(*key);
        let set = word.text == "-c" && !PLAIN_KEYS.iter().any(plain);
        if set || word.text.starts_with("--config-env") || word.text.starts_with("--exec-path=") {
            let why = format!("what `{}` makes git run is not analysed", word.text);
            unwrapped.inner.push(Inner::Unclear(why));
        }
    }
    for (at, word) in rest.iter().enumerate() {
        let next = rest.get(at + 1);
        option(&mut unwrapped, command, word, next);
    }
    let first = rest.first().map(|word| word.text.as_str());
    match (command, first) {
        ("bisect", Some("run")) | ("submodule", Some("foreach")) => {
            let behind = rest.iter().skip(1).filter(|word| word.text != "--recursive");
            unwrapped.inner.push(shell(behind));
        }
        ("filter-branch", _) => {
            unwrapped.inner.push(Inner::Unclear("`filter-branch` runs commands".to_owned()));
        }
        (_, _) => {}
    }
    unwrapped
}

/// The options in front of git's command, the command, and what follows.
fn split(words: &[Word]) -> (&[Word], &str, &[Word]) {
    let mut at = 0;
    while let Some(word) = words.get(at).filter(|word| word.text.starts_with('-')) {
        let valued = ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env"];
        at += 1 + usize::from(valued.contains(&word.text.as_str()));
    }
    let (before, rest) = words.split_at(at.min(words.len()));
    match rest.split_first() {
        Some((command, rest)) => (before, command.text.as_str(), rest),
        None => (before, "", rest),
    }
}

fn option(unwrapped: &mut Unwrapped, command: &str, word: &Word, next: Option<&Word>) {
    let (flag, value) = match word.text.split_once('=') {
        Some((flag, value)) => (flag, Some(Word { text: value.to_owned(), ..word.clone() })),
        None => (word.text.as_str(), None),
    };
    let value = || value.clone().or_else(|| next.cloned()).unwrap_or_else(Word::unknown);
    // git takes options that are cut short.
    let is = |long: &str| flag.len() > 4 && long.starts_with(flag);
    if is("--output") {
        unwrapped.redirects.push(Redirect { direction: Direction::Write, target: value() });
    } else if RUNS.iter().any(|long| is(long)) {
        unwrapped.inner.push(shell([&value()]));
    }
    let glued = |letter: &str| {
        let tail = word.text.strip_prefix(letter)?;
        Some(if tail.is_empty() { value() } else { Word { text: tail.to_owned(), ..word.clone() } })
    };
    let program = match command {
        "grep" => word.text.strip_prefix("-O").filter(|tail| !tail.is_empty()).map(Word::plain),
        "rebase" | "difftool" => glued("-x"),
        "clone" => glued("-u"),
        _ => None,
    };
    unwrapped.inner.extend(program.map(|program| shell([&program])));
}

fn shell<'a>(words: impl IntoIterator<Item = &'a Word>) -> Inner {
    let words: Vec<&Word> = words.into_iter().collect();
    if words.iter().all(|word| word.fixed) {
        let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        Inner::Script { text: texts.join(" "), own_shell: true }
    } else {
        Inner::Unclear("what git runs is known only when it runs".to_owned())
    }
}
