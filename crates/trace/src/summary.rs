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
//! is time on a CPU, as strace means it, or time from entry to exit.  [`CallSummary::write_within`]
//! adds the spread of the times where a terminal has room, and drops columns where it has none; a
//! number is never cut.

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
    /// The shortest call from entry to exit, with its unit.
    Shortest,
    /// The time from entry to exit that half of the calls did not exceed.
    Half,
    /// The time from entry to exit that 99 % of the calls did not exceed.
    NearlyAll,
    /// The longest call from entry to exit, with its unit.
    Longest,
}

/// The spread of the times, in the order of the columns; the last of them are added first.
const SPREAD: [SummaryColumn; 4] = [
    SummaryColumn::Shortest,
    SummaryColumn::Half,
    SummaryColumn::NearlyAll,
    SummaryColumn::Longest,
];

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
const NAMES: [(&[&str], SummaryColumn); 12] = [
    (&["time-percent", "time_percent"], SummaryColumn::TimePercent),
    (&["total-time", "total_time", "time", "time-total", "time_total"], SummaryColumn::TotalTime),
    (&["min-time", "min_time", "shortest", "time-min", "time_min"], SummaryColumn::MinTime),
    (&["max-time", "max_time", "longest", "time-max", "time_max"], SummaryColumn::MaxTime),
    (&["avg-time", "avg_time", "time-avg", "time_avg"], SummaryColumn::AvgTime),
    (&["calls", "count"], SummaryColumn::Calls),
    (&["errors", "error"], SummaryColumn::Errors),
    (&["name", "syscall", "syscall-name", "syscall_name"], SummaryColumn::Name),
    (&["min"], SummaryColumn::Shortest),
    (&["p50"], SummaryColumn::Half),
    (&["p99"], SummaryColumn::NearlyAll),
    (&["max"], SummaryColumn::Longest),
];

impl SummaryColumn {
    /// The column with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        NAMES.iter().find(|(names, _)| names.contains(&name)).map(|(_, column)| *column)
    }

    pub(crate) fn heading(self) -> &'static str {
        match self {
            SummaryColumn::TimePercent => "% time",
            SummaryColumn::TotalTime => "seconds",
            SummaryColumn::MinTime => "shortest",
            SummaryColumn::MaxTime => "longest",
            SummaryColumn::AvgTime => "usecs/call",
            SummaryColumn::Calls => "calls",
            SummaryColumn::Errors => "errors",
            SummaryColumn::Name => "syscall",
            SummaryColumn::Shortest => "min",
            SummaryColumn::Half => "p50",
            SummaryColumn::NearlyAll => "p99",
            SummaryColumn::Longest => "max",
        }
    }

    fn width(self) -> usize {
        match self {
            SummaryColumn::TimePercent => 6,
            SummaryColumn::TotalTime | SummaryColumn::AvgTime => 11,
            SummaryColumn::MinTime | SummaryColumn::MaxTime => 8,
            SummaryColumn::Calls | SummaryColumn::Errors => 9,
            SummaryColumn::Name => 16,
            SummaryColumn::Shortest
            | SummaryColumn::Half
            | SummaryColumn::NearlyAll
            | SummaryColumn::Longest => 7,
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
    /// The columns are those that were asked for, whatever room there is.
    pub is_chosen: bool,
    /// What tracing has added to the time of each call, which is subtracted (`-O`).
    pub overhead_ns: u64,
}

impl Default for CallSummary {
    fn default() -> Self {
        use SummaryColumn::{AvgTime, Calls, Errors, Name, TimePercent, TotalTime};
        CallSummary {
            columns: vec![TimePercent, TotalTime, AvgTime, Calls, Errors, Name],
            sort: SummaryOrder::Time,
            wall: false,
            is_chosen: false,
            overhead_ns: 0,
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
        self.is_chosen = true;
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
        let time_ns = match stats.cpu_ns {
            Some(cpu_ns) if !self.wall => cpu_ns,
            _ => stats.wall_ns,
        };
        time_ns.saturating_sub(stats.calls.saturating_mul(self.overhead_ns))
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
            SummaryOrder::Time => {
                rows.sort_by_key(|row| std::cmp::Reverse(self.time_ns(row.1)));
            }
            SummaryOrder::By(column) => rows.sort_by_key(|(_, stats)| {
                std::cmp::Reverse(match column {
                    SummaryColumn::MinTime => Some(stats.shortest_ns),
                    SummaryColumn::MaxTime => Some(stats.longest_ns),
                    SummaryColumn::AvgTime => mean(stats),
                    SummaryColumn::Calls => Some(stats.calls),
                    SummaryColumn::Errors => Some(stats.errors),
                    SummaryColumn::TimePercent | SummaryColumn::TotalTime | SummaryColumn::Name => {
                        Some(self.time_ns(stats))
                    }
                    _ => spread_ns(column, stats),
                })
            }),
        }
    }

    /// Writes strace's table; nothing if no call was counted, as strace.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn write(&self, tally: &CallTally, to: &mut dyn Write) -> io::Result<()> {
        let table = self.table(tally);
        if table.rows.is_empty() {
            return Ok(());
        }
        table.write(&table.widths(SummaryColumn::width), to)
    }

    /// Writes the table in so many columns of a terminal: with the spread of the times where there
    /// is room for it, without the shares and means where there is none.  Columns that were asked
    /// for all stay.  Returns the columns of the spread that it shows though nobody asked for them.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn write_within(
        &self,
        tally: &CallTally,
        room: usize,
        to: &mut dyn Write,
    ) -> io::Result<&'static [SummaryColumn]> {
        if self.is_chosen {
            return self.write(tally, to).map(|()| &[][..]);
        }
        let with = |columns: Vec<SummaryColumn>| CallSummary { columns, ..self.clone() };
        for start in 0..=SPREAD.len() {
            let (name, numbers) = self.columns.split_last().unwrap_or((&SummaryColumn::Name, &[]));
            let columns = [numbers, &SPREAD[start..], &[*name]].concat();
            let table = with(columns).table(tally);
            let widths = table.widths(SummaryColumn::width);
            if Table::total_width(&widths) <= room {
                return table.write(&widths, to).map(|()| &SPREAD[start..]);
            }
        }
        let dropped = [SummaryColumn::AvgTime, SummaryColumn::TimePercent];
        for count in 0..=dropped.len() {
            let kept = self.columns.iter().filter(|column| !dropped[..count].contains(column));
            let table = with(kept.copied().collect()).table(tally);
            // No wider than what stands in it.
            let widths = table.widths(|column| column.heading().len());
            if Table::total_width(&widths) <= room || count == dropped.len() {
                return table.write(&widths, to).map(|()| &[][..]);
            }
        }
        Ok(&[])
    }

    fn table(&self, tally: &CallTally) -> Table {
        let total = tally.total();
        let all_ns = self.time_ns(&total);
        let rows = self.rows(tally.calls.iter());
        let rows = rows.iter().map(|(name, stats)| self.cells(name, stats, all_ns)).collect();
        let mut of_all = self.cells("total", &total, all_ns);
        if let Some(at) = self.columns.iter().position(|one| *one == SummaryColumn::TimePercent) {
            // Of nothing, too, as with strace.
            of_all[at] = "100.00".to_owned();
        }
        Table { columns: self.columns.clone(), rows, total: of_all }
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
            _ => spread_ns(*column, stats).map_or_else(|| "-".to_owned(), details::duration),
        };
        self.columns.iter().map(cell).collect()
    }
}

