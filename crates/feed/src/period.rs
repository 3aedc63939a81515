//! `--from` and `--thru`: times of [`time_words::moment()`], or both ends in one `--from`.
//!
//! As in collectl, a time without a date is on the day of each recording.  Times are in the zone of
//! the recording.

use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Zoned};
use time_words::{GivenTime, GivenTimeError, NotATime, civil_ns};

/// Why a time or a period is refused.
#[derive(Debug, thiserror::Error)]
pub enum TimeError {
    /// A text of another form.
    #[error("{option}: {error}")]
    Form {
        /// The option.
        option: &'static str,
        /// What was given, and what may be.
        error: NotATime,
    },
    /// Both ends in the second option.
    #[error("--thru {0}: give two times with --from")]
    TwoTimesInThru(String),
    /// Both ends in one option, and one in the other.
    #[error("--from {0}: has two times already, so --thru cannot be given too")]
    ThreeTimes(String),
    /// The end comes first.
    #[error("--from {from} is after --thru {thru}")]
    Backwards {
        /// The start, as it was given.
        from: String,
        /// The end.
        thru: String,
    },
    /// The end comes first in a recording, for which a time without a day is one of its own.
    #[error("--from and --thru: the end is before the start")]
    EndsBeforeStart,
    /// A time that is not in the calendar.
    #[error(transparent)]
    Range(#[from] GivenTimeError),
}

/// The selected period of each recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeSelection {
    from: Option<GivenTime>,
    thru: Option<GivenTime>,
    /// Nanoseconds by which recordings are shown later than they were made.
    offset_ns: i64,
    /// Whether the first sample of the period is the base for rates, not the one before it.
    begins_with_base: bool,
}

/// A period of one recording, in nanoseconds since the epoch, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeRange {
    /// Earlier samples are not read, not even as a base for rates.
    pub base_ns: i64,
    /// The start of the period.
    pub from_ns: i64,
    /// Later samples are not shown.
    pub thru_ns: i64,
}

impl TimeRange {
    /// All of a recording.
    pub const ALL: TimeRange =
        TimeRange { base_ns: i64::MIN, from_ns: i64::MIN, thru_ns: i64::MAX };
}

impl TimeSelection {
    /// Parses the two options.
    ///
    /// # Errors
    /// A text is no time; the start is after the end, and both have a day.
    pub fn parse(from: Option<&str>, thru: Option<&str>, now: &Zoned) -> Result<Self, TimeError> {
        let read = |text: &str| time_words::moment(text, now);
        let (from, thru) = match (from, thru) {
            (Some(from), None) if read(from).is_err() => match two_times(from, &read) {
                Some((from, thru)) => (Some(from).filter(|from| !from.is_empty()), Some(thru)),
                None => (Some(from), None),
            },
            (_, Some(thru)) if two_times(thru, &read).is_some() => {
                return Err(TimeError::TwoTimesInThru(thru.to_owned()));
            }
            (Some(from), Some(_)) if two_times(from, &read).is_some() => {
                return Err(TimeError::ThreeTimes(from.to_owned()));
            }
            other => other,
        };
        let end = |option, text| read(text).map_err(|error| TimeError::Form { option, error });
        let start = from.map(|text| end("--from", text)).transpose()?;
        let stop = thru.map(|text| end("--thru", text)).transpose()?;
        let selection =
            TimeSelection { from: start, thru: stop, offset_ns: 0, begins_with_base: false };
        let has_days = |moment: Option<GivenTime>| moment.is_none_or(|moment| moment.has_day());
        if has_days(start) && has_days(stop) {
            selection.of(now.date(), now.time_zone(), 0).map_err(|error| match error {
                TimeError::EndsBeforeStart => TimeError::Backwards {
                    from: from.unwrap_or_default().to_owned(),
                    thru: thru.unwrap_or_default().to_owned(),
                },
                other => other,
            })?;
        }
        Ok(selection)
    }

