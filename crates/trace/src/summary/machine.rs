//! A tally in machine-readable form: a JSON object, or a line of CSV for each call.
//!
//! Times are in nanoseconds, as keys and headings say.  Unknown values are absent in JSON and empty
//! in CSV.

use std::io::{self, Write};

use serde_json::{Map, Value, json};
use text::escape::push_csv_field;

use super::details::{error_name, units};
use super::{CallSummary, SummaryRow};
use crate::{CallId, CallStats, CallTally, SplitKey};

/// A tally as an object: `calls` by name, `total`, and if there are any `errors`, `unfinished`,
/// `lost` and `units`.
#[must_use]
pub fn json(summary: &CallSummary, tally: &CallTally) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("calls".to_owned(), calls(&summary.rows(tally.calls.iter())));
    object.insert("total".to_owned(), stats(&tally.total()));
    let of_call = |id: &CallId, error: i32, count: u64| json!({"syscall": id.name(), "error": error_name(error), "count": count});
    let errors: Vec<Value> =
        tally.errors.iter().map(|((id, error), count)| of_call(id, *error, *count)).collect();
    object.insert("errors".to_owned(), errors.into());
    let unfinished = tally.unfinished.iter();
    let unfinished: Map<String, Value> =
        unfinished.map(|(id, count)| (id.name().into_owned(), (*count).into())).collect();
    object.insert("unfinished".to_owned(), unfinished.into());
    object.insert("lost".to_owned(), tally.lost.into());
    if !tally.units.is_empty() {
        let split = units(tally).into_iter().map(|(unit, (total, of_unit))| {
            let mut object = unit_keys(unit);
            object.insert("total".to_owned(), stats(&total));
            object.insert("calls".to_owned(), calls(&summary.rows(of_unit.into_iter())));
            Value::Object(object)
        });
        object.insert("units".to_owned(), split.collect());
    }
    object
}

fn unit_keys(unit: &SplitKey) -> Map<String, Value> {
    let mut keys = Map::new();
    let (number, name) = match unit {
        SplitKey::Process(number, name) => (Some(("process", *number)), Some(name)),
        SplitKey::Thread(number, name) => (Some(("thread", *number)), Some(name)),
        SplitKey::Command(name) => (None, Some(name)),
        SplitKey::ProcessGroup(number) => {
            keys.insert("group".to_owned(), (*number).into());
            (None, None)
        }
        SplitKey::Host(name) => {
            keys.insert("host".to_owned(), String::from_utf8_lossy(name).into());
            (None, None)
        }
    };
    if let Some((key, number)) = number {
        keys.insert(key.to_owned(), number.into());
    }
    if let Some(name) = name {
        keys.insert("command".to_owned(), String::from_utf8_lossy(name).into());
    }
    keys
}

fn calls(rows: &[SummaryRow<'_>]) -> Value {
    let row = |(name, of_call): &SummaryRow<'_>| {
        let mut object = Map::new();
        object.insert("syscall".to_owned(), name.as_ref().into());
        if let Value::Object(values) = stats(of_call) {
            object.extend(values);
        }
        Value::Object(object)
    };
    rows.iter().map(row).collect()
}

fn stats(stats: &CallStats) -> Value {
    let mut object = Map::new();
    for (key, value) in HEADINGS.iter().zip(values(stats)) {
        if let Some(value) = value {
            object.insert((*key).to_owned(), value.into());
        }
    }
    object.into()
}

const HEADINGS: [&str; 8] =
    ["calls", "errors", "wall_ns", "min_ns", "p50_ns", "p99_ns", "max_ns", "cpu_ns"];

fn values(stats: &CallStats) -> [Option<u64>; 8] {
    let any = stats.calls > 0;
    let quantile = |share: f64| {
        let middle = stats.histogram.as_ref()?.quantile_ns(share)?;
        Some(middle.clamp(stats.shortest_ns, stats.longest_ns))
    };
    [
        Some(stats.calls),
        Some(stats.errors),
        Some(stats.wall_ns),
        any.then_some(stats.shortest_ns),
        quantile(0.5),
        quantile(0.99),
        any.then_some(stats.longest_ns),
        stats.cpu_ns,
    ]
}

/// Writes the heading of [`write_csv`].
///
/// # Errors
/// If the writer fails.
pub fn write_csv_heading(to: &mut dyn Write) -> io::Result<()> {
    writeln!(to, "time,unit,command,syscall,{}", HEADINGS.join(","))
}

/// Writes a line for each call, then for each call of each unit; each begins with `time`.
///
/// # Errors
/// If the writer fails.
pub fn write_csv(
    summary: &CallSummary,
    tally: &CallTally,
    time: &str,
    to: &mut dyn Write,
) -> io::Result<()> {
    for row in summary.rows(tally.calls.iter()) {
        write_line([time, "", ""], &row, to)?;
    }
    for (unit, (_, of_unit)) in units(tally) {
        let keys = match unit {
            SplitKey::Process(number, name) | SplitKey::Thread(number, name) => {
                [number.to_string(), String::from_utf8_lossy(name).into_owned()]
            }
            SplitKey::Command(name) => [String::new(), String::from_utf8_lossy(name).into_owned()],
            SplitKey::ProcessGroup(number) => [number.to_string(), String::new()],
            SplitKey::Host(name) => [String::from_utf8_lossy(name).into_owned(), String::new()],
        };
        let mut name = Vec::new();
        push_csv_field(&mut name, keys[1].as_bytes());
        let name = String::from_utf8_lossy(&name);
        for row in summary.rows(of_unit.into_iter()) {
            write_line([time, &keys[0], &name], &row, to)?;
        }
    }
    Ok(())
}

fn write_line(
    keys: [&str; 3],
    (name, stats): &SummaryRow<'_>,
    to: &mut dyn Write,
) -> io::Result<()> {
    write!(to, "{},{name}", keys.join(","))?;
    for value in values(stats) {
        match value {
            Some(value) => write!(to, ",{value}")?,
            None => write!(to, ",")?,
        }
    }
    writeln!(to)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn both_forms_say_the_same() {
        let mut tally = CallTally::default();
        tally.add(CallId::native(257), -2, 3_000, None);
        tally.units.insert(
            (SplitKey::Process(7, b"a \"b\", c".to_vec()), CallId::native(257)),
            CallStats { calls: 1, wall_ns: 3_000, ..CallStats::default() },
        );
        let summary = CallSummary::default();
        let object = json(&summary, &tally);
        assert_eq!(object["calls"][0]["syscall"], "openat");
        assert_eq!(object["calls"][0]["wall_ns"], 3_000);
        assert!(object["calls"][0].get("cpu_ns").is_none());
        assert_eq!(object["errors"][0]["error"], "ENOENT");
        assert_eq!(object["units"][0]["process"], 7);
        let mut text = Vec::new();
        write_csv_heading(&mut text).unwrap();
        write_csv(&summary, &tally, "1.5", &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "1.5,,,openat,1,1,3000,3000,3000,3000,3000,");
        assert_eq!(lines[2], "1.5,7,\"a \"\"b\"\", c\",openat,1,0,3000,0,,,0,");
    }
}
