//! Write: a file made or replaced as a whole.

use std::path::Path;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::change::{Job, Told, Versions};
use super::file_words::{allowed, check_path, in_thread, not_allowed, path_in};
use super::guarded::Trouble;
use super::matching::{Flat, flattened};
use super::replace::Before;
use super::text_file::{self, Encoding, Text};
use super::{Bad, Call, Needs, Output, Spec, Tool, ToolContext, parse};
use crate::permission::Access;

const DESCRIPTION: &str = "\
Makes a file with the given content, or replaces the whole content of one.

- A file that exists must have been read with Read before, and must not have changed since.
- Missing directories on the way are made.
- A file that exists keeps its permissions, its encoding and, where it has them, its \\r\\n line \
ends; write plain \\n. A link is followed: the file it leads to is replaced, the link stays.
- To change a part of a file, use Edit: it costs less and shows better what changed.
- Write files that somebody asked for or the work needs, and no others.";

/// What the model gives.
#[derive(Debug, Deserialize, JsonSchema)]
struct Input {
    /// The file to write: an absolute path, or one relative to the working directory.
    file_path: String,
    /// The whole new content of the file.
    content: String,
}

pub struct WriteTool {
    spec: Spec,
}

impl WriteTool {
    pub fn new() -> Self {
        Self { spec: Spec::of::<Input>("Write", DESCRIPTION, Needs::Writes, false) }
    }
}

impl Default for WriteTool {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for WriteTool {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn access(&self, cx: &ToolContext, input: &Value) -> Result<Vec<Access>, Bad> {
        let input: Input = parse("Write", input)?;
        check_path(&input.file_path)?;
        Ok(vec![Access::Write(cx.resolve(&input.file_path))])
    }

    fn summary(&self, input: &Value) -> String {
        path_in(input)
    }

    fn run<'a>(
        &'a self,
        cx: &'a ToolContext,
        call: &'a Call,
        input: Value,
    ) -> BoxFuture<'a, Output> {
        Box::pin(async move {
            let input: Input = match parse("Write", &input) {
                Ok(input) => input,
                Err(bad) => return Output::failed(bad.0),
            };
            let Some(path) = allowed(&call.access) else { return not_allowed() };
            let job = Job::new(cx, call, &path);
            // Waited for also when the turn is interrupted: the answer must be true.
            in_thread(move || {
                write(&job, &path, &input.content).unwrap_or_else(|trouble| job.refuse(&trouble))
            })
            .await
        })
    }
}

fn write(job: &Job, path: &Path, content: &str) -> Result<Output, Trouble> {
    let spot = job.spot_to_make()?;
    let Some((before, _)) = spot.load()? else {
        job.commit(&spot, Before::Nothing, content.as_bytes())?;
        let lines = content.lines().count();
        let words = format!("Made {} ({lines} lines).", job.shown);
        return Ok(told(job, path, ("", content), |_| words));
    };
    job.check_seen(&before)?;
    let old = text_file::decode(&before).ok();
    let after = kept_form(old.as_ref(), content);
    job.commit(&spot, Before::Content(&before), &after)?;
    let old = old.map(|old| text_file::shown(&old.text, old.encoding).into_owned());
    let old = flattened(&old.unwrap_or_default());
    let words = |counts: String| format!("Replaced the content of {} ({counts}).", job.shown);
    Ok(told(job, path, (&old, &flattened(content)), words))
}

fn told(
    job: &Job,
    path: &Path,
    (old, new): (&str, &str),
    words: impl FnOnce(String) -> String,
) -> Output {
    let told = Told::of(&job.shown, &Versions { old, new, encoding: Encoding::Utf8 });
    let words = words(told.counts());
    told.output(&job.shown, path, words)
}

/// The content with the mark, the encoding and the line ends of the text that it replaces.
fn kept_form(old: Option<&Text>, content: &str) -> Vec<u8> {
    let Some(old) = old else { return content.as_bytes().to_vec() };
    let encoding = match old.encoding {
        // What is written as a whole need not carry on the bytes that were no text.
        Encoding::Bytes => Encoding::Utf8,
        kept @ (Encoding::Utf8 | Encoding::Utf8Marked | Encoding::Utf16Le | Encoding::Utf16Be) => {
            kept
        }
    };
    let content =
        content.strip_prefix('\u{FEFF}').filter(|_| encoding != Encoding::Utf8).unwrap_or(content);
    match Flat::of(&old.text).mostly_returns() {
        true => text_file::encode(&flattened(content).replace('\n', "\r\n"), encoding),
        false => text_file::encode(content, encoding),
    }
}
