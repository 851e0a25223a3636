//! Running the tools that an answer calls: side by side where they may, results in the order of
//! the calls, each on disk as soon as it is there.

use std::time::Duration;

use futures::StreamExt;
use futures::stream;

use super::context::Agent;
use super::hooks;
use crate::model::Stop;
use crate::protocol::content::{Block, Content, Known};
use crate::protocol::event::Level;
use crate::tools::call::{call, call_doubted};
use crate::tools::registry::ToolSet;
use crate::tools::{Output, Use};

/// How many tools run at once.
const ABREAST: usize = 10;

/// How long a tool may take to end after it was told to.
const GRACE: Duration = Duration::from_secs(10);

/// Runs the calls of one answer. However it ends, every call has its result.
pub async fn run(agent: &Agent, uses: Vec<Use>, source: &str, stop: &Stop) -> Vec<Block> {
    let mut results = Vec::with_capacity(uses.len());
    let tools = agent.offer().tools;
    for group in groups(&tools, uses) {
        let running = group.into_iter().map(|wanted| one(agent, &tools, wanted, source, stop));
        results.extend(stream::iter(running).buffered(ABREAST).collect::<Vec<_>>().await);
    }
    results
}

/// Neighbours that may run side by side are one group, all others are alone.
fn groups(tools: &ToolSet, uses: Vec<Use>) -> Vec<Vec<Use>> {
    let mut groups: Vec<Vec<Use>> = Vec::new();
    let mut joins = false;
    for wanted in uses {
        let tool = tools.get(&wanted.tool);
        let side_by_side = tool.is_none_or(|tool| tool.spec().side_by_side);
        match groups.last_mut() {
            Some(group) if joins && side_by_side => group.push(wanted),
            Some(_) | None => groups.push(vec![wanted]),
        }
        joins = side_by_side;
    }
    groups
}

async fn one(agent: &Agent, tools: &ToolSet, wanted: Use, source: &str, stop: &Stop) -> Block {
    let id = wanted.id.clone();
    if let Some(tool) = tools.get(&wanted.tool) {
        agent.echo(&format!("● {} {}", wanted.tool, tool.summary(&wanted.input)));
    }
    let output = if stop.is_cancelled() {
        Output::failed("Interrupted before it started.")
    } else {
        finished(agent, tools, wanted, stop).await
    };
    let data = output.data.clone();
    let block = result(&id, output);
    if let Err(error) = agent.recorder.result(&block, &data, source) {
        agent.notice(
            Level::Error,
            format!("A result could not be written to the transcript: {error}"),
        );
    }
    block
}

/// The output of a tool, also when it does not end although it was told to.
async fn finished(agent: &Agent, tools: &ToolSet, wanted: Use, stop: &Stop) -> Output {
    let late = async {
        stop.cancelled().await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        output = hooked(agent, tools, wanted, stop) => output,
        () = late => Output::failed("Interrupted. How far it got is not known."),
    }
}

/// A call, with what the hooks of the agent have to say before and after it.
async fn hooked(agent: &Agent, tools: &ToolSet, wanted: Use, stop: &Stop) -> Output {
    let name = tools.get(&wanted.tool).map(|tool| tool.spec().name.to_string());
    // What began before a restart was looked at then.
    let has_begun = agent.cx.crew.has_begun(&agent.cx.me, &wanted.id);
    let Some(name) = name.filter(|_| !agent.birth.gear.hooks.is_empty() && !has_begun) else {
        return call(&agent.cx, tools, wanted, stop).await;
    };
    let doubt = match hooks::before(agent, &name, &wanted, stop).await {
        Ok(doubt) => doubt,
        Err(why) => return Output::failed(why),
    };
    if stop.is_cancelled() {
        return Output::failed("Interrupted before it started.");
    }
    let mut output = call_doubted(&agent.cx, tools, wanted.clone(), doubt, stop).await;
    hooks::after(agent, &name, &wanted, &mut output, stop).await;
    output
}

pub fn result(id: &str, output: Output) -> Block {
    Block::Known(Known::ToolResult {
        tool_use_id: id.to_owned(),
        content: Some(match output.content {
            Content::Text(text) if text.is_empty() => Content::Text("(no output)".to_owned()),
            content @ (Content::Text(_) | Content::Blocks(_)) => content,
        }),
        is_error: output.failed.then_some(true),
    })
}
