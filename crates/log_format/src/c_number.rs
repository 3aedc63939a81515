//! Numbers as printf writes them: what C's `%e`, `%f`, `%g` and `%a` make of a float, and `%d`, `%u`,
//! `%x` and `%o` of an integer.  Widths are the caller's.
//!
//! As of C11, 7.21.6.1, and of glibc where that leaves a choice (`-nan`, the first digit of `%a`).

use std::io::Write as _;

/// How a number is to be written.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CSpec {
    /// `d`, `i`, `u`, `x`, `X`, `o`, `e`, `E`, `f`, `F`, `g`, `G`, `a` or `A`.
    pub(crate) letter: u8,
    pub(crate) precision: Option<usize>,
    pub(crate) plus: bool,
    pub(crate) space: bool,
    pub(crate) alternate: bool,
    /// Bits of the type that an integer's length modifier names; 32 without one.
    pub(crate) length_bits: u8,
}

impl CSpec {
    pub(crate) fn put_sign(&self, out: &mut Vec<u8>, is_negative: bool) {
        if is_negative {
            out.push(b'-');
        } else if self.plus {
            out.push(b'+');
        } else if self.space {
            out.push(b' ');
        }
    }
}

/// The number that C takes an integer for, by its length modifier: one that is narrower than the
/// modifier's type cannot show, one that is wider loses its upper bits.
///
/// Without a modifier C leaves undefined what becomes of a number that is wider than an `int`: it is
/// shown whole.
pub(crate) fn as_c_sees(number: i128, spec: &CSpec) -> i128 {
    let is_signed = matches!(spec.letter, b'd' | b'i');
    let is_int = (i128::from(i32::MIN)..=i128::from(u32::MAX)).contains(&number);
    match (spec.length_bits, is_signed) {
        (8, true) => i128::from(number as i8),
        (8, false) => i128::from(number as u8),
        (16, true) => i128::from(number as i16),
        (16, false) => i128::from(number as u16),
        (32, true) if is_int => i128::from(number as i32),
        (32, false) if is_int => i128::from(number as u32),
        (_, true) => i128::from(number as i64),
        (_, false) => i128::from(number as u64),
    }
}

/// Appends an integer.
pub(crate) fn put_c_integer(out: &mut Vec<u8>, number: i128, spec: &CSpec) {
    let number = as_c_sees(number, spec);
    let bits = number as u64;
    if !matches!(spec.letter, b'x' | b'X' | b'o' | b'u') {
        spec.put_sign(out, number < 0);
    }
    if spec.alternate && bits != 0 {
        match spec.letter {
            b'x' => out.extend_from_slice(b"0x"),
            b'X' => out.extend_from_slice(b"0X"),
            _ => {}
        }
    }
    let start = out.len();
    let _ = match spec.letter {
        b'x' => write!(out, "{bits:x}"),
        b'X' => write!(out, "{bits:X}"),
        b'o' => write!(out, "{bits:o}"),
        b'u' => write!(out, "{bits}"),
        _ => write!(out, "{}", number.unsigned_abs()),
    };
    if number == 0 && spec.precision == Some(0) {
        out.truncate(start);
    }
    let digits = out.len() - start;
    let mut least = spec.precision.unwrap_or(1);
    if spec.letter == b'o' && spec.alternate && out.get(start) != Some(&b'0') {
        least = least.max(digits + 1);
    }
    out.splice(start..start, std::iter::repeat_n(b'0', least.saturating_sub(digits)));
}

/// Appends a float; whether it is one that zeros may be put in front of.
pub(crate) fn put_c_float(out: &mut Vec<u8>, number: f64, spec: &CSpec) -> bool {
    spec.put_sign(out, number.is_sign_negative());
    let start = out.len();
    let number = number.abs();
    if number.is_finite() {
        match spec.letter {
            b'e' | b'E' => put_exponent(out, number, spec.precision.unwrap_or(6), spec.alternate),
            b'g' | b'G' => put_general(out, number, spec.precision.unwrap_or(6), spec.alternate),
            b'a' | b'A' => put_hexadecimal(out, number, spec),
            _ => put_fixed(out, number, spec.precision.unwrap_or(6), spec.alternate),
        }
    } else {
        out.extend_from_slice(if number.is_nan() { b"nan" } else { b"inf" });
    }
    if spec.letter.is_ascii_uppercase() {
        out[start..].make_ascii_uppercase();
    }
    number.is_finite()
}

