//! Times as text, and text as times: ISO 8601, from ns since 1970 to milli- to nanoseconds.

use crate::number::put_padded;

/// Seconds of a day.
const DAY: u64 = 86_400;

/// How far local time is from UTC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogZone {
    /// Seconds east of UTC; 0: UTC.
    pub offset_seconds: i32,
}

/// The text of a second is kept: most records have that of the one before.
#[derive(Debug, Clone)]
pub(crate) struct TimeText {
    zone: LogZone,
    second: u64,
    text: Vec<u8>,
}

impl TimeText {
    pub(crate) fn new(zone: LogZone) -> Self {
        TimeText { zone, second: u64::MAX, text: Vec::new() }
    }

    /// Appends a time with `digits` (at most 9) digits of the second's fraction.
    #[inline]
    pub(crate) fn put(&mut self, out: &mut Vec<u8>, time_ns: u64, digits: usize) {
        let second = time_ns / 1_000_000_000;
        if second != self.second {
            self.second = second;
            self.text.clear();
            put_second(&mut self.text, second, self.zone);
        }
        out.extend_from_slice(&self.text);
        if digits > 0 {
            out.push(b'.');
            let ns = time_ns % 1_000_000_000;
            // Divisions by constants, for the digits that are used.
            match digits {
                3 => put_padded(out, ns / 1_000_000, 3),
                6 => put_padded(out, ns / 1_000, 6),
                0..9 => put_padded(out, ns / 10_u64.pow(9 - digits as u32), digits),
                _ => put_padded(out, ns, 9),
            }
        }
    }

    /// Appends `Z`, or the offset of the zone.
    pub(crate) fn put_zone(&self, out: &mut Vec<u8>) {
        let seconds = self.zone.offset_seconds;
        if seconds == 0 {
            return out.push(b'Z');
        }
        out.push(if seconds < 0 { b'-' } else { b'+' });
        let minutes = u64::from(seconds.unsigned_abs()) / 60;
        put_padded(out, minutes / 60, 2);
        out.push(b':');
        put_padded(out, minutes % 60, 2);
    }
}

/// Appends a time in UTC: `2014-06-07T17:14:50.658`, with `digits` of the second's fraction.
pub fn write_time(out: &mut Vec<u8>, time_ns: u64, digits: usize) {
    TimeText::new(LogZone::default()).put(out, time_ns, digits);
}

fn put_second(out: &mut Vec<u8>, second: u64, zone: LogZone) {
    let second = second.saturating_add_signed(i64::from(zone.offset_seconds));
    let (year, month, day) = date_of(second / DAY);
    let of_day = second % DAY;
    put_padded(out, year, 4);
    for (mark, number) in [
        (b'-', month),
        (b'-', day),
        (b'T', of_day / 3600),
        (b':', of_day / 60 % 60),
        (b':', of_day % 60),
    ] {
        out.push(mark);
        put_padded(out, number, 2);
    }
}

/// Year, month and day of a day since 1970: the Gregorian calendar repeats every 400 years.
fn date_of(day: u64) -> (u64, u64, u64) {
    // Days since 1 March of year 0; so a leap day is the last of its year.
    let days = day + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

/// Days since 1970 of a date.
fn day_of(year: u64, month: u64, day: u64) -> Option<u64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || !(1970..=9999).contains(&year) {
        return None;
    }
    let year = year - u64::from(month <= 2);
    let of_era = year % 400;
    let month_from_march = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let days = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    let day_number = (year / 400 * 146_097 + days).checked_sub(719_468)?;
    (date_of(day_number).2 == day).then_some(day_number)
}

