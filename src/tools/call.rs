//! One use of a tool, from the model's wish to its result. What must hold across a crash is in
//! the order: decided, asked and answered on disk, started on disk, run, ended on disk.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use futures::FutureExt;
use serde_json::Value;

use super::registry::ToolSet;
use super::{Output, Tool, ToolContext};
use crate::model::Stop;
use crate::permission::desk::Settled;
use crate::permission::question::{Asker, question};
use crate::permission::{Access, Decision, Suggestion, View, Why, decide};
use crate::protocol::ask::{Judge, Verdict};
use crate::protocol::content::{Block, Content};
use crate::protocol::event::{Event, Fact};
use crate::protocol::ids::AgentId;
use crate::protocol::op::Mode;
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
    pub view: Arc<View>,
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

/// Uses a tool, if it may be used. Whatever happens, there is an output to answer the model with,
/// and the last `Decided` before `ToolStarted` says why it ran.
pub async fn call(cx: &ToolContext, tools: &ToolSet, wanted: Use, stop: &Stop) -> Output {
    call_doubted(cx, tools, wanted, None, stop).await
}

/// The same for a use that somebody must be asked about, if there is a doubt, even where the
/// rules allow it.
pub async fn call_doubted(
    cx: &ToolContext,
    tools: &ToolSet,
    wanted: Use,
    doubt: Option<String>,
    stop: &Stop,
) -> Output {
    let Some(tool) = tools.get(&wanted.tool) else {
        return Output::failed(refuse(cx, &wanted, tools.missing(&wanted.tool)));
    };
    let tool = tool.as_ref();
    if cx.crew.has_begun(&cx.me, &wanted.id) {
        return go_on(cx, tool, wanted, stop).await;
    }
    match admit(cx, tool, &wanted, doubt, stop).await {
        Ok(admitted) => run(cx, tool, admitted).await,
        Err(refusal) => Output::failed(refusal),
    }
}

/// Decides, and asks where somebody must decide.
async fn admit(
    cx: &ToolContext,
    tool: &dyn Tool,
    wanted: &Use,
    doubt: Option<String>,
    stop: &Stop,
) -> Result<Admitted, String> {
    let access = tool.access(cx, &wanted.input).map_err(|bad| refuse(cx, wanted, bad.0))?;
    let view = cx.view();
    let name = tool.spec().name.as_ref();
    let decision = doubted(decide(&view, name, &wanted.input, &access), view.mode, doubt);
    tell(cx, wanted, &decision);
    let call = Call { id: wanted.id.clone(), stop: stop.clone(), access, view };
    match decision {
        Decision::Allow { .. } => Ok(Admitted { call, input: wanted.input.clone(), remark: None }),
        Decision::Deny { why } => Err(format!("Not allowed: {why}.")),
        Decision::Ask { why, suggestions } => ask(cx, tool, wanted, call, &why, &suggestions).await,
    }
}

