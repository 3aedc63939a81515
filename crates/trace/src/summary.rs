//! The table of calls: strace's columns, then what strace does not have.
//!
//! ```text
//! % time     seconds  usecs/call     calls    errors syscall
//! ------ ----------- ----------- --------- --------- ----------------
//!  63.13    0.000327           2       156        65 openat
//! ------ ----------- ----------- --------- --------- ----------------
//! 100.00    0.000518           1       402        65 total
//! ```
//!
//! Widths are strace's (6.1) and grow with what stands in a column, as there.  What `seconds` means
//! is the caller's choice: time on a CPU, as strace's name for it promises, or from begin to end.

use std::borrow::Cow;
use std::io::{self, Write};

use crate::{CallId, Stats, Tally};

pub(crate) mod details;
pub(crate) mod machine;

/// A column of the table, in strace's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Share of the time of all calls.
    TimePercent,
    /// Time in all.
    TotalTime,
    /// The shortest call.
    MinTime,
    /// The longest call.
    MaxTime,
    /// Time of a call, on average.
    AvgTime,
    /// Calls that ended.
    Calls,
    /// Calls that gave an error.
    Errors,
    /// Name of the call.
    Name,
}

/// What the rows are ordered by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// The column, largest first; names in their order.
    By(Column),
    /// Time in all, largest first.
    #[default]
    Time,
    /// As the kernel numbers the calls.
    None,
}

/// Names of columns, each with its short forms, as `-U` and `-S` take them.
const NAMES: [(&[&str], Column); 8] = [
    (&["time-percent", "time_percent"], Column::TimePercent),
    (&["total-time", "total_time", "time", "time-total", "time_total"], Column::TotalTime),
    (&["min-time", "min_time", "shortest", "time-min", "time_min"], Column::MinTime),
    (&["max-time", "max_time", "longest", "time-max", "time_max"], Column::MaxTime),
    (&["avg-time", "avg_time", "time-avg", "time_avg"], Column::AvgTime),
    (&["calls", "count"], Column::Calls),
    (&["errors", "error"], Column::Errors),
    (&["name", "syscall", "syscall-name", "syscall_name"], Column::Name),
];

impl Column {
    /// The column of a name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        NAMES.iter().find(|(names, _)| names.contains(&name)).map(|(_, column)| *column)
    }

    fn heading(self) -> &'static str {
        match self {
            Column::TimePercent => "% time",
            Column::TotalTime => "seconds",
            Column::MinTime => "shortest",
            Column::MaxTime => "longest",
            Column::AvgTime => "usecs/call",
            Column::Calls => "calls",
            Column::Errors => "errors",
            Column::Name => "syscall",
        }
    }

    fn width(self) -> usize {
        match self {
            Column::TimePercent => 6,
            Column::TotalTime | Column::AvgTime => 11,
            Column::MinTime | Column::MaxTime => 8,
            Column::Calls | Column::Errors => 9,
            Column::Name => 16,
        }
    }
}

impl Sort {
    /// The order of a name; `none` keeps the kernel's.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "none" | "nothing" => Some(Sort::None),
            _ => Column::parse(name).map(Sort::By),
        }
    }
}

/// How a [`Tally`] is shown.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The columns, in their order.
    pub columns: Vec<Column>,
    /// The order of the rows.
    pub sort: Sort,
    /// Whether times are those from begin to end; else those on a CPU, where they are known.
    pub wall: bool,
}

impl Default for Summary {
    fn default() -> Self {
        use Column::{AvgTime, Calls, Errors, Name, TimePercent, TotalTime};
        Summary {
            columns: vec![TimePercent, TotalTime, AvgTime, Calls, Errors, Name],
            sort: Sort::Time,
            wall: false,
        }
    }
}

/// One row: what it is called and what was counted.
pub type Row<'a> = (Cow<'a, str>, &'a Stats);

impl Summary {
    /// Reads the columns of `-U`: names with commas between them, each once.
    ///
    /// # Errors
    /// With what is wrong with it.
    pub fn set_columns(&mut self, names: &str) -> Result<(), String> {
        self.columns.clear();
        for name in names.split(',') {
            let column = Column::parse(name).ok_or_else(|| {
                let known: Vec<&str> = NAMES.iter().map(|(names, _)| names[0]).collect();
                format!("no column is called `{name}`: there are {}", known.join(", "))
            })?;
            if self.columns.contains(&column) {
                return Err(format!("the column `{name}` stands there twice"));
            }
            self.columns.push(column);
        }
        Ok(())
    }

    /// The time of these calls that the table shows.
    #[must_use]
    pub fn time_ns(&self, stats: &Stats) -> u64 {
        match stats.cpu_ns {
            Some(cpu_ns) if !self.wall => cpu_ns,
            _ => stats.wall_ns,
        }
    }

