//! What a run is asked: once on the command line, or message after message on standard input.

use std::io::{self, IsTerminal};

use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, Lines, Stdin};

use super::args::{InputFormat, Run};
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
    pub async fn next(&mut self) -> Result<Option<Words>, Failure> {
        let next = self.read().await;
        if !matches!(next, Ok(Some(_))) {
            *self = Self::Over;
        }
        next
    }

    async fn read(&mut self) -> Result<Option<Words>, Failure> {
        match self {
            Self::Once(text) => Ok(text.take().map(Words::usual)),
            Self::Stream { first, lines, line } => {
                if let Some(text) = first.take() {
                    return Ok(Some(Words::usual(text)));
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

fn message(text: &str, line: usize) -> Result<Words, Failure> {
    let read: Message = json::from_text(text).map_err(|error| wrong(line, &error.to_string()))?;
    let (text, when) = match read {
        Message { kind, message: Some(message), priority } if kind == "user" => {
            (message.content.text(), priority.unwrap_or(When::Next))
        }
        Message { kind, .. } => {
            return Err(wrong(line, &format!("`{kind}` is no message of a user")));
        }
    };
    match text.trim().is_empty() {
        true => Err(wrong(line, "the message has no words")),
        false => Ok(Words { text, when }),
    }
}