/// What the rules allow is asked about where there is a doubt.
fn doubted(decision: Decision, mode: Mode, doubt: Option<String>) -> Decision {
    match (decision, doubt) {
        (Decision::Allow { .. }, Some(what)) => {
            let why = Why::Hook { what };
            match mode == Mode::DontAsk {
                true => Decision::Deny { why: Why::Mode { mode, instead: why.to_string() } },
                false => Decision::Ask { why, suggestions: Vec::new() },
            }
        }
        (decision, _) => decision,
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
    let lines = tool.lines(&call, &wanted.input).await;
    let asker = Asker {
        chain: &cx.chain,
        color: cx.color.as_deref(),
        use_id: &wanted.id,
        tool: name,
        input: &wanted.input,
        access: &call.access,
        lines: &lines,
        at: files::now(),
    };
    let ask = question(&asker, &call.view, why, suggestions);
    let is_doubted = matches!(why, Why::Hook { .. });
    let covered = || match decide(&cx.view(), name, &wanted.input, &call.access) {
        Decision::Allow { why } if !is_doubted => Some(why.to_string()),
        Decision::Allow { .. } | Decision::Deny { .. } | Decision::Ask { .. } => None,
    };
    let settled = cx.desk.put(ask, &covered, cx.view.clone(), &call.stop).await;
    tell_settled(cx, wanted, &settled);
    match settled.verdict {
        Verdict::Allow { input, remark, .. } => {
            let edited = input.filter(|input| *input != wanted.input);
            let note = edited.is_some().then_some("The user changed the input before allowing it.");
            let remark = match (note, remark) {
                (Some(note), Some(remark)) => Some(format!("{note} {remark}")),
                (Some(note), None) => Some(note.to_owned()),
                (None, remark) => remark,
            };
            let input = edited.unwrap_or_else(|| wanted.input.clone());
            allowed(cx, tool, wanted, call, input, remark)
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

/// What a verdict lets through runs, as asked or as the person wrote it instead, unless it is
/// forbidden by now: a verdict answers a question, and no question is put about what is denied.
/// Nor does it answer for another file than the one that was asked about: a path may lead
/// elsewhere by now.
fn allowed(
    cx: &ToolContext,
    tool: &dyn Tool,
    wanted: &Use,
    call: Call,
    input: Value,
    remark: Option<String>,
) -> Result<Admitted, String> {
    let access = tool.access(cx, &input).map_err(|bad| refuse(cx, wanted, bad.0))?;
    let view = cx.view();
    let decision = decide(&view, tool.spec().name.as_ref(), &input, &access);
    if let Decision::Deny { why } = &decision {
        tell(cx, wanted, &decision);
        return Err(format!("Not allowed, whatever the verdict was: {why}."));
    }
    let is_allowed = matches!(decision, Decision::Allow { .. });
    let is_asked = access == call.access && view.cwd == call.view.cwd;
    if input == wanted.input && !is_asked && !is_allowed {
        let why = "what it would touch has changed since the user was asked; try again";
        return Err(refuse(cx, wanted, format!("Did not run: {why}.")));
    }
    Ok(Admitted { call: Call { access, view, ..call }, input, remark })
}

/// Tells what came of an ask: who decided, and what they gave with it.
fn tell_settled(cx: &ToolContext, wanted: &Use, settled: &Settled) {
    let who = match &settled.by {
        Judge::Human => "the user".to_owned(),
        Judge::Policy { name } => name.clone(),
        Judge::Asker => "the asker".to_owned(),
    };
    let (decision, reason, grant) = match &settled.verdict {
        Verdict::Allow { input, grant, .. } => {
            let changed = if input.is_some() { ", with a changed input" } else { "" };
            ("allow", format!("allowed by {who}{changed}"), grant.as_ref())
        }
        Verdict::Deny { why: Some(why) } => ("deny", format!("denied by {who}: {why}"), None),
        Verdict::Deny { why: None } | Verdict::Chose { .. } | Verdict::Answered { .. } => {
            ("deny", format!("denied by {who}"), None)
        }
        Verdict::Withdrawn { why } => ("deny", format!("withdrawn: {why}"), None),
    };
    let permits = grant.map(|grant| {
        let all: Vec<String> = grant.permits.iter().map(ToString::to_string).collect();
        all.join(", ")
    });
    let source = permits.is_some().then(|| "verdict".to_owned());
    emit_decided(cx, wanted, decision, reason, permits, source);
}

/// Tells why a use comes to nothing, and hands the reason on.
fn refuse(cx: &ToolContext, wanted: &Use, why: String) -> String {
    emit_decided(cx, wanted, "deny", why.clone(), None, None);
    why
}

fn tell(cx: &ToolContext, wanted: &Use, decision: &Decision) {
    let why = decision.why();
    let (rule, source) = (why.rule().map(str::to_owned), why.source().map(ToString::to_string));
    emit_decided(cx, wanted, decision.as_str(), why.to_string(), rule, source);
}

fn emit_decided(
    cx: &ToolContext,
    wanted: &Use,
    decision: &str,
    reason: String,
    rule: Option<String>,
    source: Option<String>,
) {
    let (use_id, tool) = (wanted.id.clone(), wanted.tool.clone());
    let fact = Fact::Decided { use_id, tool, decision: decision.to_owned(), reason, rule, source };
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
    carry_out(cx, tool, call, input, remark).await
}

/// A call that was let through and began before a restart, whose work goes on: nobody is asked
/// again, and it does not begin again.
async fn go_on(cx: &ToolContext, tool: &dyn Tool, wanted: Use, stop: &Stop) -> Output {
    let access = tool.access(cx, &wanted.input).unwrap_or_default();
    let call = Call { id: wanted.id, stop: stop.clone(), access, view: cx.view() };
    carry_out(cx, tool, call, wanted.input, None).await
}

async fn carry_out(
    cx: &ToolContext,
    tool: &dyn Tool,
    call: Call,
    input: Value,
    remark: Option<String>,
) -> Output {
    let since = Instant::now();
    // What is not on disk as started would run again after a crash.
    let mut output = match cx.journal.trouble().filter(|trouble| trouble.waiting > 0) {
        None => run_caught(cx, tool, &call, input).await,
        Some(trouble) => Output::failed(format!(
            "Did not run: the journal cannot be written ({}).",
            trouble.reason
        )),
    };
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

async fn run_caught(cx: &ToolContext, tool: &dyn Tool, call: &Call, input: Value) -> Output {
    let ran = AssertUnwindSafe(tool.run(cx, call, input)).catch_unwind().await;
    ran.unwrap_or_else(|_| {
        tracing::error!(tool = %tool.spec().name, "a tool panicked");
        Output::failed("The tool itself failed; this is a bug in Quarterdeck. See the log.")
    })
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

/// What a journal knows of the uses of tools, for whoever resumes an agent: what was allowed and
/// has not started runs, what has started never runs again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Started {
    fates: HashMap<(Option<AgentId>, String), Fate>,
}

/// How far a use came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It began and did not end: nobody knows what it did.
    Interrupted {
        tool: String,
        summary: String,
    },
    Ended {
        failed: bool,
        summary: String,
    },
}

impl Started {
    pub fn from_events<'e>(events: impl IntoIterator<Item = &'e Event>) -> Self {
        let mut fates = HashMap::new();
        for event in events {
            let key = |use_id: &String| (event.agent.clone(), use_id.clone());
            if let Fact::ToolStarted { use_id, tool, summary, .. } = &event.fact {
                let (tool, summary) = (tool.clone(), summary.clone());
                fates.insert(key(use_id), Fate::Interrupted { tool, summary });
            } else if let Fact::ToolEnded { use_id, failed, summary, .. } = &event.fact {
                let (failed, summary) = (*failed, summary.clone());
                fates.insert(key(use_id), Fate::Ended { failed, summary });
            }
        }
        Self { fates }
    }

    /// `None`: it never started, so it may.
    pub fn fate(&self, agent: &AgentId, use_id: &str) -> Option<&Fate> {
        self.fates.get(&(Some(agent.clone()), use_id.to_owned()))
    }
}
