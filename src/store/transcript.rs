//! Transcripts: what was said in a conversation, one record a line, each naming the one before.
//!
//! Records are opaque documents with two links, `uuid` and `parentUuid`; what is in them is the
//! agent's business. A transcript only grows, and has one writer.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use uuid::Uuid;

use super::Store;
use super::error::{Damage, Problems, StoreError};
use super::files::{self, Durability};
use super::lines::{LineFile, LineReader, Place, skipped};
use crate::protocol::ids::{SessionId, encoded};
use crate::protocol::json::Json;
use crate::settings::paths::Home;

/// Far more than any description of an agent has.
const LARGEST_META: u64 = 1024 * 1024;

/// The transcript of a lead, or of a teammate with a process of its own.
pub fn lead_path(home: &Home, cwd: &Path, session: &SessionId) -> PathBuf {
    home.project(cwd).join(format!("{}.jsonl", session.file_stem()))
}

/// The transcript of a subagent or of a teammate in the lead's process.
pub fn subagent_path(home: &Home, cwd: &Path, session: &SessionId, agent: &str) -> PathBuf {
    let dir = home.project(cwd).join(session.file_stem()).join("subagents");
    dir.join(format!("agent-{}.jsonl", encoded(agent)))
}

/// The file beside a subagent's transcript that says what the agent is.
pub fn meta_path(transcript: &Path) -> PathBuf {
    transcript.with_extension("meta.json")
}

pub fn write_meta(store: &Store, transcript: &Path, meta: &Json) -> Result<(), StoreError> {
    let path = meta_path(transcript);
    if let Some(dir) = path.parent() {
        files::make_dir(dir)?;
    }
    store.locks().enter(&["meta"])?.replace(&path, meta.compact().as_bytes())
}

/// `None` where there is none.
pub fn read_meta(transcript: &Path) -> Result<Option<Json>, StoreError> {
    files::read_parsed(&meta_path(transcript), LARGEST_META, Json::parse)
}

/// A transcript, opened by its one writer.
#[derive(Debug)]
pub struct Transcript {
    lines: LineFile,
    newest: Option<String>,
}

impl Transcript {
    /// Opens a transcript, made where it is missing, to go on behind its newest record.
    pub fn open(path: &Path, durability: Durability) -> Result<Self, StoreError> {
        let lines = LineFile::open(path, durability)?;
        let (mut newest, mut seen) = (None, HashSet::new());
        scan(path, |line| {
            if let Some(uuid) = line.links.uuid
                && seen.insert(uuid.clone())
            {
                newest = Some(uuid);
            }
        })?;
        Ok(Self { lines, newest })
    }

    pub fn path(&self) -> &Path {
        self.lines.path()
    }

    /// The record that the next one will follow.
    pub fn newest(&self) -> Option<&str> {
        self.newest.as_deref()
    }

    /// Adds a record to the conversation and returns its `uuid`. Links that it lacks are made:
    /// it follows the newest record. Links that it brings are kept.
    pub fn append(&mut self, mut record: Json) -> Result<String, StoreError> {
        if !matches!(record, Json::Object(_)) {
            return Err(StoreError::broken(self.path(), Damage::NotAnObject));
        }
        if record.get("parentUuid").is_none() {
            let parent = self.newest().map_or_else(Json::null, Json::from);
            record.set("parentUuid", parent, &["parentUuid"]);
        }
        let uuid = match text_of(&record, "uuid") {
            Some(uuid) => uuid,
            None => {
                let uuid = Uuid::new_v4().to_string();
                record.set("uuid", Json::from(uuid.as_str()), &[]);
                uuid
            }
        };
        self.lines.append(record.compact())?;
        self.newest = Some(uuid.clone());
        Ok(uuid)
    }

    /// Adds a record that is no part of the conversation, such as a mode or a title.
    pub fn append_unlinked(&mut self, record: &Json) -> Result<(), StoreError> {
        match record {
            Json::Object(_) => self.lines.append(record.compact()).map(|_| ()),
            Json::Scalar(_) | Json::Array(_) => {
                Err(StoreError::broken(self.path(), Damage::NotAnObject))
            }
        }
    }

