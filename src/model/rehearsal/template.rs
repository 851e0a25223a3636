//! Text with holes: `{{name}}` is filled in when a turn is played.
//!
//! Whatever stands between two pairs of braces must be a name that is known, else a slip would
//! be said aloud. Single braces, and pairs that nothing closes, are just text.

use std::collections::HashMap;
use std::ops::Range;

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

    pub fn parse(word: &str) -> Self {
        match word {
            "request_id" => Self::RequestId,
            "cwd" => Self::Cwd,
            "me" => Self::Me,
            "team" => Self::Team,
            "result" => Self::Result(Vec::new()),
            _ => match word.strip_prefix("result.").map(path) {
                Some(Some(path)) => Self::Result(path),
                Some(None) | None => Self::Group(word.to_owned()),
            },
        }
    }

    /// Whether a group of this name could not be told from what is always there.
    pub fn is_taken(group: &str) -> bool {
        Self::ALWAYS.contains(&group) || group.starts_with("result.")
    }
}

/// The steps to a field, if all of them can be steps.
fn path(text: &str) -> Option<Vec<String>> {
    let fits = |step: &str| {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        !step.is_empty() && step.chars().all(allowed)
    };
    text.split('.').map(|step| fits(step).then(|| step.to_owned())).collect()
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
        let mut end = 0;
        let plain = |text: &str| (!text.is_empty()).then(|| Piece::Text(text.to_owned()));
        for hole in holes(text) {
            pieces.extend(plain(&text[end..hole.start - OPEN.len()]));
            pieces.push(Piece::Hole(Name::parse(text[hole.clone()].trim())));
            end = hole.end + CLOSE.len();
        }
        pieces.extend(plain(&text[end..]));
        Self { pieces }
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

const OPEN: &str = "{{";
const CLOSE: &str = "}}";

/// What stands between braces, each time. Of braces within braces the inner ones count.
pub fn holes(text: &str) -> Vec<Range<usize>> {
    let mut holes = Vec::new();
    let mut from = 0;
    while let Some(open) = text[from..].find(OPEN).map(|at| from + at) {
        let Some(close) = text[open..].find(CLOSE).map(|at| open + at) else { break };
        let inner = text[..close].rfind(OPEN).unwrap_or(open).max(open);
        holes.push(inner + OPEN.len()..close);
        from = close + CLOSE.len();
    }
    holes
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
            ("fn f() {} {{ {{{cwd}}} {{", Ok("fn f() {} {{ {/demo} {{")),
        ];
        for (text, expected) in table {
            let filled = Template::parse(text).fill(&values).map_err(|missing| missing.0);
            assert_eq!(filled.as_deref().map_err(String::as_str), expected, "{text}");
        }
    }

    #[test]
    fn only_whole_paths_lead_into_a_result() {
        let result = |path: &[&str]| Name::Result(path.iter().map(|&step| step.into()).collect());
        assert_eq!(Name::parse("result"), result(&[]));
        assert_eq!(Name::parse("result.a_b.0.c-d"), result(&["a_b", "0", "c-d"]));
        for wrong in ["result.", "result..x", "result.x.", "result[0]", "result.x y", "resulting"] {
            assert_eq!(Name::parse(wrong), Name::Group(wrong.to_owned()));
        }
    }
}
