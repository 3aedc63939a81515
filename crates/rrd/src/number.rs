//! Words of numbers as RRDtool takes them: numbers with its errors, differences of counters,
//! durations.
//!
//! The digits are read by [`text::rrdtool_number`], with RRDtool's rounding.

use text::c_number::fixed;
pub use text::rrdtool_number::parse_prefix;

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

/// Reads a text that is one number.
pub fn parse(text: &[u8]) -> Result<f64, NumberError> {
    if let Some(number) = parse_special(text) {
        return Ok(number);
    }
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (number, length) = parse_prefix(text);
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
