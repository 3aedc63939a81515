//! `-i i1[:i2[:i3]]`: how often the three groups of sources are read, and `-R`: for how long.
//!
//! collectl's rules: fractions are allowed, an empty part keeps its default, `i2` and `i3` are
//! whole multiples of `i1`.  `-i0` reads as fast as possible; its other two parts are then ratios
//! (every 6th and every 30th sample unless told).

use anyhow::{Context, bail, ensure};

/// Longest interval: a year.  Keeps every later sum of nanoseconds far from overflow.
const INTERVAL_NS_MAX: u64 = 366 * 86_400 * 1_000_000_000;

/// Shortest interval but 0: a timer cannot keep less, and 0 says what is meant.
const INTERVAL_NS_MIN: u64 = 10_000;

/// Ratios of `-i0`, as collectl has them.
const SECOND_RATIO: u64 = 6;
const THIRD_RATIO: u64 = 30;

/// How often sources are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Intervals {
    /// Between two ticks; 0 as fast as possible.
    pub(crate) first_ns: u64,
    /// Ticks between two readings of sources of the second cadence.
    pub(crate) second_every: u64,
    /// Ticks between two readings of sources of the third cadence.
    pub(crate) third_every: u64,
}

impl Intervals {
    /// The second interval, for the recording's facts; the ratio counts in seconds at `-i0`.
    pub(crate) fn second_ns(&self) -> u64 {
        self.first_ns.saturating_mul(self.second_every)
    }

    /// The third interval.
    pub(crate) fn third_ns(&self) -> u64 {
        self.first_ns.saturating_mul(self.third_every)
    }
}

/// What `-i` asks for.  `default_first` stands in for a first part that is left out.  The second
/// and third part are only held to their rules when `needs` says that some source follows them,
/// as in collectl: `-i 7` is no error with nothing but CPU.  `follow` makes the first interval the
/// default of the other two: who only asks for what is read seldom should not wait for it.
pub(crate) fn parse_intervals(
    text: &str,
    default_first: &str,
    needs: (bool, bool),
    follow: bool,
) -> anyhow::Result<Intervals> {
    let mut parts = text.split(':');
    let mut next = || parts.next().filter(|part| !part.is_empty());
    let (first, second, third) = (next().unwrap_or(default_first), next(), next());
    ensure!(text.split(':').count() <= 3, "-i {text}: at most three intervals");
    let first_ns = interval_ns(first)?;
    if first_ns == 0 {
        let ratio = |part: Option<&str>, default: u64| match part {
            None => Ok(default),
            Some(part) => part.parse::<u64>().ok().filter(|&ratio| ratio > 0).with_context(|| {
                format!("-i {text}: after 0, '{part}' must be a whole number of samples")
            }),
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

/// How many first intervals make another one.
fn every(
    first_ns: u64,
    part: Option<&str>,
    which: &str,
    default_seconds: u64,
    needed: bool,
) -> anyhow::Result<u64> {
    let given = part.map(interval_ns).transpose()?;
    let ns = given.unwrap_or(default_seconds * 1_000_000_000);
    if ns >= first_ns && ns.is_multiple_of(first_ns) {
        return Ok(ns / first_ns);
    }
    // A default that does not fit is rounded up to one that does, unless something depends on it.
    if given.is_none() && !needed {
        return Ok(ns.div_ceil(first_ns).max(1));
    }
    bail!(
        "-i: the {which} interval ({} s) must be a whole multiple of the first ({} s)",
        ns as f64 / 1e9,
        first_ns as f64 / 1e9
    )
}

/// A number of seconds with a fraction, in nanoseconds, without the rounding of floats.
fn interval_ns(text: &str) -> anyhow::Result<u64> {
    let bad = || format!("-i: '{text}' is not a number of seconds");
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    ensure!(digits(whole) && digits(fraction) && text != "." && !text.is_empty(), bad());
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().with_context(bad)? };
    let padded: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    let ns = whole
        .checked_mul(1_000_000_000)
        .and_then(|ns| ns.checked_add(padded.parse().ok()?))
        .filter(|&ns| ns <= INTERVAL_NS_MAX);
    let ns = ns.with_context(|| format!("-i: {text} seconds are more than a year"))?;
    ensure!(
        ns == 0 || ns >= INTERVAL_NS_MIN,
        "-i: {text} seconds are less than a timer can keep; 0 reads as fast as possible"
    );
    Ok(ns)
}

/// A length of time such as `90s`, `5m`, `2h`, `3d`, `1w`, in nanoseconds.
pub(crate) fn parse_duration(option: &str, text: &str) -> anyhow::Result<u64> {
    let bad = || format!("{option}: '{text}' is not a number with w, d, h, m or s behind it");
    let unit = text.chars().last().with_context(bad)?;
    let seconds: u64 = match unit {
        'w' => 604_800,
        'd' => 86_400,
        'h' => 3_600,
        'm' => 60,
        's' => 1,
        _ => bail!(bad()),
    };
    let count: u64 = text[..text.len() - 1].parse().with_context(bad)?;
    let ns = count.checked_mul(seconds).and_then(|seconds| seconds.checked_mul(1_000_000_000));
    // Half of what fits: sums with the clock must fit too.
    ns.filter(|&ns| ns < u64::MAX / 2).with_context(|| format!("{option}: {text} is too long"))
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
        // Seven seconds have no multiple of a minute; that matters only to who follows it.
        assert!(parse_intervals("7", "1", (true, false), false).is_err());
        assert_eq!(parse_intervals("7", "1", (false, false), false).unwrap().second_every, 9);
    }

    #[test]
    fn durations() {
        assert_eq!(parse_duration("-R", "90s").unwrap(), 90 * SECOND);
        assert_eq!(parse_duration("-R", "2w").unwrap(), 14 * 86_400 * SECOND);
        for text in ["", "5", "h", "1.5h", "5x", "99999999999999999999s", "9999999999w"] {
            assert!(parse_duration("-R", text).is_err(), "{text}");
        }
    }
}
