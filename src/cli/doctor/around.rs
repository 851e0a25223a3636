//! The terminal, the programs and the model that the console would work with.

use std::env;
use std::fs;
use std::io::{self, IsTerminal};
use std::process::Command;
use std::time::Duration;

use super::finding::Finding;
use crate::cli::model;
use crate::console::view::surroundings::Surroundings;
use crate::model::choose::{self, Origin};
use crate::model::http;
use crate::protocol::ids::SessionId;
use crate::settings::paths::Home;
use crate::tools::shell::{Options, Shell};

const TERMINAL: &str = "terminal";
const PROGRAMS: &str = "programs";
const MODEL: &str = "model";

/// How long the shell may take to start.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whether the terminal can be asked: it answers where keys come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Terminal {
    Free,
    InUse,
}

pub fn look(use_of_it: Terminal) -> Vec<Finding> {
    let mut found = terminal(use_of_it);
    found.extend(programs());
    found.extend(models());
    found
}

fn terminal(use_of_it: Terminal) -> Vec<Finding> {
    let around = Surroundings::read(|name| env::var(name).ok());
    let theme = around.theme_name();
    let colours = match theme {
        "plain" => "no colours (NO_COLOR, or TERM=dumb)",
        "sixteen" => "16 colours; set COLORTERM=truecolor if your terminal has more",
        _ => "all colours",
    };
    let mut found = vec![Finding::fine(TERMINAL, format!("{colours}: theme `{theme}`"))];
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        let what = "not a terminal, so size and keyboard are unknown";
        found.push(Finding::note(TERMINAL, what));
        return found;
    }
    found.push(match crossterm::terminal::size() {
        Ok((columns, rows)) if columns < 40 || rows < 10 => {
            let what = format!("{columns}×{rows} is too small; the console needs 40×10");
            Finding::wrong(TERMINAL, what)
        }
        Ok((columns, rows)) if columns < 140 || rows < 35 => {
            let what = format!("{columns}×{rows}; from 140×35 on, everything fits on one screen");
            Finding::note(TERMINAL, what)
        }
        Ok((columns, rows)) => Finding::fine(TERMINAL, format!("{columns}×{rows}")),
        Err(error) => Finding::note(TERMINAL, format!("the size could not be read: {error}")),
    });
    if use_of_it == Terminal::Free {
        found.push(keyboard());
    }
    found.push(clipboard());
    found
}

/// Asks the terminal; it answers or stays silent for two seconds.
fn keyboard() -> Finding {
    match crossterm::terminal::supports_keyboard_enhancement() {
        Ok(true) => {
            Finding::fine(TERMINAL, "the keyboard protocol is supported: all key chords work")
        }
        Ok(false) => Finding::note(
            TERMINAL,
            "no keyboard protocol: Shift+Enter may act as Enter; use Ctrl+J for a new line, and \
             Ctrl+X for other chords that do not arrive",
        ),
        Err(error) => {
            Finding::note(TERMINAL, format!("the keyboard could not be checked: {error}"))
        }
    }
}

fn clipboard() -> Finding {
    if env::var_os("TMUX").is_none() {
        let what = "copies with OSC 52, which most terminals support";
        return Finding::fine(TERMINAL, what);
    }
    let set = said(Command::new("tmux").args(["show-options", "-gv", "set-clipboard"]));
    match set.as_deref() {
        Some("off") => Finding::note(
            TERMINAL,
            "tmux blocks the clipboard; put `set -g set-clipboard on` into ~/.tmux.conf",
        ),
        Some(_) | None => Finding::fine(TERMINAL, "copies with OSC 52 through tmux"),
    }
}

fn programs() -> Vec<Finding> {
    let git = match said(Command::new("git").arg("--version")) {
        Some(version) => Finding::fine(PROGRAMS, version),
        None => Finding::wrong(
            PROGRAMS,
            "git is missing: worktrees and the rehearsal need it; install it with your system's \
             packages",
        ),
    };
    let tmux = match said(Command::new("tmux").arg("-V")) {
        Some(version) => Finding::fine(PROGRAMS, version),
        None => Finding::note(PROGRAMS, "tmux is not installed; nothing needs it"),
    };
    vec![git, tmux, shell()]
}

/// What commands begin with is taken from the person's shell: tries it, and keeps nothing of it.
fn shell() -> Finding {
    let name = env::var("SHELL").unwrap_or_default();
    if name.is_empty() {
        return Finding::note(PROGRAMS, "SHELL is not set: commands run in a plain shell");
    }
    let scratch = env::temp_dir().join(format!("quarterdeck-{}", uuid::Uuid::new_v4().simple()));
    let options = Options { tmp: scratch.clone(), start: PATIENCE, ..Options::default() };
    let shell = Shell::new(&Home::at(&scratch), &SessionId::found("doctor"), options);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    if let Ok(runtime) = runtime {
        runtime.block_on(shell.prepare());
    }
    // Where nothing could be made, nothing is left.
    let _ = fs::remove_dir_all(&scratch);
    match shell.trouble() {
        Some(trouble) => Finding::note(PROGRAMS, trouble),
        None => {
            let (functions, aliases) = (shell.functions().len(), shell.aliases().len());
            let what =
                format!("{name}: commands get your {functions} functions and {aliases} aliases");
            Finding::fine(PROGRAMS, what)
        }
    }
}

/// Which keys there are, never what they are.
fn models() -> Vec<Finding> {
    let mut found = Vec::new();
    for name in ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY"] {
        if http::setting(model::variable, name).is_some() {
            found.push(Finding::fine(MODEL, format!("{name} is set")));
        }
    }
    if found.is_empty() {
        let what = "no key is set; set ANTHROPIC_API_KEY or OPENAI_API_KEY to use a real model";
        found.push(Finding::note(MODEL, what));
    }
    let chosen = model::catalog().and_then(|catalog| model::chosen(&catalog, None));
    found.push(match chosen {
        Ok((_, Origin::NothingConfigured)) => {
            Finding::note(MODEL, "the rehearsal answers, since no model is configured")
        }
        Ok((chosen, origin)) => match choose::open(&chosen, model::variable) {
            Ok(_) => Finding::fine(MODEL, format!("{} ({})", chosen.name(), origin.in_words())),
            Err(error) => Finding::wrong(MODEL, error.to_string()),
        },
        Err(failure) => Finding::wrong(MODEL, failure.message().to_owned()),
    });
    found
}

/// The first line that a program prints, if it runs and says yes.
fn said(command: &mut Command) -> Option<String> {
    let ran = command.stdin(std::process::Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&ran.stdout);
    let line = text.lines().next().unwrap_or_default().trim().to_owned();
    (ran.status.success() && !line.is_empty()).then_some(line)
}
