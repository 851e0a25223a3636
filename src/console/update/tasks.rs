//! What keys do to the shared tasks: in the panel, in the full-screen graph and in the dialogs
//! that lie over them. Nothing is changed here: the session is asked to.

// What a key means elsewhere means nothing here.
#![allow(clippy::wildcard_enum_match_arm)]

use super::Effect;
use crate::console::keys::Action;
use crate::console::state::State;
use crate::console::state::tasks::dialog::{Blockers, NewTask, STATUSES, TaskDialog};
use crate::console::state::tasks::{Pan, Tasks};
use crate::protocol::graph::Edge;
use crate::protocol::ids::TaskId;
use crate::protocol::op::{Op, TaskChange};
use crate::protocol::task::Status;

/// How far a key moves the drawing.
const PAN_COLUMNS: i32 = 8;
const PAN_ROWS: i32 = 4;
const FARTHEST: i32 = 4000;
/// How many tasks a page is.
const PAGE: isize = 10;

/// A key in the panel or in the full-screen graph. `None` where it means nothing there.
pub fn on_action(state: &mut State, action: Action) -> Option<Vec<Effect>> {
    let effects = match action {
        Action::Up => moved(&mut state.tasks, -1),
        Action::Down => moved(&mut state.tasks, 1),
        Action::PageUp | Action::HalfPageUp => moved(&mut state.tasks, -PAGE),
        Action::PageDown | Action::HalfPageDown => moved(&mut state.tasks, PAGE),
        Action::Top => moved(&mut state.tasks, isize::MIN),
        Action::Bottom => moved(&mut state.tasks, isize::MAX),
        Action::Left => follow(&mut state.tasks, Way::Before),
        Action::Right => follow(&mut state.tasks, Way::After),
        Action::PanLeft => pan(&mut state.tasks, -PAN_COLUMNS, 0),
        Action::PanRight => pan(&mut state.tasks, PAN_COLUMNS, 0),
        Action::PanUp => pan(&mut state.tasks, 0, -PAN_ROWS),
        Action::PanDown => pan(&mut state.tasks, 0, PAN_ROWS),
        Action::CriticalPath => {
            state.tasks.shows_path = !state.tasks.shows_path;
            Vec::new()
        }
        Action::NewTask => {
            let after = state.tasks.selected().map(|task| task.id.clone());
            open(state, TaskDialog::New(Box::new(NewTask { after, ..NewTask::default() })))
        }
        Action::OpenTask => with_selected(state, |id| TaskDialog::Details { id, scroll: 0 }),
        Action::TaskStatus => status_menu(state),
        Action::TaskBlockers => blockers_menu(state),
        Action::DeleteTask => with_selected(state, |id| TaskDialog::Delete { id }),
        Action::AssignTask => assign(state),
        Action::ReleaseTask => release(state),
        _ => return None,
    };
    Some(effects)
}

fn moved(tasks: &mut Tasks, by: isize) -> Vec<Effect> {
    tasks.step(by);
    Vec::new()
}

enum Way {
    Before,
    After,
}

/// Along an edge: to what the selected task waits for, or to what waits for it.
fn follow(tasks: &mut Tasks, way: Way) -> Vec<Effect> {
    let Some(id) = tasks.selected.clone() else { return Vec::new() };
    let set = tasks.set();
    let next = match way {
        Way::Before => set.blockers(&id).find(|other| set.get(other).is_some()).cloned(),
        Way::After => set.blocked(&id).find(|other| set.get(other).is_some()).cloned(),
    };
    if next.is_some() {
        tasks.select(next);
    }
    Vec::new()
}

fn pan(tasks: &mut Tasks, columns: i32, rows: i32) -> Vec<Effect> {
    let bound = |place: i32| place.clamp(-FARTHEST, FARTHEST);
    let Pan { x, y } = tasks.pan;
    tasks.pan = Pan { x: bound(x + columns), y: bound(y + rows) };
    Vec::new()
}

fn open(state: &mut State, dialog: TaskDialog) -> Vec<Effect> {
    state.tasks.dialog = Some(dialog);
    Vec::new()
}

fn with_selected(state: &mut State, dialog: impl FnOnce(TaskId) -> TaskDialog) -> Vec<Effect> {
    match state.tasks.selected().map(|task| task.id.clone()) {
        Some(id) => open(state, dialog(id)),
        None => none_selected(state),
    }
}

fn none_selected(state: &mut State) -> Vec<Effect> {
    state.info("There are no tasks yet; + adds one.");
    Vec::new()
}