/// A table in texts.
struct Table {
    columns: Vec<SummaryColumn>,
    rows: Vec<Vec<String>>,
    total: Vec<String>,
}

impl Table {
    /// The width of each column: that of its widest cell, and at least `least`.
    fn widths(&self, least: impl Fn(SummaryColumn) -> usize) -> Vec<usize> {
        let width = |(index, column): (usize, &SummaryColumn)| {
            let cells = self.rows.iter().chain([&self.total]);
            let widest = cells.map(|row| row[index].chars().count()).max().unwrap_or(0);
            widest.max(least(*column))
        };
        self.columns.iter().enumerate().map(width).collect()
    }

    /// The width of a line of such columns.
    fn total_width(widths: &[usize]) -> usize {
        (widths.iter().sum::<usize>() + widths.len()).saturating_sub(1)
    }

    fn write(&self, widths: &[usize], to: &mut dyn Write) -> io::Result<()> {
        let headings: Vec<&str> = self.columns.iter().map(|column| column.heading()).collect();
        self.line(&headings, widths, to)?;
        let rules: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
        self.line(&rules, widths, to)?;
        for row in &self.rows {
            self.line(row, widths, to)?;
        }
        self.line(&rules, widths, to)?;
        self.line(&self.total, widths, to)
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

/// A time of the spread of the times from entry to exit; `None` for other columns, and where it is
/// not known.
fn spread_ns(column: SummaryColumn, stats: &CallStats) -> Option<u64> {
    let quantile = |share: f64| {
        let middle = stats.histogram.as_ref()?.quantile_ns(share)?;
        // The middle of a step may lie beyond the extremes.
        Some(middle.clamp(stats.shortest_ns, stats.longest_ns))
    };
    match column {
        _ if stats.calls == 0 => None,
        SummaryColumn::Shortest => Some(stats.shortest_ns),
        SummaryColumn::Half => quantile(0.5),
        SummaryColumn::NearlyAll => quantile(0.99),
        SummaryColumn::Longest => Some(stats.longest_ns),
        _ => None,
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
    fn no_line_is_wider_than_the_terminal_and_no_number_is_cut() {
        let summary = CallSummary::default();
        let within = |room| {
            let mut text = Vec::new();
            let shown = summary.write_within(&tally(), room, &mut text).unwrap();
            let text = String::from_utf8(text).unwrap();
            let first = text.lines().next().unwrap().to_owned();
            for column in SPREAD {
                let is_there = first.split_whitespace().any(|word| word == column.heading());
                assert_eq!(shown.contains(&column), is_there, "{room}: {first}");
            }
            text
        };
        let heading = |room| {
            let text = within(room);
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= room, "{text}");
            assert!(text.contains("0.000010") && text.contains("clock_nanosleep"), "{text}");
            let words = text.lines().next().unwrap().split_whitespace();
            words.collect::<Vec<_>>().join(" ")
        };
        let narrow = "% time seconds usecs/call calls errors syscall";
        assert_eq!(heading(120), "% time seconds usecs/call calls errors min p50 p99 max syscall");
        assert_eq!(heading(80), "% time seconds usecs/call calls errors max syscall");
        assert_eq!(heading(74), narrow);
        assert_eq!(heading(60), narrow);
        assert_eq!(heading(50), "% time seconds calls errors syscall");
        assert_eq!(heading(40), "seconds calls errors syscall");
        assert!(within(120).contains(" 5.00µs "), "{}", within(120));
        // Times of tracing are subtracted, and none falls below zero.
        let less = CallSummary { overhead_ns: 2_500, ..CallSummary::default() };
        assert!(shown(&less).contains(" 0.000008 "), "{}", shown(&less));
        assert!(shown(&less).contains(" 0.000001 "), "{}", shown(&less));
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
