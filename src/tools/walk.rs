//! The files below a place, as Glob and Grep see them: found by several threads at once, without
//! what ignore files leave out, never through a link, and without what rules keep from the agent.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use ignore::{DirEntry, WalkBuilder, WalkState};
use serde_json::{Value, json};
use tokio_util::sync::DropGuard;

use super::{Call, Output, ToolContext};
use crate::model::Stop;
use crate::permission::path::is_below;
use crate::permission::{Access, Decision, Effect, View, decide};

/// What version control keeps for itself. It is looked at only where it is the place itself.
const VERSION_CONTROL: [&str; 4] = [".git", ".hg", ".jj", ".svn"];

/// Where to look, and until when.
pub(super) struct Ground {
    /// A directory or a file, links followed.
    pub root: PathBuf,
    pub cwd: PathBuf,
    pub stop: Stop,
}

/// What a walk came across.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Files that no ignore file leaves out.
    pub walked: AtomicUsize,
    /// Those of them that fit.
    pub visited: AtomicUsize,
    /// Kept from the agent by rules.
    pub forbidden: AtomicUsize,
    pub unreadable: AtomicUsize,
}

impl Ground {
    /// The search also ends when the guard goes, because then nobody waits for it any more.
    pub(super) fn of(cx: &ToolContext, call: &Call, root: &Path) -> (Self, DropGuard) {
        let stop = call.stop.child_token();
        let ends = stop.clone().drop_guard();
        (Self { root: root.to_owned(), cwd: cx.cwd.get(), stop }, ends)
    }

    /// Shows every file that `fits` to one of the visitors; `fits` is also asked about
    /// directories. A place that was named on purpose is searched even where an ignore file
    /// leaves all of it out.
    pub(super) fn visit<V: FnMut(&Path) + Send>(
        &self,
        tally: &Tally,
        fits: &(dyn Fn(&Path, bool) -> bool + Sync),
        visitor: &(dyn Fn() -> V + Sync),
    ) {
        self.walk(true, tally, fits, visitor);
        if tally.walked.load(Relaxed) == 0 && self.root != self.cwd && !self.stop.is_cancelled() {
            self.walk(false, tally, fits, visitor);
        }
    }

    fn walk<V: FnMut(&Path) + Send>(
        &self,
        obey_ignore_files: bool,
        tally: &Tally,
        fits: &(dyn Fn(&Path, bool) -> bool + Sync),
        visitor: &(dyn Fn() -> V + Sync),
    ) {
        let mut builder = WalkBuilder::new(&self.root);
        builder.standard_filters(obey_ignore_files).hidden(false).require_git(false);
        builder.current_dir(&self.cwd).follow_links(false);
        builder.build_parallel().run(|| {
            let mut visit = visitor();
            Box::new(move |entry| {
                if self.stop.is_cancelled() {
                    return WalkState::Quit;
                }
                match entry {
                    Ok(entry) => step(&entry, tally, fits, &mut visit),
                    Err(_) => {
                        tally.unreadable.fetch_add(1, Relaxed);
                        WalkState::Continue
                    }
                }
            })
        });
    }

    /// Why a search found nothing, where that is not because nothing is there.
    pub(super) fn why_nothing(&self, tally: &Tally) -> Option<String> {
        if tally.walked.load(Relaxed) > 0 {
            let none_fits = tally.visited.load(Relaxed) == 0;
            return none_fits.then(|| "No file below this place fits the pattern.".to_owned());
        }
        let own = |name: &OsStr| VERSION_CONTROL.iter().any(|own| name == *own);
        let entries = std::fs::read_dir(&self.root).ok()?;
        let has_more = entries.flatten().any(|entry| !own(&entry.file_name()));
        has_more.then(|| {
            "Nothing here is outside what .gitignore or .ignore leave out; name an ignored \
             directory or file itself to look into it."
                .to_owned()
        })
    }
}

/// Why a place is not searched: it is not the one that was allowed, or is not there.
pub(super) fn closed(cx: &ToolContext, call: &Call, root: &Path) -> Option<String> {
    if !call.access.contains(&Access::Read(root.to_owned())) {
        let why = "a part of the path became a link after this was allowed; try again";
        return Some(format!("Did not search {}: {why}.", root.display()));
    }
    (!root.exists()).then(|| missing(cx, root))
}

/// What is said of a place that does not exist.
fn missing(cx: &ToolContext, path: &Path) -> String {
    let cwd = cx.cwd.get();
    format!("There is no {}. The working directory is {}.", path.display(), cwd.display())
}

