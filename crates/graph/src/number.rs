//! Numbers as text: C's `printf` for `PRINT`, and RRDtool's own for tables.

use std::fmt::Write as _;

/// Widest field and longest fraction that are written; C has no limit.
const WIDTH_MAX: usize = 4096;

/// A conversion of C for a double: `%-8.2lf`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Conversion {
    /// One of `-+ 0#`.
    pub(crate) flag: Option<char>,
    pub(crate) width: usize,
    pub(crate) precision: Option<usize>,
    /// One of `eEfFgG`.
    pub(crate) kind: char,
}

impl Conversion {
    /// Reads what follows a `%`; gives the rest too.
    pub(crate) fn parse(text: &str) -> Option<(Self, &str)> {
        let flag = text.chars().next().filter(|flag| "-+ 0#".contains(*flag));
        let rest = &text[usize::from(flag.is_some())..];
        let (width, rest) = digits(rest);
        let (precision, rest) = match rest.strip_prefix('.') {
            Some(after) => {
                let (precision, after) = digits(after);
                (Some(precision), after)
            }
            None => (None, rest),
        };
        let rest = rest.strip_prefix('l')?;
        let kind = rest.chars().next().filter(|kind| "eEfFgG".contains(*kind))?;
        Some((Conversion { flag, width, precision, kind }, &rest[1..]))
    }

    /// A value as C writes it.
    pub(crate) fn write(self, value: f64) -> String {
        let sign = match (value.is_sign_negative(), self.flag) {
            (true, _) => "-",
            (false, Some('+')) => "+",
            (false, Some(' ')) => " ",
            (false, _) => "",
        };
        let magnitude = value.abs();
        let digits = if value.is_nan() {
            "nan".to_owned()
        } else if value.is_infinite() {
            "inf".to_owned()
        } else {
            self.digits(magnitude)
        };
        let digits = if self.kind.is_ascii_uppercase() { digits.to_uppercase() } else { digits };
        let missing = self.width.saturating_sub(sign.len() + digits.len());
        let fill = |filler: &str| filler.repeat(missing);
        match self.flag {
            Some('-') => format!("{sign}{digits}{}", fill(" ")),
            Some('0') if value.is_finite() => format!("{sign}{}{digits}", fill("0")),
            _ => format!("{}{sign}{digits}", fill(" ")),
        }
    }

    fn digits(self, value: f64) -> String {
        let precision = self.precision.unwrap_or(6);
        let keeps_point = self.flag == Some('#');
        match self.kind.to_ascii_lowercase() {
            'f' => fixed(value, precision, keeps_point),
            'e' => scientific(value, precision, keeps_point),
            _ => general(value, precision.max(1), keeps_point),
        }
    }
}

/// At most [`WIDTH_MAX`].
fn digits(text: &str) -> (usize, &str) {
    let length = text.len() - text.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
    let number = text[..length].parse().unwrap_or(if length == 0 { 0 } else { WIDTH_MAX });
    (number.min(WIDTH_MAX), &text[length..])
}

fn fixed(value: f64, precision: usize, keeps_point: bool) -> String {
    let point = if keeps_point && precision == 0 { "." } else { "" };
    format!("{value:.precision$}{point}")
}

fn scientific(value: f64, precision: usize, keeps_point: bool) -> String {
    let text = format!("{value:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let point = if keeps_point && precision == 0 { "." } else { "" };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}{point}e{sign}{:02}", exponent.abs())
}

fn general(value: f64, precision: usize, keeps_zeros: bool) -> String {
    let text = format!("{value:.*e}", precision - 1);
    let exponent: i32 = text.rsplit('e').next().and_then(|text| text.parse().ok()).unwrap_or(0);
    let places = i32::try_from(precision).unwrap_or(i32::MAX);
    if exponent < -4 || exponent >= places {
        let text = scientific(value, precision - 1, keeps_zeros);
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, ""));
        return format!("{}e{exponent}", trimmed(mantissa, keeps_zeros));
    }
    let decimals = usize::try_from(places - 1 - exponent).unwrap_or(0);
    trimmed(&fixed(value, decimals, keeps_zeros), keeps_zeros).to_owned()
}

fn trimmed(text: &str, keeps_zeros: bool) -> &str {
    if keeps_zeros || !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.')
}

/// Exponents between which RRDtool scales a number.
const EXPONENTS: std::ops::RangeInclusive<i32> = -308..=308;

/// Most digits after the point that RRDtool writes.
const DIGITS_MAX: usize = 19;

/// A value as tables have it, `1.2345678901e+03`; an unknown one as `nan`.
pub fn table_number(value: f64) -> String {
    let precision = Some(10);
    Conversion { flag: Some('0'), width: 0, precision, kind: 'e' }.write_as_rrdtool(value)
}

