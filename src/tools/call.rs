//! One use of a tool, from the model's wish to its result. What must hold across a crash is in
//! the order: decided, asked and answered on disk, started on disk, run, ended on disk.

use std::panic::AssertUnwindSafe;
use std::time::Instant;

use futures::FutureExt;
use serde_json::Value;

use super::registry::ToolSet;
use super::{Output, Tool, ToolContext};
use crate::model::Stop;
use crate::permission::question::{Asker, question};
use crate::permission::{Access, Decision, Suggestion, View, Why, decide};
use crate::protocol::ask::Verdict;
use crate::protocol::content::{Block, Content};
use crate::protocol::event::Fact;
use crate::store::files;

/// What a model wants done.
#[derive(Debug, Clone, PartialEq)]
pub struct Use {
    pub id: String,
    pub tool: String,
    pub input: Value,
}

/// A use that was let through.
#[derive(Debug)]
pub struct Call {
    /// The id of the use.
    pub id: String,
    /// Fires when the turn is interrupted or the agent ends.
    pub stop: Stop,
    /// What the tool said it would touch, and what was decided upon.
    pub access: Vec<Access>,
    /// What was decided from.
    pub view: View,
}

impl Call {
    /// Tells everyone what the tool prints while it runs.
    pub fn say(&self, cx: &ToolContext, text: String) {
        cx.journal.emit(Some(&cx.me), Fact::ToolOutput { use_id: self.id.clone(), text });
    }
}

/// A use on its way, with what the person wants to tell the agent about it.
struct Admitted {
    call: Call,
    input: Value,
    remark: Option<String>,
}

/// Uses a tool, if it may be used. Whatever happens, there is an output to answer the model with.
pub async fn call(cx: &ToolContext, tools: &ToolSet, wanted: Use, stop: &Stop) -> Output {
    let Some(tool) = tools.get(&wanted.tool) else {
        return Output::failed(tools.missing(&wanted.tool));
    };
    let tool = tool.as_ref();
    match admit(cx, tool, &wanted, stop).await {
        Ok(admitted) => run(cx, tool, admitted).await,
        Err(refusal) => Output::failed(refusal),
    }
}

/// Decides, and asks where somebody must decide.
async fn admit(
    cx: &ToolContext,
    tool: &dyn Tool,
    wanted: &Use,
    stop: &Stop,
) -> Result<Admitted, String> {
    let access = tool.access(cx, &wanted.input).map_err(|bad| bad.0)?;
    let view = cx.view();
    let name = tool.spec().name.as_ref();
    let decision = decide(&view, name, &wanted.input, &access);
    tell(cx, wanted, &decision);
    let call = Call { id: wanted.id.clone(), stop: stop.clone(), access, view };
    match decision {
        Decision::Allow { .. } => Ok(Admitted { call, input: wanted.input.clone(), remark: None }),
        Decision::Deny { why } => Err(format!("Not allowed: {why}.")),
        Decision::Ask { why, suggestions } => ask(cx, tool, wanted, call, &why, &suggestions).await,
    }
}

async fn ask(
    cx: &ToolContext,
    tool: &dyn Tool,
    wanted: &Use,
    call: Call,
    why: &Why,
    suggestions: &[Suggestion],
) -> Result<Admitted, String> {
    let name = tool.spec().name.as_ref();
    let asker = Asker {
        chain: &cx.chain,
        color: cx.color.as_deref(),
        use_id: &wanted.id,
        tool: name,
        input: &wanted.input,
        access: &call.access,
        at: files::now(),
    };
    let ask = question(&asker, &call.view, why, suggestions);
    let covered = || match decide(&cx.view(), name, &wanted.input, &call.access) {
        Decision::Allow { why } => Some(why.to_string()),
        Decision::Deny { .. } | Decision::Ask { .. } => None,
    };
    match cx.desk.raise(ask, &covered, cx.view.clone(), &call.stop).await {
        Verdict::Allow { input: None, remark, .. } => {
            Ok(Admitted { call, input: wanted.input.clone(), remark })
        }
        Verdict::Allow { input: Some(edited), remark, .. } => {
            let note = "The user changed the input before allowing it.";
            let remark = remark.map_or(note.to_owned(), |remark| format!("{note} {remark}"));
            edited_use(cx, tool, wanted, call, edited).map(|(call, input)| Admitted {
                call,
                input,
                remark: Some(remark),
            })
        }
        Verdict::Deny { why: Some(why) } => {
            Err(format!("The user did not allow this, and says: {why}"))
        }
        Verdict::Deny { why: None } | Verdict::Chose { .. } | Verdict::Answered { .. } => {
            Err("The user did not allow this. Find another way, or ask them.".to_owned())
        }
        Verdict::Withdrawn { why } => Err(format!("Did not run: {why}.")),
    }
}

/// What the person wrote instead counts as allowed, unless it is forbidden.
fn edited_use(
    cx: &ToolContext,
    tool: &dyn Tool,
    wanted: &Use,
    call: Call,
    edited: Value,
) -> Result<(Call, Value), String> {
    let access = tool.access(cx, &edited).map_err(|bad| bad.0)?;
    let decision = decide(&call.view, tool.spec().name.as_ref(), &edited, &access);
    if let Decision::Deny { why } = &decision {
        tell(cx, wanted, &decision);
        return Err(format!("Not allowed, as the user changed it: {why}."));
    }
    Ok((Call { access, ..call }, edited))
}

fn tell(cx: &ToolContext, wanted: &Use, decision: &Decision) {
    let why = decision.why();
    let fact = Fact::Decided {
        use_id: wanted.id.clone(),
        tool: wanted.tool.clone(),
        decision: decision.as_str().to_owned(),
        reason: why.to_string(),
        rule: why.rule().map(str::to_owned),
        source: why.source().map(ToString::to_string),
    };
    cx.journal.emit(Some(&cx.me), fact);
}

async fn run(cx: &ToolContext, tool: &dyn Tool, admitted: Admitted) -> Output {
    let Admitted { call, input, remark } = admitted;
    if call.stop.is_cancelled() {
        return Output::failed("Interrupted before it started.");
    }
    let started = Fact::ToolStarted {
        use_id: call.id.clone(),
        tool: tool.spec().name.to_string(),
        summary: tool.summary(&input),
        input: input.clone(),
    };
    cx.journal.emit(Some(&cx.me), started);
    let since = Instant::now();
    let ran = AssertUnwindSafe(tool.run(cx, &call, input)).catch_unwind().await;
    let mut output = ran.unwrap_or_else(|_| {
        tracing::error!(tool = %tool.spec().name, "a tool panicked");
        Output::failed("The tool itself failed; this is a mistake in Quarterdeck. See the log.")
    });
    let ended = Fact::ToolEnded {
        use_id: call.id.clone(),
        failed: output.failed,
        summary: output.summary.clone(),
        millis: u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX),
        data: output.data.clone(),
    };
    cx.journal.emit(Some(&cx.me), ended);
    if let Some(remark) = remark {
        output.content = with_remark(output.content, &remark);
    }
    output
}

fn with_remark(content: Content, remark: &str) -> Content {
    let remark = format!("<user-remark>\n{remark}\n</user-remark>");
    match content {
        Content::Text(text) => Content::Text(format!("{text}\n\n{remark}")),
        Content::Blocks(mut blocks) => {
            blocks.push(Block::text(remark));
            Content::Blocks(blocks)
        }
    }
}
