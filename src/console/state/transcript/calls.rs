//! Uses of tools, from the wish to the result, and what the person decided about them.

use serde_json::Value;

use super::{Asked, Transcript};
use crate::console::state::cell::{Call, CellId, Change, How, Kind, Phase, PlanVerdict};
use crate::console::state::words::{Words, beginning, brief};
use crate::protocol::ask::{Ask, Grant, Grantee, Judge, Lasts, Question, Verdict, measured};
use crate::protocol::ids::AskId;
use crate::protocol::json;
use crate::protocol::time::Stamp;

/// The inputs that say best what a call is about, in this order.
const TELLING: &[&str] = &[
    "command",
    "file_path",
    "notebook_path",
    "path",
    "pattern",
    "url",
    "query",
    "subject",
    "description",
    "team_name",
    "name",
    "taskId",
    "task_id",
    "recipient",
    "to",
    "skill",
    "prompt",
    "plan",
];

impl Transcript {
    pub(super) fn wanted(&mut self, at: Stamp, use_id: &str, tool: &str, input: &Value) {
        let mut call = Call::new(use_id, tool);
        call.summary = self.short(&summary(input));
        call.tell_input(input);
        self.call_of(at, use_id, tool, |known| {
            (known.summary, known.input, known.change) = (call.summary, call.input, call.change);
        });
    }

    pub(super) fn tool_started(
        &mut self,
        at: Stamp,
        use_id: &str,
        tool: &str,
        summary: &str,
        input: &Value,
    ) {
        let summary = self.short(summary);
        self.call_of(at, use_id, tool, |call| {
            call.summary =
                if summary.is_empty() { std::mem::take(&mut call.summary) } else { summary };
            call.tell_input(input);
            call.phase = Phase::Running;
            call.started = Some(at);
        });
    }

    pub(super) fn tool_output(&mut self, use_id: &str, text: &str) {
        self.known_call(use_id, |call| call.output.push(text));
    }

    pub(super) fn tool_ended(
        &mut self,
        use_id: &str,
        failed: bool,
        summary: &str,
        millis: u64,
        data: &Value,
    ) {
        let summary = self.short(summary);
        self.known_call(use_id, |call| {
            call.phase = if failed { Phase::Failed } else { Phase::Done };
            call.millis = Some(millis);
            call.outcome = rest_of(&summary, &call.summary);
            let text = |name: &str| data.get(name).and_then(Value::as_str);
            if let Some(patch) = text("diff") {
                let path = brief(text("path").unwrap_or_default());
                call.change = Some(Change { path, how: How::Patch(beginning(patch)) });
            }
        });
    }

    /// The result as the agent gets it. What a command printed live has its colours: it stays.
    pub(super) fn result(&mut self, use_id: &str, text: &str, failed: bool) {
        self.known_call(use_id, |call| {
            if call.output.is_empty() {
                call.output = Words::new(text);
            }
            if !call.is_over() {
                call.phase = if failed { Phase::Failed } else { Phase::Done };
            }
        });
    }

    pub(super) fn decided(&mut self, use_id: &str, decision: &str, reason: &str) {
        self.known_call(use_id, |call| {
            // What the person decided has a line of its own.
            if decision == "deny" && !matches!(call.phase, Phase::Denied(_)) {
                call.phase = Phase::Denied(brief(reason));
            }
        });
    }

    pub(super) fn asked(&mut self, at: Stamp, ask: &Ask) {
        let mut asked = self.gist_of(ask);
        match &ask.question {
            Question::Tool { use_id, name, .. } => {
                let cell = self.call_of(at, use_id, name, |call| {
                    call.phase = Phase::Waiting;
                    call.ask = Some(ask.id.clone());
                    if let Some(Change { how: How::Swap { lines, .. }, .. }) = &mut call.change
                        && !ask.lines.is_empty()
                    {
                        lines.clone_from(&ask.lines);
                    }
                });
                asked.cell = Some(cell);
            }
            Question::Plan { file, text } => {
                let file = brief(&file.display().to_string());
                let text = Words::new(text);
                // A new version of the same plan stands where the old one stood.
                let known = self.asks.get(&ask.id).and_then(|known| known.cell);
                let kind = Kind::Plan { file, text, verdict: None };
                asked.cell = Some(match known {
                    Some(id) => {
                        self.change(id, |cell| cell.kind = kind);
                        id
                    }
                    None => self.add(at, kind),
                });
            }
            Question::Words { .. } | Question::Budget { .. } | Question::NoAnswerToShutdown => {}
        }
        self.asks.insert(ask.id.clone(), asked);
    }

