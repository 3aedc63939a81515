//! The tables of `vmstat` that are not its line: forks, counters, disks, slabs.

use std::fmt::Write as _;

use crate::SysstatError;
use crate::free::kib;
use crate::machine::Clock;
use crate::values::{Row, Span};

/// A table in place of the line.
pub(crate) enum Table {
    /// `-f`.
    Forks,
    /// `-s`.
    Counters,
    /// `-d`.
    Disks,
    /// `-D`.
    DiskSums,
    /// `-p`: of this disk or partition.
    Partition(String),
    /// `-m`.
    Slabs,
}

/// Whether columns are wide, the clock of times if they are shown, and whether a heading is due.
type Shape<'a> = (bool, Option<&'a Clock>, bool);

impl Table {
    /// The sources that it reads.
    pub(crate) fn sources(&self) -> &'static [&'static str] {
        match self {
            Table::Forks => &["cpu"],
            Table::Counters => &["cpu", "memory"],
            Table::Disks | Table::DiskSums | Table::Partition(_) => &["disk"],
            Table::Slabs => &["slab"],
        }
    }

    /// Writes it.
    pub(crate) fn show(
        &self,
        span: &Span<'_>,
        unit: (f64, char),
        shape: Shape<'_>,
        out: &mut String,
    ) -> Result<(), SysstatError> {
        let unread = SysstatError::unread;
        match self {
            Table::Forks => {
                let row = span.row("cpu").ok_or_else(|| unread("/proc/stat"))?;
                let _ = writeln!(out, "{:>13} forks", row.count("forks").unwrap_or(0));
            }
            Table::Counters => counters(span, unit, out).ok_or_else(|| unread("/proc/stat"))?,
            Table::Disks => disks(span, shape, out),
            Table::DiskSums => disk_sums(span, out),
            Table::Partition(name) => partition(span, name, shape.2, out)?,
            Table::Slabs if span.has("slab") => slabs(span, out),
            Table::Slabs => return Err(unread("/proc/slabinfo")),
        }
        Ok(())
    }
}

fn counters(span: &Span<'_>, (unit_bytes, letter): (f64, char), out: &mut String) -> Option<()> {
    let (cpu, memory) = (span.row("cpu")?, span.row("memory")?);
    let total = kib(&memory, "total");
    let mut amount = |kib: f64, name: &str| {
        let value = (kib * 1024.0 / unit_bytes).floor();
        let _ = writeln!(out, "{value:>13.0} {letter} {name}");
    };
    let available = memory.level("available").unwrap_or(kib(&memory, "free"));
    amount(total, "total memory");
    amount(total - available, "used memory");
    amount(kib(&memory, "active"), "active memory");
    amount(kib(&memory, "inactive"), "inactive memory");
    amount(kib(&memory, "free"), "free memory");
    amount(kib(&memory, "buffers"), "buffer memory");
    amount(kib(&memory, "cached") + kib(&memory, "slab_reclaimable"), "swap cache");
    amount(kib(&memory, "swap_total"), "total swap");
    amount(kib(&memory, "swap_total") - kib(&memory, "swap_free"), "used swap");
    amount(kib(&memory, "swap_free"), "free swap");
    let count = |row: &Row<'_>, field: &str| row.count(field).unwrap_or(0) as f64;
    let mut line = |value: f64, name: &str| {
        let _ = writeln!(out, "{value:>13.0} {name}");
    };
    let guests = ["guest", "guest_nice"];
    line(count(&cpu, "user") - count(&cpu, guests[0]), "non-nice user cpu ticks");
    line(count(&cpu, "nice") - count(&cpu, guests[1]), "nice user cpu ticks");
    line(count(&cpu, "system"), "system cpu ticks");
    line(count(&cpu, "idle"), "idle cpu ticks");
    line(count(&cpu, "iowait"), "IO-wait cpu ticks");
    line(count(&cpu, "irq"), "IRQ cpu ticks");
    line(count(&cpu, "softirq"), "softirq cpu ticks");
    line(count(&cpu, "steal"), "stolen cpu ticks");
    line(count(&cpu, guests[0]), "non-nice guest cpu ticks");
    line(count(&cpu, guests[1]), "nice guest cpu ticks");
    line(count(&memory, "page_in"), "K paged in");
    line(count(&memory, "page_out"), "K paged out");
    line(count(&memory, "swap_in"), "pages swapped in");
    line(count(&memory, "swap_out"), "pages swapped out");
    line(count(&cpu, "interrupts"), "interrupts");
    line(count(&cpu, "context_switches"), "CPU context switches");
    line((span.ended_ns as f64 / 1e9 - cpu.seconds).floor(), "boot time");
    line(count(&cpu, "forks"), "forks");
    Some(())
}

const DISK_FIELDS: [&str; 8] = [
    "reads",
    "reads_merged",
    "read_sectors",
    "read_ms",
    "writes",
    "writes_merged",
    "write_sectors",
    "write_ms",
];

