//! What the user configured, in files of several layers: the user's own, then the project's,
//! then the project's on this machine. What a later one says counts.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::budgets::Budgets;
use super::{check, paths};
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
    /// After so many seconds without output a background command is looked at: it may wait for
    /// input that it never gets.
    pub quiet_after: Option<f64>,
    /// The share of the model's window at which a conversation is summarised.
    pub compact_at: Option<f64>,
    /// Whether a teammate without work takes the next free task.
    pub auto_claim: Option<bool>,
    /// Who says whether the plan of a teammate is good.
    pub plan_approval: Option<PlanApproval>,
    /// After so many seconds without an answer to a request to end, the person decides.
    pub shutdown_after: Option<f64>,
    /// After so many seconds without a sign of life, an agent at work counts as stalled.
    pub stalled_after: Option<f64>,
    #[serde(default, deserialize_with = "json::or_default")]
    pub budgets: Budgets,
    #[serde(default, deserialize_with = "json::or_default")]
    pub worktree: WorktreeSettings,
    #[serde(default, deserialize_with = "json::or_default")]
    pub asks: AskSettings,
}

/// How the console shows what agents ask.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AskSettings {
    /// `auto`: a dialog opens when nobody types. `manual`: only when a key asks for it.
    pub open: Option<AskOpening>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AskOpening {
    Auto,
    Manual,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlanApproval {
    /// The person.
    #[default]
    Human,
    /// The model of the lead.
    Lead,
    /// Every plan is good.
    Auto,
}

/// How long an agent at work may give no sign of life, in seconds, where nobody says otherwise.
pub const STALLED_AFTER: u64 = 120;

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
        if let Some(mistake) = layer.mistake() {
            return Err(failed(placed(&text, mistake)));
        }
        settings = layer.over(settings);
    }
    Ok(settings)
}

/// A mistake with the line of the key that it names first.
fn placed(text: &str, mistake: String) -> String {
    let name = mistake.split('`').nth(1).unwrap_or_default();
    match check::place_of(text, name) {
        Some(place) => format!("{mistake} at line {} column {}", place.line, place.column),
        None => mistake,
    }
}

/// Keys in these files that are probably slips for ours, each as `FILE:LINE:COLUMN: what`.
pub fn slips(files: &[PathBuf]) -> Vec<String> {
    let mut told = Vec::new();
    for file in files {
        let Ok(text) = fs::read_to_string(file) else { continue };
        let found = check::slips(&text);
        told.extend(found.iter().map(|mistake| format!("{}:{mistake}", file.display())));
    }
    told
}

impl Settings {
    /// What is wrong with one layer, if anything.
    fn mistake(&self) -> Option<String> {
        let seconds = [
            ("autoBackgroundAfter", self.auto_background_after),
            ("quietAfter", self.quiet_after),
            ("shutdownAfter", self.shutdown_after),
            ("stalledAfter", self.stalled_after),
        ];
        let is_wrong = |value: f64| !(0.0..1e9).contains(&value);
        let wrong = seconds.into_iter().find(|(_, value)| value.is_some_and(is_wrong));
        if let Some((name, _)) = wrong {
            return Some(format!("`{name}` must be a number of seconds"));
        }
        if self.compact_at.is_some_and(|share| !(0.1..=1.0).contains(&share)) {
            return Some("`compactAt` must be between 0.1 and 1".to_owned());
        }
        self.budgets.mistake()
    }

    /// What this layer says, and of the rest what those before it said.
    fn over(self, before: Self) -> Self {
        let (worktree, last) = (self.worktree, before.worktree);
        Self {
            model: self.model.or(before.model),
            fork: self.fork.or(before.fork),
            auto_background_after: self.auto_background_after.or(before.auto_background_after),
            quiet_after: self.quiet_after.or(before.quiet_after),
            compact_at: self.compact_at.or(before.compact_at),
            auto_claim: self.auto_claim.or(before.auto_claim),
            plan_approval: self.plan_approval.or(before.plan_approval),
            shutdown_after: self.shutdown_after.or(before.shutdown_after),
            stalled_after: self.stalled_after.or(before.stalled_after),
            budgets: self.budgets.over(before.budgets),
            asks: AskSettings { open: self.asks.open.or(before.asks.open) },
            worktree: WorktreeSettings {
                directory: worktree.directory.or(last.directory),
                symlink_directories: worktree.symlink_directories.or(last.symlink_directories),
            },
        }
    }
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
        assert_eq!(read.asks.open, None);
        fs::write(&layers[0], r#"{"asks": {"open": "manual"}}"#).unwrap();
        assert_eq!(load(&layers).unwrap().asks.open, Some(AskOpening::Manual));
        let wrong = [
            r#"{"compactAt": 3}"#,
            r#"{"autoBackgroundAfter": -1}"#,
            r#"{"quietAfter": -1}"#,
            r#"{"shutdownAfter": -1}"#,
            r#"{"stalledAfter": 1e10}"#,
            r#"{"planApproval": "nobody"}"#,
            r#"{"autoClaim": "yes"}"#,
            r#"{"asks": {"open": 1}}"#,
            r#"{"budgets": {"agent": {"usd": 0}}}"#,
            r#"{"budgets": {"team": {"turns": 0}}}"#,
            r#"{"budgets": {"team": {"hours": 3}}}"#,
        ];
        for wrong in wrong {
            fs::write(&layers[1], wrong).unwrap();
            assert!(load(&layers).is_err(), "{wrong}");
        }
        let of_team = r#"{"planApproval": "lead", "budgets": {"agent": {"turns": 3, "usd": 0.5}}}"#;
        fs::write(&layers[1], of_team).unwrap();
        fs::write(&layers[2], r#"{"budgets": {"agent": {"turns": 9}, "team": {"minutes": 5}}}"#)
            .unwrap();
        let read = load(&layers).unwrap();
        assert_eq!(read.plan_approval, Some(PlanApproval::Lead));
        let Budgets { agent, team } = read.budgets;
        assert_eq!((agent.turns, agent.usd, team.minutes), (Some(9), Some(0.5), Some(5.0)));
        fs::write(&layers[1], "{\n  \"budgets\": {\n    \"agent\": {\"usd\": 0}}}").unwrap();
        let error = load(&layers).unwrap_err().to_string();
        assert!(error.contains("`budgets.agent.usd`") && error.contains("line 3"), "{error}");
        fs::write(&layers[1], "{\n  \"model\": 7\n}").unwrap();
        let error = load(&layers).unwrap_err().to_string();
        assert!(error.contains("project: ") && error.contains("line 2"), "{error}");
    }

    #[test]
    fn every_documented_setting_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("settings.json");
        let ours = check::KEYS.iter().filter(|key| !key.name.starts_with("permissions."));
        for key in ours {
            // Nothing takes a list of lists.
            let text = key
                .name
                .rsplit('.')
                .fold("[[]]".to_owned(), |inner, name| format!("{{ \"{name}\": {inner} }}"));
            fs::write(&file, &text).unwrap();
            assert!(load(std::slice::from_ref(&file)).is_err(), "nobody minds {text}");
        }
    }
}
