//! What can be wrong with a settings file although it is JSON: a key of ours that is misspelt.
//!
//! The files are shared with other programs, which have many keys that mean nothing to us. So only
//! what looks like a slip for one of ours is told; the rest is theirs.

use crate::protocol::mistake::{Mistake, Mistakes, Place};
use crate::protocol::nearest::nearest;

/// A key of ours.
pub struct Key {
    /// With those above it: `budgets.agent.turns`.
    pub name: &'static str,
    pub what: &'static str,
    /// What counts where nobody says anything.
    pub usual: &'static str,
}

#[rustfmt::skip]
pub const KEYS: &[Key] = &[
    key("model", "the model of the lead: an alias, or provider/model", "depends on the key in the environment"),
    key("fork", "whether an agent started without a type is a fork", "in the console only"),
    key("autoBackgroundAfter", "seconds before an agent that another waits for goes to the background", "never"),
    key("quietAfter", "seconds of silence before a background command is checked for waiting on input", "45"),
    key("compactAt", "the share of the model's window at which a conversation is summarised", "0.8"),
    key("autoClaim", "whether idle teammates take free tasks", "true"),
    key("planApproval", "who approves plans of teammates: human, lead or auto", "human"),
    key("shutdownAfter", "seconds a teammate has to answer a shutdown request", "60"),
    key("stalledAfter", "seconds without a sign of life before an agent counts as stalled", "120"),
    key("budgets.agent.turns", "model turns for each agent, before you are asked", "no limit"),
    key("budgets.agent.tokens", "tokens for each agent", "no limit"),
    key("budgets.agent.usd", "US dollars for each agent", "no limit"),
    key("budgets.agent.minutes", "minutes of work for each agent", "no limit"),
    key("budgets.team.turns", "model turns for all agents together", "no limit"),
    key("budgets.team.tokens", "tokens for all agents together", "no limit"),
    key("budgets.team.usd", "US dollars for all agents together", "no limit"),
    key("budgets.team.minutes", "minutes of the session", "no limit"),
    key("worktree.directory", "where worktrees are made, relative to the main tree", ".claude/worktrees"),
    key("worktree.symlinkDirectories", "directories that worktrees share with the main tree", "[\"node_modules\"]"),
    key("asks.open", "whether an ask opens by itself while you are not typing: auto or manual", "auto"),
    key("permissions.allow", "rules for what may be done without asking", "[]"),
    key("permissions.ask", "rules for what you are always asked about", "[]"),
    key("permissions.deny", "rules for what is never allowed", "[]"),
    key("permissions.additionalDirectories", "more directories to work in", "[]"),
    key("permissions.defaultMode", "the mode that a session starts in", "default"),
];

const fn key(name: &'static str, what: &'static str, usual: &'static str) -> Key {
    Key { name, what, usual }
}

/// Keys of other programs that look like ours.
const THEIRS: &[&str] = &["env", "hooks", "agent", "agents", "models", "theme", "sandbox"];

/// Keys that are probably meant to be ours, each with its place.
pub fn slips(text: &str) -> Vec<Mistake> {
    let mut mistakes = Mistakes::default();
    for (path, at) in keys(text) {
        let written = path.join(".");
        let (last, above) = match path.split_last() {
            Some((last, above)) => (last.as_str(), above.join(".")),
            None => continue,
        };
        let siblings = siblings(&above);
        let is_known = siblings.contains(&last) || THEIRS.contains(&written.as_str());
        if is_known || siblings.is_empty() {
            continue;
        }
        if let Some(near) = nearest(last, siblings) {
            let what = format!("unknown setting `{written}`");
            mistakes.add_with(place(text, at), what, format!("did you mean `{near}`?"));
        }
    }
    mistakes.into_sorted()
}

/// Where a key stands, `None` where it does not.
pub fn place_of(text: &str, name: &str) -> Option<Place> {
    keys(text).into_iter().find(|(path, _)| path.join(".") == name).map(|(_, at)| place(text, at))
}