    /// The calls in the order asked for, those of 32-bit programs with `@32` at their names if
    /// there are others too.
    #[must_use]
    pub fn rows<'a>(&self, calls: impl Iterator<Item = (&'a CallId, &'a Stats)>) -> Vec<Row<'a>> {
        let mut rows: Vec<(&CallId, Row<'a>)> = calls
            .filter(|(_, stats)| stats.calls > 0)
            .map(|(id, stats)| (id, (id.name(), stats)))
            .collect();
        let mixed = rows.iter().any(|(id, _)| id.abi != rows[0].0.abi);
        for (id, (name, _)) in &mut rows {
            if mixed && id.abi == crate::Abi::I386 {
                *name = Cow::Owned(format!("{name}@32"));
            }
        }
        let mut rows: Vec<Row<'a>> = rows.into_iter().map(|(_, row)| row).collect();
        self.order(&mut rows);
        rows
    }

    /// Puts rows in the order asked for; equal ones stay as they are.
    pub fn order(&self, rows: &mut [Row<'_>]) {
        let mean = |stats: &Stats| self.time_ns(stats).checked_div(stats.calls);
        match self.sort {
            Sort::None => {}
            Sort::By(Column::Name) => rows.sort_by(|one, other| one.0.cmp(&other.0)),
            Sort::Time | Sort::By(Column::TimePercent | Column::TotalTime) => {
                rows.sort_by_key(|row| std::cmp::Reverse(self.time_ns(row.1)));
            }
            Sort::By(Column::MinTime) => {
                rows.sort_by_key(|row| std::cmp::Reverse(row.1.shortest_ns));
            }
            Sort::By(Column::MaxTime) => {
                rows.sort_by_key(|row| std::cmp::Reverse(row.1.longest_ns));
            }
            Sort::By(Column::AvgTime) => rows.sort_by_key(|row| std::cmp::Reverse(mean(row.1))),
            Sort::By(Column::Calls) => rows.sort_by_key(|row| std::cmp::Reverse(row.1.calls)),
            Sort::By(Column::Errors) => rows.sort_by_key(|row| std::cmp::Reverse(row.1.errors)),
        }
    }

    /// Writes strace's table.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write(&self, tally: &Tally, to: &mut dyn Write) -> io::Result<()> {
        let total = tally.total();
        let all_ns = self.time_ns(&total);
        let rows = self.rows(tally.calls.iter());
        let mut cells: Vec<Vec<String>> =
            rows.iter().map(|(name, stats)| self.cells(name, stats, all_ns)).collect();
        cells.push(self.cells("total", &total, all_ns));
        let width = |(index, column): (usize, &Column)| {
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

    fn cells(&self, name: &str, stats: &Stats, all_ns: u64) -> Vec<String> {
        let time_ns = self.time_ns(stats);
        let cell = |column: &Column| match column {
            Column::TimePercent if all_ns == 0 => "0.00".to_owned(),
            Column::TimePercent => format!("{:.2}", time_ns as f64 / all_ns as f64 * 100.0),
            Column::TotalTime => seconds(time_ns),
            Column::MinTime => seconds(if stats.calls > 0 { stats.shortest_ns } else { 0 }),
            Column::MaxTime => seconds(stats.longest_ns),
            Column::AvgTime => (time_ns / stats.calls.max(1) / 1_000).to_string(),
            Column::Calls => stats.calls.to_string(),
            Column::Errors if stats.errors == 0 => String::new(),
            Column::Errors => stats.errors.to_string(),
            Column::Name => name.to_owned(),
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
                Column::Name => line.push_str(&format!("{cell:<width$} ")),
                _ => line.push_str(&format!("{cell:>width$} ")),
            }
        }
        // A name in the last column is not filled up; a number that is missing there is.
        let line = match self.columns.last() {
            Some(Column::Name) => line.trim_end(),
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

    fn tally() -> Tally {
        let mut tally = Tally::default();
        tally.add(CallId::native(257), 3, 5_000, Some(4_000));
        tally.add(CallId::native(257), -2, 3_000, Some(2_000));
        tally.add(CallId::native(230), 0, 1_500_000_000, Some(10_000));
        tally
    }

    fn shown(summary: &Summary) -> String {
        let mut text = Vec::new();
        summary.write(&tally(), &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn the_table_has_straces_shape() {
        assert_eq!(
            shown(&Summary::default()),
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
        let mut summary = Summary { wall: true, ..Summary::default() };
        summary.set_columns("name,max-time,calls").unwrap();
        summary.sort = Sort::parse("calls").unwrap();
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
        assert_eq!(Sort::parse("nosuch"), None);
    }
}
