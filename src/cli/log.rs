//! The log: a file under the state directory, never the terminal.

use std::env;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Mutex;

use tracing_subscriber::EnvFilter;

use crate::settings::paths;
use crate::store::files;

/// A log that has grown beyond this starts anew.
const LARGEST: u64 = 10 << 20;

/// Starts logging at the level that `QUARTERDECK_LOG` names. Without a place to log to, the
/// program works as well.
pub fn start() {
    let Some(path) = paths::log_file() else { return };
    let asked = env::var("QUARTERDECK_LOG").unwrap_or_default();
    let level = if asked.is_empty() { "info" } else { &asked };
    let filter = EnvFilter::try_new(level);
    let odd = filter.is_err();
    let Some(file) = open(&path) else { return };
    let started = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_env_filter(filter.unwrap_or_else(|_| EnvFilter::new("info")))
        .with_writer(Mutex::new(file))
        .try_init();
    if started.is_ok() && odd {
        tracing::warn!(QUARTERDECK_LOG = asked, "not a level; logging at info");
    }
}

fn open(path: &Path) -> Option<fs::File> {
    files::make_dir(path.parent()?).ok()?;
    let too_large = fs::metadata(path).is_ok_and(|log| log.len() > LARGEST);
    let mut options = OpenOptions::new();
    options.create(true).append(true).mode(0o600);
    let file = options.open(path).ok()?;
    if too_large {
        file.set_len(0).ok()?;
    }
    Some(file)
}
