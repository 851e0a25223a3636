//! Names and ids, each a type of its own: what may become a path is checked here, once.
//!
//! Strict when creating (`AgentName::new`), lenient when reading what other programs made
//! (`AgentName::found`). Whatever the text, `file_stem` is one plain path component, so no name
//! can lead out of the home directory.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

/// The name of a team's lead; no teammate may take it.
pub const LEAD: &str = "team-lead";

/// The longest name that we create.
const LONGEST: usize = 64;

/// Why a name cannot be given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    #[error(
        "`{name}` cannot be the name of {what}: use 1 to 64 letters, digits, `_` and `-`, \
         beginning with a letter or digit"
    )]
    Shape { what: &'static str, name: String },
    #[error("`{LEAD}` is the name of the lead; give the teammate another one")]
    Reserved,
}

/// The rule for every name that we create.
pub(crate) fn check(what: &'static str, name: &str) -> Result<(), BadName> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let good = name.len() <= LONGEST
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(plain);
    good.then_some(()).ok_or_else(|| BadName::Shape { what, name: name.to_owned() })
}

/// Every character outside `[A-Za-z0-9_-]` as `-`: how the ecosystem makes file names of names.
fn dashed(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let stem: String = name.chars().map(|c| if plain(c) { c } else { '-' }).collect();
    if stem.is_empty() { "-".to_owned() } else { stem }
}

/// A file name that stands for exactly one id: plain characters stay, the rest is written `%XX`.
/// Very long ids end in a hash instead of their tail.
pub fn encoded(id: &str) -> String {
    const LONGEST_STEM: usize = 150;
    let mut stem = String::new();
    for (at, byte) in id.bytes().enumerate() {
        let plain = byte.is_ascii_alphanumeric()
            || matches!(byte, b'_' | b'-' | b'@')
            || (byte == b'.' && at > 0);
        if plain {
            stem.push(char::from(byte));
        } else {
            stem.push_str(&format!("%{byte:02X}"));
        }
    }
    if stem.len() > LONGEST_STEM {
        stem.truncate(LONGEST_STEM);
        stem.push_str(&format!("%-{:016x}", digest(id)));
    }
    if stem.is_empty() { "%".to_owned() } else { stem }
}

/// FNV-1a. It ends up in files, so it must give the same number in every build; std's hashers
/// do not promise that.
pub fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

macro_rules! text_id {
    ($name:ident) => {
        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                self.0 == other
            }
        }
    };
}

/// An id that others may have made, and that becomes a file name by being encoded.
macro_rules! encoded_id {
    ($name:ident) => {
        impl $name {
            pub fn found(id: &str) -> Self {
                Self(id.to_owned())
            }

            pub fn file_stem(&self) -> String {
                encoded(&self.0)
            }
        }
    };
}

/// What an agent is called inside its team.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AgentName(String);
text_id!(AgentName);

impl AgentName {
    /// A name for a new teammate.
    pub fn new(name: &str) -> Result<Self, BadName> {
        check("an agent", name)?;
        if name == LEAD {
            return Err(BadName::Reserved);
        }
        Ok(Self(name.to_owned()))
    }

    /// A name that is there already, whatever it looks like.
    pub fn found(name: &str) -> Self {
        Self(name.to_owned())
    }

    pub fn lead() -> Self {
        Self(LEAD.to_owned())
    }

    pub fn is_lead(&self) -> bool {
        self.0 == LEAD
    }

    /// This name for the `nth` who asked for it: `name-2`, `name-3`…, within the length limit.
    pub fn numbered(&self, nth: usize) -> Self {
        let tail = format!("-{nth}");
        let room = LONGEST.saturating_sub(tail.len()).min(self.0.len());
        let base: String = self.0.chars().take(room).collect();
        Self(format!("{base}{tail}"))
    }

    /// The name of the inbox file, without `.json`. Two names may share one (`a.b` and `a-b`):
    /// that is how the ecosystem does it.
    pub fn file_stem(&self) -> String {
        dashed(&self.0)
    }
}

/// What a team is called. Its directory is something else: see `TeamDir`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TeamName(String);
text_id!(TeamName);

impl TeamName {
    pub fn new(name: &str) -> Result<Self, BadName> {
        check("a team", name)?;
        Ok(Self(name.to_owned()))
    }

    pub fn found(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// Where a team of this name is put: lower case, everything unusual as `-`.
    pub fn dir(&self) -> TeamDir {
        TeamDir(dashed(&self.0).to_lowercase())
    }
}

/// The directory of a team below `teams/` and `tasks/`; always one plain path component.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct TeamDir(String);
text_id!(TeamDir);

impl TeamDir {
    /// A directory that is there already. `None` for what is not one visible component.
    pub fn found(name: &str) -> Option<Self> {
        let plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0']);
        plain.then(|| Self(name.to_owned()))
    }
}

/// Names one agent among all teams: `name@team`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AgentId {
    pub name: AgentName,
    pub team: TeamName,
}

impl AgentId {
    pub fn new(name: &AgentName, team: &TeamName) -> Self {
        Self { name: name.clone(), team: team.clone() }
    }

    /// `None` when there is no `@`. Names that we make never hold one; teams of others may.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, team) = text.split_once('@')?;
        Some(Self { name: AgentName::found(name), team: TeamName::found(team) })
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.name, self.team)
    }
}

impl Serialize for AgentId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for AgentId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text)
            .ok_or_else(|| serde::de::Error::custom(format!("`{text}` is not name@team")))
    }
}

