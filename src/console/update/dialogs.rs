//! Keys in lists and pages.

use super::everywhere::{self, close_passing};
use super::{Effect, Parting, commands, find};
use crate::console::commands::{COMMANDS, named};
use crate::console::keys::{Action, Context, table};
use crate::console::state::State;
use crate::console::state::dialog::{Dialog, Entry, Page, Pick, Picker, Sheet};
use crate::console::state::ui::Focus;
use crate::console::text::sanitize::one_line;
use crate::console::view::dialog::text_of;
use crate::protocol::event::Level;
use crate::protocol::op::Op;

/// Lines that a page of a sheet goes.
const PAGE: usize = 10;

pub fn act(state: &mut State, action: Action) -> Vec<Effect> {
    match state.layers.last_mut() {
        Some(Dialog::Help { scroll }) => {
            scrolled(scroll, action);
            match action == Action::CopyCell {
                true => copy(state),
                false if action == Action::Escape => everywhere::act(state, action),
                false => Vec::new(),
            }
        }
        Some(Dialog::Sheet(_)) => on_sheet(state, action),
        Some(Dialog::Picker(_)) => on_picker(state, action),
        Some(Dialog::Find(_)) => on_find(state, action),
        Some(Dialog::Zoom | Dialog::Tasks | Dialog::Queue) | None => Vec::new(),
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the rest moves nothing")]
fn scrolled(scroll: &mut usize, action: Action) {
    *scroll = match action {
        Action::Up => scroll.saturating_sub(1),
        Action::Down => scroll.saturating_add(1),
        Action::HalfPageUp | Action::PageUp => scroll.saturating_sub(PAGE),
        Action::HalfPageDown | Action::PageDown => scroll.saturating_add(PAGE),
        Action::Top => 0,
        // The view shows the last page for anything beyond it; see `Msg::Seen`.
        Action::Bottom => usize::MAX / 2,
        _ => *scroll,
    };
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the rest scrolls, or means nothing")]
fn on_sheet(state: &mut State, action: Action) -> Vec<Effect> {
    let Some(Dialog::Sheet(sheet)) = state.layers.last_mut() else { return Vec::new() };
    let hits = match &sheet.page {
        Page::Found { hits, .. } => hits.len(),
        _ => 0,
    };
    match action {
        Action::Escape => return everywhere::act(state, action),
        Action::Up if hits > 0 => sheet.selected = sheet.selected.saturating_sub(1),
        Action::Down if hits > 0 => sheet.selected = (sheet.selected + 1).min(hits - 1),
        Action::Accept => {
            let goal = match &sheet.page {
                Page::Found { hits, query } => {
                    hits.get(sheet.selected).map(|hit| (hit.goes_to.clone(), query.clone()))
                }
                _ => None,
            };
            if let Some((goal, query)) = goal {
                find::go(state, goal, &query);
            }
        }
        Action::CopyCell => return copy(state),
        _ => scrolled(&mut sheet.scroll, action),
    }
    Vec::new()
}

/// What a page says, to the clipboard.
fn copy(state: &State) -> Vec<Effect> {
    state.top().and_then(|page| text_of(page, state)).map(Effect::Copy).into_iter().collect()
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the rest means nothing in a list")]
fn on_picker(state: &mut State, action: Action) -> Vec<Effect> {
    let Some(Dialog::Picker(picker)) = state.layers.last_mut() else { return Vec::new() };
    match action {
        Action::Up => picker.step(-1),
        Action::Down => picker.step(1),
        Action::PageUp => picker.step(-8),
        Action::PageDown => picker.step(8),
        Action::Backspace => {
            let mut filter = picker.filter.clone();
            filter.pop();
            picker.retype(filter);
        }
        Action::Accept => return pick(state),
        Action::Escape => return everywhere::act(state, action),
        _ => {}
    }
    preview(state)
}

/// A theme is worn while it is looked at.
fn preview(state: &State) -> Vec<Effect> {
    let Some(Dialog::Picker(picker)) = state.top() else { return Vec::new() };
    match (picker.before.is_some(), picker.picked().map(|entry| entry.pick)) {
        (true, Some(Pick::Theme(name))) => vec![Effect::Theme(name)],
        _ => Vec::new(),
    }
}

/// Nothing was picked: a theme that was only looked at is taken off again.
pub fn unpicked(state: &mut State, picker: Picker) -> Vec<Effect> {
    match picker.before {
        Some(before) => {
            state.theme.clone_from(&before);
            vec![Effect::Theme(before)]
        }
        None => Vec::new(),
    }
}

fn pick(state: &mut State) -> Vec<Effect> {
    let Some(Dialog::Picker(picker)) = state.layers.last() else { return Vec::new() };
    let Some(entry) = picker.picked() else { return Vec::new() };
    state.layers.pop();
    match entry.pick {
        Pick::Act(action) => return everywhere::act(state, action),
        Pick::Run(line) => match commands::run(state, &line) {
            Ok(effects) => return effects,
            Err(why) => state.say(Level::Error, why),
        },
        Pick::Write(line) => {
            state.layers.clear();
            state.ui.focus = Focus::Composer;
            let draft = state.composer.draft.whole();
            state.composer.history.push(&draft);
            state.composer.set_text(&line);
            return super::complete::refresh(state);
        }
        Pick::Agent(id) => everywhere::visit(state, &id),
        Pick::Theme(name) => {
            state.theme.clone_from(&name);
            return vec![Effect::Theme(name)];
        }
        Pick::Leave(parting) => return vec![Effect::Quit(parting)],
        Pick::Stop(agent) => return vec![Effect::Send(Op::Stop { agent })],
        Pick::Merge(branch) => return vec![Effect::Merge(branch)],
        Pick::Resume(id) => return vec![Effect::Quit(Parting::Resume(id))],
        Pick::Stay => {}
    }
    Vec::new()
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the rest edits, or means nothing")]
fn on_find(state: &mut State, action: Action) -> Vec<Effect> {
    let Some(Dialog::Find(editor)) = state.layers.last_mut() else { return Vec::new() };
    match action {
        Action::Accept => {
            let needle = editor.text();
            state.layers.pop();
            if state.layers.is_empty() {
                state.ui.focus = Focus::Pane;
            }
            find::find(state, &needle)
        }
        Action::Escape => everywhere::act(state, action),
        Action::Backspace => {
            editor.backspace();
            Vec::new()
        }
        _ => Vec::new(),
    }
}

/// A letter in a dialog.
pub fn type_char(state: &mut State, typed: char) -> Vec<Effect> {
    match state.layers.last_mut() {
        Some(Dialog::Picker(picker)) if picker.narrows => {
            let filter = format!("{}{typed}", picker.filter);
            picker.retype(filter);
            preview(state)
        }
        Some(Dialog::Picker(picker)) => {
            let begins =
                |entry: &Entry| entry.label.to_lowercase().starts_with(typed.to_ascii_lowercase());
            // A letter goes to the answer; Enter gives it.
            if let Some(at) = picker.entries.iter().position(begins) {
                picker.selected = at;
            }
            Vec::new()
        }
        Some(Dialog::Find(editor)) => {
            editor.insert_char(typed);
            Vec::new()
        }
        Some(
            Dialog::Help { .. } | Dialog::Sheet(_) | Dialog::Zoom | Dialog::Tasks | Dialog::Queue,
        )
        | None => Vec::new(),
    }
}

/// Everything that can be done, with a search: actions, commands, agents.
pub fn open_palette(state: &mut State) {
    close_passing(state);
    let mut entries: Vec<Entry> = Vec::new();
    for row in table::rows().filter(|row| row.context == Context::Everywhere) {
        let is_move = matches!(row.action, Action::Escape | Action::Prefix | Action::OpenPalette);
        if is_move || row.action.jump().is_some() {
            continue;
        }
        entries.push(Entry {
            label: capitalised(row.help),
            help: String::new(),
            keys: state.keymap.key(row.context, row.action),
            pick: Pick::Act(row.action),
        });
    }
    entries.extend(COMMANDS.iter().map(|command| Entry {
        label: format!("/{} {}", command.name, command.arguments).trim_end().to_owned(),
        help: command.help.to_owned(),
        keys: String::new(),
        // What takes words is written first: nothing is done to an agent that was not named.
        pick: match command.arguments.is_empty() {
            true => Pick::Run(command.name.to_owned()),
            false => Pick::Write(format!("/{} ", command.name)),
        },
    }));
    entries.extend(state.offers.recipes.iter().filter(|recipe| named(&recipe.name).is_none()).map(
        |recipe| Entry {
            label: one_line(&format!("/{} {}", recipe.name, recipe.hint)).trim_end().to_owned(),
            help: one_line(&recipe.description),
            keys: String::new(),
            pick: Pick::Write(format!("/{} ", recipe.name)),
        },
    ));
    entries.extend(agent_entries(state));
    state.layers.push(Dialog::Picker(Picker::new("commands", entries)));
}

/// All agents to go to.
pub fn agent_entries(state: &State) -> Vec<Entry> {
    let team = state.agents.team().enumerate();
    team.map(|(place, agent)| Entry {
        label: format!("Go to {}", agent.name),
        help: state.group(agent).title().to_owned(),
        keys: Action::jump_to(place)
            .map_or(String::new(), |jump| state.keymap.key(Context::Everywhere, jump)),
        pick: Pick::Agent(agent.id.clone()),
    })
    .collect()
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

pub fn open_sheet(state: &mut State, page: Page) {
    close_passing(state);
    state.layers.push(Dialog::Sheet(Sheet::new(page)));
}
