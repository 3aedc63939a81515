//! Times as text, and text as times: ISO 8601, from ns since 1970 to milli- to nanoseconds.

use calendar::{CivilTime, DAY_S, days_of_date};
use text::integer::push_padded;

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
                3 => push_padded(out, ns / 1_000_000, 3),
                6 => push_padded(out, ns / 1_000, 6),
                0..9 => push_padded(out, ns / 10_u64.pow(9 - digits as u32), digits),
                _ => push_padded(out, ns, 9),
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
        push_padded(out, minutes / 60, 2);
        out.push(b':');
        push_padded(out, minutes % 60, 2);
    }
}

/// Appends a time in UTC: `2014-06-07T17:14:50.658`, with `digits` of the second's fraction.
pub fn write_time(out: &mut Vec<u8>, time_ns: u64, digits: usize) {
    TimeText::new(LogZone::default()).put(out, time_ns, digits);
}

fn put_second(out: &mut Vec<u8>, second: u64, zone: LogZone) {
    let second = second.saturating_add_signed(i64::from(zone.offset_seconds));
    let time = CivilTime::of_local(i64::try_from(second).unwrap_or(i64::MAX));
    push_padded(out, time.year.unsigned_abs(), 4);
    for (mark, number) in [
        (b'-', time.month),
        (b'-', time.day),
        (b'T', time.hour),
        (b':', time.minute),
        (b':', time.second),
    ] {
        out.push(mark);
        push_padded(out, number.unsigned_abs(), 2);
    }
}

/// Days since 1970 of a date from 1970 on; `None` if there is no such day.
fn day_of(year: u64, month: u64, day: u64) -> Option<u64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || !(1970..=9999).contains(&year) {
        return None;
    }
    let (year, month, day) = (year as i64, month as i64, day as i64);
    let days = days_of_date(year, month, day);
    let is_there = CivilTime::of_local(days * DAY_S).day == day;
    u64::try_from(days).ok().filter(|_| is_there)
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
    let seconds = (days * DAY_S as u64 + hour * 3600 + minute * 60 + second)
        .checked_add_signed(-i64::from(offset))?;
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
            let time = day * DAY_S as u64 * second + 12_345 * second + 42;
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