fn status_menu(state: &mut State) -> Vec<Effect> {
    let status = state.tasks.selected().map(|task| task.status);
    let at = STATUSES.iter().position(|(_, known, _)| Some(*known) == status).unwrap_or_default();
    with_selected(state, |id| TaskDialog::Status { id, at })
}

fn blockers_menu(state: &mut State) -> Vec<Effect> {
    let Some(id) = state.tasks.selected().map(|task| task.id.clone()) else {
        return none_selected(state);
    };
    let chosen = state.tasks.set().blockers(&id).cloned().collect();
    open(state, TaskDialog::Blockers(Blockers { id, chosen, at: 0, refused: None }))
}

fn assign(state: &mut State) -> Vec<Effect> {
    let Some(id) = state.tasks.selected().map(|task| task.id.clone()) else {
        return none_selected(state);
    };
    let owner = Some(state.selected.name.clone());
    vec![change(TaskChange::Assign { id, owner })]
}

/// Only what its owner no longer works on: whoever works would be robbed of it.
fn release(state: &mut State) -> Vec<Effect> {
    let Some(task) = state.tasks.selected() else { return none_selected(state) };
    let (id, owner, status) = (task.id.clone(), task.owner().cloned(), task.status);
    let Some(owner) = owner else {
        state.info(format!("Task #{id} has no owner."));
        return Vec::new();
    };
    let claim = state.tasks.selected().and_then(|task| state.claim(task));
    if !claim.is_some_and(|claim| claim.is_stale()) {
        state.info(format!("{owner} still has task #{id}; s gives it to someone else."));
        return Vec::new();
    }
    let mut effects = Vec::new();
    if status == Status::InProgress {
        let status = Status::Pending;
        effects.push(change(TaskChange::Status { id: id.clone(), status }));
    }
    effects.push(change(TaskChange::Assign { id, owner: None }));
    effects
}

fn change(change: TaskChange) -> Effect {
    Effect::Send(Op::Task { change: Box::new(change) })
}

/// A key in a dialog. All of them stay in it.
pub fn on_dialog(state: &mut State, action: Action) -> Vec<Effect> {
    if action == Action::Escape {
        state.tasks.dialog = None;
        return Vec::new();
    }
    let Some(mut dialog) = state.tasks.dialog.take() else { return Vec::new() };
    let outcome = match &mut dialog {
        TaskDialog::Details { scroll, .. } => scrolled(scroll, action),
        TaskDialog::Status { id, at } => status_key(id, at, action),
        TaskDialog::Delete { id } => delete_key(id, action),
        TaskDialog::Blockers(blockers) => blockers_key(blockers, &state.tasks, action),
        TaskDialog::New(new) => new_key(new, action),
    };
    settle(state, dialog, outcome)
}

/// A letter in a dialog.
pub fn on_typed(state: &mut State, letter: char) -> Vec<Effect> {
    let Some(mut dialog) = state.tasks.dialog.take() else { return Vec::new() };
    let outcome = match &mut dialog {
        TaskDialog::Details { .. } => Outcome::Stays,
        TaskDialog::Status { id, .. } => {
            let known = STATUSES.iter().find(|(key, ..)| *key == letter);
            known.map_or(Outcome::Stays, |(_, status, _)| {
                Outcome::Done(TaskChange::Status { id: id.clone(), status: *status })
            })
        }
        TaskDialog::Delete { id } => match letter {
            'y' => Outcome::Done(TaskChange::Delete { id: id.clone() }),
            'n' => Outcome::Closes,
            _ => Outcome::Stays,
        },
        TaskDialog::Blockers(blockers) => {
            if letter == ' ' {
                toggle(blockers, &state.tasks);
            }
            Outcome::Stays
        }
        TaskDialog::New(new) => {
            new.field().insert_char(letter);
            Outcome::Stays
        }
    };
    settle(state, dialog, outcome)
}

/// Pasted words in a dialog. A subject is one line.
pub fn on_paste(state: &mut State, text: &str) -> Vec<Effect> {
    if let Some(TaskDialog::New(new)) = &mut state.tasks.dialog {
        match new.in_description {
            true => new.description.insert_str(text),
            false => new.subject.insert_str(&text.split_whitespace().collect::<Vec<_>>().join(" ")),
        }
    }
    Vec::new()
}

enum Outcome {
    Stays,
    Closes,
    Done(TaskChange),
}

