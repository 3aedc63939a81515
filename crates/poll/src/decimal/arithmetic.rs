//! Arithmetic on decimal numbers, with the results of Perl's Math::BigFloat 1.99.
//!
//! Sums, differences, products, remainders and whole powers are exact.  A quotient is cut after at
//! least 44 digits and then rounded to 40, half to even, which is what Math::BigFloat does.

use num_bigint::{BigInt, Sign};
use num_integer::Integer as _;
use num_traits::{One as _, Signed as _, ToPrimitive as _, Zero as _};

use super::{Decimal, power_of_ten};

/// Digits of a quotient and of a root.
const QUOTIENT_DIGITS: usize = 40;
/// Digits that are computed beyond those.
const GUARD_DIGITS: usize = 4;
/// Digits of any result; a target's value may have 190.
const DIGITS_MAX: usize = 4_096;

/// Why there is no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArithmeticError {
    /// Division by 0.
    #[error("division by 0")]
    DivisionByZero,
    /// A result of more digits than any value has.
    #[error("a result of more than {DIGITS_MAX} digits")]
    TooLong,
    /// The root of a number below 0.
    #[error("the root of a number below 0")]
    NegativeRoot,
    /// A power that is neither whole nor one half.
    #[error("a power that is neither a whole number nor 0.5")]
    FractionalPower,
}

type Result<T> = std::result::Result<T, ArithmeticError>;

impl Decimal {
    fn digit_count(&self) -> usize {
        self.digits.magnitude().to_str_radix(10).len()
    }

    fn checked(self) -> Result<Self> {
        let bits_max = DIGITS_MAX as u64 * 10 / 3;
        let is_short =
            self.digits.bits() <= bits_max && self.exponent.unsigned_abs() <= DIGITS_MAX as u64;
        if is_short { Ok(self) } else { Err(ArithmeticError::TooLong) }
    }

    /// Both numbers' digits for the smaller of their exponents.
    fn aligned(&self, other: &Self) -> (BigInt, BigInt, i64) {
        let exponent = self.exponent.min(other.exponent);
        let digits = |number: &Self| {
            let zeroes = usize::try_from(number.exponent - exponent).unwrap_or(0);
            &number.digits * power_of_ten(zeroes)
        };
        (digits(self), digits(other), exponent)
    }

    /// `self + other`.
    ///
    /// # Errors
    /// If the result is too long.
    pub fn plus(&self, other: &Self) -> Result<Self> {
        let (one, other, exponent) = self.aligned(other);
        Decimal::new(one + other, exponent).checked()
    }

    /// `self - other`.
    ///
    /// # Errors
    /// If the result is too long.
    pub fn minus(&self, other: &Self) -> Result<Self> {
        self.plus(&other.negated())
    }

    /// `-self`.
    #[must_use]
    pub fn negated(&self) -> Self {
        Decimal { digits: -&self.digits, exponent: self.exponent }
    }

    /// `self * other`.
    ///
    /// # Errors
    /// If the result is too long.
    pub fn times(&self, other: &Self) -> Result<Self> {
        Decimal::new(&self.digits * &other.digits, self.exponent + other.exponent).checked()
    }

    /// `self / other`, of 40 digits.
    ///
    /// # Errors
    /// If `other` is 0, or the result is too long.
    pub fn divided(&self, other: &Self) -> Result<Self> {
        if other.is_zero() {
            return Err(ArithmeticError::DivisionByZero);
        }
        if self.is_zero() {
            return Ok(Decimal::zero());
        }
        let (mine, theirs) = (self.digit_count(), other.digit_count());
        let scale = (QUOTIENT_DIGITS + GUARD_DIGITS).max(mine).max(theirs);
        let scale = scale + theirs.saturating_sub(mine);
        let quotient = &self.digits * power_of_ten(scale) / &other.digits;
        let exponent = self.exponent - other.exponent - scale as i64;
        Decimal::new(quotient, exponent).with_digits(QUOTIENT_DIGITS).checked()
    }