    pub(super) fn settled(&mut self, at: Stamp, ask: &AskId, verdict: &Verdict, by: &Judge) {
        let Some(asked) = self.asks.remove(ask) else { return };
        if let Some(cell) = asked.cell {
            self.change(cell, |cell| settle_cell(&mut cell.kind, verdict, by));
        }
        let (good, said, more) = told(verdict, &asked);
        let is_call = asked
            .cell
            .and_then(|id| self.cell(id))
            .is_some_and(|cell| matches!(cell.kind, Kind::Call(_)));
        let (you, name) = match by {
            Judge::Human => ("you ", None),
            // The call itself says why it was denied.
            Judge::Policy { .. } if is_call && matches!(verdict, Verdict::Deny { .. }) => return,
            // A rule that was given with another answer, a mode, whoever runs the session.
            Judge::Policy { name } => ("", Some(name)),
            Judge::Asker => return,
        };
        let by = name.map_or(String::new(), |name| format!(" by {name}:"));
        let text =
            format!("{you}{said}{by} {}", asked.gist).trim_end_matches([' ', ':']).to_owned();
        let more = more.iter().map(|line| brief(line)).collect();
        self.add(at, Kind::Decision { good, text: brief(&text), more });
    }

    /// Changes a call, which is made if nobody has heard of it.
    pub(super) fn call_of(
        &mut self,
        at: Stamp,
        use_id: &str,
        tool: &str,
        with: impl FnOnce(&mut Call),
    ) -> CellId {
        let id = match self.calls.get(use_id) {
            Some(id) => *id,
            None => {
                let id = self.add(at, Kind::Call(Box::new(Call::new(use_id, tool))));
                self.calls.insert(use_id.to_owned(), id);
                id
            }
        };
        self.known_call(use_id, with);
        id
    }

    pub(super) fn known_call(&mut self, use_id: &str, with: impl FnOnce(&mut Call)) {
        let Some(id) = self.calls.get(use_id).copied() else { return };
        self.change(id, |cell| {
            if let Kind::Call(call) = &mut cell.kind {
                with(call);
            }
        });
    }

    /// Paths inside the working directory without it.
    pub(super) fn short(&self, summary: &str) -> String {
        within(&brief(summary), &self.cwd)
    }
}

fn within(text: &str, cwd: &str) -> String {
    match cwd.len() > 1 {
        true => text.replace(&format!("{}/", cwd.trim_end_matches('/')), ""),
        false => text.to_owned(),
    }
}

impl Call {
    fn tell_input(&mut self, input: &Value) {
        let text = |name: &str| input.get(name).and_then(Value::as_str);
        self.input = match text("command").filter(|_| self.tool == "Bash") {
            Some(command) => beginning(command),
            None => beginning(&fields(input)),
        };
        let swap = match (text("old_string"), text("new_string"), text("content")) {
            (Some(old), Some(new), _) => Some((beginning(old), beginning(new), Vec::new())),
            (_, _, Some(content)) if self.tool == "Write" => {
                Some((String::new(), beginning(content), vec![1]))
            }
            _ => None,
        };
        if let (Some((old, new, mut lines)), Some(path)) = (swap, text("file_path")) {
            // Where the same passage stands was told with the ask.
            if let Some(Change { how: How::Swap { old: known, lines: told, .. }, .. }) =
                &self.change
                && *known == old
            {
                lines.clone_from(told);
            }
            let how = How::Swap { old, new, lines };
            self.change = Some(Change { path: brief(path), how });
        }
    }
}

/// An input as people read it: a field per line, texts as they are.
fn fields(input: &Value) -> String {
    let field = |(name, value): (&String, &Value)| match value {
        Value::String(text) if text.contains('\n') => {
            format!("{name}: |\n  {}", text.trim_end().replace('\n', "\n  "))
        }
        Value::String(text) => format!("{name}: {text}"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            format!("{name}: {}", json::to_compact(value))
        }
    };
    match input.as_object() {
        Some(object) => object.iter().map(field).collect::<Vec<_>>().join("\n"),
        None if input.is_null() => String::new(),
        None => json::to_compact(input),
    }
}

fn summary(input: &Value) -> String {
    let text = |name: &&str| input.get(name).and_then(Value::as_str);
    let telling = TELLING.iter().find_map(text).unwrap_or_default();
    brief(telling.trim().lines().next().unwrap_or_default())
}

/// What an outcome tells beyond the wish: `src.py: 3 lines` after `src.py` is `3 lines`.
fn rest_of(outcome: &str, wish: &str) -> String {
    let rest = outcome.strip_prefix(wish).unwrap_or(outcome);
    rest.trim_start_matches([':', ' ']).to_owned()
}

