//! Times as the verbs of whit take them, but for `whit rrd`, which keeps RRDtool's language.
//!
//! A text is a moment (`now`, `-1h`, `@1700000000`, `2026-11-22T10:15Z`) or fields of a calendar
//! (`2026-11-22 10:15`, `yesterday 10:15`, `10:15`), which mean a time only in a zone: that of a
//! recording, or that of who asks.

use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, Timestamp, ToSpan as _, Zoned};

/// What a time may look like, for help and errors.
pub const TIME_FORMS: &str =
    "10:15, yesterday 10:15, 2026-11-22T10:15, 20261122:10:15, -1h, now or @SECONDS";

/// A time that was given.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum GivenTime {
    /// A point in time.
    At {
        /// Nanoseconds since 1970.
        time_ns: i64,
        /// Whether it was written in whole seconds: as an end it takes all of its second.
        is_whole: bool,
    },
    /// Fields of the calendar, of which at least one is there.
    Civil {
        /// `None`: the day depends on who asks.
        date: Option<Date>,
        /// `None`: all of the day.
        time: Option<Time>,
    },
}

/// A text that is no time.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("'{text}' is no time: write {TIME_FORMS}")]
pub struct NotATime {
    /// What was given.
    pub text: String,
}

/// A time without a place in the calendar that whit keeps.
#[derive(Debug, thiserror::Error)]
pub enum GivenTimeError {
    /// A day that the calendar lacks.
    #[error(transparent)]
    Calendar(#[from] jiff::Error),
    /// Before 1677 or after 2262.
    #[error("{0} is before 1677 or after 2262")]
    Range(Timestamp),
}

/// Reads a time.
///
/// # Errors
/// The text is no time.
pub fn moment(text: &str, now: &Zoned) -> Result<GivenTime, NotATime> {
    let trimmed = text.trim();
    collectl_time(trimmed)
        .or_else(|| iso_time(trimmed))
        .or_else(|| relative(trimmed, now))
        .or_else(|| seconds(trimmed))
        .or_else(|| day_and_time(trimmed, now))
        .or_else(|| words(trimmed, now))
        .ok_or_else(|| NotATime { text: text.to_owned() })
}

impl GivenTime {
    /// Whether it is the same time for each recording.
    #[must_use]
    pub fn has_day(&self) -> bool {
        !matches!(self, GivenTime::Civil { date: None, .. })
    }

