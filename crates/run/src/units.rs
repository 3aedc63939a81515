//! Sizes and durations as users write them: `10K`, `1M-12*2.024*2k`, `1d3.5h16.6m4s`.

use std::time::Duration;

use thiserror::Error;

/// Why a number with a unit is invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{text:?} is not a {what}: {example}")]
pub struct UnitError {
    /// What the user wrote.
    pub text: String,
    /// What was expected: `size`, `count` or `duration`.
    pub what: &'static str,
    /// An example.
    pub example: &'static str,
}

const SIZE_EXAMPLE: &str = "write a number such as 10K, 1.5M or 1M-12*2k";
const COUNT_EXAMPLE: &str = "write a number from 0 such as 10 or 1k";
const DURATION_EXAMPLE: &str = "write seconds or parts such as 0.5, 10m or 1d3.5h";

/// Most nested parentheses; more are not useful.
const DEPTH_MAX: usize = 32;

/// Parses a size in bytes, or a count: `K M G T P` multiply by powers of 1024, `k m g t p` by
/// powers of 1000; `+ - * /` and parentheses are allowed.  A fraction of a byte is dropped.
pub fn size(text: &str) -> Result<u64, UnitError> {
    let value = amount(text)?;
    if !(0.0..18_446_744_073_709_551_615.0).contains(&value) {
        return Err(unreadable(text, "size", SIZE_EXAMPLE));
    }
    Ok(value as u64)
}

/// As [`size`], but the result may be negative (`--block -1`) and have a fraction.
pub fn amount(text: &str) -> Result<f64, UnitError> {
    let mut sum = Sum { rest: text.trim().as_bytes(), depth: 0 };
    match sum.sum() {
        Some(value) if sum.rest.is_empty() && value.is_finite() => Ok(value),
        _ => Err(unreadable(text, "size", SIZE_EXAMPLE)),
    }
}

/// Parses a count, which may have a unit as of [`size`]; a part of one counts as one.
pub fn count(text: &str) -> Result<u64, UnitError> {
    let value = amount(text)?.ceil();
    if !(0.0..18_446_744_073_709_551_615.0).contains(&value) {
        return Err(unreadable(text, "count", COUNT_EXAMPLE));
    }
    Ok(value as u64)
}

/// As [`count`]; what is higher than can be counted is the highest number.
pub fn small_count(text: &str) -> Result<u32, UnitError> {
    Ok(u32::try_from(count(text)?).unwrap_or(u32::MAX))
}

/// Parses a duration: seconds, or parts with the units `s m h d`.
pub fn duration(text: &str) -> Result<Duration, UnitError> {
    let refused = || unreadable(text, "duration", DURATION_EXAMPLE);
    let mut rest = text.trim().as_bytes();
    let mut seconds = 0.0;
    let mut parts = 0;
    while !rest.is_empty() {
        let value = number(&mut rest).ok_or_else(refused)?;
        parts += 1;
        let unit = match rest.first().map(u8::to_ascii_lowercase) {
            // Seconds need no unit when they are the last part.
            None => 1.0,
            Some(b's') => 1.0,
            Some(b'm') => 60.0,
            Some(b'h') => 3_600.0,
            Some(b'd') => 86_400.0,
            Some(_) => return Err(refused()),
        };
        rest = rest.get(1..).unwrap_or_default();
        seconds += value * unit;
    }
    if parts == 0 {
        return Err(refused());
    }
    Duration::try_from_secs_f64(seconds).map_err(|_| refused())
}

/// A duration in at most seven characters: `123ns`, `12.3µs`, `1.23ms`, `12.3s`.
pub(crate) fn short_duration(time_ns: u64) -> String {
    let (value, unit) = match time_ns {
        0..1_000 => return format!("{time_ns}ns"),
        1_000..999_500 => (time_ns as f64 / 1e3, "µs"),
        999_500..999_500_000 => (time_ns as f64 / 1e6, "ms"),
        _ => (time_ns as f64 / 1e9, "s"),
    };
    // Three significant digits.
    let places = match value {
        ..9.995 => 2,
        9.995..99.95 => 1,
        _ => 0,
    };
    format!("{value:.places$}{unit}")
}

fn unreadable(text: &str, what: &'static str, example: &'static str) -> UnitError {
    UnitError { text: text.to_owned(), what, example }
}

/// Parses an unsigned number with an optional fraction at the beginning.
fn number(rest: &mut &[u8]) -> Option<f64> {
    let is_digit = |byte: &&u8| byte.is_ascii_digit() || **byte == b'.';
    let length = rest.iter().take_while(is_digit).count();
    let (digits, after) = rest.split_at(length);
    let value = std::str::from_utf8(digits).ok()?.parse().ok()?;
    *rest = after;
    Some(value)
}

