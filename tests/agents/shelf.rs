//! Places for definitions, in a directory of their own.

use std::fs;
use std::path::{Path, PathBuf};

use quarterdeck::agent::definition::{Catalog, Sources};
use tempfile::TempDir;

pub struct Shelf {
    dir: TempDir,
}

impl Shelf {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a temporary directory") }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().expect("a directory").join(name)
    }

    pub fn put(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        put(&path, text);
        path
    }

    /// With two project places, the nearer first, and one of every other kind.
    pub fn sources(&self) -> Sources {
        Sources {
            policy: vec![self.path("policy")],
            command_line: None,
            project: vec![self.path("near"), self.path("far")],
            user: vec![self.path("user")],
            plugins: vec![self.path("plugins")],
        }
    }

    pub fn load(&self) -> Catalog {
        Catalog::load(&self.sources())
    }
}

pub fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
    fs::write(path, text).expect("written");
}

/// A definition whose description says where it is.
pub fn agent(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\nYou are {name}.\n")
}
