//! Times as text: C's `strftime` in the C locale.
//!
//! jiff's own `strftime` ends with the year 9999 and does not have all of glibc's flags.

use crate::{CivilTime, CivilZone, MONTHS, WEEKDAYS, days_of_date};

/// Widest field; C has no limit.
const WIDTH_MAX: usize = 1000;

/// A time in fields, with what its zone adds.
struct Fields {
    time_s: i64,
    civil: CivilTime,
    /// The day of the year, from 0.
    day_of_year: i64,
    offset_s: i64,
    abbreviation: String,
}

impl Fields {
    fn at(time_s: i64, zone: Option<&CivilZone>) -> Self {
        let offset_s = zone.map_or(0, |zone| zone.offset(time_s).0);
        let civil = CivilTime::of_local(time_s.saturating_add(offset_s));
        let abbreviation = zone.map_or_else(|| "GMT".to_owned(), |zone| zone.abbreviation(time_s));
        Fields { time_s, civil, day_of_year: civil.day_of_year(), offset_s, abbreviation }
    }

    /// The hour on a dial, from 1 to 12.
    fn hour12(&self) -> i64 {
        (self.civil.hour + 11) % 12 + 1
    }

    /// The year and the number of the week that ISO 8601 counts the day to.
    fn iso_week(&self) -> (i64, i64) {
        let year = self.civil.year;
        let monday_based = (self.civil.weekday + 6) % 7;
        let thursday = self.day_of_year - monday_based + 3;
        if thursday < 0 {
            let before = year - 1;
            return (before, (thursday + days_of_year(before)) / 7 + 1);
        }
        if thursday >= days_of_year(year) {
            return (year + 1, 1);
        }
        (year, thursday / 7 + 1)
    }
}

fn days_of_year(year: i64) -> i64 {
    days_of_date(year + 1, 1, 1) - days_of_date(year, 1, 1)
}

/// A time as text, in a zone or in UTC.
#[must_use]
pub fn strftime(format: &str, time_s: i64, zone: Option<&CivilZone>) -> String {
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
    let weekday = WEEKDAYS[fields.civil.weekday as usize % 7];
    let month = MONTHS[(fields.civil.month - 1) as usize % 12];
    let half = if fields.civil.hour < 12 { "AM" } else { "PM" };
    let week_from =
        |first: i64| (fields.day_of_year - (fields.civil.weekday - first).rem_euclid(7) + 7) / 7;
    match conversion {
        'a' => Some(worded(&weekday[..3], pad, true)),
        'A' => Some(worded(weekday, pad, true)),
        'b' | 'h' => Some(worded(&month[..3], pad, true)),
        'B' => Some(worded(month, pad, true)),
        'c' => nested("%a %b %e %H:%M:%S %Y"),
        'C' => number(fields.civil.year.div_euclid(100), 2, '0'),
        'd' => number(fields.civil.day, 2, '0'),
        'D' | 'x' => nested("%m/%d/%y"),
        'e' => number(fields.civil.day, 2, ' '),
        'F' => nested("%Y-%m-%d"),
        'g' => number(fields.iso_week().0.rem_euclid(100), 2, '0'),
        'G' => number(fields.iso_week().0, 1, '0'),
        'H' => number(fields.civil.hour, 2, '0'),
        'I' => number(fields.hour12(), 2, '0'),
        'j' => number(fields.day_of_year + 1, 3, '0'),
        'k' => number(fields.civil.hour, 2, ' '),
        'l' => number(fields.hour12(), 2, ' '),
        'm' => number(fields.civil.month, 2, '0'),
        'M' => number(fields.civil.minute, 2, '0'),
        'n' => text("\n"),
        'p' if pad.is_swapped => {
            Some(worded(&half.to_lowercase(), Pad { is_swapped: false, ..pad }, false))
        }
        'p' => text(half),
        'P' => text(&half.to_lowercase()),
        'r' => nested("%I:%M:%S %p"),
        'R' => nested("%H:%M"),
        's' => number(fields.time_s, 1, '0'),
        'S' => number(fields.civil.second, 2, '0'),
        't' => text("\t"),
        'T' | 'X' => nested("%H:%M:%S"),
        'u' => number((fields.civil.weekday + 6) % 7 + 1, 1, '0'),
        'U' => number(week_from(0), 2, '0'),
        'V' => number(fields.iso_week().1, 2, '0'),
        'w' => number(fields.civil.weekday, 1, '0'),
        'W' => number(week_from(1), 2, '0'),
        'y' => number(fields.civil.year.rem_euclid(100), 2, '0'),
        'Y' => number(fields.civil.year, 1, '0'),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What GNU date prints for the same format.
    #[test]
    fn times_are_written_as_glibc_writes_them() {
        let format = "%Y-%m-%d %H:%M:%S %a %B %j %U %W %V %G %g %C %y|%e|%k|%l|%I %p %P %u %w %s|\
                      %-d|%_m|%010Y|%^a|%c|%D|%r|%R|%T|%z %%";
        let cases = [
            (
                1_795_252_570,
                "2026-11-21 09:16:10 Sat November 325 46 46 47 2026 26 20 26|\
                 21| 9| 9|09 AM am 6 6 1795252570|21|11|0000002026|SAT|Sat Nov 21 09:16:10 2026|11/21/26|09:16:10 AM|09:16|09:16:10|+0000 %",
            ),
            (
                1_704_067_199,
                "2023-12-31 23:59:59 Sun December 365 53 52 52 2023 23 20 23|\
                 31|23|11|11 PM pm 7 0 1704067199|31|12|0000002023|SUN|Sun Dec 31 23:59:59 2023|12/31/23|11:59:59 PM|23:59|23:59:59|+0000 %",
            ),
            (
                1_767_225_600,
                "2026-01-01 00:00:00 Thu January 001 00 00 01 2026 26 20 26| 1\
                 | 0|12|12 AM am 4 4 1767225600|1| 1|0000002026|THU|Thu Jan  1 00:00:00 2026|01/01/26|12:00:00 AM|00:00|00:00:00|+0000 %",
            ),
        ];
        for (time_s, text) in cases {
            assert_eq!(strftime(format, time_s, Some(&crate::UTC)), text);
        }
        assert_eq!(strftime("%Z %#Z %Q %", 0, None), "GMT gmt %Q %");
    }
}
