//! Commands that run for long end on a signal, and end well.

use std::io;

use tokio::signal::unix::{SignalKind, signal};

use crate::model::Stop;

/// A stop that SIGTERM and Ctrl-C pull. They are watched from here on.
pub fn stop_on_signal() -> io::Result<Stop> {
    let stop = Stop::new();
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let pulled = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        pulled.cancel();
    });
    Ok(stop)
}
