//! The `permissions` of settings files, each with the file that said it: ours, and those that
//! the ecosystem's programs share. Nothing is merged here, since deny holds from any layer.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::layers::SettingsError;
use super::paths;
use crate::protocol::json;

/// What one file says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layer {
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
    let own_dir = |dir: PathBuf| Place { file: dir.join("settings.json"), base: dir };
    let user = [paths::claude_dir(), paths::config_dir()].into_iter().flatten().map(own_dir);
    let shared = ["settings.json", "settings.local.json"].into_iter().flat_map(|name| {
        [".claude", ".quarterdeck"]
            .map(|dir| Place { file: project.join(dir).join(name), base: project.to_owned() })
    });
    user.chain(shared).collect()
}

/// A settings file named by hand. Its rules begin where a project's would.
pub fn place_of(file: &Path) -> Place {
    let dir = file.parent().unwrap_or(file);
    let in_project = [".claude", ".quarterdeck"].iter().any(|name| dir.ends_with(name));
    let base = if in_project { dir.parent().unwrap_or(dir) } else { dir };
    Place { file: file.to_owned(), base: base.to_owned() }
}

/// Reads the files that are there, in their order.
pub fn load(places: &[Place]) -> Result<Vec<Layer>, SettingsError> {
    let mut layers = Vec::new();
    for Place { file, base } in places {
        let failed = |what: String| SettingsError { file: file.clone(), what };
        let text = match fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(failed(error.to_string())),
        };
        let read: Result<FileRecord, _> = json::from_text(&text);
        let said = read.map_err(|error| failed(error.to_string()))?.permissions;
        layers.push(Layer {
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
        let place = |name: &str| Place { file: dir.path().join(name), base: dir.path().into() };
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
