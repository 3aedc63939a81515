//! Numbers as text, appended to bytes: plain integers are most of what is logged.

use std::io::Write as _;

const PAIRS: &[u8; 200] = b"0001020304050607080910111213141516171819\
2021222324252627282930313233343536373839\
4041424344454647484950515253545556575859\
6061626364656667686970717273747576777879\
8081828384858687888990919293949596979899";

/// Appends a decimal number.
#[inline]
pub(crate) fn put_unsigned(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    while number >= 100 {
        let pair = (number % 100) as usize * 2;
        number /= 100;
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    }
    if number >= 10 {
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[number as usize * 2..number as usize * 2 + 2]);
    } else {
        at -= 1;
        digits[at] = b'0' + number as u8;
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends a decimal number with its sign, if it is negative.
#[inline]
pub(crate) fn put_signed(out: &mut Vec<u8>, number: i64) {
    if number < 0 {
        out.push(b'-');
    }
    put_unsigned(out, number.unsigned_abs());
}

/// Appends exactly `width` digits, at most 20: the lowest ones.
#[inline]
pub(crate) fn put_padded(out: &mut Vec<u8>, mut number: u64, width: usize) {
    let mut digits = [b'0'; 20];
    let width = width.min(digits.len());
    let mut at = digits.len();
    let start = at - width;
    while at >= start + 2 {
        let pair = (number % 100) as usize * 2;
        number /= 100;
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    }
    if at > start {
        digits[start] = b'0' + (number % 10) as u8;
    }
    out.extend_from_slice(&digits[start..]);
}

/// Thousandths that a float may be to be written as an integer and three digits: 15 digits in all,
/// of which no two decimal numbers are the same float.
const THOUSANDTHS_MAX: f64 = 1e15;

/// Appends a float as Rust writes it: the shortest text that reads as the same number.
///
/// A number of three decimals or less, as most are, is written without a search for the shortest
/// text: a decimal number of 15 digits that rounds to the float is the only one, so it is the shortest
/// once zeros at its end are left out.
#[inline]
pub(crate) fn put_float(out: &mut Vec<u8>, number: f64) {
    let thousandths = (number * 1000.0).round();
    if thousandths.abs() < THOUSANDTHS_MAX && thousandths / 1000.0 == number && number != 0.0 {
        if number < 0.0 {
            out.push(b'-');
        }
        let thousandths = thousandths.abs() as u64;
        put_unsigned(out, thousandths / 1000);
        let fraction = thousandths % 1000;
        if fraction > 0 {
            let at = fraction as usize / 10 * 2;
            let digits = [b'.', PAIRS[at], PAIRS[at + 1], b'0' + (fraction % 10) as u8];
            let zeros = digits.iter().rev().take_while(|digit| **digit == b'0').count();
            out.extend_from_slice(&digits[..digits.len() - zeros]);
        }
        return;
    }
    // Writing to a vector cannot fail.
    let _ = write!(out, "{number}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_those_of_the_standard_library() {
        for number in [0, 1, 9, 10, 99, 100, 101, 12345, u64::MAX, 1 << 40, 999_999_999] {
            let mut out = Vec::new();
            put_unsigned(&mut out, number);
            assert_eq!(out, number.to_string().as_bytes());
            out.clear();
            put_signed(&mut out, number as i64);
            assert_eq!(out, (number as i64).to_string().as_bytes());
        }
        let mut out = Vec::new();
        put_padded(&mut out, 42, 6);
        assert_eq!(out, b"000042");
        for (number, width) in [(123_456_789, 9), (7, 1), (1234, 3), (0, 0), (5, 4), (u64::MAX, 20)]
        {
            out.clear();
            put_padded(&mut out, number, width);
            let text = format!("{number:0>20}");
            assert_eq!(out, &text.as_bytes()[20 - width..]);
        }
    }

    #[test]
    fn floats_are_those_of_the_standard_library() {
        let mut random = testkit::Random::from_seed(11);
        let mut out = Vec::new();
        let mut check = |number: f64| {
            out.clear();
            put_float(&mut out, number);
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
