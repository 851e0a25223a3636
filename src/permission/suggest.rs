//! What could be said so that the same is not asked again: the exact rules that each choice
//! would write, and the protocol's three forms of suggestion.

use std::path::Path;

use serde_json::{Value, json};

use super::run::Commands;
use super::shell::{Harmless, Part, Simple, harmless};
use super::touch::{Place, Touch};
use super::view::{mode_name, mode_named};
use super::{View, Why};
use crate::protocol::op::Mode;

/// One change that would have let this through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Suggestion {
    /// Rules as settings write them.
    AddRules(Vec<String>),
    AddDirectories(Vec<String>),
    SetMode(Mode),
}

impl Suggestion {
    /// As it stands in a `permission_request`.
    pub fn to_json(&self) -> Value {
        match self {
            Self::AddRules(rules) => {
                let rules: Vec<Value> = rules.iter().map(|rule| rule_json(rule)).collect();
                json!({ "type": "addRules", "rules": rules, "behavior": "allow", "destination": "session" })
            }
            Self::AddDirectories(dirs) => {
                json!({ "type": "addDirectories", "directories": dirs, "destination": "session" })
            }
            Self::SetMode(mode) => {
                json!({ "type": "setMode", "mode": mode_name(*mode), "destination": "session" })
            }
        }
    }
}

