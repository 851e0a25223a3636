//! Inboxes: one JSON array per agent, appended to by everybody, marked by its reader.
//!
//! A message is appended by splicing it in before the closing bracket of a copied file: the
//! history is neither parsed nor written anew, however long it is. Messages are marked by
//! identity, never by position, since other programs remove entries.

use std::collections::HashSet;
use std::fs::{DirBuilder, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};

use uuid::Uuid;

use super::error::{Damage, Problem, Problems, StoreError};
use super::files::{self, Try};
use super::lock::Held;
use super::{Store, roster};
use crate::protocol::ids::{AgentName, MessageId, TeamDir};
use crate::protocol::json::{self, Elements, Json, JsonError};
use crate::protocol::message::{Body, Message, TaskAssignment};
use crate::protocol::task::Task;
use crate::protocol::team::{Form, Team};
use crate::protocol::time::Stamp;

/// Larger inboxes are set aside: nobody could read them any more.
const LARGEST: u64 = 256 << 20;

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
const READ: &str = "\n    \"read\": true\n  }";

/// All inboxes of one team.
#[derive(Debug)]
pub struct Mailbox<'a> {
    store: &'a Store,
    team: TeamDir,
}

/// What an inbox holds, oldest first, and what in it could not be understood.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inbox {
    pub messages: Vec<Message>,
    pub problems: Problems,
}

impl Inbox {
    pub fn unread(&self) -> impl Iterator<Item = &Message> {
        self.messages.iter().filter(|message| !message.read)
    }
}

/// Which messages to mark as read.
#[derive(Debug, Clone)]
pub enum Which<'a> {
    All,
    These(&'a HashSet<MessageId>),
}

impl Which<'_> {
    fn includes(&self, message: &Message) -> bool {
        match self {
            Self::All => true,
            Self::These(ids) => ids.contains(&message.id()),
        }
    }
}

/// Who got a message that was sent to all, and who did not.
#[derive(Debug, Default)]
pub struct Reached {
    pub by: Vec<AgentName>,
    pub failed: Vec<(AgentName, StoreError)>,
}

/// The time for a message: never twice the same in one process, so that two equal texts of one
/// sender stay two messages. Among processes, appending sees to it.
pub fn stamp() -> Stamp {
    static LAST: AtomicI64 = AtomicI64::new(0);
    let now = files::now().millis();
    let later = |last: i64| now.max(last + 1);
    let last = LAST.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |last| Some(later(last)));
    Stamp::from_millis(later(last.unwrap_or_default()))
}

/// A message that is on disk.
#[derive(Debug, Clone, PartialEq)]
pub struct Sent {
    pub message: Message,
    /// When the message before it in the inbox was sent, as far as that can be seen.
    pub behind: Option<Stamp>,
}

impl<'a> Mailbox<'a> {
    pub(super) fn new(store: &'a Store, team: TeamDir) -> Self {
        Self { store, team }
    }

    fn path(&self, agent: &AgentName) -> PathBuf {
        self.store.home().inbox(&self.team, agent)
    }

    /// The inbox of an agent; one that nobody has written to yet is empty.
    pub fn read(&self, agent: &AgentName) -> Result<Inbox, StoreError> {
        let path = self.path(agent);
        files::patiently(|round| {
            let Some((text, damage)) = read_inbox(&path)? else { return Ok(Inbox::default()) };
            let elements = Elements::of(&text);
            let damage = damage.or(elements.torn.clone().map(Damage::Json));
            let mut inbox = inbox_of(&path, &text, &elements);
            match (damage, round) {
                (None, _) => {}
                (Some(damage), Try::Early) => return Err(StoreError::broken(&path, damage)),
                // It stays as it is until somebody writes to it: show what is whole.
                (Some(damage), Try::Last) => {
                    inbox.problems.add(|| Problem::new(&path, format!("broken: {damage}")));
                }
            }
            Ok(inbox)
        })
    }

    /// Sends plain words to a member of the team. When this returns, the message is on disk.
    pub fn send(&self, to: &AgentName, message: Message) -> Result<Message, StoreError> {
        let team = self.store.rosters().team(&self.team)?;
        Ok(self.send_plain_among(&team, to, message)?.message)
    }

    /// As `send`, with a body of the protocol, which only a runtime may send.
    pub fn send_typed(&self, to: &AgentName, message: Message) -> Result<Message, StoreError> {
        let team = self.store.rosters().team(&self.team)?;
        Ok(self.send_typed_among(&team, to, message)?.message)
    }

