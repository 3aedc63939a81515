//! What strace's table does not have: errors by number, counts by unit, histograms of times.
//!
//! Each part has a heading that says which time it shows: *wall*, from entry to exit, or *CPU*, the
//! part of it on a CPU.  No line is wider than the terminal that the caller names, if its numbers
//! fit.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::{CallSummary, SummaryRow};
use crate::flags::errors;
use crate::{CallId, CallStats, CallTally, Histogram, SplitKey};

/// Calls that the line of a unit names.
const CALLS_NAMED: usize = 4;
/// Characters of the longest bar of a histogram, and of what stands before it.
const BAR_WIDTH: usize = 48;
const BEFORE_BAR: usize = 31;

/// Writes which calls failed with which errors, the most frequent first; nothing if none failed.
///
/// # Errors
/// If the writer fails.
pub fn write_errors(tally: &CallTally, to: &mut dyn Write) -> io::Result<()> {
    let mut rows: Vec<_> = tally.errors.iter().collect();
    rows.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(to, "{:>9} error", "count")?;
    for ((id, error), count) in rows {
        writeln!(to, "{count:>9} {} {}", id.name(), error_name(*error))?;
    }
    Ok(())
}

/// The name of an error number, or the number if it has no name.
pub(super) fn error_name(error: i32) -> String {
    errors::name(error).map_or_else(|| error.to_string(), str::to_owned)
}

/// Writes which calls had not ended; nothing if all had.
///
/// # Errors
/// If the writer fails.
pub fn write_unfinished(tally: &CallTally, room: usize, to: &mut dyn Write) -> io::Result<()> {
    if tally.unfinished.is_empty() {
        return Ok(());
    }
    let calls = tally.unfinished.iter();
    let names: Vec<String> = calls.map(|(id, count)| format!("{} {count}", id.name())).collect();
    write_text(&format!("did not end: {}", names.join(", ")), room, to)
}

/// Writes a text in lines that are broken between words.
///
/// # Errors
/// If the writer fails.
pub fn write_text(text: &str, room: usize, to: &mut dyn Write) -> io::Result<()> {
    let mut column = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > room {
            writeln!(to)?;
            column = 0;
        } else if column > 0 {
            write!(to, " ")?;
            column += 1;
        }
        write!(to, "{word}")?;
        column += length;
    }
    writeln!(to)
}

/// The calls of a unit: their sum, and each of them.
pub(super) type OfUnit<'a> = (CallStats, Vec<(&'a CallId, &'a CallStats)>);

/// The units of a split.
pub(super) fn units(tally: &CallTally) -> BTreeMap<&SplitKey, OfUnit<'_>> {
    let mut units: BTreeMap<&SplitKey, OfUnit<'_>> = BTreeMap::new();
    for ((unit, id), stats) in &tally.units {
        let (total, calls) = units.entry(unit).or_default();
        total.merge(stats);
        calls.push((id, stats));
    }
    units
}

/// Writes a line for each unit, with as many of the calls that took most of its time as there is
/// room for; nothing without a split.
///
/// # Errors
/// If the writer fails.
pub fn write_units(
    summary: &CallSummary,
    tally: &CallTally,
    room: usize,
    to: &mut dyn Write,
) -> io::Result<()> {
    let mut rows: Vec<_> = units(tally).into_iter().collect();
    if rows.is_empty() {
        return Ok(());
    }
    rows.sort_by_key(|(_, (total, _))| std::cmp::Reverse(summary.time_ns(total)));
    let time = if summary.wall { "wall" } else { "CPU" };
    let names = rows.iter().map(|(unit, _)| unit_name(unit).chars().count());
    let width = names.max().unwrap_or(0).max(unit_kind(tally).len());
    let (heading, kind) = ("most of it", unit_kind(tally));
    writeln!(to, "{:>9} {:>6} {time:>7}  {kind:width$} {heading}", "calls", "errors")?;
    for (unit, (total, calls)) in rows {
        let mut named = summary.rows(calls.into_iter());
        let time_of = |row: &SummaryRow<'_>| std::cmp::Reverse(summary.time_ns(row.1));
        named.sort_by_key(time_of);
        let errors = if total.errors > 0 { total.errors.to_string() } else { String::new() };
        let mut line = format!(
            "{:>9} {errors:>6} {:>7}  {:width$}",
            total.calls,
            duration(summary.time_ns(&total)),
            unit_name(unit),
        );
        for (index, (name, stats)) in named.iter().take(CALLS_NAMED).enumerate() {
            let comma = if index > 0 { "," } else { "" };
            let text = format!("{comma} {name} {}", duration(summary.time_ns(stats)));
            if index > 0 && line.chars().count() + text.chars().count() > room {
                break;
            }
            line.push_str(&text);
        }
        writeln!(to, "{}", line.trim_end())?;
    }
    Ok(())
}

