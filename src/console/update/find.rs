//! Searching: a word in one transcript, and words in everything.

use super::Effect;
use crate::console::state::State;
use crate::console::state::dialog::{Dialog, Goal, Hit};
use crate::console::state::editor::Editor;
use crate::console::text::sanitize::one_line;

/// More than these are not shown.
const MOST_HITS: usize = 500;

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
    let wanted = query.to_lowercase();
    let mut hits = Vec::new();
    for agent in state.agents.all() {
        for cell in agent.transcript.cells() {
            let text = cell.text();
            let lines = text.lines().filter(|line| line.to_lowercase().contains(&wanted));
            hits.extend(lines.take(3).map(|line| Hit {
                place: agent.name.clone(),
                line: one_line(line.trim()),
                goes_to: Goal::Agent(agent.id.clone()),
            }));
        }
    }
    for task in state.tasks.shown() {
        let text = format!("{} {}", task.subject, task.description);
        if text.to_lowercase().contains(&wanted) {
            hits.push(Hit {
                place: format!("task #{}", task.id),
                line: one_line(&task.subject),
                goes_to: Goal::Tasks,
            });
        }
    }
    for known in state.asks.open() {
        let line = crate::console::state::asks::gist::gist(&known.ask);
        if line.to_lowercase().contains(&wanted) {
            hits.push(Hit { place: "ask".to_owned(), line, goes_to: Goal::Queue });
        }
    }
    hits.truncate(MOST_HITS);
    hits
}
