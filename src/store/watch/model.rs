//! What was last reported of each file, and what a new look at it adds.
//!
//! Invariant: the reader of the changes knows what the model knows. A file that does not parse
//! changes nothing in it: somebody may be writing, so it is looked at again for a while.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Change;
use super::place::{Dir, Leaf};
use crate::protocol::ids::{AgentName, MessageId};
use crate::protocol::json::{self, Elements, JsonError};
use crate::protocol::message::Message;
use crate::protocol::task::Task;
use crate::protocol::team::Team;
use crate::settings::paths::Home;
use crate::store::error::{Damage, StoreError};
use crate::store::files::{self, Signature};

/// As large as the largest file that the store itself would read.
const LARGEST: u64 = 256 << 20;

pub(super) struct Model {
    home: Home,
    patience: Duration,
    files: HashMap<Leaf, Known>,
    /// Broken, but not yet for long enough to be reported.
    suspects: BTreeSet<Leaf>,
}

/// What is known of one file.
#[derive(Default)]
struct Known {
    /// The version that was looked at last.
    version: Option<Version>,
    /// A hash of the last whole text; `None` while nobody has read one.
    digest: Option<u64>,
    /// What the reader of the changes knows; `None` while the file has never been whole.
    content: Option<Content>,
    /// What is wrong with the version that was looked at last.
    fault: Option<Fault>,
}

#[derive(Clone, Copy)]
struct Version {
    signature: Signature,
    settled: bool,
}

#[derive(Clone, Copy)]
enum Fault {
    Suspected { since: Instant },
    Reported,
}

/// As much of a file's content as tells one change from another: the members of a roster, the
/// messages of an inbox.
#[derive(Default)]
struct Content {
    parts: Vec<Part>,
}

#[derive(Clone)]
struct Part {
    /// A hash of its text, by which a message is known without parsing it.
    digest: u64,
    /// The name of a member, the id of a message.
    id: Arc<str>,
    unread: bool,
}

enum Look {
    Same,
    Gone,
    Text { version: Version, text: String },
    Broken { version: Option<Version>, why: String },
}

impl Model {
    pub(super) fn new(home: Home, patience: Duration) -> Self {
        Self { home, patience, files: HashMap::new(), suspects: BTreeSet::new() }
    }

    pub(super) fn suspects(&self) -> &BTreeSet<Leaf> {
        &self.suspects
    }

    pub(super) fn knows(&self, leaf: &Leaf) -> bool {
        self.files.contains_key(leaf)
    }

    /// The known files that are not as they were at the last look.
    pub(super) fn outdated_below<'a>(&'a self, dir: &'a Dir) -> impl Iterator<Item = &'a Leaf> {
        let files = self.files.iter().filter(|(leaf, _)| leaf.is_below(dir));
        let outdated = files.filter(|(leaf, known)| {
            !Signature::of(&leaf.path(&self.home)).is_some_and(|version| known.is_of(version))
        });
        outdated.map(|(leaf, _)| leaf)
    }

    /// Takes a file for known as it is.
    pub(super) fn learn(&mut self, leaf: &Leaf) {
        let version = Version::of(&leaf.path(&self.home)).filter(|version| version.settled);
        match (leaf, version) {
            // A list may be long, and no change of a task depends on what was in it before.
            (Leaf::Task(..), Some(version)) => {
                let content = Some(Content::default());
                let known = Known { version: Some(version), content, ..Known::default() };
                self.files.insert(leaf.clone(), known);
            }
            (Leaf::Roster(_) | Leaf::Inbox(..) | Leaf::Task(..), _) => {
                self.look(leaf);
            }
        }
    }

    /// Compares a file with what was last reported of it.
    pub(super) fn look(&mut self, leaf: &Leaf) -> Vec<Change> {
        let path = leaf.path(&self.home);
        match look_at(&path, self.files.get(leaf)) {
            Look::Same => Vec::new(),
            Look::Gone => self.gone(leaf),
            Look::Text { version, text } => self.read(leaf, &path, version, &text),
            Look::Broken { version, why } => self.broken(leaf, &path, version, why),
        }
    }

