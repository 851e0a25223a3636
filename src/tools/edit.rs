//! Edit: a passage of a file replaced by another.

use std::ops::Range;
use std::path::{Path, PathBuf};

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::change::{Job, Told, Versions, snippet};
use super::file_words::{allowed, check_path, in_thread, missing, not_allowed, not_text, path_in};
use super::guarded::{Spot, Trouble};
use super::matching::{self, Flat, flattened};
use super::replace::Before;
use super::text_file::{self, Encoding, Text};
use super::{Bad, Call, Needs, Output, Spec, Tool, ToolContext, parse};
use crate::permission::Access;

/// As many places of one change are worth seeing.
const MOST_LINES: usize = 100;

const DESCRIPTION: &str = "\
Replaces a passage of a file by another.

- The file must have been read with Read before, and must not have changed since.
- old_string must be in the file exactly as given, white space included, and only once; add lines \
around it to make it unique. With replace_all every place is changed, e.g. to rename something.
- Leave out the line numbers that Read puts before each line. Write plain \\n: lines that end with \
\\r\\n keep their ends.
- An empty old_string makes a file that does not exist, or fills an empty one.
- Everything else in the file stays as it is, byte for byte.";

/// What the model gives.
#[derive(Debug, Deserialize, JsonSchema)]
struct Input {
    /// The file to change: an absolute path, or one relative to the working directory.
    file_path: String,
    /// The passage to replace, exactly as it is in the file.
    old_string: String,
    /// What to put in its place.
    new_string: String,
    /// Whether to change every place where the passage is, instead of demanding that there is
    /// only one.
    #[serde(default)]
    replace_all: bool,
}

pub struct EditTool {
    spec: Spec,
}

impl EditTool {
    pub fn new() -> Self {
        Self { spec: Spec::of::<Input>("Edit", DESCRIPTION, Needs::Writes, false) }
    }
}

impl Default for EditTool {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for EditTool {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn access(&self, cx: &ToolContext, input: &Value) -> Result<Vec<Access>, Bad> {
        let input: Input = parse("Edit", input)?;
        check_path(&input.file_path)?;
        if input.old_string == input.new_string {
            return Err(Bad("old_string and new_string are the same: nothing to change.".into()));
        }
        Ok(vec![Access::Write(cx.resolve(&input.file_path))])
    }

    fn summary(&self, input: &Value) -> String {
        path_in(input)
    }

    fn lines<'a>(&'a self, call: &'a Call, input: &'a Value) -> BoxFuture<'a, Vec<usize>> {
        Box::pin(async move {
            match allowed(&call.access) {
                Some(path) => lines(path, input).await,
                None => Vec::new(),
            }
        })
    }

    fn run<'a>(
        &'a self,
        cx: &'a ToolContext,
        call: &'a Call,
        input: Value,
    ) -> BoxFuture<'a, Output> {
        Box::pin(async move {
            let input: Input = match parse("Edit", &input) {
                Ok(input) => input,
                Err(bad) => return Output::failed(bad.0),
            };
            let Some(path) = allowed(&call.access) else { return not_allowed() };
            let job = Job::new(cx, call, &path);
            // Waited for also when the turn is interrupted: the answer must be true.
            in_thread(move || {
                edit(&job, &path, &input).unwrap_or_else(|trouble| job.refuse(&trouble))
            })
            .await
        })
    }
}

/// In which lines of a file an edit would begin, at most [`MOST_LINES`] and one more. None where
/// it would fail: why is said when it does.
pub async fn lines(path: PathBuf, input: &Value) -> Vec<usize> {
    let Ok(input) = parse::<Input>("Edit", input) else { return Vec::new() };
    let found = tokio::task::spawn_blocking(move || lines_in(&path, &input));
    found.await.ok().flatten().unwrap_or_default()
}

