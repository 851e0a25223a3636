//! What the tools for files have in common: how they take a path, number lines, say that a file
//! is missing or no text, and go to a thread with their work.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::guarded::Spot;
use super::text_file::NotText;
use super::{Bad, Output};
use crate::permission::Access;

/// Where a line is cut, in characters.
pub const LONGEST_LINE: usize = 2_000;
/// How alike a name must be to be offered, and how many are.
const ALIKE: f64 = 0.8;
const MOST_OFFERED: usize = 3;

/// What is wrong with a path before anybody looks at the disk.
pub fn check_path(path: &str) -> Result<(), Bad> {
    match path {
        "" => Err(Bad("file_path is empty; give the path of a file.".to_owned())),
        path if path.contains('\0') => Err(Bad("file_path has a NUL in it.".to_owned())),
        _ => Ok(()),
    }
}

/// The path of an input as the model gave it.
pub fn path_in(input: &Value) -> String {
    input["file_path"].as_str().unwrap_or("?").to_owned()
}

/// The path that a call was allowed to use, of which these tools have one.
pub fn allowed(access: &[Access]) -> Option<PathBuf> {
    access.iter().find_map(|access| match access {
        Access::Read(path) | Access::Write(path) => Some(path.clone()),
        Access::Run(_)
        | Access::Fetch(_)
        | Access::Spawn(_)
        | Access::Mcp { .. }
        | Access::Free => None,
    })
}

pub fn not_allowed() -> Output {
    Output::failed("No file was allowed for this call.")
}

/// Runs work that waits for disks where it holds nobody up.
pub async fn in_thread(work: impl FnOnce() -> Output + Send + 'static) -> Output {
    match tokio::task::spawn_blocking(work).await {
        Ok(output) => output,
        // The one place that deals with broken tools is above us.
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Output::failed("Interrupted: the program is ending."),
    }
}

/// A numbered line, cut where it gets too long.
pub fn push_line(lines: &mut String, number: usize, line: &str) {
    // Writing to a string cannot fail.
    let _ = match line.char_indices().nth(LONGEST_LINE) {
        None => writeln!(lines, "{number:>6}\t{line}"),
        Some((cut, _)) => {
            let line = &line[..cut];
            writeln!(lines, "{number:>6}\t{line}… [line cut at {LONGEST_LINE} characters]")
        }
    };
}

/// Says that there is no such file, and which ones have names like it.
pub fn missing(shown: &str, spot: Option<&Spot>) -> Output {
    let Some(spot) = spot else {
        return Output::failed(format!("{shown}: there is no such file, nor its directory."));
    };
    let names = alike(&spot.name.to_string_lossy(), spot.neighbours());
    let offered = match names.as_slice() {
        [] => String::new(),
        names => format!(" Beside it there is: {}.", names.join(", ")),
    };
    Output::failed(format!("{shown}: there is no such file.{offered}"))
}

/// The names most like a wanted one, best first. Another ending of the same stem counts.
fn alike(wanted: &str, names: Vec<String>) -> Vec<String> {
    let stem = |name: &str| Path::new(name).file_stem().map(std::ffi::OsStr::to_ascii_lowercase);
    let score = |name: &str| match stem(name) == stem(wanted) {
        true => 1.0,
        false => strsim::jaro_winkler(&name.to_lowercase(), &wanted.to_lowercase()),
    };
    let scored = names.into_iter().map(|name| (score(&name), name));
    let mut scored: Vec<(f64, String)> = scored.filter(|(score, _)| *score >= ALIKE).collect();
    scored.sort_by(|left, right| right.0.total_cmp(&left.0).then_with(|| left.1.cmp(&right.1)));
    scored.into_iter().take(MOST_OFFERED).map(|(_, name)| name).collect()
}

/// Says why a content is not used as text.
pub fn not_text(shown: &str, what: NotText) -> Output {
    let why = match what {
        NotText::Image(kind) => format!("it is an image ({kind}), not text"),
        NotText::Pdf => {
            "it is a PDF; get its text with `pdftotext <file> -` in the shell".to_owned()
        }
        NotText::Binary(at) => format!(
            "it is binary (a NUL at byte {at}); `file`, `strings` or `xxd` in the shell tell more"
        ),
        NotText::BrokenUtf16 => "it begins like UTF-16 but is none".to_owned(),
    };
    Output::failed(format!("{shown}: {why}."))
}
