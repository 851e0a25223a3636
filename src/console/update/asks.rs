//! What keys, time and events do to asks, and the guards against accidents.
//!
//! A letter answers only on a page that was seen for 300 ms, and only if no other letter follows
//! it within 150 ms: what is quicker is typing, goes to the composer, and the dialog steps back.
//! A dialog opens by itself only after a second without a key. Esc and Enter alone never answer.
//!
//! `update` calls: `on_event` for every event, `on_tick` for every tick (`Asks::wake` says when one
//! is needed), and while `state.asks.dialog` is there `on_key` and `on_paste` instead of whatever
//! lies below, with the contexts of `Asks::contexts`; `on_refused` when an answer was not taken.

mod letters;
mod pages;

pub use letters::offers;

use crate::console::keys::Action;
use crate::console::state::State;
use crate::console::state::asks::gist::headline;
use crate::console::state::asks::{ALONE, AskDialog, FAREWELL, News, QUIET, Stage, Way, gist};
use crate::console::state::dialog::Dialog;
use crate::console::state::ui::Focus;
use crate::console::text::sanitize::one_line;
use crate::console::update::Effect;
use crate::protocol::ask::Ask;
use crate::protocol::event::Event;
use crate::protocol::ids::AskId;
use crate::protocol::time::Stamp;

/// A bell for something older than this would be a surprise: it was journaled before we came.
const NEWS_MS: i64 = 10_000;

/// One press of a key while an ask is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AskInput {
    /// What the key table says it means here.
    pub action: Option<Action>,
    /// The character that it types, if it types one.
    pub typed: Option<char>,
}

fn since(now: Stamp, then: Stamp) -> i64 {
    now.millis().saturating_sub(then.millis())
}

/// Takes note of an event. Rings where nobody looks.
pub fn on_event(state: &mut State, event: &Event) -> Vec<Effect> {
    let effects = match state.asks.absorb(event) {
        None => return Vec::new(),
        Some(News::Asked(id)) => {
            show_changed(state, &id);
            ring(state, &id, event.at)
        }
        Some(News::Settled { ask, how, here: _ }) => {
            say_farewell(state, &ask, how);
            Vec::new()
        }
    };
    open_by_itself(state);
    effects
}

fn ring(state: &State, id: &AskId, at: Stamp) -> Vec<Effect> {
    let Some(known) = state.asks.get(id) else { return Vec::new() };
    if state.ui.is_watched || since(state.now, at) > NEWS_MS {
        return Vec::new();
    }
    vec![Effect::Ring { title: headline(&known.ask), body: gist::gist(&known.ask) }]
}

/// The shown request changed: it is shown anew, and what was being done about it is void.
fn show_changed(state: &mut State, id: &AskId) {
    let Some(known) = state.asks.get(id) else { return };
    let ask = std::sync::Arc::clone(&known.ask);
    let Some(shown) = state.asks.dialog.as_ref().filter(|shown| shown.ask == *id) else { return };
    let mut anew = AskDialog::new(&ask, shown.way, state.now);
    // Words that are being written are the person's own, and may still fit.
    (anew.remark, anew.instead) = (shown.remark.clone(), shown.instead.clone());
    anew.full = shown.full;
    state.asks.dialog = Some(anew);
}

/// The shown request was settled elsewhere: the dialog says so, and what was written is kept.
fn say_farewell(state: &mut State, id: &AskId, how: String) {
    let now = state.now;
    let Some(dialog) = state.asks.dialog.as_mut().filter(|shown| shown.ask == *id) else { return };
    let words = match &dialog.stage {
        Stage::Remark => dialog.remark.take_text(),
        Stage::Instead => dialog.instead.take_text(),
        Stage::Own(editor) => editor.text(),
        Stage::Choices | Stage::Edit(_) | Stage::Scope(_) | Stage::Gone { .. } => String::new(),
    };
    dialog.turn_to_choices();
    dialog.stage = Stage::Gone { how, since: now };
    state.asks.unmark();
    if !words.trim().is_empty() {
        state.composer.draft.editor.insert_str(&words);
    }
}

/// Takes note of the time.
pub fn on_tick(state: &mut State) -> Vec<Effect> {
    let effects = weigh(state);
    let gone = match state.asks.dialog.as_ref().map(|dialog| &dialog.stage) {
        Some(Stage::Gone { since: then, .. }) => since(state.now, *then) >= FAREWELL,
        Some(_) | None => false,
    };
    if gone {
        close(state);
    }
    if state.composer.draft.is_empty() {
        state.asks.stepped_back = false;
    }
    open_by_itself(state);
    effects
}

/// A letter that stood alone long enough does what it means.
fn weigh(state: &mut State) -> Vec<Effect> {
    let now = state.now;
    let Some(dialog) = state.asks.dialog.as_mut() else { return Vec::new() };
    let Some(held) = dialog.held.filter(|held| since(now, held.at) >= ALONE) else {
        return Vec::new();
    };
    dialog.held = None;
    if held.early {
        dialog.note =
            Some(format!("`{}` came too soon after this appeared; press it again", held.typed));
        return Vec::new();
    }
    letters::act(state, held)
}