fn unit_kind(tally: &CallTally) -> &'static str {
    match tally.units.keys().next() {
        Some((SplitKey::Process(..), _)) => "process",
        Some((SplitKey::Thread(..), _)) => "thread",
        Some((SplitKey::ProcessGroup(_), _)) => "group",
        Some((SplitKey::Host(_), _)) => "host",
        _ => "command",
    }
}

/// The name of a unit: its number and its command, escaped for terminals.
#[must_use]
pub fn unit_name(unit: &SplitKey) -> String {
    match unit {
        SplitKey::Process(number, name) | SplitKey::Thread(number, name) => {
            format!("{number} {}", name.escape_ascii())
        }
        SplitKey::Command(name) | SplitKey::Host(name) => name.escape_ascii().to_string(),
        SplitKey::ProcessGroup(number) => number.to_string(),
    }
}

/// Draws the distribution of the wall times of each call, with a bar for each doubling.
///
/// # Errors
/// If the writer fails.
pub fn write_histograms(
    summary: &CallSummary,
    tally: &CallTally,
    room: usize,
    to: &mut dyn Write,
) -> io::Result<()> {
    for (name, stats) in summary.rows(tally.calls.iter()) {
        let Some(histogram) = &stats.histogram else { continue };
        writeln!(to, "\n{name}: {} calls, wall time", stats.calls)?;
        write_histogram(histogram, room, to)?;
    }
    Ok(())
}

fn write_histogram(histogram: &Histogram, room: usize, to: &mut dyn Write) -> io::Result<()> {
    let longest = room.saturating_sub(BEFORE_BAR).clamp(8, BAR_WIDTH);
    let octaves: Vec<u64> =
        histogram.counts().chunks(4).map(|steps| steps.iter().sum::<u64>()).collect();
    let most = octaves.iter().copied().max().unwrap_or(0).max(1);
    let Some(first) = octaves.iter().position(|count| *count > 0) else { return Ok(()) };
    let last = octaves.iter().rposition(|count| *count > 0).unwrap_or(first);
    for (index, count) in octaves.iter().enumerate().take(last + 1).skip(first) {
        let eighths = (*count as f64 / most as f64 * longest as f64 * 8.0).round() as usize;
        let mut bar = "█".repeat(eighths / 8);
        if !eighths.is_multiple_of(8) {
            bar.push(['▏', '▎', '▍', '▌', '▋', '▊', '▉'][eighths % 8 - 1]);
        } else if *count > 0 && bar.is_empty() {
            bar.push('▏');
        }
        writeln!(
            to,
            "{:>8} .. {:<8} {count:>9} {bar}",
            duration(Histogram::floor_ns(index * 4)),
            duration(Histogram::floor_ns(index * 4 + 4)),
        )?;
    }
    Ok(())
}

/// A duration in at most seven characters: `123ns`, `12.3µs`, `1.23ms`, `12.3s`.
#[must_use]
pub fn duration(time_ns: u64) -> String {
    let (value, unit) = match time_ns {
        0..1_000 => return format!("{time_ns}ns"),
        1_000..999_500 => (time_ns as f64 / 1e3, "µs"),
        999_500..999_500_000 => (time_ns as f64 / 1e6, "ms"),
        _ => (time_ns as f64 / 1e9, "s"),
    };
    // Three significant digits.
    let places = if value < 9.995 {
        2
    } else if value < 99.95 {
        1
    } else {
        0
    };
    format!("{value:.places$}{unit}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn durations_have_three_digits() {
        let times = [0, 999, 1_000, 9_994, 9_999, 99_940, 999_400, 999_600, 1_500_000_000];
        let shown = times.map(duration);
        let expected =
            ["0ns", "999ns", "1.00µs", "9.99µs", "10.0µs", "99.9µs", "999µs", "1.00ms", "1.50s"];
        assert_eq!(shown, expected);
    }

    #[test]
    fn hostile_names_do_no_harm() {
        let unit = SplitKey::Command(b"\x1b[31mred\n\xff".to_vec());
        assert_eq!(unit_name(&unit), "\\x1b[31mred\\n\\xff");
    }

    #[test]
    fn a_histogram_shows_every_step_between_the_first_and_the_last() {
        let mut tally = CallTally::default();
        for time in [1_000, 1_100, 9_000] {
            tally.add(CallId::native(0), 0, time, None);
        }
        let mut text = Vec::new();
        write_histograms(&CallSummary::default(), &tally, 80, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let bars: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(bars.len(), 5, "{text}");
        let words = |line: usize| bars[line].split_whitespace().collect::<Vec<_>>();
        assert_eq!(words(0)[..4], ["512ns", "..", "1.02µs", "1"], "{text}");
        assert_eq!(words(2), ["2.05µs", "..", "4.10µs", "0"], "{text}");
    }
}