/// What is said when the search was stopped.
pub(super) fn interrupted(tally: &Tally) -> Output {
    let visited = tally.visited.load(Relaxed);
    Output::failed(format!("Interrupted after {}.", counted(visited, "file")))
        .with_data(json!({"visited": visited}))
}

fn step(
    entry: &DirEntry,
    tally: &Tally,
    fits: &(dyn Fn(&Path, bool) -> bool + Sync),
    visit: &mut impl FnMut(&Path),
) -> WalkState {
    let Some(kind) = entry.file_type() else { return WalkState::Continue };
    let is_named = entry.depth() == 0;
    if !is_named && VERSION_CONTROL.iter().any(|own| entry.file_name() == *own) {
        return WalkState::Skip;
    }
    if kind.is_dir() {
        let enter = is_named || fits(entry.path(), true);
        return if enter { WalkState::Continue } else { WalkState::Skip };
    }
    if kind.is_file() {
        tally.walked.fetch_add(1, Relaxed);
        if is_named || fits(entry.path(), false) {
            tally.visited.fetch_add(1, Relaxed);
            visit(entry.path());
        }
    }
    WalkState::Continue
}

/// Which of the files below a place that was let through may be shown.
pub(super) struct Screen {
    view: View,
    tool: &'static str,
    /// The rule that the place itself was asked for by: who said yes to it meant its files too.
    asked_by: Option<String>,
    has_rules: bool,
    keys: Vec<PathBuf>,
}

impl Screen {
    pub(super) fn new(view: &View, tool: &'static str, root: &Path) -> Self {
        let access = [Access::Read(root.to_owned())];
        let asked_by = match decide(view, tool, &Value::Null, &access) {
            Decision::Ask { why, .. } => why.rule().map(str::to_owned),
            Decision::Allow { .. } | Decision::Deny { .. } => None,
        };
        let strict = |effect| matches!(effect, Effect::Deny | Effect::Ask);
        let has_rules =
            view.rules.iter().any(|rule| strict(rule.effect) && !is_of_others(&rule.tool));
        let keys = view.protected.iter().filter(|protected| protected.what == "keys");
        let keys = keys.map(|keys| keys.path.clone()).filter(|keys| !is_below(root, keys));
        // Only what can be met on the way is compared with every file.
        let keys = keys.filter(|keys| is_below(keys, root)).collect();
        Self { view: view.clone(), tool, asked_by, has_rules, keys }
    }

    /// Whether a file may be shown. Asked before a file is read: how many are left out must not
    /// tell what is in them.
    pub(super) fn lets(&self, path: &Path, tally: &Tally) -> bool {
        let lets = !self.keys.iter().any(|keys| is_below(path, keys)) && self.rules_let(path);
        if !lets {
            tally.forbidden.fetch_add(1, Relaxed);
        }
        lets
    }

    fn rules_let(&self, path: &Path) -> bool {
        if !self.has_rules {
            return true;
        }
        match decide(&self.view, self.tool, &Value::Null, &[Access::Read(path.to_owned())]) {
            Decision::Allow { .. } => true,
            Decision::Deny { .. } => false,
            Decision::Ask { why, .. } => {
                why.rule().is_none_or(|rule| self.asked_by.as_deref() == Some(rule))
            }
        }
    }
}

/// Rules of these never speak of files that are read.
fn is_of_others(tool: &str) -> bool {
    let others = ["Bash", "Edit", "Write", "MultiEdit", "NotebookEdit", "WebFetch", "WebSearch"];
    others.contains(&tool) || tool.starts_with("mcp__")
}

/// What is said below the results about what is not among them.
pub(super) fn left_out(tally: &Tally) -> Vec<String> {
    let mut notes = Vec::new();
    let mut note = |count: &AtomicUsize, what: &str| {
        let count = count.load(Relaxed);
        if count > 0 {
            notes.push(format!("{} {what}", counted(count, "file")));
        }
    };
    note(&tally.forbidden, "left out by rules");
    note(&tally.unreadable, "could not be read");
    notes
}

/// `1 file`, `2 files`.
pub(super) fn counted(count: usize, what: &str) -> String {
    match (count, what.ends_with("ch")) {
        (1, _) => format!("1 {what}"),
        (_, true) => format!("{count} {what}es"),
        (_, false) => format!("{count} {what}s"),
    }
}
