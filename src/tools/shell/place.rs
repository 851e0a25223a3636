//! Where output that is too long for a conversation is kept: `TMP/quarterdeck-<uid>/…/tasks/`.
//!
//! The temporary directory is everyone's. A directory there counts as ours only if it is a real
//! one, belongs to this user and is closed to others; else the session's own directory is taken.
//!
//! An output that nobody was told of goes when its command ends. The others stay for some days
//! after the session, for whoever reads its transcript, and go when a later session begins.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::protocol::ids::SessionId;
use crate::settings::paths::Home;

/// The longest name of a directory, with room to spare.
const LONGEST: usize = 200;

/// The directory for the outputs of work on a project, made where it is missing.
pub(super) fn outputs(
    tmp: &Path,
    home: &Home,
    session: &SessionId,
    project: &Path,
) -> io::Result<PathBuf> {
    let name = home.project(project);
    let name = name.file_name().unwrap_or_default().to_string_lossy();
    let name: String = name.chars().take(LONGEST).collect();
    below(tmp, &[&own_name(), &name, "tasks"]).or_else(|error| {
        tracing::warn!(tmp = %tmp.display(), %error, "the temporary directory cannot be used");
        let dir = home.session(session);
        crate::store::files::make_dir(&dir).map_err(io::Error::other)?;
        below(&dir, &["tasks"])
    })
}

/// What the ids of a shell's commands begin with, and so the names of their outputs: by it one
/// can tell whose they are.
pub(super) fn prefix(mark: &str) -> String {
    format!("b{}", mark.get(..6).unwrap_or_default())
}

/// Removes outputs that nobody has written to for so long, unless their shell lives.
pub(super) fn sweep(tmp: &Path, kept: Duration, living: &[String]) {
    let own = tmp.join(own_name());
    let is_ours = |dir: &Path| {
        let user = rustix::process::getuid().as_raw();
        fs::symlink_metadata(dir).is_ok_and(|found| found.is_dir() && found.uid() == user)
    };
    if !is_ours(&own) {
        return;
    }
    let living: Vec<String> = living.iter().map(|mark| prefix(mark)).collect();
    let projects = fs::read_dir(&own).into_iter().flatten().flatten().map(|entry| entry.path());
    let dirs = projects.filter(|project| is_ours(project)).map(|project| project.join("tasks"));
    for dir in dirs.filter(|dir| is_ours(dir)) {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_output = [".output", ".cwd"].iter().any(|ending| name.ends_with(ending));
            let lives = living.iter().any(|prefix| name.starts_with(prefix.as_str()));
            let written = entry.metadata().and_then(|found| found.modified()).ok();
            let age = written.and_then(|written| written.elapsed().ok());
            if is_output && !lives && age.is_some_and(|age| age > kept) {
                // What cannot be removed is tried again by the next session.
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

fn own_name() -> String {
    format!("quarterdeck-{}", rustix::process::getuid().as_raw())
}

fn below(root: &Path, names: &[&str]) -> io::Result<PathBuf> {
    let mut dir = root.to_owned();
    for name in names {
        dir.push(name);
        private(&dir)?;
    }
    Ok(dir)
}

fn private(dir: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(dir) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    let found = fs::symlink_metadata(dir)?;
    if !found.is_dir() || found.uid() != rustix::process::getuid().as_raw() {
        let what = format!("{} is not a directory of this user", dir.display());
        return Err(io::Error::new(ErrorKind::PermissionDenied, what));
    }
    if found.mode() & 0o077 != 0 {
        fs::set_permissions(dir, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_link_in_the_temporary_directory_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (tmp, home) = (dir.path().join("tmp"), Home::at(dir.path().join("home")));
        fs::create_dir_all(dir.path().join("elsewhere")).unwrap();
        fs::create_dir(&tmp).unwrap();
        let session = SessionId::found("s");
        let project = Path::new("/some/project");
        let good = outputs(&tmp, &home, &session, project).unwrap();
        let uid = rustix::process::getuid().as_raw();
        assert_eq!(good, tmp.join(format!("quarterdeck-{uid}/-some-project/tasks")));
        assert_eq!(fs::metadata(&good).unwrap().mode() & 0o777, 0o700);

        let own = tmp.join(format!("quarterdeck-{uid}"));
        fs::remove_dir_all(&own).unwrap();
        symlink(dir.path().join("elsewhere"), &own).unwrap();
        let other = outputs(&tmp, &home, &session, project).unwrap();
        assert_eq!(other, home.session(&session).join("tasks"));
        assert_eq!(fs::read_dir(dir.path().join("elsewhere")).unwrap().count(), 0);
    }
}
