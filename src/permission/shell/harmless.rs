//! Commands that only look. They need no rule and no ask as long as all that they look at is
//! inside the working directories.
//!
//! Each stands here with the options that would let it write or run something. Options may be cut
//! short and clustered, so an option is refused when it could be one of them.

use super::{Simple, Word};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::permission) enum Harmless {
    No,
    /// It only looks, and at no files that its words name.
    Words,
    /// It only looks, and its words may be paths.
    Paths,
}

/// Single letters and long names of options that are not harmless, or operands that are not.
struct Looker {
    name: &'static str,
    short: &'static str,
    long: &'static [&'static str],
    operands: usize,
    takes: Harmless,
}

const ANY: usize = usize::MAX;

const fn looker(name: &'static str, short: &'static str, long: &'static [&'static str]) -> Looker {
    Looker { name, short, long, operands: ANY, takes: Harmless::Paths }
}

const fn speaker(name: &'static str) -> Looker {
    Looker { name, short: "", long: &[], operands: ANY, takes: Harmless::Words }
}

const LOOKERS: &[Looker] = &[
    looker("ls", "LH", &["--dereference"]),
    looker("cat", "", &[]),
    looker("head", "", &[]),
    looker("tail", "", &[]),
    looker("wc", "", &["--files0-from"]),
    looker("nl", "", &[]),
    looker("tac", "", &[]),
    looker("rev", "", &[]),
    looker("od", "", &[]),
    looker("hexdump", "", &[]),
    looker("strings", "", &[]),
    looker("cut", "", &[]),
    looker("paste", "", &[]),
    looker("fold", "", &[]),
    looker("comm", "", &[]),
    looker("join", "", &[]),
    looker("cmp", "", &[]),
    looker("diff", "lr", &["--paginate", "--recursive"]),
    looker("stat", "", &[]),
    looker("file", "CfzZ", &["--compile", "--files-from", "--uncompress", "--uncompress-noreport"]),
    looker("du", "LD", &["--files0-from", "--dereference"]),
    looker("md5sum", "c", &["--check"]),
    looker("sha1sum", "c", &["--check"]),
    looker("sha256sum", "c", &["--check"]),
    looker("readlink", "", &[]),
    looker("realpath", "", &[]),
    looker("grep", "R", &["--dereference-recursive"]),
    looker("egrep", "R", &["--dereference-recursive"]),
    looker("fgrep", "R", &["--dereference-recursive"]),
    looker("rg", "zL", &["--pre", "--hostname-bin", "--search-zip", "--follow"]),
    looker(
        "sort",
        "oTS",
        &["--output", "--compress-program", "--temporary-directory", "--files0-from"],
    ),
    looker("tree", "oRl", &["--output", "--fromfile", "--fromtabfile"]),
    looker("cd", "", &[]),
    looker("test", "", &[]),
    Looker { name: "uniq", short: "", long: &[], operands: 1, takes: Harmless::Paths },
    Looker {
        name: "date",
        short: "sf",
        long: &["--set", "--file"],
        operands: 1,
        takes: Harmless::Words,
    },
    Looker {
        name: "hostname",
        short: "FbI",
        long: &["--file", "--boot"],
        operands: 0,
        takes: Harmless::Words,
    },
    Looker { name: "pwd", short: "", long: &[], operands: 0, takes: Harmless::Words },
    Looker { name: "whoami", short: "", long: &[], operands: 0, takes: Harmless::Words },
    Looker { name: "uname", short: "", long: &[], operands: 0, takes: Harmless::Words },
    speaker("echo"),
    speaker("true"),
    speaker("false"),
    speaker(":"),
    speaker("["),
    speaker("basename"),
    speaker("dirname"),
    speaker("tr"),
    speaker("seq"),
    speaker("sleep"),
    speaker("which"),
    speaker("type"),
    speaker("id"),
    Looker { name: "printf", short: "v", long: &[], operands: ANY, takes: Harmless::Words },
];

