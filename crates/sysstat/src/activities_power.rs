//! The tables of `sar -m`, as data.

use crate::activities::{Activity, Chosen, Line, level};
use crate::columns::{Column, column};
use crate::format::Unit;
use crate::sources::{ALL_CPUS, CPU_FREQUENCIES};
use crate::values::Span;

/// All CPUs, and those that are chosen; an offline one has the frequency 0 in daily files.
fn frequency_lines<'a>(span: &Span<'a>, chosen: &Chosen) -> Vec<Line<'a>> {
    let lines = span.rows(CPU_FREQUENCIES).into_iter().map(|row| (row.name(), vec![row]));
    lines
        .filter(|(name, rows)| match name.as_str() {
            ALL_CPUS => chosen.cpus.has_sum(),
            name => chosen.cpus.shows(name) && rows[0].count("frequency_mhz") > Some(0),
        })
        .collect()
}

/// The tables of `-m`, by keyword.
pub(crate) static POWER: &[Activity] = &[Activity {
    option: "-m CPU",
    sources: &[CPU_FREQUENCIES],
    label: Some("CPU"),
    columns: &[column!("MHz", 10, Plain, |rows| Some(level(rows, "frequency_mhz")? / 100.0))],
    lines: frequency_lines,
}];
