//! Programs that get the terminal for a while: the person's editor and shell.

use std::env;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use tokio::process::{Child, Command};
use uuid::Uuid;

/// A program with what it works on.
pub struct Job {
    words: Vec<String>,
    file: Option<TextFile>,
    greeting: Option<&'static str>,
}

pub struct Outcome {
    pub is_good: bool,
}

/// A file that is gone when its job is.
struct TextFile(PathBuf);

impl Drop for TextFile {
    fn drop(&mut self) {
        // The directory for temporary files is swept by others too.
        let _ = fs::remove_file(&self.0);
    }
}

/// Has a text written with `$VISUAL` or `$EDITOR`.
pub fn editor(text: &str, ending: &str) -> io::Result<Job> {
    let chosen = ["VISUAL", "EDITOR"]
        .iter()
        .find_map(|name| env::var(name).ok().filter(|words| !words.trim().is_empty()));
    let chosen = chosen.unwrap_or_else(|| "vi".to_owned());
    let name = format!("quarterdeck-{}.{ending}", Uuid::new_v4().simple());
    let path = env::temp_dir().join(name);
    let file = TextFile(path.clone());
    fs::OpenOptions::new()
        .create_new(true)
        .write(true)
        .mode(0o600)
        .open(&path)
        .and_then(|mut file| file.write_all(text.as_bytes()))?;
    let mut words: Vec<String> = chosen.split_whitespace().map(str::to_owned).collect();
    words.push(path.to_string_lossy().into_owned());
    Ok(Job { words, file: Some(file), greeting: None })
}

/// A shell of the person's own.
pub fn shell() -> io::Result<Job> {
    let shell = env::var("SHELL").ok().filter(|shell| !shell.is_empty());
    let words = vec![shell.unwrap_or_else(|| "/bin/sh".to_owned())];
    let greeting = "The agents keep working. `exit` or Ctrl+D takes you back to the console.\r\n";
    Ok(Job { words, file: None, greeting: Some(greeting) })
}

impl Job {
    pub fn name(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    pub fn start(&mut self) -> io::Result<Child> {
        if let Some(greeting) = self.greeting {
            io::stdout().write_all(greeting.as_bytes())?;
            io::stdout().flush()?;
        }
        let (program, rest) = self.words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        Command::new(program).args(rest).kill_on_drop(true).spawn()
    }

    /// The text that was written; none where the program says that it failed.
    pub fn result(&self, outcome: Outcome) -> io::Result<Option<String>> {
        let Some(TextFile(path)) = self.file.as_ref().filter(|_| outcome.is_good) else {
            return Ok(None);
        };
        let text = fs::read(path)?;
        let text = String::from_utf8_lossy(&text);
        Ok(Some(text.strip_suffix('\n').unwrap_or(&text).to_owned()))
    }
}
