//! What a search found, newest file first, in bounded memory: only what can still be shown is
//! kept, the rest is counted.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The most characters of results that a model gets.
pub(super) const MOST_CHARS: usize = 30_000;
/// So many bytes of lines are more than will be shown.
const ENOUGH_BYTES: usize = 4 * MOST_CHARS;

/// Which of the results are shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    pub skip: usize,
    pub most: usize,
}

impl Window {
    /// With 0 for as many as fit.
    pub(super) fn new(skip: usize, most: usize) -> Self {
        let most = if most == 0 { MOST_CHARS } else { most.min(MOST_CHARS) };
        Self { skip, most }
    }

    pub(super) const fn reach(self) -> usize {
        self.skip.saturating_add(self.most)
    }
}

/// What was found in one file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Finding {
    pub matches: usize,
    /// How many results it makes, of which `lines` has the first.
    pub entries: usize,
    pub lines: Vec<Line>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub number: Option<u64>,
    pub is_match: bool,
    /// Lines were left out before it.
    pub after_gap: bool,
    pub text: String,
}

#[derive(Debug)]
pub(super) struct Newest {
    window: Window,
    kept: BTreeMap<(Reverse<SystemTime>, PathBuf), Finding>,
    kept_entries: usize,
    kept_bytes: usize,
    pub files: usize,
    pub matches: usize,
    /// Results, kept or not.
    pub entries: usize,
}

/// Results in words.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub text: String,
    pub shown: usize,
}

impl Newest {
    pub(super) fn new(window: Window) -> Self {
        let (kept, kept_entries, kept_bytes) = (BTreeMap::new(), 0, 0);
        Self { window, kept, kept_entries, kept_bytes, files: 0, matches: 0, entries: 0 }
    }

    pub(super) fn add(&mut self, modified: SystemTime, path: &Path, finding: Finding) {
        self.files += 1;
        self.matches += finding.matches;
        self.entries += finding.entries;
        self.kept_entries += finding.entries;
        self.kept_bytes += bytes_of(&finding);
        self.kept.insert((Reverse(modified), path.to_owned()), finding);
        while let Some(oldest) = self.kept.last_entry() {
            let entries = self.kept_entries - oldest.get().entries;
            let bytes = self.kept_bytes - bytes_of(oldest.get());
            let is_enough =
                entries >= self.window.reach() || (self.window.skip == 0 && bytes >= ENOUGH_BYTES);
            if !is_enough {
                break;
            }
            (self.kept_entries, self.kept_bytes) = (entries, bytes);
            oldest.remove();
        }
    }

    /// The window's results. `words` gives the words of each result of a file, and whether a
    /// mark for left out lines belongs before it.
    pub(super) fn page(&self, words: impl Fn(&Path, &Finding) -> Vec<(bool, String)>) -> Page {
        let mut page = Page::default();
        let (mut skip, mut chars) = (self.window.skip, 0);
        for ((_, path), finding) in &self.kept {
            if skip >= finding.entries {
                skip -= finding.entries;
                continue;
            }
            for (after_gap, text) in words(path, finding).into_iter().skip(skip) {
                chars += text.chars().count() + 1 + if after_gap { 3 } else { 0 };
                if page.shown == self.window.most || (chars > MOST_CHARS && page.shown > 0) {
                    return page;
                }
                if after_gap && page.shown > 0 {
                    page.text.push_str("--\n");
                }
                page.text.push_str(&text);
                page.text.push('\n');
                page.shown += 1;
            }
            skip = 0;
        }
        page
    }

    /// What is said when there is more than the page has.
    pub(super) fn rest(&self, page: &Page, what: &str) -> Option<String> {
        let next = self.window.skip + page.shown;
        let more = self.entries.saturating_sub(next);
        (more > 0).then(|| format!("… {more} more {what}"))
    }

    pub(super) fn next(&self, page: &Page) -> usize {
        self.window.skip + page.shown
    }
}

fn bytes_of(finding: &Finding) -> usize {
    finding.lines.iter().map(|line| line.text.len() + size_of::<Line>()).sum()
}
