//! The table of calls: strace's columns.
//!
//! ```text
//! % time     seconds  usecs/call     calls    errors syscall
//! ------ ----------- ----------- --------- --------- ----------------
//!  63.13    0.000327           2       156        65 openat
//! ------ ----------- ----------- --------- --------- ----------------
//! 100.00    0.000518           1       402        65 total
//! ```
//!
//! Widths are those of strace 6.1 and grow with the contents.  The caller chooses whether `seconds`
//! is time on a CPU, as strace means it, or time from entry to exit.

use std::borrow::Cow;
use std::io::{self, Write};

use crate::{CallId, CallStats, CallTally};

pub(crate) mod details;
pub(crate) mod machine;

/// A column of the table, named as in strace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SummaryColumn {
    /// Share of the time of all calls.
    TimePercent,
    /// Total time.
    TotalTime,
    /// The shortest call.
    MinTime,
    /// The longest call.
    MaxTime,
    /// Mean time of a call.
    AvgTime,
    /// Calls that ended.
    Calls,
    /// Calls that returned an error.
    Errors,
    /// Name of the call.
    Name,
}

/// The order of the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SummaryOrder {
    /// By a column, largest first; by name alphabetically.
    By(SummaryColumn),
    /// By total time, largest first.
    #[default]
    Time,
    /// By number of the call.
    None,
}

/// Names of columns, with their synonyms, as `-U` and `-S` take them.
const NAMES: [(&[&str], SummaryColumn); 8] = [
    (&["time-percent", "time_percent"], SummaryColumn::TimePercent),
    (&["total-time", "total_time", "time", "time-total", "time_total"], SummaryColumn::TotalTime),
    (&["min-time", "min_time", "shortest", "time-min", "time_min"], SummaryColumn::MinTime),
    (&["max-time", "max_time", "longest", "time-max", "time_max"], SummaryColumn::MaxTime),
    (&["avg-time", "avg_time", "time-avg", "time_avg"], SummaryColumn::AvgTime),
    (&["calls", "count"], SummaryColumn::Calls),
    (&["errors", "error"], SummaryColumn::Errors),
    (&["name", "syscall", "syscall-name", "syscall_name"], SummaryColumn::Name),
];

impl SummaryColumn {
    /// The column with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        NAMES.iter().find(|(names, _)| names.contains(&name)).map(|(_, column)| *column)
    }

    fn heading(self) -> &'static str {
        match self {
            SummaryColumn::TimePercent => "% time",
            SummaryColumn::TotalTime => "seconds",
            SummaryColumn::MinTime => "shortest",
            SummaryColumn::MaxTime => "longest",
            SummaryColumn::AvgTime => "usecs/call",
            SummaryColumn::Calls => "calls",
            SummaryColumn::Errors => "errors",
            SummaryColumn::Name => "syscall",
        }
    }

    fn width(self) -> usize {
        match self {
            SummaryColumn::TimePercent => 6,
            SummaryColumn::TotalTime | SummaryColumn::AvgTime => 11,
            SummaryColumn::MinTime | SummaryColumn::MaxTime => 8,
            SummaryColumn::Calls | SummaryColumn::Errors => 9,
            SummaryColumn::Name => 16,
        }
    }
}

impl SummaryOrder {
    /// The order with this name; `none` for the numbers of the calls.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "none" | "nothing" => Some(SummaryOrder::None),
            _ => SummaryColumn::parse(name).map(SummaryOrder::By),
        }
    }
}

/// How a [`CallTally`] is shown.
#[derive(Clone, Debug)]
pub struct CallSummary {
    /// The columns, in their order.
    pub columns: Vec<SummaryColumn>,
    /// The order of the rows.
    pub sort: SummaryOrder,
    /// Times are those from entry to exit; otherwise those on a CPU, if known.
    pub wall: bool,
}

impl Default for CallSummary {
    fn default() -> Self {
        use SummaryColumn::{AvgTime, Calls, Errors, Name, TimePercent, TotalTime};
        CallSummary {
            columns: vec![TimePercent, TotalTime, AvgTime, Calls, Errors, Name],
            sort: SummaryOrder::Time,
            wall: false,
        }
    }
}