fn put_fixed(out: &mut Vec<u8>, number: f64, precision: usize, has_point: bool) {
    let _ = write!(out, "{number:.precision$}");
    if has_point && precision == 0 {
        out.push(b'.');
    }
}

/// `%e`: at least two digits of exponent.
fn put_exponent(out: &mut Vec<u8>, number: f64, precision: usize, has_point: bool) {
    let text = format!("{number:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let point = if has_point && precision == 0 { "." } else { "" };
    let sign = if exponent < 0 { '-' } else { '+' };
    let _ = write!(out, "{digits}{point}e{sign}{:02}", exponent.unsigned_abs());
}

/// `%g`: `%e` or `%f`, by the exponent, without zeros at the end.
fn put_general(out: &mut Vec<u8>, number: f64, precision: usize, keeps_zeros: bool) {
    let precision = precision.max(1);
    let rounded = format!("{number:.*e}", precision - 1);
    let exponent: i64 = rounded.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    let start = out.len();
    let digits = precision as i64 - 1 - exponent;
    match usize::try_from(digits) {
        Ok(digits) if exponent >= -4 => put_fixed(out, number, digits, keeps_zeros),
        _ => put_exponent(out, number, precision - 1, keeps_zeros),
    }
    if !keeps_zeros {
        trim_zeros(out, start);
    }
}

/// Removes zeros behind a point, before an exponent.
fn trim_zeros(out: &mut Vec<u8>, start: usize) {
    let text = &out[start..];
    let Some(point) = text.iter().position(|byte| *byte == b'.') else { return };
    let end = text.iter().position(|byte| *byte == b'e').unwrap_or(text.len());
    let mut keep = end;
    while keep > point + 1 && text[keep - 1] == b'0' {
        keep -= 1;
    }
    if keep == point + 1 {
        keep = point;
    }
    out.drain(start + keep..start + end);
}

/// Hexadecimal digits of a double behind the point.
const HEX_DIGITS: usize = 13;

/// `%a`: the bits of the mantissa, and the exponent of two.
fn put_hexadecimal(out: &mut Vec<u8>, number: f64, spec: &CSpec) {
    let bits = number.to_bits();
    let (field, mut mantissa) = ((bits >> 52) & 0x7FF, bits & ((1 << 52) - 1));
    let exponent = match field {
        0 if mantissa == 0 => 0,
        0 => -1022,
        field => field as i64 - 1023,
    };
    mantissa |= u64::from(field != 0) << 52;
    let digits = match spec.precision {
        Some(precision) if precision < HEX_DIGITS => {
            // To the nearest, and of two as near to the even one.
            let shift = 4 * (HEX_DIGITS - precision);
            let (rest, half) = (mantissa & ((1 << shift) - 1), 1_u64 << (shift - 1));
            let kept = mantissa >> shift;
            let is_up = rest > half || (rest == half && kept & 1 == 1);
            mantissa = (kept + u64::from(is_up)) << shift;
            precision
        }
        Some(_) => HEX_DIGITS,
        None => {
            let zeros = (mantissa & ((1 << 52) - 1)).trailing_zeros().min(52) as usize / 4;
            HEX_DIGITS - zeros
        }
    };
    let _ = write!(out, "0x{:x}", mantissa >> 52);
    let wanted = spec.precision.unwrap_or(digits);
    if wanted > 0 || spec.alternate {
        out.push(b'.');
    }
    let fraction = format!("{:013x}", mantissa & ((1 << 52) - 1));
    out.extend_from_slice(&fraction.as_bytes()[..digits]);
    out.extend(std::iter::repeat_n(b'0', wanted - digits));
    let _ = write!(out, "p{exponent:+}");
}