    fn gone(&mut self, leaf: &Leaf) -> Vec<Change> {
        self.suspects.remove(leaf);
        match self.files.remove(leaf) {
            Some(Known { content: Some(_), .. } | Known { fault: Some(Fault::Reported), .. }) => {
                vec![farewell(leaf)]
            }
            Some(_) | None => Vec::new(),
        }
    }

    fn read(&mut self, leaf: &Leaf, path: &Path, version: Version, text: &str) -> Vec<Change> {
        let digest = digest(text);
        let known = self.files.entry(leaf.clone()).or_default();
        let content = match (known.digest, known.fault) {
            (Some(old), None | Some(Fault::Suspected { .. })) if old == digest => None,
            _ => match Content::of(leaf, text, known.content.as_ref()) {
                Ok(content) => Some(content),
                Err(error) => return self.broken(leaf, path, Some(version), error.to_string()),
            },
        };
        self.suspects.remove(leaf);
        (known.version, known.digest, known.fault) = (Some(version), Some(digest), None);
        let Some(content) = content else { return Vec::new() };
        let changes = difference(leaf, known.content.as_ref(), &content);
        known.content = Some(content);
        changes
    }

    fn broken(
        &mut self,
        leaf: &Leaf,
        path: &Path,
        version: Option<Version>,
        why: String,
    ) -> Vec<Change> {
        let known = self.files.entry(leaf.clone()).or_default();
        let signature = |version: Option<Version>| version.map(|version| version.signature);
        // A new version may be the next part of a slow write: it has all the time again.
        let fault = known.fault.filter(|_| signature(known.version) == signature(version));
        let fault = fault.unwrap_or_else(|| Fault::Suspected { since: Instant::now() });
        known.version = version;
        let (fault, changes) = match fault {
            Fault::Suspected { since } if since.elapsed() >= self.patience => {
                (Fault::Reported, vec![Change::Trouble { path: path.to_owned(), why }])
            }
            Fault::Suspected { .. } | Fault::Reported => (fault, Vec::new()),
        };
        known.fault = Some(fault);
        match fault {
            Fault::Suspected { .. } => self.suspects.insert(leaf.clone()),
            Fault::Reported => self.suspects.remove(leaf),
        };
        changes
    }
}

impl Known {
    /// Whether a file of this version need not be read.
    fn is_of(&self, version: Signature) -> bool {
        match self.fault {
            Some(Fault::Suspected { .. }) => false,
            None | Some(Fault::Reported) => {
                self.version.is_some_and(|known| known.settled && known.signature == version)
            }
        }
    }
}

impl Version {
    fn of(path: &Path) -> Option<Self> {
        let signature = Signature::of(path)?;
        Some(Self { signature, settled: signature.is_settled() })
    }
}

impl Content {
    /// Reads a text; what is the same as before is not parsed again.
    fn of(leaf: &Leaf, text: &str, before: Option<&Self>) -> Result<Self, JsonError> {
        let parts = match leaf {
            Leaf::Roster(_) => {
                let team: Team = json::from_text(text)?;
                let names = team.members.iter().map(|member| member.name.as_str());
                names.map(|name| Part { digest: 0, id: name.into(), unread: false }).collect()
            }
            Leaf::Inbox(..) => {
                let elements = Elements::of(text);
                if let Some(tear) = elements.torn {
                    return Err(tear);
                }
                let before = before.map(|before| before.parts.as_slice()).unwrap_or_default();
                let before: HashMap<u64, &Part> =
                    before.iter().map(|part| (part.digest, part)).collect();
                let part = |text: &&str| {
                    let digest = digest(text);
                    let known = before.get(&digest).map(|part| Part::clone(part));
                    known.or_else(|| Part::of(digest, text))
                };
                elements.whole.iter().filter_map(part).collect()
            }
            Leaf::Task(..) => {
                json::from_text::<Task>(text)?;
                Vec::new()
            }
        };
        Ok(Self { parts })
    }

