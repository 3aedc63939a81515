//! Numbers as RRDtool reads and prints them, which is not always as C does.
//!
//! RRDtool reads a number with a simple converter: it multiplies by ten and adds the digit, then
//! scales by a power of ten made by squaring.  Its result is not always the nearest double, and
//! files must not depend on which program wrote them, so the same steps are done here.  It prints
//! numbers of tables and dumps with a converter that divides by a power of ten in doubles and rounds
//! halves up, so the last digit is not always C's.  Nothing is allocated.

use crate::TextOutput;
use crate::integer::{push_padded, push_u64};

/// Exponents beyond which a number is refused: RRDtool compares with C's `DBL_MIN_EXP` and
/// `DBL_MAX_EXP`, the limits of binary exponents.
const EXPONENT_MIN: i64 = -1021;
const EXPONENT_MAX: i64 = 1024;

/// Reads the number that a text begins with; also gives the number of bytes read, 0 if there is
/// none: without a digit, and with an exponent out of range, when the number is infinite.
///
/// White space and a sign may precede.  A number too large for a double is infinite.
#[must_use]
pub fn parse_prefix(text: &[u8]) -> (f64, usize) {
    let at = |index: usize| text.get(index).copied().unwrap_or(0);
    let mut position = 0;
    while matches!(at(position), b' ' | b'\t'..=b'\r') {
        position += 1;
    }
    let negative = at(position) == b'-';
    if matches!(at(position), b'-' | b'+') {
        position += 1;
    }
    let mut number = 0.0f64;
    let mut digits = 0usize;
    let mut decimals = 0i64;
    while at(position).is_ascii_digit() {
        number = number * 10.0 + f64::from(at(position) - b'0');
        position += 1;
        digits += 1;
    }
    if at(position) == b'.' {
        position += 1;
        while at(position).is_ascii_digit() {
            number = number * 10.0 + f64::from(at(position) - b'0');
            position += 1;
            digits += 1;
            decimals += 1;
        }
    }
    if digits == 0 {
        return (0.0, 0);
    }
    if negative {
        number = -number;
    }
    let mut exponent = -decimals;
    if matches!(at(position), b'e' | b'E') {
        position += 1;
        let negative = at(position) == b'-';
        if matches!(at(position), b'-' | b'+') {
            position += 1;
        }
        let mut value = 0i64;
        while at(position).is_ascii_digit() {
            value = (value * 10 + i64::from(at(position) - b'0')).min(1 << 40);
            position += 1;
        }
        exponent += if negative { -value } else { value };
    }
    if !(EXPONENT_MIN..=EXPONENT_MAX).contains(&exponent) {
        return (f64::INFINITY, 0);
    }
    (scale(number, exponent), position)
}

/// Reads a text that is a number and nothing else.
#[must_use]
pub fn parse(text: &[u8]) -> Option<f64> {
    let (number, length) = parse_prefix(text);
    (length > 0 && length == text.len()).then_some(number)
}

/// Multiplies by a power of ten, by squaring: the order of the operations decides the last bits.
fn scale(mut number: f64, exponent: i64) -> f64 {
    let mut power = 10.0f64;
    let mut bits = exponent.unsigned_abs();
    while bits != 0 {
        if bits & 1 == 1 {
            if exponent < 0 {
                number /= power;
            } else {
                number *= power;
            }
        }
        bits >>= 1;
        power *= power;
    }
    number
}

/// Exponents between which RRDtool scales a number.
const EXPONENTS: std::ops::RangeInclusive<i32> = -308..=308;

/// Most digits behind the point that RRDtool writes.
const DIGITS_MAX: usize = 19;

/// Appends a value as tables and dumps have it, `1.2345678901e+03`; an unknown one as `nan`.
pub fn push_table_number(out: &mut impl TextOutput, value: f64) {
    if value < 0.0 {
        out.push_ascii(b"-");
    }
    let format = RrdtoolFormat { kind: b'e', precision: 10, alternate: false };
    format.push(out, value.abs());
}

/// A conversion of a number in RRDtool's own `printf`.
#[derive(Clone, Copy, Debug)]
pub struct RrdtoolFormat {
    /// `e`, `f` or `g`.
    pub kind: u8,
    /// Digits behind the point; of `g`, digits in all.
    pub precision: usize,
    /// `#`: the point stays, and zeros behind it.
    pub alternate: bool,
}

impl RrdtoolFormat {
    /// Appends a value that is not negative; `false` if its whole part has no place in 64 bits:
    /// RRDtool writes nothing then.
    pub fn push(self, out: &mut impl TextOutput, value: f64) -> bool {
        if !value.is_finite() {
            out.push_ascii(if value.is_nan() { b"nan" } else { b"inf" });
            return true;
        }
        let Some(digits) = self.digits(value) else { return false };
        digits.push(out, self.kind == b'g' && !self.alternate, self.alternate);
        true
    }

