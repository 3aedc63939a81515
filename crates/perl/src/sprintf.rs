//! `sprintf`: the formats of printf(3) for numbers and texts.

use super::fault::PerlFault;
use super::number::{general, scientific};
use super::value::Value;

/// The format of one value: `%-08.3f`.
#[derive(Default)]
struct Format {
    left: bool,
    plus: bool,
    blank: bool,
    zeros: bool,
    other_form: bool,
    width: usize,
    precision: Option<usize>,
}

/// Formats the values by the first, which is the format string.
pub(crate) fn sprintf(values: &[Value], text_bytes_max: usize) -> Result<Vec<u8>, PerlFault> {
    let Some((format, mut values)) = values.split_first() else { return Ok(Vec::new()) };
    let format = format.clone().into_text();
    let mut rest = format.as_slice();
    let mut out = Vec::new();
    while let Some(place) = memchr::memchr(b'%', rest) {
        out.extend_from_slice(&rest[..place]);
        rest = &rest[place + 1..];
        let (length, how) = read(rest, text_bytes_max)?;
        let Some(letter) = rest.get(length).copied() else {
            return Err(PerlFault::new("has a format that ends after its `%`"));
        };
        rest = &rest[length + 1..];
        if letter == b'%' {
            out.push(b'%');
            continue;
        }
        let value = match values.split_first() {
            Some((value, others)) => {
                values = others;
                value.clone()
            }
            None => Value::Nothing,
        };
        one(letter, &how, value, &mut out)?;
    }
    out.extend_from_slice(rest);
    Ok(out)
}

/// Parses flags, width and precision, and skips sizes (`%ld`).
fn read(text: &[u8], text_bytes_max: usize) -> Result<(usize, Format), PerlFault> {
    let mut how = Format::default();
    let mut place = 0;
    loop {
        match text.get(place) {
            Some(b'-') => how.left = true,
            Some(b'+') => how.plus = true,
            Some(b' ') => how.blank = true,
            Some(b'0') => how.zeros = true,
            Some(b'#') => how.other_form = true,
            _ => break,
        }
        place += 1;
    }
    let number = |place: &mut usize| -> Result<usize, PerlFault> {
        let start = *place;
        while text.get(*place).is_some_and(u8::is_ascii_digit) {
            *place += 1;
        }
        let digits = std::str::from_utf8(&text[start..*place]).unwrap_or("");
        let value = if digits.is_empty() { Ok(0) } else { digits.parse() };
        value.ok().filter(|value| *value <= text_bytes_max).ok_or(PerlFault::TooLong)
    };
    how.width = number(&mut place)?;
    if text.get(place) == Some(&b'.') {
        place += 1;
        how.precision = Some(number(&mut place)?);
    }
    while matches!(text.get(place), Some(b'l' | b'h' | b'q')) {
        place += 1;
    }
    Ok((place, how))
}

/// Most digits after the decimal point: more than any 64-bit number has.
const DIGITS_MAX: usize = 400;

fn one(letter: u8, how: &Format, value: Value, out: &mut Vec<u8>) -> Result<(), PerlFault> {
    let digits = how.precision.unwrap_or(6).min(DIGITS_MAX);
    let number = value.number();
    let body = match letter {
        b's' | b'c' => {
            let mut text = match letter {
                b's' => value.into_text(),
                _ => vec![u8::try_from(number.as_i64()).unwrap_or(b'?')],
            };
            text.truncate(how.precision.unwrap_or(usize::MAX));
            pad(&text, how, false, out);
            return Ok(());
        }
        b'd' | b'i' => number.as_i64().to_string(),
        b'u' => (number.as_i64() as u64).to_string(),
        b'x' => format!("{:x}", number.as_i64()),
        b'X' => format!("{:X}", number.as_i64()),
        b'o' => format!("{:o}", number.as_i64()),
        b'b' => format!("{:b}", number.as_i64()),
        b'f' | b'F' => format!("{:.digits$}", number.as_f64()),
        b'e' => scientific(number.as_f64(), digits),
        b'E' => scientific(number.as_f64(), digits).to_uppercase(),
        b'g' => general(number.as_f64(), digits),
        b'G' => general(number.as_f64(), digits).to_uppercase(),
        other => {
            return Err(PerlFault::Failed(format!(
                "uses the unsupported format `%{}`",
                other as char
            )));
        }
    };
    let is_integer = !matches!(letter, b'f' | b'F' | b'e' | b'E' | b'g' | b'G');
    pad_number(&body, letter, is_integer, how, out);
    Ok(())
}

fn pad_number(body: &str, letter: u8, is_integer: bool, how: &Format, out: &mut Vec<u8>) {
    let (minus, digits) = match body.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", body),
    };
    let is_signed = matches!(letter, b'd' | b'i') || !is_integer;
    let sign = match minus {
        "" if is_signed && how.plus => "+",
        "" if is_signed && how.blank => " ",
        minus => minus,
    };
    let mark = match letter {
        _ if !how.other_form || digits == "0" => "",
        b'x' => "0x",
        b'X' => "0X",
        b'o' => "0",
        b'b' => "0b",
        _ => "",
    };
    let precision = if is_integer { how.precision.unwrap_or(0) } else { 0 };
    let zeros_for_width = how.zeros && !how.left && !(is_integer && how.precision.is_some());
    let taken = sign.len() + mark.len();
    let least = if zeros_for_width { how.width.saturating_sub(taken) } else { precision };
    let text = format!("{sign}{mark}{}{digits}", "0".repeat(least.saturating_sub(digits.len())));
    pad(text.as_bytes(), how, true, out);
}

fn pad(text: &[u8], how: &Format, is_number: bool, out: &mut Vec<u8>) {
    let missing = how.width.saturating_sub(text.len());
    let fill = if how.zeros && !is_number && !how.left { b'0' } else { b' ' };
    if !how.left {
        out.extend(std::iter::repeat_n(fill, missing));
    }
    out.extend_from_slice(text);
    if how.left {
        out.extend(std::iter::repeat_n(b' ', missing));
    }
}
