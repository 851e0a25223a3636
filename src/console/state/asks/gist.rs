//! An ask in a few words: who, what, since when, and what became of it. All of it is safe to show.

use std::path::Path;

use serde_json::Value;

use crate::console::text::sanitize::one_line;
use crate::protocol::ask::{Ask, Judge, Permit, Question, Risk, Verdict, measured};
use crate::protocol::ids::AgentId;
use crate::protocol::time::Stamp;

/// Where the gist of a tool's input stands, in this order.
const GIST_KEYS: [&str; 9] =
    ["command", "file_path", "notebook_path", "url", "path", "pattern", "skill", "name", "prompt"];

/// What an agent is called on the screen.
pub fn name(agent: &AgentId) -> String {
    if agent.name.is_lead() { "lead".to_owned() } else { one_line(agent.name.as_str()) }
}

/// Who asks.
pub fn asker(ask: &Ask) -> String {
    ask.chain.first().map_or_else(|| "somebody".to_owned(), name)
}

/// What kind of thing is asked, in one word.
pub fn kind(ask: &Ask) -> String {
    match &ask.question {
        Question::Tool { name, .. } => one_line(name),
        Question::Plan { .. } => "Plan".to_owned(),
        Question::Words { .. } => "Question".to_owned(),
        Question::Budget { .. } => "Budget".to_owned(),
        Question::NoAnswerToShutdown => "Shutdown".to_owned(),
    }
}

/// The text that says most about the input of a tool.
fn main_text(input: &Value) -> Option<&str> {
    GIST_KEYS.iter().find_map(|key| input.get(key)?.as_str())
}

/// A file as seen from where the asker works. All of its path stands in the request.
fn seen_from<'a>(cwd: &Path, text: &'a str) -> &'a str {
    let inside = Path::new(text).strip_prefix(cwd).ok().and_then(Path::to_str);
    inside.filter(|inside| !inside.is_empty()).unwrap_or(text)
}

/// What is asked about, in one line.
pub fn gist(ask: &Ask) -> String {
    match &ask.question {
        Question::Tool { input, .. } => match main_text(input) {
            Some(text) => one_line(seen_from(&ask.cwd, text)),
            None => one_line(&input.to_string()),
        },
        Question::Plan { text, file } => {
            let first = text.lines().map(|line| line.trim_start_matches(['#', ' ']));
            match first.map(str::trim).find(|line| !line.is_empty()) {
                Some(line) => one_line(line),
                None => one_line(&file.display().to_string()),
            }
        }
        Question::Words { questions } => {
            let all: Vec<String> = questions.iter().map(|one| one_line(&one.question)).collect();
            all.join(" ")
        }
        Question::Budget { what, used, limit, .. } => {
            format!("{} of {} used", measured(*what, *used), measured(*what, *limit))
        }
        Question::NoAnswerToShutdown => "is not answering".to_owned(),
    }
}

/// Everything that an ask says, to search in it.
pub fn whole_text(ask: &Ask) -> String {
    let mut text = vec![headline(ask), gist(ask), ask.cwd.display().to_string()];
    text.extend(ask.why.description.clone());
    text.extend(ask.why.rule.clone());
    match &ask.question {
        Question::Tool { name, input, .. } => {
            text.push(name.clone());
            add_texts(input, &mut text);
        }
        Question::Plan { text: plan, .. } => text.push(plan.clone()),
        Question::Words { questions } => {
            for words in questions {
                text.extend([words.header.clone(), words.question.clone()]);
                for offer in &words.options {
                    text.push(format!("{}: {}", offer.label, offer.description));
                }
            }
        }
        Question::Budget { .. } | Question::NoAnswerToShutdown => {}
    }
    text.join("\n")
}

/// All texts within an input.
fn add_texts(value: &Value, to: &mut Vec<String>) {
    match value {
        Value::String(text) => to.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| add_texts(value, to)),
        Value::Object(fields) => fields.values().for_each(|value| add_texts(value, to)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The question as a sentence without its subject: "asks to run a command".
pub fn wants(ask: &Ask) -> String {
    match &ask.question {
        Question::Tool { name, input, .. } => tool_wants(name, input, &ask.cwd),
        Question::Plan { .. } => "has a plan".to_owned(),
        Question::Words { questions } if questions.len() > 1 => {
            format!("has {} questions", questions.len())
        }
        Question::Words { .. } => "has a question".to_owned(),
        Question::Budget { .. } => "has used up its budget".to_owned(),
        Question::NoAnswerToShutdown => "is not answering a shutdown request".to_owned(),
    }
}

fn tool_wants(name: &str, input: &Value, cwd: &Path) -> String {
    let what = main_text(input).map(|text| one_line(seen_from(cwd, text))).unwrap_or_default();
    match name {
        "Bash" => "asks to run a command".to_owned(),
        "Read" => format!("asks to read {what}"),
        "Edit" | "MultiEdit" | "NotebookEdit" => format!("asks to edit {what}"),
        "Write" => format!("asks to write {what}"),
        "Glob" | "Grep" => format!("asks to search for {what}"),
        "WebFetch" => format!("asks to fetch {what}"),
        "Agent" | "Task" => "asks to start an agent".to_owned(),
        other => format!("asks to use {}", one_line(other)),
    }
}

/// One sentence for a notice or a bell: "scout asks to read /etc/hosts".
pub fn headline(ask: &Ask) -> String {
    format!("{} {}", asker(ask), wants(ask))
}

/// How long ago, in as few letters as can be.
pub fn age(now: Stamp, then: Stamp) -> String {
    let seconds = now.millis().saturating_sub(then.millis()).max(0) / 1_000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

pub const fn risk(risk: Risk) -> &'static str {
    match risk {
        Risk::Low => "low risk",
        Risk::Medium => "medium risk",
        Risk::High => "high risk",
    }
}

/// What became of an ask that was settled elsewhere.
pub fn outcome(verdict: &Verdict, by: &Judge) -> String {
    let who = match by {
        Judge::Human => "by you, elsewhere".to_owned(),
        Judge::Policy { name } => format!("by {}", one_line(name)),
        Judge::Asker => "by the asker".to_owned(),
    };
    match verdict {
        Verdict::Allow { grant: Some(grant), .. } => {
            format!("allowed {who}, with {}", rules(&grant.permits))
        }
        Verdict::Allow { input: Some(_), .. } => format!("allowed {who}, with a changed input"),
        Verdict::Allow { .. } => format!("allowed {who}"),
        Verdict::Deny { why: Some(why) } => format!("denied {who}: {}", one_line(why)),
        Verdict::Deny { why: None } => format!("denied {who}"),
        Verdict::Chose { .. } | Verdict::Answered { .. } => format!("answered {who}"),
        Verdict::Withdrawn { why } => format!("withdrawn: {}", one_line(why)),
    }
}

/// Rules in one line.
pub fn rules(permits: &[Permit]) -> String {
    let all: Vec<String> = permits.iter().map(|permit| one_line(&permit.to_string())).collect();
    all.join(", ")
}