    /// The names or ids that are not in the other one.
    fn beyond<'a>(&'a self, other: Option<&Self>) -> Vec<&'a str> {
        // Counted, since several messages may have one id.
        let mut others: HashMap<&str, usize> = HashMap::new();
        for part in other.map(|other| other.parts.as_slice()).unwrap_or_default() {
            *others.entry(&part.id).or_default() += 1;
        }
        let ids = self.parts.iter().map(|part| &*part.id);
        ids.filter(|id| match others.get_mut(*id) {
            Some(left) if *left > 0 => {
                *left -= 1;
                false
            }
            Some(_) | None => true,
        })
        .collect()
    }
}

impl Part {
    /// `None` for what is no message: it must not hide the others.
    fn of(digest: u64, text: &str) -> Option<Self> {
        let message: Message = json::from_text(text).ok()?;
        Some(Self { digest, id: message.id().as_str().into(), unread: !message.read })
    }
}

/// Reads a file if it may differ from what is known.
fn look_at(path: &Path, known: Option<&Known>) -> Look {
    // Before reading: what is written later shows as another version at the next look.
    let Some(version) = Version::of(path) else {
        return match fs::metadata(path) {
            Err(error) if !is_absence(error.kind()) => {
                Look::Broken { version: None, why: error.to_string() }
            }
            Ok(_) | Err(_) => Look::Gone,
        };
    };
    if known.is_some_and(|known| known.is_of(version.signature)) {
        return Look::Same;
    }
    match files::read_text(path, LARGEST) {
        Ok(Some(text)) => Look::Text { version, text },
        Ok(None) | Err(StoreError::Broken { source: Damage::NotAFile, .. }) => Look::Gone,
        Err(StoreError::Broken { source, .. }) => {
            Look::Broken { version: Some(version), why: source.to_string() }
        }
        Err(error) => Look::Broken { version: Some(version), why: error.to_string() },
    }
}

fn is_absence(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn digest(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

fn difference(leaf: &Leaf, before: Option<&Content>, after: &Content) -> Vec<Change> {
    let new = after.beyond(before);
    match leaf {
        Leaf::Roster(team) => {
            let left = before.map(|before| before.beyond(Some(after))).unwrap_or_default();
            let mut changes = vec![Change::TeamChanged { team: team.clone() }];
            changes.extend(left.into_iter().map(|name| {
                let name = AgentName::found(name);
                Change::MemberLeft { team: team.clone(), name }
            }));
            changes.extend(new.into_iter().map(|name| {
                let name = AgentName::found(name);
                Change::MemberJoined { team: team.clone(), name }
            }));
            changes
        }
        Leaf::Inbox(team, inbox) => {
            let unread = after.parts.iter().filter(|part| part.unread).count();
            let (team, inbox) = (team.clone(), inbox.clone());
            vec![match new.is_empty() {
                false => {
                    let new = new.into_iter().map(MessageId::found).collect();
                    Change::MailArrived { team, inbox, new, unread }
                }
                true => Change::MailChanged { team, inbox, unread },
            }]
        }
        Leaf::Task(list, id) => {
            vec![Change::TaskChanged { list: list.clone(), id: id.clone() }]
        }
    }
}

fn farewell(leaf: &Leaf) -> Change {
    match leaf {
        Leaf::Roster(team) => Change::TeamGone { team: team.clone() },
        Leaf::Inbox(team, inbox) => {
            Change::MailChanged { team: team.clone(), inbox: inbox.clone(), unread: 0 }
        }
        Leaf::Task(list, id) => Change::TaskGone { list: list.clone(), id: id.clone() },
    }
}
