//! Glob: files by their names.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use futures::future::BoxFuture;
use globset::{GlobBuilder, GlobMatcher};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::newest::{Finding, Newest, Window};
use super::walk::{Ground, Screen, Tally, closed, counted, interrupted, left_out};
use super::{Bad, Call, Needs, Output, Spec, Tool, ToolContext, parse};
use crate::permission::Access;

/// The most paths in one answer.
const MOST: usize = 250;

const DESCRIPTION: &str = "\
Finds files by their names, the most recently changed first.
- Patterns: `**/*.rs`, `src/**/*.{ts,tsx}`, `test_?.py`. Without a `/`, a pattern fits names in \
every directory below `path`; with one, it begins at `path`. Absolute patterns work too.
- Files that .gitignore or .ignore leave out are not found, unless the fixed beginning of the \
pattern or `path` leads to them (`target/debug/*.d`). Hidden files are found; `.git` is entered \
only when named.
- Links are not followed, and directories are not listed, only files.
- At most 250 paths come back; use a narrower pattern if there are more.
To look for what files contain, use Grep.";

pub struct GlobTool {
    spec: Spec,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Input {
    /// Which names to find, such as `src/**/*.rs`.
    pattern: String,
    /// The directory to look in. The working directory if left out.
    path: Option<String>,
}

/// A pattern taken apart: where to begin, and what must fit below.
struct Plan {
    root: PathBuf,
    /// Nothing if the pattern has no wildcard and names a file.
    below: Option<GlobMatcher>,
    /// What the pattern names if it is taken literally.
    literal: Option<PathBuf>,
}

impl GlobTool {
    pub fn new() -> Self {
        Self { spec: Spec::of::<Input>("Glob", DESCRIPTION, Needs::Reads, true) }
    }
}

impl Default for GlobTool {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for GlobTool {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn access(&self, cx: &ToolContext, input: &Value) -> Result<Vec<Access>, Bad> {
        let input: Input = parse("Glob", input)?;
        Ok(vec![Access::Read(plan(cx, &input)?.root)])
    }

    fn summary(&self, input: &Value) -> String {
        let text = |key: &str| input.get(key).and_then(Value::as_str).unwrap_or_default();
        match text("path") {
            "" => text("pattern").to_owned(),
            path => format!("{} in {path}", text("pattern")),
        }
    }

    fn run<'a>(
        &'a self,
        cx: &'a ToolContext,
        call: &'a Call,
        input: Value,
    ) -> BoxFuture<'a, Output> {
        Box::pin(async move {
            let name = self.summary(&input);
            let planned = parse("Glob", &input).and_then(|input| plan(cx, &input));
            match planned {
                Ok(plan) => run(cx, call, plan, &name).await,
                Err(bad) => Output::failed(bad.0),
            }
        })
    }
}

async fn run(cx: &ToolContext, call: &Call, plan: Plan, name: &str) -> Output {
    if let Some(why) = closed(cx, call, &plan.root) {
        return Output::failed(why);
    }
    let (ground, _ends) = Ground::of(cx, call, &plan.root);
    let screen = Screen::new(&call.view, "Glob", &plan.root);
    let found = tokio::task::spawn_blocking(move || {
        let tally = Tally::default();
        let newest = find(&ground, &plan, &screen, &tally);
        let hint = ground.why_nothing(&tally);
        (newest, tally, hint)
    });
    match found.await {
        Ok((_, tally, _)) if call.stop.is_cancelled() => interrupted(&tally),
        Ok((newest, tally, hint)) => answer(cx, name, &newest, &tally, hint),
        Err(_) => Output::failed("The search failed; this is a bug in Quarterdeck."),
    }
}

