//! What several test binaries share.
#![allow(dead_code)] // each binary uses its part

use std::path::{Path, PathBuf};

/// Every file below `tests/fixtures` with this ending, by path.
pub fn fixtures(ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures"), ending, &mut found);
    found.sort();
    found
}

fn collect(dir: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("a fixture directory") {
        let path = entry.expect("a directory entry").path();
        if path.is_dir() {
            collect(&path, ending, found);
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
}
