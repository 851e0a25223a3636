//! Inboxes: one JSON array per agent, appended to by everybody, marked by its reader.
//!
//! A message is appended by splicing it in before the closing bracket of a copied file: the
//! history is neither parsed nor written anew, however long it is. Messages are marked by
//! identity, never by position, since other programs remove entries.

use std::collections::HashSet;
use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};

use uuid::Uuid;

use super::error::{Damage, Problem, Problems, StoreError};
use super::files::{self, Try};
use super::inbox_text::{LARGEST, READ, Shape, array, element, mark, splice};
use super::lock::Held;
use super::{Store, roster};
use crate::protocol::ids::{AgentName, MessageId, TeamDir};
use crate::protocol::json::{self, Elements, Json, JsonError};
use crate::protocol::message::{Body, Message, TaskAssignment};
use crate::protocol::task::Task;
use crate::protocol::team::{Form, Team};
use crate::protocol::time::Stamp;

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
    pub(super) fn includes(&self, message: &Message) -> bool {
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

/// The colour that a sender's messages carry.
pub fn color_of(team: &Team, name: &AgentName) -> Option<String> {
    team.member(name).and_then(|member| member.color.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_of_one_process_are_all_different() {
        let many: HashSet<i64> = (0..1000).map(|_| stamp().millis()).collect();
        assert_eq!(many.len(), 1000);
    }
}
