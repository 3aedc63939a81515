//! Whether readings can be taken: an update is checked when it comes, and written later.
//!
//! A caching daemon keeps this of each file: what kind each source is, and nothing else of the
//! header.  Checking a reading allocates nothing unless it is refused.

use crate::error::{Result, refuse};
use crate::header::{RrdHeader, SourceKind, Time};
use crate::number;
use crate::reading::amount;

/// The sources that a reading gives values to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadingRules {
    kinds: Box<[SourceKind]>,
    has_microseconds: bool,
}

/// Latest time that is taken, in seconds since 1970: the calendar ends long before.
const SECONDS_MAX: f64 = 1e15;

impl ReadingRules {
    /// The rules of a file.
    #[must_use]
    pub fn of(header: &RrdHeader) -> Self {
        let kinds = header.sources.iter().map(|source| source.kind);
        let kinds = kinds.filter(|kind| *kind != SourceKind::Compute).collect();
        Self { kinds, has_microseconds: header.version >= 3 }
    }

    /// Reads the time of a reading (`1700000000.5:1:2`): the time and where the values begin.
    /// `None` if it begins with no number and a colon.
    #[must_use]
    pub fn time(&self, reading: &[u8]) -> Option<(Time, usize)> {
        if let Some(time) = whole_time(reading) {
            return Some(time);
        }
        let (seconds, length) = number::parse_prefix(reading);
        if length == 0 || reading.get(length) != Some(&b':') || seconds.abs() > SECONDS_MAX {
            return None;
        }
        let whole = seconds.floor();
        let microseconds = match self.has_microseconds {
            true => ((seconds - whole) * 1e6) as i64,
            false => 0,
        };
        Some((Time { seconds: whole as i64, microseconds }, length + 1))
    }

    /// Reads a reading of plain numbers, as nearly all are, which a blank follows or nothing: its
    /// time, and its length.  It needs no other check.  `None` says nothing about a reading: whoever
    /// gets it asks [`ReadingRules::time`] and [`ReadingRules::check`].
    #[must_use]
    pub fn plain(&self, text: &[u8]) -> Option<(Time, usize)> {
        let (time, mut place) = whole_time(text)?;
        let mut kinds = self.kinds.iter();
        loop {
            let kind = kinds.next()?;
            let start = place;
            place += digits(&text[place..]);
            if place == start {
                return None;
            }
            if !is_integer(*kind) && text.get(place) == Some(&b'.') {
                place += 1 + digits(&text[place + 1..]);
            }
            match text.get(place) {
                Some(b':') => place += 1,
                Some(b' ') | None => break,
                Some(_) => return None,
            }
        }
        kinds.next().is_none().then_some((time, place))
    }

    /// Checks that there is a value for each source and that each can be read; `start` is where
    /// the values begin.
    ///
    /// # Errors
    /// What an update of the file would say.
    pub fn check(&self, reading: &[u8], start: usize) -> Result<()> {
        let mut count = 0;
        for value in reading[start..].split(|byte| *byte == b':') {
            let Some(kind) = self.kinds.get(count) else { return Err(self.wrong_count(reading)) };
            if !is_plain(value, is_integer(*kind)) {
                check_value(*kind, value)?;
            }
            count += 1;
        }
        match count == self.kinds.len() {
            true => Ok(()),
            false => Err(self.wrong_count(reading)),
        }
    }

    fn wrong_count(&self, reading: &[u8]) -> crate::Error {
        let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let time = reading.split(|byte| *byte == b':').next().unwrap_or_default();
        let count = reading.iter().filter(|byte| **byte == b':').count();
        let wanted = self.kinds.len();
        match count > wanted {
            true => {
                let rest = reading.splitn(wanted + 2, |byte| *byte == b':').last();
                refuse!("found extra data on update argument: {}", shown(rest.unwrap_or_default()))
            }
            false => {
                refuse!("expected {wanted} data source readings (got {count}) from {}", shown(time))
            }
        }
    }
}

/// Longest time that is read as an integer, in digits.
const TIME_DIGITS_MAX: usize = 14;

/// Reads a time of digits alone and a colon: the time and where the values begin.
#[inline]
fn whole_time(reading: &[u8]) -> Option<(Time, usize)> {
    let end = digits(&reading[..reading.len().min(TIME_DIGITS_MAX)]);
    if end == 0 || reading.get(end) != Some(&b':') {
        return None;
    }
    let seconds = reading[..end].iter().fold(0, |sum, byte| sum * 10 + i64::from(byte - b'0'));
    Some((Time::of_seconds(seconds), end + 1))
}

/// The number of digits that a text begins with.
#[inline]
fn digits(text: &[u8]) -> usize {
    text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len())
}

