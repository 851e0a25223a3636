//! An inbox as text: what its two ends tell, one more message behind the others, marks. The
//! history is neither parsed nor written anew where that is not needed.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::error::StoreError;
use super::files;
use super::mailbox::Which;
use crate::protocol::json::{self, Elements, Json};
use crate::protocol::message::Message;
use crate::protocol::team::Form;
use crate::protocol::time::Stamp;

/// Larger inboxes are set aside: nobody could read them any more.
pub(super) const LARGEST: u64 = 256 << 20;

/// How an inbox begins and ends as everybody in the ecosystem writes it.
const OPENING: &[u8] = b"[\n  {";
const CLOSING: &[u8] = b"\n  }\n]";

/// How much of the end is looked at to tell which form of message an inbox holds.
const TAIL: u64 = 4096;

/// What only messages of session builds have, as it stands in a file. Text cannot look like it:
/// strings hold no line breaks.
const SESSION_MARK: &[u8] = b"\n    \"msgV\": ";

/// What stands before the time of a message, as it is in a file.
const TIME_MARK: &[u8] = b"\n    \"timestamp\": \"";

/// How a message ends that was taken, as everybody writes it. Text cannot look like it, either.
pub(super) const READ: &str = "\n    \"read\": true\n  }";

/// A message as it stands in the array. Line breaks in it are all ours: strings hold none.
pub(super) fn element(message: &Message) -> String {
    json::to_pretty(message).replace('\n', "\n  ")
}

pub(super) fn array(elements: &[String]) -> String {
    match elements.is_empty() {
        true => "[]".to_owned(),
        false => format!("[\n  {}\n]", elements.join(",\n  ")),
    }
}

/// What an inbox looks like from its two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Missing, or an empty array.
    Empty,
    /// As everybody writes it: something can be put in before the last bracket.
    Canonical {
        length: u64,
        form: Form,
        /// When the last message was sent, as far as that can be seen.
        last: Option<Stamp>,
    },
    /// Written differently, or broken.
    Other,
}

impl Shape {
    pub(super) fn of(path: &Path) -> Result<Self, StoreError> {
        let look = || -> io::Result<Self> {
            let mut file = match files::open_to_read(path) {
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::Empty),
                outcome => outcome?,
            };
            let metadata = file.metadata()?;
            let length = metadata.len();
            if !metadata.is_file() || length > LARGEST {
                return Ok(Self::Other);
            }
            let mut head = Vec::new();
            (&mut file).take(OPENING.len() as u64).read_to_end(&mut head)?;
            if head == b"[]" {
                return Ok(Self::Empty);
            }
            let mut tail = Vec::new();
            file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
            (&mut file).take(TAIL).read_to_end(&mut tail)?;
            if head != OPENING || !tail.ends_with(CLOSING) {
                return Ok(Self::Other);
            }
            let session = tail.windows(SESSION_MARK.len()).any(|part| part == SESSION_MARK);
            let form = if session { Form::Session } else { Form::Classic };
            Ok(Self::Canonical { length, form, last: last_stamp(&tail) })
        };
        match look() {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(Self::Other),
            outcome => outcome.map_err(|source| StoreError::io("read", path, source)),
        }
    }
}

/// The time of the last message in the tail of an inbox.
fn last_stamp(tail: &[u8]) -> Option<Stamp> {
    let at = tail.windows(TIME_MARK.len()).rposition(|part| part == TIME_MARK)? + TIME_MARK.len();
    let rest = tail.get(at..)?;
    let end = rest.iter().position(|byte| *byte == b'"')?;
    Stamp::parse(std::str::from_utf8(rest.get(..end)?).ok()?)
}

/// Copies an inbox of this length up to its closing bracket and goes on with one more element.
/// The kernel does the copying (`copy_file_range`).
pub(super) fn splice(path: &Path, new: &mut File, length: u64, text: &str) -> io::Result<()> {
    let keep = length - 2; // the line break and the bracket
    let copied = io::copy(&mut File::open(path)?.take(keep), new)?;
    if copied != keep {
        return Err(io::Error::new(
            ErrorKind::UnexpectedEof,
            "the inbox shrank while it was copied",
        ));
    }
    new.write_all(format!(",\n  {text}\n]").as_bytes())
}

