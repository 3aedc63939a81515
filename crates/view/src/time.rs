//! Times as collectl writes them: the time column, the record line, the plot columns.
//!
//! The caller gives the zone, so a test (or `--utc`) does not depend on the machine's.

use calendar::{MONTHS, WEEKDAYS};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use layout::Options;
use layout::number::push_u64;

/// A moment on the wall clock of a zone.
#[derive(Clone, Copy, Debug)]
pub struct LocalTime {
    date: DateTime,
    seconds: i64,
    millisecond: u16,
}

impl LocalTime {
    /// The time `realtime_ns` after the epoch, in `zone`, truncated to milliseconds as in collectl.
    pub fn new(realtime_ns: i64, zone: &TimeZone) -> Self {
        let timestamp = Timestamp::from_nanosecond(realtime_ns.into()).unwrap_or_default();
        let nanosecond = realtime_ns.rem_euclid(1_000_000_000);
        LocalTime {
            date: zone.to_datetime(timestamp),
            seconds: realtime_ns.div_euclid(1_000_000_000),
            millisecond: u16::try_from(nanosecond / 1_000_000).unwrap_or(0),
        }
    }

    /// `HH:MM:SS`.
    fn push_time(&self, out: &mut Vec<u8>) {
        push_two(out, self.date.hour());
        out.push(b':');
        push_two(out, self.date.minute());
        out.push(b':');
        push_two(out, self.date.second());
    }

    /// `HH:MM:SS`, with milliseconds under `-om`.
    pub fn push_clock(&self, options: &Options, out: &mut Vec<u8>) {
        self.push_time(out);
        if options.has('m') {
            self.push_milliseconds(out);
        }
    }

    /// The day (`YYYYMMDD`, or `MM/DD` under `-od`) and the time of day.
    pub fn push_day_and_clock(&self, options: &Options, separator: &[u8], out: &mut Vec<u8>) {
        if options.has('d') {
            self.push_short_date(out);
        } else {
            self.push_date(out);
        }
        out.extend_from_slice(separator);
        self.push_clock(options, out);
    }

    /// `YYYYMMDD`.
    fn push_date(&self, out: &mut Vec<u8>) {
        push_u64(out, self.date.year().max(0).unsigned_abs().into());
        push_two(out, self.date.month());
        push_two(out, self.date.day());
    }

    /// `MM/DD`.
    fn push_short_date(&self, out: &mut Vec<u8>) {
        push_two(out, self.date.month());
        out.push(b'/');
        push_two(out, self.date.day());
    }

    /// `.mmm`.
    fn push_milliseconds(&self, out: &mut Vec<u8>) {
        out.push(b'.');
        out.push(b'0' + (self.millisecond / 100) as u8);
        push_two(out, (self.millisecond % 100) as i8);
    }

    /// The time column before a line, followed by a blank; empty without `-oT`, `-od` and `-oD`.
    pub fn push_column(&self, options: &Options, out: &mut Vec<u8>) {
        if !has_column(options) {
            return;
        }
        if options.has('D') {
            self.push_date(out);
            out.push(b' ');
        } else if options.has('d') {
            self.push_short_date(out);
            out.push(b' ');
        }
        self.push_time(out);
        if options.has('m') {
            self.push_milliseconds(out);
        }
        out.push(b' ');
    }

    /// Date and time as plot columns, or the seconds since the epoch.
    pub fn push_plot(&self, options: &Options, separator: &[u8], out: &mut Vec<u8>) {
        if is_utc(options) {
            layout::number::push_whole(out, self.seconds as f64);
        } else {
            if options.has('d') {
                self.push_short_date(out);
            } else {
                self.push_date(out);
            }
            out.extend_from_slice(separator);
            self.push_time(out);
        }
        if options.has('m') {
            self.push_milliseconds(out);
        }
    }

    /// Seconds since the epoch with milliseconds, for the record line.
    pub fn push_seconds(&self, out: &mut Vec<u8>) {
        layout::number::push_whole(out, self.seconds as f64);
        self.push_milliseconds(out);
    }