/// Whether values of a kind have no point.
fn is_integer(kind: SourceKind) -> bool {
    matches!(kind, SourceKind::Counter | SourceKind::Derive)
}

/// Whether a value is digits with one point at most: any kind reads it, integers without a point.
fn is_plain(value: &[u8], is_integer: bool) -> bool {
    let mut points = 0;
    for byte in value {
        match byte {
            b'0'..=b'9' => {}
            b'.' => points += 1,
            _ => return false,
        }
    }
    points <= usize::from(!is_integer) && value.len() > points
}

fn check_value(kind: SourceKind, value: &[u8]) -> Result<()> {
    if value.contains(&b'@') {
        // An update would take what is before it as a time in words.
        let value = String::from_utf8_lossy(value);
        return Err(refuse!("Cannot convert '{value}' to float"));
    }
    if value.first() != Some(&b'U') {
        amount(kind, value, b"U", 1.0)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(kinds: &[SourceKind]) -> ReadingRules {
        ReadingRules { kinds: kinds.into(), has_microseconds: true }
    }

    #[test]
    fn times_are_read_as_an_update_reads_them() {
        let rules = rules(&[SourceKind::Gauge]);
        let time = |seconds, microseconds| Time { seconds, microseconds };
        assert_eq!(rules.time(b"1700000000:1"), Some((time(1_700_000_000, 0), 11)));
        assert_eq!(rules.time(b"1700000000.5:1"), Some((time(1_700_000_000, 500_000), 13)));
        assert_eq!(rules.time(b"-5:1"), Some((time(-5, 0), 3)));
        assert_eq!(rules.time(b"1.7e9:1"), Some((time(1_700_000_000, 0), 6)));
        for text in ["N:1", "", ":1", "17", "nan:1", "1e300:1", "17x:1", "99999999999999999999:1"] {
            assert_eq!(rules.time(text.as_bytes()), None, "{text}");
        }
    }

    /// What is taken at once would pass every check, and is what they would have seen.
    #[test]
    fn plain_readings_need_no_other_check() {
        let rules = rules(&[SourceKind::Gauge, SourceKind::Counter]);
        let taken = |text: &str| {
            rules.plain(text.as_bytes()).map(|(time, length)| {
                let reading = &text.as_bytes()[..length];
                let (whole, start) = rules.time(reading).expect("a time");
                assert_eq!(whole, time, "{text}");
                assert!(rules.check(reading, start).is_ok(), "{text}");
                length
            })
        };
        for value in ["1", "0", "12345678", "123456789", "1.5", "5.", "99999999999999999999999"] {
            for rest in ["", " ", " 1700000001:1:2", " x"] {
                let reading = format!("1700000000:{value}:12345678901234567");
                assert_eq!(taken(&format!("{reading}{rest}")), Some(reading.len()), "{value}");
            }
        }
        for text in [
            "",
            " ",
            "1",
            "1:",
            "1:2",
            "1:2:",
            "1::3",
            "1:2:3:",
            "1:2:3:4",
            "1:2:3.5",
            "1:2:3x",
            ":2:3",
            "1:.5:3",
            "1:-2:3",
            "1:U:3",
            "1:2.5.5:3",
            "1:2:3\0",
            "1:2:3\\ ",
            "1:2:\\3",
            "1.5:2:3",
            "-1:2:3",
            "N:2:3",
            "1@2:3",
            "123456789012345:2:3",
            "1:2e3:4",
        ] {
            assert_eq!(taken(text), None, "{text}");
        }
    }

    #[test]
    fn values_are_refused_as_by_an_update() {
        let check = |kinds: &[SourceKind], text: &str| {
            let checked = rules(kinds).check(text.as_bytes(), 2);
            checked.map_err(|error| error.to_string())
        };
        let both = [SourceKind::Gauge, SourceKind::Counter];
        for good in ["1:2:3", "1:U:U", "1:-2.5e3:7", "1:nan:1", "1:1.5:12345678901234567890"] {
            assert_eq!(check(&both, good), Ok(()), "{good}");
        }
        let bad = [
            ("1:2", "expected 2 data source readings (got 1) from 1"),
            ("1:2:3:4", "found extra data on update argument: 4"),
            ("1:2:3.5", "not a simple unsigned integer: '3.5'"),
            ("1:2:-3", "not a simple unsigned integer: '-3'"),
            ("1:abc:3", "Function update_pdp_prep, case DST_GAUGE - Cannot convert 'abc' to float"),
        ];
        for (text, why) in bad {
            assert_eq!(check(&both, text), Err(why.to_owned()), "{text}");
        }
        assert_eq!(check(&[SourceKind::Derive], "1:-3"), Ok(()));
    }
}
