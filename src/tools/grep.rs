//! Grep: lines by what they contain.

use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use futures::future::BoxFuture;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ignore::overrides::{Override, OverrideBuilder};
use ignore::types::{FileTypeDef, Types, TypesBuilder};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::guarded::open_plain;
use super::lines::{Gather, Stoppable, Want};
use super::newest::{Finding, Newest, Page, Window};
use super::walk::{Ground, Screen, Tally, closed, counted, interrupted, left_out};
use super::{Bad, Call, Needs, Output, Spec, Tool, ToolContext, parse};
use crate::permission::Access;

/// Results in one answer, unless the model says otherwise.
const USUAL: usize = 250;
/// How far into the results a model may look; beyond it a narrower search is better.
const FARTHEST: usize = 20_000;
/// Larger files are searched only when they are named.
const LARGEST: u64 = 10 * 1024 * 1024;
/// The most memory for one line, or for a file that is searched across lines.
const HEAP: usize = 64 * 1024 * 1024;
/// Binary files that are named in an answer.
const MOST_BINARY: usize = 5;

const DESCRIPTION: &str = "\
Searches the contents of files with a regular expression, the most recently changed files first.
- Patterns are in the syntax of Rust's regex crate, as in ripgrep: `log.*Error`, `fn\\s+\\w+`. \
Characters with a meaning need a backslash when meant literally: `interface\\{\\}`, `foo\\(`. There \
is no look-around and no backreference.
- `output_mode`: `files_with_matches` (the default) gives paths, `content` gives lines as \
`path:line:text`, `count` gives the number of matching lines of each file.
- Narrow a search with `path`, with `glob` (`*.rs`, or several: `*.{ts,tsx},!*.test.ts`) or with \
`type` (`rust`, `py`, `js`).
- `.` does not match a line break and patterns stay within a line, unless `multiline` is true.
- Files that .gitignore or .ignore leave out are not searched, unless `path` names them. Hidden \
files are searched; `.git` only when named. Links are not followed. Binary files and files over \
10 MB are left out.
- 250 results come back unless `head_limit` says otherwise; `offset` gives the ones behind them.
To find files by name, use Glob.";

