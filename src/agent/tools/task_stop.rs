//! TaskStop: ends a background task.

use std::time::Duration;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::task_output::status_name;
use crate::permission::Access;
use crate::tools::{Bad, Call, Needs, Output, Spec, Tool, ToolContext, parse};

const DESCRIPTION: &str = "\
Ends a background command, with everything it started, or a background agent. What it printed \
until then stays readable, and you are told of its end as of every other.";

/// How long a task may take to end.
const LONGEST: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct Input {
    /// The id of the background task.
    #[serde(default)]
    task_id: Option<String>,
    /// Older name of `task_id`.
    #[serde(default)]
    shell_id: Option<String>,
}

fn wanted(input: &Value) -> Result<String, Bad> {
    let input: Input = parse("TaskStop", input)?;
    input.task_id.or(input.shell_id).ok_or_else(|| Bad("TaskStop needs `task_id`.".to_owned()))
}

pub struct TaskStopTool {
    spec: Spec,
}

impl TaskStopTool {
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self { spec: Spec::of::<Input>("TaskStop", DESCRIPTION, Needs::Nothing, true) }
    }
}

impl Tool for TaskStopTool {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn access(&self, _cx: &ToolContext, input: &Value) -> Result<Vec<Access>, Bad> {
        wanted(input).map(|_| vec![Access::Free])
    }

    fn summary(&self, input: &Value) -> String {
        wanted(input).unwrap_or_default()
    }

    fn run<'a>(
        &'a self,
        cx: &'a ToolContext,
        _call: &'a Call,
        input: Value,
    ) -> BoxFuture<'a, Output> {
        Box::pin(async move {
            let id = match wanted(&input) {
                Ok(id) => id,
                Err(bad) => return Output::failed(bad.0),
            };
            let job = match cx.shell.jobs().get(&id) {
                Ok(job) => job,
                Err(error) => return Output::failed(error.to_string()),
            };
            if let Some(end) = job.end() {
                return Output::failed(format!("It is no longer running: {}", end.summary));
            }
            // What came of it is told to its owner as every end is, also when that is who stops it.
            match cx.shell.jobs().kill(&id, LONGEST).await {
                Ok(Some(end)) => {
                    let status = status_name(end.status);
                    Output::text(format!("Stopped {id}: {}", end.summary))
                        .with_data(json!({ "taskId": id, "status": status }))
                }
                Ok(None) => Output::failed(format!("{id} could not be stopped.")),
                Err(error) => Output::failed(error.to_string()),
            }
        })
    }
}
