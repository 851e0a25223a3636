//! TaskOutput: what a background task printed, now or at its end.

use std::time::Duration;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::permission::Access;
use crate::tools::shell::jobs::{End, Status};
use crate::tools::{Bad, Call, Needs, Output, Spec, Tool, ToolContext, parse};

const DESCRIPTION: &str = "\
Gives what a background command or agent printed since you last looked, and whether it has ended. \
With `block` (the default) it waits for the end, at most `timeout` milliseconds. You are told of \
the end anyway: use this only if you cannot continue without it. Reading the output file works too.";

/// No call waits longer, in milliseconds.
const LONGEST: u64 = 600_000;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct Input {
    /// The id of the background task.
    task_id: String,
    /// Whether to wait for its end.
    #[serde(default)]
    block: Option<bool>,
    /// How long to wait, in milliseconds [default: 30000].
    #[serde(default)]
    timeout: Option<u64>,
}

pub struct TaskOutputTool {
    spec: Spec,
}

impl TaskOutputTool {
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self { spec: Spec::of::<Input>("TaskOutput", DESCRIPTION, Needs::Nothing, true) }
    }
}

impl Tool for TaskOutputTool {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn access(&self, _cx: &ToolContext, input: &Value) -> Result<Vec<Access>, Bad> {
        parse::<Input>("TaskOutput", input).map(|_| vec![Access::Free])
    }

    fn summary(&self, input: &Value) -> String {
        input.get("task_id").and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    fn run<'a>(
        &'a self,
        cx: &'a ToolContext,
        call: &'a Call,
        input: Value,
    ) -> BoxFuture<'a, Output> {
        Box::pin(async move {
            match parse::<Input>("TaskOutput", &input) {
                Ok(input) => look(cx, call, &input).await,
                Err(bad) => Output::failed(bad.0),
            }
        })
    }
}

async fn look(cx: &ToolContext, call: &Call, input: &Input) -> Output {
    let (jobs, id) = (cx.shell.jobs(), input.task_id.as_str());
    let job = match jobs.get(id) {
        Ok(job) => job,
        Err(error) => return Output::failed(error.to_string()),
    };
    // Whoever looks at somebody else's task does not keep its owner from being told.
    let mine = job.plan.owner == cx.me;
    let mut end = None;
    if input.block.unwrap_or(true) {
        let limit = Duration::from_millis(input.timeout.unwrap_or(30_000).min(LONGEST));
        let waiting =
            async { if mine { jobs.wait(id, limit).await } else { jobs.watch(id, limit).await } };
        tokio::select! {
            waited = waiting => match waited {
                Ok(waited) => end = waited,
                Err(error) => return Output::failed(error.to_string()),
            },
            () = call.stop.cancelled() => return Output::failed("Interrupted while waiting."),
        }
    }
    let news = if mine { jobs.read_new(id) } else { jobs.peek_new(id) };
    let news = match news {
        Ok(news) => news,
        Err(error) => return Output::failed(error.to_string()),
    };
    // Not what it may be by now: only an end that was claimed is told here.
    let end = end.or(news.end);
    let status = end.as_ref().map_or("running", |end| status_name(end.status));
    let mut text = format!("<status>{status}</status>\n");
    if let Some(End { summary, result, .. }) = &end {
        text.push_str(&format!("{summary}\n"));
        text.push_str(&result.as_ref().map(|it| format!("\n{it}\n")).unwrap_or_default());
    }
    let new = if news.text.is_empty() { "(nothing new)" } else { news.text.as_str() };
    text.push_str(&format!("\nOutput since the last look:\n{new}"));
    let path = job.plan.output.display().to_string();
    let data = json!({ "taskId": id, "status": status, "outputFile": path });
    Output::text(text).with_summary(format!("{id}: {status}")).with_data(data)
}

pub(super) const fn status_name(status: Status) -> &'static str {
    match status {
        Status::Completed => "completed",
        Status::Failed => "failed",
        Status::Killed => "killed",
    }
}
