//! From a text to a definition: front matter between two lines of `---`, then the prompt.
//!
//! Many definitions that people have are not quite YAML: `description: Use it when: …` and
//! `tools: *` are common. What is not YAML as it stands is read once more with such values in
//! quotes; lines stay where they are.

use serde_json::Value;

use super::fields::{Fields, Shape};
use super::{Definition, Problem, Severity, Source};
use crate::protocol::json;
use crate::protocol::mistake::{Mistake, Mistakes, Place};
use crate::protocol::yaml::{self, Node};

const START: Place = Place { line: 1, column: 1 };

/// For what has no lines.
const WHOLE: Place = Place { line: 0, column: 0 };

/// What came of one text: what can be used, and what is to be said about it.
#[derive(Debug, Default)]
pub struct Read {
    pub definitions: Vec<Definition>,
    pub problems: Vec<Problem>,
}

impl Read {
    fn add(&mut self, source: &Source, severity: Severity, mistakes: Mistakes) {
        let problem = |mistake| Problem { source: source.clone(), file: None, mistake, severity };
        self.problems.extend(mistakes.into_sorted().into_iter().map(problem));
    }

    fn take(&mut self, source: &Source, found: Option<Definition>, fields: Fields<'_>) {
        let broken = !fields.errors.is_empty();
        self.add(source, Severity::Error, fields.errors);
        self.add(source, Severity::Warning, fields.warnings);
        self.definitions.extend(found.filter(|_| !broken));
    }
}

/// One definition file.
pub fn read_file_text(text: &str, source: &Source) -> Read {
    let mut read = Read::default();
    let mut errors = Mistakes::default();
    let parts = split(text, &mut errors);
    let root = parts.as_ref().and_then(|(front, _)| front_matter(front, &mut errors));
    let broken = !errors.is_empty();
    read.add(source, Severity::Error, errors);
    let (Some(root), Some((_, prompt))) = (root.filter(|_| !broken), parts) else { return read };
    let mut fields = Fields::new(&root, Shape::File);
    let found = fields.definition(None, prompt.trim().to_owned(), source);
    read.take(source, found, fields);
    read
}

/// What `--agents` gives: an object of names, each with its fields.
pub fn read_json(text: &str) -> Read {
    let source = Source::CommandLine;
    let mut read = Read::default();
    let mut wrong = |place: Place, what: String, hint: Option<&str>| {
        let mut errors = Mistakes::default();
        match hint {
            Some(hint) => errors.add_with(place, what, hint),
            None => errors.add(place, what),
        }
        read.add(&source, Severity::Error, errors);
    };
    let agents = match json::from_text::<Value>(text) {
        Ok(Value::Object(agents)) => agents,
        Ok(_) => {
            let hint = r#"for example {"reviewer": {"description": "…", "prompt": "…"}}"#;
            wrong(WHOLE, "expected an object of agents".to_owned(), Some(hint));
            return read;
        }
        Err(error) => {
            wrong(WHOLE, format!("this is not JSON: {error}"), None);
            return read;
        }
    };
    for (name, value) in &agents {
        let root = Node::from_json(value, WHOLE);
        let mut fields = Fields::new(&root, Shape::Json);
        let found = fields.definition(Some(name), String::new(), &source);
        let mut one = Read::default();
        one.take(&source, found, fields);
        for problem in &mut one.problems {
            problem.mistake.what = format!("agent `{name}`: {}", problem.mistake.what);
        }
        read.definitions.append(&mut one.definitions);
        read.problems.append(&mut one.problems);
    }
    read
}

/// What the front matter says, if there is any that can be read.
pub fn front(text: &str) -> Option<Value> {
    let mut errors = Mistakes::default();
    let (front, _) = split(text, &mut errors)?;
    front_matter(&front, &mut errors).map(|root| root.to_json())
}

/// What stands below the front matter, if there is any.
pub fn body(text: &str) -> &str {
    split(text, &mut Mistakes::default()).map_or(text, |(_, body)| body)
}

/// One text of the front matter, if there is any.
pub fn header(text: &str, key: &str) -> Option<String> {
    front(text)?.get(key)?.as_str().map(|text| text.trim().to_owned())
}

/// The front matter, with an empty line for the one that opens it so that lines keep their
/// numbers, and the prompt.
fn split<'a>(text: &'a str, errors: &mut Mistakes) -> Option<(String, &'a str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    if first.trim_end() != "---" {
        let hint = "begin the file with a line `---`, then `name` and `description`";
        errors.add_with(START, "there is no front matter", hint);
        return None;
    }
    let mut end = first.len();
    for line in lines {
        if line.trim_end() == "---" {
            let front = format!("\n{}", &text[first.len()..end]).replace("\r\n", "\n");
            return Some((front, &text[end + line.len()..]));
        }
        end += line.len();
    }
    errors.add_with(START, "the front matter never ends", "close it with a line `---`");
    None
}

fn front_matter(front: &str, errors: &mut Mistakes) -> Option<Node> {
    let mut mistakes = Mistakes::default();
    let root = yaml::read(front, &mut mistakes);
    if mistakes.is_empty() {
        if root.is_none() {
            errors.add_with(START, "the front matter is empty", "give `name` and `description`");
        }
        return root;
    }
    let mut again = Mistakes::default();
    if let Some(root) = yaml::read(&quoted(front), &mut again)
        && again.is_empty()
    {
        return Some(root);
    }
    // What the author wrote is what the author gets told about.
    for Mistake { line, column, what, hint } in mistakes.into_sorted() {
        match hint {
            Some(hint) => errors.add_with(Place { line, column }, what, hint),
            None => errors.add(Place { line, column }, what),
        }
    }
    None
}

/// The same with quotes around plain values that mean something else in YAML.
fn quoted(front: &str) -> String {
    let mut out = String::with_capacity(front.len() + 16);
    let mut lines = front.lines().peekable();
    while let Some(line) = lines.next() {
        let Some((key, value)) = plain_pair(line) else {
            out.push_str(line);
            out.push('\n');
            continue;
        };
        let mut value = value.to_owned();
        // A plain value goes on in the lines that are indented.
        while let Some(more) = lines.next_if(|next| next.starts_with([' ', '\t'])) {
            value.push('\n');
            value.push_str(more);
        }
        if needs_quotes(&value) {
            value = format!("'{}'", value.trim_end().replace('\'', "''"));
        }
        out.push_str(&format!("{key}: {value}\n"));
    }
    out
}

/// `key: value` at the beginning of a line, where the value is written without quotes.
fn plain_pair(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let value = value.strip_prefix([' ', '\t'])?.trim();
    let plain = !value.is_empty() && !value.starts_with(['"', '\'', '|', '>', '[', '{', '#']);
    (plain && !key.is_empty() && key.chars().all(word)).then_some((key, value))
}

fn needs_quotes(value: &str) -> bool {
    value.starts_with(['*', '&', '!', '%', '@', '`', '?', '-', ','])
        || value.ends_with(':')
        || value.contains(": ")
        || value.contains(":\n")
}