pub struct GrepTool {
    spec: Spec,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Input {
    /// The regular expression.
    pattern: String,
    /// The file or directory to search. The working directory if left out.
    path: Option<String>,
    /// Which files to search by name; several with commas or spaces between them, `!` before
    /// those to leave out.
    glob: Option<String>,
    /// Which files to search by kind, such as `rust` or `py`.
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    output_mode: OutputMode,
    /// Lines to show after each match (content mode).
    #[serde(rename = "-A")]
    after: Option<usize>,
    /// Lines to show before each match (content mode).
    #[serde(rename = "-B")]
    before: Option<usize>,
    /// Lines to show before and after each match (content mode).
    #[serde(rename = "-C")]
    around: Option<usize>,
    /// The same as `-C`.
    context: Option<usize>,
    /// Show the numbers of lines (content mode). True if left out.
    #[serde(rename = "-n")]
    numbers: Option<bool>,
    /// Take upper and lower case for the same.
    #[serde(rename = "-i")]
    ignore_case: Option<bool>,
    /// Let a match go over several lines, and `.` match line breaks.
    multiline: Option<bool>,
    /// How many results to give: lines, paths or counts. 250 if left out, 0 for all that fit.
    head_limit: Option<usize>,
    /// How many results to leave out first.
    offset: Option<usize>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum OutputMode {
    Content,
    #[default]
    FilesWithMatches,
    Count,
}

/// An input made ready.
struct Plan {
    root: PathBuf,
    matcher: RegexMatcher,
    searcher: SearcherBuilder,
    globs: Override,
    types: Types,
    mode: OutputMode,
    has_context: bool,
    window: Window,
}

/// What a search found, and what it left out.
struct Found {
    newest: Newest,
    tally: Tally,
    large: usize,
    /// Binary files with a match: their number, and the first few.
    binary: (usize, Vec<PathBuf>),
    hint: Option<String>,
}

impl GrepTool {
    pub fn new() -> Self {
        Self { spec: Spec::of::<Input>("Grep", DESCRIPTION, Needs::Reads, true) }
    }
}

impl Default for GrepTool {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for GrepTool {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn access(&self, cx: &ToolContext, input: &Value) -> Result<Vec<Access>, Bad> {
        let input: Input = parse("Grep", input)?;
        Ok(vec![Access::Read(plan(cx, &input)?.root)])
    }

    fn summary(&self, input: &Value) -> String {
        let text = |key: &str| input.get(key).and_then(Value::as_str);
        let place = text("path").or_else(|| text("glob")).or_else(|| text("type"));
        let pattern = super::first_line(text("pattern").unwrap_or_default());
        place.map_or(format!("\"{pattern}\""), |place| format!("\"{pattern}\" in {place}"))
    }

    fn run<'a>(
        &'a self,
        cx: &'a ToolContext,
        call: &'a Call,
        input: Value,
    ) -> BoxFuture<'a, Output> {
        Box::pin(async move {
            let name = self.summary(&input);
            let planned = parse("Grep", &input).and_then(|input| plan(cx, &input));
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
    let (mode, has_context) = (plan.mode, plan.has_context);
    let (ground, _ends) = Ground::of(cx, call, &plan.root);
    let screen = Screen::new(&call.view, "Grep", &plan.root);
    let found = tokio::task::spawn_blocking(move || search(&ground, &plan, &screen));
    match found.await {
        Ok(found) if call.stop.is_cancelled() => interrupted(&found.tally),
        Ok(found) => answer(cx, name, mode, has_context, &found),
        Err(_) => Output::failed("The search failed; this is a bug in Quarterdeck."),
    }
}

fn search(ground: &Ground, plan: &Plan, screen: &Screen) -> Found {
    let (tally, large) = (Tally::default(), AtomicUsize::new(0));
    let newest = Mutex::new(Newest::new(plan.window));
    let binary = Mutex::new((0, Vec::new()));
    let fits = |path: &Path, is_dir: bool| {
        !plan.globs.matched(path, is_dir).is_ignore()
            && !plan.types.matched(path, is_dir).is_ignore()
    };
    let visitor = || {
        let (matcher, mut searcher) = (plan.matcher.clone(), plan.searcher.build());
        let (tally, large, newest, binary) = (&tally, &large, &newest, &binary);
        move |path: &Path| {
            if !screen.lets(path, tally) {
                return;
            }
            match one_file(ground, plan, &matcher, &mut searcher, path) {
                Ok(One::Nothing) => {}
                Ok(One::Large) => {
                    large.fetch_add(1, Relaxed);
                }
                Ok(One::Binary) => {
                    let mut binary = binary.lock().unwrap_or_else(PoisonError::into_inner);
                    binary.0 += 1;
                    if binary.1.len() < MOST_BINARY {
                        binary.1.push(path.to_owned());
                    }
                }
                Ok(One::Found(modified, finding)) => {
                    let mut newest = newest.lock().unwrap_or_else(PoisonError::into_inner);
                    newest.add(modified, path, finding);
                }
                Err(_) => {
                    tally.unreadable.fetch_add(1, Relaxed);
                }
            }
        }
    };
    ground.visit(&tally, &fits, &visitor);
    let hint = ground.why_nothing(&tally);
    let newest = newest.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut binary = binary.into_inner().unwrap_or_else(PoisonError::into_inner);
    binary.1.sort();
    Found { newest, tally, large: large.into_inner(), binary, hint }
}

/// What came of one file.
enum One {
    Nothing,
    Large,
    Binary,
    Found(SystemTime, Finding),
}

fn one_file(
    ground: &Ground,
    plan: &Plan,
    matcher: &RegexMatcher,
    searcher: &mut Searcher,
    path: &Path,
) -> std::io::Result<One> {
    let (file, about) = open(path)?;
    let is_named = path == ground.root;
    if !is_named && about.len() > LARGEST {
        return Ok(One::Large);
    }
    let want = match plan.mode {
        OutputMode::Content => Want::Lines(plan.window.reach()),
        OutputMode::FilesWithMatches => Want::Any,
        OutputMode::Count => Want::Count,
    };
    let left = if is_named { u64::MAX } else { LARGEST };
    let mut gather = Gather::new(want, matcher, &ground.stop);
    let file = Stoppable { file, stop: &ground.stop, left };
    searcher.search_reader(matcher, file, &mut gather)?;
    let mut finding = gather.found;
    if finding.matches == 0 {
        return Ok(One::Nothing);
    }
    if gather.is_binary && want != Want::Any {
        return Ok(One::Binary);
    }
    if !matches!(want, Want::Lines(_)) {
        finding.entries = 1;
    }
    Ok(One::Found(about.modified().unwrap_or(SystemTime::UNIX_EPOCH), finding))
}

/// A file that was put in the place of another since it was seen must not lead elsewhere.
fn open(path: &Path) -> std::io::Result<(File, Metadata)> {
    let file = open_plain(path).map_err(std::io::Error::other)?;
    let about = file.metadata()?;
    if about.is_file() { Ok((file, about)) } else { Err(std::io::Error::other("not a file")) }
}

fn answer(
    cx: &ToolContext,
    name: &str,
    mode: OutputMode,
    has_context: bool,
    found: &Found,
) -> Output {
    let newest = &found.newest;
    let page = newest.page(|path, finding| words(cx, mode, has_context, path, finding));
    let total = match mode {
        OutputMode::FilesWithMatches => counted(newest.files, "file"),
        OutputMode::Content | OutputMode::Count => {
            format!("{} in {}", counted(newest.matches, "match"), counted(newest.files, "file"))
        }
    };
    let notes = notes(cx, mode, found, &page, &total);
    let truncated = newest.next(&page) < newest.entries;
    let mut text = page.text;
    for note in notes {
        text.push_str(&note);
        text.push('\n');
    }
    let data = json!({"files": newest.files, "matches": newest.matches, "truncated": truncated});
    let summary = format!("{name}: {total}");
    Output::text(text.trim_end_matches('\n')).with_summary(summary).with_data(data)
}

/// The results of one file, each with whether lines were left out before it.
fn words(
    cx: &ToolContext,
    mode: OutputMode,
    has_context: bool,
    path: &Path,
    finding: &Finding,
) -> Vec<(bool, String)> {
    let path = cx.shown(path);
    match mode {
        OutputMode::FilesWithMatches => vec![(false, path)],
        OutputMode::Count => vec![(false, format!("{path}:{}", finding.matches))],
        OutputMode::Content => {
            let lines = finding.lines.iter().enumerate().map(|(index, line)| {
                let mark = if line.is_match { ':' } else { '-' };
                let number = line.number.map(|number| format!("{number}{mark}"));
                let text = format!("{path}{mark}{}{}", number.unwrap_or_default(), line.text);
                (line.after_gap || (has_context && index == 0), text)
            });
            lines.collect()
        }
    }
}

fn notes(
    cx: &ToolContext,
    mode: OutputMode,
    found: &Found,
    page: &Page,
    total: &str,
) -> Vec<String> {
    let newest = &found.newest;
    let mut notes = Vec::new();
    if newest.files == 0 {
        notes.push("No matches".to_owned());
        notes.extend(found.hint.clone());
    } else if page.shown == 0 {
        notes.push(format!("No results behind this offset: there are {}", newest.entries));
    }
    let what = match mode {
        OutputMode::Content => "lines",
        OutputMode::FilesWithMatches | OutputMode::Count => "files",
    };
    if let Some(rest) = newest.rest(page, what).filter(|_| page.shown > 0) {
        notes.push(format!("{rest} (offset {} gives them)", newest.next(page)));
    }
    if mode == OutputMode::Count && newest.files > 0 {
        notes.push(format!("{total} in all"));
    }
    let (count, first) = &found.binary;
    if *count > 0 && mode == OutputMode::Content {
        let names: Vec<String> = first.iter().map(|path| cx.shown(path)).collect();
        let more = if *count > first.len() { ", …" } else { "" };
        let names = names.join(", ");
        notes.push(format!(
            "{} with a match not shown: {names}{more}",
            counted(*count, "binary file")
        ));
    }
    if found.large > 0 {
        notes.push(format!("{} over 10 MB not searched", counted(found.large, "file")));
    }
    notes.extend(left_out(&found.tally));
    notes
}

fn plan(cx: &ToolContext, input: &Input) -> Result<Plan, Bad> {
    let cwd = cx.cwd.get();
    let root = match input.path.as_deref().map(str::trim) {
        None | Some("") => cx.resolve("."),
        Some(path) => cx.resolve(path),
    };
    let skip = input.offset.unwrap_or(0);
    if skip > FARTHEST {
        return Err(Bad(format!("An offset is at most {FARTHEST}; search for less instead.")));
    }
    let mode = input.output_mode;
    let (around, is_content) = (input.around.or(input.context), mode == OutputMode::Content);
    let lines = |own: Option<usize>| own.or(around).filter(|_| is_content).unwrap_or(0).min(1000);
    let (before, after) = (lines(input.before), lines(input.after));
    let multiline = input.multiline.unwrap_or(false);
    let matcher = matcher(&input.pattern, input.ignore_case.unwrap_or(false), multiline)?;
    let mut searcher = SearcherBuilder::new();
    // Binary files are only read on where it is told that they match.
    let binary = if is_content { BinaryDetection::convert(0) } else { BinaryDetection::quit(0) };
    searcher.binary_detection(binary).multi_line(multiline).heap_limit(Some(HEAP));
    searcher.line_number(is_content && input.numbers.unwrap_or(true));
    searcher.before_context(before).after_context(after);
    Ok(Plan {
        globs: globs(if root.starts_with(&cwd) { &cwd } else { &root }, input.glob.as_deref())?,
        types: types(input.kind.as_deref())?,
        window: Window::new(skip, input.head_limit.unwrap_or(USUAL)),
        has_context: before + after > 0,
        root,
        matcher,
        searcher,
        mode,
    })
}

fn matcher(pattern: &str, ignore_case: bool, multiline: bool) -> Result<RegexMatcher, Bad> {
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(ignore_case).multi_line(true).dot_matches_new_line(multiline);
    if !multiline {
        builder.line_terminator(Some(b'\n'));
    }
    builder.build(pattern).map_err(|error| {
        let error = error.to_string();
        let help = if error.contains("\\n") && error.contains("not allowed") {
            "To match over several lines, set multiline to true."
        } else {
            "Characters with a meaning need a backslash to be taken literally, such as \
             `interface\\{\\}` or `foo\\(`; there is no look-around and no backreference."
        };
        Bad(format!("The pattern is not understood: {error}\n{help}"))
    })
}

/// Names as ripgrep's `-g` takes them, except that they do not bring back what is ignored.
fn globs(base: &Path, text: Option<&str>) -> Result<Override, Bad> {
    let mut builder = OverrideBuilder::new(base);
    let wrong = |error: ignore::Error| Bad(format!("The glob is not understood: {error}"));
    for glob in split(text.unwrap_or_default()) {
        let plain = glob.strip_prefix("./").map(|rest| format!("/{rest}"));
        builder.add(plain.as_deref().unwrap_or(glob)).map_err(wrong)?;
    }
    builder.build().map_err(wrong)
}

/// Splits at commas and spaces that stand outside braces and brackets.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    let parts = text.split(move |c: char| {
        match c {
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (c == ',' || c.is_whitespace())
    });
    parts.filter(|part| !part.is_empty())
}

fn types(text: Option<&str>) -> Result<Types, Bad> {
    // Some hundred kinds are known; that is not worth preparing for nothing.
    let Some(text) = text else { return Ok(Types::empty()) };
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    for name in split(text) {
        let known = builder.definitions();
        if !known.iter().any(|kind| kind.name() == name) {
            let ending = format!("*.{name}");
            let near = |kind: &&FileTypeDef| {
                kind.globs().contains(&ending) || strsim::jaro_winkler(kind.name(), name) > 0.85
            };
            let near: Vec<&str> = known.iter().filter(near).map(FileTypeDef::name).collect();
            let near =
                if near.is_empty() { "rust, py, js, ts, go".into() } else { near.join(", ") };
            let what = format!("There is no type `{name}`. Did you mean: {near}? ");
            return Err(Bad(what + "Or use glob, such as `*.ext`."));
        }
        builder.select(name);
    }
    builder.build().map_err(|error| Bad(format!("The type is not understood: {error}")))
}
