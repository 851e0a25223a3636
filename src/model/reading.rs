//! From bytes to chunks, whatever the format: a decoder per provider, one loop for all.

use std::collections::VecDeque;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::http::{Answered, Http, Incoming, Outgoing};
use super::sse::Events;
use super::{Answer, Chunk, ModelError};
use crate::protocol::json;

/// How long to wait for the end of a body whose answer is complete. A body that was read to its
/// end leaves a connection that the next request can use.
const FAREWELL: Duration = Duration::from_millis(200);

/// No answer is longer: whoever sends more means no good.
const LONGEST: usize = 64 * 1024 * 1024;

/// How much of something unexpected is quoted. More is cut later, when the key is out of it.
const QUOTED: usize = 4096;

/// Chunks that wait to be taken.
pub type Ready = VecDeque<Result<Chunk, ModelError>>;

/// Turns what one format sends into chunks, the same for all formats.
///
/// Implementors owe: `Chunk::Ended` comes only when the answer is known to be complete, and a
/// tool call becomes a block only when its input is whole.
pub trait Decode: Send + 'static {
    /// The data of one event.
    fn event(&mut self, data: &str, ready: &mut Ready) -> Result<(), ModelError>;

    /// An answer that came in one piece.
    fn whole(&mut self, text: &str, ready: &mut Ready) -> Result<(), ModelError>;

    /// The stream ends, and no `Chunk::Ended` was made yet.
    fn end(&mut self, ready: &mut Ready) -> Result<(), ModelError>;
}

/// Sends a request when polled, and reads the answer.
pub fn ask(http: Http, outgoing: Outgoing, mut decoder: impl Decode) -> Answer {
    let asking = async move {
        match http.post(outgoing).await? {
            Answered::Events(body) => Ok(read(body, decoder)),
            Answered::Whole(text) => {
                let mut ready = Ready::new();
                let read = decoder.whole(&text, &mut ready);
                ready.extend(read.err().map(Err));
                Ok(stream::iter(ready).boxed())
            }
        }
    };
    stream::once(asking).try_flatten().boxed()
}

/// Reads a body of events.
pub fn read(body: Incoming, decoder: impl Decode) -> Answer {
    let reading = Reading {
        body,
        events: Events::default(),
        decoder,
        ready: Ready::new(),
        state: State::Reading,
        seen: 0,
    };
    let next = |mut reading: Reading<_>| async move {
        let chunk = reading.next().await?;
        Some((chunk, reading))
    };
    stream::unfold(reading, next).boxed()
}

struct Reading<D> {
    body: Incoming,
    events: Events,
    decoder: D,
    ready: Ready,
    state: State,
    /// Bytes that came.
    seen: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Reading,
    /// The answer is complete; the body may not be.
    Complete,
    Over,
}

impl<D: Decode> Reading<D> {
    async fn next(&mut self) -> Option<Result<Chunk, ModelError>> {
        loop {
            if let Some(chunk) = self.ready.pop_front() {
                return Some(chunk);
            }
            match self.state {
                State::Over => return None,
                State::Complete => {
                    let rest = async { while let Some(Ok(_)) = self.body.next().await {} };
                    // In time or not, the answer is complete.
                    let _ = timeout(FAREWELL, rest).await;
                    self.state = State::Over;
                }
                State::Reading => {
                    let piece = self.body.next().await;
                    let over = piece.is_none();
                    if let Err(error) = self.take(piece) {
                        self.ready.push_back(Err(error));
                        self.state = State::Over;
                    } else if over {
                        self.state = State::Over; // a body that ended must not be asked again
                    } else if matches!(self.ready.back(), Some(Ok(Chunk::Ended { .. }))) {
                        self.state = State::Complete;
                    }
                }
            }
        }
    }

    fn take(&mut self, piece: Option<Result<bytes::Bytes, ModelError>>) -> Result<(), ModelError> {
        let Self { events, decoder, ready, seen, .. } = self;
        let mut decode = |data: &[u8]| {
            if matches!(ready.back(), Some(Ok(Chunk::Ended { .. }))) {
                return Ok(()); // whatever follows the end
            }
            let text = std::str::from_utf8(data).map_err(|error| ModelError::BadAnswer {
                message: format!("not UTF-8: {error}"),
            })?;
            decoder.event(text, ready)
        };
        match piece {
            Some(piece) => {
                let piece = piece?;
                *seen += piece.len();
                if *seen > LONGEST {
                    let message = format!("an answer of more than {LONGEST} bytes");
                    return Err(ModelError::BadAnswer { message });
                }
                events.push(&piece).map_err(|_| ModelError::BadAnswer {
                    message: "an event without end".to_owned(),
                })?;
                events.drain(decode)
            }
            None => {
                events.finish(&mut decode)?;
                match ready.back() {
                    Some(Ok(Chunk::Ended { .. })) => Ok(()),
                    Some(_) | None => decoder.end(ready),
                }
            }
        }
    }
}

/// Reads one JSON document, or says what came instead.
pub fn document<T: DeserializeOwned>(text: &str) -> Result<T, ModelError> {
    json::from_text(text)
        .map_err(|error| ModelError::BadAnswer { message: format!("{error}: {}", quoted(text)) })
}

/// The beginning of a text that was not expected.
pub fn quoted(text: &str) -> String {
    text.chars().take(QUOTED).collect()
}

/// The input of a tool call, from the text that it arrived as.
pub fn tool_input(name: &str, text: &str) -> Result<serde_json::Value, ModelError> {
    if text.trim().is_empty() {
        return Ok(serde_json::Value::Object(serde_json::Map::new()));
    }
    let wrong = |what: String| ModelError::BadAnswer {
        message: format!("the input of a call to {name} is {what}"),
    };
    match json::from_text(text) {
        Ok(input @ serde_json::Value::Object(_)) => Ok(input),
        Ok(_) => Err(wrong("no object".to_owned())),
        Err(error) => Err(wrong(format!("not JSON: {error}"))),
    }
}