fn lines_in(path: &Path, input: &Input) -> Option<Vec<usize>> {
    if input.old_string.is_empty() {
        return Some(vec![1]);
    }
    let (bytes, _) = Spot::reach(path).ok()?.load().ok()??;
    let flat = Flat::of(&text_file::decode(&bytes).ok()?.text);
    let passages = passages(&flat, input).ok()?;
    let (mut line, mut counted) = (1, 0);
    let first = passages.iter().take(MOST_LINES + 1).map(|passage| {
        line += flat.text[counted..passage.start].matches('\n').count();
        counted = passage.start;
        line
    });
    Some(first.collect())
}

fn edit(job: &Job, path: &Path, input: &Input) -> Result<Output, Trouble> {
    if input.old_string.is_empty() {
        return fill(job, path, input);
    }
    let spot = match job.spot() {
        Err(Trouble::Missing) => return Ok(missing(&job.shown, None)),
        spot => spot?,
    };
    let Some((before, _)) = spot.load()? else { return Ok(missing(&job.shown, Some(&spot))) };
    job.check_seen(&before)?;
    let old = match text_file::decode(&before) {
        Ok(old) => old,
        Err(other) => return Ok(not_text(&job.shown, other)),
    };
    if old.encoding == Encoding::Bytes && input.new_string.contains(text_file::is_stray) {
        return Ok(Output::failed("new_string has characters that stand for raw bytes here."));
    }
    let flat = Flat::of(&old.text);
    let passages = match passages(&flat, input) {
        Ok(passages) => passages,
        Err(why) => return Ok(Output::failed(format!("{}: {why}", job.shown))),
    };
    let raw = flat.replaced(&passages, &flattened(&input.new_string));
    let after = text_file::encode(&raw, old.encoding);
    if after == before {
        let why = "nothing would change: line ends are kept as they are in the file";
        return Ok(Output::failed(format!("{}: {why}.", job.shown)));
    }
    job.commit(&spot, Before::Content(&before), &after)?;
    let new = Text { text: raw, encoding: old.encoding };
    Ok(told(job, path, input, &flat, &passages, &new))
}

fn passages(flat: &Flat, input: &Input) -> Result<Vec<Range<usize>>, String> {
    let old = flattened(&input.old_string);
    match input.replace_all {
        true => matching::all(flat, &old),
        false => matching::only(flat, &old).map(|passage| vec![passage]),
    }
}

fn told(
    job: &Job,
    path: &Path,
    input: &Input,
    flat: &Flat,
    passages: &[Range<usize>],
    new: &Text,
) -> Output {
    let after = flattened(&new.text);
    let versions = Versions { old: &flat.text, new: &after, encoding: new.encoding };
    let told = Told::of(&job.shown, &versions);
    let first = passages.first().map_or(1, |passage| flat.line_at(passage.start));
    let last = first + flattened(&input.new_string).matches('\n').count();
    let (shown, counts) = (&job.shown, told.counts());
    let places = match (input.replace_all, passages.len()) {
        (false, _) => String::new(),
        (true, 1) => " in 1 place".to_owned(),
        (true, count) => format!(" in {count} places; the first"),
    };
    let words = format!("Edited {shown} ({counts}){places}:\n{}", snippet(&versions, first, last));
    told.output(shown, path, words)
}

/// Without a passage to replace, there must be nothing yet.
fn fill(job: &Job, path: &Path, input: &Input) -> Result<Output, Trouble> {
    let spot: Spot = job.spot_to_make()?;
    let before = spot.load()?.map(|(bytes, _)| bytes);
    let content = input.new_string.as_bytes();
    match &before {
        None => job.commit(&spot, Before::Nothing, content)?,
        Some(bytes) if bytes.is_empty() => {
            job.check_seen(bytes)?;
            job.commit(&spot, Before::Content(bytes), content)?;
        }
        Some(_) => {
            let why = "old_string is empty, but the file is not; give the passage to replace";
            return Ok(Output::failed(format!("{}: {why}.", job.shown)));
        }
    }
    let new = flattened(&input.new_string);
    let versions = Versions { old: "", new: &new, encoding: Encoding::Utf8 };
    let words = format!("Made {} ({} lines).", job.shown, new.lines().count());
    Ok(Told::of(&job.shown, &versions).output(&job.shown, path, words))
}
