//! What Write and Edit share: the order in which a file is checked and replaced, and how the
//! change is told, to the model in words and to the console as a diff.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use similar::{ChangeTag, TextDiff};

use super::file_words::push_line;
use super::guarded::{Spot, Trouble};
use super::replace::{Before, replace};
use super::seen::{Known, ReadCache};
use super::text_file::{self, Encoding};
use super::{Call, Output, ToolContext};
use crate::model::Stop;
use crate::store::Durability;

/// For how long the shortest diff is looked for; after that a longer one must do.
const DIFFING: Duration = Duration::from_millis(500);
/// The longest diff that is kept, in bytes.
const LONGEST_DIFF: usize = 64 * 1024;
/// Lines shown around a change.
const AROUND: usize = 3;
/// The most lines of a change that are shown.
const MOST_SHOWN: usize = 30;

/// One change on its way, with all that it needs of the agent, so that it can go to a thread.
pub struct Job {
    path: PathBuf,
    pub shown: String,
    seen: ReadCache,
    durability: Durability,
    stop: Stop,
}

impl Job {
    pub fn new(cx: &ToolContext, call: &Call, path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            shown: cx.shown(path),
            seen: cx.seen.clone(),
            durability: cx.store.locks().durability(),
            stop: call.stop.clone(),
        }
    }

    pub fn spot(&self) -> Result<Spot, Trouble> {
        Spot::reach(&self.path)
    }

    pub fn spot_to_make(&self) -> Result<Spot, Trouble> {
        Spot::reach_or_make(&self.path)
    }

    /// Refuses to touch what the agent has not seen. There is nothing to see in an empty file.
    pub fn check_seen(&self, content: &[u8]) -> Result<(), Trouble> {
        match self.seen.knows(&self.path, content) {
            Known::Same => Ok(()),
            Known::Never if content.is_empty() => Ok(()),
            Known::Never => Err(Trouble::Unread),
            Known::Changed => Err(Trouble::Changed),
        }
    }

    /// Replaces the file, and takes note that the agent knows the new content.
    pub fn commit(&self, spot: &Spot, before: Before<'_>, after: &[u8]) -> Result<(), Trouble> {
        replace(spot, before, after, self.durability, &self.stop)?;
        self.seen.record(&self.path, after);
        Ok(())
    }

    /// Tells a trouble with the name of the file.
    pub fn refuse(&self, trouble: &Trouble) -> Output {
        Output::failed(format!("{}: {trouble}.", self.shown))
    }
}

/// The versions of a file with plain line ends.
pub struct Versions<'a> {
    pub old: &'a str,
    pub new: &'a str,
    pub encoding: Encoding,
}

/// How a file has changed.
pub struct Told {
    diff: String,
    added: usize,
    removed: usize,
}

impl Told {
    pub fn of(shown: &str, versions: &Versions<'_>) -> Self {
        let old = text_file::shown(versions.old, versions.encoding);
        let new = text_file::shown(versions.new, versions.encoding);
        let diff = TextDiff::configure().timeout(DIFFING).diff_lines(old.as_ref(), new.as_ref());
        let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
        let (added, removed) = (count(ChangeTag::Insert), count(ChangeTag::Delete));
        let mut kept = Kept { bytes: Vec::new() };
        let written =
            diff.unified_diff().context_radius(AROUND).header(shown, shown).to_writer(&mut kept);
        let mut diff = String::from_utf8_lossy(&kept.bytes).into_owned();
        if written.is_err() {
            diff.truncate(diff.rfind('\n').map_or(0, |end| end + 1));
            diff.push_str("… the diff continues\n");
        }
        Self { diff, added, removed }
    }

    /// `+3 -1`
    pub fn counts(&self) -> String {
        format!("+{} -{}", self.added, self.removed)
    }

    /// The words for the model with what the console shows beside them.
    pub fn output(self, shown: &str, path: &Path, words: String) -> Output {
        let summary = format!("{shown} {}", self.counts());
        let Self { diff, added, removed } = self;
        let data = json!({ "diff": diff, "added": added, "removed": removed, "path": path });
        Output::text(words).with_summary(summary).with_data(data)
    }
}

/// Keeps the beginning of what is written to it, and says when it is full.
struct Kept {
    bytes: Vec<u8>,
}

impl io::Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = LONGEST_DIFF - self.bytes.len();
        self.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
        if bytes.len() > room { Err(io::ErrorKind::StorageFull.into()) } else { Ok(bytes.len()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Lines `first` to `last` of a text and some around them, numbered as Read numbers them.
pub fn snippet(versions: &Versions<'_>, first: usize, last: usize) -> String {
    let from = first.saturating_sub(AROUND).max(1);
    let to = (last + AROUND).min(from + MOST_SHOWN + 2 * AROUND);
    let mut lines = String::new();
    for (at, line) in versions.new.lines().enumerate().take(to).skip(from - 1) {
        push_line(&mut lines, at + 1, &text_file::shown(line, versions.encoding));
    }
    if to < last {
        lines.push_str("… the change continues\n");
    }
    lines
}