impl Conversion {
    /// A value as RRDtool writes it in tables.
    ///
    /// It scales by repeated multiplication in double precision and rounds halves up, so the last
    /// digit may differ from C's.  What has no place in 64 bits is empty.
    pub(crate) fn write_as_rrdtool(self, value: f64) -> String {
        let sign = match self.flag {
            _ if value < 0.0 => "-",
            Some('+') => "+",
            Some(' ') => " ",
            _ => "",
        };
        let digits = if value.is_nan() {
            "nan".to_owned()
        } else if value.is_infinite() {
            "inf".to_owned()
        } else {
            match self.cheap_digits(value.abs()) {
                Some(digits) => digits,
                None => return String::new(),
            }
        };
        let digits = if self.kind.is_ascii_uppercase() { digits.to_uppercase() } else { digits };
        let missing = self.width.saturating_sub(sign.len() + digits.len());
        match self.flag {
            Some('-') => format!("{sign}{digits}{}", " ".repeat(missing)),
            Some('0') if value.is_finite() => format!("{sign}{}{digits}", "0".repeat(missing)),
            _ => format!("{}{sign}{digits}", " ".repeat(missing)),
        }
    }

    fn cheap_digits(self, value: f64) -> Option<String> {
        let mut precision = self.precision.unwrap_or(6);
        let kind = self.kind.to_ascii_lowercase();
        let keeps_point = self.flag == Some('#');
        let omits_zeros = kind == 'g' && !keeps_point;
        if kind == 'f' {
            let parts = Parts::of(value, precision.min(DIGITS_MAX), None)?;
            return Some(parts.text(false, keeps_point));
        }
        if kind == 'g' {
            precision = precision.max(1) - 1;
        }
        let mut parts = Parts::of(value, precision.min(DIGITS_MAX), Some(exponent_of(value)))?;
        let exponent = parts.exponent.unwrap_or(0);
        let places = i32::try_from(parts.precision).unwrap_or(0);
        if kind == 'g' && places + 1 > exponent && exponent >= -4 {
            let precision = usize::try_from(places - exponent).unwrap_or(0);
            parts = Parts::of(value, precision.min(DIGITS_MAX), None)?;
        }
        Some(parts.text(omits_zeros, keeps_point))
    }
}

/// A number in digits before and after the point.
struct Parts {
    whole: u64,
    fraction: u64,
    precision: usize,
    exponent: Option<i32>,
}

impl Parts {
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
        let mut parts = Parts { whole: scaled as u64, fraction: 0, precision, exponent };
        let rest = mask as f64 * (scaled - parts.whole as f64);
        parts.fraction = rest as u64;
        if rest - parts.fraction as f64 >= 0.5 {
            parts.fraction += 1;
        }
        if parts.fraction >= mask {
            parts.whole += 1;
            parts.fraction = 0;
            if parts.whole == 10
                && let Some(exponent) = &mut parts.exponent
            {
                parts.whole = 1;
                *exponent += 1;
            }
        }
        Some(parts)
    }

    fn text(&self, omits_zeros: bool, keeps_point: bool) -> String {
        let mut text = self.whole.to_string();
        let mut digits = match self.precision {
            0 => String::new(),
            precision => format!("{:0precision$}", self.fraction),
        };
        if omits_zeros {
            digits.truncate(digits.trim_end_matches('0').len());
        }
        if !digits.is_empty() || keeps_point {
            text.push('.');
        }
        text += &digits;
        if let Some(exponent) = self.exponent {
            let sign = if exponent < 0 { '-' } else { '+' };
            // Writing to a string cannot fail.
            let _ = write!(text, "e{sign}{:02}", exponent.abs());
        }
        text
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

fn power_of_ten(exponent: i32) -> f64 {
    let step = |power: f64, _| if exponent < 0 { power / 10.0 } else { power * 10.0 };
    (0..exponent.unsigned_abs()).fold(1.0, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn c(format: &str, value: f64) -> String {
        let (conversion, rest) = Conversion::parse(format).expect("a conversion");
        assert_eq!(rest, "");
        conversion.write(value)
    }

    #[test]
    fn numbers_are_those_of_c() {
        let cases = [
            ("lf", 8.75, "8.750000"),
            ("6.2lf", 0.125, "  0.12"),
            (".0lf", 2.5, "2"),
            ("-8.1lf", -1.25, "-1.2    "),
            ("010.2lg", 16.0, "0000000016"),
            ("#lg", 16.0, "16.0000"),
            (" lf", 16.0, " 16.000000"),
            ("lg", 1e-5, "1e-05"),
            ("lg", 123_456_789.0, "1.23457e+08"),
            ("lG", 1e300, "1E+300"),
            ("8.2lf", rpn::UNKNOWN, "    -nan"),
            ("08lf", f64::INFINITY, "     inf"),
            (".17le", 0.1, "1.00000000000000006e-01"),
        ];
        for (format, value, text) in cases {
            assert_eq!(c(format, value), text, "{format}");
        }
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
        ];
        for (value, text) in cases {
            assert_eq!(table_number(value), text);
        }
        let cases = [
            (".17le", 28740.0, "2.87400000000000016e+04"),
            (".0lf", 0.5, "1"),
            ("6.2lf", 0.125, "  0.13"),
            ("#.3lg", 454.5, "455."),
            (".15lg", 0.006_027_797_409_957_914_5, "0.00602779740995792"),
            ("lf", 1e22, ""),
            ("lg", 0.0, "0"),
        ];
        for (format, value, text) in cases {
            let (conversion, _) = Conversion::parse(format).expect("a conversion");
            assert_eq!(conversion.write_as_rrdtool(value), text, "{format}");
        }
    }
}
