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
        let mut seconds = 0i64;
        for (place, byte) in reading.iter().enumerate().take(15) {
            match byte {
                b'0'..=b'9' => seconds = seconds * 10 + i64::from(byte - b'0'),
                b':' if place > 0 => return Some((Time::of_seconds(seconds), place + 1)),
                _ => break,
            }
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

    /// Checks that there is a value for each source and that each can be read; `start` is where
    /// the values begin.
    ///
    /// # Errors
    /// What an update of the file would say.
    pub fn check(&self, reading: &[u8], start: usize) -> Result<()> {
        let mut count = 0;
        for value in reading[start..].split(|byte| *byte == b':') {
            let Some(kind) = self.kinds.get(count) else { return Err(self.wrong_count(reading)) };
            let is_integer = matches!(kind, SourceKind::Counter | SourceKind::Derive);
            if !is_plain(value, is_integer) {
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
