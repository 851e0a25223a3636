//! The page that shows what is asked: letters are weighed, then answer.

use std::sync::Arc;

use super::{AskInput, close, go_to_asker, later, pages, step_back};
use crate::console::keys::Action;
use crate::console::state::State;
use crate::console::state::asks::dialog::{EditBox, Held, editable};
use crate::console::state::asks::scope::ScopeMenu;
use crate::console::state::asks::{AskDialog, Stage, Way};
use crate::console::state::editor::Editor;
use crate::console::update::Effect;
use crate::protocol::ask::{Ask, Question, Verdict};
use crate::protocol::op::Op;

/// One key on the page of choices.
pub fn on_choices(state: &mut State, input: AskInput) -> Vec<Effect> {
    match (input.typed, input.action) {
        (Some(typed), action) => {
            letter(state, typed, action);
            Vec::new()
        }
        (None, Some(action)) => other_key(state, action),
        (None, None) => Vec::new(),
    }
}

/// Holds a letter that may be an answer; everything else that is typed goes to the composer.
fn letter(state: &mut State, typed: char, action: Option<Action>) {
    let now = state.now;
    let Some(ask) = state.asks.shown().map(|known| Arc::clone(&known.ask)) else { return };
    let Some(dialog) = state.asks.dialog.as_mut() else { return };
    if let Some(first) = dialog.held.take() {
        return step_back(state, &format!("{}{typed}", first.typed));
    }
    // A mark on a list of options is no answer yet, and the person went to that list.
    if typed == ' ' && dialog.cursor.is_some() && pages::toggle(dialog, &ask) {
        return;
    }
    let early = !dialog.is_seen(now);
    match meaning(dialog, &ask, action, typed) {
        Some(action) if !early || dialog.way == Way::OnPurpose => {
            dialog.held = Some(Held { action, typed, at: now, early });
        }
        Some(_) | None => step_back(state, typed.encode_utf8(&mut [0; 4])),
    }
}

/// What a letter means for this request; nothing where the request does not offer it.
fn meaning(dialog: &AskDialog, ask: &Ask, action: Option<Action>, typed: char) -> Option<Action> {
    if let Some(number) = typed.to_digit(10).and_then(|digit| usize::try_from(digit).ok())
        && (1..=listed(dialog, ask)).contains(&number)
    {
        return Some(Action::Take);
    }
    action.filter(|action| offers(dialog, ask, *action))
}

/// How many lines of the page have a number.
fn listed(dialog: &AskDialog, ask: &Ask) -> usize {
    match &ask.question {
        Question::Words { questions } => {
            questions.get(dialog.form.page).map_or(0, |question| question.options.len().min(9))
        }
        Question::Budget { .. } | Question::NoAnswerToShutdown => ask.choices.len().min(9),
        Question::Tool { .. } | Question::Plan { .. } => 0,
    }
}

/// Whether this request offers that choice on this page.
#[expect(clippy::wildcard_enum_match_arm, reason = "keys of other places")]
pub fn offers(dialog: &AskDialog, ask: &Ask, action: Action) -> bool {
    let is_words = matches!(ask.question, Question::Words { .. });
    let is_listed = listed(dialog, ask) > 0;
    match action {
        Action::GoToAsker | Action::FullView | Action::Deny | Action::DenyWithWords => true,
        Action::AllowOnce if is_words => dialog.form.is_review(),
        Action::AllowOnce => !is_listed || plain_yes(ask).is_some(),
        Action::AllowWithRemark if is_words => !dialog.form.is_review(),
        Action::AllowWithRemark => !is_listed,
        Action::EditInput => editable(ask).is_some(),
        Action::AllowAlways | Action::MarkAlike => matches!(ask.question, Question::Tool { .. }),
        _ => false,
    }
}

/// The choice of a list that is a plain yes.
fn plain_yes(ask: &Ask) -> Option<&Verdict> {
    let verdicts = ask.choices.iter().filter_map(|choice| choice.verdict.as_ref());
    verdicts.into_iter().find(|verdict| matches!(verdict, Verdict::Allow { .. }))
}

