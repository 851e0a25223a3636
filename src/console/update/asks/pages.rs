//! The other pages of an ask: words to write, the reach of a yes, questions to answer.

use std::sync::Arc;

use serde_json::Value;

use super::letters::{answer_all, answer_this, take};
use super::{AskInput, since, step_back};
use crate::console::keys::Action;
use crate::console::state::State;
use crate::console::state::asks::dialog::{EditBox, EditForm, Held};
use crate::console::state::asks::{AskDialog, Stage, VISIBLE, Way};
use crate::console::state::editor::Editor;
use crate::console::update::{Editing, Effect};
use crate::protocol::ask::{Ask, Question, Verdict, Words};
use crate::protocol::json;
use crate::protocol::time::Stamp;

/// Who begins to write so soon after a dialog opened by itself may not have seen it.
const SURPRISED_MS: i64 = 1_000;

/// The page shows something new: its letters must be seen first.
pub fn new_page(dialog: &mut AskDialog, now: Stamp) {
    dialog.shown_at = now;
    dialog.way = Way::OnPurpose;
    dialog.held = None;
    dialog.scroll = 0;
}

/// The letter that opened this page, if typing just goes on behind it.
fn typed_before(dialog: &AskDialog, now: Stamp) -> Option<char> {
    let (typed, at) = dialog.entered?;
    let unaware = dialog.way == Way::ByItself && since(at, dialog.opened_at) < SURPRISED_MS;
    (unaware && since(now, at) < VISIBLE).then_some(typed)
}

/// One key while words are written.
pub fn on_words(state: &mut State, input: AskInput) -> Vec<Effect> {
    let now = state.now;
    let Some(dialog) = state.asks.dialog.as_mut() else { return Vec::new() };
    let surprised = typed_before(dialog, now);
    match (input.typed, input.action) {
        (Some(typed), _) => {
            if let Some(first) = surprised {
                step_back(state, &format!("{first}{typed}"));
            } else if let Some(editor) = dialog.editor_mut() {
                editor.insert_char(typed);
            }
        }
        (None, Some(Action::Submit | Action::Send | Action::Accept | Action::Take)) => {
            match surprised {
                Some(first) => step_back(state, first.encode_utf8(&mut [0; 4])),
                None => return submit(state),
            }
        }
        (None, Some(Action::Later | Action::Escape)) => dialog.turn_to_choices(),
        (None, Some(Action::ExternalEditor)) => return outside(dialog),
        (None, Some(action)) => {
            if let Some(editor) = dialog.editor_mut() {
                edit(editor, action);
            }
        }
        (None, None) => {}
    }
    Vec::new()
}

/// Has the text written in the person's own editor.
fn outside(dialog: &AskDialog) -> Vec<Effect> {
    let Some(editor) = dialog.editor() else { return Vec::new() };
    let ending = match &dialog.stage {
        Stage::Edit(EditBox { form: EditForm::Command, .. }) => "sh",
        Stage::Edit(EditBox { form: EditForm::Json, .. }) => "json",
        Stage::Edit(EditBox { form: EditForm::Content | EditForm::Replacement, .. }) => "txt",
        Stage::Edit(EditBox { form: EditForm::Plan, .. })
        | Stage::Choices
        | Stage::Remark
        | Stage::Instead
        | Stage::Scope(_)
        | Stage::Own(_)
        | Stage::Gone { .. } => "md",
    };
    vec![Effect::OpenEditor { purpose: Editing::Ask, text: editor.text(), ending }]
}

#[expect(clippy::wildcard_enum_match_arm, reason = "keys of other places")]
fn edit(editor: &mut Editor, action: Action) {
    match action {
        Action::Newline => editor.newline(),
        Action::Backspace => editor.backspace(),
        Action::Delete => editor.delete(),
        Action::DeleteWord => editor.delete_word(),
        Action::DeleteNextWord => editor.delete_next_word(),
        Action::DeleteToStart => editor.delete_to_start(),
        Action::DeleteToEnd => editor.delete_to_end(),
        Action::Left => editor.left(),
        Action::Right => editor.right(),
        Action::Up => editor.up(),
        Action::Down => editor.down(),
        Action::WordLeft => editor.word_left(),
        Action::WordRight => editor.word_right(),
        Action::LineStart => editor.home(),
        Action::LineEnd => editor.end(),
        Action::Undo => editor.undo(),
        Action::Redo => editor.redo(),
        _ => {}
    }
}

