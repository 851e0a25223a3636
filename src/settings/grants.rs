//! Rules written to settings files while a session runs. Text in, text out: what is not changed
//! stays as it was, to the blank. Who writes the file is `store::settings_file`.
//!
//! Ours is `.quarterdeck/settings.local.json` of the project and the settings of our own
//! configuration directory. The files of other programs are read and never written, since those
//! programs rewrite them whole and know nothing of our locks.

use std::path::{Path, PathBuf};

use super::paths;
use crate::protocol::ask::Permit;
use crate::protocol::json::{Elements, Json, member_span, offset, to_compact};

/// Where what outlives a session is written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GrantFiles {
    pub project: Option<PathBuf>,
    pub user: Option<PathBuf>,
}

impl GrantFiles {
    /// For work in a project.
    pub fn of(project: &Path) -> Self {
        Self {
            project: Some(project.join(".quarterdeck").join("settings.local.json")),
            user: paths::config_dir().map(|dir| dir.join("settings.json")),
        }
    }
}

/// Why a file is left as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotWritten {
    #[error("it is not JSON: {0}; fix it first")]
    Broken(String),
    #[error("`{0}` in it is not {1}")]
    Shape(&'static str, &'static str),
    #[error("a mode is not written to settings")]
    Mode,
}

/// The list that something belongs to, and how it stands there.
fn entry(permit: &Permit) -> Result<(&'static str, &str), NotWritten> {
    match permit {
        Permit::Rule(rule) => Ok(("allow", rule)),
        Permit::Directory(dir) => Ok(("additionalDirectories", dir)),
        Permit::Mode(_) => Err(NotWritten::Mode),
    }
}

/// The list in a file, if it has one. An error where something else stands in its place.
fn list<'d>(document: &'d Json, name: &'static str) -> Result<Option<&'d [Json]>, NotWritten> {
    let null = Json::null();
    let permissions = match document {
        Json::Object(_) => document.get("permissions").filter(|found| **found != null),
        Json::Scalar(_) | Json::Array(_) => {
            return Err(NotWritten::Shape("everything", "an object"));
        }
    };
    match permissions {
        None => Ok(None),
        Some(permissions @ Json::Object(_)) => match permissions.get(name) {
            None => Ok(None),
            Some(found) if *found == null => Ok(None),
            Some(Json::Array(items)) => Ok(Some(items)),
            Some(Json::Scalar(_) | Json::Object(_)) => Err(NotWritten::Shape(name, "a list")),
        },
        Some(Json::Scalar(_) | Json::Array(_)) => {
            Err(NotWritten::Shape("permissions", "an object"))
        }
    }
}

fn parse(text: &str) -> Result<Json, NotWritten> {
    Json::parse(text).map_err(|error| NotWritten::Broken(error.to_string()))
}

/// Whether a file says so already.
pub fn says(text: &str, permit: &Permit) -> Result<bool, NotWritten> {
    let (name, item) = entry(permit)?;
    let document = parse(text)?;
    let items = list(&document, name)?.unwrap_or_default();
    Ok(items.iter().any(|found| found.as_str().as_deref() == Some(item)))
}

/// The text with one more entry. `None`: it is there already.
pub fn with(text: Option<&str>, permit: &Permit) -> Result<Option<String>, NotWritten> {
    let (name, item) = entry(permit)?;
    let Some(text) = text else {
        let fresh = serde_json::json!({ "permissions": { name: [item] } });
        return Ok(Some(Json::of(&fresh).pretty() + "\n"));
    };
    if says(text, permit)? {
        return Ok(None);
    }
    let document = parse(text)?;
    let quoted = to_compact(&item);
    let one = Json::Array(vec![Json::from(item)]);
    let Some(outer) = found(text, "permissions") else {
        let fresh = Json::Object(vec![(to_compact(&name).into(), one)]);
        return Ok(Some(with_member(text, &document, "permissions", &fresh, 1)));
    };
    let permissions = &text[outer.clone()];
    let changed = match found(permissions, name) {
        Some(span) => {
            let grown = appended(&permissions[span.clone()], &quoted);
            replaced(permissions, span, &grown)
        }
        None => {
            let inner = document.get("permissions").cloned().unwrap_or_else(Json::null);
            with_member(permissions, &inner, name, &one, 2)
        }
    };
    Ok(Some(replaced(text, outer, &changed)))
}

/// The text without an entry. `None`: it is not there.
pub fn without(text: &str, permit: &Permit) -> Result<Option<String>, NotWritten> {
    let (name, item) = entry(permit)?;
    if !says(text, permit)? {
        return Ok(None);
    }
    let Some(outer) = found(text, "permissions") else { return Ok(None) };
    let permissions = &text[outer.clone()];
    let Some(span) = found(permissions, name) else { return Ok(None) };
    let mut list = permissions[span.clone()].to_owned();
    while let Some(shorter) = shortened(&list, item) {
        list = shorter;
    }
    let changed = replaced(permissions, span, &list);
    Ok(Some(replaced(text, outer, &changed)))
}

/// Where the value of a member stands, unless it is null.
fn found(text: &str, key: &str) -> Option<std::ops::Range<usize>> {
    member_span(text, key).filter(|span| &text[span.clone()] != "null")
}