/// Keys that type nothing.
#[expect(clippy::wildcard_enum_match_arm, reason = "keys of other places")]
fn other_key(state: &mut State, action: Action) -> Vec<Effect> {
    let Some(ask) = state.asks.shown().map(|known| Arc::clone(&known.ask)) else {
        close(state);
        return Vec::new();
    };
    match action {
        Action::Later | Action::Escape => later(state),
        Action::DenyWithWords => {
            if let Some(dialog) = state.asks.dialog.as_mut() {
                dialog.turn_to_choices();
                dialog.stage = Stage::Instead;
            }
        }
        Action::Submit | Action::Take | Action::Send | Action::Accept => return enter(state, &ask),
        // Whoever corrects what they typed was typing.
        Action::Backspace => {
            if let Some(dialog) = state.asks.dialog.as_mut() {
                dialog.held = None;
            }
        }
        Action::Left => turn(state, &ask, -1),
        Action::Right => turn(state, &ask, 1),
        Action::Up => pages::up_or_down(state, &ask, -1),
        Action::Down => pages::up_or_down(state, &ask, 1),
        other => pages::scroll(state, other),
    }
    Vec::new()
}

/// Enter takes the line that the person went to, and nothing else: it may have been meant for
/// the composer.
fn enter(state: &mut State, ask: &Ask) -> Vec<Effect> {
    let now = state.now;
    let Some(dialog) = state.asks.dialog.as_mut() else { return Vec::new() };
    if let Some(held) = dialog.held.take() {
        step_back(state, held.typed.encode_utf8(&mut [0; 4]));
        return Vec::new();
    }
    if !dialog.is_seen(now) {
        return Vec::new();
    }
    match &ask.question {
        Question::Words { questions } => pages::enter_words(state, questions),
        Question::Budget { .. } | Question::NoAnswerToShutdown => match dialog.cursor {
            Some(at) => take(state, at),
            None => Vec::new(),
        },
        Question::Tool { .. } | Question::Plan { .. } => Vec::new(),
    }
}

/// To the question or the ask beside this one.
fn turn(state: &mut State, ask: &Ask, steps: isize) {
    let Some(dialog) = state.asks.dialog.as_mut() else { return };
    match &ask.question {
        Question::Words { questions } if questions.len() > 1 => {
            dialog.form.turn(steps);
            pages::new_page(dialog, state.now);
        }
        Question::Words { .. }
        | Question::Tool { .. }
        | Question::Plan { .. }
        | Question::Budget { .. }
        | Question::NoAnswerToShutdown => {
            let Some(next) = state.asks.beside(&ask.id, steps) else { return };
            if next != ask.id {
                super::close(state);
                super::open(state, &next);
            }
        }
    }
}

/// Does what a letter means.
#[expect(clippy::wildcard_enum_match_arm, reason = "keys of other places")]
pub fn act(state: &mut State, held: Held) -> Vec<Effect> {
    let Some(ask) = state.asks.shown().map(|known| Arc::clone(&known.ask)) else {
        return Vec::new();
    };
    let Some(dialog) = state.asks.dialog.as_mut() else { return Vec::new() };
    if let Stage::Scope(menu) = &dialog.stage {
        let grant = menu.grant(state.now);
        return answer_this(state, Verdict::Allow { input: None, grant, remark: None });
    }
    dialog.entered = Some((held.typed, state.now));
    match held.action {
        Action::Take => {
            let number = held.typed.to_digit(10).and_then(|digit| usize::try_from(digit).ok());
            return number
                .and_then(|at| at.checked_sub(1))
                .map_or_else(Vec::new, |at| take(state, at));
        }
        Action::AllowOnce => return yes(state, &ask),
        Action::Deny => return answer_all(state, &Verdict::Deny { why: None }),
        Action::AllowWithRemark if matches!(ask.question, Question::Words { .. }) => {
            pages::begin_own(dialog);
        }
        Action::AllowWithRemark => dialog.stage = Stage::Remark,
        Action::AllowAlways => match ScopeMenu::of(&ask) {
            Some(menu) => dialog.stage = Stage::Scope(menu),
            None => {
                dialog.note = Some("no rule can cover this: you are asked each time".to_owned())
            }
        },
        Action::EditInput => begin_edit(dialog, &ask),
        Action::MarkAlike => mark(state, &ask),
        Action::GoToAsker => go_to_asker(state, &ask),
        Action::FullView => dialog.full = !dialog.full,
        _ => {}
    }
    Vec::new()
}

