//! Where output that is too long for a conversation is kept: `TMP/quarterdeck-<uid>/…/tasks/`.
//!
//! The temporary directory is everyone's. A directory there counts as ours only if it is a real
//! one, belongs to this user and is closed to others; else the session's own directory is taken.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

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
    let own = format!("quarterdeck-{}", rustix::process::getuid().as_raw());
    below(tmp, &[&own, &name, "tasks"]).or_else(|error| {
        tracing::warn!(tmp = %tmp.display(), %error, "the temporary directory cannot be used");
        let dir = home.session(session);
        crate::store::files::make_dir(&dir).map_err(io::Error::other)?;
        below(&dir, &["tasks"])
    })
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
