//! Times as text: ISO 8601, from ns since 1970 to milli- to nanoseconds.

use calendar::CivilTime;
use text::integer::push_padded;

/// How far local time is from UTC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogZone {
    /// Seconds east of UTC; 0: UTC.
    pub offset_seconds: i32,
}

/// Writes times; the text of a second is kept, since most records have that of the one before.
#[derive(Debug, Clone)]
pub struct TimeText {
    zone: LogZone,
    second: u64,
    text: Vec<u8>,
}

impl TimeText {
    /// Writes times of a zone.
    #[must_use]
    pub fn new(zone: LogZone) -> Self {
        TimeText { zone, second: u64::MAX, text: Vec::new() }
    }

    /// Appends a time, `2014-06-07T17:14:50.658`, with `digits` (at most 9) digits of the second's fraction.
    #[inline]
    pub fn put(&mut self, out: &mut Vec<u8>, time_ns: u64, digits: usize) {
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
    pub fn put_zone(&self, out: &mut Vec<u8>) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;

    fn text(time_ns: u64, digits: usize) -> String {
        let mut out = Vec::new();
        TimeText::new(LogZone::default()).put(&mut out, time_ns, digits);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn times_are_written_as_the_calendar_has_them() {
        let second = 1_000_000_000;
        assert_eq!(text(0, 0), "1970-01-01T00:00:00");
        assert_eq!(text(951_782_400 * second, 3), "2000-02-29T00:00:00.000");
        assert_eq!(text(1_402_161_290 * second + 658_123_456, 3), "2014-06-07T17:14:50.658");
        assert_eq!(text(4_107_542_399 * second + 999_999_999, 9), "2100-02-28T23:59:59.999999999");
        for day in (0..60_000).step_by(13) {
            let time_ns = (day * 86_400 + 12_345) * second + 42;
            let known = Timestamp::from_nanosecond(time_ns.into()).unwrap();
            assert_eq!(text(time_ns, 9), known.strftime("%Y-%m-%dT%H:%M:%S.%9f").to_string());
        }
    }
}
