//! Numbers as C's `printf` writes them: `%e`, `%f`, `%g` and `%a` of a float, `%d`, `%u`, `%x` and `%o`
//! of an integer, and the conversion of a float to an integer.  Widths are the caller's.
//!
//! As of C11, 7.21.6.1, and of glibc where that leaves a choice (`-nan`, the first digit of `%a`).
//! A float is brought into digits once, on the stack if they are few.

use std::io::Write as _;

use crate::TextOutput;
use crate::integer::{put_pair, put_ten_digits};

/// The conversion of a number in a format of C: all of it but the width.
#[derive(Debug, Clone, Copy, Default)]
pub struct CConversion {
    /// `d`, `i`, `u`, `x`, `X`, `o`, `e`, `E`, `f`, `F`, `g`, `G`, `a` or `A`.
    pub letter: u8,
    /// What stands behind the point; `None` is C's default.
    pub precision: Option<usize>,
    /// `+`: numbers that are not negative have a plus sign.
    pub plus: bool,
    /// A blank: numbers that are not negative have a blank for the sign.
    pub space: bool,
    /// `#`: hexadecimal and octal numbers have a prefix, floats a point.
    pub alternate: bool,
    /// Bits of the type that an integer's length modifier names; 32 without one.
    pub length_bits: u8,
}

impl CConversion {
    /// Appends the sign of a number, if it has one.
    pub fn push_sign(&self, out: &mut Vec<u8>, is_negative: bool) {
        if is_negative {
            out.push(b'-');
        } else if self.plus {
            out.push(b'+');
        } else if self.space {
            out.push(b' ');
        }
    }

    /// The number that C takes an integer for, by its length modifier: one that is narrower than the
    /// modifier's type cannot show, one that is wider loses its upper bits.
    ///
    /// Without a modifier C leaves undefined what becomes of a number that is wider than an `int`: it
    /// is shown whole.
    fn as_c_sees(&self, number: i128) -> i128 {
        let is_signed = matches!(self.letter, b'd' | b'i');
        let is_int = (i128::from(i32::MIN)..=i128::from(u32::MAX)).contains(&number);
        match (self.length_bits, is_signed) {
            (8, true) => i128::from(number as i8),
            (8, false) => i128::from(number as u8),
            (16, true) => i128::from(number as i16),
            (16, false) => i128::from(number as u16),
            (32, true) if is_int => i128::from(number as i32),
            (32, false) if is_int => i128::from(number as u32),
            (_, true) => i128::from(number as i64),
            (_, false) => i128::from(number as u64),
        }
    }

    /// Appends an integer.
    pub fn push_integer(&self, out: &mut Vec<u8>, number: i128) {
        let number = self.as_c_sees(number);
        let bits = number as u64;
        if !matches!(self.letter, b'x' | b'X' | b'o' | b'u') {
            self.push_sign(out, number < 0);
        }
        if self.alternate && bits != 0 {
            match self.letter {
                b'x' => out.extend_from_slice(b"0x"),
                b'X' => out.extend_from_slice(b"0X"),
                _ => {}
            }
        }
        let start = out.len();
        let _ = match self.letter {
            b'x' => write!(out, "{bits:x}"),
            b'X' => write!(out, "{bits:X}"),
            b'o' => write!(out, "{bits:o}"),
            b'u' => write!(out, "{bits}"),
            _ => write!(out, "{}", number.unsigned_abs()),
        };
        if number == 0 && self.precision == Some(0) {
            out.truncate(start);
        }
        let digits = out.len() - start;
        let mut least = self.precision.unwrap_or(1);
        if self.letter == b'o' && self.alternate && out.get(start) != Some(&b'0') {
            least = least.max(digits + 1);
        }
        out.splice(start..start, std::iter::repeat_n(b'0', least.saturating_sub(digits)));
    }

    /// Appends a float; whether it is one that zeros may be put in front of.
    pub fn push_float(&self, out: &mut Vec<u8>, number: f64) -> bool {
        self.push_sign(out, number.is_sign_negative());
        let start = out.len();
        let number = number.abs();
        let precision = self.precision.unwrap_or(6);
        match self.letter {
            b'e' | b'E' => push_exponential(out, number, precision, self.alternate),
            b'g' | b'G' => push_general(out, number, precision, self.alternate),
            b'a' | b'A' if number.is_finite() => self.push_hexadecimal(out, number),
            _ => push_fixed(out, number, precision, self.alternate),
        }
        if self.letter.is_ascii_uppercase() {
            out[start..].make_ascii_uppercase();
        }
        number.is_finite()
    }

