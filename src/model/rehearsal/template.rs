//! Text with holes: `{{name}}` is filled in when a turn is played.
//!
//! Braces around something that cannot be a name are just text, so a playbook may contain code.

use std::collections::HashMap;

use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Hole(Name),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Name {
    /// A named group of the turn's own pattern.
    Group(String),
    /// The newest result of a tool: its text, or a field of it.
    Result(Vec<String>),
    RequestId,
    Cwd,
    Me,
    Team,
}

impl Name {
    /// The names that every turn may use.
    pub const ALWAYS: [&'static str; 5] = ["result", "request_id", "cwd", "me", "team"];

    fn parse(word: &str) -> Self {
        match word {
            "request_id" => Self::RequestId,
            "cwd" => Self::Cwd,
            "me" => Self::Me,
            "team" => Self::Team,
            _ => {
                let mut parts = word.split('.').map(str::to_owned);
                match parts.next().as_deref() {
                    Some("result") => Self::Result(parts.collect()),
                    _ => Self::Group(word.to_owned()),
                }
            }
        }
    }
}

/// What the holes are filled with.
#[derive(Debug, Default)]
pub struct Values {
    pub groups: HashMap<String, String>,
    pub result: Option<String>,
    pub request_id: Option<String>,
    pub cwd: String,
    pub me: String,
    pub team: Option<String>,
}

/// A hole that cannot be filled, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing(pub String);

impl Template {
    pub fn parse(text: &str) -> Self {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(open) = rest.find("{{") {
            let inner = &rest[open + 2..];
            let name = inner.find("}}").map(|close| &inner[..close]).filter(|name| is_name(name));
            let Some(name) = name else {
                // One brace only: the next may begin a hole.
                plain.push_str(&rest[..=open]);
                rest = &rest[open + 1..];
                continue;
            };
            plain.push_str(&rest[..open]);
            if !plain.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut plain)));
            }
            pieces.push(Piece::Hole(Name::parse(name.trim())));
            rest = &inner[name.len() + 2..];
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Self { pieces }
    }

    /// The groups it counts on.
    pub fn groups(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Hole(Name::Group(name)) => Some(name.as_str()),
            Piece::Hole(Name::Result(_) | Name::RequestId | Name::Cwd | Name::Me | Name::Team)
            | Piece::Text(_) => None,
        })
    }

    pub fn fill(&self, values: &Values) -> Result<String, Missing> {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(plain) => text.push_str(plain),
                Piece::Hole(name) => text.push_str(&values.get(name)?),
            }
        }
        Ok(text)
    }
}

fn is_name(text: &str) -> bool {
    let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ');
    !text.trim().is_empty() && text.chars().all(word)
}

impl Values {
    fn get(&self, name: &Name) -> Result<String, Missing> {
        let missing = |what: &str| Missing(what.to_owned());
        match name {
            // A group that took no part in the match is empty.
            Name::Group(name) => Ok(self.groups.get(name).cloned().unwrap_or_default()),
            Name::Result(path) => {
                let result =
                    self.result.as_ref().ok_or_else(|| missing("no tool has answered yet"))?;
                if path.is_empty() { Ok(result.clone()) } else { field(result, path) }
            }
            Name::RequestId => {
                self.request_id.clone().ok_or_else(|| missing("no mail holds a request id"))
            }
            Name::Cwd => Ok(self.cwd.clone()),
            Name::Me => Ok(self.me.clone()),
            Name::Team => self.team.clone().ok_or_else(|| missing("the caller is in no team")),
        }
    }
}

fn field(text: &str, path: &[String]) -> Result<String, Missing> {
    let json: Value = serde_json::from_str(text)
        .map_err(|_| Missing("the newest result is not JSON".to_owned()))?;
    let mut found = &json;
    for step in path {
        let next = match found {
            Value::Object(map) => map.get(step),
            Value::Array(items) => step.parse::<usize>().ok().and_then(|index| items.get(index)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        };
        let path = || path.join(".");
        found = next.ok_or_else(|| Missing(format!("the newest result has no `{}`", path())))?;
    }
    Ok(found.as_str().map_or_else(|| found.to_string(), str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_filled_and_other_braces_stay() {
        let values = Values {
            groups: HashMap::from([("what".to_owned(), "the parser".to_owned())]),
            result: Some(r#"{"id":"7","list":[{"n":5}]}"#.to_owned()),
            request_id: None,
            cwd: "/demo".to_owned(),
            me: "scout".to_owned(),
            team: None,
        };
        let table = [
            ("Fix {{what}}, {{ me }}!", Ok("Fix the parser, scout!")),
            ("{{result.id}} {{result.list.0.n}} {{result.list}}", Ok(r#"7 5 [{"n":5}]"#)),
            ("{{result.nope}}", Err("the newest result has no `nope`")),
            ("{{request_id}}", Err("no mail holds a request id")),
            ("{{team}}", Err("the caller is in no team")),
            ("fn f() {{}} {{a+b}} {{{cwd}}} {{", Ok("fn f() {{}} {{a+b}} {/demo} {{")),
        ];
        for (text, expected) in table {
            let filled = Template::parse(text).fill(&values).map_err(|missing| missing.0);
            assert_eq!(filled.as_deref().map_err(String::as_str), expected, "{text}");
        }
    }
}
