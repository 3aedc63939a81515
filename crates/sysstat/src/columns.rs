//! Columns of tables, as data, and what most of them are made of.

use crate::SysstatError;
use crate::format::{Unit, percent};
use crate::values::Row;

/// A column: its title, its width with the blank before it, and its value of one instance or several.
#[derive(Clone, Copy)]
pub(crate) struct Column {
    /// The heading.
    pub(crate) title: &'static str,
    /// With the blank before it.
    pub(crate) width: usize,
    /// How the number is written.
    pub(crate) unit: Unit,
    /// The number; `None` if it is missing.
    pub(crate) value: fn(&[Row<'_>]) -> Option<f64>,
}

macro_rules! column {
    ($title:literal, $width:literal, $unit:ident, $value:expr) => {
        Column { title: $title, width: $width, unit: Unit::$unit, value: $value }
    };
}
pub(crate) use column;

/// The sum of counters over instances, a second.
pub(crate) fn rate(rows: &[Row<'_>], fields: &[&str]) -> Option<f64> {
    rows.iter().filter_map(|row| row.rates(fields)).reduce(|sum, rate| sum + rate)
}

/// The sum of changes of counters over instances.
pub(crate) fn change(rows: &[Row<'_>], fields: &[&str]) -> Option<f64> {
    rows.iter().filter_map(|row| row.changes(fields)).reduce(|sum, change| sum + change)
}

/// The ticks of a CPU in a span, guests within user and nice.
pub(crate) fn cpu_ticks(row: &Row<'_>) -> Option<f64> {
    row.changes(&["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"])
}

/// The share of some kinds of CPU time, less that of others.
pub(crate) fn cpu_share(rows: &[Row<'_>], fields: &[&str], without: &[&str]) -> Option<f64> {
    let all = rows.iter().filter_map(cpu_ticks).reduce(|sum, ticks| sum + ticks)?;
    if all <= 0.0 {
        // A single CPU was idle without ticks.  All together always have some, or nothing is known.
        let is_idle = fields == ["idle"] && rows.first().is_some_and(|row| !row.name().is_empty());
        return Some(if is_idle { 100.0 } else { 0.0 });
    }
    let less = change(rows, without).unwrap_or(0.0);
    // Guests are counted later than what they are part of.
    Some(percent((change(rows, fields)? - less).max(0.0), all))
}

/// Shares of CPU time in columns of a width: a title, the kinds, and the kinds within them that are
/// not meant.
macro_rules! cpu_shares {
    ($width:literal: $(($title:literal, $fields:expr, $without:expr)),* $(,)?) => {
        &[$(column!($title, $width, Percent, |rows| $crate::columns::cpu_share(rows, &$fields, &$without))),*]
    };
}
pub(crate) use cpu_shares;

/// The value of `--dec`.
pub(crate) fn decimals(text: &str) -> Result<usize, SysstatError> {
    let digits = text.parse().ok().filter(|digits| *digits <= 2);
    digits.ok_or_else(|| SysstatError::Usage(format!("--dec takes 0, 1 or 2, not {text}")))
}