    /// The period of recordings that are shown `offset_ns` later than they were made: its times
    /// are those that are shown.
    #[must_use]
    pub fn shown_later_by(self, offset_ns: i64) -> Self {
        TimeSelection { offset_ns, ..self }
    }

    /// The period whose first sample is the base for rates, as `sar -s` reckons.
    #[must_use]
    pub fn beginning_with_base(self) -> Self {
        TimeSelection { begins_with_base: true, ..self }
    }

    /// Nanoseconds by which recordings are shown later than they were made.
    #[must_use]
    pub fn offset_ns(&self) -> i64 {
        self.offset_ns
    }

    /// Whether both ends are open.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.from.is_none() && self.thru.is_none()
    }

    /// The period in a recording that is shown on that day, whose samples are `interval_ns` apart; the
    /// sample one interval before the start is the base for rates.
    ///
    /// # Errors
    /// The end is before the start.
    pub fn of(&self, day: Date, zone: &TimeZone, interval_ns: i64) -> Result<TimeRange, TimeError> {
        let mut span = TimeRange::ALL;
        let (first_day, first_time) = match self.from {
            Some(GivenTime::Civil { date, time }) => {
                (date.unwrap_or(day), time.unwrap_or(Time::midnight()))
            }
            Some(GivenTime::At { time_ns, .. }) => {
                let at = at_ns(time_ns).to_zoned(zone.clone());
                (at.date(), at.time())
            }
            None => (day, Time::midnight()),
        };
        if let Some(from) = self.from {
            span.from_ns = match from {
                GivenTime::At { time_ns, .. } => time_ns,
                GivenTime::Civil { .. } => civil_ns(first_day, first_time, zone)?,
            };
            // collectl uses no base if the day is shown from midnight.
            let has_none = first_time == Time::midnight() || self.begins_with_base;
            let base_ns = if has_none { 0 } else { interval_ns };
            span.base_ns = span.from_ns.saturating_sub(base_ns);
        }
        if let Some(thru) = self.thru {
            let (last_ns, is_whole) = match thru {
                GivenTime::At { time_ns, is_whole } => (time_ns, is_whole),
                GivenTime::Civil { date, time } => {
                    let time = time.unwrap_or(Time::constant(23, 59, 59, 0));
                    let mut last_day = date.unwrap_or(first_day);
                    if date.is_none() && self.from.is_some() && time < first_time {
                        last_day = last_day.checked_add(1.day()).map_err(GivenTimeError::from)?;
                    }
                    (civil_ns(last_day, time, zone)?, time.subsec_nanosecond() == 0)
                }
            };
            // Include the last second.
            let rest_ns = if is_whole { 999_999_999 } else { 0 };
            span.thru_ns = last_ns.saturating_add(rest_ns);
        }
        if span.from_ns > span.thru_ns {
            return Err(TimeError::EndsBeforeStart);
        }
        // An open end stays open.
        let made = |open_ns: i64, shown_ns: i64| match shown_ns == open_ns {
            true => open_ns,
            false => shown_ns.saturating_sub(self.offset_ns),
        };
        Ok(TimeRange {
            base_ns: made(i64::MIN, span.base_ns),
            from_ns: made(i64::MIN, span.from_ns),
            thru_ns: made(i64::MAX, span.thru_ns),
        })
    }
}

/// Two times with a hyphen between them, of which the first may be empty.
fn two_times<'a>(
    text: &'a str,
    read: &dyn Fn(&str) -> Result<GivenTime, NotATime>,
) -> Option<(&'a str, &'a str)> {
    let mut pairs = text.match_indices('-').map(|(at, _)| (&text[..at], &text[at + 1..]));
    pairs.find(|(from, thru)| (from.is_empty() || read(from).is_ok()) && read(thru).is_ok())
}

