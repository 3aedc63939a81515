//! Steps that begin on the wall clock: a minute at its first second, an hour on the hour, a day at
//! midnight, also on days of 23 and 25 hours.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

use crate::Error;

const SECOND_NS: i64 = 1_000_000_000;
const HOUR_S: i64 = 3_600;
const DAY_S: i64 = 86_400;

/// Longer steps are no use: a hundred years.
const DAYS_MAX: i64 = 36_525;

/// A Monday, from which steps of several days are counted, so that a week begins on a Monday.
const FIRST_DAY: Date = Date::constant(1970, 1, 5);

/// Steps of one length on the wall clock of a zone.
///
/// A step of some days begins at midnight, so its hours differ where the clock is changed.  A step of
/// some hours begins at the hours of the day that are its multiples; one of an hour or less at the
/// multiples of its length.
#[derive(Clone, Debug)]
pub struct WallSteps {
    length_s: i64,
    zone: TimeZone,
    /// How much later than recorded times are shown.
    offset_ns: i64,
}

impl WallSteps {
    /// Steps of so many nanoseconds on the clock of `zone`, on which times are shown `offset_ns`
    /// later than they were recorded.
    ///
    /// # Errors
    /// The length is neither some seconds that divide a day nor some days.
    pub fn new(length_ns: u64, zone: TimeZone, offset_ns: i64) -> Result<Self, Error> {
        let refused = || Error::StepLength(length_ns);
        let length_s = i64::try_from(length_ns / 1_000_000_000).map_err(|_| refused())?;
        let is_whole = length_ns.is_multiple_of(1_000_000_000) && length_s > 0;
        let divides = DAY_S % length_s.max(1) == 0 || length_s % DAY_S == 0;
        match is_whole && divides && length_s <= DAYS_MAX * DAY_S {
            true => Ok(WallSteps { length_s, zone, offset_ns }),
            false => Err(refused()),
        }
    }

    /// The start of the step that has a time.
    #[must_use]
    pub fn begin(&self, at_ns: i64) -> i64 {
        self.recorded(self.begin_shown_s(self.shown_s(at_ns)))
    }

    /// The end of the step that has a time.
    #[must_use]
    pub fn end(&self, at_ns: i64) -> i64 {
        let shown_s = self.shown_s(at_ns);
        let mut end_s = self.end_shown_s(shown_s);
        // Where the clock is set back, an hour is there twice.
        if end_s <= shown_s {
            end_s = shown_s + self.length_s.min(HOUR_S);
        }
        self.recorded(end_s)
    }

    /// Seconds since the epoch as they are shown.
    fn shown_s(&self, at_ns: i64) -> i64 {
        at_ns.saturating_add(self.offset_ns).div_euclid(SECOND_NS)
    }

    fn recorded(&self, shown_s: i64) -> i64 {
        shown_s.saturating_mul(SECOND_NS).saturating_sub(self.offset_ns)
    }

    fn begin_shown_s(&self, shown_s: i64) -> i64 {
        if self.length_s <= HOUR_S {
            return shown_s - self.seconds_in_step(shown_s);
        }
        let begin_s = self.instant_s(self.civil_begin(shown_s), shown_s);
        begin_s.min(shown_s)
    }

    fn end_shown_s(&self, shown_s: i64) -> i64 {
        if self.length_s <= HOUR_S {
            return shown_s - self.seconds_in_step(shown_s) + self.length_s;
        }
        let begin = self.civil_begin(shown_s);
        let end = match self.length_s < DAY_S {
            true => begin.checked_add(self.length_s.seconds()),
            false => begin.checked_add((self.length_s / DAY_S).days()),
        };
        end.map_or(shown_s + self.length_s, |end| self.instant_s(end, shown_s + self.length_s))
    }

    /// The seconds since the start of a step of at most an hour.
    fn seconds_in_step(&self, shown_s: i64) -> i64 {
        let offset_s = i64::from(self.zone.to_offset(timestamp(shown_s)).seconds());
        (shown_s + offset_s).rem_euclid(self.length_s)
    }

    /// The start of a step of more than an hour, on the wall clock.
    fn civil_begin(&self, shown_s: i64) -> DateTime {
        let at = self.zone.to_datetime(timestamp(shown_s));
        let midnight = at.date().to_datetime(jiff::civil::Time::midnight());
        let back = if self.length_s < DAY_S {
            let second = i64::from(at.hour()) * HOUR_S
                + i64::from(at.minute()) * 60
                + i64::from(at.second());
            return midnight
                .checked_add((second - second % self.length_s).seconds())
                .unwrap_or(midnight);
        } else {
            let days = at.date().since(FIRST_DAY).map_or(0, |span| i64::from(span.get_days()));
            days.rem_euclid(self.length_s / DAY_S)
        };
        midnight.checked_sub(back.days()).unwrap_or(midnight)
    }

