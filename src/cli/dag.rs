//! The task graph in plain text: what must be done first stands above, lines lead down to what
//! waits for it.

use std::collections::HashMap;

use renderdag::{Ancestor, GraphRowRenderer, Renderer};
use unicode_width::UnicodeWidthStr;

use super::printable::one_line;
use crate::protocol::graph::TaskSet;
use crate::protocol::ids::TaskId;
use crate::protocol::task::{Status, Task};

/// Draws all tasks but the bookkeeping ones of other programs.
pub fn draw(tasks: &TaskSet) -> String {
    let shown: Vec<&Task> = tasks
        .in_order()
        .iter()
        .filter_map(|id| tasks.get(id))
        .filter(|task| !task.is_internal())
        .collect();
    let place: HashMap<&TaskId, usize> =
        shown.iter().enumerate().map(|(at, task)| (&task.id, at)).collect();
    let mut rows = GraphRowRenderer::new().output().with_min_row_height(1).build_box_drawing();
    let mut drawn = Vec::new();
    for (at, task) in shown.iter().enumerate() {
        // Lines lead downwards only; what leads back up is a cycle that another program let in.
        let below = tasks.blocked(&task.id).filter(|id| place.get(id).is_some_and(|to| *to > at));
        let below = below.map(|id| Ancestor::Parent(id.clone())).collect();
        let row = rows.next_row(task.id.clone(), below, glyph(task.status), String::new());
        drawn.push((row, label(tasks, task)));
    }
    beside(&drawn)
}

/// A graph that is wider than this has its labels close to each row, not in one column.
const WIDEST: usize = 40;

/// Puts the labels in one column beside the graph. A row may have lines below its first.
fn beside(drawn: &[(String, String)]) -> String {
    let graphs = || drawn.iter().flat_map(|(row, _)| row.lines()).map(str::trim_end);
    let widest = graphs().map(str::width).max().filter(|width| *width <= WIDEST).unwrap_or(0);
    let mut lines = Vec::new();
    for (row, label) in drawn {
        for (at, graph) in row.lines().map(str::trim_end).enumerate() {
            lines.push(match at {
                0 => {
                    format!("{graph}{}  {label}", " ".repeat(widest.saturating_sub(graph.width())))
                }
                _ => graph.to_owned(),
            });
        }
    }
    lines.join("\n")
}

fn glyph(status: Status) -> String {
    match status {
        Status::Pending => "○",
        Status::InProgress => "●",
        Status::Completed => "✔",
        Status::Other => "?",
    }
    .to_owned()
}

fn label(tasks: &TaskSet, task: &Task) -> String {
    let owner = task.owner().map(|owner| format!(" ({})", one_line(owner.as_str())));
    let ready = if tasks.is_ready(task) { " – ready" } else { "" };
    format!("#{} {}{}{ready}", task.id, one_line(&task.subject), owner.unwrap_or_default())
}
