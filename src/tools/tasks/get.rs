//! TaskGet: one task with all that is known of it.

use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{one_line, with_list};
use crate::permission::Access;
use crate::protocol::ids::TaskId;
use crate::protocol::task::{Task, id_list};
use crate::store::StoreError;
use crate::tools::{Bad, Call, Needs, Output, Spec, Tool, ToolContext, parse};

const NAME: &str = "TaskGet";

const DESCRIPTION: &str = "\
Shows one task of the shared list: its whole description, its status and owner, what it still waits \
for, and what waits for it. Call it before you begin with a task: the list shows only its subject.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Input {
    /// The number of the task, as TaskList shows it.
    #[schemars(with = "String")]
    task_id: TaskId,
}

#[derive(Debug)]
pub struct TaskGetTool {
    spec: Spec,
}

impl TaskGetTool {
    pub fn new() -> Self {
        Self { spec: Spec::of::<Input>(NAME, DESCRIPTION, Needs::Nothing, true) }
    }
}

impl Default for TaskGetTool {
    fn default() -> Self {
        Self::new()
    }
}

fn read(input: &Value) -> Result<TaskId, Bad> {
    let input: Input = parse(NAME, input)?;
    Ok(TaskId::written(input.task_id.as_str()))
}

impl Tool for TaskGetTool {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn access(&self, _: &ToolContext, input: &Value) -> Result<Vec<Access>, Bad> {
        read(input).map(|_| vec![Access::Free])
    }

    fn summary(&self, input: &Value) -> String {
        read(input).map(|id| format!("#{id}")).unwrap_or_default()
    }

    fn run<'a>(&'a self, cx: &'a ToolContext, _: &'a Call, input: Value) -> BoxFuture<'a, Output> {
        get(cx, input).map(|outcome| outcome.unwrap_or_else(|refused| refused)).boxed()
    }
}

async fn get(cx: &ToolContext, input: Value) -> Result<Output, Output> {
    let id = read(&input).map_err(|bad| Output::failed(bad.0))?;
    let found = with_list(cx, move |here| {
        let list = here.store.tasks(&here.list);
        let task = list.get(&id)?.ok_or_else(|| StoreError::NoTask(id.clone()))?;
        Ok((list.look(|tasks| tasks.open_blockers(&id))?, task))
    });
    let (open, task) = found.await?;
    let data = json!({ "task": {
        "id": task.id,
        "subject": task.subject,
        "description": task.description,
        "status": task.status,
        "owner": task.owner(),
        "blocks": task.blocks,
        "blockedBy": task.blocked_by,
    }});
    Ok(Output::text(words(&task, &open)).with_data(data))
}

fn words(task: &Task, open: &[TaskId]) -> String {
    let mut lines = vec![
        format!("Task #{}: {}", task.id, one_line(&task.subject)),
        format!("Status: {}", task.status.as_str()),
        format!("Description: {}", task.description),
    ];
    if let Some(owner) = task.owner() {
        lines.push(format!("Owner: {owner}"));
    }
    if !open.is_empty() {
        lines.push(format!("Blocked by: {}", id_list(open)));
    }
    if !task.blocks.is_empty() {
        lines.push(format!("Blocks: {}", id_list(&task.blocks)));
    }
    lines.join("\n")
}
