//! `quarterdeck permissions`: what would be decided, and by which rules.

use std::env;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::args::{CheckPermission, PermissionsCommand};
use super::asks;
use super::failure::Failure;
use super::out::{Out, table};
use crate::permission::load::About;
use crate::permission::view::{mode_name, mode_named};
use crate::permission::{Access, Decision, Suggestion, View, Warning, decide};
use crate::protocol::json::from_text;
use crate::protocol::op::Mode;
use crate::settings::paths::Home;
use crate::settings::permissions::{self, Layer, Level};
use crate::store::Store;

pub fn run(store: &Store, command: PermissionsCommand, out: &mut Out) -> Result<(), Failure> {
    let home = store.home();
    match command {
        PermissionsCommand::Grants { session } => asks::grants(store, &session, out),
        PermissionsCommand::Revoke { session, id } => asks::revoke(store, &session, &id, out),
        PermissionsCommand::Check(check) => self::check(home, &check, out),
        PermissionsCommand::List { settings, cwd } => {
            let (view, warnings) = view(home, None, &settings, cwd.as_deref(), out)?;
            list(&view, &warnings, out)
        }
    }
}

/// What an agent here would be judged by.
fn view(
    home: &Home,
    mode: Option<&str>,
    settings: &[PathBuf],
    cwd: Option<&Path>,
    out: &mut Out,
) -> Result<(View, Vec<Warning>), Failure> {
    let here = env::current_dir()?;
    let cwd = cwd.map_or(here.clone(), |cwd| here.join(cwd));
    let given: Vec<PathBuf> = settings.iter().map(|file| here.join(file)).collect();
    let mode = mode.map(known_mode).transpose()?;
    loaded_view(home, mode, &given, &cwd, None, out)
}

/// The view for work in a directory: settings files, those that the command line names, and its
/// own rules, which stand above all files but the policy's.
pub(super) fn loaded_view(
    home: &Home,
    mode: Option<Mode>,
    given: &[PathBuf],
    cwd: &Path,
    command_line: Option<Layer>,
    out: &mut Out,
) -> Result<(View, Vec<Warning>), Failure> {
    if let Some(missing) = given.iter().find(|file| !file.is_file()) {
        return Err(Failure::bad_input(format!("{}: there is no such file", missing.display())));
    }
    let mut layers = permissions::load(&permissions::all_files(cwd, given))
        .map_err(|error| Failure::bad_input(error.to_string()))?;
    let policy = layers.iter().position(|layer| layer.level == Level::Policy);
    layers.splice(policy.unwrap_or(layers.len())..policy.unwrap_or(layers.len()), command_line);
    let (view, warnings) = View::load(home, mode, cwd, &layers);
    for warning in &warnings {
        match warning.about {
            // A rule that does not hold as it was written is a mistake to mend, not to pass over.
            About::Rule(_) => return Err(Failure::bad_input(warning.to_string())),
            About::UnknownMode(_) | About::ProjectBypass | About::PolicyMode(_) => {
                out.remark(&format!("quarterdeck: warning: {warning}"));
            }
        }
    }
    Ok((view, warnings))
}

pub(super) fn known_mode(name: &str) -> Result<Mode, Failure> {
    mode_named(name).ok_or_else(|| {
        Failure::bad_input(format!(
            "unknown mode `{name}`; use default, acceptEdits, plan, bypassPermissions, dontAsk, \
             delegate or bubble"
        ))
    })
}

fn check(home: &Home, check: &CheckPermission, out: &mut Out) -> Result<(), Failure> {
    let input: Value = from_text(&check.input)
        .map_err(|error| Failure::bad_input(format!("the input is not JSON: {error}")))?;
    let (view, _) = view(home, check.mode.as_deref(), &check.settings, check.cwd.as_deref(), out)?;
    let access = access(&check.tool, &input)?;
    let decision = decide(&view, &check.tool, &input, &access);
    let why = decision.why();
    let suggestions: Vec<Value> = match &decision {
        Decision::Ask { suggestions, .. } => suggestions.iter().map(Suggestion::to_json).collect(),
        Decision::Allow { .. } | Decision::Deny { .. } => Vec::new(),
    };
    let value = json!({
        "decision": decision.as_str(),
        "reason": why.to_string(),
        "kind": why.kind(),
        "rule": why.rule(),
        "source": why.source().map(ToString::to_string),
        "mode": mode_name(view.mode),
        "suggestions": suggestions,
    });
    out.answer(&value, || format!("{}: {why}", decision.as_str()))
}

/// What a use of a tool would touch, told from its input as the tools themselves tell it.
fn access(tool: &str, input: &Value) -> Result<Vec<Access>, Failure> {
    let optional = |key: &str| input.get(key).and_then(Value::as_str).map(str::to_owned);
    let text = |key: &str| {
        optional(key).ok_or_else(|| Failure::bad_input(format!("{tool} needs a text `{key}`")))
    };
    let mcp = tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    Ok(vec![match tool {
        "Read" => Access::Read(text("file_path")?.into()),
        "Write" | "Edit" | "MultiEdit" => Access::Write(text("file_path")?.into()),
        "NotebookEdit" => Access::Write(text("notebook_path")?.into()),
        "Glob" | "Grep" | "LS" => {
            Access::Read(optional("path").unwrap_or_else(|| ".".to_owned()).into())
        }
        "Bash" => Access::Run(text("command")?),
        "WebFetch" => Access::Fetch(text("url")?),
        "Agent" | "Task" => {
            let kind = optional("subagent_type");
            Access::Spawn(kind.unwrap_or_else(|| "general-purpose".to_owned()))
        }
        _ => match mcp {
            Some((server, tool)) => {
                Access::Mcp { server: server.to_owned(), tool: tool.to_owned() }
            }
            None => Access::Free,
        },
    }])
}

fn list(view: &View, warnings: &[Warning], out: &mut Out) -> Result<(), Failure> {
    let mut rules: Vec<_> = view.rules.iter().collect();
    rules.sort_by_key(|rule| rule.effect);
    let working: Vec<String> = view.working.iter().map(|dir| dir.display().to_string()).collect();
    let value = json!({
        "mode": mode_name(view.mode),
        "warnings": warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "directories": working,
        "rules": rules.iter().map(|rule| json!({
            "effect": rule.effect.as_str(),
            "rule": rule.text,
            "source": rule.source.to_string(),
        })).collect::<Vec<_>>(),
    });
    out.answer(&value, || {
        let mut rows = vec![["EFFECT", "RULE", "SOURCE"].map(str::to_owned)];
        for rule in &rules {
            let effect = rule.effect.as_str().to_owned();
            rows.push([effect, rule.text.clone(), rule.source.to_string()]);
        }
        let dirs = working.join(", ");
        format!("{}\n\nMode: {}. Working directories: {dirs}", table(&rows), mode_name(view.mode))
    })
}