    /// `%a`: the bits of the mantissa, and the exponent of two.
    fn push_hexadecimal(&self, out: &mut Vec<u8>, number: f64) {
        let bits = number.to_bits();
        let (field, mut mantissa) = ((bits >> 52) & 0x7FF, bits & ((1 << 52) - 1));
        let exponent = match field {
            0 if mantissa == 0 => 0,
            0 => -1022,
            field => field as i64 - 1023,
        };
        mantissa |= u64::from(field != 0) << 52;
        let digits = match self.precision {
            Some(precision) if precision < HEX_DIGITS => {
                // To the nearest, and of two as near to the even one.
                let shift = 4 * (HEX_DIGITS - precision);
                let (rest, half) = (mantissa & ((1 << shift) - 1), 1_u64 << (shift - 1));
                let kept = mantissa >> shift;
                let is_up = rest > half || (rest == half && kept & 1 == 1);
                mantissa = (kept + u64::from(is_up)) << shift;
                precision
            }
            Some(_) => HEX_DIGITS,
            None => {
                let zeros = (mantissa & ((1 << 52) - 1)).trailing_zeros().min(52) as usize / 4;
                HEX_DIGITS - zeros
            }
        };
        let _ = write!(out, "0x{:x}", mantissa >> 52);
        let wanted = self.precision.unwrap_or(digits);
        if wanted > 0 || self.alternate {
            out.push(b'.');
        }
        let fraction = format!("{:013x}", mantissa & ((1 << 52) - 1));
        out.extend_from_slice(&fraction.as_bytes()[..digits]);
        out.extend(std::iter::repeat_n(b'0', wanted - digits));
        let _ = write!(out, "p{exponent:+}");
    }
}

/// Hexadecimal digits of a double behind the point.
const HEX_DIGITS: usize = 13;

/// Appends what is no finite number: `nan`, `inf`, with a minus sign if its sign bit is set.
fn push_special(out: &mut impl TextOutput, number: f64) -> bool {
    if number.is_finite() {
        return false;
    }
    if number.is_sign_negative() {
        out.push_ascii(b"-");
    }
    out.push_ascii(if number.is_nan() { b"nan" } else { b"inf" });
    true
}

/// Gives a finite number's digits in scientific form, `1.25`, and its exponent.  With up to 17
/// digits behind the point nothing is allocated.
fn with_digits<T>(number: f64, precision: usize, work: impl FnOnce(&[u8], i32) -> T) -> T {
    let (mut few, mut many) = ([0; 32], Vec::new());
    let length = if precision <= 17 {
        let mut rest = &mut few[..];
        let _ = write!(rest, "{number:.precision$e}");
        32 - rest.len()
    } else {
        let _ = write!(many, "{number:.precision$e}");
        many.len()
    };
    let text = if many.is_empty() { &few[..length] } else { &many };
    let mark = text.iter().rposition(|byte| *byte == b'e').unwrap_or(length);
    let (sign, digits) = match text.get(mark + 1..).unwrap_or_default() {
        [b'-', digits @ ..] => (-1, digits),
        digits => (1, digits),
    };
    let exponent = digits.iter().fold(0, |value, digit| value * 10 + i32::from(digit - b'0'));
    work(&text[..mark], sign * exponent)
}

/// Appends `e+05`: at least two digits.
pub(crate) fn push_exponent(out: &mut impl TextOutput, exponent: i32) {
    out.push_ascii(if exponent < 0 { b"e-" } else { b"e+" });
    let size = exponent.unsigned_abs();
    if size < 10 {
        out.push_ascii(b"0");
    }
    crate::integer::push_u64(out, size.into());
}

/// Appends `%.{precision}f`; `has_point`: also without digits behind it (`#`).
pub fn push_fixed(out: &mut impl TextOutput, number: f64, precision: usize, has_point: bool) {
    if push_special(out, number) {
        return;
    }
    out.push_formatted(format_args!("{number:.precision$}"));
    if has_point && precision == 0 {
        out.push_ascii(b".");
    }
}

/// Appends `%.{precision}e`; `has_point`: also without digits behind it (`#`).
#[inline]
pub fn push_exponential(out: &mut impl TextOutput, number: f64, precision: usize, has_point: bool) {
    // First what nearly all numbers are: those that are not finite are not quick either.
    if (precision == 10 && push_eleven_digits(out, number)) || push_special(out, number) {
        return;
    }
    push_exponential_slowly(out, number, precision, has_point);
}