    /// As `send`, by whoever has just read the roster.
    pub fn send_plain_among(
        &self,
        team: &Team,
        to: &AgentName,
        message: Message,
    ) -> Result<Sent, StoreError> {
        refuse_forgery(&message)?;
        self.send_typed_among(team, to, message)
    }

    /// As `send_typed`, by whoever has just read the roster.
    pub fn send_typed_among(
        &self,
        team: &Team,
        to: &AgentName,
        message: Message,
    ) -> Result<Sent, StoreError> {
        roster::member(team, to)?;
        self.deliver(to, message, team.form())
    }

    /// What an agent has not taken yet, oldest first. What it has is not parsed again.
    pub fn unread(&self, agent: &AgentName) -> Result<Vec<Message>, StoreError> {
        let path = self.path(agent);
        if let Some((text, None)) = read_inbox(&path)? {
            let elements = Elements::of(&text);
            let open = elements.whole.iter().filter(|element| !element.ends_with(READ));
            let messages: Result<Vec<Message>, _> = open.map(|one| json::from_text(one)).collect();
            if let (None, Ok(mut messages)) = (elements.torn, messages) {
                messages.retain(|message| !message.read);
                return Ok(messages);
            }
        }
        let mut messages = self.read(agent)?.messages;
        messages.retain(|message| !message.read);
        Ok(messages)
    }

    /// Sends plain words to everybody but the sender, as far as it goes.
    pub fn broadcast(&self, message: &Message) -> Result<Reached, StoreError> {
        refuse_forgery(message)?;
        let team = self.store.rosters().team(&self.team)?;
        let mut reached = Reached::default();
        for member in team.members.iter().filter(|member| member.name != message.from) {
            match self.deliver(&member.name, message.clone(), team.form()) {
                Ok(_) => reached.by.push(member.name.clone()),
                Err(error) => reached.failed.push((member.name.clone(), error)),
            }
        }
        Ok(reached)
    }

    /// Tells a task's owner that it is theirs now.
    pub fn assign(&self, task: &Task, by: &AgentName) -> Result<Option<Message>, StoreError> {
        let Some(owner) = task.owner().filter(|owner| *owner != by) else { return Ok(None) };
        let at = stamp();
        let body = Body::TaskAssignment(TaskAssignment {
            task_id: task.id.to_string(),
            subject: task.subject.clone(),
            description: task.description.clone(),
            assigned_by: by.clone(),
            timestamp: at.to_string(),
        });
        self.send_typed(owner, Message::with_body(by, &body, at)).map(Some)
    }

    fn deliver(&self, to: &AgentName, message: Message, team: Form) -> Result<Sent, StoreError> {
        let path = self.path(to);
        self.in_lock(to, |held, round| {
            let shape = Shape::of(&path)?;
            let (form, last) = match shape {
                Shape::Canonical { form: Form::Session, last, .. } => (Form::Session, last),
                Shape::Canonical { form: Form::Classic, last, .. } => (team, last),
                Shape::Empty | Shape::Other => (team, None),
            };
            let mut message = message.clone().later_than(last);
            if form == Form::Session {
                message = message.in_session_form(Uuid::new_v4().to_string());
            }
            let text = element(&message);
            match shape {
                Shape::Empty => held.replace(&path, format!("[\n  {text}\n]").as_bytes())?,
                Shape::Canonical { length, .. } => {
                    held.replace_with(&path, |new| splice(&path, new, length, &text))?;
                }
                Shape::Other => {
                    let mut all = rescue(held, &path, round)?;
                    all.push(text);
                    held.replace(&path, array(&all).as_bytes())?;
                }
            }
            Ok(Sent { message, behind: last })
        })
    }

    /// Marks messages as read; returns how many were not read before.
    pub fn mark_read(&self, agent: &AgentName, which: &Which<'_>) -> Result<usize, StoreError> {
        let path = self.path(agent);
        if !path.exists() {
            return Ok(0);
        }
        self.in_lock(agent, |held, round| {
            let whole = match read_inbox(&path) {
                Ok(None) => return Ok(0),
                Ok(Some((text, None))) => mark(&text, which),
                Ok(Some((_, Some(_)))) | Err(StoreError::Broken { .. }) => None,
                Err(error) => return Err(error),
            };
            let (marked, count) = match whole {
                Some((_, 0)) => return Ok(0),
                Some(marked) => marked,
                None => {
                    let rescued = array(&rescue(held, &path, round)?);
                    mark(&rescued, which).unwrap_or((rescued, 0))
                }
            };
            held.replace(&path, marked.as_bytes())?;
            Ok(count)
        })
    }

