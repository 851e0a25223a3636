//! Writing and sending. What was written is never lost: a draft stays with its agent, and words
//! that were refused come back.

use super::{Editing, Effect, commands, complete};
use crate::console::keys::{Action, Context};
use crate::console::state::State;
use crate::console::state::composer::Search;
use crate::console::state::editor::Editor;
use crate::protocol::event::Level;
use crate::protocol::ids::AgentId;
use crate::protocol::op::{Op, When};

#[expect(clippy::wildcard_enum_match_arm, reason = "the rest is editing, or means nothing")]
pub fn act(state: &mut State, action: Action) -> Vec<Effect> {
    match action {
        Action::Send => return send(state),
        Action::Right if state.offered().is_some() => {
            let offer = state.composer.offer.take().unwrap_or_default();
            state.composer.set_text(&offer);
        }
        Action::Up => up(state),
        Action::Down => down(state),
        Action::HistorySearch => state.composer.search = Some(Search::default()),
        Action::ExternalEditor => {
            let text = state.composer.draft.whole();
            return vec![Effect::OpenEditor { purpose: Editing::Draft, text, ending: "md" }];
        }
        Action::Backspace => {
            state.composer.draft.backspace();
            state.composer.history.leave();
        }
        _ => {
            if !edit(&mut state.composer.draft.editor, action) {
                return Vec::new();
            }
            state.composer.history.leave();
        }
    }
    complete::refresh(state)
}

/// Whether an action edits, and if so does it.
#[expect(clippy::wildcard_enum_match_arm, reason = "the rest does not edit")]
pub fn edit(editor: &mut Editor, action: Action) -> bool {
    match action {
        Action::Newline => editor.newline(),
        Action::Left => editor.left(),
        Action::Right => editor.right(),
        Action::WordLeft => editor.word_left(),
        Action::WordRight => editor.word_right(),
        Action::LineStart => editor.home(),
        Action::LineEnd => editor.end(),
        Action::Backspace => editor.backspace(),
        Action::Delete => editor.delete(),
        Action::DeleteWord => editor.delete_word(),
        Action::DeleteNextWord => editor.delete_next_word(),
        Action::DeleteToStart => editor.delete_to_start(),
        Action::DeleteToEnd => editor.delete_to_end(),
        Action::Undo => editor.undo(),
        Action::Redo => editor.redo(),
        _ => return false,
    }
    true
}

fn up(state: &mut State) {
    let composer = &mut state.composer;
    if !composer.draft.editor.is_at_first_line() {
        composer.draft.editor.up();
        return;
    }
    let draft = composer.draft.whole();
    if let Some(older) = composer.history.older(&draft) {
        composer.set_text(&older);
        composer.draft.editor.jump(0, usize::MAX);
    }
}

fn down(state: &mut State) {
    let composer = &mut state.composer;
    if !composer.draft.editor.is_at_last_line() {
        composer.draft.editor.down();
        return;
    }
    if let Some(newer) = composer.history.newer() {
        composer.set_text(&newer);
    }
}

/// Sends what is written: to the selected agent, to whom it names, or as a command.
pub fn send(state: &mut State) -> Vec<Effect> {
    let offered = state.offered().map(str::to_owned);
    let text = offered.unwrap_or_else(|| state.composer.draft.whole());
    if text.trim().is_empty() {
        return Vec::new();
    }
    if let Some(line) = text.trim_start().strip_prefix('/')
        && commands::is_command(line)
    {
        let line = line.trim_end().to_owned();
        return match commands::run(state, &line) {
            Ok(effects) => {
                state.composer.offer.take_if(|offer| offer.trim() == text.trim());
                let mut all = sent(state, &text);
                all.extend(effects);
                all
            }
            Err(why) => {
                // It stays where it can be mended.
                state.say(Level::Error, why);
                Vec::new()
            }
        };
    }
    let (receivers, words) = addressed(state, &text);
    if receivers.is_empty() {
        state.say(Level::Warning, "There is no teammate to send this to.");
        return Vec::new();
    }
    let mut effects = sent(state, &text);
    // It is done, or something else is.
    state.composer.offer = None;
    for to in receivers {
        if let Some(agent) = state.agents.get_mut(&to) {
            agent.scroll.bottom();
        }
        effects.push(Effect::Send(Op::Say { to, text: words.clone(), when: When::Next }));
    }
    effects
}

/// Keeps what was sent for the arrows and for later sessions, and clears the draft.
fn sent(state: &mut State, text: &str) -> Vec<Effect> {
    state.composer.set_text("");
    match state.composer.history.push(text) {
        true => vec![Effect::Remember(text.to_owned())],
        false => Vec::new(),
    }
}

/// Who is meant, and the words without the names: `@fixer look again`, `@all stop`.
fn addressed(state: &State, text: &str) -> (Vec<AgentId>, String) {
    let to_selected = || (vec![state.selected.clone()], text.to_owned());
    let Some(rest) = text.trim_start().strip_prefix('@') else { return to_selected() };
    let Some((name, words)) = rest.split_once(char::is_whitespace) else { return to_selected() };
    let name = name.trim_end_matches([',', ':']);
    let words = words.trim_start().to_owned();
    if words.is_empty() {
        return to_selected();
    }
    if name == "all" {
        let living = state.agents.teammates().filter(|agent| !agent.evidence.ended);
        let mut all: Vec<AgentId> = living.map(|agent| agent.id.clone()).collect();
        if all.is_empty() {
            all.extend(state.lead().cloned());
        }
        return (all, words);
    }
    match state.agents.named(name) {
        Some(agent) => (vec![agent.id.clone()], words),
        // Not a name: the path of a file, or just a sign.
        None => to_selected(),
    }
}

/// Gives back words that did not reach anybody.
pub fn restore(state: &mut State, to: &AgentId, text: &str) {
    if *to == state.selected && state.composer.draft.is_empty() {
        state.composer.set_text(text);
    } else if state.composer.history.push(text) {
        let key = state.keymap.key(Context::Composer, Action::Up);
        state.info(format!("Your words are kept: press {key} in the composer."));
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the rest means nothing in a search")]
pub fn act_on_search(state: &mut State, action: Action) -> Vec<Effect> {
    let Some(search) = &mut state.composer.search else { return Vec::new() };
    let many = state.composer.history.matches(&search.wanted).len();
    match action {
        Action::HistorySearch => search.at = (search.at + 1).min(many.saturating_sub(1)),
        Action::Down => search.at = search.at.saturating_sub(1),
        Action::Backspace => {
            search.wanted.pop();
            search.at = 0;
        }
        Action::Accept => {
            let found = state.composer.history.matches(&search.wanted);
            let text = found.get(search.at).map(|text| (*text).to_owned());
            state.composer.search = None;
            if let Some(text) = text {
                keep_draft(state);
                state.composer.set_text(&text);
            }
        }
        Action::Escape => {
            state.composer.search = None;
            state.ui.closed = Some(state.now);
        }
        _ => {}
    }
    Vec::new()
}

/// What is about to be replaced stays one ↑ away.
fn keep_draft(state: &mut State) {
    let draft = state.composer.draft.whole();
    state.composer.history.push(&draft);
}
