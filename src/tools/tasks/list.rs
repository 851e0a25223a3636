//! TaskList: the list, a line for each task.

use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{one_line, with_list};
use crate::permission::Access;
use crate::protocol::graph::TaskSet;
use crate::protocol::task::Task;
use crate::tools::{Bad, Call, Needs, Output, Spec, Tool, ToolContext, parse};

const NAME: &str = "TaskList";

/// So many lines are shown; what is done is left out first.
const LONGEST_LIST: usize = 200;
/// So many characters of a subject.
const LONGEST_SUBJECT: usize = 200;

const DESCRIPTION: &str = "\
Shows the shared list of tasks, a line for each: number, status, subject, owner, and which unfinished \
tasks it waits for. Call it to see what is left, to find your next task, and after you have finished \
one, since that may have set others free. A task is free when it is pending, has no owner and waits \
for nothing; of several, take the one with the lowest number.";

#[derive(Debug, Deserialize, JsonSchema)]
struct Input {}

#[derive(Debug)]
pub struct TaskListTool {
    spec: Spec,
}

impl TaskListTool {
    pub fn new() -> Self {
        Self { spec: Spec::of::<Input>(NAME, DESCRIPTION, Needs::Nothing, true) }
    }
}

impl Default for TaskListTool {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for TaskListTool {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn access(&self, _: &ToolContext, input: &Value) -> Result<Vec<Access>, Bad> {
        parse::<Input>(NAME, input).map(|Input {}| vec![Access::Free])
    }

    fn summary(&self, _: &Value) -> String {
        "all tasks".to_owned()
    }

    fn run<'a>(&'a self, cx: &'a ToolContext, _: &'a Call, _: Value) -> BoxFuture<'a, Output> {
        list(cx).map(|outcome| outcome.unwrap_or_else(|refused| refused)).boxed()
    }
}

/// The list as it is shown.
struct Shown {
    lines: Vec<String>,
    tasks: Vec<Value>,
    done: usize,
    unreadable: usize,
    /// How many there are, and how many of them are left out.
    all: usize,
    left_out: usize,
}

async fn list(cx: &ToolContext) -> Result<Output, Output> {
    let shown = with_list(cx, |here| {
        let list = here.store.tasks(&here.list);
        let mut shown = list.look(show)?;
        shown.unreadable = list.problems().len();
        Ok(shown)
    });
    let mut shown = shown.await?;
    let summary = format!("{} tasks, {} done", shown.all, shown.done);
    if shown.all == 0 {
        shown.lines.push("No tasks found".to_owned());
    }
    if shown.left_out > 0 {
        shown.lines.push(format!("({} more are not shown, the completed first)", shown.left_out));
    }
    if shown.unreadable > 0 {
        shown.lines.push(format!("({} task files cannot be read)", shown.unreadable));
    }
    let data = json!({ "tasks": shown.tasks });
    Ok(Output::text(shown.lines.join("\n")).with_summary(summary).with_data(data))
}

fn show(tasks: &TaskSet) -> Shown {
    let all: Vec<&Task> = tasks.iter().filter(|task| !task.is_internal()).collect();
    let done = all.iter().filter(|task| !task.is_open()).count();
    let mut left_out = all.len().saturating_sub(LONGEST_LIST);
    let mut hidden = left_out;
    let mut chosen: Vec<&Task> = Vec::new();
    for task in &all {
        if hidden > 0 && !task.is_open() {
            hidden -= 1;
        } else {
            chosen.push(task);
        }
    }
    chosen.truncate(LONGEST_LIST);
    left_out = left_out.max(all.len() - chosen.len());
    Shown {
        lines: chosen.iter().map(|task| tasks.line(&short(task))).collect(),
        tasks: chosen.iter().map(|task| value(tasks, task)).collect(),
        done,
        unreadable: 0,
        all: all.len(),
        left_out,
    }
}

fn short(task: &Task) -> Task {
    let mut subject = one_line(&task.subject);
    if let Some((at, _)) = subject.char_indices().nth(LONGEST_SUBJECT) {
        subject.truncate(at);
        subject.push('…');
    }
    Task { subject, ..task.clone() }
}

fn value(tasks: &TaskSet, task: &Task) -> Value {
    let mut value = json!({
        "id": task.id,
        "subject": task.subject,
        "status": task.status,
        "blockedBy": tasks.open_blockers(&task.id),
    });
    if let Some(owner) = task.owner() {
        value["owner"] = json!(owner);
    }
    value
}