/// A recursive-descent parser: sums of products of numbers with units.
struct Sum<'a> {
    rest: &'a [u8],
    depth: usize,
}

impl Sum<'_> {
    /// Takes one of these bytes, and the white space before and after it.
    fn next_byte_of(&mut self, wanted: &[u8]) -> Option<u8> {
        self.rest = self.rest.trim_ascii_start();
        let (&first, after) = self.rest.split_first()?;
        if !wanted.contains(&first) {
            return None;
        }
        self.rest = after.trim_ascii_start();
        Some(first)
    }

    fn sum(&mut self) -> Option<f64> {
        let mut value = self.product()?;
        while let Some(sign) = self.next_byte_of(b"+-") {
            let next = self.product()?;
            value = if sign == b'+' { value + next } else { value - next };
        }
        Some(value)
    }

    fn product(&mut self) -> Option<f64> {
        let mut value = self.factor()?;
        while let Some(sign) = self.next_byte_of(b"*/") {
            let next = self.factor()?;
            value = if sign == b'*' { value * next } else { value / next };
        }
        Some(value)
    }

    fn factor(&mut self) -> Option<f64> {
        if self.depth == DEPTH_MAX {
            return None;
        }
        self.depth += 1;
        let value = match self.next_byte_of(b"+-(") {
            Some(b'-') => -self.factor()?,
            Some(b'+') => self.factor()?,
            Some(_) => {
                let value = self.sum()?;
                self.next_byte_of(b")")?;
                value
            }
            None => self.with_units()?,
        };
        self.depth -= 1;
        Some(value)
    }

    fn with_units(&mut self) -> Option<f64> {
        let mut value = number(&mut self.rest)?;
        while let Some((&unit, after)) = self.rest.split_first() {
            let (base, power): (f64, i32) = match unit {
                b'K' => (1024.0, 1),
                b'M' => (1024.0, 2),
                b'G' => (1024.0, 3),
                b'T' => (1024.0, 4),
                b'P' => (1024.0, 5),
                b'k' => (1000.0, 1),
                b'm' => (1000.0, 2),
                b'g' => (1000.0, 3),
                b't' => (1000.0, 4),
                b'p' => (1000.0, 5),
                _ => break,
            };
            value *= base.powi(power);
            self.rest = after;
        }
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_with_units() {
        for (text, bytes) in [
            ("0", 0),
            ("17", 17),
            ("10K", 10_240),
            ("10k", 10_000),
            ("1M", 1 << 20),
            ("1m", 1_000_000),
            ("1.5G", 3 << 29),
            ("1T", 1 << 40),
            ("2p", 2_000_000_000_000_000),
            (" 1P ", 1 << 50),
            (".5k", 500),
        ] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn arithmetic() {
        assert_eq!(size("1M-12*2.024*2k"), Ok(1_000_000));
        assert_eq!(size("(1 + 2) * 3"), Ok(9));
        assert_eq!(size("7/2"), Ok(3));
        assert_eq!(amount("-1"), Ok(-1.0));
        assert_eq!(amount("2-3*4"), Ok(-10.0));
    }

    #[test]
    fn counts() {
        for (text, wanted) in [("1k", 1000), ("2.5", 3), ("-0", 0), ("0.05k", 50), ("7", 7)] {
            assert_eq!(count(text), Ok(wanted), "{text}");
        }
        for text in ["-1", "", "x", "99999P*99P"] {
            assert!(count(text).is_err(), "{text}");
        }
        assert_eq!(small_count("1P"), Ok(u32::MAX));
    }

    #[test]
    fn what_is_no_size() {
        let deep = "(".repeat(100_000);
        for text in
            ["", "x", "1x", "1+", "-1", "(1", "1)", "1/0", "1 2", "1e5", "99999P*99P", &deep]
        {
            assert!(size(text).is_err(), "{text}");
        }
        assert!(size("x").unwrap_err().to_string().contains("10K"));
    }

    #[test]
    fn durations() {
        for (text, seconds) in [
            ("0", 0.0),
            ("0.5", 0.5),
            (".25s", 0.25),
            ("10m", 600.0),
            ("1d3.5h16.6m4s", 100_000.0),
            ("2h1", 7_201.0),
            ("1D", 86_400.0),
        ] {
            let read = duration(text).unwrap().as_secs_f64();
            assert!((read - seconds).abs() < 1e-6, "{text}: {read}");
        }
        for text in ["", "x", "-1", "1x", "1..2", "5%", "m"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
