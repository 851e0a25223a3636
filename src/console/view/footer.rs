//! The last line: the keys that work now, from the one table.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::theme::Theme;
use crate::console::keys::{Action, Chord, Context, Row};
use crate::console::state::State;
use crate::console::state::asks::Stage as AskStage;
use crate::console::state::ui::{Armed, Focus};
use crate::console::text::width::width;
use crate::console::update::asks::offers;

pub fn draw_footer(area: Rect, buf: &mut Buffer, state: &State, theme: &Theme) {
    buf.set_style(area, theme.bar);
    let mut x = area.x + 1;
    if let Some(words) = warning(state) {
        let line = Line::styled(words, theme.attention);
        let wide = u16::try_from(line.width()).unwrap_or(u16::MAX);
        buf.set_line(x, area.y, &line, area.right().saturating_sub(x));
        x = x.saturating_add(wide).saturating_add(2);
    }
    let between = format!(" {} ", theme.glyphs.dot);
    let hints = hints(state, theme);
    for (at, (keys, words)) in hints.iter().enumerate() {
        let gap = if at == 0 { "" } else { between.as_str() };
        let needed = width(gap) + width(keys) + 1 + width(words);
        if usize::from(x) + needed > usize::from(area.right()) {
            break;
        }
        let line = Line::from(vec![
            Span::styled(gap.to_owned(), theme.faint),
            Span::styled(keys.clone(), theme.key),
            Span::styled(format!(" {words}"), theme.faint),
        ]);
        buf.set_line(x, area.y, &line, area.right().saturating_sub(x));
        x += u16::try_from(needed).unwrap_or(u16::MAX);
    }
}

/// What the next press would do that is not done lightly.
fn warning(state: &State) -> Option<String> {
    let key = |context: Context, action: Action| {
        let keys = state.keymap.keys(context, action);
        keys.first().map(Chord::shown).unwrap_or_default()
    };
    match state.ui.armed.as_ref().map(|(armed, _)| armed) {
        Some(Armed::Quit) => {
            Some(format!("{} again quits", key(Context::Everywhere, Action::ClearOrQuit)))
        }
        Some(Armed::Stop(id)) => {
            let name = state.agents.get(id).map_or("the agent", |agent| agent.name.as_str());
            Some(format!("{} again stops {name}", key(Context::Pane, Action::StopAgent)))
        }
        None => None,
    }
}

/// Keys and words of the rows that the footer shows, the innermost surface first.
fn hints(state: &State, theme: &Theme) -> Vec<(String, String)> {
    let stack: Vec<Context> = match state.asks.contexts() {
        Some(contexts) => contexts.to_vec(),
        None => match &state.tasks.dialog {
            Some(dialog) => dialog.contexts().to_vec(),
            None => state.contexts(),
        },
    };
    // What is settled is only closed.
    let is_gone = matches!(
        state.asks.dialog.as_ref().map(|dialog| &dialog.stage),
        Some(AskStage::Gone { .. })
    );
    let mut hints = Vec::new();
    if let Some(hint) = interrupt(state) {
        hints.push(hint);
    }
    for context in &stack {
        for (row, keys) in state.keymap.rows(*context).filter(|(row, _)| !row.footer.is_empty()) {
            let is_hidden = stack.iter().take_while(|inner| *inner != context).any(|inner| {
                keys.first().is_some_and(|key| state.keymap.resolve(&[*inner], *key).is_some())
            });
            if !is_hidden && is_useful(state, row) && (!is_gone || row.action == Action::Later) {
                hints.push((key_words(row, keys, theme), row.footer.to_owned()));
            }
        }
    }
    hints
}

/// Whom Esc would interrupt.
fn interrupt(state: &State) -> Option<(String, String)> {
    let is_free = state.asks.dialog.is_none()
        && state.layers.is_empty()
        && state.ui.focus == Focus::Composer
        && state.composer.draft.is_empty()
        && state.composer.search.is_none();
    let agent = state.selected_agent().filter(|agent| is_free && agent.is_busy())?;
    let key = *state.keymap.keys(Context::Everywhere, Action::Escape).first()?;
    Some((key.shown(), format!("interrupt {}", agent.name)))
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the rest is always of use")]
fn is_useful(state: &State, row: &Row) -> bool {
    match row.action {
        Action::AnswerOldest => !state.asks.is_empty(),
        // Who writes, and who has not begun yet, is told how it goes on.
        Action::Send => {
            let begun =
                state.agents.get(&state.selected).is_some_and(|one| !one.transcript.is_empty());
            !begun || !state.composer.draft.is_empty() || state.offered().is_some()
        }
        Action::SearchNext | Action::SearchPrevious => {
            let scroll = state.selected_agent().map(|agent| &agent.scroll);
            scroll.and_then(|scroll| scroll.search.as_ref()).is_some_and(|one| one.place.1 > 1)
        }
        Action::NextAgent => state.has_team(),
        Action::ShowTasks => !state.tasks.is_empty() || state.has_team(),
        Action::AllowOnce
        | Action::AllowWithRemark
        | Action::AllowAlways
        | Action::EditInput
        | Action::MarkAlike => {
            let shown = state.asks.dialog.as_ref().zip(state.asks.shown());
            shown.is_none_or(|(dialog, known)| offers(dialog, &known.ask, row.action))
        }
        Action::StopAgent => state.selected_agent().is_some_and(|agent| !agent.evidence.ended),
        _ => true,
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the rest shows its own key")]
fn key_words(row: &Row, keys: &[Chord], theme: &Theme) -> String {
    match row.action {
        Action::NextAgent
            if !theme.glyphs.is_ascii() && keys.first().is_some_and(|key| key.shift) =>
        {
            "⇧↑↓".to_owned()
        }
        _ => keys.first().map(|key| short_key(key, theme)).unwrap_or_default(),
    }
}

/// A key where room is short, in the signs of the theme.
pub fn short_key(chord: &Chord, theme: &Theme) -> String {
    match theme.glyphs.is_ascii() {
        true => chord
            .shown()
            .replace('↑', "Up")
            .replace('↓', "Down")
            .replace('←', "Left")
            .replace('→', "Right"),
        false => chord.brief(),
    }
}

/// The first key of an action where room is short; nothing where it has none.
pub fn key_of(state: &State, context: Context, action: Action, theme: &Theme) -> String {
    let keys = state.keymap.keys(context, action);
    keys.first().map(|key| short_key(key, theme)).unwrap_or_default()
}
