//! How often the three groups of sources are read (`i1[:i2[:i3]]`), and for how long.
//!
//! collectl's rules: fractions are allowed, an empty part keeps its default, `i2` and `i3` are
//! whole multiples of `i1`.  An `i1` of 0 reads as fast as possible; the other two parts are then
//! ratios (every 6th and every 30th sample by default).

/// Longest interval: a year.  Keeps every later sum of nanoseconds far from overflow.
const INTERVAL_NS_MAX: u64 = 366 * 86_400 * 1_000_000_000;

/// The shortest interval except 0, which means as fast as possible: timers are not more precise.
const INTERVAL_NS_MIN: u64 = 10_000;

/// Ratios for an interval of 0, as in collectl.
const SECOND_RATIO: u64 = 6;
const THIRD_RATIO: u64 = 30;

/// How often sources are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Intervals {
    /// Time between two ticks; 0 for as fast as possible.
    pub first_ns: u64,
    /// Ticks between two readings of sources of the second cadence.
    pub second_every: u64,
    /// Ticks between two readings of sources of the third cadence.
    pub third_every: u64,
}

impl Intervals {
    /// The second interval; the first one must not be 0.
    pub fn second_ns(&self) -> u64 {
        self.first_ns.saturating_mul(self.second_every)
    }

    /// The third interval; the first one must not be 0.
    pub fn third_ns(&self) -> u64 {
        self.first_ns.saturating_mul(self.third_every)
    }
}

/// Why intervals are refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum IntervalError {
    /// More than three parts.
    #[error("at most three intervals")]
    TooMany,
    /// A part is not a number.
    #[error("'{0}' is not a number of seconds")]
    NotANumber(String),
    /// After a first interval of 0, a part is not a ratio.
    #[error("after 0, '{0}' must be a whole number of samples")]
    NotARatio(String),
    /// A part is longer than a year.
    #[error("{0} seconds are more than a year")]
    TooLong(String),
    /// A part is too short, and not 0.
    #[error("{0} seconds are too short for a timer; 0 reads as fast as possible")]
    TooShort(String),
    /// A part is not a multiple of the first.
    #[error(
        "the {which} interval ({seconds} s) must be a whole multiple of the first \
         ({first_seconds} s)"
    )]
    NotAMultiple {
        /// `second` or `third`.
        which: &'static str,
        /// The length of the interval.
        seconds: f64,
        /// The length of the first.
        first_seconds: f64,
    },
}

/// Parses `i1[:i2[:i3]]`.  `default_first` replaces an empty first part.  `needs` says whether any
/// source uses the second and the third interval; an unused part may break the rules, as in
/// collectl: 7 seconds are no error if only CPUs are recorded.  With `follow` the other two equal
/// the first unless given, so that a user who selects only slow sources need not wait for them.
///
/// # Errors
/// [`IntervalError`].
pub fn parse_intervals(
    text: &str,
    default_first: &str,
    needs: (bool, bool),
    follow: bool,
) -> Result<Intervals, IntervalError> {
    let mut parts = text.split(':');
    let mut next = || parts.next().filter(|part| !part.is_empty());
    let (first, second, third) = (next().unwrap_or(default_first), next(), next());
    if text.split(':').count() > 3 {
        return Err(IntervalError::TooMany);
    }
    let first_ns = interval_ns(first)?;
    if first_ns == 0 {
        let ratio = |part: Option<&str>, default: u64| match part {
            None => Ok(default),
            Some(part) => part
                .parse::<u64>()
                .ok()
                .filter(|&ratio| ratio > 0)
                .ok_or_else(|| IntervalError::NotARatio(part.to_owned())),
        };
        return Ok(Intervals {
            first_ns: 0,
            second_every: ratio(second, if follow { 1 } else { SECOND_RATIO })?,
            third_every: ratio(third, if follow { 1 } else { THIRD_RATIO })?,
        });
    }
    let (second, third) = match follow {
        true => (second.or(Some(first)), third.or(Some(first))),
        false => (second, third),
    };
    Ok(Intervals {
        first_ns,
        second_every: every(first_ns, second, "second", 60, needs.0)?,
        third_every: every(first_ns, third, "third", 120, needs.1)?,
    })
}

