//! Times and amounts as people say them, short.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::protocol::time::Stamp;

/// `0.4s`, `12s`, `3m 05s`, `2h 10m`.
pub fn duration(millis: u64) -> String {
    let seconds = millis / 1000;
    match seconds {
        0..10 => format!("{}.{}s", seconds, millis % 1000 / 100),
        10..60 => format!("{seconds}s"),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}

/// `812`, `3.4k`, `61k`, `1.2M`.
pub fn tokens(count: u64) -> String {
    match count {
        0..1000 => count.to_string(),
        1000..10_000 => format!("{}.{}k", count / 1000, count % 1000 / 100),
        10_000..1_000_000 => format!("{}k", count / 1000),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

/// The hour, where the person sits.
pub(super) fn clock(at: Stamp, zone: &TimeZone) -> Option<String> {
    let at = Timestamp::from_millisecond(at.millis()).ok()?.to_zoned(zone.clone());
    Some(format!("{:02}:{:02}", at.hour(), at.minute()))
}