/// Reads a time in ns since 1970: `2026-11-22T20:00:00.5`, the date alone, with `Z`, an offset as
/// `+01:00`, or nothing, which means `zone`; or seconds since 1970 as `@1700000000.5`.
#[must_use]
pub fn parse_time(text: &str, zone: LogZone) -> Option<u64> {
    if let Some(seconds) = text.strip_prefix('@') {
        let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
        return whole
            .parse::<u64>()
            .ok()?
            .checked_mul(1_000_000_000)?
            .checked_add(ns_of(fraction)?);
    }
    let (date, time) = text.split_once(['T', ' ']).unwrap_or((text, "00:00:00"));
    let mut parts = date.split('-').map(|part| part.parse::<u64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let days = day_of(year, month, day).filter(|_| parts.next().is_none())?;
    let (time, offset) = split_zone(time, zone)?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    let mut parts = time.split(':').map(|part| part.parse::<u64>().ok());
    let (hour, minute) = (parts.next()??, parts.next()??);
    let second = parts.next().unwrap_or(Some(0))?;
    if parts.next().is_some() || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let seconds =
        (days * DAY + hour * 3600 + minute * 60 + second).checked_add_signed(-i64::from(offset))?;
    seconds.checked_mul(1_000_000_000)?.checked_add(ns_of(fraction)?)
}

fn split_zone(time: &str, zone: LogZone) -> Option<(&str, i32)> {
    if let Some(time) = time.strip_suffix('Z') {
        return Some((time, 0));
    }
    let Some(at) = time.find(['+', '-']) else { return Some((time, zone.offset_seconds)) };
    let (time, offset) = time.split_at(at);
    let (hours, minutes) = offset[1..].split_once(':')?;
    let (hours, minutes) = (hours.parse::<u8>().ok()?, minutes.parse::<u8>().ok()?);
    if hours > 23 || minutes > 59 {
        return None;
    }
    let seconds = i32::from(hours) * 3600 + i32::from(minutes) * 60;
    Some((time, if offset.starts_with('-') { -seconds } else { seconds }))
}

fn ns_of(fraction: &str) -> Option<u64> {
    if fraction.is_empty() {
        return Some(0);
    }
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = &fraction[..fraction.len().min(9)];
    let number: u64 = digits.parse().ok()?;
    Some(number * 10_u64.pow(9 - digits.len() as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(time_ns: u64, digits: usize) -> String {
        let mut out = Vec::new();
        write_time(&mut out, time_ns, digits);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn times_are_written_and_read() {
        let second = 1_000_000_000;
        assert_eq!(text(0, 0), "1970-01-01T00:00:00");
        assert_eq!(text(951_782_400 * second, 3), "2000-02-29T00:00:00.000");
        assert_eq!(text(1_402_161_290 * second + 658_123_456, 3), "2014-06-07T17:14:50.658");
        assert_eq!(text(4_107_542_399 * second + 999_999_999, 9), "2100-02-28T23:59:59.999999999");
        let utc = LogZone::default();
        for day in (0..60_000).step_by(13) {
            let time = day * DAY * second + 12_345 * second + 42;
            assert_eq!(parse_time(&text(time, 9), utc), Some(time));
        }
        let time = parse_time("2014-06-07T17:14:50.658+02:00", utc);
        assert_eq!(time, Some((1_402_161_290 - 7200) * second + 658_000_000));
        assert_eq!(parse_time("@12.5", utc), Some(12_500_000_000));
        assert_eq!(
            parse_time("2014-06-07 17:14", LogZone { offset_seconds: 60 }),
            parse_time("2014-06-07T17:13:00Z", utc)
        );
        for wrong in [
            "",
            "2014",
            "2014-13-01",
            "2014-02-30",
            "2014-06-07T25:00:00",
            "@x",
            "noon",
            "2014-06-07T17:14:50.12345678ä",
            "2014-06-07T17:14:50+999999999:00",
            "@1.12345678ä",
            "2014-06-07T17:14:50+24:00",
            "2014-06-07T17:14:50-00:60",
        ] {
            assert_eq!(parse_time(wrong, utc), None, "{wrong}");
        }
    }
}
