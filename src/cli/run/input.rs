//! What a run is asked: once on the command line, or message after message on standard input.

use std::io::{self, IsTerminal};

use serde::Deserialize;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, Lines, Stdin};

use super::args::{InputFormat, Run};
use super::control::Control;
use crate::cli::failure::Failure;
use crate::protocol::content::ChatMessage;
use crate::protocol::json;
use crate::protocol::op::When;

pub enum Input {
    Once(Option<String>),
    Stream { first: Option<String>, lines: Lines<BufReader<Stdin>>, line: usize },
    Over,
}

#[derive(Deserialize)]
struct Message {
    #[serde(rename = "type")]
    kind: String,
    message: Option<ChatMessage>,
    priority: Option<When>,
    request_id: Option<String>,
    request: Option<Value>,
}

/// What a line of input says.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    Words(Words),
    Control(Control),
    /// The answer to this request is not wanted any more.
    Cancel(String),
}

/// Words for the lead, and how urgent they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    pub text: String,
    pub when: When,
}

impl Words {
    fn usual(text: String) -> Self {
        Self { text, when: When::Next }
    }
}

impl Input {
    pub async fn open(run: &Run) -> Result<Self, Failure> {
        let first = run.prompt.clone().filter(|prompt| prompt != "-");
        if run.input_format == InputFormat::StreamJson {
            let lines = BufReader::new(tokio::io::stdin()).lines();
            return Ok(Self::Stream { first, lines, line: 0 });
        }
        // A session that is gone on with may have something left to do.
        let may_be_silent = run.prompt.is_none() && (run.go_on || run.resume.is_some());
        let text = match first {
            Some(text) => text,
            None if run.prompt.is_none() && io::stdin().is_terminal() => String::new(),
            None => {
                let mut text = String::new();
                tokio::io::stdin().read_to_string(&mut text).await?;
                text
            }
        };
        match text.trim().is_empty() {
            true if may_be_silent => Ok(Self::Over),
            true if run.prompt.is_none() => {
                Err(Failure::bad_input("say what to do: -p TEXT, or write it to standard input"))
            }
            true => Err(Failure::bad_input("the prompt is empty")),
            false => Ok(Self::Once(Some(text))),
        }
    }

    pub fn is_over(&self) -> bool {
        matches!(self, Self::Over)
    }

    /// Whether somebody may wait for an answer before they write more.
    pub fn is_dialogue(&self) -> bool {
        matches!(self, Self::Stream { .. })
    }

    /// The next message; `None` when there will be none. There is none after a bad one.
    pub async fn next(&mut self) -> Result<Option<Said>, Failure> {
        let next = self.read().await;
        if !matches!(next, Ok(Some(_))) {
            *self = Self::Over;
        }
        next
    }

    async fn read(&mut self) -> Result<Option<Said>, Failure> {
        match self {
            Self::Once(text) => Ok(text.take().map(Words::usual).map(Said::Words)),
            Self::Stream { first, lines, line } => {
                if let Some(text) = first.take() {
                    return Ok(Some(Said::Words(Words::usual(text))));
                }
                loop {
                    let read = lines.next_line().await;
                    *line += 1;
                    match read.map_err(|error| wrong(*line, &error.to_string()))? {
                        None => return Ok(None),
                        Some(text) if text.trim().is_empty() => {}
                        Some(text) => return message(&text, *line).map(Some),
                    }
                }
            }
            Self::Over => Ok(None),
        }
    }
}

fn wrong(line: usize, what: &str) -> Failure {
    Failure::bad_input(format!("line {line} of the input: {what}"))
}

fn message(text: &str, line: usize) -> Result<Said, Failure> {
    let read: Message = json::from_text(text).map_err(|error| wrong(line, &error.to_string()))?;
    let Message { kind, message, priority, request_id, request } = read;
    match (kind.as_str(), message, request_id, request) {
        ("user", Some(message), ..) => {
            let (text, when) = (message.content.text(), priority.unwrap_or(When::Next));
            match text.trim().is_empty() {
                true => Err(wrong(line, "the message is empty")),
                false => Ok(Said::Words(Words { text, when })),
            }
        }
        ("control_request", _, Some(id), Some(request)) => {
            Ok(Said::Control(Control { id, request }))
        }
        ("control_request", ..) => {
            Err(wrong(line, "a `control_request` needs `request_id` and `request`"))
        }
        ("control_cancel_request", _, Some(id), _) => Ok(Said::Cancel(id)),
        _ => Err(wrong(line, &format!("`{kind}` is not a user message"))),
    }
}
