//! Times and durations as text: C's `strftime` in the C locale, and RRDtool's `strfduration`.

use std::fmt::Write as _;

use time_words::CivilZone;

const DAY_S: i64 = 86_400;

const WEEKDAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Widest field; C has no limit.
const WIDTH_MAX: usize = 1000;

/// A time in fields.
struct Fields {
    time_s: i64,
    year: i64,
    /// From 0.
    month: i64,
    day: i64,
    second_of_day: i64,
    /// From 0.
    day_of_year: i64,
    /// From 0, Sunday.
    weekday: i64,
    offset_s: i64,
    abbreviation: String,
}

impl Fields {
    fn at(time_s: i64, zone: Option<&CivilZone>) -> Self {
        let offset_s = zone.map_or(0, |zone| zone.offset(time_s).0);
        let local_s = time_s.saturating_add(offset_s);
        let days = local_s.div_euclid(DAY_S);
        let mut year = 1970 + days.div_euclid(146_097) * 400;
        let mut rest = days.rem_euclid(146_097);
        while rest >= days_of_year(year) {
            rest -= days_of_year(year);
            year += 1;
        }
        let day_of_year = rest;
        let mut month = 0;
        while rest >= days_of_month(year, month) {
            rest -= days_of_month(year, month);
            month += 1;
        }
        Fields {
            time_s,
            year,
            month,
            day: rest + 1,
            second_of_day: local_s.rem_euclid(DAY_S),
            day_of_year,
            weekday: (days + 4).rem_euclid(7),
            offset_s,
            abbreviation: zone.map_or_else(|| "GMT".to_owned(), |zone| zone.abbreviation(time_s)),
        }
    }

    fn hour(&self) -> i64 {
        self.second_of_day / 3600
    }

    /// From 1 to 12.
    fn hour12(&self) -> i64 {
        (self.hour() + 11) % 12 + 1
    }

    /// The year and the number of the week that ISO 8601 counts the day to.
    fn iso_week(&self) -> (i64, i64) {
        let monday_based = (self.weekday + 6) % 7;
        let thursday = self.day_of_year - monday_based + 3;
        if thursday < 0 {
            let before = self.year - 1;
            return (before, (thursday + days_of_year(before)) / 7 + 1);
        }
        if thursday >= days_of_year(self.year) {
            return (self.year + 1, 1);
        }
        (self.year, thursday / 7 + 1)
    }
}

fn days_of_year(year: i64) -> i64 {
    if is_leap(year) { 366 } else { 365 }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_of_month(year: i64, month: i64) -> i64 {
    match month {
        1 => 28 + i64::from(is_leap(year)),
        3 | 5 | 8 | 10 => 30,
        _ => 31,
    }
}

/// A time as text, in a zone or in UTC.
pub(crate) fn strftime(format: &str, time_s: i64, zone: Option<&CivilZone>) -> String {
    let mut text = String::new();
    write_time(&mut text, format, &Fields::at(time_s, zone), 0);
    text
}

/// How a field is written.
#[derive(Clone, Copy, Default)]
struct Pad {
    /// `_`, `-` or `0`.
    character: Option<char>,
    is_upper: bool,
    is_swapped: bool,
    width: usize,
}

fn write_time(text: &mut String, format: &str, fields: &Fields, depth: u32) {
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        text.push_str(&rest[..at]);
        let field = &rest[at + 1..];
        let (pad, after) = pad(field);
        let after = after.strip_prefix(['E', 'O']).unwrap_or(after);
        let Some(conversion) = after.chars().next() else {
            text.push_str(&rest[at..]);
            return;
        };
        rest = &after[conversion.len_utf8()..];
        let written = &format[format.len() - field.len() - 1..format.len() - rest.len()];
        match convert(conversion, fields, pad, depth) {
            Some(field) => text.push_str(&field),
            None => text.push_str(written),
        }
    }
    text.push_str(rest);
}

/// Flags and width of a field.
fn pad(field: &str) -> (Pad, &str) {
    let mut pad = Pad::default();
    let mut rest = field;
    while let Some(flag) = rest.chars().next() {
        match flag {
            '_' | '-' | '0' => pad.character = Some(flag),
            '^' => pad.is_upper = true,
            '#' => pad.is_swapped = true,
            _ => break,
        }
        rest = &rest[1..];
    }
    let digits = rest.len() - rest.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
    pad.width = rest[..digits].parse().unwrap_or(0).min(WIDTH_MAX);
    (pad, &rest[digits..])
}

