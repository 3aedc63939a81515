//! A time zone for all times, also those that jiff has no place for.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Seconds of 400 years of the calendar, which repeats after them.
const CYCLE_S: i64 = 146_097 * 86_400;

/// Times that jiff knows, with a margin: years -9000 to 9000.
const KNOWN_S: std::ops::RangeInclusive<i64> = -346_000_000_000..=221_000_000_000;

/// A time zone.
#[derive(Clone, Debug)]
pub struct CivilZone(TimeZone);

impl CivilZone {
    /// A zone of the time zone database.
    pub fn new(zone: TimeZone) -> Self {
        CivilZone(zone)
    }

    /// Coordinated universal time.
    pub fn utc() -> Self {
        CivilZone(TimeZone::UTC)
    }

    /// The zone of jiff.
    pub fn time_zone(&self) -> &TimeZone {
        &self.0
    }

    /// Seconds east of Greenwich at a time, and whether that is summer time.
    pub fn offset(&self, time_s: i64) -> (i64, bool) {
        let info = self.0.to_offset_info(known(time_s));
        (i64::from(info.offset().seconds()), info.dst().is_dst())
    }

    /// The name of the zone's time at a time: `CET`.
    pub fn abbreviation(&self, time_s: i64) -> String {
        self.0.to_offset_info(known(time_s)).abbreviation().to_owned()
    }
}

/// The same time in years that jiff knows.
fn known(time_s: i64) -> Timestamp {
    let mut known_s = time_s;
    if !KNOWN_S.contains(&time_s) {
        known_s = time_s.rem_euclid(CYCLE_S) + if time_s < 0 { -20 } else { 10 } * CYCLE_S;
    }
    Timestamp::from_second(known_s).unwrap_or(Timestamp::UNIX_EPOCH)
}