const GIT: &[(&str, usize)] = &[
    ("status", ANY),
    ("log", ANY),
    ("diff", ANY),
    ("show", ANY),
    ("blame", ANY),
    ("ls-files", ANY),
    ("ls-tree", ANY),
    ("rev-parse", ANY),
    ("rev-list", ANY),
    ("describe", ANY),
    ("shortlog", ANY),
    ("merge-base", ANY),
    ("branch", 0),
    ("tag", 0),
    ("remote", 0),
];

/// Options of git's looking commands that write, run a program, or leave the repository. For
/// `branch`, `tag` and `remote`, which also change things, only these are left.
const GIT_LONG: &[&str] = &[
    "--output",
    "--ext-diff",
    "--textconv",
    "--no-index",
    "--exec-path",
    "--git-dir",
    "--work-tree",
    "--contents",
    "--ignore-revs-file",
    "--open-files-in-pager",
    "--filters",
    "--parseopt",
    "--sq-quote",
    "--show-signature",
    // It shows a manual, with whatever shows manuals.
    "--help",
];
const GIT_LISTING: &[&str] = &[
    "-a",
    "-r",
    "-v",
    "-vv",
    "-l",
    "--list",
    "--all",
    "--show-current",
    "--verbose",
    "--no-color",
];

const FIND_ACTS: [&str; 9] = [
    "-delete",
    "-fprint",
    "-fprint0",
    "-fprintf",
    "-fls",
    "-files0-from",
    "-exec",
    "-execdir",
    "-ok",
];

/// Whether a command only looks. Its name must be plain: a program in another place is another
/// program.
pub(in crate::permission) fn harmless(simple: &Simple) -> Harmless {
    let all_fixed = simple.words.iter().all(|word| word.fixed);
    let Some((name, rest)) = simple.words.split_first() else { return Harmless::No };
    if !simple.env.is_empty() || !name.fixed {
        return Harmless::No;
    }
    let found = LOOKERS.iter().find(|looker| looker.name == name.text);
    match found {
        // What words become is printed, not opened.
        Some(looker)
            if looker.takes == Harmless::Words
                && looker.operands == ANY
                && looker.short.is_empty() =>
        {
            Harmless::Words
        }
        Some(_) if name.text == "printf" && rest.first().is_some_and(is_format) => Harmless::Words,
        Some(_) | None if !all_fixed => Harmless::No,
        Some(looker) if is_clean(looker, rest) && !is_odd(looker.name, rest) => looker.takes,
        Some(_) => Harmless::No,
        None if name.text == "find" => find(rest),
        None if name.text == "git" => git(rest),
        None => Harmless::No,
    }
}

fn is_format(word: &Word) -> bool {
    word.fixed && !word.text.starts_with('-')
}

/// Operands that mean more than a file to look at.
fn is_odd(name: &str, words: &[Word]) -> bool {
    match name {
        // Options may stand in a file.
        "strings" => words.iter().any(|word| word.text.starts_with('@')),
        // A date that is no format is set.
        "date" => words.iter().enumerate().any(|(at, word)| {
            let before = at.checked_sub(1).and_then(|at| words.get(at));
            let told = before.is_some_and(|word| matches!(&*word.text, "-d" | "--date"));
            !told && !word.text.starts_with(['-', '+'])
        }),
        _ => false,
    }
}

/// Behind `--`, and `-` alone, are no options.
fn operands(words: &[Word]) -> usize {
    let end = words.iter().position(|word| word.text == "--").unwrap_or(words.len());
    let (before, behind) = words.split_at(end);
    let is_operand = |word: &&Word| word.text == "-" || !word.text.starts_with('-');
    before.iter().filter(is_operand).count() + behind.len().saturating_sub(1)
}

fn is_clean(looker: &Looker, words: &[Word]) -> bool {
    let operands = operands(words);
    let clean = |word: &Word| {
        let long = word.text.starts_with("--");
        let name = word.text.split('=').next().unwrap_or_default();
        let is_long = long && name.len() > 2 && looker.long.iter().any(|bad| bad.starts_with(name));
        let is_short =
            !long && word.text.starts_with('-') && word.text.contains(|c| looker.short.contains(c));
        !is_long && !is_short
    };
    operands <= looker.operands && words.iter().all(clean)
}