fn begin_edit(dialog: &mut AskDialog, ask: &Ask) {
    let Some((text, form)) = editable(ask) else { return };
    let editor = Editor::with_text(&text);
    let was = editor.text();
    dialog.note = (was != text).then(|| {
        "some characters cannot be edited here; left unchanged, it runs as asked".to_owned()
    });
    dialog.stage = Stage::Edit(EditBox { editor, was, form });
}

fn mark(state: &mut State, ask: &Ask) {
    let was_marked = state.asks.get(&ask.id).is_some_and(|known| known.marked);
    let many = if was_marked {
        state.asks.unmark();
        0
    } else {
        state.asks.mark_alike(&ask.id)
    };
    if many == 1 {
        state.asks.unmark();
    }
    let now = state.now;
    let Some(dialog) = state.asks.dialog.as_mut() else { return };
    dialog.note = (many == 1).then(|| "nothing else in the queue is like it".to_owned());
    // What a letter answers is another thing now: it must be seen first.
    pages::new_page(dialog, now);
}

fn yes(state: &mut State, ask: &Ask) -> Vec<Effect> {
    match &ask.question {
        Question::Words { questions } => pages::send_words(state, questions),
        Question::Budget { .. } | Question::NoAnswerToShutdown => {
            let verdict = plain_yes(ask).cloned();
            let plain = Verdict::Allow { input: None, grant: None, remark: None };
            answer_this(state, verdict.unwrap_or(plain))
        }
        Question::Tool { .. } | Question::Plan { .. } => {
            answer_all(state, &Verdict::Allow { input: None, grant: None, remark: None })
        }
    }
}

/// Takes a numbered line.
pub fn take(state: &mut State, at: usize) -> Vec<Effect> {
    let Some(ask) = state.asks.shown().map(|known| Arc::clone(&known.ask)) else {
        return Vec::new();
    };
    match &ask.question {
        Question::Words { questions } => pages::take_option(state, questions, at),
        Question::Budget { .. }
        | Question::NoAnswerToShutdown
        | Question::Tool { .. }
        | Question::Plan { .. } => match ask.choices.get(at) {
            Some(choice) => {
                let chose = Verdict::Chose { choice: at, text: None };
                answer_this(state, choice.verdict.clone().unwrap_or(chose))
            }
            None => Vec::new(),
        },
    }
}

/// Answers the shown ask alone, whatever is marked.
pub fn answer_this(state: &mut State, verdict: Verdict) -> Vec<Effect> {
    state.asks.unmark();
    answer_all(state, &verdict)
}

/// Answers the shown ask, and all that are marked with it; then shows the next.
pub fn answer_all(state: &mut State, verdict: &Verdict) -> Vec<Effect> {
    let Some(dialog) = &state.asks.dialog else { return Vec::new() };
    let together = state.asks.together_with(&dialog.ask);
    let mut effects = Vec::new();
    for ask in together {
        if let Some(known) = state.asks.get_mut(&ask.id) {
            (known.sent, known.refused) = (true, None);
        }
        let (id, rev, verdict) = (ask.id.clone(), ask.rev, verdict.clone());
        effects.push(Effect::Send(Op::Answer { ask: id, rev, verdict }));
    }
    close(state);
    let next = state.asks.next_up().map(|known| known.ask.id.clone());
    if let Some(next) = next {
        super::open(state, &next);
    }
    effects
}