/// A suggestion as it came by mail; `None` for one that we do not know or that takes away.
pub fn suggestion_of(json: &Value) -> Option<Suggestion> {
    let texts = |key: &str| {
        let list = json.get(key).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    match json.get("type")?.as_str()? {
        "addRules" if json.get("behavior").and_then(Value::as_str) == Some("allow") => {
            let rules = json.get("rules")?.as_array()?.iter().filter_map(|rule| {
                let tool = rule.get("toolName")?.as_str()?;
                match rule.get("ruleContent").and_then(Value::as_str) {
                    Some(content) => Some(format!("{tool}({content})")),
                    None => Some(tool.to_owned()),
                }
            });
            Some(Suggestion::AddRules(rules.collect()))
        }
        "addDirectories" => Some(Suggestion::AddDirectories(texts("directories"))),
        "setMode" => mode_named(json.get("mode")?.as_str()?).map(Suggestion::SetMode),
        _ => None,
    }
}

fn rule_json(rule: &str) -> Value {
    let content =
        rule.split_once('(').and_then(|(tool, rest)| Some((tool, rest.strip_suffix(')')?)));
    match content {
        Some((tool, content)) => json!({ "toolName": tool, "ruleContent": content }),
        None => json!({ "toolName": rule }),
    }
}

/// Programs whose second word says what they do: a rule for all of them would say too much.
const WITH_COMMANDS: [&str; 18] = [
    "git",
    "cargo",
    "npm",
    "pnpm",
    "yarn",
    "npx",
    "go",
    "docker",
    "kubectl",
    "pip",
    "uv",
    "make",
    "just",
    "gh",
    "apt",
    "brew",
    "systemctl",
    "bundle",
];

/// Programs that do whatever they are told: no beginning of theirs is safe to allow.
const TOO_MUCH: [&str; 16] = [
    "rm", "sudo", "doas", "bash", "sh", "zsh", "eval", "python", "python3", "node", "perl", "ruby",
    "ssh", "dd", "env", "xargs",
];

pub(super) fn suggest(
    view: &View,
    tool: &str,
    name: Option<&str>,
    touches: &[Touch<'_>],
    why: &Why,
) -> Vec<Suggestion> {
    if why.is_for_each_time() {
        return Vec::new();
    }
    touches.iter().flat_map(|touch| for_touch(view, tool, name, touch, why)).collect()
}

fn for_touch(
    view: &View,
    tool: &str,
    name: Option<&str>,
    touch: &Touch<'_>,
    why: &Why,
) -> Vec<Suggestion> {
    let rule = |text: String| vec![Suggestion::AddRules(vec![text])];
    match touch {
        Touch::Read(place) if view.is_inside(&place.path) => Vec::new(),
        Touch::Read(place) => {
            let mut all = rule(format!("Read({})", below(&place.path)));
            all.push(directory(place));
            all
        }
        Touch::Write(place) if view.is_inside(&place.path) => {
            let mut all = vec![Suggestion::SetMode(Mode::AcceptEdits)];
            all.push(Suggestion::AddRules(vec![format!("Edit(/{})", place.path.display())]));
            all
        }
        Touch::Write(place) => {
            vec![directory(place), Suggestion::SetMode(Mode::AcceptEdits)]
        }
        Touch::Run(commands) => for_commands(commands, why),
        Touch::Fetch(Some(host)) => rule(format!("WebFetch(domain:{host})")),
        Touch::Fetch(None) => Vec::new(),
        Touch::Spawn(kind) => rule(format!("Agent({kind})")),
        Touch::Mcp { server, tool } => rule(format!("mcp__{server}__{tool}")),
        Touch::Free => rule(name.map_or(tool.to_owned(), |name| format!("{tool}({name})"))),
    }
}

fn directory(place: &Place) -> Suggestion {
    let dir = place.path.parent().unwrap_or(&place.path);
    Suggestion::AddDirectories(vec![dir.display().to_string()])
}

/// Everything in the directory of a file, as a rule writes it.
fn below(path: &Path) -> String {
    match path.parent() {
        Some(dir) if dir != Path::new("/") => format!("/{}/**", dir.display()),
        Some(_) | None => format!("/{}", path.display()),
    }
}

fn for_commands(commands: &Commands<'_>, why: &Why) -> Vec<Suggestion> {
    match why {
        // Nothing but this very text is known.
        Why::Unparsable { .. } | Why::Delicate { .. } | Why::Secret { .. } | Why::Hook { .. } => {
            Vec::new()
        }
        Why::Outside { path } => {
            let dir = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
            vec![Suggestion::AddDirectories(vec![dir.display().to_string()])]
        }
        Why::NoRule { .. }
        | Why::Rule { .. }
        | Why::MayBe { .. }
        | Why::Mode { .. }
        | Why::Protected { .. }
        | Why::OnlyLooks
        | Why::Free => {
            let own = commands.analysis.commands.iter().filter(|simple| simple.part == Part::Own);
            let mut rules: Vec<String> = Vec::new();
            for rule in own.filter(|simple| harmless(simple) == Harmless::No).filter_map(command) {
                if !rules.contains(&rule) {
                    rules.push(rule);
                }
            }
            if rules.is_empty() { Vec::new() } else { vec![Suggestion::AddRules(rules)] }
        }
    }
}

/// The narrowest rule that is still of use: the program and its command, or the very words.
fn command(simple: &Simple) -> Option<String> {
    let words: Vec<&str> = simple.words.iter().map(|word| word.text.as_str()).collect();
    let all_fixed = simple.env.iter().chain(&simple.words).all(|word| word.fixed);
    let plain =
        |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "_-./:=@,+".contains(c));
    let exact = || {
        (all_fixed && words.iter().all(|word| plain(word)))
            .then(|| format!("Bash({})", simple.text()))
    };
    let (name, rest) = words.split_first()?;
    if !simple.env.is_empty() || TOO_MUCH.contains(name) || !plain(name) {
        return exact();
    }
    let sub = rest.first().filter(|word| plain(word) && !word.starts_with('-'));
    match sub {
        Some(sub) if WITH_COMMANDS.contains(name) => {
            let third = rest.get(1).filter(|word| *sub == "run" && plain(word));
            let third = third.map(|word| format!(" {word}")).unwrap_or_default();
            Some(format!("Bash({name} {sub}{third}:*)"))
        }
        Some(_) | None if WITH_COMMANDS.contains(name) => exact(),
        Some(_) | None => Some(format!("Bash({name}:*)")),
    }
}
