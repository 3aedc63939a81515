//! `--from` and `--thru`: `[yyyymmdd:]hh:mm[:ss]`, a date alone, or both ends in one `--from`.
//!
//! As in collectl, a time without a date is on the day of each recording.  Times are in the zone of
//! the recording.

use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Zoned};

/// One end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bound {
    /// `None`: the day of the recording.
    date: Option<Date>,
    time: Time,
}

/// Why a time or a period is refused.
#[derive(Debug, thiserror::Error)]
pub enum TimeError {
    /// A text of another form.
    #[error("{option} {text}: write [yyyymmdd:]hh:mm[:ss]")]
    Form {
        /// The option.
        option: &'static str,
        /// What was given.
        text: String,
        /// What is wrong with the date or the time, if that is known.
        #[source]
        source: Option<jiff::Error>,
    },
    /// Both ends in the second option.
    #[error("--thru {0}: give two times with --from")]
    TwoTimesInThru(String),
    /// Both ends in one option, and one in the other.
    #[error("--from {0}: has two times already, so --thru cannot be given too")]
    ThreeTimes(String),
    /// The end comes first.
    #[error("--from and --thru: the end is before the start")]
    Backwards,
    /// A day that the calendar lacks.
    #[error(transparent)]
    Calendar(#[from] jiff::Error),
    /// Before 1677 or after 2262.
    #[error(transparent)]
    Range(#[from] std::num::TryFromIntError),
}

/// The selected period of each recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeSelection {
    from: Option<Bound>,
    thru: Option<Bound>,
    /// Nanoseconds by which recordings are shown later than they were made.
    offset_ns: i64,
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
    /// A text is no time.
    pub fn parse(from: Option<&str>, thru: Option<&str>) -> Result<Self, TimeError> {
        let (from, thru) = match (from, thru) {
            (_, Some(thru)) if thru.contains('-') => {
                return Err(TimeError::TwoTimesInThru(thru.to_owned()));
            }
            (Some(from), Some(_)) if from.contains('-') => {
                return Err(TimeError::ThreeTimes(from.to_owned()));
            }
            (Some(both), None) => match both.split_once('-') {
                Some((from, thru)) => (Some(from).filter(|from| !from.is_empty()), Some(thru)),
                None => (Some(both), None),
            },
            other => other,
        };
        let start = |text| Bound::parse("--from", text, Time::midnight());
        let stop = |text| Bound::parse("--thru", text, Time::constant(23, 59, 59, 0));
        let (from, thru) = (from.map(start).transpose()?, thru.map(stop).transpose()?);
        Ok(TimeSelection { from, thru, offset_ns: 0 })
    }

    /// The same period of recordings that are shown `offset_ns` later than they were made: its times
    /// are those that are shown.
    #[must_use]
    pub fn shown_later_by(self, offset_ns: i64) -> Self {
        TimeSelection { offset_ns, ..self }
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
        let first_day = self.from.and_then(|from| from.date).unwrap_or(day);
        if let Some(from) = self.from {
            span.from_ns = epoch_ns(first_day, from.time, zone)?;
            // collectl uses no base if the day is shown from midnight.
            let base_ns = if from.time == Time::midnight() { 0 } else { interval_ns };
            span.base_ns = span.from_ns.saturating_sub(base_ns);
        }
        if let Some(thru) = self.thru {
            let mut last_day = thru.date.unwrap_or(first_day);
            let wraps = self.from.is_some_and(|from| thru.time < from.time);
            if thru.date.is_none() && wraps {
                last_day = last_day.checked_add(1.day())?;
            }
            // Include the last second.
            span.thru_ns = epoch_ns(last_day, thru.time, zone)?.saturating_add(999_999_999);
        }
        if span.from_ns > span.thru_ns {
            return Err(TimeError::Backwards);
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

impl Bound {
    fn parse(option: &'static str, text: &str, default: Time) -> Result<Bound, TimeError> {
        let wrong = |source| TimeError::Form { option, text: text.to_owned(), source };
        let (first, rest) = text.split_once(':').unwrap_or((text, ""));
        let (date, time) = if first.len() > 2 {
            if first.len() != 8 {
                return Err(wrong(None));
            }
            let date = Date::strptime("%Y%m%d", first);
            (Some(date.map_err(|source| wrong(Some(source)))?), rest)
        } else {
            (None, text)
        };
        if time.is_empty() {
            return match date {
                Some(_) => Ok(Bound { date, time: default }),
                None => Err(wrong(None)),
            };
        }
        let mut parts = time.split(':').map(str::parse::<i8>);
        let mut next = || parts.next().transpose().map_err(|_| wrong(None));
        let (hour, minute, second) = (next()?, next()?, next()?);
        let (Some(hour), Some(minute)) = (hour, minute) else { return Err(wrong(None)) };
        if next()?.is_some() {
            return Err(wrong(None));
        }
        let time = Time::new(hour, minute, second.unwrap_or(0), 0);
        let time = time.map_err(|source| wrong(Some(source)))?;
        Ok(Bound { date, time })
    }
}

/// The time of `--at`: `[yyyymmdd:]hh:mm[:ss]`, on `day` if it has none.
pub(crate) fn moment(text: &str, day: Date, zone: &TimeZone) -> Result<i64, TimeError> {
    let wrong = |_| TimeError::Form { option: "--at", text: text.to_owned(), source: None };
    let bound = Bound::parse("--at", text, Time::midnight()).map_err(wrong)?;
    epoch_ns(bound.date.unwrap_or(day), bound.time, zone)
}

/// The time of `--at` for recordings of several days, in nanoseconds since the epoch: without a day it is
/// the latest such time of day that is not after `now`.
///
/// # Errors
/// The text is not a time.
pub fn moment_before(text: &str, now: &Zoned) -> Result<i64, TimeError> {
    let at_ns = moment(text, now.date(), now.time_zone())?;
    if i128::from(at_ns) <= now.timestamp().as_nanosecond() {
        return Ok(at_ns);
    }
    moment(text, now.date().yesterday()?, now.time_zone())
}

/// A time as `--at` takes it, with its day.
#[must_use]
pub fn moment_text(at_ns: i64, zone: &TimeZone) -> String {
    let at = jiff::Timestamp::from_nanosecond(i128::from(at_ns)).unwrap_or_default();
    at.to_zoned(zone.clone()).strftime("%Y%m%d:%H:%M:%S").to_string()
}

fn epoch_ns(date: Date, time: Time, zone: &TimeZone) -> Result<i64, TimeError> {
    let moment = zone.to_timestamp(date.to_datetime(time))?;
    Ok(i64::try_from(moment.as_nanosecond())?)
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
        let said = moment_before("10:00-11:00", &now).unwrap_err().to_string();
        assert_eq!(said, "--at 10:00-11:00: write [yyyymmdd:]hh:mm[:ss]");
    }

    fn span(from: Option<&str>, thru: Option<&str>) -> (i64, i64, i64) {
        let period = TimeSelection::parse(from, thru).unwrap();
        let start = epoch_ns(date(2026, 11, 21), Time::midnight(), &TimeZone::UTC).unwrap();
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
            assert!(TimeSelection::parse(from, thru).is_err(), "{from:?} {thru:?}");
        }
        let backwards =
            TimeSelection::parse(Some("20261122:10:00"), Some("20261121:11:00")).unwrap();
        assert!(backwards.of(date(2026, 11, 21), &TimeZone::UTC, 0).is_err());
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
