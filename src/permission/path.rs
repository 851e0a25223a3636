//! Where a path really leads: links and `..` are followed before any rule looks at it, also for
//! files that do not exist yet. The only part of the layer that looks at the disk.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// As many links as a kernel follows; a loop ends here.
const MOST_LINKS: usize = 40;

/// The absolute path that `path` means in `base`, through every link on the way. What does not
/// exist is taken as a plain name, so the answer holds for a file that is about to be made.
pub fn resolve(base: &Path, path: &Path) -> PathBuf {
    let mut ahead: VecDeque<OsString> = VecDeque::new();
    queue_front(&mut ahead, path);
    if !path.is_absolute() {
        queue_front(&mut ahead, base);
    }
    let mut done = PathBuf::from("/");
    let mut links = 0;
    while let Some(part) = ahead.pop_front() {
        if part == OsStr::new("/") {
            done = PathBuf::from("/");
        } else if part == OsStr::new("..") {
            done.pop();
        } else {
            done.push(&part);
            if links < MOST_LINKS
                && let Ok(target) = fs::read_link(&done)
            {
                links += 1;
                done.pop();
                queue_front(&mut ahead, &target);
            }
        }
    }
    done
}

fn queue_front(ahead: &mut VecDeque<OsString>, path: &Path) {
    for part in path.components().rev() {
        match part {
            Component::RootDir => ahead.push_front("/".into()),
            Component::ParentDir => ahead.push_front("..".into()),
            Component::Normal(name) => ahead.push_front(name.to_owned()),
            Component::CurDir | Component::Prefix(_) => {}
        }
    }
}

/// Whether a resolved path is `dir` or below it, by the case rules of the platform.
pub fn is_below(path: &Path, dir: &Path) -> bool {
    folded(path).starts_with(folded(dir))
}

/// Where names differ in case only and mean the same file, they are compared in lower case.
pub fn folded(path: &Path) -> std::borrow::Cow<'_, Path> {
    if cfg!(target_os = "macos") {
        PathBuf::from(path.to_string_lossy().to_lowercase()).into()
    } else {
        path.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_and_parents_are_followed_in_the_order_of_the_kernel() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::create_dir_all(root.join("elsewhere/deep")).unwrap();
        symlink(root.join("elsewhere/deep"), root.join("a/link")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        let a = root.join("a");
        assert_eq!(resolve(&a, Path::new("./b/../new/file")), a.join("new/file"));
        assert_eq!(resolve(&a, Path::new("link/x")), root.join("elsewhere/deep/x"));
        assert_eq!(resolve(&a, Path::new("link/../x")), root.join("elsewhere/x"));
        assert_eq!(resolve(&a, Path::new("../../../../../../..")), Path::new("/"));
        assert_eq!(resolve(&a, Path::new("/x/../y")), Path::new("/y"));
        assert_eq!(resolve(&root, Path::new("loop")), root.join("loop"));
    }

    #[test]
    fn a_directory_is_not_above_its_namesakes() {
        assert!(is_below(Path::new("/a/b"), Path::new("/a")));
        assert!(is_below(Path::new("/a"), Path::new("/a")));
        assert!(!is_below(Path::new("/ab"), Path::new("/a")));
    }
}
