//! What `quarterdeck team` understands.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub enum TeamCommand {
    /// Create a team with its lead
    Create {
        /// Letters, digits, `_` and `-`; at most 64
        name: String,
        /// What the team is for
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
        /// Where the lead works [default: the current directory]
        #[arg(long, value_name = "DIR")]
        cwd: Option<PathBuf>,
        /// The model the lead uses
        #[arg(long, value_name = "MODEL")]
        model: Option<String>,
    },
    /// All teams
    List,
    /// One team and its members
    Show {
        /// The team
        name: String,
    },
    /// What each agent of a team or session is doing
    Status {
        /// The team, or a session: its id, the beginning of it, or `latest`
        #[arg(default_value = "latest")]
        name: String,
    },
    /// Delete a team with its inboxes and tasks
    Delete {
        /// The team
        name: String,
        /// Even if it still has members
        #[arg(long)]
        force: bool,
    },
    /// Add a teammate; a name that is taken becomes `name-2`
    Join(Join),
    /// Take a teammate off the roster and release its tasks
    Leave {
        /// The team
        team: String,
        /// Who leaves
        agent: String,
    },
}

#[derive(Debug, Args)]
pub struct Join {
    /// The team
    pub team: String,
    /// Its name: letters, digits, `_` and `-`; at most 64
    pub agent: String,
    /// The kind of agent
    #[arg(long = "type", value_name = "TYPE", default_value = "general-purpose")]
    pub kind: String,
    /// What it should do; also sent to its inbox
    #[arg(long, value_name = "TEXT")]
    pub prompt: Option<String>,
    /// The model it uses
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Where it works [default: the current directory]
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
}