fn find(ground: &Ground, plan: &Plan, screen: &Screen, tally: &Tally) -> Newest {
    let newest = Mutex::new(Newest::new(Window::new(0, MOST)));
    let add = |path: &Path| {
        if screen.lets(path, tally) {
            let modified = std::fs::symlink_metadata(path).and_then(|found| found.modified());
            let finding = Finding { matches: 1, entries: 1, lines: Vec::new() };
            let modified = modified.unwrap_or(SystemTime::UNIX_EPOCH);
            newest.lock().unwrap_or_else(PoisonError::into_inner).add(modified, path, finding);
        }
    };
    // A file that is named outright is found even if an ignore file leaves it out.
    if let Some(literal) = plan.literal.as_deref() {
        add(literal);
    }
    if let Some(below) = &plan.below {
        let fits = |path: &Path, is_dir: bool| {
            let below_root = path.strip_prefix(&ground.root).unwrap_or(path);
            is_dir || (below.is_match(below_root) && plan.literal.as_deref() != Some(path))
        };
        ground.visit(tally, &fits, &|| add);
    }
    newest.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn answer(
    cx: &ToolContext,
    name: &str,
    newest: &Newest,
    tally: &Tally,
    hint: Option<String>,
) -> Output {
    let page = newest.page(|path, _| vec![(false, cx.shown(path))]);
    let rest = newest.rest(&page, "files, changed longer ago; use a narrower pattern");
    let truncated = rest.is_some();
    let mut text = page.text;
    if newest.files == 0 {
        text.push_str("No files found\n");
    }
    let hint = hint.filter(|_| newest.files == 0);
    for note in rest.into_iter().chain(left_out(tally)).chain(hint) {
        text.push_str(&note);
        text.push('\n');
    }
    let data = json!({"files": newest.files, "matches": newest.files, "truncated": truncated});
    let summary = format!("{name}: {}", counted(newest.files, "file"));
    Output::text(text.trim_end()).with_summary(summary).with_data(data)
}

/// Splits a pattern at its first wildcard: what stands before it is a place like any other.
fn plan(cx: &ToolContext, input: &Input) -> Result<Plan, Bad> {
    let pattern = input.pattern.trim();
    if pattern.is_empty() {
        return Err(Bad("Glob needs a pattern, such as `**/*.rs`.".to_owned()));
    }
    let is_anchored = pattern.trim_end_matches('/').contains('/');
    let wild = |part: &&str| part.contains(['*', '?', '[', '{', '\\']);
    let parts: Vec<&str> = pattern.split('/').collect();
    let fixed = parts.iter().take_while(|part| !wild(part)).count();
    let (fixed, rest) = parts.split_at(fixed);
    if rest.contains(&"..") {
        return Err(Bad("`..` cannot stand behind a wildcard in a pattern.".to_owned()));
    }
    let base = match input.path.as_deref().map(str::trim) {
        None | Some("") => cx.resolve("."),
        Some(path) => cx.resolve(path),
    };
    let fixed = fixed.join("/");
    let start = match fixed.as_str() {
        "" if pattern.starts_with('/') => PathBuf::from("/"),
        "" => base.clone(),
        home if home.starts_with("~/") => cx.resolve(home),
        other => crate::permission::path::resolve(&base, Path::new(other)),
    };
    let rest = rest.join("/");
    if !rest.is_empty() {
        let rest = if rest.ends_with('/') { format!("{rest}**") } else { rest };
        let below = if is_anchored { rest } else { format!("**/{rest}") };
        return Ok(Plan { root: start, below: Some(matcher(&below)?), literal: None });
    }
    if start.is_dir() {
        return Ok(Plan { root: start, below: Some(matcher("**")?), literal: None });
    }
    if is_anchored {
        return Ok(Plan { root: start.clone(), below: None, literal: Some(start) });
    }
    let below = Some(matcher(&format!("**/{}", globset::escape(&fixed)))?);
    let literal = start.is_file().then_some(start).filter(|file| file.starts_with(&base));
    Ok(Plan { root: base, below, literal })
}

fn matcher(pattern: &str) -> Result<GlobMatcher, Bad> {
    let mut builder = GlobBuilder::new(pattern);
    builder.literal_separator(true).backslash_escape(true).empty_alternates(true);
    let glob = builder.build().map_err(|error| {
        Bad(format!("The pattern `{pattern}` is not understood: {}.", error.kind()))
    })?;
    Ok(glob.compile_matcher())
}
