//! What the user configured, in files of several layers: the user's own, then the project's,
//! then the project's on this machine. What a later one says counts.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::paths;
use crate::protocol::json;

/// The settings that are in force.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    /// The model to use: an alias, or `provider/model`.
    pub model: Option<String>,
    /// Whether an agent that is started without a type is a fork.
    pub fork: Option<bool>,
    /// After so many seconds an agent that is waited for goes to the background.
    pub auto_background_after: Option<f64>,
    /// The share of the model's window at which a conversation is summarised.
    pub compact_at: Option<f64>,
    #[serde(default, deserialize_with = "json::or_default")]
    pub worktree: WorktreeSettings,
}

/// Where worktrees are made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct WorktreeSettings {
    /// Relative to the main tree.
    pub directory: Option<PathBuf>,
    /// What is linked from the main tree instead of being there twice.
    pub symlink_directories: Option<Vec<PathBuf>>,
}

/// A settings file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {what}", file.display())]
pub struct SettingsError {
    pub file: PathBuf,
    pub what: String,
}

/// The files that are read for work in a project, in their order. Not all need be there.
pub fn files(project: &Path) -> Vec<PathBuf> {
    let own = project.join(".quarterdeck");
    let user = paths::config_dir().map(|dir| dir.join("settings.json"));
    user.into_iter().chain([own.join("settings.json"), own.join("settings.local.json")]).collect()
}

/// Reads all layers.
pub fn load(files: &[PathBuf]) -> Result<Settings, SettingsError> {
    let mut settings = Settings::default();
    for file in files {
        let failed = |what: String| SettingsError { file: file.clone(), what };
        let text = match fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(failed(error.to_string())),
        };
        let layer: Settings = json::from_text(&text).map_err(|error| failed(error.to_string()))?;
        if layer.auto_background_after.is_some_and(|seconds| !(0.0..1e9).contains(&seconds)) {
            return Err(failed("`autoBackgroundAfter` is a number of seconds".to_owned()));
        }
        if layer.compact_at.is_some_and(|share| !(0.1..=1.0).contains(&share)) {
            return Err(failed("`compactAt` is a share between 0.1 and 1".to_owned()));
        }
        settings.model = layer.model.or(settings.model);
        settings.fork = layer.fork.or(settings.fork);
        settings.auto_background_after =
            layer.auto_background_after.or(settings.auto_background_after);
        settings.compact_at = layer.compact_at.or(settings.compact_at);
        let (worktree, before) = (layer.worktree, settings.worktree);
        settings.worktree = WorktreeSettings {
            directory: worktree.directory.or(before.directory),
            symlink_directories: worktree.symlink_directories.or(before.symlink_directories),
        };
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_layer_counts_and_a_mistake_is_named_with_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let layers = ["user", "project", "local"].map(|name| dir.path().join(name));
        assert_eq!(load(&layers), Ok(Settings::default()), "none of them need be there");
        fs::write(&layers[0], r#"{"model": "opus", "permissions": {}}"#).unwrap();
        fs::write(&layers[2], r#"{"model": "haiku"}"#).unwrap();
        assert_eq!(load(&layers).unwrap().model.as_deref(), Some("haiku"));
        fs::write(&layers[2], "{}").unwrap();
        assert_eq!(load(&layers).unwrap().model.as_deref(), Some("opus"));
        fs::write(&layers[1], r#"{"fork": true, "compactAt": 0.5, "autoBackgroundAfter": 2}"#)
            .unwrap();
        let read = load(&layers).unwrap();
        let numbers = (read.fork, read.compact_at, read.auto_background_after);
        assert_eq!(numbers, (Some(true), Some(0.5), Some(2.0)));
        for wrong in [r#"{"compactAt": 3}"#, r#"{"autoBackgroundAfter": -1}"#] {
            fs::write(&layers[1], wrong).unwrap();
            assert!(load(&layers).is_err(), "{wrong}");
        }
        fs::write(&layers[1], "{\n  \"model\": 7\n}").unwrap();
        let error = load(&layers).unwrap_err().to_string();
        assert!(error.contains("project: ") && error.contains("line 2"), "{error}");
    }
}