/// The number of first intervals in another interval.
fn every(
    first_ns: u64,
    part: Option<&str>,
    which: &'static str,
    default_seconds: u64,
    needed: bool,
) -> Result<u64, IntervalError> {
    let given = part.map(interval_ns).transpose()?;
    let ns = given.unwrap_or(default_seconds * 1_000_000_000);
    if ns >= first_ns && ns.is_multiple_of(first_ns) {
        return Ok(ns / first_ns);
    }
    // A default that is not a multiple is rounded up to one, unless a source depends on it.
    if given.is_none() && !needed {
        return Ok(ns.div_ceil(first_ns).max(1));
    }
    Err(IntervalError::NotAMultiple {
        which,
        seconds: ns as f64 / 1e9,
        first_seconds: first_ns as f64 / 1e9,
    })
}

/// Parses a decimal number of seconds into nanoseconds, without floating-point rounding.
fn interval_ns(text: &str) -> Result<u64, IntervalError> {
    let bad = || IntervalError::NotANumber(text.to_owned());
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || text == "." || text.is_empty() {
        return Err(bad());
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| bad())? };
    let padded: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    let ns = whole
        .checked_mul(1_000_000_000)
        .and_then(|ns| ns.checked_add(padded.parse().ok()?))
        .filter(|&ns| ns <= INTERVAL_NS_MAX);
    let ns = ns.ok_or_else(|| IntervalError::TooLong(text.to_owned()))?;
    if ns > 0 && ns < INTERVAL_NS_MIN {
        return Err(IntervalError::TooShort(text.to_owned()));
    }
    Ok(ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn intervals_as_collectl_takes_them() {
        let check = |text, expected: (u64, u64, u64)| {
            let got = parse_intervals(text, "1", (true, true), false).unwrap();
            assert_eq!((got.first_ns, got.second_every, got.third_every), expected, "{text}");
        };
        check("1", (SECOND, 60, 120));
        check("10", (10 * SECOND, 6, 12));
        check("0.1", (SECOND / 10, 600, 1200));
        check(".25:1:5", (SECOND / 4, 4, 20));
        check(":10", (SECOND, 10, 120));
        check("5::30", (5 * SECOND, 12, 6));
        check("0", (0, 6, 30));
        check("0:4", (0, 4, 30));
        check("0.000", (0, 6, 30));
    }

    #[test]
    fn seldom_intervals_follow_the_first_unless_given() {
        let check = |text, expected: (u64, u64, u64)| {
            let got = parse_intervals(text, "1", (true, true), true).unwrap();
            assert_eq!((got.first_ns, got.second_every, got.third_every), expected, "{text}");
        };
        check("", (SECOND, 1, 1));
        check("7", (7 * SECOND, 1, 1));
        check("0", (0, 1, 1));
        check("1:60", (SECOND, 60, 1));
        check("1:1:120", (SECOND, 1, 120));
    }

    #[test]
    fn intervals_that_are_refused() {
        for text in ["x", "1:1.5", "2:3", "10:5", "1:2:3:4", "-1", "1e3", ".", "0:x", "0:0"] {
            assert!(parse_intervals(text, "1", (true, true), false).is_err(), "{text}");
        }
        assert!(parse_intervals("0.000001", "1", (false, false), false).is_err());
        assert!(parse_intervals("99999999999", "1", (false, false), false).is_err());
        // Seven seconds have no multiple of a minute; that matters only if a source needs it.
        assert!(parse_intervals("7", "1", (true, false), false).is_err());
        assert_eq!(parse_intervals("7", "1", (false, false), false).unwrap().second_every, 9);
    }
}
