//! Values as C++'s `{}` writes them: what `std::format` and {fmt} agree on, and {fmt}'s choice where
//! they do not (`1e+16` begins the exponents, `{:a}` has its `0x`).  Widths are the caller's.

use std::io::Write as _;

use text::c_number::CConversion;

/// Columns that a character takes: two for those that the C++ standard calls wide.
pub(crate) fn columns(c: char) -> usize {
    let is_wide = matches!(u32::from(c),
        0x1100..=0x115F | 0x2329..=0x232A | 0x2E80..=0x303E | 0x3040..=0xA4CF | 0xAC00..=0xD7A3
        | 0xF900..=0xFAFF | 0xFE10..=0xFE19 | 0xFE30..=0xFE6F | 0xFF00..=0xFF60
        | 0xFFE0..=0xFFE6 | 0x1_F300..=0x1_F64F | 0x1_F900..=0x1_F9FF | 0x2_0000..=0x2_FFFD
        | 0x3_0000..=0x3_FFFD);
    1 + usize::from(is_wide)
}

/// The beginning of a text that takes no more than so many columns.
pub(crate) fn cut(text: &str, most: usize) -> &str {
    let mut left = most;
    let end = text.char_indices().find(|(_, c)| match left.checked_sub(columns(*c)) {
        Some(rest) => {
            left = rest;
            false
        }
        None => true,
    });
    &text[..end.map_or(text.len(), |(at, _)| at)]
}

/// Appends an integer: bases other than ten show sign and size, not the bits.
pub(crate) fn put_cpp_integer(out: &mut Vec<u8>, number: i128, spec: &CConversion) {
    spec.push_sign(out, number < 0);
    let size = number.unsigned_abs();
    if spec.alternate {
        match spec.letter {
            b'o' if size != 0 => out.push(b'0'),
            b'x' | b'X' | b'b' | b'B' => out.extend_from_slice(&[b'0', spec.letter]),
            _ => {}
        }
    }
    let _ = match spec.letter {
        b'x' => write!(out, "{size:x}"),
        b'X' => write!(out, "{size:X}"),
        b'o' => write!(out, "{size:o}"),
        b'b' | b'B' => write!(out, "{size:b}"),
        _ => write!(out, "{size}"),
    };
}

/// Appends a float; whether it is one that zeros may be put in front of.
pub(crate) fn put_cpp_float(
    out: &mut Vec<u8>,
    number: f64,
    is_of_32_bits: bool,
    spec: &CConversion,
) -> bool {
    let is_special = b"eEfFgGaA".contains(&spec.letter);
    if is_special || spec.precision.is_some() || !number.is_finite() {
        let letter = if is_special { spec.letter } else { b'g' };
        return CConversion { letter, ..*spec }.push_float(out, number);
    }
    // The fewest digits that say which float it is.
    spec.push_sign(out, number.is_sign_negative());
    let number = number.abs();
    let shortest = match is_of_32_bits {
        true => format!("{:e}", number as f32),
        false => format!("{number:e}"),
    };
    let (digits, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        let start = out.len();
        let _ = match is_of_32_bits {
            true => write!(out, "{}", number as f32),
            false => write!(out, "{number}"),
        };
        if spec.alternate && !out[start..].contains(&b'.') {
            out.extend_from_slice(b".0");
        }
        return true;
    }
    let point = if spec.alternate && !digits.contains('.') { "." } else { "" };
    let sign = if exponent < 0 { '-' } else { '+' };
    let _ = write!(out, "{digits}{point}e{sign}{:02}", exponent.unsigned_abs());
    true
}
