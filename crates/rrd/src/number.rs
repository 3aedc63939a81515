//! Numbers as RRDtool reads and prints them.
//!
//! RRDtool reads a number with a simple converter: it multiplies by ten and adds the digit, then
//! scales by a power of ten made by squaring.  Its result is not always the nearest double, and
//! files must not depend on which program wrote them, so the same steps are done here.

use std::fmt::Write as _;

/// The value that is not known: the bits that RRDtool writes for it.
pub const UNKNOWN: f64 = f64::from_bits(0xfff8_0000_0000_0000);

/// Text that is no number, or not only a number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NumberError {
    /// Nothing of the text is a number.
    #[error("Cannot convert '{0}' to float")]
    None(String),
    /// Something follows the number.
    #[error("Converted '{text}' to {number}, but cannot convert '{rest}'")]
    Tail {
        /// The whole text.
        text: String,
        /// The number, as `%f` prints it.
        number: String,
        /// What follows.
        rest: String,
    },
    /// One of the others, with the place in front.
    #[error("{place} - {source}")]
    In {
        /// What was being read.
        place: &'static str,
        /// What is wrong.
        source: Box<NumberError>,
    },
}

impl NumberError {
    /// Puts the place in front.
    #[must_use]
    pub fn within(self, place: &'static str) -> Self {
        Self::In { place, source: Box::new(self) }
    }
}

/// Smallest and largest decimal exponents that are scaled; RRDtool compares with the limits of
/// binary exponents.
const EXPONENT_MIN: i64 = -1021;
const EXPONENT_MAX: i64 = 1024;

/// Reads the number that a text begins with; also gives the number of bytes read, 0 if there is
/// none.
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