fn convert(conversion: char, fields: &Fields, pad: Pad, depth: u32) -> Option<String> {
    let number = |value: i64, width: usize, filler: char| Some(padded(value, width, filler, pad));
    let text = |text: &str| Some(worded(text, pad, false));
    let nested = |format: &str| {
        let mut written = String::new();
        // Formats nest once: what they contain does not nest.
        if depth < 2 {
            write_time(&mut written, format, fields, depth + 1);
        }
        Some(worded(&written, Pad { is_swapped: false, ..pad }, false))
    };
    let weekday = WEEKDAYS[fields.weekday as usize % 7];
    let month = MONTHS[fields.month as usize % 12];
    let half = if fields.hour() < 12 { "AM" } else { "PM" };
    let week_from =
        |first: i64| (fields.day_of_year - (fields.weekday - first).rem_euclid(7) + 7) / 7;
    match conversion {
        'a' => Some(worded(&weekday[..3], pad, true)),
        'A' => Some(worded(weekday, pad, true)),
        'b' | 'h' => Some(worded(&month[..3], pad, true)),
        'B' => Some(worded(month, pad, true)),
        'c' => nested("%a %b %e %H:%M:%S %Y"),
        'C' => number(fields.year.div_euclid(100), 2, '0'),
        'd' => number(fields.day, 2, '0'),
        'D' | 'x' => nested("%m/%d/%y"),
        'e' => number(fields.day, 2, ' '),
        'F' => nested("%Y-%m-%d"),
        'g' => number(fields.iso_week().0.rem_euclid(100), 2, '0'),
        'G' => number(fields.iso_week().0, 1, '0'),
        'H' => number(fields.hour(), 2, '0'),
        'I' => number(fields.hour12(), 2, '0'),
        'j' => number(fields.day_of_year + 1, 3, '0'),
        'k' => number(fields.hour(), 2, ' '),
        'l' => number(fields.hour12(), 2, ' '),
        'm' => number(fields.month + 1, 2, '0'),
        'M' => number(fields.second_of_day / 60 % 60, 2, '0'),
        'n' => text("\n"),
        'p' if pad.is_swapped => {
            Some(worded(&half.to_lowercase(), Pad { is_swapped: false, ..pad }, false))
        }
        'p' => text(half),
        'P' => text(&half.to_lowercase()),
        'r' => nested("%I:%M:%S %p"),
        'R' => nested("%H:%M"),
        's' => number(fields.time_s, 1, '0'),
        'S' => number(fields.second_of_day % 60, 2, '0'),
        't' => text("\t"),
        'T' | 'X' => nested("%H:%M:%S"),
        'u' => number((fields.weekday + 6) % 7 + 1, 1, '0'),
        'U' => number(week_from(0), 2, '0'),
        'V' => number(fields.iso_week().1, 2, '0'),
        'w' => number(fields.weekday, 1, '0'),
        'W' => number(week_from(1), 2, '0'),
        'y' => number(fields.year.rem_euclid(100), 2, '0'),
        'Y' => number(fields.year, 1, '0'),
        'z' => {
            let minutes = fields.offset_s.abs() / 60;
            let sign = if fields.offset_s < 0 { '-' } else { '+' };
            let digits = (pad.width.max(5) - 1).min(WIDTH_MAX);
            Some(format!("{sign}{:0digits$}", minutes / 60 * 100 + minutes % 60))
        }
        'Z' if pad.is_swapped => text(&fields.abbreviation.to_lowercase()),
        'Z' => text(&fields.abbreviation),
        '%' => text("%"),
        _ => None,
    }
}

fn padded(value: i64, width: usize, filler: char, pad: Pad) -> String {
    let filler = match pad.character {
        Some('_') => ' ',
        Some('0') => '0',
        Some('-') => return value.to_string(),
        _ => filler,
    };
    let width = width.max(pad.width);
    let (sign, digits) = (if value < 0 { "-" } else { "" }, value.unsigned_abs().to_string());
    let missing = width.saturating_sub(digits.len() + sign.len());
    let fill: String = std::iter::repeat_n(filler, missing).collect();
    if filler == ' ' { format!("{fill}{sign}{digits}") } else { format!("{sign}{fill}{digits}") }
}

/// `#` makes the names of days and months upper case.
fn worded(text: &str, pad: Pad, is_name: bool) -> String {
    let is_upper = pad.is_upper || (pad.is_swapped && is_name);
    let text = if is_upper { text.to_uppercase() } else { text.to_owned() };
    let filler = if pad.character == Some('0') { '0' } else { ' ' };
    let missing = pad.width.saturating_sub(text.chars().count());
    std::iter::repeat_n(filler, missing).chain(text.chars()).collect()
}

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