    fn digits(self, value: f64) -> Option<Digits> {
        if self.kind == b'f' {
            return Digits::of(value, self.precision.min(DIGITS_MAX), None);
        }
        let precision = if self.kind == b'g' { self.precision.max(1) - 1 } else { self.precision };
        let precision = precision.min(DIGITS_MAX);
        let digits = Digits::of(value, precision, Some(exponent_of(value)))?;
        let exponent = digits.exponent.unwrap_or(0);
        let places = i32::try_from(precision).unwrap_or(0);
        if self.kind == b'g' && places + 1 > exponent && exponent >= -4 {
            let precision = usize::try_from(places - exponent).unwrap_or(0);
            return Digits::of(value, precision.min(DIGITS_MAX), None);
        }
        Some(digits)
    }
}

/// A number in digits before and behind the point.
struct Digits {
    whole: u64,
    fraction: u64,
    precision: usize,
    exponent: Option<i32>,
}

impl Digits {
    /// `None` if the whole part has no place.
    fn of(value: f64, precision: usize, exponent: Option<i32>) -> Option<Self> {
        let scaled = match exponent {
            Some(exponent) => value / power_of_ten(exponent),
            None => value,
        };
        if scaled >= u64::MAX as f64 {
            return None;
        }
        let mask = power_of_ten(i32::try_from(precision).unwrap_or(0)) as u64;
        let mut digits = Digits { whole: scaled as u64, fraction: 0, precision, exponent };
        let rest = mask as f64 * (scaled - digits.whole as f64);
        digits.fraction = rest as u64;
        if rest - digits.fraction as f64 >= 0.5 {
            digits.fraction += 1;
        }
        if digits.fraction >= mask {
            digits.whole += 1;
            digits.fraction = 0;
            if digits.whole == 10
                && let Some(exponent) = &mut digits.exponent
            {
                digits.whole = 1;
                *exponent += 1;
            }
        }
        Some(digits)
    }

    fn push(&self, out: &mut impl TextOutput, omits_zeros: bool, keeps_point: bool) {
        push_u64(out, self.whole);
        let (mut fraction, mut precision) = (self.fraction, self.precision);
        while omits_zeros && precision > 0 && fraction % 10 == 0 {
            fraction /= 10;
            precision -= 1;
        }
        if precision > 0 || keeps_point {
            out.push_ascii(b".");
        }
        push_padded(out, fraction, precision);
        if let Some(exponent) = self.exponent {
            crate::c_number::push_exponent(out, exponent);
        }
    }
}

fn exponent_of(mut magnitude: f64) -> i32 {
    let mut exponent = 0;
    while magnitude < 1.0 && magnitude > 0.0 {
        exponent -= 1;
        if exponent <= *EXPONENTS.start() {
            break;
        }
        magnitude *= 10.0;
    }
    while magnitude >= 10.0 {
        exponent += 1;
        if exponent >= *EXPONENTS.end() {
            break;
        }
        magnitude /= 10.0;
    }
    exponent
}

/// A power of ten, by repeated multiplication or division.
fn power_of_ten(exponent: i32) -> f64 {
    let steps = 0..exponent.unsigned_abs();
    match exponent < 0 {
        true => steps.fold(1.0, |power, _| power / 10.0),
        false => steps.fold(1.0, |power, _| power * 10.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_with_the_rounding_of_each_step() {
        assert_eq!(parse(b"12.5e1"), Some(125.0));
        assert_ne!(parse(b"1e300"), Some(1e300));
        assert_eq!(parse_prefix(b" -3x"), (-3.0, 3));
        assert_eq!(parse_prefix(b"1e"), (1.0, 2));
        assert_eq!(parse(b"1e1024"), Some(f64::INFINITY));
        for text in ["", "x", ".", "1e1025", "1e-1022", "-"] {
            assert_eq!(parse_prefix(text.as_bytes()).1, 0, "{text}");
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(parse(b"5 "), None);
    }

    #[test]
    fn numbers_of_tables_are_those_of_rrdtool() {
        let cases = [
            (121_192_708.625, "1.2119270863e+08"),
            (-103_383_174.875, "-1.0338317487e+08"),
            (-0.0, "0.0000000000e+00"),
            (1e-310, "0.0100000000e-308"),
            (9.999_999_999_99, "1.0000000000e+01"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
        ];
        for (value, text) in cases {
            let mut out = String::new();
            push_table_number(&mut out, value);
            assert_eq!(out, text);
        }
    }
}
