//! Numbers: parsed from the beginning of a text, as literals of a program, and written with 15 digits.

/// An integer if that is exact, otherwise a floating-point number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Float(f64),
}

impl Number {
    /// The nearest floating-point number.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        match self {
            Number::Integer(value) => value as f64,
            Number::Float(value) => value,
        }
    }

    /// The integer part; saturates if it is too large.
    #[must_use]
    pub fn as_i64(self) -> i64 {
        match self {
            Number::Integer(value) => value,
            Number::Float(value) => value as i64,
        }
    }

    /// The integer part, without a limit.
    pub(crate) fn truncated(self) -> Self {
        match self {
            Number::Float(value) => whole(value.trunc()),
            integer => integer,
        }
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Number::Integer(value)
    }
}

/// An integer if the value is one that fits.
pub(crate) fn whole(value: f64) -> Number {
    // From 10^15 on a number is written with an exponent, because it has 15 digits.
    let fits = value.abs() < 1e15 && value.fract() == 0.0;
    if fits { Number::Integer(value as i64) } else { Number::Float(value) }
}

/// The number at the beginning of a text, and its length; 0 if there is none.
pub(crate) fn prefix(text: &[u8]) -> (usize, Number) {
    let digits = |from: usize| {
        text.get(from..).unwrap_or(b"").iter().take_while(|byte| byte.is_ascii_digit()).count()
    };
    let at = |place: usize| text.get(place).copied();
    let mut end = text.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let start = end;
    end += usize::from(matches!(at(end), Some(b'-' | b'+')));
    if let Some(value) = not_finite(&text[end..]) {
        let sign = if at(start) == Some(b'-') { -1.0 } else { 1.0 };
        return (end + 3, Number::Float(sign * value));
    }
    let whole_digits = digits(end);
    end += whole_digits;
    let mut is_integer = true;
    let mut fraction_digits = 0;
    if at(end) == Some(b'.') {
        fraction_digits = digits(end + 1);
        if whole_digits + fraction_digits > 0 && (fraction_digits > 0 || at(end + 1) != Some(b'.'))
        {
            end += 1 + fraction_digits;
            is_integer = fraction_digits == 0;
        }
    }
    if whole_digits + fraction_digits == 0 {
        return (0, Number::Integer(0));
    }
    if matches!(at(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(at(end + 1), Some(b'-' | b'+')));
        let exponent = digits(end + 1 + sign);
        if exponent > 0 {
            end += 1 + sign + exponent;
            is_integer = false;
        }
    }
    let written = std::str::from_utf8(&text[start..end]).unwrap_or("0");
    if is_integer && let Ok(value) = written.trim_end_matches('.').parse() {
        return (end, Number::Integer(value));
    }
    (end, whole(written.parse().unwrap_or(0.0)))
}

/// The value of a text that begins with `inf` or `nan`, in upper or lower case.
fn not_finite(text: &[u8]) -> Option<f64> {
    match text.get(..3)? {
        word if word.eq_ignore_ascii_case(b"inf") => Some(f64::INFINITY),
        word if word.eq_ignore_ascii_case(b"nan") => Some(f64::NAN),
        _ => None,
    }
}

/// A number as a program writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Literal {
    /// Bytes of the text.
    pub length: usize,
    /// 10, or 16, 2 and 8 for `0x1f`, `0b11`, `017`.
    pub radix: u32,
    /// Digits without a prefix and without `_`; of radix 10 also a point and an exponent.
    pub digits: String,
}

impl Literal {
    /// The literal at the beginning of a text, which begins with a digit, or with a point and a digit.
    #[must_use]
    pub fn at_beginning(text: &[u8]) -> Self {
        let (radix, prefix) = match text {
            [b'0', b'x' | b'X', ..] => (16, 2),
            [b'0', b'b' | b'B', ..] => (2, 2),
            [b'0', b'0'..=b'9' | b'_', ..] => (8, 1),
            _ => (10, 0),
        };
        let length = match radix {
            10 => decimal_length(text),
            _ => {
                let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
                prefix + text[prefix..].iter().take_while(is_part).count()
            }
        };
        let digits = String::from_utf8_lossy(&text[prefix..length]).replace('_', "");
        Literal { length, radix, digits }
    }

