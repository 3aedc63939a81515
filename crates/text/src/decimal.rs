//! Floats with few decimals, written quickly: most numbers that are shown or logged.
//!
//! An integer costs about 5 ns and a number with two decimals about 15 ns, where the standard
//! library's exact conversion costs 60 ns and more.  What the quick way cannot decide goes the exact
//! way, so the digits are the same.

use crate::TextOutput;
use crate::integer::{push_i64, push_padded, push_u64, put_pair};

/// Appends `%d` of a double: truncated towards zero; a value beyond `i64` becomes its nearest limit.
#[inline]
pub fn push_whole(out: &mut impl TextOutput, value: f64) {
    push_i64(out, value as i64);
}

/// Appends `%.{digits}f`: the decimal nearest to the double's exact value; of two equally near ones
/// the even one.
#[inline]
pub fn push_fixed(out: &mut impl TextOutput, value: f64, digits: u8) {
    const LARGEST: f64 = 1e9;
    let size = value.abs();
    if size.is_nan() || size > LARGEST || digits > 3 {
        return push_fixed_slowly(out, value, digits);
    }
    let power: u64 = [1, 10, 100, 1000][usize::from(digits)];
    let scaled = size * power as f64;
    let whole = scaled.round_ties_even();
    // `scaled` is a rounded product; the rounding can change the last digit only near a tie.
    // Without decimals there is no product.
    if digits > 0 && ((scaled - scaled.floor()) - 0.5).abs() < 1e-5 {
        return push_fixed_slowly(out, value, digits);
    }
    if value.is_sign_negative() {
        out.push_ascii(b"-");
    }
    let whole = whole as u64;
    push_u64(out, whole / power);
    if digits > 0 {
        out.push_ascii(b".");
        push_padded(out, whole % power, usize::from(digits));
    }
}

#[cold]
fn push_fixed_slowly(out: &mut impl TextOutput, value: f64, digits: u8) {
    out.push_formatted(format_args!("{value:.*}", usize::from(digits)));
}

/// Thousandths that a float may be to be written as an integer and three digits: 15 digits in all,
/// of which no two decimal numbers are the same float.
const THOUSANDTHS_MAX: f64 = 1e15;

/// Sizes that `zmij` writes without an exponent, as Rust writes all.
const PLAIN_SIZES: std::ops::Range<f64> = 1e-4..1e15;

/// Appends a float as Rust writes it: the shortest text that reads as the same number.
///
/// A number of three decimals or less, as most are, is written without a search for the shortest
/// text: a decimal number of 15 digits that rounds to the float is the only one, so it is the
/// shortest once zeros at its end are left out.  The crate `zmij` finds that of others.
#[inline]
pub fn push_shortest(out: &mut impl TextOutput, number: f64) {
    let thousandths = (number * 1000.0).round();
    if thousandths.abs() < THOUSANDTHS_MAX && thousandths / 1000.0 == number && number != 0.0 {
        if number < 0.0 {
            out.push_ascii(b"-");
        }
        let thousandths = thousandths.abs() as u64;
        push_u64(out, thousandths / 1000);
        let fraction = (thousandths % 1000) as u32;
        if fraction > 0 {
            let mut digits = [b'.', 0, 0, b'0' + (fraction % 10) as u8];
            put_pair(&mut digits[1..3], fraction / 10);
            let zeros = digits.iter().rev().take_while(|digit| **digit == b'0').count();
            out.push_ascii(&digits[..digits.len() - zeros]);
        }
        return;
    }
    if !PLAIN_SIZES.contains(&number.abs()) {
        return push_shortest_slowly(out, number);
    }
    let mut digits = zmij::Buffer::new();
    let digits = digits.format_finite(number);
    out.push_ascii(digits.strip_suffix(".0").unwrap_or(digits).as_bytes());
}

fn push_shortest_slowly(out: &mut impl TextOutput, number: f64) {
    if number.to_bits() == 0 {
        return out.push_ascii(b"0");
    }
    out.push_formatted(format_args!("{number}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(push: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        push(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn printf_of_whole_and_fixed() {
        let whole = |value| text(|out| push_whole(out, value));
        assert_eq!(whole(4.999_999), "4");
        assert_eq!(whole(-4.9), "-4");
        assert_eq!(whole(-0.3), "0");
        let fixed = |value, digits| text(|out| push_fixed(out, value, digits));
        assert_eq!(fixed(0.5, 0), "0");
        assert_eq!(fixed(1.5, 0), "2");
        assert_eq!(fixed(2.5, 0), "2");
        assert_eq!(fixed(-0.3, 0), "-0");
        assert_eq!(fixed(0.125, 2), "0.12");
        assert_eq!(fixed(0.375, 2), "0.38");
        assert_eq!(fixed(1.005, 2), "1.00");
        assert_eq!(fixed(12.0, 2), "12.00");
        assert_eq!(fixed(9.999, 2), "10.00");
        assert_eq!(fixed(3e11, 1), "300000000000.0");
    }

    #[test]
    fn fast_and_slow_ways_agree() {
        // Miri takes minutes with small steps.
        let step = if cfg!(miri) { 1.37 } else { 1.003_7 };
        let mut value = 0.000_1;
        while value < 1e9 {
            for digits in 0..=3 {
                let slow = text(|out| push_fixed_slowly(out, value, digits));
                assert_eq!(text(|out| push_fixed(out, value, digits)), slow);
            }
            value *= step;
        }
    }

    #[test]
    fn floats_are_those_of_the_standard_library() {
        let mut random = testkit::Random::from_seed(11);
        let mut out = Vec::new();
        let mut check = |number: f64| {
            out.clear();
            push_shortest(&mut out, number);
            assert_eq!(out, number.to_string().as_bytes(), "{:#x}", number.to_bits());
        };
        for number in [0.0, -0.0, 0.1, 0.3, 1.0, 0.5, 1.005, 2.675, 1e15, 1e12, 999_999_999_999.999]
        {
            check(number);
            check(-number);
        }
        for special in [f64::NAN, f64::INFINITY, f64::MIN_POSITIVE, f64::MAX, f64::EPSILON] {
            check(special);
        }
        for _ in 0..200_000 {
            let thousandths = random.below(1 << 50) >> random.below(50);
            let near = thousandths as f64 / 1000.0;
            check(near);
            check(-near);
            // The floats beside it are no decimals of three digits.
            check(f64::from_bits(near.to_bits() + 1));
            check(f64::from_bits(random.below(u64::MAX)));
            check(thousandths as f64 / 100_000.0);
        }
    }
}
