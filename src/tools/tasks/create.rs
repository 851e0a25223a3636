//! TaskCreate: one more task on the list.

use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{one_line, with_list};
use crate::permission::Access;
use crate::store::tasks::NewTask;
use crate::tools::{Bad, Call, Needs, Output, Spec, Tool, ToolContext, first_line, parse};

const NAME: &str = "TaskCreate";

const DESCRIPTION: &str = "\
Adds a task to the shared list and returns its number. Use it when work has several steps, or when \
parts of it can go to teammates; not for something you finish in one step.

Write the subject as an order (\"Add a test for the parser\"), and put into the description all \
that somebody needs who knows only the list: what to do, where, and how to tell that it is done. A \
new task is pending and belongs to nobody. To say what it waits for or whose it is, call TaskUpdate \
afterwards. Look at TaskList first, so that nothing is on the list twice.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Input {
    /// What to do, in a few words.
    subject: String,
    /// All that is needed to do it and to tell that it is done.
    description: String,
    /// The subject as it reads while somebody works on it, such as "Adding a test".
    active_form: Option<String>,
    /// Anything else worth keeping with the task.
    metadata: Option<Map<String, Value>>,
}

#[derive(Debug)]
pub struct TaskCreateTool {
    spec: Spec,
}

impl TaskCreateTool {
    pub fn new() -> Self {
        Self { spec: Spec::of::<Input>(NAME, DESCRIPTION, Needs::Nothing, false) }
    }
}

impl Default for TaskCreateTool {
    fn default() -> Self {
        Self::new()
    }
}

fn read(input: &Value) -> Result<NewTask, Bad> {
    let input: Input = parse(NAME, input)?;
    if input.subject.trim().is_empty() {
        return Err(Bad("A task needs a subject.".to_owned()));
    }
    Ok(NewTask {
        subject: input.subject,
        description: input.description,
        active_form: input.active_form,
        blocked_by: Vec::new(),
        metadata: input.metadata,
    })
}

impl Tool for TaskCreateTool {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn access(&self, _: &ToolContext, input: &Value) -> Result<Vec<Access>, Bad> {
        read(input).map(|_| vec![Access::Free])
    }

    fn summary(&self, input: &Value) -> String {
        first_line(input["subject"].as_str().unwrap_or_default())
    }

    fn run<'a>(&'a self, cx: &'a ToolContext, _: &'a Call, input: Value) -> BoxFuture<'a, Output> {
        create(cx, input).map(|outcome| outcome.unwrap_or_else(|refused| refused)).boxed()
    }
}

async fn create(cx: &ToolContext, input: Value) -> Result<Output, Output> {
    let new = read(&input).map_err(|bad| Output::failed(bad.0))?;
    let task = with_list(cx, move |here| {
        let list = here.store.tasks(&here.list);
        // A team brings its own, and once that is deleted it stays so.
        if here.team.is_none() {
            list.make()?;
        }
        let task = list.create(&new)?;
        here.tell(&task);
        Ok(task)
    });
    let task = task.await?;
    let subject = one_line(&task.subject);
    let data = json!({ "task": { "id": task.id, "subject": task.subject } });
    let said = format!("Task #{} created successfully: {subject}", task.id);
    let summary = format!("#{} {subject}", task.id);
    cx.crew.task_changed(&cx.me, Some(&task));
    Ok(Output::text(said).with_summary(first_line(&summary)).with_data(data))
}