fn submit(state: &mut State) -> Vec<Effect> {
    let Some(ask) = state.asks.shown().map(|known| Arc::clone(&known.ask)) else {
        return Vec::new();
    };
    let Some(dialog) = state.asks.dialog.as_mut() else { return Vec::new() };
    let words = |editor: &Editor| {
        let text = editor.text().trim().to_owned();
        (!text.is_empty()).then_some(text)
    };
    match &dialog.stage {
        Stage::Remark => {
            let remark = words(&dialog.remark);
            answer_all(state, &Verdict::Allow { input: None, grant: None, remark })
        }
        Stage::Instead => {
            let why = words(&dialog.instead);
            answer_all(state, &Verdict::Deny { why })
        }
        Stage::Edit(edit) => match edited(&ask, edit) {
            Ok(input) => answer_this(state, Verdict::Allow { input, grant: None, remark: None }),
            Err(wrong) => {
                dialog.note = Some(wrong);
                Vec::new()
            }
        },
        Stage::Own(editor) => {
            let text = editor.text();
            if let Question::Words { questions } = &ask.question
                && let Some(question) = questions.get(dialog.form.page)
            {
                dialog.form.write(question, &text);
                dialog.turn_to_choices();
                if dialog.form.is_answered(dialog.form.page) {
                    return advance(state, questions);
                }
            }
            Vec::new()
        }
        Stage::Choices | Stage::Scope(_) | Stage::Gone { .. } => Vec::new(),
    }
}

/// The input as it was changed; `None` where nothing was.
fn edited(ask: &Ask, edit: &EditBox) -> Result<Option<Value>, String> {
    let text = edit.editor.text();
    if text == edit.was {
        return Ok(None);
    }
    if text.trim().is_empty() {
        return Err("it is empty; to say no, go back and press n".to_owned());
    }
    if edit.form == EditForm::Plan {
        return Ok(Some(serde_json::json!({ "plan": text })));
    }
    if let (Some(field), Question::Tool { input, .. }) = (edit.form.field(), &ask.question) {
        let mut input = input.clone();
        if let Some(value) = input.get_mut(field) {
            *value = Value::String(text);
        }
        return Ok(Some(input));
    }
    match json::from_text::<Value>(&text) {
        Ok(input @ Value::Object(_)) => Ok(Some(input)),
        Ok(_) => Err("the input must be a JSON object: { … }".to_owned()),
        Err(error) => Err(format!("this is not JSON yet: {error}")),
    }
}

/// One key in the menu of reaches.
pub fn on_scope(state: &mut State, input: AskInput) -> Vec<Effect> {
    let now = state.now;
    let Some(dialog) = state.asks.dialog.as_mut() else { return Vec::new() };
    if let Some(typed) = input.typed {
        scope_letter(state, typed, input.action);
        return Vec::new();
    }
    let typing = dialog.held.map(|held| held.typed).or_else(|| typed_before(dialog, now));
    let Stage::Scope(menu) = &mut dialog.stage else { return Vec::new() };
    match input.action {
        Some(Action::Up) => menu.move_reach(-1),
        Some(Action::Down) => menu.move_reach(1),
        Some(Action::Left) => menu.move_term(-1),
        Some(Action::Right) => menu.move_term(1),
        Some(Action::NextField | Action::PreviousField | Action::DenyWithWords) => {
            menu.other_grantee();
        }
        Some(Action::Later | Action::Escape) => dialog.turn_to_choices(),
        Some(Action::Submit | Action::Send | Action::Accept | Action::Take) => {
            if let Some(first) = typing {
                step_back(state, first.encode_utf8(&mut [0; 4]));
                return Vec::new();
            }
            let grant = menu.grant(now);
            return answer_this(state, Verdict::Allow { input: None, grant, remark: None });
        }
        Some(other) => scroll(state, other),
        None => {}
    }
    Vec::new()
}

fn scope_letter(state: &mut State, typed: char, action: Option<Action>) {
    let now = state.now;
    let Some(dialog) = state.asks.dialog.as_mut() else { return };
    if let Some(first) = dialog.held.take() {
        return step_back(state, &format!("{}{typed}", first.typed));
    }
    match (action, typed_before(dialog, now)) {
        (Some(action @ (Action::Take | Action::AllowAlways)), _) => {
            dialog.held = Some(Held { action, typed, at: now, early: false });
        }
        (_, Some(first)) => step_back(state, &format!("{first}{typed}")),
        (_, None) => step_back(state, typed.encode_utf8(&mut [0; 4])),
    }
}

