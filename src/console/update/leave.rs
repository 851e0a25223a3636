//! Leaving the console: nobody who works is ended without a question.

use super::{Effect, Parting};
use crate::console::state::State;
use crate::console::state::agents::{Agent, Kind};
use crate::console::state::dialog::{Dialog, Entry, Pick, Picker};

/// Leaves at once where nothing is lost by it, and asks where something is.
pub fn leave(state: &mut State) -> Vec<Effect> {
    if state.about.is_over || state.about.is_replay {
        return vec![Effect::Quit(Parting::End)];
    }
    let (working, asking) = (state.working(), state.asks.len());
    if working == 0 && asking == 0 {
        // A team that is not told to end is there again with `-c`.
        let is_left = |agent: &Agent| agent.kind == Kind::Teammate && !agent.evidence.ended;
        let has_team = state.agents.all().any(is_left);
        let parting = if has_team { Parting::Suspend } else { Parting::End };
        return vec![Effect::Quit(parting)];
    }
    let entry = |label: &str, help: &str, pick: Pick| Entry {
        label: label.to_owned(),
        help: help.to_owned(),
        keys: String::new(),
        pick,
    };
    let entries = vec![
        entry("Stay", "nothing changes", Pick::Stay),
        entry(
            "Pause the session",
            "everything stops where it is; `quarterdeck -c` resumes it",
            Pick::Leave(Parting::Suspend),
        ),
        entry(
            "End the session",
            "agents end, and what they started is stopped",
            Pick::Leave(Parting::End),
        ),
    ];
    let title = "Leave?";
    state.layers.push(Dialog::Picker(Picker::question(title, words(working, asking), entries)));
    Vec::new()
}

fn words(working: usize, asking: usize) -> Vec<String> {
    let mut words = Vec::new();
    match working {
        0 => {}
        1 => words.push("One agent is working.".to_owned()),
        many => words.push(format!("{many} agents are working.")),
    }
    match asking {
        0 => {}
        1 => words.push("One ask waits for your answer.".to_owned()),
        many => words.push(format!("{many} asks wait for your answer.")),
    }
    words
}
