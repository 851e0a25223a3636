//! The rules of the house, checked instead of remembered.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};

const LONGEST: usize = 500;

/// The layers, lowest first. Each may import what stands before it, never what stands behind.
const LAYERS: &[&str] = &[
    "protocol",
    "settings",
    "store",
    "model",
    "worktree",
    "permission",
    "tools",
    "agent",
    "team",
    "session",
    "console",
    "cli",
];

/// Words that do not belong in a place.
const APART: &[(&str, &[&str])] = &[
    ("src/protocol", &["std::fs", "tokio", "SystemTime::now", "Instant::now", "std::env"]),
    ("src/settings", &["tokio"]),
    ("src/console/state", &["tokio", "crossterm", "std::fs", "Instant::now", "SystemTime::now"]),
    ("src/console/update", &["tokio", "crossterm", "std::fs", "Instant::now", "SystemTime::now"]),
    ("src/console/view", &["tokio", "std::fs"]),
];

fn sources(dir: &str) -> Vec<(String, String)> {
    fn collect(dir: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    collect(&root.join(dir), &mut found);
    found.sort();
    found
        .into_iter()
        .map(|path| {
            let name = path.strip_prefix(root).unwrap().display().to_string();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect()
}

/// The part of a file that is not tests.
fn without_tests(text: &str) -> &str {
    text.split_once("\n#[cfg(test)]\nmod tests {").map_or(text, |(code, _)| code)
}

/// The layer that a file belongs to; `main.rs` and `lib.rs` stand above all.
fn layer(name: &str) -> Option<usize> {
    let room = name.strip_prefix("src/")?.split(['/', '.']).next()?;
    LAYERS.iter().position(|layer| *layer == room)
}

fn check(wrong: &[String]) {
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn files_stay_short() {
    let all = sources("src").into_iter().chain(sources("tests"));
    let wrong: Vec<String> = all
        .map(|(name, text)| (name, without_tests(&text).lines().count()))
        .filter(|(_, lines)| *lines > LONGEST)
        .map(|(name, lines)| format!("{name}: {lines} lines, at most {LONGEST}"))
        .collect();
    check(&wrong);
}

#[test]
fn imports_go_downwards_only() {
    let mut wrong = Vec::new();
    let mut checked = 0;
    for (name, text) in sources("src") {
        let Some(own) = layer(&name) else { continue };
        for higher in &LAYERS[own + 1..] {
            if text.contains(&format!("crate::{higher}")) {
                wrong.push(format!("{name}: imports `{higher}`, which stands above it"));
            }
        }
        checked += 1;
    }
    assert!(checked > 10, "only {checked} files belong to a layer");
    check(&wrong);
}

#[test]
fn every_file_belongs_to_a_layer() {
    let homeless = sources("src")
        .into_iter()
        .map(|(name, _)| name)
        .filter(|name| layer(name).is_none() && name != "src/main.rs" && name != "src/lib.rs");
    let wrong: Vec<String> =
        homeless.map(|name| format!("{name}: in no layer of tests/house_rules.rs")).collect();
    check(&wrong);
}

#[test]
fn layers_keep_to_their_means() {
    let mut wrong = Vec::new();
    for (name, text) in sources("src") {
        for (place, words) in APART.iter().filter(|(place, _)| name.starts_with(place)) {
            for word in words.iter().filter(|word| without_tests(&text).contains(**word)) {
                wrong.push(format!("{name}: `{word}` does not belong in {place}"));
            }
        }
    }
    check(&wrong);
}

#[test]
fn every_module_says_what_it_is_for() {
    let silent = sources("src").into_iter().filter(|(_, text)| !text.starts_with("//! "));
    let wrong: Vec<String> =
        silent.map(|(name, _)| format!("{name}: does not begin with `//! `")).collect();
    check(&wrong);
}

#[test]
fn the_readme_names_commands_that_exist() {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md"));
    let readme = readme.unwrap();
    for command in ["cargo run --release", "cargo test"] {
        assert!(readme.contains(command), "README.md does not show `{command}`");
    }
    let help = |words: &[&str]| {
        let program = env!("CARGO_BIN_EXE_quarterdeck");
        let ran = std::process::Command::new(program).args(words).arg("--help").output().unwrap();
        ran.status.success()
    };
    let mut shown = 0;
    for line in readme.lines().filter_map(|line| line.strip_prefix("quarterdeck ")) {
        let lower = |word: &&str| {
            let is_flag = word.starts_with('-');
            !is_flag && word.chars().all(|c| c.is_ascii_lowercase() || c == '-')
        };
        let words: Vec<&str> = line.split_whitespace().take_while(lower).take(2).collect();
        assert!(help(&words), "README.md shows `quarterdeck {}`", words.join(" "));
        shown += 1;
    }
    assert!(shown > 5, "README.md shows only {shown} commands");
}

#[test]
fn the_readme_has_the_keys_of_the_table() {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md"));
    let readme = readme.unwrap();
    let (begin, end) = ("<!-- keys -->\n", "<!-- end of keys -->");
    let (_, rest) = readme.split_once(begin).expect("README.md has the mark `<!-- keys -->`");
    let (shown, _) = rest.split_once(end).expect("README.md has the mark at the end of the keys");
    let wanted = quarterdeck::console::keys::keymap::readme(&Default::default());
    assert_eq!(shown, wanted, "put this into README.md:\n{wanted}");
}
