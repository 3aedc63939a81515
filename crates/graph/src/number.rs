//! Conversions of a number by a format, with a width: C's for `PRINT`, and RRDtool's own for tables.

use text::c_number::CConversion;
use text::rrdtool_number::{RrdtoolFormat, push_table_number};

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
        let conversion = CConversion {
            letter: self.kind as u8,
            precision: self.precision,
            alternate: self.flag == Some('#'),
            ..CConversion::default()
        };
        let mut digits = Vec::new();
        conversion.push_float(&mut digits, value.abs());
        let digits = String::from_utf8(digits).unwrap_or_default();
        self.pad(value, value.is_sign_negative(), &digits)
    }

    /// A value as RRDtool writes it in tables; empty if its whole part has no place in 64 bits.
    pub(crate) fn write_as_rrdtool(self, value: f64) -> String {
        let format = RrdtoolFormat {
            kind: self.kind.to_ascii_lowercase() as u8,
            precision: self.precision.unwrap_or(6),
            alternate: self.flag == Some('#'),
        };
        let mut digits = String::new();
        if !format.push(&mut digits, value.abs()) {
            return String::new();
        }
        if self.kind.is_ascii_uppercase() {
            digits.make_ascii_uppercase();
        }
        self.pad(value, value < 0.0, &digits)
    }

    /// The sign and the digits of a value, filled up to the width.
    fn pad(self, value: f64, is_negative: bool, digits: &str) -> String {
        let sign = match (is_negative, self.flag) {
            (true, _) => "-",
            (false, Some('+')) => "+",
            (false, Some(' ')) => " ",
            (false, _) => "",
        };
        let missing = self.width.saturating_sub(sign.len() + digits.len());
        match self.flag {
            Some('-') => format!("{sign}{digits}{}", " ".repeat(missing)),
            Some('0') if value.is_finite() => format!("{sign}{}{digits}", "0".repeat(missing)),
            _ => format!("{}{sign}{digits}", " ".repeat(missing)),
        }
    }
}

/// At most [`WIDTH_MAX`].
fn digits(text: &str) -> (usize, &str) {
    let length = text.len() - text.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
    let number = text[..length].parse().unwrap_or(if length == 0 { 0 } else { WIDTH_MAX });
    (number.min(WIDTH_MAX), &text[length..])
}

/// A value as tables have it, `1.2345678901e+03`; an unknown one as `nan`.
pub fn table_number(value: f64) -> String {
    let mut text = String::new();
    push_table_number(&mut text, value);
    text
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
