//! `quarterdeck config`: which settings are in force, which files say so, and changing them.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Subcommand;
use serde_json::{Value, json};

use super::failure::Failure;
use super::out::{Out, table};
use crate::settings::{check, layers, paths, permissions};

#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Every setting with its value, where it comes from, and what it is for
    Show,
    /// The files that are read, lowest first: what a later one says counts
    Path,
    /// Open a settings file in $VISUAL or $EDITOR, and check it afterwards
    ///
    /// Yours, unless another one is asked for. It is made where it is missing.
    Edit {
        /// The project's file, which everyone who works on it shares
        #[arg(long, conflicts_with = "local")]
        project: bool,
        /// The project's file of this machine
        #[arg(long)]
        local: bool,
    },
}

pub fn run(command: &ConfigCommand, out: &mut Out) -> Result<(), Failure> {
    let project = env::current_dir()?;
    match command {
        ConfigCommand::Show => show(&project, out),
        ConfigCommand::Path => files(&project, out),
        ConfigCommand::Edit { project: true, .. } => {
            edit(&project, project.join(".quarterdeck/settings.json"), out)
        }
        ConfigCommand::Edit { local: true, .. } => {
            edit(&project, project.join(".quarterdeck/settings.local.json"), out)
        }
        ConfigCommand::Edit { .. } => edit(&project, own_file()?, out),
    }
}

fn own_file() -> Result<PathBuf, Failure> {
    let dir = paths::config_dir();
    let dir = dir.ok_or_else(|| Failure::no("no_home", "no configuration directory was found"))?;
    Ok(dir.join("settings.json"))
}

/// All settings files, lowest first. Of those that other programs share we read the permissions.
fn all_files(project: &Path) -> Vec<(PathBuf, bool)> {
    let ours = layers::files(project);
    let places = permissions::all_files(project, &[]);
    places.into_iter().map(|place| (place.file.clone(), ours.contains(&place.file))).collect()
}

fn show(project: &Path, out: &mut Out) -> Result<(), Failure> {
    let bad = |error: layers::SettingsError| Failure::bad_input(error.to_string());
    let all = all_files(project);
    layers::load(&layers::files(project)).map_err(bad)?;
    permissions::load(&permissions::all_files(project, &[])).map_err(bad)?;
    let read: Vec<(&Path, bool, Value)> =
        all.iter().map(|(file, ours)| (file.as_path(), *ours, document(file))).collect();
    let mut values = Vec::new();
    let mut rows = vec![["SETTING", "VALUE", "FROM"].map(str::to_owned)];
    for key in check::KEYS {
        let pointer = format!("/{}", key.name.replace('.', "/"));
        let is_rule = key.name.starts_with("permissions.");
        let saying = read.iter().rev().filter(|(_, ours, _)| *ours || is_rule);
        let said = saying
            .filter_map(|(file, _, value)| Some((*file, value.pointer(&pointer)?)))
            .find(|(_, value)| !value.is_null());
        let (value, from) = match said {
            Some((file, value)) => (value.to_string(), file.display().to_string()),
            None => (key.usual.to_owned(), "default".to_owned()),
        };
        values.push(json!({
            "name": key.name,
            "value": said.map(|(_, value)| value),
            "default": key.usual,
            "from": said.map(|(file, _)| file.display().to_string()),
            "what": key.what,
        }));
        rows.push([key.name.to_owned(), value, from]);
    }
    tell_slips(project, out);
    out.answer(&values, || {
        format!(
            "{}\n\nPermission rules of all files apply together: `quarterdeck permissions list` \
             shows them. `quarterdeck config show --json` says what each setting is for.",
            table(&rows)
        )
    })
}

fn document(file: &Path) -> Value {
    let text = fs::read_to_string(file).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

fn tell_slips(project: &Path, out: &mut Out) {
    for slip in layers::slips(&layers::files(project)) {
        out.remark(&slip);
    }
}

fn files(project: &Path, out: &mut Out) -> Result<(), Failure> {
    let mut rows = Vec::new();
    let mut values = Vec::new();
    let mut add = |file: PathBuf, what: &str| {
        let there = file.exists();
        values.push(json!({ "file": file.display().to_string(), "what": what, "exists": there }));
        let sign = if there { "✔" } else { "–" };
        rows.push([sign.to_owned(), file.display().to_string(), what.to_owned()]);
    };
    for (file, ours) in all_files(project) {
        add(file, if ours { "settings" } else { "permissions only" });
    }
    if let Some(dir) = paths::config_dir() {
        add(dir.join("keys.toml"), "key bindings");
        add(dir.join("models.toml"), "models and prices");
        add(dir.join("agents"), "agent definitions");
    }
    out.answer(&values, || table(&rows))
}

fn edit(project: &Path, file: PathBuf, out: &mut Out) -> Result<(), Failure> {
    let editor = ["VISUAL", "EDITOR"].into_iter().find_map(|name| {
        env::var(name).ok().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    });
    let shown = file.display();
    let Some(editor) = editor else {
        return Err(Failure::no("no_editor", format!("set $EDITOR, or open {shown} yourself")));
    };
    if !file.exists() {
        let made = file.parent().map_or(Ok(()), fs::create_dir_all);
        made.and_then(|()| fs::write(&file, "{\n}\n"))
            .map_err(|error| Failure::no("io", format!("{shown}: {error}")))?;
    }
    // As other programs do it: the variable may hold arguments.
    let script = format!("{editor} \"$1\"");
    let ran = Command::new("sh").args(["-c", &script, "sh"]).arg(&file).status();
    let status = ran.map_err(|error: io::Error| {
        Failure::no("no_editor", format!("{editor} could not be started: {error}"))
    })?;
    if !status.success() {
        return Err(Failure::no("editor", format!("{editor} ended with {status}")));
    }
    let bad = |error: layers::SettingsError| Failure::bad_input(error.to_string());
    layers::load(std::slice::from_ref(&file)).map_err(bad)?;
    permissions::load(&[permissions::place_of(&file)]).map_err(bad)?;
    tell_slips(project, out);
    out.answer(&json!({ "file": shown.to_string() }), || format!("{shown} is valid"))
}