fn replaced(text: &str, span: std::ops::Range<usize>, by: &str) -> String {
    format!("{}{by}{}", &text[..span.start], &text[span.end..])
}

/// An object with one more member, or with one that was null.
fn with_member(text: &str, object: &Json, key: &str, value: &Json, depth: usize) -> String {
    let on_lines = text.contains('\n');
    let value = if on_lines { value.pretty_at(depth) } else { value.compact() };
    match member_span(text, key) {
        Some(span) => replaced(text, span, &value),
        None if object.is_empty() => {
            let start = text.find('{').unwrap_or(0);
            let end = text.rfind('}').map_or(text.len(), |at| at + 1);
            let own = format!("{{{}: {value}}}", to_compact(&key));
            replaced(text, start..end, &own)
        }
        None => {
            let end = text.trim_end().len();
            let (object, rest) = text.split_at(end);
            let start = object.len() - object.trim_start().len();
            let (before, object) = object.split_at(start);
            let entry = format!("{}: {value}", to_compact(&key));
            format!("{before}{}{rest}", appended(object, &entry))
        }
    }
}

/// A list or an object with one more entry at its end, set off like the others.
fn appended(container: &str, entry: &str) -> String {
    let (open, inner) = container.split_at(1);
    let (inner, close) = inner.split_at(inner.len().saturating_sub(1));
    let body = inner.trim_end();
    if body.trim().is_empty() {
        return format!("{open}{entry}{close}");
    }
    let blank = &inner[..inner.len() - inner.trim_start().len()];
    let gap = if blank.is_empty() { " " } else { blank };
    format!("{open}{body},{gap}{entry}{}{close}", &inner[body.len()..])
}

/// A list without the first of its elements that is this text.
fn shortened(list: &str, item: &str) -> Option<String> {
    let elements = Elements::of(list).whole;
    let is_it = |raw: &str| Json::parse(raw).is_ok_and(|raw| raw.as_str().as_deref() == Some(item));
    let at = elements.iter().position(|raw| is_it(raw))?;
    let start = |nth: usize| elements.get(nth).map(|raw| offset(list, raw));
    let end = |nth: usize| elements.get(nth).map(|raw| offset(list, raw) + raw.len());
    let span = match (at.checked_sub(1).and_then(end), start(at + 1)) {
        (Some(before), _) => before..end(at)?,
        (None, Some(next)) => start(at)?..next,
        (None, None) => return Some("[]".to_owned()),
    };
    Some(replaced(list, span, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> Permit {
        Permit::Rule(text.to_owned())
    }

    #[test]
    fn only_the_entry_comes_and_goes() {
        let cases = [
            ("{}", r#"{"permissions": {"allow":["A"]}}"#),
            (
                "{\n\t\"model\" :  \"x\",\n\t\"n\": 1.50\n}\n",
                "{\n\t\"model\" :  \"x\",\n\t\"n\": 1.50,\n\t\"permissions\": {\n    \"allow\": [\n      \"A\"\n    ]\n  }\n}\n",
            ),
            (r#"{"permissions":{"allow":[]}}"#, r#"{"permissions":{"allow":["A"]}}"#),
            (r#"{"permissions":{"allow":null}}"#, r#"{"permissions":{"allow":["A"]}}"#),
            (r#"{"permissions":null,"x":1}"#, r#"{"permissions":{"allow":["A"]},"x":1}"#),
            (
                r#"{"permissions": {"deny": ["D"]}}"#,
                r#"{"permissions": {"deny": ["D"], "allow": ["A"]}}"#,
            ),
            (
                "{\"permissions\": {\n  \"allow\": [\n      \"B\",\n      \"C\"  ]}, \"z\": {}}",
                "{\"permissions\": {\n  \"allow\": [\n      \"B\",\n      \"C\",\n      \"A\"  ]}, \"z\": {}}",
            ),
        ];
        for (before, after) in cases {
            let grown = with(Some(before), &rule("A")).unwrap().unwrap();
            let doc = |text: &str| Json::parse(text).unwrap();
            assert_eq!(doc(&grown), doc(after), "{before}");
            assert!(says(&grown, &rule("A")).unwrap(), "{grown}");
            assert_eq!(with(Some(&grown), &rule("A")).unwrap(), None, "never twice");
            let shrunk = without(&grown, &rule("A")).unwrap().unwrap();
            assert!(!says(&shrunk, &rule("A")).unwrap(), "{shrunk}");
            if before.contains("\"B\"") || before.contains('\t') {
                assert_eq!(grown, after);
            }
            if before.contains("\"B\"") {
                assert_eq!(shrunk, before);
            }
        }
        let list = r#"{"permissions":{"allow":["A","B","A"]}}"#;
        let gone = without(list, &rule("A")).unwrap();
        assert_eq!(gone.as_deref(), Some(r#"{"permissions":{"allow":["B"]}}"#));
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for text in ["", "{", "// c\n{}", "[]", r#"{"permissions":[]}"#] {
            assert!(with(Some(text), &rule("A")).is_err(), "{text}");
        }
        let error = with(Some(r#"{"permissions":{"allow":"B"}}"#), &rule("A")).unwrap_err();
        assert_eq!(error.to_string(), "`allow` in it is not a list");
    }
}