fn find(words: &[Word]) -> Harmless {
    let follows = |word: &Word| matches!(&*word.text, "-L" | "-H" | "-follow");
    let acts = |word: &Word| {
        FIND_ACTS.contains(&word.text.as_str()) || word.text == "-okdir" || follows(word)
    };
    if words.iter().any(acts) { Harmless::No } else { Harmless::Paths }
}

fn git(words: &[Word]) -> Harmless {
    let mut words = words;
    while let Some((first, rest)) = words.split_first() {
        if !matches!(first.text.as_str(), "--no-pager" | "-P") {
            break;
        }
        words = rest;
    }
    let Some((command, rest)) = words.split_first() else { return Harmless::No };
    let Some((_, operands)) = GIT.iter().find(|(name, _)| *name == command.text) else {
        return Harmless::No;
    };
    let bad = |word: &Word| {
        let name = word.text.split('=').next().unwrap_or_default();
        let long = name.len() > 2 && GIT_LONG.iter().any(|bad| bad.starts_with(name));
        long || (word.text.starts_with("-O") && command.text != "log")
    };
    let listing = |word: &Word| GIT_LISTING.contains(&word.text.as_str());
    let clean = match operands {
        0 => rest.iter().all(listing),
        _ => !rest.iter().any(bad),
    };
    if clean { Harmless::Paths } else { Harmless::No }
}

/// The texts in a command's words that may be paths: operands, values of options, and what is
/// glued to a short one.
pub(in crate::permission) fn path_words(simple: &Simple) -> Vec<&str> {
    let mut found = Vec::new();
    for word in simple.words.iter().skip(1).filter(|word| word.fixed) {
        let text = word.text.as_str();
        if let Some((_, value)) = text.split_once('=') {
            found.push(value);
        }
        if !text.starts_with('-') {
            found.push(text);
            // `git show REV:PATH` names a path of the repository; `file:/x` is a remote.
            found.extend(text.split_once(':').map(|(_, path)| path));
        } else if text.contains('/') {
            // Behind `--` it is a path that looks like an option.
            found.push(text);
        }
        if text.starts_with('-') && !text.starts_with("--") {
            // Any letter may be the one that takes a file.
            found.extend((2..text.len()).filter_map(|at| text.get(at..)));
        }
    }
    found
}

/// Whether a command looks at all that is below the places that it names.
pub(in crate::permission) fn goes_deep(simple: &Simple) -> bool {
    let Some((name, rest)) = simple.words.split_first() else { return false };
    let has = |letter: char, long: &str| {
        rest.iter().any(|word| {
            let text = word.text.as_str();
            let short = text.starts_with('-') && !text.starts_with("--") && text.contains(letter);
            short || (text.len() > 4 && long.starts_with(text))
        })
    };
    match name.text.as_str() {
        "rg" => true,
        "grep" | "egrep" | "fgrep" => {
            has('r', "--recursive") || has('R', "--dereference-recursive")
        }
        _ => false,
    }
}

/// Whether a command may write the files it names, as far as its name and options tell. What is
/// not known to only look may.
pub(in crate::permission) fn may_write(simple: &Simple) -> bool {
    let Some((name, rest)) = simple.words.split_first() else { return false };
    if name.text.contains('/') {
        return true;
    }
    let only_reads = ["jq", "yq", "less", "more", "bat", "awk", "source", "."];
    let adds = ["add", "commit", "stash", "grep", "cat-file", "check-ignore"];
    match LOOKERS.iter().find(|looker| looker.name == name.text) {
        Some(looker) => !is_clean(looker, rest),
        None if name.text == "git" => {
            let command = rest.iter().find(|word| !word.text.starts_with('-'));
            let command = command.map_or("", |word| word.text.as_str());
            !adds.contains(&command) && GIT.iter().all(|(name, _)| *name != command)
        }
        None if name.text == "find" => find(rest) == Harmless::No,
        None => !only_reads.contains(&name.text.as_str()),
    }
}