    /// Runs a change of one inbox inside its locks, again while the file looks half written.
    fn in_lock<T>(
        &self,
        agent: &AgentName,
        mut change: impl FnMut(&mut Held, Try) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let path = self.path(agent);
        let stem = agent.file_stem();
        make_inboxes(&self.store.home().inboxes(&self.team))?;
        files::patiently(|round| {
            let mut held = self.store.locks().enter(&["inbox", self.team.as_str(), &stem])?;
            held.take(&path)?;
            change(&mut held, round)
        })
    }
}

/// Makes the directory of a team's inboxes, but never the team: a deleted one stays deleted.
fn make_inboxes(dir: &Path) -> Result<(), StoreError> {
    match DirBuilder::new().mode(0o700).create(dir) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        outcome => outcome.map_err(|source| StoreError::io("make the directory", dir, source)),
    }
}

fn refuse_forgery(message: &Message) -> Result<(), StoreError> {
    Body::forged_type(&message.text).map_or(Ok(()), |kind| Err(StoreError::Forged(kind)))
}

/// The text of an inbox. One that is not quite text is no reason to lose what is.
fn read_inbox(path: &Path) -> Result<Option<(String, Option<Damage>)>, StoreError> {
    let Some(bytes) = files::read_bytes(path, LARGEST)? else { return Ok(None) };
    Ok(Some(match String::from_utf8(bytes) {
        Ok(text) => (text, None),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
            (text, Some(Damage::NotText(at)))
        }
    }))
}

fn inbox_of(path: &Path, text: &str, elements: &Elements<'_>) -> Inbox {
    let mut inbox = Inbox::default();
    for (at, element) in elements.whole.iter().enumerate() {
        match json::from_text(element) {
            Ok(message) => inbox.messages.push(message),
            Err(why) => inbox.problems.add(|| {
                let above = text[..json::offset(text, element)].matches('\n').count();
                let JsonError { reason, line, column } = why;
                let place = format!("line {} column {column}", above + line);
                Problem::new(path, format!("message {} is malformed: {reason} at {place}", at + 1))
            }),
        }
    }
    inbox
}

/// A message as it stands in the array. Line breaks in it are all ours: strings hold none.
fn element(message: &Message) -> String {
    json::to_pretty(message).replace('\n', "\n  ")
}

fn array(elements: &[String]) -> String {
    match elements.is_empty() {
        true => "[]".to_owned(),
        false => format!("[\n  {}\n]", elements.join(",\n  ")),
    }
}

/// What an inbox looks like from its two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
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
    fn of(path: &Path) -> Result<Self, StoreError> {
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
fn splice(path: &Path, new: &mut File, length: u64, text: &str) -> io::Result<()> {
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

/// The elements of an inbox that is not canonical, each as it will stand in the new file. One
/// that is broken, and stays so, is set aside first; what is whole in it is kept.
fn rescue(held: &Held, path: &Path, round: Try) -> Result<Vec<String>, StoreError> {
    let (text, damage) = match read_inbox(path) {
        Ok(None) => return Ok(Vec::new()),
        Ok(Some((text, damage))) => (text, damage),
        Err(StoreError::Broken { source, .. }) => (String::new(), Some(source)),
        Err(StoreError::Io { source, .. }) if source.kind() == ErrorKind::PermissionDenied => {
            (String::new(), Some(Damage::NotAFile))
        }
        Err(error) => return Err(error),
    };
    let elements = Elements::of(&text);
    match damage.or(elements.torn.map(Damage::Json)) {
        Some(damage) if round == Try::Early => return Err(StoreError::broken(path, damage)),
        Some(_) => {
            files::set_aside(path)?;
            held.secure_names(path)?;
        }
        None => {}
    }
    let pretty = |e: &str| Json::parse(e).map_or_else(|_| e.to_owned(), |j| j.pretty_at(1));
    Ok(elements.whole.into_iter().map(pretty).collect())
}

/// The text of an inbox with some messages marked, everything else to the byte as it was, and
/// how many were. `None` for a torn one.
fn mark(text: &str, which: &Which<'_>) -> Option<(String, usize)> {
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

/// The colour that a sender's messages carry.
pub fn color_of(team: &Team, name: &AgentName) -> Option<String> {
    team.member(name).and_then(|member| member.color.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
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

    #[test]
    fn stamps_of_one_process_are_all_different() {
        let many: HashSet<i64> = (0..1000).map(|_| stamp().millis()).collect();
        assert_eq!(many.len(), 1000);
    }
}
