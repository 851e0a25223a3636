//! Memory files: what people wrote down for agents, `CLAUDE.md` and `AGENTS.md`, from the user,
//! from the project and from the directories above it, with what they import.

use std::collections::HashSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// What is read of one file.
const LARGEST_FILE: u64 = 40_000;

/// What is read of all files together.
const LARGEST_ALL: usize = 160_000;

/// How deep imports may go.
const DEEPEST: usize = 5;

const NAMES: [&str; 5] =
    ["CLAUDE.md", ".claude/CLAUDE.md", "AGENTS.md", ".quarterdeck/AGENTS.md", "CLAUDE.local.md"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryFile {
    pub path: PathBuf,
    pub text: String,
}

/// The files in the order they are told: the farthest first, so that the nearest has the last
/// word.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Memory {
    pub files: Vec<MemoryFile>,
    /// What was left out, in words.
    pub warnings: Vec<String>,
}

/// Where memory files are looked for.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The user's own directories, the ecosystem's and ours.
    pub user: Vec<PathBuf>,
    /// What `~` means in an import.
    pub home: Option<PathBuf>,
    pub cwd: PathBuf,
    /// The root of the project: its files may import what is below it.
    pub root: Option<PathBuf>,
}

impl Memory {
    pub fn load(sources: &Sources) -> Self {
        let mut reader =
            Reader { sources, seen: HashSet::new(), total: 0, memory: Self::default() };
        for dir in &sources.user {
            for name in ["CLAUDE.md", "AGENTS.md"] {
                reader.read(&dir.join(name), &Whose::User, 0);
            }
        }
        let mut dirs: Vec<&Path> = sources.cwd.ancestors().collect();
        dirs.reverse();
        for dir in dirs {
            for name in NAMES {
                reader.read(&dir.join(name), &Whose::Project, 0);
            }
        }
        reader.memory
    }

    /// As it stands in a system prompt. Empty where there is nothing.
    pub fn in_words(&self) -> String {
        let mut text = String::new();
        for file in &self.files {
            let path = file.path.display();
            text.push_str(&format!("\n\n## {path}\n\n{}", file.text.trim()));
        }
        match text.is_empty() {
            true => text,
            false => format!(
                "# Instructions of this user and project\n\nFollow them; where they differ, later ones win.{text}"
            ),
        }
    }
}

enum Whose {
    User,
    Project,
}

struct Reader<'a> {
    sources: &'a Sources,
    /// Files by where they really are, and by what they say: links and copies are told once.
    seen: HashSet<String>,
    total: usize,
    memory: Memory,
}

impl Reader<'_> {
    fn read(&mut self, path: &Path, whose: &Whose, depth: usize) {
        let Ok(real) = path.canonicalize() else { return };
        if !real.is_file() || !self.seen.insert(format!("at {}", real.display())) {
            return;
        }
        let mut text = match beginning(&real, LARGEST_FILE + 1) {
            Ok(text) => text,
            Err(error) => return self.warn(format!("{}: {error}", path.display())),
        };
        if text.len() as u64 > LARGEST_FILE {
            let mut end = LARGEST_FILE as usize;
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text.truncate(end);
            self.warn(format!("{}: only its first {LARGEST_FILE} bytes are used", path.display()));
        }
        if text.trim().is_empty() || !self.seen.insert(format!("says {text}")) {
            return;
        }
        if self.total + text.len() > LARGEST_ALL {
            return self.warn(format!(
                "{}: left out; the files before it are too long already",
                path.display()
            ));
        }
        self.total += text.len();
        let base = real.parent().unwrap_or(&real).to_owned();
        let wanted = imports(&text);
        self.memory.files.push(MemoryFile { path: path.to_owned(), text });
        for import in wanted {
            self.import(&import, &base, path, whose, depth);
        }
    }

    fn import(&mut self, import: &str, base: &Path, by: &Path, whose: &Whose, depth: usize) {
        let path = match (import.strip_prefix("~/"), &self.sources.home) {
            (Some(rest), Some(home)) => home.join(rest),
            (Some(_), None) => return,
            (None, _) => base.join(import),
        };
        let Ok(real) = path.canonicalize() else { return };
        if depth == DEEPEST {
            return self
                .warn(format!("{}: imports are nested too deeply at `{import}`", by.display()));
        }
        // What came with a project must not bring the rest of the disk into the conversation.
        let root = self.sources.root.as_deref().unwrap_or(&self.sources.cwd);
        let inside = root.canonicalize().is_ok_and(|root| real.starts_with(root));
        if matches!(whose, Whose::Project) && !inside {
            return self.warn(format!(
                "{}: `{import}` is not imported: it is outside the project",
                by.display()
            ));
        }
        self.read(&path, whose, depth + 1);
    }

    fn warn(&mut self, what: String) {
        self.memory.warnings.push(what);
    }
}

/// A little more than is used, so that one can tell whether there is more.
pub(super) fn beginning(path: &Path, most: u64) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The `@path` words of a text, but for those in code.
fn imports(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut fence = None;
    for line in text.lines() {
        let start = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {}
            (None, None) => {
                // Every second piece between backticks is code.
                for prose in line.split('`').step_by(2) {
                    let words = prose.split_whitespace().filter_map(|word| word.strip_prefix('@'));
                    let paths = words.map(|word| word.trim_end_matches([',', ';', ':', ')', '.']));
                    found.extend(paths.filter(|path| path.contains(['/', '.'])).map(str::to_owned));
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_words_outside_code() {
        let text = "See @docs/a.md, and @~/b.md.\n`@not/this.md` but @c.md\n```\n@nor/this\n```\n\
                    mail me@example.org or @someone\n@last/one";
        assert_eq!(imports(text), ["docs/a.md", "~/b.md", "c.md", "last/one"]);
    }

    #[test]
    fn nearer_files_come_later_and_nothing_comes_twice() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let project = root.join("work/project");
        fs::create_dir_all(project.join("sub")).unwrap();
        fs::create_dir_all(root.join("user")).unwrap();
        fs::write(root.join("user/CLAUDE.md"), "user says @~/more.md").unwrap();
        fs::write(root.join("more.md"), "more").unwrap();
        fs::write(root.join("work/AGENTS.md"), "above").unwrap();
        fs::write(project.join("CLAUDE.md"), "project @sub/part.md @../../secret @sub/part.md")
            .unwrap();
        fs::write(root.join("secret"), "secret").unwrap();
        fs::write(project.join("sub/part.md"), "part @../CLAUDE.md").unwrap();
        std::os::unix::fs::symlink("CLAUDE.md", project.join("AGENTS.md")).unwrap();
        let memory = Memory::load(&Sources {
            user: vec![root.join("user")],
            home: Some(root.clone()),
            cwd: project.join("sub"),
            root: Some(project.clone()),
        });
        let texts: Vec<&str> =
            memory.files.iter().map(|file| file.text.split(' ').next().unwrap()).collect();
        assert_eq!(texts, ["user", "more", "above", "project", "part"]);
        assert_eq!(memory.warnings.len(), 1, "{:?}", memory.warnings);
        assert!(memory.warnings[0].contains("../../secret"));
        assert!(memory.in_words().contains("## "));
    }

    #[test]
    fn a_huge_file_is_cut_and_said_so() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("CLAUDE.md"), "ä".repeat(50_000)).unwrap();
        let cwd = dir.path().canonicalize().unwrap();
        let memory = Memory::load(&Sources { cwd, ..Sources::default() });
        assert_eq!(memory.files[0].text.len() as u64, LARGEST_FILE);
        assert_eq!(memory.warnings.len(), 1);
    }
}
