//! A conversation as an actor hears it: what came in before each of its answers.

use std::collections::HashMap;

use crate::protocol::content::{Block, ChatMessage, Content, Known, Role};

/// Everything that came in between two answers.
#[derive(Debug, Default)]
pub struct Cue<'a> {
    /// Texts in the user role, oldest first; results of tools are not among them.
    pub texts: Vec<&'a str>,
    pub results: Vec<Outcome<'a>>,
}

/// The result of a tool.
#[derive(Debug)]
pub struct Outcome<'a> {
    pub tool: &'a str,
    pub text: String,
    pub is_error: bool,
}

/// A message of a teammate inside a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mail<'a> {
    pub from: &'a str,
    pub text: &'a str,
}

/// The cues of a conversation. The last one has not been answered yet.
#[derive(Debug)]
pub struct History<'a> {
    cues: Vec<Cue<'a>>,
}

impl<'a> History<'a> {
    pub fn of(messages: &[&'a ChatMessage]) -> Self {
        let mut tools: HashMap<&str, &str> = HashMap::new();
        let mut cues = vec![Cue::default()];
        let mut speaker = Role::User;
        for message in messages {
            // Several messages of the same role in a row are one.
            if message.role == Role::User && speaker == Role::Assistant {
                cues.push(Cue::default());
            }
            speaker = message.role;
            for block in blocks(&message.content) {
                match (message.role, block) {
                    (Role::Assistant, Part::Block(Known::ToolUse { id, name, .. })) => {
                        tools.insert(id, name);
                    }
                    (Role::User, part) => {
                        if let Some(cue) = cues.last_mut() {
                            cue.add(part, &tools);
                        }
                    }
                    (Role::Assistant, Part::Text(_) | Part::Block(_)) => {}
                }
            }
        }
        if speaker == Role::Assistant {
            cues.push(Cue::default());
        }
        Self { cues }
    }

    /// Only what happened since the conversation was forked, if it was.
    pub fn since_fork(mut self) -> Self {
        let forked =
            |cue: &Cue<'_>| cue.texts.iter().any(|text| text.contains("<fork-boilerplate>"));
        if let Some(start) = self.cues.iter().rposition(forked) {
            self.cues.drain(..start);
        }
        self
    }

    /// The cues that were answered, oldest first, and the one that was not.
    pub fn split(&self) -> (&[Cue<'a>], &Cue<'a>) {
        static NOTHING: Cue<'static> = Cue { texts: Vec::new(), results: Vec::new() };
        match self.cues.split_last() {
            Some((last, answered)) => (answered, last),
            None => (&[], &NOTHING),
        }
    }

    /// How many answers were given before.
    pub fn position(&self) -> usize {
        self.cues.len() - 1
    }

    /// The newest result, of this tool if one is given.
    pub fn newest_result(&self, tool: Option<&str>) -> Option<&Outcome<'a>> {
        let results = self.cues.iter().rev().flat_map(|cue| cue.results.iter().rev());
        results.into_iter().find(|result| tool.is_none_or(|tool| result.tool == tool))
    }

    /// The newest text in the user role.
    pub fn newest_text(&self) -> Option<&'a str> {
        Self::newest_in(&self.cues)
    }

    /// The newest text in these cues.
    pub fn newest_in(cues: &[Cue<'a>]) -> Option<&'a str> {
        cues.iter().rev().find_map(|cue| cue.texts.last().copied())
    }

    /// The newest request id in the mail.
    pub fn request_id(&self) -> Option<&'a str> {
        let texts = self.cues.iter().rev().flat_map(|cue| cue.texts.iter().rev());
        texts.flat_map(|text| mails(text).into_iter().rev()).find_map(|mail| request_id(mail.text))
    }
}

impl<'a> Cue<'a> {
    fn add(&mut self, part: Part<'a>, tools: &HashMap<&'a str, &'a str>) {
        match part {
            Part::Text(text) => self.texts.push(text),
            Part::Block(Known::Text { text }) => self.texts.push(text),
            Part::Block(Known::ToolResult { tool_use_id, content, is_error }) => {
                self.results.push(Outcome {
                    tool: tools.get(tool_use_id.as_str()).copied().unwrap_or_default(),
                    text: content.as_ref().map(Content::text).unwrap_or_default(),
                    is_error: is_error.unwrap_or_default(),
                });
            }
            Part::Block(
                Known::Thinking { .. }
                | Known::RedactedThinking { .. }
                | Known::ToolUse { .. }
                | Known::Image { .. },
            ) => {}
        }
    }

    /// Newest first.
    pub fn mails(&self) -> impl Iterator<Item = Mail<'a>> {
        self.texts.iter().rev().flat_map(|text| mails(text).into_iter().rev())
    }
}

/// Plain text is one part.
enum Part<'a> {
    Text(&'a str),
    Block(&'a Known),
}

fn blocks(content: &Content) -> Vec<Part<'_>> {
    match content {
        Content::Text(text) => vec![Part::Text(text)],
        Content::Blocks(blocks) => {
            blocks.iter().filter_map(Block::meaning).map(Part::Block).collect()
        }
    }
}

/// The mail in a text, in its order.
pub fn mails(text: &str) -> Vec<Mail<'_>> {
    const OPEN: &str = "<teammate-message";
    const CLOSE: &str = "</teammate-message>";
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once(OPEN) {
        let Some((head, body)) = end_of_tag(after) else { break };
        let Some((body, next)) = body.split_once(CLOSE) else { break };
        if let Some(from) = attribute(head, "teammate_id") {
            found.push(Mail { from, text: body.trim_matches('\n') });
        }
        rest = next;
    }
    found
}

/// Splits behind a tag's attributes; a `>` inside quotes does not end it.
fn end_of_tag(text: &str) -> Option<(&str, &str)> {
    let mut quoted = false;
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '>' if !quoted => return Some((&text[..at], &text[at + 1..])),
            _ => {}
        }
    }
    None
}

fn attribute<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let (_, after) = head.split_once(&format!(" {name}=\""))?;
    after.split_once('"').map(|(value, _)| value)
}

/// The last request id in a protocol body, in either spelling.
fn request_id(text: &str) -> Option<&str> {
    let spellings = ["\"requestId\"", "\"request_id\""];
    let key = spellings.into_iter().filter_map(|key| Some((text.rfind(key)?, key))).max()?;
    let (at, key) = key;
    let value = text[at + key.len()..].trim_start().strip_prefix(':')?.trim_start();
    value.strip_prefix('"')?.split_once('"').map(|(id, _)| id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mail_is_found_in_text() {
        let text = "hello\n<teammate-message teammate_id=\"scout\" color=\"blue\" summary=\"a > b\">\n\
                    found 3\n</teammate-message>\n\n<teammate-message teammate_id=\"bob\">\
                    {\"type\":\"shutdown_request\",\"requestId\":\"shutdown-1@x\"}</teammate-message>";
        let found = mails(text);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0], Mail { from: "scout", text: "found 3" });
        assert_eq!(request_id(found[1].text), Some("shutdown-1@x"));
        assert_eq!(mails("<teammate-message teammate_id=\"x\">open"), []);
    }
}