    /// `Sat Nov 21 09:16:10 2026`, with milliseconds under `-om`.
    pub fn push_long(&self, options: &Options, out: &mut Vec<u8>) {
        let three = |names: &'static [&str], index: i8| {
            let name = usize::try_from(index).ok().and_then(|index| names.get(index));
            name.map_or(&b""[..], |name| &name.as_bytes()[..3])
        };
        let weekday = self.date.weekday().to_sunday_zero_offset();
        out.extend_from_slice(three(&WEEKDAYS, weekday));
        out.push(b' ');
        out.extend_from_slice(three(&MONTHS, self.date.month() - 1));
        out.push(b' ');
        if self.date.day() < 10 {
            out.push(b' ');
        }
        push_u64(out, self.date.day().unsigned_abs().into());
        if options.has('m') && options.exact && self.date.day() < 10 {
            // collectl takes the day for the time and leaves out the year.
            self.push_milliseconds(out);
            out.push(b' ');
            return self.push_time(out);
        }
        out.push(b' ');
        self.push_time(out);
        if options.has('m') {
            self.push_milliseconds(out);
        }
        out.push(b' ');
        push_u64(out, self.date.year().max(0).unsigned_abs().into());
    }

    /// The day as a number that differs between days, to notice midnight.
    pub fn day(&self) -> (i16, i16) {
        (self.date.year(), self.date.day_of_year())
    }
}

fn push_two(out: &mut Vec<u8>, value: i8) {
    layout::number::push_two(out, value.unsigned_abs().into());
}

/// Whether lines begin with a time column.
pub fn has_column(options: &Options) -> bool {
    options.has('T') || options.has('d') || options.has('D')
}

/// The heading of the time column, as wide as what [`push_column`](LocalTime::push_column) writes.
/// `-om` alone widens it, as in collectl.
pub fn column_name(options: &Options) -> &'static str {
    match (options.has('D'), options.has('d'), options.has('T'), options.has('m')) {
        (true, _, _, false) => "Date    Time      ",
        (true, _, _, true) => "Date    Time          ",
        (_, true, _, false) => "Date Time      ",
        (_, true, _, true) => "Date Time          ",
        (_, _, true, false) => "Time     ",
        (_, _, true, true) => "Time         ",
        (_, _, _, true) => "    ",
        _ => "",
    }
}

/// Whether plot times are seconds since the epoch.
pub fn is_utc(options: &Options) -> bool {
    options.utc || options.has('U')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(letters: &str) -> Options {
        Options { letters: letters.into(), ..Options::default() }
    }

    fn text(push: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        push(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn columns_are_as_wide_as_their_names() {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let time = LocalTime::new(1_795_252_570_001_900_000, &zone);
        for letters in ["T", "d", "D", "Tm", "dm", "Dm"] {
            let options = options(letters);
            let column = text(|out| time.push_column(&options, out));
            assert_eq!(column.len(), column_name(&options).len(), "{letters}: {column}");
        }
        assert_eq!(text(|out| time.push_column(&options("Dm"), out)), "20261121 11:16:10.001 ");
        assert_eq!(text(|out| time.push_column(&options("m"), out)), "");
        assert_eq!(text(|out| time.push_plot(&options("d"), b",", out)), "11/21,11:16:10");
        assert_eq!(text(|out| time.push_plot(&options("Um"), b",", out)), "1795252570.001");
        assert_eq!(text(|out| time.push_long(&options(""), out)), "Sat Nov 21 11:16:10 2026");
        assert_eq!(text(|out| time.push_seconds(out)), "1795252570.001");
    }

    #[test]
    fn times_before_the_epoch_and_beyond_all_years_do_no_harm() {
        for realtime_ns in [i64::MIN, -1, 0, i64::MAX] {
            let time = LocalTime::new(realtime_ns, &TimeZone::UTC);
            text(|out| time.push_long(&options("m"), out));
        }
    }
}
