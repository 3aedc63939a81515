//! Exact decimal numbers: an integer and a power of ten.
//!
//! Sums, differences and products are exact; a quotient has 40 digits, as with Perl's
//! Math::BigFloat, which MRTG computes with.

mod arithmetic;

use std::fmt;

pub use arithmetic::ArithmeticError;
use num_bigint::{BigInt, Sign};
use num_traits::{Signed as _, ToPrimitive as _, Zero as _};

/// Longest text that is read as a number, in bytes.
const TEXT_MAX: usize = 400;
/// Greatest power of ten, either way.
const EXPONENT_MAX: i64 = 1_000;

/// A decimal number: `digits` × 10^`exponent`, with no zeroes at the end of the digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Decimal {
    digits: BigInt,
    exponent: i64,
}

impl Decimal {
    /// 0.
    pub fn zero() -> Self {
        Decimal { digits: BigInt::zero(), exponent: 0 }
    }

    /// Digits and a power of ten.
    pub(crate) fn new(digits: BigInt, exponent: i64) -> Self {
        let mut number = Decimal { digits, exponent };
        number.normalize();
        number
    }

    fn normalize(&mut self) {
        if self.digits.is_zero() {
            self.exponent = 0;
            return;
        }
        if let Some(mut small) = self.digits.to_i64() {
            let mut zeroes = 0;
            while small % 10 == 0 {
                small /= 10;
                zeroes += 1;
            }
            if zeroes > 0 {
                self.digits = BigInt::from(small);
                self.exponent += zeroes;
            }
            return;
        }
        let text = self.digits.magnitude().to_str_radix(10);
        let zeroes = text.len() - text.trim_end_matches('0').len();
        if zeroes > 0 {
            self.digits = &self.digits / power_of_ten(zeroes);
            self.exponent += zeroes as i64;
        }
    }

    /// Reads `12`, `-1.5`, `+.5`, `1e3`; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > TEXT_MAX {
            return None;
        }
        let (sign, rest) = match text.as_bytes().first()? {
            b'-' => (Sign::Minus, &text[1..]),
            b'+' => (Sign::Plus, &text[1..]),
            _ => (Sign::Plus, text),
        };
        let (mantissa, exponent) = match rest.find(['e', 'E']) {
            None => (rest, 0),
            Some(at) => (&rest[..at], rest[at + 1..].parse::<i64>().ok()?),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = [whole, fraction].concat();
        if all.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let digits = BigInt::parse_bytes(all.as_bytes(), 10)?;
        let digits = if sign == Sign::Minus { -digits } else { digits };
        let exponent = exponent.checked_sub(fraction.len() as i64)?;
        (exponent.abs() <= EXPONENT_MAX || digits.is_zero()).then(|| Decimal::new(digits, exponent))
    }

    /// Whether the number is 0.
    pub fn is_zero(&self) -> bool {
        self.digits.is_zero()
    }

    /// Whether the number is below 0.
    pub fn is_negative(&self) -> bool {
        self.digits.is_negative()
    }

    /// Whether the number is an integer.
    pub(crate) fn is_whole(&self) -> bool {
        self.exponent >= 0
    }

    /// Whether its text surely has less than 100 characters.
    pub(crate) fn is_short(&self) -> bool {
        self.digits.bits() <= 128 && self.exponent.abs() <= 50
    }

    /// The nearest integer, of two equally near ones the even one.
    #[must_use]
    pub fn rounded(&self) -> Self {
        if self.exponent >= 0 {
            return self.clone();
        }
        let divisor = power_of_ten(usize::try_from(-self.exponent).unwrap_or(0));
        let (mut quotient, remainder) = num_integer::Integer::div_rem(&self.digits, &divisor);
        let twice: BigInt = remainder.abs() * 2;
        let is_odd = num_integer::Integer::is_odd(&quotient);
        if twice > divisor || (twice == divisor && is_odd) {
            quotient += if self.digits.is_negative() { -1 } else { 1 };
        }
        Decimal::new(quotient, 0)
    }

    /// The nearest `f64`.
    pub fn to_f64(&self) -> f64 {
        format!("{}e{}", self.digits, self.exponent).parse().unwrap_or(f64::NAN)
    }

    /// The number as an integer, if it is one and fits.
    pub fn to_i128(&self) -> Option<i128> {
        let exponent = usize::try_from(self.exponent).ok()?;
        if exponent > 40 {
            return None;
        }
        (&self.digits * power_of_ten(exponent)).to_i128()
    }
}

impl From<u64> for Decimal {
    fn from(value: u64) -> Self {
        Decimal::new(BigInt::from(value), 0)
    }
}

impl From<i128> for Decimal {
    fn from(value: i128) -> Self {
        Decimal::new(BigInt::from(value), 0)
    }
}

/// All digits, without an exponent.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (0, Some(small)) = (self.exponent, self.digits.to_i64()) {
            return write!(f, "{small}");
        }
        let sign = if self.digits.is_negative() { "-" } else { "" };
        let mut text = self.digits.magnitude().to_str_radix(10);
        if let Ok(zeroes) = usize::try_from(self.exponent) {
            text.extend(std::iter::repeat_n('0', zeroes));
            return write!(f, "{sign}{text}");
        }
        let places = usize::try_from(-self.exponent).unwrap_or(0);
        if text.len() <= places {
            text.insert_str(0, &"0".repeat(places + 1 - text.len()));
        }
        let point = text.len() - places;
        write!(f, "{sign}{}.{}", &text[..point], &text[point..])
    }
}

fn power_of_ten(exponent: usize) -> BigInt {
    BigInt::from(10u32).pow(u32::try_from(exponent).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_and_written() {
        for (text, shown, rounded) in [
            ("12", "12", "12"),
            ("-1.50", "-1.5", "-2"),
            ("+.5", "0.5", "0"),
            ("2.5", "2.5", "2"),
            ("1e3", "1000", "1000"),
            ("18446744073709551615.75", "18446744073709551615.75", "18446744073709551616"),
            ("0.0001", "0.0001", "0"),
            ("-0", "0", "0"),
        ] {
            let number = Decimal::parse(text).expect("a number");
            assert_eq!(number.to_string(), shown, "{text}");
            assert_eq!(number.rounded().to_string(), rounded, "{text}");
        }
        for text in ["", "-", ".", "1e", "12x", "1e2000", "0x10", "1_0", "١"] {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
    }
}
