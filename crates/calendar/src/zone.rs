//! A time zone for all times, also those that jiff has no place for.

use std::sync::OnceLock;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::CivilTime;
use crate::civil::{CYCLE_DAYS, DAY_S};

/// Seconds of 400 years of the calendar, which repeats after them.
const CYCLE_S: i64 = CYCLE_DAYS * DAY_S;

/// Times that jiff knows, with a margin: years -9000 to 9000.
const KNOWN_S: std::ops::RangeInclusive<i64> = -346_000_000_000..=221_000_000_000;

/// Coordinated universal time.
pub static UTC: CivilZone = CivilZone::found_by(|| TimeZone::UTC);

/// A time zone, found when it is first needed.
#[derive(Clone, Debug)]
pub struct CivilZone {
    known: OnceLock<TimeZone>,
    find: fn() -> TimeZone,
}

impl Default for CivilZone {
    fn default() -> Self {
        CivilZone::utc()
    }
}

impl CivilZone {
    /// A zone of the time zone database.
    pub fn new(zone: TimeZone) -> Self {
        CivilZone { known: OnceLock::from(zone), find: || TimeZone::UTC }
    }

    /// A zone that is looked for when it is needed: most commands never ask.
    pub const fn found_by(find: fn() -> TimeZone) -> Self {
        CivilZone { known: OnceLock::new(), find }
    }

    /// Coordinated universal time.
    pub fn utc() -> Self {
        UTC.clone()
    }

    /// The zone as the crate `jiff` has it.
    pub fn time_zone(&self) -> &TimeZone {
        self.known.get_or_init(self.find)
    }

    /// Seconds east of Greenwich at a time, and whether that is summer time.
    pub fn offset(&self, time_s: i64) -> (i64, bool) {
        let info = self.time_zone().to_offset_info(known(time_s));
        (i64::from(info.offset().seconds()), info.dst().is_dst())
    }

    /// The date and time of day at a time.
    pub fn civil(&self, time_s: i64) -> CivilTime {
        CivilTime::of_local(time_s.saturating_add(self.offset(time_s).0))
    }

    /// The name of the zone's time at a time: `CET`.
    pub fn abbreviation(&self, time_s: i64) -> String {
        self.time_zone().to_offset_info(known(time_s)).abbreviation().to_owned()
    }
}

/// A time with the same weekday and date in years that jiff knows.
fn known(time_s: i64) -> Timestamp {
    let mut known_s = time_s;
    if !KNOWN_S.contains(&time_s) {
        known_s = time_s.rem_euclid(CYCLE_S) + if time_s < 0 { -20 } else { 10 } * CYCLE_S;
    }
    Timestamp::from_second(known_s).unwrap_or(Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn a_zone_is_looked_for_once_and_only_if_needed() {
        static LOOKS: AtomicU32 = AtomicU32::new(0);
        let zone = CivilZone::found_by(|| {
            LOOKS.fetch_add(1, Ordering::Relaxed);
            TimeZone::fixed(jiff::tz::offset(5))
        });
        assert_eq!(LOOKS.load(Ordering::Relaxed), 0);
        assert_eq!(zone.offset(0), (5 * 3600, false));
        assert_eq!(zone.clone().offset(86_400), (5 * 3600, false));
        assert_eq!(LOOKS.load(Ordering::Relaxed), 1);
    }
}
