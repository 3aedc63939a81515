//! The sensors of a collectl recording: the output of `ipmitool -c sdr`, a line for each.
//!
//! ```text Fan 1,35.28,percent,ok CPU1 Temp,23,degrees C,ok ```
//!
//! Names are shortened as collectl does; its file of rules (`--envrules`) changes them before and
//! after.

use sample::Table;

use super::{KIND, READING, READING_DIGITS};
use crate::SensorRules;

/// The kind of a sensor; the table is in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Fan,
    Power,
    Temperature,
}

/// The words by which sensors are recognized, in lower case.
const WORDS: [(&[u8], Kind); 3] =
    [(b"fan", Kind::Fan), (b"temp", Kind::Temperature), (b"power meter", Kind::Power)];

/// The most lines that are read; no machine has as many sensors.
const LINES_MAX: usize = 1024;

/// Fills a row for each sensor that collectl shows: fans, then power, then temperatures.
pub(super) fn fill(text: &[u8], rules: Option<&SensorRules>, table: &mut Table) {
    let mut sensors: Vec<(Kind, Vec<u8>, i64, u64)> = procfs::scan::lines(text)
        .take(LINES_MAX)
        .filter(|line| !rules.is_some_and(|rules| rules.ignores(line)))
        .filter_map(|line| parse_line(line, rules))
        .collect();
    sensors.sort_by_key(|(kind, ..)| *kind);
    let mut power_seen = false;
    for (kind, name, hundredths, digits) in sensors {
        // collectl keeps only the first power meter.
        if kind == Kind::Power && std::mem::replace(&mut power_seen, true) {
            continue;
        }
        let mut row = table.row(&name);
        row.set_signed(READING, hundredths);
        row.set(READING_DIGITS, digits);
        row.set_text(
            KIND,
            match kind {
                Kind::Fan => b"fan",
                Kind::Power => b"power",
                Kind::Temperature => b"temperature",
            },
        );
    }
}

/// Kind, name, hundredths and digits after the point.
fn parse_line(line: &[u8], rules: Option<&SensorRules>) -> Option<(Kind, Vec<u8>, i64, u64)> {
    let mut columns = line.split(|&b| b == b',');
    let (name, value) = (columns.next()?, columns.next().unwrap_or_default());
    // If this column has a number in hexadecimal, the value is two columns further.
    let value = if value.ends_with(b"h") { columns.nth(1).unwrap_or_default() } else { value };
    let (kind, name) = short_name(name, rules)?;
    let hundredths = hundredths(value);
    let point = value.iter().position(|&byte| byte == b'.');
    let digits = point.map_or(0, |at| value[at + 1..].trim_ascii().len() as u64);
    // Without a reading there are no digits; at most two are kept.
    Some((kind, name, hundredths, if hundredths == -100 { 0 } else { digits.min(2) }))
}

/// A value in hundredths.  -1 stands for a missing reading, as in collectl.
fn hundredths(value: &[u8]) -> i64 {
    let text = std::str::from_utf8(value).unwrap_or_default().trim();
    let number = text.parse::<f64>().ok().filter(|number| number.abs() < 1e15);
    // Rounded: 35.28 times 100 is a little less than 3528.
    number.map_or(-100, |number| (number * 100.0).round() as i64)
}

/// collectl's short name: the first letter of the text before the word, the word, its number.
fn short_name(name: &[u8], rules: Option<&SensorRules>) -> Option<(Kind, Vec<u8>)> {
    let mut name: Vec<u8> = name.iter().copied().filter(|b| !matches!(b, b'.' | b'/')).collect();
    if let Some(rules) = rules {
        name = rules.before(&name);
    }
    let lower = name.to_ascii_lowercase();
    let last_of = |(word, kind): &(&[u8], Kind)| {
        let at = lower.windows(word.len()).rposition(|window| window == *word)?;
        Some((at, word.len(), *kind))
    };
    let (at, length, kind) = WORDS.iter().filter_map(last_of).max_by_key(|found| found.0)?;
    let mut prefix = name[..at].to_vec();
    let word =
        if &name[at..at + length] == b"Power Meter" { b"Power" } else { &name[at..at + length] };
    let after = name[at + length..].trim_ascii_start();
    let digits = after.iter().position(|b| !b.is_ascii_digit()).unwrap_or(after.len());
    let (mut number, suffix) = (after[..digits].to_vec(), &after[digits..]);
    if (lower.starts_with(b"fan") || lower.starts_with(b"temp"))
        && let Some(inner) = in_brackets(suffix)
    {
        prefix = inner.to_vec();
    }
    if !number.is_empty() {
        let end = suffix.iter().position(u8::is_ascii_whitespace).unwrap_or(suffix.len());
        number.extend_from_slice(&suffix[..end]);
    } else if prefix.is_empty() && suffix.trim_ascii().len() > 1 {
        prefix = suffix.to_vec();
    }
    let mut short = Vec::new();
    if let Some((&first, rest)) = prefix.split_first() {
        short.push(first);
        if number.is_empty() {
            let rest: Vec<u8> = rest.iter().copied().skip_while(u8::is_ascii_alphabetic).collect();
            number = rest.into_iter().take_while(u8::is_ascii_digit).collect();
        }
    }
    short.extend_from_slice(word);
    short.retain(|b| !b.is_ascii_whitespace());
    if let Some(rules) = rules {
        short = rules.after(&short);
    }
    short.extend_from_slice(&number);
    Some((kind, short))
}

fn in_brackets(text: &[u8]) -> Option<&[u8]> {
    let open = text.iter().position(|&b| b == b'(')?;
    let close = text.iter().rposition(|&b| b == b')').filter(|&close| close > open)?;
    Some(&text[open + 1..close])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_short() {
        let check = |name: &str, expected: &str| {
            let found = short_name(name.as_bytes(), None)
                .map(|(_, short)| String::from_utf8(short).unwrap());
            assert_eq!(found.as_deref().unwrap_or("none"), expected, "{name}");
        };
        check("Fan 1", "Fan1");
        check("Virtual Fan", "VFan");
        check("CPU1 Temp", "CTemp1");
        check("Temp 3 (Ambient)", "ATemp3");
        check("Power Meter", "Power");
        check("FAN1A", "FAN1A");
        check("Voltage 1", "none");
        check("", "none");
    }

    #[test]
    fn values_that_are_none() {
        assert_eq!(hundredths(b"no reading"), -100);
        assert_eq!(hundredths(b""), -100);
        assert_eq!(hundredths(b"35.28"), 3528);
        assert_eq!(hundredths(b"1e300"), -100);
        let (_, name, value, _) = parse_line(b"Fans,0x10h,degrees,7", None).unwrap();
        assert_eq!((name.as_slice(), value), (&b"Fan"[..], 700));
    }
}