/// Opens what waits if nobody is typing and nothing else is in the way.
fn open_by_itself(state: &mut State) {
    let typing = state.ui.last_key.is_some_and(|last| since(state.now, last) < QUIET);
    let shown = state.asks.dialog.is_some();
    if !state.asks.opens_by_itself() || typing || shown || is_busy(state) {
        return;
    }
    let Some(id) = state.asks.next_up().map(|known| known.ask.id.clone()) else { return };
    show(state, &id, Way::ByItself);
}

/// Whether the person is in the middle of something that a dialog would tear apart.
/// A page that the person opened to read or to choose from is not covered; what fills the screen
/// for long, a transcript or the task graph, is.
fn is_busy(state: &State) -> bool {
    let picking = state.layers.iter().any(|layer| match layer {
        Dialog::Picker(_)
        | Dialog::Find(_)
        | Dialog::Help { .. }
        | Dialog::Sheet(_)
        | Dialog::Queue => true,
        Dialog::Zoom | Dialog::Tasks => false,
    });
    let composing = state.composer.search.is_some() || state.composer.completion.is_some();
    picking || composing || state.ui.prefix || state.asks.stepped_back
}

/// Shows the oldest ask, because the person wants to answer it.
pub fn open_oldest(state: &mut State) {
    let oldest = state.asks.oldest().map(|known| known.ask.id.clone());
    if let Some(id) = oldest {
        open(state, &id);
    }
}

/// Shows this ask, because the person chose it.
pub fn open(state: &mut State, id: &AskId) {
    show(state, id, Way::OnPurpose);
}

/// Shows the selected line of the queue.
pub fn open_selected(state: &mut State) {
    let selected = state.asks.selected().map(|known| known.ask.id.clone());
    if let Some(id) = selected {
        open(state, &id);
    }
}

fn show(state: &mut State, id: &AskId, way: Way) {
    let (now, asks) = (state.now, &mut state.asks);
    let Some(known) = asks.get_mut(id) else { return };
    let mut dialog = AskDialog::new(&known.ask, way, now);
    dialog.note = known.refused.as_ref().map(|why| format!("the answer was not accepted: {why}"));
    asks.dialog = Some(dialog);
    asks.select(id);
}

fn close(state: &mut State) {
    state.asks.dialog = None;
    // An Esc that comes right behind was meant for the dialog, and interrupts nobody.
    state.ui.closed = Some(state.now);
    state.asks.unmark();
}

/// Not now: nothing is answered, and nothing that waits opens by itself again.
pub fn later(state: &mut State) {
    state.asks.put_off_all();
    close(state);
}

/// What was typed was meant for what lies below: text for the composer, and nothing where
/// letters are no text.
fn step_back(state: &mut State, text: &str) {
    close(state);
    state.asks.stepped_back = true;
    if is_over_composer(state) {
        state.composer.draft.editor.insert_str(text);
    }
}

/// Whether letters below the dialog are text; then the composer has them from now on.
fn is_over_composer(state: &mut State) -> bool {
    state.layers.retain(|layer| !matches!(layer, Dialog::Queue));
    let below = state.layers.is_empty();
    if below {
        state.ui.focus = Focus::Composer;
    }
    below
}

/// One key while an ask is shown.
pub fn on_key(state: &mut State, input: AskInput) -> Vec<Effect> {
    let mut effects = weigh(state);
    let Some(dialog) = &state.asks.dialog else { return effects };
    effects.extend(match &dialog.stage {
        Stage::Choices => letters::on_choices(state, input),
        Stage::Scope(_) => pages::on_scope(state, input),
        Stage::Remark | Stage::Instead | Stage::Edit(_) | Stage::Own(_) => {
            pages::on_words(state, input)
        }
        Stage::Gone { .. } => {
            on_gone(state, input);
            Vec::new()
        }
    });
    effects
}

fn on_gone(state: &mut State, input: AskInput) {
    match input.typed {
        Some(typed) => step_back(state, typed.encode_utf8(&mut [0; 4])),
        None => close(state),
    }
}

/// A paste is never an answer.
pub fn on_paste(state: &mut State, text: &str) {
    let Some(dialog) = state.asks.dialog.as_mut() else { return };
    let held = dialog.held.take();
    match dialog.editor_mut() {
        Some(editor) => editor.insert_str(text),
        None => {
            let before: String = held.into_iter().map(|held| held.typed).collect();
            step_back(state, &before);
            state.composer.paste(text);
        }
    }
}

/// The session did not take an answer: the ask is there again, with the reason.
pub fn on_refused(state: &mut State, id: &AskId, why: &str) {
    let Some(known) = state.asks.get_mut(id) else { return };
    known.sent = false;
    known.put_off = false;
    known.refused = Some(one_line(why));
    if state.asks.dialog.is_none() {
        open_by_itself(state);
    }
}

/// Selects whoever asks, or the one on the way to it that has a pane.
fn go_to_asker(state: &mut State, ask: &Ask) {
    later(state);
    let team = state.rotation();
    let Some(nearest) = ask.chain.iter().find(|agent| team.contains(agent)) else { return };
    state.composer.switch(&state.selected, nearest);
    state.selected = nearest.clone();
    state.ui.focus = Focus::Pane;
}

/// What the title of the window and a bell say of the oldest ask.
pub fn oldest_in_words(state: &State) -> Option<String> {
    state.asks.oldest().map(|known| headline(&known.ask))
}
