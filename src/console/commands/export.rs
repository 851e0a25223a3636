//! A session as Markdown: every agent with what it heard, said and did, then the tasks.

use crate::console::state::State;
use crate::console::state::agents::Agent;
use crate::console::state::cell::{Cell, Kind};
use crate::console::text::sanitize::printable;

pub fn markdown(state: &State) -> String {
    let name = state.about.team.as_deref().unwrap_or("session");
    let mut out =
        format!("# {name}\n\nSession {} in {}.\n", state.about.session, state.about.project);
    for agent in state.agents.all() {
        write_agent(&mut out, state, agent);
    }
    if !state.tasks.is_empty() {
        out.push_str("\n## Tasks\n\n");
        for task in state.tasks.shown() {
            let mark = if task.is_open() { ' ' } else { 'x' };
            let owner = task.owner().map_or(String::new(), |owner| format!(" ({owner})"));
            out.push_str(&format!("- [{mark}] #{} {}{owner}\n", task.id, task.subject));
        }
    }
    // Whoever prints the file has a terminal, too.
    printable(&out).into_owned()
}

fn write_agent(out: &mut String, state: &State, agent: &Agent) {
    let about = agent.about.as_ref();
    let model = about.map_or("", |about| about.model.as_str());
    out.push_str(&format!("\n## {}\n\n{} · {model}\n", agent.name, state.group(agent).title()));
    for cell in agent.transcript.cells() {
        let text = cell.text();
        if !text.trim().is_empty() {
            write_cell(out, cell, &text);
        }
    }
}

fn write_cell(out: &mut String, cell: &Cell, text: &str) {
    match &cell.kind {
        Kind::Said { .. } | Kind::Plan { .. } => out.push_str(&format!("\n{text}\n")),
        Kind::Prompt { from, .. } | Kind::Queued { from, .. } => {
            out.push_str(&format!("\n**{from}:**\n\n{}\n", quoted(text)));
        }
        Kind::Mail { .. } | Kind::Sent { .. } => out.push_str(&format!("\n{}\n", quoted(text))),
        Kind::Call(_) => out.push_str(&format!("\n{}\n", fenced(text))),
        Kind::Thought { .. }
        | Kind::Decision { .. }
        | Kind::Notice { .. }
        | Kind::Member { .. }
        | Kind::Retry { .. }
        | Kind::Compacted { .. }
        | Kind::Finished { .. }
        | Kind::TurnEnd { .. }
        | Kind::Gap { .. } => out.push_str(&format!("\n*{}*\n", text.trim().replace('\n', " "))),
        Kind::Idle { .. } | Kind::Void => {}
    }
}

fn quoted(text: &str) -> String {
    text.lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n")
}

/// In a fence that is longer than any in the text.
fn fenced(text: &str) -> String {
    let longest = text.lines().map(|line| line.chars().take_while(|c| *c == '`').count()).max();
    let fence = "`".repeat(longest.unwrap_or(0).max(2) + 1);
    format!("{fence}\n{text}\n{fence}")
}
