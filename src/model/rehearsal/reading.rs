//! From YAML to a playbook, with every mistake on the way.

use regex::Regex;

use super::playbook::{Actor, Call, Glob, Input, Pace, Playbook, Repeat, Turn, When, Who};
use super::template::{self, Name, Template};
use crate::model::request::Purpose;
use crate::protocol::mistake::{Mistake, Mistakes, Place};
use crate::protocol::yaml::{self, Data, Key, Node};

pub(super) fn playbook(text: &str) -> Result<Playbook, Vec<Mistake>> {
    // Some editors begin a file with a byte order mark. It says nothing.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut mistakes = Mistakes::default();
    let root = yaml::read(text, &mut mistakes);
    let mut reading = Reading { source: text.lines().collect(), mistakes };
    let playbook = match &root {
        Some(root) => reading.root(root),
        None if reading.mistakes.is_empty() => {
            let start = Place { line: 1, column: 1 };
            reading.mistakes.add_with(start, "the file is empty", "a playbook has `actors`");
            None
        }
        None => None,
    };
    match playbook {
        Some(playbook) if reading.mistakes.is_empty() => Ok(playbook),
        Some(_) | None => Err(reading.mistakes.into_sorted()),
    }
}

/// What reading a playbook carries along.
pub(super) struct Reading<'a> {
    source: Vec<&'a str>,
    pub(super) mistakes: Mistakes,
}

pub(super) type Pair = (Key, Node);

