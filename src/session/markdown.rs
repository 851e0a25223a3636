//! A session as Markdown, for people who were not there: who said what, what was done and what
//! was decided, in the order in which it happened.

use std::fmt::Write as _;

use crate::protocol::ask::{Question, Verdict, measured};
use crate::protocol::content::{ChatMessage, Known};
use crate::protocol::event::{AgentAbout, Event, Fact, Level};
use crate::protocol::message::Body;
use crate::protocol::task::Task;

/// Longer words of people and agents are cut: the journal has them all.
const LONGEST: usize = 20_000;

pub fn of<'a>(title: &str, events: impl IntoIterator<Item = &'a Event>) -> String {
    let mut page = Page { out: format!("# {}\n", line(title)), speaker: None };
    for event in events {
        page.event(event);
    }
    page.out
}

struct Page {
    out: String,
    /// Whose part this is.
    speaker: Option<String>,
}

impl Page {
    fn event(&mut self, event: &Event) {
        let who = event.agent.as_ref().map_or("session", |agent| agent.name.as_str());
        let Some(entry) = entry(&event.fact) else { return };
        let entry = match entry {
            Entry::Words(words) => words,
            Entry::Item(item) => format!("- {}", line(&item)),
            Entry::Note(note) => format!("> {}", line(&note)),
        };
        if self.speaker.as_deref() != Some(who) {
            let hour = event.at.to_string().get(11..19).unwrap_or_default().to_owned();
            let _ = write!(self.out, "\n## {} ({hour})\n", line(who));
            self.speaker = Some(who.to_owned());
        }
        let list = entry.starts_with("- ") && self.out.lines().last().is_some_and(is_item);
        let gap = if list { "" } else { "\n" };
        let _ = writeln!(self.out, "{gap}{}", entry.trim_end());
    }
}

fn is_item(line: &str) -> bool {
    line.starts_with("- ")
}

enum Entry {
    Words(String),
    Item(String),
    Note(String),
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the rest says nothing to people who were not there"
)]
fn entry(fact: &Fact) -> Option<Entry> {
    let entry = match fact {
        Fact::AgentStarted { about } => Entry::Note(started(about)),
        Fact::AgentEnded { status, why } => Entry::Note(joined(&format!("ended: {status}"), why)),
        Fact::Heard { from, message, .. } => heard(from, message)?,
        Fact::Spoke { message, .. } => Entry::Words(spoken(message)?),
        Fact::ToolStarted { tool, summary, .. } => {
            Entry::Item(format!("**{}** {}", line(tool), code(summary)))
        }
        Fact::ToolEnded { failed: true, summary, .. } => Entry::Item(format!("failed: {summary}")),
        Fact::Asked { ask } => Entry::Item(asked(&ask.question)),
        Fact::Settled { verdict, .. } => Entry::Item(settled(verdict)),
        Fact::MailSent { to, message } => mail(to.as_str(), &message.text, &message.body()),
        Fact::TaskChanged { task } => Entry::Item(changed(task)),
        Fact::TaskDeleted { id } => Entry::Item(format!("task #{id} deleted")),
        Fact::TeamCreated { name, description } => {
            Entry::Note(joined(&format!("team {name}"), description))
        }
        Fact::MemberJoined { member } => Entry::Item(format!("{} joins the team", member.name)),
        Fact::MemberLeft { name } => Entry::Item(format!("{name} leaves the team")),
        Fact::TurnEnded { outcome, why, .. } if outcome != "done" => {
            Entry::Note(joined(outcome, why))
        }
        Fact::Notice { level, text } if *level != Level::Info => Entry::Note(text.clone()),
        Fact::Compacted { before, after, .. } => {
            Entry::Note(format!("the conversation was summarised: {before} to {after} tokens"))
        }
        _ => return None,
    };
    Some(entry)
}

fn started(about: &AgentAbout) -> String {
    joined(&format!("{} on {}", about.agent_type, about.model), &about.description)
}

fn joined(one: &str, two: &str) -> String {
    if two.is_empty() { one.to_owned() } else { format!("{one}: {two}") }
}

/// Results of tools were told when the tools ended.
fn heard(from: &str, message: &ChatMessage) -> Option<Entry> {
    if from == "tools" || from == "system" {
        return None;
    }
    let words = quoted(&message.content.text());
    Some(Entry::Words(format!("**{}:**\n\n{words}", line(from))))
}

fn spoken(message: &ChatMessage) -> Option<String> {
    let texts: Vec<String> = message
        .content
        .known()
        .into_iter()
        .filter_map(|known| match known {
            Known::Text { text } => Some(text),
            Known::Thinking { .. }
            | Known::RedactedThinking { .. }
            | Known::ToolUse { .. }
            | Known::ToolResult { .. }
            | Known::Image { .. } => None,
        })
        .filter(|text| !text.trim().is_empty())
        .collect();
    (!texts.is_empty()).then(|| cut(&texts.join("\n\n")).to_owned())
}

fn asked(question: &Question) -> String {
    match question {
        Question::Tool { name, input, .. } => {
            format!("asks to use **{}** {}", line(name), code(&input.to_string()))
        }
        Question::Plan { file, .. } => format!("asks for approval of the plan {}", file.display()),
        Question::Words { questions } => {
            let all: Vec<&str> = questions.iter().map(|one| one.question.as_str()).collect();
            format!("asks: {}", all.join(" "))
        }
        Question::Budget { what, used, limit, .. } => {
            format!("{} of {} used", measured(*what, *used), measured(*what, *limit))
        }
        Question::NoAnswerToShutdown => "is not answering: end it?".to_owned(),
    }
}

fn settled(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Allow { remark, .. } => joined("allowed", remark.as_deref().unwrap_or_default()),
        Verdict::Deny { why } => joined("denied", why.as_deref().unwrap_or_default()),
        Verdict::Withdrawn { why } => joined("withdrawn", why),
        Verdict::Chose { choice, text } => {
            joined(&format!("chose {}", choice + 1), text.as_deref().unwrap_or_default())
        }
        Verdict::Answered { answers } => {
            let words: Vec<String> = answers.iter().map(|answer| answer.join(", ")).collect();
            joined("answered", &words.join("; "))
        }
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "every other body is protocol")]
fn mail(to: &str, text: &str, body: &Body) -> Entry {
    match body {
        Body::Plain(_) => Entry::Words(format!("**to {}:**\n\n{}", line(to), quoted(text))),
        _ => Entry::Item(format!("to {}: {}", line(to), code(text))),
    }
}

fn changed(task: &Task) -> String {
    let owner = task.owner().map(|owner| format!(" ({owner})")).unwrap_or_default();
    format!("task #{} {}: {}{owner}", task.id, task.status.as_str(), task.subject)
}

/// Words of somebody else, as a quotation.
fn quoted(text: &str) -> String {
    let lines: Vec<String> = cut(text).lines().map(|line| format!("> {line}")).collect();
    lines.join("\n")
}

/// Everything on one line.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// On one line, as it was written.
fn code(text: &str) -> String {
    let text = line(text);
    if text.is_empty() {
        return text;
    }
    let fence = if text.contains('`') { "``" } else { "`" };
    format!("{fence}{}{fence}", cut(&text))
}

fn cut(text: &str) -> &str {
    let end = text.char_indices().nth(LONGEST).map_or(text.len(), |(at, _)| at);
    &text[..end]
}
