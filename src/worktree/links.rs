//! What a worktree shares with the main tree, and how both stay out of `git status`.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::git::Git;
use super::is_plain_relative;
use super::site::Site;

/// Links directories of the main tree into a worktree. What is not there, or is linked already,
/// is fine; anything else is a warning.
pub fn make(site: &Site, path: &Path, names: &[PathBuf]) -> Vec<String> {
    names.iter().filter_map(|name| make_one(site, path, name).err()).collect()
}

fn make_one(site: &Site, path: &Path, name: &Path) -> Result<(), String> {
    if !is_plain_relative(name) {
        return Err(format!("{} is not linked: it points outside the tree", name.display()));
    }
    let (source, target) = (site.root.join(name), path.join(name));
    if !source.exists() || fs::symlink_metadata(&target).is_ok() {
        return Ok(());
    }
    match symlink(&source, &target) {
        Ok(()) => {}
        // The directory that it belongs in is not there; or somebody was faster.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::AlreadyExists) => {
            return Ok(());
        }
        Err(error) => return Err(format!("{} is not linked: {error}", name.display())),
    }
    // `node_modules/` in .gitignore means a directory: the link would be seen, and committed.
    let seen = Git { dir: path, limit: site.limit }.says(&ignored(name));
    let hidden_there = || site.git().says(&ignored(&name.join(""))).unwrap_or(false);
    if seen.is_ok_and(|ignored| !ignored) && hidden_there() {
        exclude(site, &format!("/{}", escaped(name)))?;
    }
    Ok(())
}

/// Puts back links that were taken away.
pub fn restore(repo: &Path, path: &Path, names: &[PathBuf]) {
    for name in names {
        // It is a convenience: without it, things are installed again.
        let _ = symlink(repo.join(name), path.join(name));
    }
}

/// Whether something in a worktree is a link of ours to the same place in the main tree.
pub fn is_ours(repo: &Path, path: &Path, name: &Path) -> bool {
    fs::read_link(path.join(name)).is_ok_and(|target| target == repo.join(name))
}

/// Keeps the directory of all worktrees out of the main tree's status.
pub fn hide(site: &Site, directory: &Path) -> Result<(), String> {
    let inside = directory.join("any");
    if site.git().says(&ignored(&inside)).unwrap_or(true) {
        return Ok(());
    }
    exclude(site, &format!("/{}/", escaped(directory)))
}

fn ignored(name: &Path) -> [&std::ffi::OsStr; 4] {
    ["check-ignore".as_ref(), "--quiet".as_ref(), "--".as_ref(), name.as_os_str()]
}

/// Adds a line to the repository's own list, which is never committed. Behind the gate.
fn exclude(site: &Site, line: &str) -> Result<(), String> {
    let file = site.common.join("info/exclude");
    let failed = |error: io::Error| format!("{} cannot be changed: {error}", file.display());
    let mut text = match fs::read(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(failed(error)),
    };
    if text.split(|byte| *byte == b'\n').any(|known| known == line.as_bytes()) {
        return Ok(());
    }
    if text.last().is_some_and(|byte| *byte != b'\n') {
        text.push(b'\n');
    }
    text.extend_from_slice(line.as_bytes());
    text.push(b'\n');
    fs::create_dir_all(site.common.join("info")).map_err(failed)?;
    fs::write(&file, text).map_err(failed)
}

/// A path as a pattern that means only itself.
fn escaped(path: &Path) -> String {
    let mut pattern = String::new();
    for c in path.to_string_lossy().chars() {
        if matches!(c, '*' | '?' | '[' | '\\' | ' ') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}