/// One row: its name and its counts.
pub type SummaryRow<'a> = (Cow<'a, str>, &'a CallStats);

impl CallSummary {
    /// Sets the columns from the argument of `-U`: names separated by commas, each at most once.
    ///
    /// # Errors
    /// If a name is unknown or given twice.
    pub fn set_columns(&mut self, names: &str) -> Result<(), String> {
        self.columns.clear();
        for name in names.split(',') {
            let column = SummaryColumn::parse(name).ok_or_else(|| {
                let known: Vec<&str> = NAMES.iter().map(|(names, _)| names[0]).collect();
                format!("no column is called `{name}`: there are {}", known.join(", "))
            })?;
            if self.columns.contains(&column) {
                return Err(format!("the column `{name}` is given twice"));
            }
            self.columns.push(column);
        }
        Ok(())
    }

    /// The time of these calls that the table shows, in nanoseconds.
    #[must_use]
    pub fn time_ns(&self, stats: &CallStats) -> u64 {
        match stats.cpu_ns {
            Some(cpu_ns) if !self.wall => cpu_ns,
            _ => stats.wall_ns,
        }
    }

    /// The rows of calls in the order asked for; those of 32-bit programs are marked `@32` if there
    /// are 64-bit ones too.
    #[must_use]
    pub fn rows<'a>(
        &self,
        calls: impl Iterator<Item = (&'a CallId, &'a CallStats)>,
    ) -> Vec<SummaryRow<'a>> {
        let mut rows: Vec<(&CallId, SummaryRow<'a>)> = calls
            .filter(|(_, stats)| stats.calls > 0)
            .map(|(id, stats)| (id, (id.name(), stats)))
            .collect();
        let mixed = rows.iter().any(|(id, _)| id.abi != rows[0].0.abi);
        for (id, (name, _)) in &mut rows {
            if mixed && id.abi == crate::Abi::I386 {
                *name = Cow::Owned(format!("{name}@32"));
            }
        }
        let mut rows: Vec<SummaryRow<'a>> = rows.into_iter().map(|(_, row)| row).collect();
        self.order(&mut rows);
        rows
    }

    /// Sorts rows in the order asked for; equal ones keep their order.
    pub fn order(&self, rows: &mut [SummaryRow<'_>]) {
        let mean = |stats: &CallStats| self.time_ns(stats).checked_div(stats.calls);
        match self.sort {
            SummaryOrder::None => {}
            SummaryOrder::By(SummaryColumn::Name) => rows.sort_by(|one, other| one.0.cmp(&other.0)),
            SummaryOrder::Time
            | SummaryOrder::By(SummaryColumn::TimePercent | SummaryColumn::TotalTime) => {
                rows.sort_by_key(|row| std::cmp::Reverse(self.time_ns(row.1)));
            }
            SummaryOrder::By(SummaryColumn::MinTime) => {
                rows.sort_by_key(|row| std::cmp::Reverse(row.1.shortest_ns));
            }
            SummaryOrder::By(SummaryColumn::MaxTime) => {
                rows.sort_by_key(|row| std::cmp::Reverse(row.1.longest_ns));
            }
            SummaryOrder::By(SummaryColumn::AvgTime) => {
                rows.sort_by_key(|row| std::cmp::Reverse(mean(row.1)));
            }
            SummaryOrder::By(SummaryColumn::Calls) => {
                rows.sort_by_key(|row| std::cmp::Reverse(row.1.calls));
            }
            SummaryOrder::By(SummaryColumn::Errors) => {
                rows.sort_by_key(|row| std::cmp::Reverse(row.1.errors));
            }
        }
    }

    /// Writes strace's table.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn write(&self, tally: &CallTally, to: &mut dyn Write) -> io::Result<()> {
        let total = tally.total();
        let all_ns = self.time_ns(&total);
        let rows = self.rows(tally.calls.iter());
        let mut cells: Vec<Vec<String>> =
            rows.iter().map(|(name, stats)| self.cells(name, stats, all_ns)).collect();
        cells.push(self.cells("total", &total, all_ns));
        let width = |(index, column): (usize, &SummaryColumn)| {
            let widest = cells.iter().map(|row| row[index].len()).max().unwrap_or(0);
            widest.max(column.width())
        };
        let widths: Vec<usize> = self.columns.iter().enumerate().map(width).collect();
        let headings: Vec<&str> = self.columns.iter().map(|column| column.heading()).collect();
        self.line(&headings, &widths, to)?;
        let rules: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
        let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
        self.line(&rules, &widths, to)?;
        let (total, rows) = cells.split_last().unwrap_or((&cells[0], &[]));
        for row in rows {
            self.line(row, &widths, to)?;
        }
        self.line(&rules, &widths, to)?;
        self.line(total, &widths, to)
    }

    fn cells(&self, name: &str, stats: &CallStats, all_ns: u64) -> Vec<String> {
        let time_ns = self.time_ns(stats);
        let cell = |column: &SummaryColumn| match column {
            SummaryColumn::TimePercent if all_ns == 0 => "0.00".to_owned(),
            SummaryColumn::TimePercent => format!("{:.2}", time_ns as f64 / all_ns as f64 * 100.0),
            SummaryColumn::TotalTime => seconds(time_ns),
            SummaryColumn::MinTime => seconds(if stats.calls > 0 { stats.shortest_ns } else { 0 }),
            SummaryColumn::MaxTime => seconds(stats.longest_ns),
            SummaryColumn::AvgTime => (time_ns / stats.calls.max(1) / 1_000).to_string(),
            SummaryColumn::Calls => stats.calls.to_string(),
            SummaryColumn::Errors if stats.errors == 0 => String::new(),
            SummaryColumn::Errors => stats.errors.to_string(),
            SummaryColumn::Name => name.to_owned(),
        };
        self.columns.iter().map(cell).collect()
    }

    fn line(
        &self,
        cells: &[impl AsRef<str>],
        widths: &[usize],
        to: &mut dyn Write,
    ) -> io::Result<()> {
        let mut line = String::new();
        for ((cell, width), column) in cells.iter().zip(widths).zip(&self.columns) {
            let cell = cell.as_ref();
            match column {
                SummaryColumn::Name => line.push_str(&format!("{cell:<width$} ")),
                _ => line.push_str(&format!("{cell:>width$} ")),
            }
        }
        // A name in the last column is not padded; a missing number there is.
        let line = match self.columns.last() {
            Some(SummaryColumn::Name) => line.trim_end(),
            _ => line.strip_suffix(' ').unwrap_or(&line),
        };
        writeln!(to, "{line}")
    }
}