fn settle(state: &mut State, dialog: TaskDialog, outcome: Outcome) -> Vec<Effect> {
    match outcome {
        Outcome::Stays => {
            state.tasks.dialog = Some(dialog);
            Vec::new()
        }
        Outcome::Closes => Vec::new(),
        Outcome::Done(wish) => vec![change(wish)],
    }
}

fn scrolled(scroll: &mut usize, action: Action) -> Outcome {
    *scroll = match action {
        Action::Up => scroll.saturating_sub(1),
        Action::Down => *scroll + 1,
        Action::HalfPageUp | Action::PageUp => scroll.saturating_sub(10),
        Action::HalfPageDown | Action::PageDown => *scroll + 10,
        Action::Top => 0,
        Action::Accept => return Outcome::Closes,
        _ => *scroll,
    };
    Outcome::Stays
}

fn status_key(id: &TaskId, at: &mut usize, action: Action) -> Outcome {
    match action {
        Action::Up => *at = at.saturating_sub(1),
        Action::Down => *at = (*at + 1).min(STATUSES.len() - 1),
        Action::Accept => {
            let status = STATUSES.get(*at).map_or(Status::Pending, |(_, status, _)| *status);
            return Outcome::Done(TaskChange::Status { id: id.clone(), status });
        }
        _ => {}
    }
    Outcome::Stays
}

/// Enter alone deletes nothing.
fn delete_key(_id: &TaskId, action: Action) -> Outcome {
    match action {
        Action::Accept => Outcome::Closes,
        _ => Outcome::Stays,
    }
}

/// The tasks that another may wait for, in the order of the list.
pub fn offered(tasks: &Tasks, id: &TaskId) -> Vec<TaskId> {
    tasks.order().into_iter().filter(|other| other != id).collect()
}

fn blockers_key(blockers: &mut Blockers, tasks: &Tasks, action: Action) -> Outcome {
    let many = offered(tasks, &blockers.id).len();
    match action {
        Action::Up => blockers.at = blockers.at.saturating_sub(1),
        Action::Down => blockers.at = (blockers.at + 1).min(many.saturating_sub(1)),
        Action::Accept => {
            return Outcome::Done(TaskChange::BlockedBy {
                id: blockers.id.clone(),
                blockers: blockers.chosen.iter().cloned().collect(),
            });
        }
        _ => {}
    }
    Outcome::Stays
}

/// Chooses a task or takes it back. What would be a cycle is refused, and named.
fn toggle(blockers: &mut Blockers, tasks: &Tasks) {
    blockers.refused = None;
    let Some(other) = offered(tasks, &blockers.id).into_iter().nth(blockers.at) else { return };
    if blockers.chosen.remove(&other) {
        return;
    }
    let edge = Edge { blocker: other.clone(), waiting: blockers.id.clone() };
    match tasks.set().check(&[edge]) {
        Ok(()) => {
            blockers.chosen.insert(other);
        }
        Err(error) => blockers.refused = Some(error.to_string()),
    }
}

fn new_key(new: &mut NewTask, action: Action) -> Outcome {
    match action {
        Action::Up => new.in_description = false,
        Action::Down => new.in_description = true,
        Action::NextField | Action::PreviousField | Action::NextPanel => {
            new.in_description = !new.in_description;
        }
        Action::Newline if new.in_description => new.description.newline(),
        Action::TaskBlockers => new.waits = !new.waits && new.after.is_some(),
        Action::Accept => return made(new),
        _ => edit(new, action),
    }
    Outcome::Stays
}

fn edit(new: &mut NewTask, action: Action) {
    let field = new.field();
    match action {
        Action::Left => field.left(),
        Action::Right => field.right(),
        Action::WordLeft => field.word_left(),
        Action::WordRight => field.word_right(),
        Action::LineStart => field.home(),
        Action::LineEnd => field.end(),
        Action::Backspace => field.backspace(),
        Action::Delete => field.delete(),
        Action::DeleteWord => field.delete_word(),
        Action::DeleteNextWord => field.delete_next_word(),
        Action::DeleteToStart => field.delete_to_start(),
        Action::DeleteToEnd => field.delete_to_end(),
        Action::Undo => field.undo(),
        Action::Redo => field.redo(),
        _ => {}
    }
}

fn made(new: &NewTask) -> Outcome {
    let subject = new.subject.text().trim().to_owned();
    if subject.is_empty() {
        return Outcome::Stays;
    }
    let blocked_by = new.after.clone().filter(|_| new.waits).into_iter().collect();
    let description = new.description.text();
    Outcome::Done(TaskChange::Create { subject, description, blocked_by })
}
