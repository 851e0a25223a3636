//! What several test binaries share.
#![allow(dead_code)] // each binary uses its part

pub mod deck;
pub mod flood;
pub mod rig;
pub mod server;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Every file below `tests/fixtures` with this ending, by path.
pub fn fixtures(ending: &str) -> Vec<PathBuf> {
    let all = files_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures"));
    all.into_iter().filter(|path| path.to_string_lossy().ends_with(ending)).collect()
}

/// Every file below a directory, by path.
pub fn files_below(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(dir, &mut found);
    found.sort();
    found
}

fn collect(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("a directory entry").path();
        if path.is_dir() {
            collect(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// Copies a whole directory.
pub fn copy_dir(from: &Path, to: &Path) {
    for file in files_below(from) {
        let target = to.join(file.strip_prefix(from).expect("below it"));
        std::fs::create_dir_all(target.parent().expect("a parent")).expect("a directory");
        std::fs::copy(&file, &target).expect("copied");
    }
}

/// Whether the long versions of tests were asked for.
pub fn soak() -> bool {
    std::env::var_os("QUARTERDECK_SOAK").is_some_and(|value| value == "1")
}

/// One test of this binary in a process of its own, where no file may grow beyond 64 KiB: a
/// write goes part of the way and then fails, as on a full disk.
pub fn run_with_little_room(test: &str) -> std::process::Output {
    let script = r#"trap "" XFSZ; ulimit -f 128; exec "$0" "$@""#;
    let own = std::env::current_exe().expect("the test binary");
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", script]).arg(own).args(["--ignored", "--exact", test]);
    shell.output().expect("a shell")
}

/// The permission bits of a file or directory.
pub fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).expect("a file").permissions().mode() & 0o777
}

/// A line for whoever runs the tests: shown also when they pass.
pub fn say(line: &str) {
    use std::io::Write;
    writeln!(std::io::stderr(), "{line}").expect("stderr");
}

/// Runs `one` for numbers up to `count`, a few at once.
pub fn spread(count: usize, one: impl Fn(usize) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        break;
                    }
                    one(number);
                }
            });
        }
    });
}