/// The time of `--at`, on `day` if it has none.
pub(crate) fn moment(
    text: &str,
    day: Date,
    zone: &TimeZone,
    now: &Zoned,
) -> Result<i64, TimeError> {
    Ok(match at_option(text, now)? {
        GivenTime::At { time_ns, .. } => time_ns,
        GivenTime::Civil { date, time } => {
            civil_ns(date.unwrap_or(day), time.unwrap_or(Time::midnight()), zone)?
        }
    })
}

fn at_option(text: &str, now: &Zoned) -> Result<GivenTime, TimeError> {
    time_words::moment(text, now).map_err(|error| TimeError::Form { option: "--at", error })
}

/// The time of `--at` for recordings of several days, in nanoseconds since the epoch: without a day it is
/// the latest such time of day that is not after `now`.
///
/// # Errors
/// The text is not a time.
pub fn moment_before(text: &str, now: &Zoned) -> Result<i64, TimeError> {
    Ok(at_option(text, now)?.before(now)?)
}

/// A time as `--at` takes it, with its day.
#[must_use]
pub fn moment_text(time_ns: i64, zone: &TimeZone) -> String {
    at_ns(time_ns).to_zoned(zone.clone()).strftime("%Y%m%d:%H:%M:%S").to_string()
}

fn at_ns(time_ns: i64) -> Timestamp {
    Timestamp::from_nanosecond(i128::from(time_ns)).unwrap_or_default()
}

/// The zone in which a recording's times are shown, and whether it differs from `local`: the
/// recording's own, if its offset at the start differs from that of `local`; else `local`, which
/// has rules for summer time.
#[must_use]
pub fn zone_of(own: Option<&str>, started_ns: i64, local: &TimeZone) -> (TimeZone, bool) {
    let local = local.clone();
    let Some(own) = own else { return (local, false) };
    let Some(zone) = parse_zone(own) else { return (local, false) };
    let Ok(moment) = Timestamp::from_nanosecond(i128::from(started_ns)) else {
        return (zone, true);
    };
    if zone.to_offset(moment) == local.to_offset(moment) { (local, false) } else { (zone, true) }
}