    fn instant_s(&self, civil: DateTime, otherwise_s: i64) -> i64 {
        self.zone.to_timestamp(civil).map_or(otherwise_s, Timestamp::as_second)
    }
}

fn timestamp(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The starts of the steps of a period, as they are shown.
    fn starts(length_s: i64, zone: &TimeZone, from: &str, count: usize) -> Vec<String> {
        let steps = WallSteps::new((length_s * SECOND_NS) as u64, zone.clone(), 0).unwrap();
        let from: DateTime = from.parse().unwrap();
        let mut at_ns = zone.to_timestamp(from).unwrap().as_second() * SECOND_NS + 1;
        let mut starts = Vec::new();
        for _ in 0..count {
            let (begin_ns, end_ns) = (steps.begin(at_ns), steps.end(at_ns));
            assert!(begin_ns <= at_ns && at_ns < end_ns, "{at_ns}: {begin_ns} to {end_ns}");
            let hours = (end_ns - begin_ns) as f64 / 3.6e12;
            let begin = zone.to_datetime(timestamp(begin_ns / SECOND_NS));
            starts.push(format!("{} {hours}", begin.strftime("%d %H:%M:%S")));
            at_ns = end_ns;
        }
        starts
    }

    /// Central Europe's rules, whatever the machine has.
    fn berlin() -> TimeZone {
        TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap()
    }

    #[test]
    fn minutes_hours_and_days_begin_on_the_clock() {
        let zone = TimeZone::UTC;
        assert_eq!(
            starts(60, &zone, "2026-11-21T10:00:30", 2)[1],
            format!("21 10:01:00 {}", 1.0 / 60.0)
        );
        assert_eq!(
            starts(3600, &zone, "2026-11-21T10:59:59", 2),
            ["21 10:00:00 1", "21 11:00:00 1"]
        );
        assert_eq!(
            starts(6 * 3600, &zone, "2026-11-21T17:00", 2),
            ["21 12:00:00 6", "21 18:00:00 6"]
        );
        // A Saturday: the week began on Monday the 16th.
        assert_eq!(
            starts(7 * DAY_S, &zone, "2026-11-21T17:00", 2),
            ["16 00:00:00 168", "23 00:00:00 168"]
        );
        let kathmandu = TimeZone::posix("<+0545>-5:45").unwrap();
        assert_eq!(starts(3600, &kathmandu, "2026-11-21T10:59", 1), ["21 10:00:00 1"]);
    }

    #[test]
    fn days_have_23_and_25_hours() {
        let zone = berlin();
        assert_eq!(
            starts(DAY_S, &zone, "2026-03-28T12:00", 3),
            ["28 00:00:00 24", "29 00:00:00 23", "30 00:00:00 24"]
        );
        assert_eq!(
            starts(DAY_S, &zone, "2026-10-24T12:00", 3),
            ["24 00:00:00 24", "25 00:00:00 25", "26 00:00:00 24"]
        );
        assert_eq!(
            starts(12 * 3600, &zone, "2026-10-25T03:00", 2),
            ["25 00:00:00 13", "25 12:00:00 12"]
        );
        assert_eq!(
            starts(2 * 3600, &zone, "2026-03-29T00:30", 3),
            ["29 00:00:00 2", "29 03:00:00 1", "29 04:00:00 2"]
        );
        // The hour that is there twice is two steps.
        assert_eq!(
            starts(3600, &zone, "2026-10-25T01:30", 4),
            ["25 01:00:00 1", "25 02:00:00 1", "25 02:00:00 1", "25 03:00:00 1"]
        );
    }

    #[test]
    fn shown_times_count() {
        let steps = WallSteps::new(3_600_000_000_000, TimeZone::UTC, 600 * SECOND_NS).unwrap();
        assert_eq!(steps.begin(0), -600 * SECOND_NS);
        assert_eq!(steps.end(0), 3_000 * SECOND_NS);
    }

    #[test]
    fn other_lengths_are_refused() {
        for length_ns in [0, 1, 1_500_000_000, 7 * 60_000_000_000, 90_000_000_000_000, u64::MAX] {
            let refused = WallSteps::new(length_ns, TimeZone::UTC, 0).map(|_| ());
            assert!(matches!(refused, Err(Error::StepLength(_))), "{length_ns}");
        }
    }
}