/// What begins with `nan` or `inf`, in capitals or not; RRDtool does not look at what follows.
fn parse_special(text: &[u8]) -> Option<f64> {
    let (negative, word) = match text.strip_prefix(b"-") {
        Some(word) => (true, word),
        None => (false, text),
    };
    let word = word.get(..3)?;
    if word.eq_ignore_ascii_case(b"nan") {
        return Some(UNKNOWN);
    }
    let infinity = if negative { f64::NEG_INFINITY } else { f64::INFINITY };
    word.eq_ignore_ascii_case(b"inf").then_some(infinity)
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

/// Reads a text that is one number.
pub fn parse(text: &[u8]) -> Result<f64, NumberError> {
    if let Some(number) = parse_special(text) {
        return Ok(number);
    }
    let (number, length) = parse_prefix(text);
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if length == 0 {
        return Err(NumberError::None(shown(text)));
    }
    if length < text.len() {
        return Err(NumberError::Tail {
            text: shown(text),
            number: fixed(number, 6),
            rest: shown(&text[length..]),
        });
    }
    Ok(number)
}

/// The leading integer of a text, as `atoi` reads it: 0 if there is none.
#[must_use]
pub fn leading_integer(text: &str) -> i64 {
    let text = text.trim_start();
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let mut value = 0i64;
    for digit in digits.bytes().take_while(u8::is_ascii_digit) {
        value = value.saturating_mul(10).saturating_add(i64::from(digit - b'0'));
    }
    if negative { -value } else { value }
}

/// Appends a number as C's `%.<digits>e` prints it; not a number is `nan`, or `-nan` if its sign
/// bit is set.
pub fn push_exponential(out: &mut String, value: f64, digits: usize) {
    if value.is_nan() {
        out.push_str(if value.is_sign_negative() { "-nan" } else { "nan" });
        return;
    }
    if value.is_infinite() {
        out.push_str(if value < 0.0 { "-inf" } else { "inf" });
        return;
    }
    if digits == 10 && push_eleven_digits(out, value) {
        return;
    }
    let start = out.len();
    let _ = write!(out, "{value:.digits$e}");
    // Rust writes `1.5e2` and `1.5e-2`, C `1.5e+02` and `1.5e-02`.
    let Some(mark) = out[start..].rfind('e').map(|mark| start + mark + 1) else { return };
    let exponent: i32 = out[mark..].parse().unwrap_or(0);
    out.truncate(mark);
    let _ = write!(out, "{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs());
}

/// Powers of ten that a double holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// [`push_exponential`] with 10 digits, for the numbers that nearly all databases hold; `false` for
/// others.  Exact: the product or quotient with a power of ten is one double and the sign of what
/// is left, and that is enough to round.
fn push_eleven_digits(out: &mut String, value: f64) -> bool {
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
    push_ascii(out, &text[usize::from(value >= 0.0)..]);
    true
}

/// Appends the ten digits of a number below 10^10.
pub(crate) fn push_ten_digits(out: &mut String, number: u64) {
    let mut text = [b'0'; 10];
    put_ten_digits(&mut text, number);
    push_ascii(out, &text);
}

/// Writes the ten digits of a number below 10^10.
fn put_ten_digits(text: &mut [u8], number: u64) {
    // Division of 32 bits is the quicker one.
    let (high, low) = ((number / 100_000_000) as u32, (number % 100_000_000) as u32);
    put_pair(text, high);
    put_pair(&mut text[2..], low / 1_000_000);
    put_pair(&mut text[4..], low / 10_000 % 100);
    put_pair(&mut text[6..], low / 100 % 100);
    put_pair(&mut text[8..], low % 100);
}

/// Writes two digits.
fn put_pair(text: &mut [u8], number: u32) {
    let at = number as usize * 2;
    if let Some(pair) = PAIRS.get(at..at + 2) {
        text[..2].copy_from_slice(pair);
    }
}

fn push_ascii(out: &mut String, text: &[u8]) {
    out.push_str(std::str::from_utf8(text).unwrap_or_default());
}

/// All numbers of two digits.
const PAIRS: &[u8; 200] = b"0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849\
    5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

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

/// Appends a finite number as RRDtool's own `%.10e` prints it, in dumps.
///
/// That formatter divides by a power of ten in doubles and rounds halves up, so its last digit is
/// not always C's; and it prints no sign for zero.
pub(crate) fn push_dumped(out: &mut String, value: f64) {
    const FACTOR: f64 = 1e10;
    if value.is_infinite() {
        out.push_str(if value < 0.0 { "-inf" } else { "inf" });
        return;
    }
    let mut exponent = decimal_exponent(value);
    let scaled = value.abs() / power_of_ten(exponent);
    let mut whole = scaled as u64;
    let rest = FACTOR * (scaled - whole as f64);
    let mut fraction = rest as u64;
    if rest - fraction as f64 >= 0.5 {
        fraction += 1;
    }
    if fraction as f64 >= FACTOR {
        whole += 1;
        fraction = 0;
        if whole == 10 {
            whole = 1;
            exponent += 1;
        }
    }
    let sign = if value < 0.0 { "-" } else { "" };
    let exponent_sign = if exponent < 0 { '-' } else { '+' };
    let exponent = exponent.abs();
    let _ = write!(out, "{sign}{whole}.{fraction:010}e{exponent_sign}{exponent:02}");
}

fn decimal_exponent(value: f64) -> i32 {
    let mut rest = value.abs();
    let mut exponent = 0;
    while rest < 1.0 && rest > 0.0 {
        exponent -= 1;
        if exponent < f64::MIN_10_EXP {
            break;
        }
        rest *= 10.0;
    }
    while rest >= 10.0 {
        exponent += 1;
        if exponent > f64::MAX_10_EXP {
            break;
        }
        rest /= 10.0;
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

/// A number as `%.<digits>e` prints it.
#[must_use]
pub fn exponential(value: f64, digits: usize) -> String {
    let mut out = String::new();
    push_exponential(&mut out, value, digits);
    out
}

/// A number as `%.<digits>f` prints it.
#[must_use]
pub fn fixed(value: f64, digits: usize) -> String {
    match (value.is_nan(), value.is_infinite()) {
        (true, _) => if value.is_sign_negative() { "-nan" } else { "nan" }.to_owned(),
        (_, true) => if value < 0.0 { "-inf" } else { "inf" }.to_owned(),
        _ => format!("{value:.digits$}"),
    }
}

/// Longest decimal integer that a counter may have, in digits; of longer ones the difference is
/// unknown.
const COUNTER_DIGITS_MAX: usize = 30;

/// The difference of two readings of a counter.
///
/// Both are decimal integers of up to 30 digits; what precedes and follows the digits is ignored,
/// except a minus sign before them.  Numbers of different signs have no difference.
#[must_use]
pub fn difference(new: &[u8], old: &[u8]) -> f64 {
    let (Some((new_negative, new)), Some((old_negative, old))) = (digits_of(new), digits_of(old))
    else {
        return UNKNOWN;
    };
    if new_negative != old_negative || new.len().max(old.len()) > COUNTER_DIGITS_MAX {
        return UNKNOWN;
    }
    let (new, old) = (decimal(new), decimal(old));
    // RRDtool subtracts the texts and reads the text of the result.
    let result = double_of(new.abs_diff(old));
    let result = if new < old { -result } else { result };
    if new_negative { -result } else { result }
}

/// A decimal integer read digit by digit, each step rounded.
fn double_of(value: u128) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "exact below 2^53")]
    if value < 1 << 53 {
        return value as u64 as f64;
    }
    let digits = value.to_string();
    digits.bytes().fold(0.0, |number, digit| number * 10.0 + f64::from(digit - b'0'))
}

fn digits_of(text: &[u8]) -> Option<(bool, &[u8])> {
    let start = text.iter().position(u8::is_ascii_digit)?;
    let negative = text[..start].contains(&b'-');
    let digits = &text[start..];
    let end = digits.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
    Some((negative, &digits[..end]))
}

fn decimal(digits: &[u8]) -> u128 {
    digits.iter().fold(0, |value, digit| value * 10 + u128::from(digit - b'0'))
}

/// Reads a duration: a number of steps, or a number with a unit (`s m h d w M y`), which must be a
/// multiple of `divisor` seconds and gives the number of divisors.
///
/// # Errors
/// RRDtool's texts.
pub fn scaled_duration(text: &str, divisor: u64) -> Result<u64, &'static str> {
    const NOT_A_NUMBER: &str = "value must be (suffixed) positive number";
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, suffix) = text.split_at(digits);
    if digits == 0 {
        return Err(NOT_A_NUMBER);
    }
    let value: u64 = number.parse().unwrap_or(u64::MAX);
    // What follows the unit is not looked at.
    let unit = match suffix.bytes().next() {
        None => 0,
        Some(b's') => 1,
        Some(b'm') => 60,
        Some(b'h') => 3600,
        Some(b'd') => 86_400,
        Some(b'w') => 7 * 86_400,
        Some(b'M') => 31 * 86_400,
        Some(b'y') => 366 * 86_400,
        Some(_) => return Err("value has trailing garbage"),
    };
    match (value, unit) {
        (0, _) => return Err("value must be positive"),
        (_, 0) => return Ok(value),
        _ => {}
    }
    let seconds = value.saturating_mul(unit);
    if divisor == 0 || seconds % divisor != 0 {
        return Err("value would truncate when scaled");
    }
    Ok(seconds / divisor)
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
}
