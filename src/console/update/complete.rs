//! Completions: commands with their arguments, teammates and files.

use super::{Effect, Look, Show, composer};
use crate::console::commands;
use crate::console::keys::Action;
use crate::console::state::State;
use crate::console::state::composer::{Completion, Item};

/// More than these are not offered.
const MOST: usize = 50;

/// Finds what could stand at the cursor. Asks for the files of the project when they are needed.
pub fn refresh(state: &mut State) -> Vec<Effect> {
    let editor = &state.composer.draft.editor;
    let before = editor.before_cursor().to_owned();
    let on_first_line = editor.is_at_first_line();
    let mut effects = Vec::new();
    let found = match (before.strip_prefix('/').filter(|_| on_first_line), mention(&before)) {
        (Some(line), _) => {
            effects.extend(wanted(state, line).map(Effect::Look));
            commands::complete(state, line)
        }
        (None, Some(word)) => {
            if state.files.is_none() {
                effects.push(Effect::ListFiles);
            }
            Some((mentions(state, word), word.chars().count() + 1))
        }
        (None, None) => None,
    };
    state.composer.completion = found
        .filter(|(items, _)| !items.is_empty() && !is_done(&before, items))
        .map(|(items, replaces)| Completion { items, selected: 0, replaces });
    effects
}

/// What must be looked up to complete a command.
fn wanted(state: &State, line: &str) -> Option<Look> {
    match line {
        // Files may have come since.
        "" if !state.about.is_replay => Some(Look::Recipes),
        line if line.starts_with("merge ") && state.offers.trees.is_none() => {
            Some(Look::Worktrees(Show::Nothing))
        }
        _ => None,
    }
}

/// The word of an `@` before the cursor.
fn mention(before: &str) -> Option<&str> {
    let start = before.rfind('@')?;
    let word = &before[start + 1..];
    let begins = before[..start].chars().next_back().is_none_or(char::is_whitespace);
    (begins && !word.contains(char::is_whitespace)).then_some(word)
}

/// Whether the only thing offered is there already.
fn is_done(before: &str, items: &[Item]) -> bool {
    matches!(items, [only] if before.ends_with(only.text.trim_end()) && !only.text.ends_with('/'))
}

/// Teammates first, then files, those that begin with the word before those that hold it.
fn mentions(state: &State, word: &str) -> Vec<Item> {
    let wanted = word.to_lowercase();
    let mut items: Vec<Item> = Vec::new();
    let team = state.agents.team().filter(|agent| !agent.evidence.ended);
    for agent in team.filter(|agent| agent.name.to_lowercase().starts_with(&wanted)) {
        items.push(Item {
            text: format!("@{} ", agent.name),
            help: agent.about.as_ref().map(|about| about.agent_type.clone()).unwrap_or_default(),
            color: agent.color.clone(),
        });
    }
    if state.has_team() && "all".starts_with(&wanted) {
        let help = "every teammate".to_owned();
        items.push(Item { text: "@all ".to_owned(), help, color: None });
    }
    let files = state.files.as_deref().unwrap_or_default();
    let rank = |path: &str| {
        let path = path.to_lowercase();
        let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
        match () {
            () if path.starts_with(&wanted) => Some(0),
            () if name.starts_with(&wanted) => Some(1),
            () if path.contains(&wanted) => Some(2),
            () => None,
        }
    };
    let mut found: Vec<(u8, usize, &String)> = files
        .iter()
        .filter_map(|path| Some((rank(path)?, path.matches('/').count(), path)))
        .collect();
    found.sort();
    items.extend(found.into_iter().take(MOST).map(|(_, _, path)| Item {
        text: match path.ends_with('/') {
            true => format!("@{path}"),
            false => format!("@{path} "),
        },
        help: String::new(),
        color: None,
    }));
    items.truncate(MOST);
    items
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the rest means nothing in the list")]
pub fn act(state: &mut State, action: Action) -> Vec<Effect> {
    let Some(completion) = &mut state.composer.completion else { return Vec::new() };
    let last = completion.items.len().saturating_sub(1);
    match action {
        Action::Up => completion.selected = completion.selected.checked_sub(1).unwrap_or(last),
        Action::Down => {
            completion.selected =
                if completion.selected >= last { 0 } else { completion.selected + 1 };
        }
        Action::Escape => {
            state.composer.completion = None;
            state.ui.closed = Some(state.now);
        }
        Action::Accept => return accept(state),
        Action::Send => return accept_or_send(state),
        _ => {}
    }
    Vec::new()
}

fn accept(state: &mut State) -> Vec<Effect> {
    let Some(completion) = state.composer.completion.take() else { return Vec::new() };
    let Some(item) = completion.items.get(completion.selected) else { return Vec::new() };
    let editor = &mut state.composer.draft.editor;
    editor.delete_before(completion.replaces);
    editor.insert_str(&item.text);
    refresh(state)
}

/// Enter takes what is offered; a command that wants nothing more is run at once.
fn accept_or_send(state: &mut State) -> Vec<Effect> {
    let before = state.composer.draft.editor.text();
    let mut effects = accept(state);
    let text = state.composer.draft.editor.text();
    let is_same = text.trim_end() == before.trim_end();
    let is_whole =
        text.trim().strip_prefix('/').is_some_and(|line| commands::wants_nothing(state, line));
    if is_same || is_whole {
        state.composer.completion = None;
        effects.extend(composer::send(state));
    }
    effects
}
