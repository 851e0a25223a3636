//! Searching: a word in one transcript, and words in everything.

use super::{Effect, asks, everywhere, reach};
use crate::console::state::State;
use crate::console::state::asks::gist::{asker, whole_text};
use crate::console::state::dialog::{Dialog, Goal, Hit};
use crate::console::state::editor::Editor;
use crate::console::state::transcript::Search;
use crate::console::text::sanitize::one_line;

/// More than these are not shown.
const MOST_HITS: usize = 500;
/// Nor more than these of one cell.
const MOST_IN_ONE: usize = 3;

pub fn open(state: &mut State) {
    let agent = state.selected_agent();
    let last = agent.and_then(|agent| agent.scroll.search.as_ref());
    let before = last.map_or(String::new(), |search| search.needle.clone());
    state.layers.push(Dialog::Find(Box::new(Editor::with_text(&before))));
}

/// Searches the selected transcript.
pub fn find(state: &mut State, needle: &str) -> Vec<Effect> {
    let selected = state.selected.clone();
    let Some(agent) = state.agents.get_mut(&selected) else { return Vec::new() };
    let found = agent.scroll.search(needle, &mut agent.transcript);
    if !found && !needle.is_empty() {
        state.info(format!("`{needle}` is not in this transcript."));
    }
    Vec::new()
}

/// Every place that holds these words: transcripts with their mail, tasks, asks.
pub fn everywhere(state: &State, query: &str) -> Vec<Hit> {
    let Some(pattern) = Search::of(query).pattern() else { return Vec::new() };
    let holds = |line: &&str| pattern.is_match(line);
    let hit =
        |place: String, line: &str, goes_to| Hit { place, line: one_line(line.trim()), goes_to };
    let mut hits = Vec::new();
    for agent in state.agents.all() {
        for cell in agent.transcript.cells().filter(|cell| cell.is_seen()) {
            let text = cell.text();
            let lines = text.lines().filter(holds).enumerate().take(MOST_IN_ONE);
            hits.extend(lines.map(|(nth, line)| {
                let goal = Goal::Cell { agent: agent.id.clone(), cell: cell.id, nth };
                hit(agent.name.clone(), line, goal)
            }));
        }
    }
    for task in state.tasks.shown() {
        let text = format!("{}\n{}", task.subject, task.description);
        let line = text.lines().find(holds);
        let place = format!("task #{}", task.id);
        hits.extend(line.map(|line| hit(place, line, Goal::Task(task.id.clone()))));
    }
    for known in state.asks.open() {
        let text = whole_text(&known.ask);
        let line = text.lines().find(holds);
        let place = format!("ask of {}", asker(&known.ask));
        hits.extend(line.map(|line| hit(place, line, Goal::Ask(known.ask.id.clone()))));
    }
    hits.truncate(MOST_HITS);
    hits
}

/// Goes to what was found, and to the very place in it.
pub fn go(state: &mut State, goal: Goal, query: &str) {
    everywhere::close_passing(state);
    match goal {
        Goal::Cell { agent: id, cell, nth } => {
            reach::select(state, &id);
            if !state.is_zoomed() {
                state.layers.push(Dialog::Zoom);
            }
            if let Some(agent) = state.agents.get_mut(&id) {
                agent.scroll.go_to_find(query, cell, nth, &mut agent.transcript);
            }
        }
        Goal::Task(id) => {
            state.tasks.select(Some(id));
            state.layers.push(Dialog::Tasks);
        }
        Goal::Ask(id) => asks::open(state, &id),
    }
}
