//! Durations as text: RRDtool's `strfduration`; and dashes for a time that there is not.

use std::fmt::Write as _;

/// Widest field; C has no limit.
const WIDTH_MAX: usize = 1000;

/// A format of `strftime` with dashes for the time that there is not.
pub(crate) fn dashes(format: &str) -> String {
    let mut text = String::new();
    let mut characters = format.chars();
    while let Some(character) = characters.next() {
        if character != '%' {
            text.push(character);
            continue;
        }
        text.push_str(match characters.next() {
            Some('n') => "\n",
            Some('t') => "\t",
            Some('%') => "%",
            Some('E' | 'O') => {
                characters.next();
                "-"
            }
            Some('D') => "--/--/--",
            Some('F') => "----------",
            Some('R') => "--:--",
            Some('T') => "--:--:--",
            Some('G' | 'Y') => "----",
            Some('j') => "---",
            Some('C' | 'd' | 'g' | 'H' | 'I' | 'm' | 'M' | 'S' | 'U' | 'V' | 'W' | 'y') => "--",
            _ => "-",
        });
    }
    text
}

/// A format that is none of a duration.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("Wrong duration format")]
pub struct DurationFormat;

/// A duration as text.  The value is in milliseconds, as RRDtool has it.
///
/// # Errors
/// An unknown conversion, or none after a `%`.
pub(crate) fn strfduration(format: &str, milliseconds: f64) -> Result<String, DurationFormat> {
    const SECOND: f64 = 1000.0;
    const MINUTE: f64 = 60.0 * SECOND;
    const HOUR: f64 = 60.0 * MINUTE;
    const DAY: f64 = 24.0 * HOUR;
    const WEEK: f64 = 7.0 * DAY;
    let format = if format.is_empty() { "%H:%02m:%02s" } else { format };
    let total = milliseconds.abs();
    let within = |unit: f64| total - (total / unit).trunc() * unit;
    let mut text = String::new();
    if milliseconds < 0.0 {
        text.push('-');
    }
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        text.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let is_zero_padded = rest.starts_with('0');
        let width = take_digits(&mut rest).unwrap_or(0).min(WIDTH_MAX);
        let precision = match rest.strip_prefix('.') {
            Some(after) => {
                rest = after;
                take_digits(&mut rest).unwrap_or(0).min(WIDTH_MAX)
            }
            None => 0,
        };
        let conversion = rest.chars().next().ok_or(DurationFormat)?;
        rest = &rest[conversion.len_utf8()..];
        let value = match conversion {
            '%' => {
                text.push('%');
                continue;
            }
            'W' => total / WEEK,
            'd' => within(WEEK) / DAY,
            'D' => total / DAY,
            'h' => within(DAY) / HOUR,
            'H' => total / HOUR,
            'm' => within(HOUR) / MINUTE,
            'M' => total / MINUTE,
            's' => within(MINUTE) / SECOND,
            'S' => total / SECOND,
            'f' => within(SECOND),
            _ => return Err(DurationFormat),
        };
        let scale = 10_f64.powi(i32::try_from(precision).unwrap_or(0));
        let scaled = (value * scale).trunc() / scale;
        let value = if scaled.is_finite() { scaled } else { value };
        let _ = match is_zero_padded {
            true => write!(text, "{value:0width$.precision$}"),
            false => write!(text, "{value:width$.precision$}"),
        };
    }
    text.push_str(rest);
    Ok(text)
}

fn take_digits(rest: &mut &str) -> Option<usize> {
    let digits = rest.len() - rest.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
    let number = rest[..digits].parse().ok();
    *rest = &rest[digits..];
    number
}