/// The names that may stand in the object of this name.
fn siblings(above: &str) -> Vec<&'static str> {
    let mut names: Vec<&'static str> = Vec::new();
    for key in KEYS {
        let rest = match above {
            "" => Some(key.name),
            above => key.name.strip_prefix(above).and_then(|rest| rest.strip_prefix('.')),
        };
        let name = rest.and_then(|rest| rest.split('.').next());
        names.extend(name.filter(|name| !names.contains(name)));
    }
    names
}

fn place(text: &str, offset: usize) -> Place {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    Place { line, column }
}

/// Every key of a JSON text with those above it, and where it begins. Of a text that is no JSON,
/// what could be made out.
fn keys(text: &str) -> Vec<(Vec<String>, usize)> {
    /// An object with the key that it is at, or a list.
    enum Inside {
        Object(Option<String>),
        List,
    }
    let mut found = Vec::new();
    let mut stack: Vec<Inside> = Vec::new();
    let mut rest = text.char_indices();
    while let Some((at, c)) = rest.next() {
        match c {
            '{' => stack.push(Inside::Object(None)),
            '[' => stack.push(Inside::List),
            '}' | ']' => {
                stack.pop();
            }
            ',' => {
                if let Some(Inside::Object(key)) = stack.last_mut() {
                    *key = None;
                }
            }
            '"' => {
                let mut escaped = false;
                let mut end = text.len();
                for (at, c) in rest.by_ref() {
                    match (escaped, c) {
                        (true, _) => escaped = false,
                        (false, '\\') => escaped = true,
                        (false, '"') => {
                            end = at + 1;
                            break;
                        }
                        (false, _) => {}
                    }
                }
                let Some(Inside::Object(key @ None)) = stack.last_mut() else { continue };
                let written = text.get(at..end).unwrap_or_default();
                *key = Some(serde_json::from_str(written).unwrap_or_default());
                let path = stack.iter().filter_map(|inside| match inside {
                    Inside::Object(key) => key.clone(),
                    Inside::List => Some("[]".to_owned()),
                });
                found.push((path.collect(), at));
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<String> {
        slips(text).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_slip_is_told_with_its_place_and_what_was_meant() {
        let text = "{\n  \"modle\": \"opus\",\n  \"permissions\": {\"alow\": []},\n  \
                    \"budgets\": {\"agent\": {\"turn\": 3}}\n}";
        assert_eq!(
            told(text),
            [
                "2:3: unknown setting `modle` (did you mean `model`?)",
                "3:19: unknown setting `permissions.alow` (did you mean `allow`?)",
                "4:25: unknown setting `budgets.agent.turn` (did you mean `turns`?)",
            ]
        );
    }

    #[test]
    fn keys_of_other_programs_are_theirs() {
        let text = r#"{"$schema": "x", "hooks": {"PreToolUse": [{"modle": 1}]}, "env": {"MODEL": "x",
            "alow": "1"}, "statusLine": {}, "cleanupPeriodDays": 3, "enabledPlugins": {},
            "includeCoAuthoredBy": false, "apiKeyHelper": "", "outputStyle": "",
            "alwaysThinkingEnabled": true, "teammateMode": "auto", "language": "de",
            "model": "a \" , { \"modle\": \\", "permissions": {"deny": ["modle"]}}"#;
        assert!(serde_json::from_str::<serde_json::Value>(text).is_ok());
        assert_eq!(told(text), [] as [&str; 0]);
    }

    #[test]
    fn every_key_of_ours_is_known_and_found() {
        for key in KEYS {
            let text = key
                .name
                .rsplit('.')
                .fold("1".to_owned(), |inner, name| format!("{{ \"{name}\": {inner} }}"));
            assert_eq!(told(&text), [] as [&str; 0], "{text}");
            assert!(place_of(&text, key.name).is_some(), "{text}");
        }
    }
}
