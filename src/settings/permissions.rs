//! The `permissions` of settings files, each with the file that said it: ours, and those that
//! the ecosystem's programs share. Nothing is merged here, since deny holds from any layer.

use std::env;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::layers::SettingsError;
use super::paths;
use crate::protocol::json;

/// Who wrote a layer. A later one counts where they differ, but what one of them denies is denied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    User,
    /// Part of the project, so written by anybody who works on it.
    #[default]
    Project,
    /// The project's on this machine.
    Local,
    CommandLine,
    /// The machine's administrator.
    Policy,
}

/// What one file says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layer {
    pub level: Level,
    /// Empty for rules on the command line.
    pub file: PathBuf,
    /// What `/src` in its rules is relative to.
    pub base: PathBuf,
    pub allow: Vec<String>,
    pub ask: Vec<String>,
    pub deny: Vec<String>,
    pub directories: Vec<PathBuf>,
    pub default_mode: Option<String>,
}

/// A file that may say something about permissions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub level: Level,
    pub file: PathBuf,
    pub base: PathBuf,
}

#[derive(Debug, Default, Deserialize)]
struct FileRecord {
    #[serde(default, deserialize_with = "json::or_default")]
    permissions: PermissionsRecord,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PermissionsRecord {
    #[serde(deserialize_with = "json::or_default")]
    allow: Vec<String>,
    #[serde(deserialize_with = "json::or_default")]
    ask: Vec<String>,
    #[serde(deserialize_with = "json::or_default")]
    deny: Vec<String>,
    #[serde(deserialize_with = "json::or_default")]
    additional_directories: Vec<PathBuf>,
    default_mode: Option<String>,
}

/// The files that are read for work in a project, lowest first. At each level ours stands behind
/// the ecosystem's, so ours wins.
pub fn files(project: &Path) -> Vec<Place> {
    let level = Level::User;
    let own_dir = |dir: PathBuf| Place { level, file: dir.join("settings.json"), base: dir };
    let user = [paths::claude_dir(), paths::config_dir()].into_iter().flatten().map(own_dir);
    let shared = [("settings.json", Level::Project), ("settings.local.json", Level::Local)];
    let shared = shared.into_iter().flat_map(|(name, level)| {
        let base = || project.to_owned();
        [".claude", ".quarterdeck"].map(|dir| {
            let file = project.join(dir).join(name);
            Place { level, file, base: base() }
        })
    });
    user.chain(shared).collect()
}

/// What the machine's administrator wrote: the ecosystem's file, then ours; or the one that
/// `QUARTERDECK_POLICY` names.
pub fn policy_files() -> Vec<Place> {
    let files = match env::var_os("QUARTERDECK_POLICY") {
        Some(file) if !file.is_empty() => vec![PathBuf::from(file)],
        Some(_) | None => {
            ["/etc/claude-code/managed-settings.json", "/etc/quarterdeck/settings.json"]
                .map(PathBuf::from)
                .to_vec()
        }
    };
    let place = |file: PathBuf| Place {
        level: Level::Policy,
        base: file.parent().unwrap_or(&file).to_owned(),
        file,
    };
    files.into_iter().map(place).collect()
}

/// All files that are read for work in a project, with those that the command line names.
pub fn all_files(project: &Path, given: &[PathBuf]) -> Vec<Place> {
    let given = given.iter().map(|file| place_of(file));
    files(project).into_iter().chain(given).chain(policy_files()).collect()
}

impl Layer {
    /// Rules that the command line gives, which stand above all files but the policy's.
    pub fn of_command_line(
        cwd: &Path,
        allow: Vec<String>,
        deny: Vec<String>,
        directories: Vec<PathBuf>,
    ) -> Self {
        let (level, base) = (Level::CommandLine, cwd.to_owned());
        Self { level, base, allow, deny, directories, ..Self::default() }
    }
}

/// A settings file named by hand. Its rules begin where a project's would.
pub fn place_of(file: &Path) -> Place {
    let dir = file.parent().unwrap_or(file);
    let in_project = [".claude", ".quarterdeck"].iter().any(|name| dir.ends_with(name));
    let base = if in_project { dir.parent().unwrap_or(dir) } else { dir };
    Place { level: Level::CommandLine, file: file.to_owned(), base: base.to_owned() }
}

/// Reads the files that are there, in their order.
pub fn load(places: &[Place]) -> Result<Vec<Layer>, SettingsError> {
    let mut layers = Vec::new();
    for Place { level, file, base } in places {
        let failed = |what: String| SettingsError { file: file.clone(), what };
        let text = match fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(failed(error.to_string())),
        };
        let read: Result<FileRecord, _> = json::from_text(&text);
        let said = read.map_err(|error| failed(error.to_string()))?.permissions;
        layers.push(Layer {
            level: *level,
            file: file.clone(),
            base: base.clone(),
            allow: said.allow,
            ask: said.ask,
            deny: said.deny,
            directories: said.additional_directories,
            default_mode: said.default_mode,
        });
    }
    Ok(layers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_layer_keeps_its_file_and_a_mistake_is_named_with_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let place = |name: &str| Place {
            level: Level::Project,
            file: dir.path().join(name),
            base: dir.path().into(),
        };
        let places = [place("one"), place("missing"), place("two")];
        fs::write(
            &places[0].file,
            r#"{"model": "opus", "permissions": {"allow": ["Read"], "defaultMode": "plan"}}"#,
        )
        .unwrap();
        fs::write(
            &places[2].file,
            r#"{"permissions": {"deny": ["Bash"], "ask": null, "additionalDirectories": ["../x"]}}"#,
        )
        .unwrap();
        let one = Layer {
            file: places[0].file.clone(),
            base: dir.path().into(),
            allow: vec!["Read".into()],
            default_mode: Some("plan".into()),
            ..Layer::default()
        };
        let two = Layer {
            file: places[2].file.clone(),
            base: dir.path().into(),
            deny: vec!["Bash".into()],
            directories: vec!["../x".into()],
            ..Layer::default()
        };
        assert_eq!(load(&places), Ok(vec![one, two]));
        fs::write(&places[2].file, "{\"permissions\": {\n\"allow\": 7}}").unwrap();
        let error = load(&places).unwrap_err().to_string();
        assert!(error.contains("two: ") && error.contains("line 2"), "{error}");
    }

    #[test]
    fn the_rules_of_a_projects_file_begin_at_the_project() {
        assert_eq!(place_of(Path::new("/p/.claude/settings.json")).base, Path::new("/p"));
        assert_eq!(place_of(Path::new("/p/mine.json")).base, Path::new("/p"));
    }
}
