//! Changes to settings files that people write too. Only what was meant is changed, a link stays
//! a link, the file keeps its mode, and what is not understood is left alone.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::error::StoreError;
use super::{Store, files};
use crate::settings::grants::NotWritten;

/// No settings are larger.
const LARGEST: u64 = 16 * 1024 * 1024;

/// Puts in the place of a file's text what `change` makes of it; `None` leaves it. Says whether
/// anything was written.
pub fn change(
    store: &Store,
    file: &Path,
    change: impl FnOnce(Option<&str>) -> Result<Option<String>, NotWritten>,
) -> Result<bool, StoreError> {
    // Rare and short: one door for all of them is enough.
    let mut held = store.locks().enter(&["settings"])?;
    let target = followed(file)?;
    let before = files::read_text(&target, LARGEST)?;
    let refused = |why: NotWritten| StoreError::io("change", file, io::Error::other(why));
    let Some(after) = change(before.as_deref()).map_err(refused)? else { return Ok(false) };
    let mode = fs::metadata(&target).ok().map(|found| found.permissions());
    if let Some(dir) = target.parent() {
        files::make_dir(dir)?;
    }
    held.replace_with(&target, |new| {
        if let Some(mode) = mode {
            new.set_permissions(mode)?;
        }
        io::Write::write_all(new, after.as_bytes())
    })?;
    Ok(true)
}

/// The text of a settings file; `None` where there is none.
pub fn text(file: &Path) -> Result<Option<String>, StoreError> {
    files::read_text(file, LARGEST)
}

/// The file behind a link. One that leads nowhere is refused: it would make a file in a place
/// that nobody has seen.
fn followed(file: &Path) -> Result<PathBuf, StoreError> {
    let is_link = fs::symlink_metadata(file).is_ok_and(|found| found.is_symlink());
    if !is_link {
        return Ok(file.to_owned());
    }
    fs::canonicalize(file).map_err(|source| StoreError::io("follow the link", file, source))
}