    /// Nanoseconds since 1970: a day alone is its first second, a time of day the latest that is
    /// not after `now`.
    ///
    /// # Errors
    /// It has no place in the calendar.
    pub fn before(&self, now: &Zoned) -> Result<i64, GivenTimeError> {
        let (date, time) = match *self {
            GivenTime::At { time_ns, .. } => return Ok(time_ns),
            GivenTime::Civil { date, time } => (date, time.unwrap_or(Time::midnight())),
        };
        if let Some(date) = date {
            return civil_ns(date, time, now.time_zone());
        }
        let today_ns = civil_ns(now.date(), time, now.time_zone())?;
        match i128::from(today_ns) <= now.timestamp().as_nanosecond() {
            true => Ok(today_ns),
            false => civil_ns(now.date().yesterday()?, time, now.time_zone()),
        }
    }
}

/// Nanoseconds since 1970 of a time on a wall clock.
///
/// # Errors
/// It has no place in the calendar.
pub fn civil_ns(date: Date, time: Time, zone: &TimeZone) -> Result<i64, GivenTimeError> {
    let timestamp = zone.to_timestamp(date.to_datetime(time))?;
    i64::try_from(timestamp.as_nanosecond()).map_err(|_| GivenTimeError::Range(timestamp))
}

fn at(timestamp: Timestamp, is_whole: bool) -> Option<GivenTime> {
    Some(GivenTime::At { time_ns: i64::try_from(timestamp.as_nanosecond()).ok()?, is_whole })
}

/// `[yyyymmdd:]hh:mm[:ss]`, or the day alone.
fn collectl_time(text: &str) -> Option<GivenTime> {
    let (first, rest) = text.split_once(':').unwrap_or((text, ""));
    if first.len() <= 2 {
        return Some(GivenTime::Civil { date: None, time: Some(clock(text)?) });
    }
    if first.len() != 8 || !first.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let date = Date::strptime("%Y%m%d", first).ok()?;
    let time = if rest.is_empty() { None } else { Some(clock(rest)?) };
    Some(GivenTime::Civil { date: Some(date), time })
}

/// `hh:mm[:ss]`, each of one or two digits.
fn clock(text: &str) -> Option<Time> {
    let mut parts = text.split(':').map(|part| {
        let is_number = (1..=2).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        if is_number { part.parse::<i8>().ok() } else { None }
    });
    let (hour, minute) = (parts.next()??, parts.next()??);
    let second = parts.next().unwrap_or(Some(0))?;
    if parts.next().is_some() {
        return None;
    }
    Time::new(hour, minute, second, 0).ok()
}

/// `2026-11-22`, `2026-11-22T10:15[:30[.5]]` with a blank or a `T`, with `Z`, an offset or neither.
fn iso_time(text: &str) -> Option<GivenTime> {
    let bytes = text.as_bytes();
    if bytes.len() < 10 || bytes.get(4) != Some(&b'-') || bytes.get(7) != Some(&b'-') {
        return None;
    }
    let date: Date = text.get(..10)?.parse().ok()?;
    let Some(rest) = text.get(10..).filter(|rest| !rest.is_empty()) else {
        return Some(GivenTime::Civil { date: Some(date), time: None });
    };
    let time = rest.strip_prefix(['T', 't', ' '])?;
    // The digits of a fraction are what makes a time not whole.
    let is_whole = !time.contains(['.', ',']);
    if time.contains(['Z', 'z', '+', '-']) {
        let stamped = format!("{date}T{time}").parse::<Timestamp>().ok()?;
        return at(stamped, is_whole);
    }
    Some(GivenTime::Civil { date: Some(date), time: Some(time.parse().ok()?) })
}

/// `now`, `-1h`, `now-1h30m`, `now+5s`: `m` is minutes.
fn relative(text: &str, now: &Zoned) -> Option<GivenTime> {
    if text == "now" {
        return at(now.timestamp(), false);
    }
    let lengths = text.strip_prefix("now").unwrap_or(text);
    let is_back = lengths.starts_with('-');
    let mut left = lengths.strip_prefix(['-', '+'])?;
    let mut days = Span::new();
    let mut rest = SignedDuration::ZERO;
    loop {
        let digits = left.bytes().take_while(u8::is_ascii_digit).count();
        let amount: i64 = left.get(..digits)?.parse().ok()?;
        let unit = left.as_bytes().get(digits)?;
        left = left.get(digits + 1..)?;
        let (unit_days, unit_s) = match unit {
            b's' => (0, 1),
            b'm' => (0, 60),
            b'h' => (0, 3600),
            b'd' => (1, 0),
            b'w' => (7, 0),
            _ => return None,
        };
        days = days.checked_add(Span::new().try_days(amount.checked_mul(unit_days)?).ok()?).ok()?;
        rest = rest.checked_add(SignedDuration::from_secs(amount.checked_mul(unit_s)?))?;
        if left.is_empty() {
            break;
        }
    }
    let moved = match is_back {
        true => now.checked_sub(days).ok()?.checked_sub(rest).ok()?,
        false => now.checked_add(days).ok()?.checked_add(rest).ok()?,
    };
    at(moved.timestamp(), false)
}

/// `@1700000000[.5]`.
fn seconds(text: &str) -> Option<GivenTime> {
    let text = text.strip_prefix('@')?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let digits = &fraction[..fraction.len().min(9)];
    let nanoseconds: i64 = format!("{digits:0<9}").parse().ok()?;
    let time_ns = whole.parse::<i64>().ok()?.checked_mul(1_000_000_000)?;
    Some(GivenTime::At {
        time_ns: time_ns.checked_add(nanoseconds)?,
        is_whole: fraction.is_empty(),
    })
}

/// `yesterday`, `today`, `tomorrow`, with a time of day before or after it.
fn day_and_time(text: &str, now: &Zoned) -> Option<GivenTime> {
    let (first, second) = text.split_once(' ').unwrap_or((text, ""));
    let (name, time) = match first.contains(':') {
        true => (second.trim(), first),
        false => (first, second.trim()),
    };
    let days = match name.to_ascii_lowercase().as_str() {
        "today" => 0,
        "yesterday" => -1,
        "tomorrow" => 1,
        _ => return None,
    };
    let date = now.date().checked_add(days.days()).ok()?;
    let time = if time.is_empty() { None } else { Some(clock(time)?) };
    Some(GivenTime::Civil { date: Some(date), time })
}

/// What RRDtool takes besides: `noon yesterday`, `6pm monday`, `now-2months`, seconds since 1970.
fn words(text: &str, now: &Zoned) -> Option<GivenTime> {
    // A short number is a count or an hour elsewhere, and after a sign the end of a period: RRDtool
    // takes both, the latter as seconds.
    let last = text.rsplit(['-', '+']).next().unwrap_or(text);
    let has_letter = last.bytes().any(|byte| byte.is_ascii_alphabetic());
    if !has_letter && (last.len() < 9 || last.len() < text.len()) {
        return None;
    }
    let zone = calendar::CivilZone::new(now.time_zone().clone());
    let spec = crate::parse(text, now.timestamp().as_second(), &zone).ok()?;
    let time_ns = spec.absolute(&zone).ok()?.checked_mul(1_000_000_000)?;
    Some(GivenTime::At { time_ns, is_whole: true })
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    fn now() -> Zoned {
        date(2026, 3, 30).at(10, 15, 20, 0).in_tz("Europe/Berlin").unwrap()
    }

    /// The text, resolved before [`now`], in the zone.
    fn shown(text: &str) -> String {
        let now = now();
        let Ok(moment) = moment(text, &now) else { return "none".to_owned() };
        let time_ns = moment.before(&now).unwrap();
        let stamp = Timestamp::from_nanosecond(time_ns.into()).unwrap();
        stamp.to_zoned(now.time_zone().clone()).strftime("%Y%m%d:%H:%M:%S%.f").to_string()
    }

    #[test]
    fn each_form_is_the_time_that_it_says() {
        for (text, expected) in [
            ("10:15", "20260330:10:15:00"),
            ("10:16", "20260329:10:16:00"),
            ("9:05:07", "20260330:09:05:07"),
            ("20260322:10:15", "20260322:10:15:00"),
            ("20260322", "20260322:00:00:00"),
            ("2026-03-22", "20260322:00:00:00"),
            ("2026-03-22T10:15", "20260322:10:15:00"),
            ("2026-03-22 10:15:30.25", "20260322:10:15:30.25"),
            ("2026-03-22T10:15Z", "20260322:11:15:00"),
            ("2026-03-22T10:15:00+05:30", "20260322:05:45:00"),
            ("@1774000000.5", "20260320:10:46:40.5"),
            ("1774000000", "20260320:10:46:40"),
            ("now", "20260330:10:15:20"),
            ("-1h", "20260330:09:15:20"),
            ("-5m", "20260330:10:10:20"),
            ("now-1h30m", "20260330:08:45:20"),
            ("now+5s", "20260330:10:15:25"),
            // A day is a day of the calendar, also when the clock changes.
            ("-2d", "20260328:10:15:20"),
            ("-1w", "20260323:10:15:20"),
            ("-48h", "20260328:09:15:20"),
            ("yesterday", "20260329:00:00:00"),
            ("yesterday 10:15", "20260329:10:15:00"),
            ("10:15 yesterday", "20260329:10:15:00"),
            ("Today 9:00", "20260330:09:00:00"),
            ("noon yesterday", "20260329:12:00:00"),
            ("6pm 20260301", "20260301:18:00:00"),
            ("now-2months", "20260130:10:15:20"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            " ",
            "10",
            "10:60",
            "25:00",
            "10:00:00:00",
            "2026:10:00",
            "20261301:10:00",
            "-",
            "+",
            "-1",
            "5m",
            "now5",
            "@",
            "@1x",
            "@-1",
            "2026-13-01",
            "2026-11-22T",
            "2026-11-22T25:00",
            "2026-11-22x",
            "2014",
            "2014-02-30",
            "@x",
            "2014-06-07T17:14:50.12345678\u{e4}",
            "2014-06-07T17:14:50+999999999:00",
            "@1.12345678\u{e4}",
            "2014-06-07T17:14:50-00:60",
            "yesterday 25:00",
            "yesterday noon-ish",
            "10:00-11:00",
            "10:00-11",
            "20261121-20261122",
            "-9999999999999h",
            "@99999999999999",
            "start-1h",
            "end-1d",
            "\u{e4}\u{f6}\u{fc}",
            "-\u{e4}",
        ] {
            assert_eq!(shown(text), "none", "{text}");
        }
    }
}
