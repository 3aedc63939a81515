//! Decimal numbers, read with RRDtool's arithmetic.
//!
//! RRDtool adds the digits up in a double and multiplies by powers of ten, so its numbers may be
//! some units in the last place off the nearest double (`1e300`).  These are the same.

/// Exponents beyond which a number is refused, as `DBL_MIN_EXP` and `DBL_MAX_EXP` of C.
const EXPONENT_MIN: i64 = -1021;
const EXPONENT_MAX: i64 = 1024;

/// Reads a number at the begin of a text: its value, and how many bytes it takes.  `None` without a
/// digit, and with an exponent out of range.
///
/// White space and a sign may precede.  A number too large for a double is infinite.
pub fn prefix(text: &str) -> Option<(f64, usize)> {
    let bytes = text.as_bytes();
    let mut at =
        bytes.iter().take_while(|byte| byte.is_ascii_whitespace() || **byte == 0x0b).count();
    let negative = bytes.get(at) == Some(&b'-');
    if matches!(bytes.get(at), Some(b'-' | b'+')) {
        at += 1;
    }
    let mut number = 0.0;
    let mut digits = 0;
    let mut exponent = 0_i64;
    while let Some(digit) = digit_at(bytes, at) {
        number = number * 10.0 + digit;
        digits += 1;
        at += 1;
    }
    if bytes.get(at) == Some(&b'.') {
        at += 1;
        while let Some(digit) = digit_at(bytes, at) {
            number = number * 10.0 + digit;
            digits += 1;
            exponent -= 1;
            at += 1;
        }
    }
    if digits == 0 {
        return None;
    }
    if negative {
        number = -number;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1;
        let negative = bytes.get(at) == Some(&b'-');
        if matches!(bytes.get(at), Some(b'-' | b'+')) {
            at += 1;
        }
        let mut written = 0_i64;
        while let Some(digit) = digit_at(bytes, at) {
            written = written.saturating_mul(10).saturating_add(digit as i64);
            at += 1;
        }
        exponent = exponent.saturating_add(if negative { -written } else { written });
    }
    if !(EXPONENT_MIN..=EXPONENT_MAX).contains(&exponent) {
        return None;
    }
    Some((scale(number, exponent), at))
}

/// Reads a text that is a number and nothing else.
pub fn whole(text: &str) -> Option<f64> {
    prefix(text).filter(|(_, length)| *length == text.len()).map(|(number, _)| number)
}

fn digit_at(bytes: &[u8], at: usize) -> Option<f64> {
    bytes.get(at).filter(|byte| byte.is_ascii_digit()).map(|byte| f64::from(byte - b'0'))
}

/// `number` times ten to the power of `exponent`, by squaring.
fn scale(mut number: f64, exponent: i64) -> f64 {
    let mut power = 10.0;
    let mut left = exponent.unsigned_abs();
    while left != 0 {
        if left & 1 == 1 {
            number = if exponent < 0 { number / power } else { number * power };
        }
        left >>= 1;
        power *= power;
    }
    number
}

/// A double as C converts it to an `int`: towards zero, and to the least `int` if it has no place.
pub fn to_int(value: f64) -> i32 {
    if value > -2_147_483_649.0 && value < 2_147_483_648.0 { value as i32 } else { i32::MIN }
}

/// A double as C converts it to a `long`: towards zero, and to the least `long` if it has no place.
pub fn to_long(value: f64) -> i64 {
    let fits = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value);
    if fits { value as i64 } else { i64::MIN }
}
