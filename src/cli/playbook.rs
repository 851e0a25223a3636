//! `quarterdeck playbook`: check a playbook, or serve it.

use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::net::TcpListener;

use super::args::{PlaybookCommand, Serve};
use super::failure::Failure;
use super::out::Out;
use super::stop::stop_on_signal;
use crate::model::rehearsal::playbook::{Pace, Playbook, PlaybookError};
use crate::model::rehearsal::server::{self, Log, Options, ServeError};
use crate::protocol::mistake::Mistake;

pub fn run(command: PlaybookCommand, out: &mut Out) -> Result<(), Failure> {
    match command {
        PlaybookCommand::Check { file } => check(&file, out),
        PlaybookCommand::Serve(ask) => serve(&ask, out),
    }
}

fn check(file: &Path, out: &mut Out) -> Result<(), Failure> {
    match Playbook::load(file) {
        Ok(playbook) => {
            let none: [Mistake; 0] = [];
            out.answer(&none, || describe(&playbook))
        }
        Err(PlaybookError::Wrong { mistakes, .. }) => {
            tell(file, &mistakes, out);
            // The text is for stderr; here scripts get the list.
            out.answer(&mistakes, String::new)?;
            Err(Failure::Told)
        }
        Err(error @ PlaybookError::Io { .. }) => Err(Failure::bad_input(error.to_string())),
    }
}

fn tell(file: &Path, mistakes: &[Mistake], out: &mut Out) {
    for mistake in mistakes {
        out.remark(&format!("{}:{mistake}", file.display()));
    }
}

fn describe(playbook: &Playbook) -> String {
    let mut lines = vec![playbook.name.clone()];
    if !playbook.about.is_empty() {
        lines.push(format!("  {}", playbook.about));
    }
    let width = playbook.actors.iter().map(|actor| actor.who.to_string().chars().count()).max();
    let width = width.unwrap_or_default();
    for actor in &playbook.actors {
        let turns = match actor.turns.len() {
            1 => "1 turn".to_owned(),
            number => format!("{number} turns"),
        };
        lines.push(format!("  {:width$}  {turns}", actor.who.to_string()));
    }
    lines.join("\n")
}

fn serve(ask: &Serve, out: &mut Out) -> Result<(), Failure> {
    let playbook = match Playbook::load(&ask.file) {
        Ok(playbook) => Arc::new(playbook),
        Err(PlaybookError::Wrong { mistakes, .. }) => {
            tell(&ask.file, &mistakes, out);
            return Err(Failure::Told);
        }
        Err(error @ PlaybookError::Io { .. }) => return Err(Failure::bad_input(error.to_string())),
    };
    let log = ask.log.as_deref().map(open_log).transpose()?;
    let options = Options { pace: ask.pace.map(Pace::new), log };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let served = runtime.block_on(async {
        let stop = stop_on_signal()?;
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, ask.port)).await.map_err(|error| {
                Failure::no("io", format!("cannot listen on port {}: {error}", ask.port))
            })?;
        let address = format!("http://{}", listener.local_addr()?);
        out.answer(&json!({ "listening": address }), || format!("listening on {address}"))?;
        server::serve(listener, playbook, options, stop).await.map_err(failure)
    });
    // A log that is a full pipe would keep us here for ever.
    runtime.shutdown_timeout(Duration::from_secs(1));
    served
}

fn open_log(path: &Path) -> Result<Log, Failure> {
    Log::open(path).map_err(|error| {
        Failure::bad_input(format!("cannot write the log {}: {error}", path.display()))
    })
}

fn failure(error: ServeError) -> Failure {
    match error {
        ServeError::NotLoopback(_) => Failure::bad_input(error.to_string()),
        ServeError::Io(_) => Failure::no("io", error.to_string()),
    }
}