fn seconds(time_ns: u64) -> String {
    format!("{:.6}", time_ns as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn tally() -> CallTally {
        let mut tally = CallTally::default();
        tally.add(CallId::native(257), 3, 5_000, Some(4_000));
        tally.add(CallId::native(257), -2, 3_000, Some(2_000));
        tally.add(CallId::native(230), 0, 1_500_000_000, Some(10_000));
        tally
    }

    fn shown(summary: &CallSummary) -> String {
        let mut text = Vec::new();
        summary.write(&tally(), &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn the_table_has_straces_shape() {
        assert_eq!(
            shown(&CallSummary::default()),
            "\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 62.50    0.000010          10         1           clock_nanosleep
 37.50    0.000006           3         2         1 openat
------ ----------- ----------- --------- --------- ----------------
100.00    0.000016           5         3         1 total
"
        );
    }

    #[test]
    fn columns_and_order_are_those_asked_for() {
        let mut summary = CallSummary { wall: true, ..CallSummary::default() };
        summary.set_columns("name,max-time,calls").unwrap();
        summary.sort = SummaryOrder::parse("calls").unwrap();
        assert_eq!(
            shown(&summary),
            "\
syscall           longest     calls
---------------- -------- ---------
openat           0.000005         2
clock_nanosleep  1.500000         1
---------------- -------- ---------
total            1.500000         3
"
        );
        assert!(summary.set_columns("calls,count").unwrap_err().contains("twice"));
        assert!(summary.set_columns("nosuch").unwrap_err().contains("time-percent"));
        assert_eq!(SummaryOrder::parse("nosuch"), None);
    }
}
