//! `quarterdeck run`: a session without a screen, for scripts. It is a client like the console:
//! ops in, events out.

pub mod args;
pub mod begin;
mod client;
mod control;
mod input;
mod lines;

use std::io;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::failure::Failure;
use super::out::Out;
use crate::session::live::Live;
use crate::store::Store;
use crate::worktree::{self, Outcome};
use args::{OutputFormat, Run};
use begin::Begun;
use client::{Client, Parting};
use input::Input;

pub fn run(store: &Store, run: &Run, out: &mut Out) -> Result<(), Failure> {
    let format = match run.output_format {
        Some(format) => format,
        None if out.is_json() => OutputFormat::Json,
        None => OutputFormat::Text,
    };
    if format == OutputFormat::Json {
        out.use_json();
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let outcome = runtime.block_on(headless(store, run, format, out));
    // A tool that hangs in a blocking call must not keep the program from ending.
    runtime.shutdown_timeout(Duration::from_millis(200));
    outcome
}

async fn headless(
    store: &Store,
    run: &Run,
    format: OutputFormat,
    out: &mut Out,
) -> Result<(), Failure> {
    let mut signals = Signals::new()?;
    let input = tokio::select! {
        input = Input::open(run) => input?,
        () = signals.next() => return Err(Failure::Interrupted),
    };
    let Begun { live, tree } = begin::begin(store, run, out, signals.next()).await?;
    if input.is_over() && !live.had_work {
        live.end().await;
        return Err(Failure::bad_input("nothing was left to do; say what to do with -p TEXT"));
    }
    let mut client = Client::new(run, format, &live, out);
    let (told, parting) = client.serve(input, &mut signals).await;
    drop(client);
    part(live, parting, &mut signals).await;
    if let Some(Outcome::Kept { path, branch, changes, .. }) = tree.map(worktree::clean_up) {
        let (path, summary) = (path.display(), changes.summary);
        out.remark(&format!("quarterdeck: the work is in {path} on {branch}: {summary}"));
    }
    told
}

/// Ends the session; another signal has it end at once.
async fn part(live: Live, parting: Parting, signals: &mut Signals) {
    let office = std::sync::Arc::clone(&live.office);
    let hurry = async {
        if parting != Parting::AtOnce {
            signals.next().await;
        }
        // Dropped where they stand; what they started is ended all the same.
        office.abandoned.cancel();
        std::future::pending::<()>().await;
    };
    let end = async {
        match parting {
            Parting::Usual => live.end().await,
            Parting::AsksStay | Parting::AtOnce => live.suspend().await,
        }
    };
    tokio::select! {
        () = end => {}
        () = hurry => {}
    }
}

/// Ctrl-C and the polite end.
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        let interrupt = signal(SignalKind::interrupt())?;
        Ok(Self { interrupt, terminate: signal(SignalKind::terminate())? })
    }

    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