fn push_exponential_slowly(
    out: &mut impl TextOutput,
    number: f64,
    precision: usize,
    has_point: bool,
) {
    with_digits(number, precision, |digits, exponent| {
        out.push_ascii(digits);
        if has_point && precision == 0 {
            out.push_ascii(b".");
        }
        push_exponent(out, exponent);
    });
}

/// Appends `%.{precision}g`: `%e` or `%f`, by the exponent; `keeps_zeros`: also those at the end
/// (`#`).
pub fn push_general(out: &mut impl TextOutput, number: f64, precision: usize, keeps_zeros: bool) {
    if push_special(out, number) {
        return;
    }
    let precision = precision.max(1);
    with_digits(number, precision - 1, |text, exponent| {
        let (sign, text) = match text.strip_prefix(b"-") {
            Some(text) => (&b"-"[..], text),
            None => (&b""[..], text),
        };
        out.push_ascii(sign);
        let (first, rest) = text.split_at(1);
        let rest = rest.strip_prefix(b".").unwrap_or(rest);
        let zeros = rest.iter().rev().take_while(|digit| **digit == b'0').count();
        let kept = if keeps_zeros { rest } else { &rest[..rest.len() - zeros] };
        let is_scientific =
            exponent < -4 || usize::try_from(exponent).is_ok_and(|e| e >= precision);
        if is_scientific {
            out.push_ascii(first);
            push_fraction(out, kept, keeps_zeros);
            push_exponent(out, exponent);
        } else if exponent < 0 {
            out.push_ascii(&b"0.000"[..1 + exponent.unsigned_abs() as usize]);
            out.push_ascii(first);
            out.push_ascii(kept);
        } else {
            // The digits before the point may end with zeros.
            let whole = exponent.unsigned_abs() as usize;
            out.push_ascii(first);
            out.push_ascii(&rest[..whole]);
            push_fraction(out, kept.get(whole..).unwrap_or_default(), keeps_zeros);
        }
    });
}

/// Appends a point and digits; neither without digits, unless the point is kept.
fn push_fraction(out: &mut impl TextOutput, digits: &[u8], keeps_point: bool) {
    if keeps_point || !digits.is_empty() {
        out.push_ascii(b".");
        out.push_ascii(digits);
    }
}

/// Powers of ten that a double holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// `%.10e` for the numbers that nearly all databases hold; `false` for others.  Exact: the product
/// or quotient with a power of ten is one double and the sign of what is left, and that is enough to
/// round.
#[inline]
fn push_eleven_digits(out: &mut impl TextOutput, value: f64) -> bool {
    let number = value.abs();
    if !(1e-11..1e32).contains(&number) {
        return false;
    }
    let Some((digits, exponent)) = eleven_digits(number) else { return false };
    let mut text = *b"-0.0000000000e+00";
    text[1] = b'0' + (digits / 10_000_000_000) as u8;
    put_ten_digits(&mut text[3..13], digits % 10_000_000_000);
    text[14] = if exponent < 0 { b'-' } else { b'+' };
    put_pair(&mut text[15..], exponent.unsigned_abs());
    out.push_ascii(&text[usize::from(value >= 0.0)..]);
    true
}

/// The first eleven digits of a number, rounded to even at a half, and its decimal exponent.
fn eleven_digits(number: f64) -> Option<(u64, i32)> {
    // Log10 by the binary exponent: off by one at most, and the digits tell.
    let mut exponent = (((number.to_bits() >> 52) as i32 - 1023) * 1233) >> 12;
    loop {
        let shift = 10 - exponent;
        let power = *POWERS.get(shift.unsigned_abs() as usize)?;
        let scaled = if shift >= 0 { number * power } else { number / power };
        // Below 2^53 that is the floor, and quicker.
        let whole = scaled as u64 as f64;
        if whole >= 1e11 {
            exponent += 1;
            continue;
        }
        if whole < 1e10 {
            exponent -= 1;
            continue;
        }
        // What is left is less than a unit of the last place: it decides at a half only.
        let beyond = scaled - whole - 0.5;
        let beyond = match (beyond == 0.0, shift >= 0) {
            (false, _) => beyond,
            (true, true) => number.mul_add(power, -scaled),
            (true, false) => (-scaled).mul_add(power, number),
        };
        let whole = whole as u64;
        let is_up = beyond > 0.0 || (beyond == 0.0 && whole % 2 == 1);
        return Some(match whole + u64::from(is_up) {
            100_000_000_000 => (10_000_000_000, exponent + 1),
            digits => (digits, exponent),
        });
    }
}

