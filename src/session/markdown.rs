//! A session as Markdown, for people who were not there: who said what, what was done and what
//! was decided, in the order in which it happened.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value;

use crate::protocol::ask::{Question, Verdict, measured};
use crate::protocol::content::{ChatMessage, Known};
use crate::protocol::event::{AgentAbout, Event, Fact, Level};
use crate::protocol::ids::TaskId;
use crate::protocol::message::Body;
use crate::protocol::task::Task;

/// Longer words of people and agents are cut: the journal has them all.
const LONGEST: usize = 20_000;
/// And so are outputs of commands.
const LONGEST_OUTPUT: usize = 2_000;

pub fn of<'a>(title: &str, events: impl IntoIterator<Item = &'a Event>) -> String {
    let mut page = Page { out: format!("# {}\n", line(title)), ..Page::default() };
    for event in events {
        page.event(event);
    }
    page.tasks();
    page.out
}

#[derive(Default)]
struct Page {
    out: String,
    /// Whose part this is.
    speaker: Option<String>,
    /// Commands that run, by their calls.
    commands: BTreeSet<String>,
    /// As they are in the end.
    tasks: BTreeMap<TaskId, Task>,
}

impl Page {
    fn event(&mut self, event: &Event) {
        let who = event.agent.as_ref().map_or("session", |agent| agent.name.as_str());
        self.learn(&event.fact);
        for entry in entry(&event.fact).into_iter().chain(self.shown(&event.fact)) {
            self.add(who, event, entry);
        }
    }

    fn add(&mut self, who: &str, event: &Event, entry: Entry) {
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

    #[expect(clippy::wildcard_enum_match_arm, reason = "nothing else must be remembered")]
    fn learn(&mut self, fact: &Fact) {
        match fact {
            Fact::ToolStarted { use_id, tool, .. } if tool == "Bash" => {
                self.commands.insert(use_id.clone());
            }
            Fact::TaskChanged { task } => {
                self.tasks.insert(task.id.clone(), task.clone());
            }
            Fact::TaskDeleted { id } => {
                self.tasks.remove(id);
            }
            _ => {}
        }
    }

    /// What came of it that is worth seeing: plans, changes of files, what commands printed.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the rest is told in its line")]
    fn shown(&self, fact: &Fact) -> Vec<Entry> {
        match fact {
            Fact::Asked { ask } => match &ask.question {
                Question::Plan { text, .. } => vec![Entry::Words(cut(text).to_owned())],
                _ => Vec::new(),
            },
            Fact::ToolEnded { data, .. } => {
                let diff = data.get("diff").and_then(Value::as_str);
                diff.map(|diff| Entry::Words(fenced("diff", diff))).into_iter().collect()
            }
            Fact::Heard { from, message, .. } if from == "tools" => {
                let results = message.content.known().into_iter().filter_map(|known| match known {
                    Known::ToolResult { tool_use_id, content, .. } => {
                        let printed = content.map(|content| content.text())?;
                        let is_command = self.commands.contains(&tool_use_id);
                        (is_command && !printed.trim().is_empty())
                            .then(|| Entry::Words(fenced("", beginning(&printed))))
                    }
                    _ => None,
                });
                results.collect()
            }
            _ => Vec::new(),
        }
    }

    fn tasks(&mut self) {
        if !self.tasks.is_empty() {
            self.out.push_str("\n## Tasks\n\n");
        }
        for task in self.tasks.values() {
            let mark = if task.is_open() { ' ' } else { 'x' };
            let owner = task.owner().map(|owner| format!(" ({owner})")).unwrap_or_default();
            let _ = writeln!(self.out, "- [{mark}] #{} {}{owner}", task.id, line(&task.subject));
        }
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
        Verdict::Allow { input, grant, remark } => {
            let mut said = "allowed".to_owned();
            if let Some(input) = input {
                let _ = write!(said, ", changed to {}", code(&input.to_string()));
            }
            for permit in grant.iter().flat_map(|grant| &grant.permits) {
                let _ = write!(said, ", and from now on {}", code(&permit.to_string()));
            }
            joined(&said, remark.as_deref().unwrap_or_default())
        }
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
    first(text, LONGEST)
}

/// As much of an output as shows what it was.
fn beginning(text: &str) -> &str {
    first(text, LONGEST_OUTPUT)
}

fn first(text: &str, most: usize) -> &str {
    let end = text.char_indices().nth(most).map_or(text.len(), |(at, _)| at);
    &text[..end]
}

/// In a fence that is longer than any in the text.
fn fenced(language: &str, text: &str) -> String {
    let text = cut(text).trim_end();
    let longest = text.lines().map(|line| line.chars().take_while(|c| *c == '`').count()).max();
    let fence = "`".repeat(longest.unwrap_or(0).max(2) + 1);
    format!("{fence}{language}\n{text}\n{fence}")
}