/// The id of a task: a number in every list we know, kept as text as the files have it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct TaskId(String);
text_id!(TaskId);

encoded_id!(TaskId);

impl TaskId {
    /// As people and models write it, and as lists show it: `3` or `#3`.
    pub fn written(text: &str) -> Self {
        Self::found(text.trim().trim_start_matches('#'))
    }

    pub fn number(&self) -> Option<u64> {
        self.0.parse().ok()
    }
}

impl From<u64> for TaskId {
    fn from(number: u64) -> Self {
        Self(number.to_string())
    }
}

/// Numbers by value, then everything else by text.
impl Ord for TaskId {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |id: &Self| id.number().map_or((1, 0), |number| (0, number));
        key(self).cmp(&key(other)).then_with(|| self.0.cmp(&other.0))
    }
}

impl PartialOrd for TaskId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Some programs write ids as numbers; both are read.
impl<'de> Deserialize<'de> for TaskId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected a task id (a string or a whole number)")]
        enum Either {
            Text(String),
            Number(u64),
        }
        Ok(match Either::deserialize(deserializer)? {
            Either::Text(text) => Self(text),
            Either::Number(number) => Self::from(number),
        })
    }
}

/// Names one ask for as long as anyone may answer it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AskId(String);
text_id!(AskId);
encoded_id!(AskId);

/// Names one session: a UUID where we make it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(String);
text_id!(SessionId);
encoded_id!(SessionId);

/// Tells one message of an inbox from all others, whatever happens around it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MessageId(String);
text_id!(MessageId);

impl MessageId {
    /// `msg_id` where the writer gave one, else sender, time and a hash of the text.
    pub fn of(msg_id: Option<&str>, from: &str, timestamp: &str, text: &str) -> Self {
        match msg_id {
            Some(id) if !id.is_empty() => Self(id.to_owned()),
            Some(_) | None => Self(format!("{from}/{timestamp}/{:016x}", digest(text))),
        }
    }

    /// One that was worked out before.
    pub fn found(id: &str) -> Self {
        Self(id.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_strict_when_created_and_the_error_names_the_rule() {
        for good in ["a", "Alice", "a-b_c9", "9lives", &"x".repeat(64)] {
            assert_eq!(AgentName::new(good).map(|name| name.to_string()), Ok(good.to_owned()));
        }
        for bad in ["", "-a", "_a", "a.b", "a b", "../x", "a/b", "ä", &"x".repeat(65), "a\0"] {
            let error = AgentName::new(bad).unwrap_err().to_string();
            assert!(error.contains("1 to 64 letters, digits"), "{error}");
        }
        assert_eq!(AgentName::new(LEAD), Err(BadName::Reserved));
        assert!(TeamName::new(LEAD).is_ok(), "reserved for teammates only");
    }

    #[test]
    fn what_others_made_is_taken_as_it_is() {
        let team = TeamName::found("My Team! 2");
        assert_eq!(team.dir().as_str(), "my-team--2");
        assert_eq!(AgentName::found("a.b").file_stem(), "a-b");
        assert_eq!(TeamDir::found(".."), None);
        assert_eq!(TeamDir::found("a/b"), None);
        assert_eq!(TeamDir::found("Ünïcode").unwrap().as_str(), "Ünïcode");
        let id = AgentId::parse("bob@My Team! 2").unwrap();
        assert_eq!((id.name.as_str(), id.team.as_str()), ("bob", "My Team! 2"));
    }

    #[test]
    fn a_taken_name_is_numbered_within_the_limit() {
        assert_eq!(AgentName::found("bob").numbered(2).as_str(), "bob-2");
        let long = AgentName::found(&"x".repeat(64)).numbered(13);
        assert_eq!(long.as_str(), format!("{}-13", "x".repeat(61)));
        assert!(AgentName::new(long.as_str()).is_ok());
    }

    #[test]
    fn task_ids_sort_by_number() {
        let mut ids: Vec<TaskId> = ["10", "9", "x", "1"].map(TaskId::found).to_vec();
        ids.sort();
        assert_eq!(ids, ["1", "9", "10", "x"].map(TaskId::found));
        assert_eq!(serde_json::from_str::<TaskId>("7").unwrap(), TaskId::from(7));
    }

    proptest! {
        #[test]
        fn no_name_leaves_its_directory(text in any::<String>()) {
            for stem in [
                AgentName::found(&text).file_stem() + ".json",
                TaskId::found(&text).file_stem() + ".json",
                AskId::found(&text).file_stem(),
                SessionId::found(&text).file_stem(),
            ] {
                prop_assert!(!stem.is_empty() && !stem.contains(['/', '\\', '\0']), "{stem}");
                prop_assert!(stem != "." && stem != ".." && stem.len() < 255 + text.len());
            }
            let dir = TeamName::found(&text).dir();
            prop_assert!(!dir.as_str().is_empty());
            prop_assert!(!dir.as_str().contains(['/', '\\', '\0', '.']));
        }

        #[test]
        fn encoded_ids_stay_apart(one in "[a%./@-]{0,6}", two in "[a%./@-]{0,6}") {
            let stem = |text: &str| AskId::found(text).file_stem();
            prop_assert_eq!(one == two, stem(&one) == stem(&two));
        }

        #[test]
        fn a_created_name_is_its_own_file_stem(name in "[A-Za-z0-9][A-Za-z0-9_-]{0,63}") {
            prop_assume!(name != LEAD);
            prop_assert_eq!(AgentName::new(&name).unwrap().file_stem(), name);
        }
    }
}
