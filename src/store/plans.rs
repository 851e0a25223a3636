//! Plans: what an agent wants to do, as a text for a person to read.
//!
//! One file each, named with three words that can be said aloud. Written whole, like everything.

use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use uuid::Uuid;

use super::Store;
use super::error::StoreError;
use super::files;
use crate::protocol::ids::{BadName, check};

const LARGEST: u64 = 16 * 1024 * 1024;

/// So many names are tried before a number makes one certain.
const TRIES: usize = 100;

/// Names the plan of one agent: checked, so that it is always a file in the plans' directory.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlanName(String);

impl PlanName {
    /// The plan of a session's lead.
    pub fn of_lead(slug: &str) -> Result<Self, BadName> {
        check("a plan", slug)?;
        Ok(Self(slug.to_owned()))
    }

    /// The plan of a subagent or teammate.
    pub fn of_agent(slug: &str, agent: &str) -> Result<Self, BadName> {
        check("a plan", slug)?;
        check("a plan's agent", agent)?;
        Ok(Self(format!("{slug}-agent-{agent}")))
    }
}

impl fmt::Display for PlanName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The plans of one home directory.
#[derive(Debug, Clone)]
pub struct Plans {
    store: Store,
}

impl Plans {
    pub fn new(store: &Store) -> Self {
        Self { store: store.clone() }
    }

    /// Three words by which no plan is known yet.
    pub fn new_slug(&self) -> Result<String, StoreError> {
        let known = self.known()?;
        let is_free = |slug: &String| !known.iter().any(|name| name.starts_with(slug.as_str()));
        let free = std::iter::repeat_with(random_slug).take(TRIES).find(is_free);
        Ok(free.unwrap_or_else(|| format!("{}-{}", random_slug(), Uuid::new_v4().simple())))
    }

    fn known(&self) -> Result<Vec<String>, StoreError> {
        let dir = self.store.home().plans();
        let unreadable = |source| StoreError::io("read", &dir, source);
        let entries = match fs::read_dir(&dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(unreadable(error)),
        };
        let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        names.collect::<Result<_, _>>().map_err(unreadable)
    }

    pub fn path(&self, plan: &PlanName) -> PathBuf {
        self.store.home().plans().join(format!("{plan}.md"))
    }

    pub fn write(&self, plan: &PlanName, text: &str) -> Result<(), StoreError> {
        files::make_dir(&self.store.home().plans())?;
        let mut held = self.store.locks().enter(&["plans"])?;
        held.replace(&self.path(plan), text.as_bytes())
    }

    /// `None` where there is no such plan.
    pub fn read(&self, plan: &PlanName) -> Result<Option<String>, StoreError> {
        files::read_text(&self.path(plan), LARGEST)
    }
}

fn random_slug() -> String {
    // Bytes 0 to 5 of a version 4 UUID are random throughout.
    let [a, b, c, d, e, f, ..] = *Uuid::new_v4().as_bytes();
    let pick = |words: &[&'static str], dice: [u8; 2]| {
        let at = usize::from(u16::from_be_bytes(dice)) % words.len().max(1);
        words.get(at).copied().unwrap_or_default()
    };
    let (how, doing, what) = (pick(ADJECTIVES, [a, b]), pick(VERBS, [c, d]), pick(NOUNS, [e, f]));
    format!("{how}-{doing}-{what}")
}

#[rustfmt::skip]
const ADJECTIVES: &[&str] = &[
    "able", "amber", "ample", "bold", "brave", "bright", "brisk", "calm", "clear", "clever",
    "copper", "crisp", "deft", "eager", "early", "even", "fair", "fleet", "fresh", "gentle",
    "golden", "grand", "happy", "hardy", "keen", "kind", "light", "lively", "lucid", "mellow",
    "mighty", "neat", "noble", "patient", "plain", "proud", "quick", "quiet", "ready", "silver",
    "sound", "steady", "sunny", "swift", "tidy", "trusty", "warm", "wise",
];

#[rustfmt::skip]
const VERBS: &[&str] = &[
    "bailing", "baking", "boarding", "bracing", "building", "carving", "casting", "charting",
    "climbing", "coiling", "cruising", "dancing", "docking", "drawing", "drifting", "fishing",
    "floating", "flying", "gliding", "hauling", "heaving", "hoisting", "landing", "mapping",
    "mending", "mooring", "painting", "piloting", "plotting", "reefing", "rigging", "roaming",
    "rowing", "sailing", "singing", "sounding", "splicing", "steering", "surfing", "tacking",
    "towing", "trimming", "turning", "wading", "walking", "watching", "weaving", "whistling",
];

#[rustfmt::skip]
const NOUNS: &[&str] = &[
    "albatross", "anchor", "atoll", "ballast", "barge", "beacon", "bell", "bowsprit", "breeze",
    "brig", "buoy", "cabin", "canvas", "capstan", "clipper", "compass", "coral", "cutter",
    "dolphin", "dory", "estuary", "fathom", "ferry", "fjord", "galley", "gannet", "gull",
    "harbour", "heron", "horizon", "island", "jetty", "keel", "ketch", "lagoon", "lantern",
    "lighthouse", "mast", "moon", "osprey", "otter", "pelican", "porpoise", "quay", "reef",
    "rudder", "schooner", "sextant", "sloop", "tern", "tide", "tiller", "walrus", "whale",
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_words_are_many_plain_and_different() {
        for words in [ADJECTIVES, VERBS, NOUNS] {
            assert!(words.len() >= 40);
            assert_eq!(words.iter().collect::<HashSet<_>>().len(), words.len());
            assert!(words.iter().all(|word| word.chars().all(|c| c.is_ascii_lowercase())));
        }
        let slug = random_slug();
        assert_eq!(slug.split('-').count(), 3, "{slug}");
        assert!(PlanName::of_agent(&slug, "a0a288c").is_ok(), "{slug}");
    }
}