    /// The number; `None` if digits are wrong, or there are too many of a radix other than 10.
    pub(crate) fn number(&self) -> Option<Number> {
        match self.radix {
            10 => Some(prefix(self.digits.as_bytes()).1),
            radix => i64::from_str_radix(&self.digits, radix).ok().map(Number::Integer),
        }
    }
}

/// Bytes of `1_000.5e-3`.
fn decimal_length(text: &[u8]) -> usize {
    let at = |place: usize| text.get(place).copied();
    let digits = |from: usize| {
        let is_part = |byte: &&u8| byte.is_ascii_digit() || **byte == b'_';
        text.get(from..).unwrap_or(b"").iter().take_while(is_part).count()
    };
    let mut end = digits(0);
    // `1..2` is a range, not `1.` and `.2`.
    if at(end) == Some(b'.') && at(end + 1) != Some(b'.') {
        end += 1 + digits(end + 1);
    }
    if matches!(at(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(at(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    end
}

/// Appends a number: at most 15 digits, without zeros at the end (`%.15g`).
pub(crate) fn write(number: Number, out: &mut Vec<u8>) {
    match number {
        Number::Integer(value) => out.extend_from_slice(value.to_string().as_bytes()),
        Number::Float(value) => out.extend_from_slice(general(value, 15).as_bytes()),
    }
}

/// `%.Ng` of printf(3).
pub(crate) fn general(value: f64, digits: usize) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Inf" } else { "-Inf" }.to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let digits = digits.max(1);
    let written = format!("{:.*e}", digits - 1, value);
    let (mantissa, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trim = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if exponent < -4 || exponent >= digits as i32 {
        return trim(mantissa) + &exponent_text(exponent);
    }
    trim(&format!("{:.*}", (digits as i32 - 1 - exponent).max(0) as usize, value))
}

/// `%.Ne` of printf(3).
pub(crate) fn scientific(value: f64, digits: usize) -> String {
    let written = format!("{value:.digits$e}");
    let (mantissa, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    mantissa.to_owned() + &exponent_text(exponent.parse().unwrap_or(0))
}

fn exponent_text(exponent: i32) -> String {
    format!("e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_at_the_beginning() {
        for (text, length, value) in [
            ("12ab", 2, Number::Integer(12)),
            (" -3", 3, Number::Integer(-3)),
            ("1.50", 4, Number::Float(1.5)),
            ("1e3x", 3, Number::Integer(1000)),
            (".5", 2, Number::Float(0.5)),
            ("0x10", 1, Number::Integer(0)),
            ("abc", 0, Number::Integer(0)),
            ("1..3", 1, Number::Integer(1)),
        ] {
            assert_eq!(prefix(text.as_bytes()), (length, value), "{text}");
        }
    }

    #[test]
    fn literals_of_programs() {
        for (text, length, value) in [
            ("1_000.5+", 7, Some(Number::Float(1000.5))),
            ("1..3", 1, Some(Number::Integer(1))),
            ("1.x", 2, Some(Number::Integer(1))),
            ("2e-1e", 4, Some(Number::Float(0.2))),
            ("3e", 1, Some(Number::Integer(3))),
            ("0x1F;", 4, Some(Number::Integer(31))),
            ("0b11", 4, Some(Number::Integer(3))),
            ("010", 3, Some(Number::Integer(8))),
            ("089", 3, None),
            ("0", 1, Some(Number::Integer(0))),
        ] {
            let literal = Literal::at_beginning(text.as_bytes());
            assert_eq!((literal.length, literal.number()), (length, value), "{text}");
        }
    }

    #[test]
    fn fifteen_digits() {
        let show = |value: f64| general(value, 15);
        assert_eq!(show(1.0 / 3.0), "0.333333333333333");
        assert_eq!(show(1e20), "1e+20");
        assert_eq!(show(0.1 + 0.2), "0.3");
        assert_eq!(show(1e-7), "1e-07");
        assert_eq!(show(123456.75), "123456.75");
        assert_eq!(show(1e15), "1e+15");
    }
}