fn disks(span: &Span<'_>, (wide, clock, is_due): Shape<'_>, out: &mut String) {
    let columns = ["total", "merged", "sectors", "ms"];
    let widths: [usize; 4] = if wide { [9, 9, 11, 11] } else { [6, 6, 7, 7] };
    if is_due {
        out.push_str(match wide {
            true => {
                "disk- -------------------reads------------------- \
                 -------------------writes------------------ ------IO-------"
            }
            false => {
                "disk- ------------reads------------ ------------writes----------- -----IO------"
            }
        });
        out.push_str(if clock.is_some() { " -----timestamp-----\n" } else { "\n" });
        out.push_str("     ");
        for (name, width) in columns.iter().chain(&columns).zip(widths.iter().chain(&widths)) {
            let _ = write!(out, " {name:>width$}");
        }
        let width = if wide { 7 } else { 6 };
        let _ = write!(out, " {:>width$} {:>width$}", "cur", "sec");
        if let Some(clock) = clock {
            let _ = write!(out, " {:>19}", clock.zone_name(span.ended_ns));
        }
        out.push('\n');
    }
    let is_disk = |row: &Row<'_>| row.text("kind") != "partition";
    for row in span.rows("disk").iter().filter(|row| is_disk(row)) {
        let _ = write!(out, "{:<5}", row.name());
        for (field, width) in DISK_FIELDS.iter().zip(widths.iter().chain(&widths)) {
            let _ = write!(out, " {:>width$}", row.count(field).unwrap_or(0));
        }
        let width = if wide { 7 } else { 6 };
        let seconds = row.count("busy_ms").unwrap_or(0) / 1000;
        let _ = write!(out, " {:>width$} {seconds:>width$}", row.count("in_flight").unwrap_or(0));
        if let Some(clock) = clock {
            let _ = write!(out, " {}", clock.stamp(span.ended_ns));
        }
        out.push('\n');
    }
}

fn disk_sums(span: &Span<'_>, out: &mut String) {
    let rows = span.rows("disk");
    let (parts, disks): (Vec<&Row<'_>>, Vec<&Row<'_>>) =
        rows.iter().partition(|row| row.text("kind") == "partition");
    let sum = |field: &str| disks.iter().filter_map(|row| row.count(field)).sum::<u64>();
    let lines = [
        (disks.len() as u64, "disks"),
        (parts.len() as u64, "partitions"),
        (sum("reads"), "total reads"),
        (sum("reads_merged"), "merged reads"),
        (sum("read_sectors"), "read sectors"),
        (sum("read_ms"), "milli reading"),
        (sum("writes"), "writes"),
        (sum("writes_merged"), "merged writes"),
        (sum("write_sectors"), "written sectors"),
        (sum("write_ms"), "milli writing"),
        (sum("in_flight"), "inprogress IO"),
        (sum("busy_ms") / 1000, "milli spent IO"),
        (sum("weighted_ms") / 1000, "milli weighted IO"),
    ];
    for (value, name) in lines {
        let _ = writeln!(out, "{value:>13} {name}");
    }
}

fn partition(
    span: &Span<'_>,
    name: &str,
    is_due: bool,
    out: &mut String,
) -> Result<(), SysstatError> {
    let rows = span.rows("disk");
    let row = rows.iter().find(|row| row.name() == name);
    let row = row.ok_or_else(|| {
        let name = text::escape::escape(name.as_bytes());
        SysstatError::NotThere(format!("disk/partition {name} not found"))
    })?;
    if is_due {
        let _ = writeln!(
            out,
            "{name:<9}{:>12}{:>18}{:>12}{:>18}",
            "reads", "read sectors", "writes", "requested writes"
        );
    }
    let count = |field| row.count(field).unwrap_or(0);
    let _ = writeln!(
        out,
        "{:>21}{:>18}{:>12}{:>18}",
        count("reads"),
        count("read_sectors"),
        count("writes"),
        count("write_sectors")
    );
    Ok(())
}

/// The lines after which the heading of slabs is repeated.
const SLABS_A_SCREEN: usize = 21;

fn slabs(span: &Span<'_>, out: &mut String) {
    let mut rows = span.rows("slab");
    rows.sort_by_key(Row::name);
    for (index, row) in rows.iter().enumerate() {
        if index.is_multiple_of(SLABS_A_SCREEN) {
            let _ = writeln!(
                out,
                "{:<24} {:>6} {:>6} {:>6} {:>6}",
                "Cache", "Num", "Total", "Size", "Pages"
            );
        }
        let level = |field| row.level(field).unwrap_or(0.0);
        // The program calls the objects of a slab "Pages".
        let _ = writeln!(
            out,
            "{:<24} {:>6} {:>6} {:>6} {:>6}",
            row.name(),
            level("objects_active"),
            level("objects"),
            level("object_size"),
            level("objects_per_slab")
        );
    }
}
