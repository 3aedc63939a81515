//! Numbers as C's `printf`, Perl and collectl print them, appended to a reused buffer.
//!
//! Nothing here allocates once the buffer is large enough: these are most of the cost of playing a
//! day of samples.

use text::c_number::push_general;
pub use text::decimal::{push_fixed, push_whole};
use text::integer::push_filled;
pub use text::integer::{push_two, push_u64};

use crate::Options;

/// Right-aligns the text of `out` that begins at `start` to `width` characters.
pub fn pad_left(out: &mut Vec<u8>, start: usize, width: usize) {
    let missing = width.saturating_sub(characters(&out[start..]));
    if missing > 0 {
        let end = out.len();
        out.resize(end + missing, b' ');
        out.copy_within(start..end, start + missing);
        out[start..start + missing].fill(b' ');
    }
}

/// Left-aligns the text of `out` that begins at `start` to `width` characters.
pub fn pad_right(out: &mut Vec<u8>, start: usize, width: usize) {
    let missing = width.saturating_sub(characters(&out[start..]));
    out.resize(out.len() + missing, b' ');
}

/// The number of characters in UTF-8 text: of bytes that are not continuation bytes.
fn characters(text: &[u8]) -> usize {
    text.iter().filter(|&&byte| byte & 0xc0 != 0x80).count()
}

/// Seconds as `hours:mm:ss`, truncated to whole seconds.
pub fn push_clock(out: &mut Vec<u8>, seconds: f64) {
    let seconds = seconds as i64;
    if seconds < 0 {
        out.push(b'-');
    }
    let seconds = seconds.unsigned_abs();
    push_u64(out, seconds / 3600);
    for part in [seconds / 60 % 60, seconds % 60] {
        out.push(b':');
        push_two(out, part as u32);
    }
}

/// A number as Perl prints it (`%.15g`): up to 15 significant digits, no trailing zeros.
pub fn push_perl(out: &mut Vec<u8>, value: f64) {
    const WHOLE_BELOW: f64 = 1e15;
    if value == value.trunc() && value.abs() < WHOLE_BELOW {
        return push_whole(out, value);
    }
    if !value.is_finite() {
        let text: &[u8] = match (value.is_nan(), value > 0.0) {
            (true, _) => b"NaN",
            (_, true) => b"Inf",
            _ => b"-Inf",
        };
        return out.extend_from_slice(text);
    }
    push_general(out, value, 15, false);
}

/// How collectl scales a number to a few characters.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// The most characters.
    pub width: usize,
    /// The unit of the value itself: 0 none, 1 K, 2 M.
    pub unit: usize,
    /// Steps of 1,024 instead of 1,000.
    pub binary: bool,
}

/// A number scaled to fit, with K, M, G, T or P after it, as collectl does it.  `-w` leaves it
/// unscaled; `-og` and `-oG` give more digits from G on.
pub fn push_scaled(out: &mut Vec<u8>, value: f64, scale: Scale, options: &Options) {
    let mut field = if value > 0.0 { (value + 0.5).trunc() } else { value };
    let mut unit = scale.unit;
    if field == 0.0 || options.wide || (unit < 1 && perl_length(out, field) <= scale.width) {
        return push_perl(out, field);
    }
    let negative = field < 0.0;
    field = field.abs();
    let step = if scale.binary { 1024.0 } else { 1000.0 };
    let mut last = 0.0;
    while perl_length(out, field) >= scale.width.max(1) {
        last = field;
        field = (field / step).trunc();
        unit += 1;
    }
    let letter = b" KMGTP".get(unit).copied();
    let precise = options.has('g') || options.has('G');
    let signed = if negative { -field } else { field };
    let wanted = precise && unit >= 3 && letter.is_some() && perl_length(out, signed) != 3;
    if wanted {
        return push_precise(out, signed, last, step, letter, options);
    }
    if field > 0.0 {
        push_perl(out, signed);
    } else {
        out.push(b'1');
    }
    out.extend(letter);
}

/// Writes a scaled number as `-og` (`1g23`) and `-oG` (`1.2G`) show it: `field` is the result of
/// the last division by `step`, `last` was divided.
fn push_precise(
    out: &mut Vec<u8>,
    mut field: f64,
    last: f64,
    step: f64,
    letter: Option<u8>,
    options: &Options,
) {
    let short = options.has('g');
    let round = if short { 5.0 } else { 50.0 };
    let mut fraction = (last - field * step + round).trunc();
    if fraction >= step {
        field += 1.0;
        fraction = 0.0;
    }
    let start = out.len();
    push_perl(out, field);
    if options.has('G') {
        if out.len() - start == 1 {
            out.push(b'.');
            let at = out.len();
            push_filled(out, fraction as u64, 3, b'0');
            out.truncate(at + 1);
            out.push(b'G');
        } else {
            out.extend(letter);
        }
    } else {
        out.push(b'g');
        push_filled(out, fraction as u64, 3, b'0');
        out.truncate(start + 4);
    }
}

