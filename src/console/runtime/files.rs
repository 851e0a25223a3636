//! Files that the console reads and writes for the person: the project's names for completion,
//! what was said before, and exports.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::console::state::history::KEPT;
use crate::console::update::Msg;
use crate::protocol::event::Level;
use crate::protocol::ids::encoded;

/// More names than this help nobody.
const MOST_FILES: usize = 50_000;

/// The files of a project that version control would show, by path.
pub fn list(project: &Path) -> Arc<[String]> {
    let walk = ignore::WalkBuilder::new(project).hidden(true).require_git(false).build();
    let mut names: Vec<String> = walk
        .filter_map(Result::ok)
        .filter(|entry| entry.depth() > 0)
        .filter_map(|entry| {
            let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
            let path = entry.path().strip_prefix(project).ok()?.to_str()?;
            Some(if is_dir { format!("{path}/") } else { path.to_owned() })
        })
        .take(MOST_FILES)
        .collect();
    names.sort();
    names.into()
}

/// What was said in one project, one JSON text a line, oldest first.
#[derive(Debug, Clone)]
pub struct HistoryFile {
    path: PathBuf,
}

impl HistoryFile {
    /// `ours` is the part of the home that is this program's alone.
    pub fn of(ours: &Path, project: &Path) -> Self {
        let name = encoded(&project.to_string_lossy());
        Self { path: ours.join("history").join(format!("{name}.jsonl")) }
    }

    /// Everything that is kept; a line that cannot be read is passed over.
    pub fn load(&self) -> Vec<String> {
        let Ok(text) = fs::read_to_string(&self.path) else { return Vec::new() };
        let mut said: Vec<String> =
            text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        if said.len() > 2 * KEPT {
            said.drain(..said.len() - KEPT);
            // The next start tries again.
            let _ = self.rewrite(&said);
        }
        said
    }

    /// Adds one, in one write, so that two consoles never mix their lines.
    pub fn append(&self, text: &str) -> io::Result<()> {
        self.make_dir()?;
        let mut options = OpenOptions::new();
        let mut file = options.create(true).read(true).append(true).mode(0o600).open(&self.path)?;
        // Behind a line that somebody could not finish, it would be lost with it.
        let first = if is_torn(&mut file)? { "\n" } else { "" };
        file.write_all(format!("{first}{}\n", serde_json::Value::from(text)).as_bytes())
    }

    fn rewrite(&self, said: &[String]) -> io::Result<()> {
        let temporary = self.path.with_extension(format!("tmp-{}", std::process::id()));
        let mut file = OpenOptions::new()
            .create(true)
            .write(true)
            .truncate(true)
            .mode(0o600)
            .open(&temporary)?;
        for text in said {
            writeln!(file, "{}", serde_json::Value::from(text.as_str()))?;
        }
        fs::rename(temporary, &self.path)
    }

    fn make_dir(&self) -> io::Result<()> {
        let Some(dir) = self.path.parent() else { return Ok(()) };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
    }
}

/// Whether the last line has no end.
fn is_torn(file: &mut File) -> io::Result<bool> {
    let mut last = [0];
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last != [b'\n'])
}

/// Exports a text, and says what came of it.
pub fn exported(dir: &Path, name: &str, text: &str) -> Msg {
    match export(dir, name, text) {
        Ok(path) => {
            Msg::Told { level: Level::Info, text: format!("Written to {}.", path.display()) }
        }
        Err(error) => {
            let text = format!("{name} could not be written: {error}");
            Msg::Told { level: Level::Error, text }
        }
    }
}

/// Writes a file that is not there yet; a number is added to its name where it is.
pub fn export(dir: &Path, name: &str, text: &str) -> io::Result<PathBuf> {
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, "md"));
    for number in 1..1_000 {
        let name = match number {
            1 => format!("{stem}.{ending}"),
            number => format!("{stem}-{number}.{ending}"),
        };
        let path = dir.join(name);
        match OpenOptions::new().create_new(true).write(true).mode(0o600).open(&path) {
            Ok(mut file) => {
                file.write_all(text.as_bytes())?;
                return Ok(path);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "there are too many files of that name"))
}