/// A number as `%.{precision}e`.
#[must_use]
pub fn exponential(number: f64, precision: usize) -> String {
    let mut out = String::new();
    push_exponential(&mut out, number, precision, false);
    out
}

/// A number as `%.{precision}f`.
#[must_use]
pub fn fixed(number: f64, precision: usize) -> String {
    let mut out = String::new();
    push_fixed(&mut out, number, precision, false);
    out
}

/// A number as `%.{precision}g`.
#[must_use]
pub fn general(number: f64, precision: usize) -> String {
    let mut out = String::new();
    push_general(&mut out, number, precision, false);
    out
}

/// A double as C on x86-64 converts it to an `int`: towards zero, and to the least `int` if it does
/// not fit.
#[must_use]
pub fn to_int(value: f64) -> i32 {
    if value > -2_147_483_649.0 && value < 2_147_483_648.0 { value as i32 } else { i32::MIN }
}

/// A double as C on x86-64 converts it to a `long`: towards zero, and to the least `long` if it does
/// not fit.
#[must_use]
pub fn to_long(value: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&value) { value as i64 } else { i64::MIN }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quick_digits_are_the_exact_ones() {
        let check = |value: f64| {
            let mut quick = String::new();
            if !push_eleven_digits(&mut quick, value) {
                return;
            }
            let text = format!("{value:.10e}");
            let (digits, exponent) = text.split_once('e').unwrap();
            let exponent: i32 = exponent.parse().unwrap();
            let sign = if exponent < 0 { '-' } else { '+' };
            assert_eq!(quick, format!("{digits}e{sign}{:02}", exponent.abs()), "{value:e}");
        };
        // Ties, powers of ten, and what is next to them.
        for power in -12..33 {
            for digits in ["1", "9.9999999999", "9.99999999995", "1.00000000005", "5", "2.5"] {
                let value: f64 = format!("{digits}e{power}").parse().unwrap();
                let bits = value.to_bits();
                (bits - 3..=bits + 3).for_each(|bits| check(f64::from_bits(bits)));
            }
        }
        (0..2000).for_each(|half| check(10_000_000_000.5 + f64::from(half)));
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..100_000 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            check(f64::from_bits(state));
            check((state >> 20) as f64 / 4096.0);
            check(-((state >> 11) as f64));
            // Between 1e-12 and 1e33.
            check(f64::from_bits((state & ((1 << 52) - 1)) | ((983 + state % 150) << 52)));
        }
    }

    #[test]
    fn general_numbers_are_the_digits_of_fixed_and_exponential_ones() {
        let cases = [
            (1.0 / 3.0, 15, "0.333333333333333"),
            (1e20, 15, "1e+20"),
            (0.1 + 0.2, 15, "0.3"),
            (1e-7, 15, "1e-07"),
            (-2.5e-5, 15, "-2.5e-05"),
            (-0.0001, 15, "-0.0001"),
            (0.012_345, 3, "0.0123"),
            (123_456.75, 15, "123456.75"),
            (100.0, 6, "100"),
            (1e15, 15, "1e+15"),
            (99_999.96, 6, "100000"),
            (999_999.96, 6, "1e+06"),
            (0.0, 6, "0"),
            (-0.0, 6, "-0"),
            (f64::NAN, 6, "nan"),
            (f64::NEG_INFINITY, 6, "-inf"),
            (0.1, 25, "0.1000000000000000055511151"),
        ];
        for (number, precision, text) in cases {
            assert_eq!(general(number, precision), text);
        }
        let mut kept = String::new();
        push_general(&mut kept, 100.0, 6, true);
        push_general(&mut kept, 0.5, 3, true);
        push_general(&mut kept, 1e9, 1, true);
        push_general(&mut kept, 0.0, 3, true);
        assert_eq!(kept, "100.0000.5001.e+090.00");
        assert_eq!(
            (exponential(1e300, 0), exponential(1.5, 3)),
            ("1e+300".into(), "1.500e+00".into())
        );
        assert_eq!((fixed(2.5, 0), fixed(f64::NAN, 3)), ("2".into(), "nan".into()));
    }

    #[test]
    fn what_fits_no_integer_is_the_smallest() {
        assert_eq!((to_long(-0.9), to_int(-0.9)), (0, 0));
        assert_eq!(to_long(1e18), 1_000_000_000_000_000_000);
        assert_eq!((to_int(-2_147_483_648.5), to_int(2_147_483_647.5)), (i32::MIN, i32::MAX));
        for value in [f64::NAN, f64::INFINITY, 1e19, -1e19] {
            assert_eq!((to_long(value), to_int(value)), (i64::MIN, i32::MIN));
        }
    }
}
