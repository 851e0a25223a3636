//! What comes of an agent's work, in the words of those who get it: the caller of the tool, the
//! registry of background work, the notification.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};

use super::context::{Agent, Talk};
use super::turn::{End, Outcome, spoken};
use crate::protocol::content::{ChatMessage, Content, Role};
use crate::tools::Output;
use crate::tools::context::Wish;
use crate::tools::shell::jobs::{self, Job};
use crate::worktree::{self, Worktree};

/// What came of an agent's work.
#[derive(Debug, Clone)]
pub struct Report {
    pub status: jobs::Status,
    /// Its last words, or what it had said when it failed.
    pub text: String,
    pub why: String,
    pub tokens: u64,
    pub calls: u64,
    pub millis: u64,
    /// Where its work is, if it had a worktree.
    pub worktree: Option<String>,
}

/// What an agent's work came to; `outcome` is nothing when it broke down.
pub fn report(agent: &Agent, talk: &Talk, outcome: Option<Outcome>, took: Duration) -> Report {
    let (status, text, why) = match outcome {
        None => (
            jobs::Status::Failed,
            last_words(talk.messages.messages()),
            "it crashed; see the log".to_owned(),
        ),
        Some(Outcome { end, text, .. }) => match end {
            End::Done => (jobs::Status::Completed, text, String::new()),
            End::Interrupted => (jobs::Status::Killed, text, "it was stopped".to_owned()),
            End::MaxTurns | End::Budget { .. } | End::OverBudget(_) | End::Failed(_) => {
                (jobs::Status::Failed, text, end.why())
            }
        },
    };
    let tokens = agent.books.of(&agent.cx.me.to_string()).usage.total();
    Report {
        status,
        text,
        why,
        tokens,
        calls: agent.calls.load(Ordering::Relaxed),
        millis: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        worktree: None,
    }
}

/// What it had said last, of a conversation that nobody ended.
pub fn last_words<'m>(messages: impl DoubleEndedIterator<Item = &'m ChatMessage>) -> String {
    let mut answers = messages.rev().filter(|one| one.role == Role::Assistant);
    answers.next().map(spoken).unwrap_or_default()
}

pub const fn job_status(status: jobs::Status) -> &'static str {
    match status {
        jobs::Status::Completed => "completed",
        jobs::Status::Failed => "failed",
        jobs::Status::Killed => "killed",
    }
}

pub fn end_of(report: &Report, job: &Job) -> jobs::End {
    let what = job_status(report.status);
    let mut summary = format!("Agent \"{}\" {what}", job.plan.description);
    if !report.why.is_empty() {
        summary.push_str(&format!(": {}", report.why));
    }
    let result = result_of(report);
    let usage = Some(usage_line(report));
    jobs::End { status: report.status, exit: None, signal: None, summary, result, usage }
}

/// The words of the agent, and where its work is.
pub fn result_of(report: &Report) -> Option<String> {
    let parts = [Some(report.text.clone()), report.worktree.clone()];
    let parts: Vec<String> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

/// Where the work of an agent is, before anybody looked whether there is any.
pub fn working_in(tree: &Worktree) -> String {
    let path = tree.path.display();
    format!("worktreePath: {path}\nworktreeBranch: {}\n(removed if unchanged)", tree.branch)
}

/// What became of a worktree, in words.
pub fn parting(tree: Worktree) -> String {
    match worktree::clean_up(tree) {
        worktree::Outcome::Removed => "The worktree was unchanged and has been removed.".to_owned(),
        worktree::Outcome::Kept { path, branch, changes, why } => {
            let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
            let changes = changes.summary;
            format!("worktreePath: {}\nworktreeBranch: {branch}\n{changes}{why}", path.display())
        }
    }
}

fn usage_line(report: &Report) -> String {
    format!(
        "total_tokens: {}, tool_uses: {}, duration_ms: {}",
        report.tokens, report.calls, report.millis
    )
}

/// What the Agent tool answers while the agent goes on.
pub fn launched(id: &str, wish: &Wish, output: &Path) -> Output {
    let path = output.display();
    let text = format!(
        "Agent started in the background.\nagentId: {id}\noutput_file: {path}\nYou are told when it \
         ends; do not wait for it or repeat its work. Its output so far can be read from the \
         file, and SendMessage reaches it."
    );
    let data = json!({
        "status": "async_launched", "agentId": id, "description": wish.description,
        "prompt": wish.prompt, "outputFile": path.to_string(), "canReadOutputFile": true,
    });
    Output::text(text).with_summary("in the background").with_data(data)
}

/// What the Agent tool answers at the end.
pub fn completed(id: &str, wish: &Wish, report: &Report) -> Output {
    let data = json!({
        "status": job_status(report.status), "prompt": wish.prompt, "agentId": id,
        "content": [{ "type": "text", "text": report.text }],
        "totalDurationMs": report.millis, "totalTokens": report.tokens,
        "totalToolUseCount": report.calls, "worktree": report.worktree,
    });
    let mut parts = Vec::new();
    match (report.status, report.text.is_empty()) {
        (jobs::Status::Completed, true) => {
            parts.push("(The agent ended without a report.)".to_owned())
        }
        (jobs::Status::Completed, false) => parts.push(report.text.clone()),
        (jobs::Status::Failed | jobs::Status::Killed, true) => {
            parts.push(format!("The agent did not finish: {}", report.why));
        }
        (jobs::Status::Failed | jobs::Status::Killed, false) => {
            parts.push(format!("The agent did not finish: {}\nIt had said:", report.why));
            parts.push(report.text.clone());
        }
    }
    parts.extend(report.worktree.clone());
    parts.push(format!(
        "agentId: {id} (SendMessage to it continues from here)\n<usage>{}</usage>",
        usage_line(report)
    ));
    let failed = report.status != jobs::Status::Completed && report.text.is_empty();
    let text = parts.join("\n\n");
    let summary = format!("{} tool uses, {} tokens", report.calls, report.tokens);
    let output = Output { content: Content::Text(text), failed, summary, data: Value::Null };
    output.with_data(data)
}