/// The text of an inbox with some messages marked, everything else to the byte as it was, and
/// how many were. `None` for a torn one.
pub(super) fn mark(text: &str, which: &Which<'_>) -> Option<(String, usize)> {
    let elements = Elements::of(text);
    if elements.torn.is_some() {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let (mut done, mut count) = (0, 0);
    for element in elements.whole {
        let unread = !element.ends_with(READ)
            && json::from_text::<Message>(element)
                .is_ok_and(|message| !message.read && which.includes(&message));
        if !unread {
            continue;
        }
        let start = json::offset(text, element);
        let (from, end, mark) = match json::member_span(element, "read") {
            Some(span) => (start + span.start, start + span.end, "true".to_owned()),
            None => {
                let Ok(mut document) = Json::parse(element) else { continue };
                document.set("read", Json::from(true), &[]);
                (start, start + element.len(), document.pretty_at(1))
            }
        };
        out.push_str(&text[done..from]);
        out.push_str(&mark);
        done = end;
        count += 1;
    }
    out.push_str(&text[done..]);
    Some((out, count))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use uuid::Uuid;

    use super::super::mailbox::stamp;
    use super::*;
    use crate::protocol::ids::{AgentName, MessageId};
    use proptest::prelude::*;

    fn arbitrary() -> impl Strategy<Value = Message> {
        let text = any::<String>();
        (text, "[a-z]{1,8}", prop::option::of(any::<String>()), any::<bool>()).prop_map(
            |(text, from, summary, read)| Message {
                read,
                ..Message::new(&AgentName::found(&from), text, stamp()).summary(summary)
            },
        )
    }

    proptest! {
        /// The promise of appending: as if all had been parsed, pushed to and written again.
        #[test]
        fn splicing_equals_parse_append_serialise(
            earlier in prop::collection::vec(arbitrary(), 0..6),
            session in any::<bool>(),
            next in arbitrary(),
        ) {
            let form = |message: Message| match session {
                true => message.in_session_form(Uuid::new_v4().to_string()),
                false => message,
            };
            let mut all: Vec<Message> = earlier.into_iter().map(form).collect();
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("x.json");
            std::fs::write(&path, json::to_pretty(&all)).unwrap();
            let spliced = match Shape::of(&path).unwrap() {
                Shape::Empty => {
                    prop_assert!(all.is_empty());
                    array(&[element(&next)])
                }
                Shape::Canonical { length, form, .. } => {
                    prop_assert_eq!(form == Form::Session, session);
                    let to = dir.path().join("new");
                    splice(&path, &mut File::create(&to).unwrap(), length, &element(&next)).unwrap();
                    std::fs::read_to_string(to).unwrap()
                }
                Shape::Other => return Err(TestCaseError::fail("not seen as canonical")),
            };
            all.push(next);
            prop_assert_eq!(spliced, json::to_pretty(&all));
        }

        #[test]
        fn marking_changes_nothing_but_the_mark(
            all in prop::collection::vec(arbitrary(), 0..6), pick in any::<u8>()
        ) {
            let chosen: HashSet<MessageId> = all.iter().enumerate()
                .filter(|(at, _)| pick & (1 << at) != 0)
                .map(|(_, message)| message.id())
                .collect();
            let (marked, count) = mark(&json::to_pretty(&all), &Which::These(&chosen)).unwrap();
            let expected: Vec<Message> = all.iter().cloned()
                .map(|message| Message { read: message.read || chosen.contains(&message.id()), ..message })
                .collect();
            let changed = all.iter().filter(|m| !m.read && chosen.contains(&m.id())).count();
            prop_assert_eq!(marked, json::to_pretty(&expected));
            prop_assert_eq!(count, changed);
        }
    }
}
