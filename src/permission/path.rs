//! Where a path really leads: links and `..` are followed before any rule looks at it, also for
//! files that do not exist yet. The only part of the layer that looks at the disk.

use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// As many links as a kernel follows; a loop ends here.
const MOST_LINKS: usize = 40;

/// The absolute path that `path` means in `base`, through every link on the way. What does not
/// exist is taken as a plain name, so the answer holds for a file that is about to be made.
pub fn resolve(base: &Path, path: &Path) -> PathBuf {
    let root = Path::new("/");
    if path.is_absolute() {
        resolve_in(root, path)
    } else {
        resolve_in(&resolve_in(root, base), path)
    }
}

/// The same for a `base` whose own links are followed already.
pub(super) fn resolve_in(base: &Path, path: &Path) -> PathBuf {
    let mut way = Way { done: base.to_owned(), links: 0, lost: false };
    way.follow(path);
    way.done
}

struct Way {
    done: PathBuf,
    links: usize,
    /// Whether it went through a link that leads every process elsewhere.
    lost: bool,
}

impl Way {
    fn follow(&mut self, path: &Path) {
        for part in path.components() {
            match part {
                Component::RootDir => self.done = PathBuf::from("/"),
                // Nobody knows what is above; it stays below where the way was lost.
                Component::ParentDir if self.lost => self.done.push(".."),
                Component::ParentDir => {
                    self.done.pop();
                }
                Component::Normal(name) => self.step(name),
                Component::CurDir | Component::Prefix(_) => {}
            }
        }
    }

    fn step(&mut self, name: &OsStr) {
        self.done.push(name);
        if self.lost || self.links >= MOST_LINKS {
            return;
        }
        let Ok(target) = fs::read_link(&self.done) else { return };
        if is_of_process(&self.done) {
            self.lost = true;
            return;
        }
        self.links += 1;
        self.done.pop();
        self.follow(&target);
    }
}

/// `/proc/self/cwd` and `/proc/self/fd/3` lead the process that opens them to its own places.
fn is_of_process(link: &Path) -> bool {
    link.starts_with("/proc")
        && link.components().count() > 3
        && link.file_name() != Some(OsStr::new("root"))
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
        let own = resolve(&root, Path::new("/proc/self/cwd/../../../w/x"));
        assert!(cfg!(not(target_os = "linux")) || own.starts_with("/proc"), "{own:?}");
        assert_eq!(resolve(&root, Path::new("/proc/self/root/y")), Path::new("/y"));
    }

    #[test]
    fn a_directory_is_not_above_its_namesakes() {
        assert!(is_below(Path::new("/a/b"), Path::new("/a")));
        assert!(is_below(Path::new("/a"), Path::new("/a")));
        assert!(!is_below(Path::new("/ab"), Path::new("/a")));
    }
}