    pub fn conversation(&self) -> Result<Conversation, StoreError> {
        conversation(self.path())
    }
}

/// The records that lead to the newest one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Conversation {
    /// Oldest first.
    pub records: Vec<Json>,
    /// What the oldest one follows, if that is not in this file. Usual for a subagent whose
    /// conversation began in another transcript.
    pub missing: Option<String>,
    pub problems: Problems,
}

/// Follows a transcript back from its newest record. Empty where there is no file. Does not need
/// to own the file. Of two records with one `uuid` the first counts: the other is a repetition.
pub fn conversation(path: &Path) -> Result<Conversation, StoreError> {
    follow(path, None)
}

/// Follows a transcript back from this record, which ends the conversation. Empty where the
/// record is not in the file.
pub fn conversation_to(path: &Path, uuid: &str) -> Result<Conversation, StoreError> {
    follow(path, Some(uuid))
}

fn follow(path: &Path, last: Option<&str>) -> Result<Conversation, StoreError> {
    let mut linked: Vec<Linked> = Vec::new();
    let mut index: HashMap<String, usize> = HashMap::new();
    let problems = scan(path, |line| {
        if let Some(uuid) = &line.links.uuid
            && !index.contains_key(uuid)
        {
            index.insert(uuid.clone(), linked.len());
            linked.push(line);
        }
    })?;
    let mut found = Conversation { records: Vec::new(), missing: None, problems };
    let mut followed = vec![false; linked.len()];
    let mut next = match last {
        Some(uuid) => index.get(uuid).copied(),
        None => linked.len().checked_sub(1),
    };
    while let Some(at) = next.filter(|at| !std::mem::replace(&mut followed[*at], true)) {
        let Linked { at: place, text, links } = &linked[at];
        match Json::parse(text) {
            Ok(record) => found.records.push(record),
            // Its parent is known all the same.
            Err(error) => found.problems.add(|| skipped(path, *place, &error.into())),
        }
        next = links.parent.as_ref().and_then(|parent| index.get(parent).copied());
        if next.is_none() {
            found.missing = links.parent.clone();
        }
    }
    found.records.reverse();
    Ok(found)
}

/// A record as text, with its links.
struct Linked {
    at: Place,
    text: Box<str>,
    links: Links,
}

#[derive(Deserialize)]
struct Links {
    uuid: Option<String>,
    #[serde(rename = "parentUuid")]
    parent: Option<String>,
}

impl Links {
    /// Reads the links alone, which is several times faster than the whole record.
    fn of(text: &str) -> Result<Self, Damage> {
        if !text.trim_ascii_start().starts_with('{') {
            // Not JSON at all, or no object: the parser knows the difference.
            return Err(Json::parse(text).map_or_else(Damage::from, |_| Damage::NotAnObject));
        }
        serde_json::from_str(text).or_else(|_| {
            // A doubled key, or a link that is no text, is no reason to lose the record.
            let record = Json::parse(text)?;
            let (uuid, parent) = (text_of(&record, "uuid"), text_of(&record, "parentUuid"));
            Ok(Self { uuid, parent })
        })
    }
}

fn text_of(record: &Json, key: &str) -> Option<String> {
    record.get(key).and_then(Json::as_str).map(std::borrow::Cow::into_owned)
}

/// Goes through all records of a file once.
fn scan(path: &Path, mut each: impl FnMut(Linked)) -> Result<Problems, StoreError> {
    let mut problems = Problems::default();
    let Some(mut reader) = LineReader::open(path, Place::default())? else { return Ok(problems) };
    while let Some(line) = reader.read()? {
        let at = line.at;
        let linked = |text: &str| Links::of(text).map(|links| (Box::from(text), links));
        match line.parse(linked) {
            Ok((text, links)) => each(Linked { at, text, links }),
            Err(problem) => problems.add(|| problem),
        }
    }
    Ok(problems)
}