/// A name (`Europe/Berlin`) or an offset (`+02:00`, `-03:30:00`).
fn parse_zone(text: &str) -> Option<TimeZone> {
    let Some(sign) = text.strip_prefix('+').map(|_| 1).or(text.strip_prefix('-').map(|_| -1))
    else {
        return TimeZone::get(text).ok();
    };
    let mut parts = text[1..].split(':').map(|part| part.parse::<i32>().ok());
    let mut seconds = 0;
    for weight in [3600, 60, 1] {
        seconds += weight * parts.next().unwrap_or(Some(0))?;
    }
    let offset = jiff::tz::Offset::from_seconds(sign * seconds).ok()?;
    Some(TimeZone::fixed(offset))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    #[test]
    fn a_time_of_day_is_the_latest_before_now() {
        let now = date(2026, 3, 2).at(10, 15, 0, 0).in_tz("UTC").unwrap();
        let text = |at: &str| moment_text(moment_before(at, &now).unwrap(), &TimeZone::UTC);
        assert_eq!(text("10:15"), "20260302:10:15:00");
        assert_eq!(text("10:15:01"), "20260301:10:15:01");
        assert_eq!(text("20260303:01:00"), "20260303:01:00:00");
        assert_eq!(text("-1h"), "20260302:09:15:00");
        let said = moment_before("10:00-11:00", &now).unwrap_err().to_string();
        assert!(said.starts_with("--at: '10:00-11:00' is no time: write 10:15, "), "{said}");
    }

    /// 12:30 on the day after the recording.
    fn now() -> Zoned {
        date(2026, 11, 22).at(12, 30, 0, 0).in_tz("UTC").unwrap()
    }

    fn span(from: Option<&str>, thru: Option<&str>) -> (i64, i64, i64) {
        let period = TimeSelection::parse(from, thru, &now()).unwrap();
        let start = civil_ns(date(2026, 11, 21), Time::midnight(), &TimeZone::UTC).unwrap();
        let span = period.of(date(2026, 11, 21), &TimeZone::UTC, 10_000_000_000).unwrap();
        let seconds = |ns: i64| (ns - start).div_euclid(1_000_000_000);
        (seconds(span.base_ns), seconds(span.from_ns), seconds(span.thru_ns))
    }

    #[test]
    fn collectls_syntax() {
        assert_eq!(span(Some("10:00"), Some("11:00:30")), (35_990, 36_000, 39_630));
        assert_eq!(span(Some("10:00-11:00"), None), (35_990, 36_000, 39_600));
        assert_eq!(span(Some("20261122:01:00"), Some("20261122")), (89_990, 90_000, 172_799));
        assert_eq!(span(Some("20261121"), Some("9:05")), (0, 0, 32_700));
        assert_eq!(span(Some("23:00"), Some("01:00")), (82_790, 82_800, 90_000), "over midnight");
    }

    #[test]
    fn other_times_and_two_of_them_in_one() {
        let day = 86_400;
        let noon = day + 12 * 3600;
        for (from, thru, expected) in [
            ("-1h", Some("now"), (noon - 1800, noon + 1800)),
            ("-2h--1h", None, (noon - 5400, noon - 1800)),
            ("-2h-now", None, (noon - 5400, noon + 1800)),
            ("yesterday 10:15", Some("10:20"), (36_900, 37_200)),
            ("yesterday", Some("yesterday"), (0, day - 1)),
            ("2026-11-21T10:00", Some("2026-11-21 11:00"), (36_000, 39_600)),
            ("2026-11-21-2026-11-22", None, (0, 2 * day - 1)),
            ("2026-11-21T10:00-2026-11-21T11:00", None, (36_000, 39_600)),
            ("20261121-20261122", None, (0, 2 * day - 1)),
            ("20261121:10:00-20261121:11:00", None, (36_000, 39_600)),
            ("2026-11-21T10:00Z", Some("11:00"), (36_000, 39_600)),
        ] {
            let (_, start, end) = span(Some(from), thru);
            assert_eq!((start, end), expected, "{from} {thru:?}");
        }
    }

    #[test]
    fn a_start_after_the_end_is_refused_if_both_have_a_day() {
        for (from, thru) in [
            ("20261122:10:00", "20261121:11:00"),
            ("now", "-1h"),
            ("2026-11-22", "yesterday"),
            ("@1795219200", "@1795219100"),
        ] {
            let refused = TimeSelection::parse(Some(from), Some(thru), &now()).unwrap_err();
            assert_eq!(refused.to_string(), format!("--from {from} is after --thru {thru}"));
        }
        let refused = TimeSelection::parse(Some("20261122-20261121"), None, &now()).unwrap_err();
        assert_eq!(refused.to_string(), "--from 20261122 is after --thru 20261121");
    }

    #[test]
    fn nonsense_is_named() {
        for (from, thru) in [
            (Some("25:00"), None),
            (Some("10"), None),
            (Some("2026:10:00"), None),
            (Some("10:00-11:00"), Some("12:00")),
            (None, Some("10:00-11:00")),
            (Some("10:00:00:00"), None),
            (Some("20261301:10:00"), None),
        ] {
            let read = TimeSelection::parse(from, thru, &now());
            assert!(read.is_err(), "{from:?} {thru:?}: {read:?}");
        }
    }

    #[test]
    fn zones() {
        let berlin = parse_zone("+01:00").unwrap();
        let moment = Timestamp::from_second(0).unwrap();
        assert_eq!(berlin.to_offset(moment).seconds(), 3600);
        assert_eq!(parse_zone("-03:30").unwrap().to_offset(moment).seconds(), -12_600);
        assert!(parse_zone("nowhere").is_none());
        assert!(parse_zone("+x").is_none());
    }
}