impl Reading<'_> {
    fn root(&mut self, root: &Node) -> Option<Playbook> {
        let pairs = self.map(root, "a playbook", &["name", "about", "pace", "actors"])?;
        let name = self.text_of(pairs, "name").unwrap_or_else(|| "untitled".to_owned());
        let about = self.text_of(pairs, "about").unwrap_or_default();
        let pace = self.whole_of(pairs, "pace").unwrap_or_default();
        let Some((key, list)) = find(pairs, "actors") else {
            self.mistakes.add(root.at, "there are no `actors`");
            return None;
        };
        let items = self.list(list, "`actors`")?;
        if items.is_empty() {
            self.mistakes.add(key.at, "`actors` is empty");
        }
        let actors: Vec<Actor> = items.iter().filter_map(|item| self.actor(item)).collect();
        let pace = Pace::new(u32::try_from(pace).unwrap_or(u32::MAX));
        Some(Playbook { name, about, pace, actors: self.all_different(actors, items) })
    }

    fn all_different(&mut self, actors: Vec<Actor>, items: &[Node]) -> Vec<Actor> {
        for (index, actor) in actors.iter().enumerate() {
            let before = actors[..index].iter().find(|before| before.who == actor.who);
            let Some(before) = before else { continue };
            let at = items.iter().map(|item| item.at).find(|at| at.line == actor.line);
            let at = at.unwrap_or(Place { line: actor.line, column: 1 });
            let hint = format!("the first one is in line {}", before.line);
            self.mistakes.add_with(at, format!("there are two actors `{}`", actor.who), hint);
        }
        actors
    }

    fn actor(&mut self, node: &Node) -> Option<Actor> {
        let pairs = self.map(node, "an actor", &["who", "identify", "turns"])?;
        let who = match find(pairs, "who") {
            Some((_, node)) => self.who(node),
            None => {
                self.mistakes.add_with(
                    node.at,
                    "this actor has no `who`",
                    "for example: who: team-lead",
                );
                None
            }
        };
        let identify = find(pairs, "identify").and_then(|(_, node)| self.pattern(node));
        let turns = match find(pairs, "turns") {
            Some((key, node)) => self.turns(key, node),
            None => {
                self.mistakes.add(node.at, "this actor has no `turns`");
                Vec::new()
            }
        };
        Some(Actor { who: who?, identify, turns, line: node.at.line })
    }

    fn who(&mut self, node: &Node) -> Option<Who> {
        let text = self.text(node, "`who`")?;
        if let Some(kind) = text.strip_prefix("type:") {
            return Some(Who::Kind(Glob::new(kind.trim().to_lowercase())));
        }
        let Some(purpose) = text.strip_prefix("internal:") else {
            if text.trim().is_empty() {
                self.mistakes.add(node.at, "`who` is empty");
                return None;
            }
            return Some(if text == "fork" { Who::Fork } else { Who::Named(Glob::new(text)) });
        };
        let glob = Glob::new(purpose.trim());
        let known = Purpose::ALL.map(Purpose::as_str);
        let known = &known[2..]; // Turns and forks are played by agents.
        if !known.iter().any(|known| glob.matches(known)) {
            let what = format!("there is no internal request `{purpose}`");
            self.mistakes.add_unknown(node.at, what, purpose, known);
        }
        Some(Who::Internal(glob))
    }

    fn turns(&mut self, key: &Key, node: &Node) -> Vec<Turn> {
        let Some(items) = self.list(node, "`turns`") else { return Vec::new() };
        if items.is_empty() {
            self.mistakes.add(key.at, "`turns` is empty");
        }
        let mut always: Option<usize> = None;
        let mut turns = Vec::new();
        for item in items {
            if let Some(line) = always {
                let what = "this turn can never be played";
                let hint = format!("the one in line {line} always matches and repeats");
                self.mistakes.add_with(item.at, what, hint);
            }
            let Some(turn) = self.turn(item) else { continue };
            if turn.when.is_always() && turn.repeat == Repeat::Always && always.is_none() {
                always = Some(turn.line);
            }
            turns.push(turn);
        }
        turns
    }

    fn turn(&mut self, node: &Node) -> Option<Turn> {
        let known = ["when", "think", "say", "call", "repeat", "usage", "fault"];
        let pairs = self.map(node, "a turn", &known)?;
        let before = self.mistakes.len();
        let when = find(pairs, "when").map(|(_, node)| self.when(node)).unwrap_or_default();
        let mut groups: Vec<String> = when.groups().map(str::to_owned).collect();
        // A pattern that could not be read may have had any name.
        let names = match self.mistakes.len() == before {
            true => Names::These(std::mem::take(&mut groups)),
            false => Names::Any,
        };
        let think = self.template_of(pairs, "think", &names);
        let say = self.template_of(pairs, "say", &names);
        let call =
            find(pairs, "call").map(|(_, node)| self.calls(node, &names)).unwrap_or_default();
        let repeat = match find(pairs, "repeat").and_then(|(_, node)| self.truth(node, "`repeat`"))
        {
            Some(true) => Repeat::Always,
            Some(false) | None => Repeat::Once,
        };
        let usage = find(pairs, "usage").map(|(_, node)| self.usage(node)).unwrap_or_default();
        let fault = find(pairs, "fault").and_then(|(_, node)| self.fault(node));
        if !["think", "say", "call", "fault"].iter().any(|key| find(pairs, key).is_some()) {
            let hint = "give it `say` or `call`";
            self.mistakes.add_with(node.at, "this turn says and does nothing", hint);
        }
        Some(Turn { when, think, say, call, repeat, usage, fault, line: node.at.line })
    }

    fn when(&mut self, node: &Node) -> When {
        const KINDS: [&str; 6] = ["user", "result_of", "error_of", "mail_from", "matching", "any"];
        let mut when = When::default();
        let Some(pairs) = self.any_map(node, "`when`") else { return when };
        if pairs.is_empty() {
            let hint = "leave it out, or say `any: true`";
            self.mistakes.add_with(node.at, "`when` is empty", hint);
        }
        for (key, value) in pairs {
            match key.name.as_str() {
                "user" => when.user = self.naming_pattern(value),
                "matching" => when.matching = self.naming_pattern(value),
                "result_of" => when.result_of = self.text(value, "`result_of`"),
                "error_of" => when.error_of = self.text(value, "`error_of`"),
                "mail_from" => when.mail_from = self.text(value, "`mail_from`").map(Glob::new),
                "any" => {
                    if self.truth(value, "`any`") == Some(false) {
                        let hint = "leave it out, or say `any: true`";
                        self.mistakes.add_with(value.at, "`any` can only be true", hint);
                    }
                }
                other => {
                    let what = format!("`when` has no condition `{other}`");
                    self.mistakes.add_unknown(key.at, what, other, &KINDS);
                }
            }
        }
        let matched = ["mail_from", "result_of", "error_of"];
        let is_matched = matched.iter().any(|kind| find(pairs, kind).is_some());
        if let (Some((key, _)), false) = (find(pairs, "matching"), is_matched) {
            let hint = "add one of them, or use `user`";
            let what = "`matching` belongs to `mail_from`, `result_of` or `error_of`";
            self.mistakes.add_with(key.at, what, hint);
        }
        when
    }

    fn calls(&mut self, node: &Node, names: &Names) -> Vec<Call> {
        let Some(items) = self.list(node, "`call`") else { return Vec::new() };
        items.iter().filter_map(|item| self.call(item, names)).collect()
    }

    fn call(&mut self, node: &Node, names: &Names) -> Option<Call> {
        let pairs = self.map(node, "a call", &["tool", "input"])?;
        let tool = match find(pairs, "tool") {
            Some((_, node)) => self.text(node, "`tool`"),
            None => {
                let hint = "for example: tool: Read";
                self.mistakes.add_with(node.at, "this call names no `tool`", hint);
                None
            }
        };
        let input = match find(pairs, "input") {
            Some((_, node)) => {
                self.any_map(node, "`input`");
                self.input(node, names)
            }
            None => Input::Map(Vec::new()),
        };
        Some(Call { tool: tool?, input })
    }

    fn input(&mut self, node: &Node, names: &Names) -> Input {
        match &node.data {
            Data::List(items) => {
                Input::List(items.iter().map(|item| self.input(item, names)).collect())
            }
            Data::Map(pairs) => {
                let fields =
                    pairs.iter().map(|(key, value)| (key.name.clone(), self.input(value, names)));
                Input::Map(fields.collect())
            }
            Data::Scalar { .. } => {
                let value = node.scalar();
                match value.as_str() {
                    Some(text) => Input::Text(self.template(node.at, text, names)),
                    None => Input::Fixed(value),
                }
            }
        }
    }

    fn template_of(&mut self, pairs: &[Pair], key: &str, names: &Names) -> Option<Template> {
        let (_, node) = find(pairs, key)?;
        let text = self.text(node, &format!("`{key}`"))?;
        Some(self.template(node.at, &text, names))
    }

    fn template(&mut self, at: Place, text: &str, names: &Names) -> Template {
        let lines = text.lines().count();
        // The same slip may be there twice: each has its own place.
        let mut from = at;
        for hole in template::holes(text) {
            let written = &text[hole];
            let Name::Group(name) = Name::parse(written.trim()) else { continue };
            if names.allow(&name) {
                continue;
            }
            let found = self.find(from, &format!("{{{{{written}}}}}"), lines);
            if let Some(found) = found {
                from = Place { column: found.column + 2, ..found };
            }
            self.unknown_name(found.unwrap_or(at), &name, names);
        }
        Template::parse(text)
    }

    fn unknown_name(&mut self, at: Place, name: &str, names: &Names) {
        let mut known: Vec<&str> = match names {
            Names::These(groups) => groups.iter().map(String::as_str).collect(),
            Names::Any => Vec::new(),
        };
        known.extend(Name::ALWAYS);
        // On one line, and not at any length.
        let shown: String = name.split_whitespace().collect::<Vec<_>>().join(" ");
        let shown: String = shown.chars().take(60).collect();
        if name.is_empty() {
            let hint = format!("known ones: {}", known.join(", "));
            self.mistakes.add_with(at, "there is no name between these braces", hint);
        } else if name.starts_with("result.") || name.starts_with("result[") {
            let what = format!("`{shown}` leads to no field");
            self.mistakes.add_with(at, what, "for example: result.list.0.name");
        } else {
            let what = format!("nothing is called `{shown}` here");
            self.mistakes.add_unknown(at, what, &shown, &known);
        }
    }

    /// A pattern whose groups are names for templates.
    fn naming_pattern(&mut self, node: &Node) -> Option<Regex> {
        let pattern = self.pattern(node)?;
        let lines = pattern.as_str().lines().count();
        for name in pattern.capture_names().flatten().filter(|name| Name::is_taken(name)) {
            let at = self.find(node.at, &format!("<{name}>"), lines);
            let at = at.map_or(node.at, |at| Place { column: at.column + 1, ..at });
            let what = format!("a group cannot be called `{name}`");
            self.mistakes.add_with(at, what, "templates know this name already");
        }
        Some(pattern)
    }

    fn pattern(&mut self, node: &Node) -> Option<Regex> {
        let text = self.text(node, "a pattern")?;
        let (offset, what) = match (regex_syntax::parse(&text), Regex::new(&text)) {
            (Ok(_), Ok(regex)) => return Some(regex),
            (Err(error), _) => flaw(&error),
            (Ok(_), Err(regex::Error::CompiledTooBig(_))) => (None, "it is too large".to_owned()),
            (Ok(_), Err(error)) => (None, error.to_string()),
        };
        let Some(offset) = offset else {
            self.mistakes.add(node.at, format!("bad pattern: {what}"));
            return None;
        };
        let start = self.find(node.at, &text, text.lines().count());
        let at = start.map_or(node.at, |at| Place { column: at.column + offset, ..at });
        self.mistakes.add(at, format!("bad pattern: {what} at character {}", offset + 1));
        None
    }

    /// Where this piece of a value stands in the file, if it stands there letter by letter.
    fn find(&self, from: Place, piece: &str, lines: usize) -> Option<Place> {
        let numbers = from.line..=from.line + lines;
        numbers.into_iter().find_map(|line| {
            let text = self.source.get(line - 1)?;
            let skip = if line == from.line { from.column - 1 } else { 0 };
            let start = text.char_indices().nth(skip).map_or(0, |(at, _)| at);
            let found = text.get(start..)?.find(piece)?;
            let column = text.get(..start + found)?.chars().count() + 1;
            Some(Place { line, column })
        })
    }
}

/// Which names a template may use besides those that are always there.
enum Names {
    These(Vec<String>),
    Any,
}

impl Names {
    fn allow(&self, name: &str) -> bool {
        match self {
            Self::These(groups) => groups.iter().any(|group| group == name),
            Self::Any => {
                let begins = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
                let word = |c: char| c.is_alphanumeric() || c == '_';
                begins && name.chars().all(word)
            }
        }
    }
}

/// Where a pattern is wrong, in characters, if it is wrong somewhere; and how.
fn flaw(error: &regex_syntax::Error) -> (Option<usize>, String) {
    let (span, what) = match error {
        regex_syntax::Error::Parse(error) => (error.span(), error.kind().to_string()),
        regex_syntax::Error::Translate(error) => (error.span(), error.kind().to_string()),
        other => return (None, other.to_string()),
    };
    (Some(span.start.column.saturating_sub(1)), what)
}

pub(super) fn find<'n>(pairs: &'n [Pair], key: &str) -> Option<&'n Pair> {
    pairs.iter().find(|(own, _)| own.name == key)
}