/// Up and down: through a list where there is one, else through the text.
pub fn up_or_down(state: &mut State, ask: &Ask, steps: isize) {
    let Some(dialog) = state.asks.dialog.as_mut() else { return };
    let lines = match &ask.question {
        Question::Words { questions } => {
            questions.get(dialog.form.page).map_or(0, |question| question.options.len())
        }
        Question::Budget { .. } | Question::NoAnswerToShutdown => ask.choices.len(),
        Question::Tool { .. } | Question::Plan { .. } => 0,
    };
    if lines == 0 {
        dialog.scroll_by(steps);
        return;
    }
    let next = match dialog.cursor {
        Some(at) => at.saturating_add_signed(steps).min(lines - 1),
        None if steps < 0 => lines - 1,
        None => 0,
    };
    dialog.cursor = Some(next);
}

/// Through the text of the request.
#[expect(clippy::wildcard_enum_match_arm, reason = "keys of other places")]
pub fn scroll(state: &mut State, action: Action) {
    let page = isize::try_from(state.size.rows / 2).unwrap_or(10).max(2);
    let Some(dialog) = state.asks.dialog.as_mut() else { return };
    match action {
        Action::PageUp => dialog.scroll_by(-page),
        Action::PageDown => dialog.scroll_by(page),
        Action::HalfPageUp => dialog.scroll_by(-page / 2),
        Action::HalfPageDown => dialog.scroll_by(page / 2),
        Action::Top => dialog.scroll = 0,
        Action::Bottom => dialog.scroll = dialog.reach.get(),
        _ => {}
    }
}

/// Opens the page for own words, with what was written there before.
pub fn begin_own(dialog: &mut AskDialog) {
    let before = dialog.form.answer(dialog.form.page).map(|answer| answer.own.clone());
    dialog.stage = Stage::Own(Editor::with_text(&before.unwrap_or_default()));
}

/// Takes or leaves the option under the cursor, where several may be taken.
pub fn toggle(dialog: &mut AskDialog, ask: &Ask) -> bool {
    let Question::Words { questions } = &ask.question else { return false };
    let Some(question) = questions.get(dialog.form.page) else { return false };
    let Some(at) = dialog.cursor.filter(|_| question.multi_select) else { return false };
    dialog.form.take(question, at);
    true
}

/// A numbered option: taken, and on to the next question where only one can hold.
pub fn take_option(state: &mut State, questions: &[Words], at: usize) -> Vec<Effect> {
    let Some(dialog) = state.asks.dialog.as_mut() else { return Vec::new() };
    let Some(question) = questions.get(dialog.form.page) else { return Vec::new() };
    if at >= question.options.len() {
        return Vec::new();
    }
    dialog.cursor = Some(at);
    dialog.form.take(question, at);
    if question.multi_select {
        return Vec::new();
    }
    advance(state, questions)
}

pub fn enter_words(state: &mut State, questions: &[Words]) -> Vec<Effect> {
    let Some(dialog) = state.asks.dialog.as_mut() else { return Vec::new() };
    let page = dialog.form.page;
    match (questions.get(page), dialog.cursor) {
        // On the last page the person has answered everything already.
        (None, _) => send_words(state, questions),
        (Some(question), Some(at)) if !question.multi_select => take(state, at),
        (Some(question), _) if question.multi_select && dialog.form.is_answered(page) => {
            advance(state, questions)
        }
        (Some(_), _) => Vec::new(),
    }
}

/// On to the next question; a single one is sent at once.
fn advance(state: &mut State, questions: &[Words]) -> Vec<Effect> {
    if questions.len() == 1 {
        return send_words(state, questions);
    }
    let now = state.now;
    if let Some(dialog) = state.asks.dialog.as_mut() {
        dialog.form.turn(1);
        dialog.cursor = None;
        new_page(dialog, now);
    }
    Vec::new()
}

/// Sends the answers if every question has one; else shows the first that has none.
pub fn send_words(state: &mut State, questions: &[Words]) -> Vec<Effect> {
    let now = state.now;
    let Some(dialog) = state.asks.dialog.as_mut() else { return Vec::new() };
    if let Some(missing) = dialog.form.missing() {
        dialog.form.page = missing;
        dialog.cursor = None;
        new_page(dialog, now);
        dialog.note = Some("this question has no answer yet".to_owned());
        return Vec::new();
    }
    let answers = dialog.form.answers(questions);
    answer_this(state, Verdict::Answered { answers })
}