    /// Rounded to so many significant digits, half to even.
    fn with_digits(&self, count: usize) -> Self {
        let surplus = self.digit_count().saturating_sub(count);
        if surplus == 0 {
            return self.clone();
        }
        let shifted = Decimal { digits: self.digits.clone(), exponent: -(surplus as i64) };
        let rounded = shifted.rounded();
        Decimal::new(rounded.digits, rounded.exponent + self.exponent + surplus as i64)
    }

    /// The remainder, of the sign of `other`; of a division by 0, `self`.
    ///
    /// # Errors
    /// If the result is too long.
    pub fn remainder(&self, other: &Self) -> Result<Self> {
        if other.is_zero() {
            return Ok(self.clone());
        }
        let (one, other, exponent) = self.aligned(other);
        Decimal::new(one.mod_floor(&other), exponent).checked()
    }

    /// `self ** other`.
    ///
    /// # Errors
    /// If the power is no whole number (except 0.5), or the result is too long.
    pub fn power(&self, other: &Self) -> Result<Self> {
        if *other == Decimal::new(BigInt::from(5), -1) {
            return self.root();
        }
        if other.exponent < 0 {
            return Err(ArithmeticError::FractionalPower);
        }
        let is_odd = other.exponent == 0 && other.digits.is_odd();
        if other.is_zero() {
            return Ok(Decimal::from(1u64));
        }
        if self.is_zero() {
            let is_pole = other.is_negative();
            return if is_pole { Err(ArithmeticError::DivisionByZero) } else { Ok(self.clone()) };
        }
        if self.digits.magnitude().is_one() && self.exponent == 0 {
            return Ok(if is_odd { self.clone() } else { Decimal::from(1u64) });
        }
        let times = other.to_i128().and_then(|power| power.unsigned_abs().to_u32());
        let times = times.ok_or(ArithmeticError::TooLong)?;
        let bits = self.digits.bits().saturating_mul(u64::from(times));
        let exponent = self.exponent.saturating_mul(i64::from(times));
        if bits > DIGITS_MAX as u64 * 10 / 3 || exponent.unsigned_abs() > DIGITS_MAX as u64 {
            return Err(ArithmeticError::TooLong);
        }
        let result = Decimal::new(self.digits.pow(times), exponent).checked()?;
        if other.is_negative() { Decimal::from(1u64).divided(&result) } else { Ok(result) }
    }

    /// The square root, of 40 digits.
    ///
    /// # Errors
    /// If the number is below 0.
    pub fn root(&self) -> Result<Self> {
        if self.digits.sign() == Sign::Minus {
            return Err(ArithmeticError::NegativeRoot);
        }
        if self.is_zero() {
            return Ok(Decimal::zero());
        }
        let missing = (QUOTIENT_DIGITS + GUARD_DIGITS).saturating_sub(self.digit_count() / 2);
        let mut zeroes = 2 * missing;
        if (self.exponent - zeroes as i64).rem_euclid(2) == 1 {
            zeroes += 1;
        }
        let digits = (&self.digits * power_of_ten(zeroes)).sqrt();
        let exponent = (self.exponent - zeroes as i64) / 2;
        Ok(Decimal::new(digits, exponent).with_digits(QUOTIENT_DIGITS))
    }

    /// The number without the digits after its point.
    #[must_use]
    pub fn truncated(&self) -> Self {
        match usize::try_from(-self.exponent) {
            Ok(places) if places > 0 => Decimal::new(&self.digits / power_of_ten(places), 0),
            _ => self.clone(),
        }
    }

    /// The number without its sign.
    #[must_use]
    pub fn absolute(&self) -> Self {
        Decimal { digits: self.digits.abs(), exponent: self.exponent }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let (one, other, _) = self.aligned(other);
        one.cmp(&other)
    }
}

impl Decimal {
    /// The digits of a whole number in `0x`, `0b` and octal notation.
    pub(crate) fn parse_radix(digits: &str, radix: u32) -> Option<Self> {
        let is_digit = |c: char| c.is_digit(radix);
        if digits.is_empty() || digits.len() > 64 || !digits.chars().all(is_digit) {
            return None;
        }
        let digits = BigInt::parse_bytes(digits.as_bytes(), radix).unwrap_or_else(BigInt::zero);
        Some(Decimal::new(digits, 0))
    }
}
