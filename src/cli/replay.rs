//! `quarterdeck replay`: a recorded session, on the console or as Markdown.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use super::asks;
use super::console::{ConsoleArgs, has_terminal, keymap, theme};
use super::failure::Failure;
use super::out::Out;
use crate::console::commands::export::exported;
use crate::console::runtime::playback::{Playback, play};
use crate::console::state::Opening;
use crate::protocol::ids::AgentId;
use crate::session::replay::{Player, Recording, ReplayError};
use crate::store::Store;

#[derive(Debug, Args)]
pub struct Replay {
    /// The session (its id, the beginning of it, or `latest`), or the file of a journal
    #[arg(value_name = "SESSION|FILE")]
    pub what: String,
    /// How fast it plays at first
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = speed)]
    pub speed: f64,
    /// Write the session as Markdown instead of showing it; `-` is standard output
    #[arg(long, value_name = "FILE.md")]
    pub export: Option<PathBuf>,
    /// dark, light, sixteen, contrast or plain [default: what suits the terminal]
    #[arg(long, value_name = "NAME")]
    pub theme: Option<String>,
    /// Leave the mouse to the terminal
    #[arg(long)]
    pub no_mouse: bool,
    /// Draw with ASCII signs only
    #[arg(long)]
    pub ascii: bool,
}

fn speed(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches(['x', '×']).parse::<f64>().ok();
    let number = number.filter(|speed| (0.01..=1000.0).contains(speed));
    number.ok_or_else(|| "it must be a number between 0.01 and 1000".to_owned())
}

pub fn run(store: &Store, args: &Replay, out: &mut Out) -> Result<(), Failure> {
    let (name, file) = journal(store, &args.what)?;
    let recording = Recording::read(&file).map_err(|error| match error {
        ReplayError::Store(error) => Failure::from(error),
        ReplayError::Empty(_) => Failure::bad_input(error.to_string()),
    })?;
    if recording.unreadable > 0 {
        out.remark(&format!(
            "quarterdeck: {} lines are not events and were skipped",
            recording.unreadable
        ));
    }
    if let Some(target) = &args.export {
        return export(&name, &recording, target, out);
    }
    if !has_terminal() {
        let what = "replaying needs a terminal; --export FILE.md works without one";
        return Err(Failure::bad_input(what));
    }
    show(name, recording, args)
}

/// The name and the journal of what was asked for.
fn journal(store: &Store, what: &str) -> Result<(String, PathBuf), Failure> {
    let file = Path::new(what);
    if file.is_file() {
        let name = file.file_stem().map(|name| name.to_string_lossy().into_owned());
        return Ok((name.unwrap_or_default(), file.to_owned()));
    }
    let session = asks::session(store, what)?;
    Ok((session.to_string(), store.home().journal(&session)))
}

fn export(name: &str, recording: &Recording, to: &Path, out: &mut Out) -> Result<(), Failure> {
    let events = recording.events();
    let text = exported(name, events.iter().map(Arc::as_ref));
    if to == Path::new("-") {
        return out.text(text.trim_end());
    }
    let shown = to.display().to_string();
    fs::write(to, text.as_bytes())
        .map_err(|error| Failure::no("io", format!("{shown}: {error}")))?;
    out.answer(&serde_json::json!({ "file": shown }), || shown.clone())
}

fn show(name: String, recording: Recording, args: &Replay) -> Result<(), Failure> {
    let theme = theme(&ConsoleArgs {
        theme: args.theme.clone(),
        ascii: args.ascii,
        ..ConsoleArgs::default()
    })?;
    let nobody = || AgentId::parse("team-lead@session");
    let lead = recording.lead().cloned().or_else(nobody);
    let lead = lead.ok_or_else(|| Failure::bad_input("the recording names no agent"))?;
    let opening = Opening {
        lead,
        now: recording.start(),
        session: name,
        project: String::new(),
        keymap: keymap()?,
        mouse: !args.no_mouse,
        theme: theme.name.clone(),
    };
    let player = Player::new(Arc::new(recording), args.speed);
    let playback = Playback::new(player, opening, theme);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let here = std::env::current_dir()?;
    let left = runtime.block_on(play(playback, !args.no_mouse, &here));
    runtime.shutdown_timeout(Duration::from_millis(200));
    left.map_err(|error| Failure::no("terminal", format!("the terminal: {error}")))
}
