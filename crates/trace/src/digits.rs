//! Numbers as text, appended to a line.  `write!` takes ten times as long, which each line would
//! pay several times.

/// `00` to `99`, one after the other.
static PAIRS: [u8; 200] = {
    let mut pairs = [0; 200];
    let mut number = 0;
    while number < 100 {
        pairs[2 * number] = b'0' + (number / 10) as u8;
        pairs[2 * number + 1] = b'0' + (number % 10) as u8;
        number += 1;
    }
    pairs
};

/// Digits of the largest number.
const DIGITS_MAX: usize = 20;

/// Writes the digits at the end of a buffer; returns the index of the first.
fn fill(mut value: u64, into: &mut [u8; DIGITS_MAX]) -> usize {
    let mut at = DIGITS_MAX;
    while value >= 100 {
        let pair = (value % 100) as usize * 2;
        value /= 100;
        at -= 2;
        into[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    }
    if value >= 10 {
        let pair = value as usize * 2;
        at -= 2;
        into[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    } else {
        at -= 1;
        into[at] = b'0' + value as u8;
    }
    at
}

/// Writes a number: `{value}`.
pub(crate) fn decimal(value: u64, out: &mut Vec<u8>) {
    let mut digits = [0; DIGITS_MAX];
    let at = fill(value, &mut digits);
    out.extend_from_slice(&digits[at..]);
}

/// Writes a number that may be below zero: `{value}`.
pub(crate) fn signed(value: i64, out: &mut Vec<u8>) {
    if value < 0 {
        out.push(b'-');
    }
    decimal(value.unsigned_abs(), out);
}

/// Writes a number with `filler` before it, to a width of at most 20 bytes: `{value:width$}`,
/// `{value:0width$}`.
pub(crate) fn padded(value: u64, width: usize, filler: u8, out: &mut Vec<u8>) {
    let mut digits = [filler; DIGITS_MAX];
    let at = fill(value, &mut digits).min(DIGITS_MAX - width.min(DIGITS_MAX));
    out.extend_from_slice(&digits[at..]);
}

/// Writes a number in hexadecimal: `{value:#x}`.
pub(crate) fn hex(value: u64, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let count = ((u64::BITS - value.leading_zeros()).div_ceil(4) as usize).max(1);
    let mut digits = [0; 18];
    digits[..2].copy_from_slice(b"0x");
    let mut rest = value;
    for digit in digits[2..2 + count].iter_mut().rev() {
        *digit = DIGITS[(rest & 15) as usize];
        rest >>= 4;
    }
    out.extend_from_slice(&digits[..2 + count]);
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(shown(|out| decimal(value, out)), format!("{value}"));
            assert_eq!(shown(|out| hex(value, out)), format!("{value:#x}"));
            for width in [0, 2, 5, 9, 20] {
                assert_eq!(shown(|out| padded(value, width, b' ', out)), format!("{value:width$}"));
                assert_eq!(
                    shown(|out| padded(value, width, b'0', out)),
                    format!("{value:0width$}")
                );
            }
            let number = value.cast_signed();
            for number in [number, number.wrapping_neg()] {
                assert_eq!(shown(|out| signed(number, out)), format!("{number}"));
            }
        }
    }
}
