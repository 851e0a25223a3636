//! What people wrote down to say again: their own slash commands and skills, found where they
//! keep them. `.claude/commands/*.md`, `.claude/skills/*/SKILL.md`, in the project and at home.
//!
//! A file that cannot be read is passed over: it is a convenience, and nothing depends on it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::definition::{Sources, body, front};
use super::memory::beginning;
use super::skills::is_plain;
use crate::permission::rule::split_rules;

/// More of a file than this is not said.
const LARGEST: u64 = 64_000;
/// Directories of commands are looked through so deep.
const DEEPEST: usize = 4;

/// Words that a person can have said by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipe {
    pub name: String,
    pub description: String,
    /// What its arguments are, for people.
    pub hint: String,
    /// What is said; `$ARGUMENTS` and `$1` to `$9` stand for what was written behind the name.
    pub text: String,
    /// The kind of subagent that does it, for one that wants a context of its own.
    pub kind: Option<String>,
    /// Rules: what may be done without asking in the turn that hears it.
    pub allowed: Vec<String>,
}

/// A piece of what a recipe says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    Words(String),
    /// A command in the place of which its output is said.
    Command(String),
}

impl Recipe {
    /// What is said for these arguments, in parts. Where the words do not place the arguments,
    /// they stand behind. A command is one by what is written in the file, never by an argument.
    pub fn parts(&self, arguments: &str) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut is_placed = false;
        let mut rest = self.text.as_str();
        while let Some((before, command, after)) = next_command(rest) {
            parts.push(Part::Words(filled(before, arguments, &mut is_placed)));
            parts.push(Part::Command(filled(command, arguments, &mut is_placed)));
            rest = after;
        }
        let mut last = filled(rest, arguments, &mut is_placed);
        if !is_placed && !arguments.is_empty() {
            last.push_str(&format!("\n\nARGUMENTS: {arguments}"));
        }
        parts.push(Part::Words(last));
        parts
    }
}

/// The next ``!`command` ``, with what stands before and behind it. Only at the beginning of a
/// line or behind a blank: `a!` is a word.
fn next_command(text: &str) -> Option<(&str, &str, &str)> {
    let begins = |at: &usize| text[..*at].chars().next_back().is_none_or(char::is_whitespace);
    let mut found = text.match_indices("!`").map(|(at, _)| at).filter(begins);
    found.find_map(|at| {
        let (command, after) = text[at + 2..].split_once('`')?;
        (!command.trim().is_empty()).then(|| (&text[..at], command, after))
    })
}

/// The words with the arguments in their places.
fn filled(words: &str, arguments: &str, is_placed: &mut bool) -> String {
    let mut said = String::new();
    let mut rest = words;
    while let Some((before, after)) = rest.split_once('$') {
        said.push_str(before);
        let digit = after.chars().next().and_then(|first| first.to_digit(10)).unwrap_or(0);
        if let Some(after) = after.strip_prefix("ARGUMENTS") {
            said.push_str(arguments);
            (rest, *is_placed) = (after, true);
        } else if let Some(nth) = usize::try_from(digit).ok().and_then(|nth| nth.checked_sub(1)) {
            said.push_str(arguments.split_whitespace().nth(nth).unwrap_or_default());
            (rest, *is_placed) = (&after[1..], true);
        } else {
            said.push('$');
            rest = after;
        }
    }
    said.push_str(rest);
    said
}

/// All of them by name. Of two with one name it is the nearer one, and the project's.
pub fn find(project: &Path) -> Vec<Recipe> {
    let Sources { project, user, .. } = Sources::of(project, None);
    let mut found: Vec<Recipe> = Vec::new();
    for dir in project.iter().chain(&user).filter_map(|agents| agents.parent()) {
        let mut files = Vec::new();
        commands_in(&dir.join("commands"), 0, &mut files);
        skills_in(&dir.join("skills"), &mut files);
        files.sort();
        for (name, file, is_skill) in files {
            if found.iter().all(|known| known.name != name) {
                found.extend(read(name, &file, is_skill));
            }
        }
    }
    found.sort_by(|one, two| one.name.cmp(&two.name));
    found
}

type File = (String, PathBuf, bool);

fn commands_in(dir: &Path, depth: usize, files: &mut Vec<File>) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() && depth < DEEPEST {
            commands_in(&path, depth + 1, files);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            let name = path.file_stem().map(|name| name.to_string_lossy().into_owned());
            files.extend(name.map(|name| (name, path, false)));
        }
    }
}

fn skills_in(dir: &Path, files: &mut Vec<File>) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let file = entry.path().join("SKILL.md");
        if file.is_file() {
            files.push((entry.file_name().to_string_lossy().into_owned(), file, true));
        }
    }
}

fn read(name: String, file: &Path, is_skill: bool) -> Option<Recipe> {
    // A word with a dot in it is taken for a file.
    if !is_plain(&name) || name.contains('.') {
        return None;
    }
    let whole = beginning(file, LARGEST).ok()?;
    let fields = front(&whole).unwrap_or_default();
    let field = |name: &str| fields.get(name).and_then(Value::as_str).map(str::trim);
    if fields.get("user-invocable") == Some(&Value::Bool(false)) {
        return None;
    }
    let text = body(&whole).trim();
    let dir = file.parent().unwrap_or(file).display();
    let text = match is_skill {
        true => format!("Files that are named here are below {dir}.\n\n{text}"),
        false => text.to_owned(),
    };
    let first_line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let description = field("description").unwrap_or(first_line);
    let kind = (field("context") == Some("fork"))
        .then(|| field("agent").unwrap_or("general-purpose").to_owned());
    Some(Recipe {
        name,
        description: description.lines().next().unwrap_or_default().to_owned(),
        hint: field("argument-hint").unwrap_or_default().to_owned(),
        text,
        kind,
        allowed: allowed(fields.get("allowed-tools")),
    })
}

/// Rules in one text, or a list of them.
fn allowed(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(text)) => split_rules(text),
        Some(Value::Array(all)) => {
            all.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {
            Vec::new()
        }
    }
}