/// What an ask is about, in a few words.
pub(super) fn gist(ask: &Ask, cwd: &str) -> Asked {
    let mut headers = Vec::new();
    let gist = match &ask.question {
        Question::Tool { name, input, .. } => {
            format!("{name} {}", within(&summary(input), cwd)).trim_end().to_owned()
        }
        Question::Plan { .. } => "the plan".to_owned(),
        Question::Words { questions } => {
            headers.extend(questions.iter().map(|words| match words.header.is_empty() {
                true => words.question.clone(),
                false => words.header.clone(),
            }));
            String::new()
        }
        Question::Budget { what, limit, .. } => format!("more than {}", measured(*what, *limit)),
        Question::NoAnswerToShutdown => "to end it".to_owned(),
    };
    Asked { gist: brief(&gist), cell: None, headers }
}

fn settle_cell(kind: &mut Kind, verdict: &Verdict, by: &Judge) {
    match kind {
        Kind::Call(call) if call.phase == Phase::Waiting => {
            call.phase = match verdict {
                // Told in a line of its own.
                Verdict::Deny { .. } if *by == Judge::Human => Phase::Denied(String::new()),
                Verdict::Deny { why } => Phase::Denied(brief(why.as_deref().unwrap_or_default())),
                Verdict::Withdrawn { why } => Phase::Denied(brief(why)),
                Verdict::Allow { .. } | Verdict::Chose { .. } | Verdict::Answered { .. } => {
                    Phase::Wanted
                }
            };
        }
        Kind::Plan { verdict: known, .. } => {
            *known = Some(match verdict {
                Verdict::Allow { .. } | Verdict::Chose { .. } | Verdict::Answered { .. } => {
                    PlanVerdict::Approved
                }
                Verdict::Deny { why } => PlanVerdict::Rejected(why.as_deref().map(brief)),
                Verdict::Withdrawn { .. } => PlanVerdict::Withdrawn,
            });
        }
        Kind::Call(_)
        | Kind::Prompt { .. }
        | Kind::Mail { .. }
        | Kind::Sent { .. }
        | Kind::Said { .. }
        | Kind::Thought { .. }
        | Kind::Decision { .. }
        | Kind::Notice { .. }
        | Kind::Member { .. }
        | Kind::Idle { .. }
        | Kind::Retry { .. }
        | Kind::Compacted { .. }
        | Kind::Finished { .. }
        | Kind::Queued { .. }
        | Kind::TurnEnd { .. }
        | Kind::Gap { .. }
        | Kind::Void => {}
    }
}

/// A verdict in words: good or not, what it was, and what else it says.
fn told(verdict: &Verdict, asked: &Asked) -> (bool, String, Vec<String>) {
    let mut more = Vec::new();
    let (good, said) = match verdict {
        Verdict::Allow { input, grant, remark } => {
            if let Some(input) = input {
                more.push(format!("changed to: {}", summary_or_all(input)));
            }
            more.extend(grant.iter().map(granted));
            more.extend(remark.iter().map(|remark| format!("“{remark}”")));
            (true, "allowed".to_owned())
        }
        Verdict::Deny { why } => {
            more.extend(why.iter().map(|why| format!("“{why}”")));
            (false, "denied".to_owned())
        }
        Verdict::Chose { choice, text } => {
            more.extend(text.iter().map(|text| format!("“{text}”")));
            (true, format!("chose {}", choice + 1))
        }
        Verdict::Answered { answers } => {
            let answer = |(at, taken): (usize, &Vec<String>)| {
                let header = asked.headers.get(at).map_or("", String::as_str);
                format!("{header}: {}", taken.join(", "))
            };
            more.extend(answers.iter().enumerate().map(answer));
            (true, "answered".to_owned())
        }
        Verdict::Withdrawn { why } => {
            more.push(why.clone());
            (false, "withdrew".to_owned())
        }
    };
    (good, said, more)
}

fn summary_or_all(input: &Value) -> String {
    let short = summary(input);
    if short.is_empty() { json::to_compact(input) } else { short }
}

fn granted(grant: &Grant) -> String {
    let permits: Vec<String> = grant.permits.iter().map(ToString::to_string).collect();
    let to = match grant.to {
        Grantee::Asker => "for this agent",
        Grantee::Team => "for the whole team",
    };
    let lasts = match grant.lasts {
        Lasts::Session => "in this session".to_owned(),
        Lasts::Until(at) => format!("until {at}"),
        Lasts::Project => "in this project".to_owned(),
        Lasts::User => "always".to_owned(),
    };
    format!("and from now on {} {to}, {lasts}", permits.join(", "))
}