/// One character for the order of magnitude: a digit below 10, a letter for each ten, each hundred,
/// and from 1,000 on each power of ten.  With `exact` the power is a quotient of logarithms, as in
/// collectl: their rounding gives 1,000 a `z`, and 1,000,000 the letter of 100,000.
pub fn push_magnitude(out: &mut Vec<u8>, value: f64, exact: bool) {
    let whole = value.max(0.0) as u64;
    let letter = |first: u8, step: u64| first + u8::try_from(step.min(25)).unwrap_or(25);
    let character = match whole {
        0..=9 => letter(b'0', whole),
        10..=99 => letter(b'a', whole / 10 - 1),
        100..=999 => letter(b'j', whole / 100 - 1),
        _ if exact => match LOGARITHMS_REACH.iter().filter(|least| value >= **least).count() {
            0 => b'z',
            power @ 1..=8 => letter(b's', power as u64 - 1),
            _ => return,
        },
        _ => letter(b's', u64::from(whole.ilog10()) - 3).min(b'z'),
    };
    out.push(character);
}

/// The least numbers for which `ln(x) / ln(10)` in double precision reaches 3, 4, … 11.  A table,
/// because a single logarithm would map the C library's mathematics into the memory of every
/// recorder.
const LOGARITHMS_REACH: [f64; 9] = [
    1_000.000_000_000_000_2,
    10_000.0,
    99_999.999_999_999_94,
    1_000_000.000_000_000_5,
    9_999_999.999_999_989,
    100_000_000.0,
    1_000_000_000.000_001_1,
    9_999_999_999.999_987,
    99_999_999_999.999_98,
];

/// The number of characters that Perl prints for a number.
#[inline]
fn perl_length(out: &mut Vec<u8>, value: f64) -> usize {
    const WHOLE_BELOW: f64 = 1e15;
    if (0.0..WHOLE_BELOW).contains(&value) && value == value.trunc() {
        return (value as u64).checked_ilog10().map_or(1, |digits| digits as usize + 1);
    }
    let start = out.len();
    push_perl(out, value);
    let length = out.len() - start;
    out.truncate(start);
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_has_hours_without_end() {
        let clock = |seconds| {
            let mut out = Vec::new();
            push_clock(&mut out, seconds);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(clock(59.99), "0:00:59");
        assert_eq!(clock(3_600.0 * 123.0 + 61.0), "123:01:01");
        assert_eq!(clock(-61.0), "-0:01:01");
    }

    fn text(push: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        push(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn magnitudes() {
        let magnitude = |value, exact| text(|out| push_magnitude(out, value, exact));
        let cases = [
            (0.0, "0"),
            (9.9, "9"),
            (10.0, "a"),
            (99.0, "i"),
            (100.0, "j"),
            (999.0, "r"),
            (1001.0, "s"),
            (12_345.0, "t"),
            (99_999_999_999.0, "z"),
        ];
        for (value, expected) in cases {
            assert_eq!(magnitude(value, false), expected, "{value}");
            assert_eq!(magnitude(value, true), expected, "{value}");
        }
        assert_eq!(magnitude(1000.0, false), "s");
        assert_eq!(magnitude(1000.0, true), "z");
        assert_eq!(magnitude(1e6, false), "v");
        assert_eq!(magnitude(1e6, true), "u");
        assert_eq!(magnitude(1e30, false), "z");
        assert_eq!(magnitude(1e30, true), "");
    }

    #[test]
    fn the_table_of_logarithms_is_what_they_reach() {
        let reached = |value: f64| (value.ln() / 10_f64.ln()) as usize;
        for (least, power) in LOGARITHMS_REACH.into_iter().zip(3..) {
            assert_eq!(reached(least), power, "{least}");
            assert_eq!(reached(least.next_down()), power - 1, "{least}");
        }
    }

    #[test]
    fn perl_numbers() {
        let perl = |value| text(|out| push_perl(out, value));
        let cases = [
            (0.0, "0"),
            (100.0, "100"),
            (-12.5, "-12.5"),
            (0.1, "0.1"),
            (1.0 / 3.0, "0.333333333333333"),
            (1e15, "1e+15"),
            (1.5e-7, "1.5e-07"),
            (123_456_789.25, "123456789.25"),
            (0.000_12, "0.00012"),
            (f64::INFINITY, "Inf"),
        ];
        for (value, expected) in cases {
            assert_eq!(perl(value), expected);
        }
    }

    /// Every expectation here is what collectl's own conversion printed.
    #[test]
    fn scaled_as_collectl_does() {
        let plain = Options::default();
        let check = |value: f64, width, unit, binary, options: &Options, expected: &str| {
            let scale = Scale { width, unit, binary };
            let got = text(|out| push_scaled(out, value, scale, options));
            assert_eq!(got, expected, "{value} {scale:?} {}", options.letters);
        };
        check(0.4, 4, 0, false, &plain, "0");
        check(0.5, 4, 0, false, &plain, "1");
        check(9999.0, 4, 0, false, &plain, "9999");
        check(10000.0, 4, 0, false, &plain, "10K");
        check(1_500_000.0, 5, 0, false, &plain, "1500K");
        check(24_684_092.0, 4, 1, true, &plain, "23G");
        check(512.0, 4, 1, true, &plain, "512K");
        check(0.0, 4, 1, true, &plain, "0");
        check(-5.0, 4, 1, true, &plain, "-5K");
        check(-12_345.0, 4, 1, true, &plain, "-12M");
        check(-123.5, 4, 0, false, &plain, "1K");
        let letter = |letters: &str| Options { letters: letters.into(), ..Options::default() };
        check(24_684_092.0, 4, 1, true, &letter("g"), "23g5");
        check(1_684_092.0, 4, 1, true, &letter("G"), "1.6G");
        let wide = Options { wide: true, ..Options::default() };
        check(24_684_092.0, 4, 1, true, &wide, "24684092");
    }
}
