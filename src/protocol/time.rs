//! Points in time as data. Reading the clock is the store's and the runtime's business.

use std::fmt;
use std::time::SystemTime;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Milliseconds since 1970, UTC. Written as ISO 8601 with three decimals and a `Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp(i64);

impl Stamp {
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    pub const fn millis(self) -> i64 {
        self.0
    }

    pub fn parse(text: &str) -> Option<Self> {
        text.parse::<Timestamp>().ok().map(|at| Self(at.as_millisecond()))
    }
}

impl From<SystemTime> for Stamp {
    fn from(time: SystemTime) -> Self {
        Self(Timestamp::try_from(time).map_or(0, Timestamp::as_millisecond))
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Timestamp::from_millisecond(self.0) {
            Ok(at) => write!(f, "{at:.3}"),
            Err(_) => write!(f, "{} ms", self.0),
        }
    }
}

impl Serialize for Stamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Stamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text)
            .ok_or_else(|| serde::de::Error::custom(format!("`{text}` is not a time in ISO 8601")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_written_as_the_ecosystem_writes_it() {
        let stamp = Stamp::from_millis(1_794_798_293_900);
        assert_eq!(stamp.to_string(), "2026-11-16T03:04:53.900Z");
        assert_eq!(Stamp::parse("2026-11-16T03:04:53.900Z"), Some(stamp));
        assert_eq!(Stamp::from_millis(0).to_string(), "1970-01-01T00:00:00.000Z");
    }
}
