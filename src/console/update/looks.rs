//! What was looked up outside: shown as pages and lists, kept for completion.

use super::{Effect, Parting, Seen, Show, complete, dialogs};
use crate::console::state::State;
use crate::console::state::asks::gist::age;
use crate::console::state::dialog::{Dialog, Entry, Page, Pick, Picker};
use crate::console::state::offers::{Past, Tree};
use crate::console::text::sanitize::one_line;
use crate::protocol::event::Level;
use crate::worktree::Preview;

pub fn on_looked(state: &mut State, seen: Seen) -> Vec<Effect> {
    match seen {
        Seen::Worktrees { trees, show } => {
            match show {
                Show::Page => show_trees(state, &trees),
                Show::Merge => offer_trees(state, &trees),
                Show::Nothing => {}
            }
            state.offers.trees = Some(trees);
            return complete::refresh(state);
        }
        Seen::Diff { of, text } if text.is_empty() => {
            state.info(format!("Nothing was changed where {of} works."));
        }
        Seen::Diff { of, text } => dialogs::open_sheet(state, Page::Diff { of, text }),
        Seen::Merge { preview, state: tree } => offer_merge(state, preview, &tree),
        Seen::Sessions { sessions, wanted } => return offer_sessions(state, &sessions, &wanted),
        Seen::Doctor(lines) => dialogs::open_sheet(state, Page::Doctor(lines)),
        Seen::Recipes(recipes) => {
            state.offers.recipes = recipes;
            return complete::refresh(state);
        }
    }
    Vec::new()
}

fn show_trees(state: &mut State, trees: &[Tree]) {
    let mut lines: Vec<String> = Vec::new();
    for tree in trees {
        lines.push(format!("{}  on {}", tree.name, tree.branch));
        lines.push(format!("    {}", tree.state));
        lines.push(format!("    {}", tree.path));
    }
    match lines.is_empty() {
        true => lines.push("no agent left a worktree behind".to_owned()),
        false => lines.push("/merge NAME brings one into the project.".to_owned()),
    }
    dialogs::open_sheet(state, Page::Words { title: "worktrees".to_owned(), lines });
}

fn offer_trees(state: &mut State, trees: &[Tree]) {
    let entries: Vec<Entry> = trees
        .iter()
        .filter(|tree| !tree.branch.is_empty())
        .map(|tree| Entry {
            label: one_line(&tree.name),
            help: one_line(&tree.state),
            keys: String::new(),
            pick: Pick::Run(format!("merge {}", tree.name)),
        })
        .collect();
    match entries.is_empty() {
        true => state.info("No agent left a worktree behind."),
        false => open(state, Picker::new("merge a worktree", entries)),
    }
}

/// Shows what a merge would do. What does not fit is not offered.
fn offer_merge(state: &mut State, preview: Preview, tree: &str) {
    let Preview { branch, into, stat, conflicts, commits } = preview;
    let into = if into.is_empty() { "the project".to_owned() } else { into };
    if commits == 0 {
        state.info(format!("{into} already has every commit of {branch} ({tree})."));
        return;
    }
    let mut words = vec![match commits {
        1 => format!("Merges one commit of {branch} into {into}."),
        many => format!("Merges {many} commits of {branch} into {into}."),
    }];
    words.extend(stat);
    words.push(format!("The worktree: {tree}. Uncommitted changes are not merged."));
    if !conflicts.is_empty() {
        words.push(String::new());
        words.push("Both sides changed the same lines here; nothing was merged:".to_owned());
        words.extend(conflicts.iter().map(|file| format!("  {file}")));
        words.push(format!("`git merge {branch}` lets you resolve them by hand."));
        let title = format!("{branch} has conflicts");
        dialogs::open_sheet(state, Page::Words { title, lines: words });
        return;
    }
    let words = words.iter().map(|line| one_line(line)).collect();
    let entry = |label: &str, help: &str, pick: Pick| Entry {
        label: label.to_owned(),
        help: help.to_owned(),
        keys: String::new(),
        pick,
    };
    let entries = vec![
        entry("Leave it", "nothing changes", Pick::Stay),
        entry("Merge", "git merge --no-ff", Pick::Merge(branch.clone())),
    ];
    open(state, Picker::question(format!("Merge {branch}?"), words, entries));
}

fn offer_sessions(state: &mut State, sessions: &[Past], wanted: &str) -> Vec<Effect> {
    let others: Vec<&Past> =
        sessions.iter().filter(|past| past.id.as_str() != state.about.session).collect();
    if !wanted.is_empty() {
        let named: Vec<&&Past> =
            others.iter().filter(|past| past.id.as_str().starts_with(wanted)).collect();
        return match named[..] {
            [past] if past.is_running => {
                state.say(Level::Error, "This session is open elsewhere.");
                Vec::new()
            }
            [past] => vec![Effect::Quit(Parting::Resume(past.id.clone()))],
            [] => {
                state.say(Level::Error, format!("There is no other session {wanted} here."));
                Vec::new()
            }
            [..] => {
                state.say(Level::Error, format!("{wanted} matches several; give more of it."));
                Vec::new()
            }
        };
    }
    let now = state.now;
    let entry = |past: &&Past| {
        let first = one_line(&past.first);
        let id = past.id.as_str();
        Entry {
            label: if first.is_empty() { "no messages yet".to_owned() } else { first },
            help: match past.is_running {
                true => "open elsewhere".to_owned(),
                false => format!("{} ago", age(now, past.changed)),
            },
            keys: id.get(..8).unwrap_or(id).to_owned(),
            pick: match past.is_running {
                true => Pick::Stay,
                false => Pick::Resume(past.id.clone()),
            },
        }
    };
    let entries: Vec<Entry> = others.iter().map(entry).collect();
    if entries.is_empty() {
        state.info("There is no other session of this project.");
        return Vec::new();
    }
    let mut picker = Picker::new("resume another session", entries);
    picker.words = vec!["This one is paused; you can resume it later.".to_owned()];
    open(state, picker);
    Vec::new()
}

fn open(state: &mut State, picker: Picker) {
    super::everywhere::close_passing(state);
    state.layers.push(Dialog::Picker(picker));
}
