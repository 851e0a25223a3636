//! Where everything is: the home directory with its fixed layout, and the log.
//!
//! The layout below the home is the ecosystem's, so `--home ~/.claude` shares it with other
//! programs. Only `quarterdeck/` below it is ours alone.

use std::env;
use std::path::{self, Path, PathBuf};

use directories::ProjectDirs;

use crate::protocol::ids::{AgentName, AskId, SessionId, TaskId, TeamDir};

/// The root of all durable state, with the names of everything below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
}

/// The home directory could not be told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no home directory was found; name one with --home DIR or QUARTERDECK_HOME")]
pub struct NoHome;

impl Home {
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// `--home`, else `QUARTERDECK_HOME`, else the platform's data directory.
    pub fn find(given: Option<&Path>) -> Result<Self, NoHome> {
        // Absolute, since other processes and other threads read what we record about it.
        let absolute = |root: &Path| Self::at(path::absolute(root).unwrap_or_else(|_| root.into()));
        if let Some(root) = given {
            return Ok(absolute(root));
        }
        match env::var_os("QUARTERDECK_HOME") {
            Some(root) if !root.is_empty() => Ok(absolute(Path::new(&root))),
            Some(_) | None => project_dirs().map(|dirs| Self::at(dirs.data_dir())).ok_or(NoHome),
        }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn teams(&self) -> PathBuf {
        self.root.join("teams")
    }

    pub fn team(&self, team: &TeamDir) -> PathBuf {
        self.teams().join(team.as_str())
    }

    pub fn config(&self, team: &TeamDir) -> PathBuf {
        self.team(team).join("config.json")
    }

    pub fn inboxes(&self, team: &TeamDir) -> PathBuf {
        self.team(team).join("inboxes")
    }

    pub fn inbox(&self, team: &TeamDir, agent: &AgentName) -> PathBuf {
        self.inboxes(team).join(format!("{}.json", agent.file_stem()))
    }

    pub fn task_lists(&self) -> PathBuf {
        self.root.join("tasks")
    }

    pub fn tasks(&self, list: &TeamDir) -> PathBuf {
        self.task_lists().join(list.as_str())
    }

    pub fn task(&self, list: &TeamDir, id: &TaskId) -> PathBuf {
        self.tasks(list).join(format!("{}.json", id.file_stem()))
    }

    pub fn plans(&self) -> PathBuf {
        self.root.join("plans")
    }

    /// Where the transcripts of work in `cwd` are: its path with everything but letters and
    /// digits as `-`.
    pub fn project(&self, cwd: &Path) -> PathBuf {
        let cwd = cwd.to_string_lossy();
        let name: String =
            cwd.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        self.root.join("projects").join(name)
    }

    /// Ours alone.
    pub fn ours(&self) -> PathBuf {
        self.root.join("quarterdeck")
    }

    pub fn session(&self, session: &SessionId) -> PathBuf {
        self.ours().join("sessions").join(session.file_stem())
    }

    pub fn journal(&self, session: &SessionId) -> PathBuf {
        self.session(session).join("events.jsonl")
    }

    pub fn asks(&self, session: &SessionId) -> PathBuf {
        self.session(session).join("asks")
    }

    pub fn ask(&self, session: &SessionId, ask: &AskId) -> PathBuf {
        self.asks(session).join(format!("{}.json", ask.file_stem()))
    }

    /// What a session is resumed with: mode, grants, cost, members.
    pub fn state(&self, session: &SessionId) -> PathBuf {
        self.session(session).join("state.json")
    }

    /// Files that tell our own processes who holds what.
    pub fn locks(&self) -> PathBuf {
        self.ours().join("locks")
    }
}

/// Where the log is written. `None` where the platform names no directory.
pub fn log_file() -> Option<PathBuf> {
    let dirs = project_dirs()?;
    let state = dirs.state_dir().unwrap_or_else(|| dirs.data_local_dir());
    Some(state.join("quarterdeck.log"))
}

/// Where the user's configuration is.
pub fn config_dir() -> Option<PathBuf> {
    project_dirs().map(|dirs| dirs.config_dir().to_owned())
}

/// Where the ecosystem's programs keep the user's settings: `CLAUDE_CONFIG_DIR`, else `~/.claude`.
pub fn claude_dir() -> Option<PathBuf> {
    match env::var_os("CLAUDE_CONFIG_DIR") {
        Some(dir) if !dir.is_empty() => Some(dir.into()),
        Some(_) | None => user_dir().map(|dir| dir.join(".claude")),
    }
}

/// Where the administrator of a machine puts definitions of agents that nobody overrides.
pub fn policy_agents_dir() -> PathBuf {
    match env::var_os("QUARTERDECK_POLICY_AGENTS") {
        Some(dir) if !dir.is_empty() => dir.into(),
        Some(_) | None => "/etc/quarterdeck/agents".into(),
    }
}

/// The user's home directory, what `~` means.
pub fn user_dir() -> Option<PathBuf> {
    directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned())
}

/// The user's own list of models, which may not be there.
pub fn models_file() -> Option<PathBuf> {
    config_dir().map(|dir| dir.join("models.toml"))
}

fn project_dirs() -> Option<ProjectDirs> {
    ProjectDirs::from("", "", "quarterdeck")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_the_ecosystems() {
        let home = Home::at("/h");
        let team = TeamDir::found("peer-team").unwrap();
        let inbox = home.inbox(&team, &AgentName::found("a.b"));
        assert_eq!(inbox, Path::new("/h/teams/peer-team/inboxes/a-b.json"));
        assert_eq!(home.task(&team, &TaskId::from(3)), Path::new("/h/tasks/peer-team/3.json"));
        assert_eq!(home.project(Path::new("/project")), Path::new("/h/projects/-project"));
        let ask = AskId::found("shutdown-1@alice/../x");
        let file = home.ask(&SessionId::found("s"), &ask);
        assert_eq!(
            file,
            Path::new("/h/quarterdeck/sessions/s/asks/shutdown-1@alice%2F..%2Fx.json")
        );
    }
}
