//! Accounting of processes: sums by group, the tree, and the sorted list of `--top`.
//!
//! CPU time is the exact one if it is known, else that in ticks.  Sums leave out all threads except
//! the first of each process, since its numbers include theirs.

use layout::{Account, By, Grouping, Measure, Options, Order, Rank, Role, Row, Top};
use sample::{Cells, Kind, Unit};

use super::fields::*;
use super::switches::{PROCESS_OPTIONS, USER_LIST};
use super::users::UserList;
use super::values::{further_threads, memory};
use crate::process_counters::attributed::NANOSECONDS_A_TICK;

/// The process id: the first label of an instance's name.
pub(crate) fn number(cells: &Cells<'_>) -> Option<u64> {
    let name = cells.name();
    let end = name.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(name.len());
    std::str::from_utf8(&name[..end]).ok()?.parse().ok()
}

pub(super) fn is_process(cells: &Cells<'_>) -> bool {
    let tgid = cells.raw(TGID);
    tgid.is_none() || tgid == number(cells)
}

fn cpu_ns(cells: &Cells<'_>) -> Option<f64> {
    cells.count(RUN_TIME).or_else(|| Some(ticks(cells, USER_TIME)? + ticks(cells, SYSTEM_TIME)?))
}

fn ticks(cells: &Cells<'_>, field: usize) -> Option<f64> {
    Some(cells.count(field)? * NANOSECONDS_A_TICK as f64)
}

/// Writes the user's name: from the display options' list of users, else the recorded one.
pub(super) fn write_user(cells: &Cells<'_>, options: &Options, out: &mut Vec<u8>) -> bool {
    write_user_of(cells, options, [USER, UID], out)
}

/// Writes a user from other columns of name and id.
pub(crate) fn write_user_of(
    cells: &Cells<'_>,
    options: &Options,
    [user, uid]: [usize; 2],
    out: &mut Vec<u8>,
) -> bool {
    let number = cells.raw(uid).and_then(|uid| u32::try_from(uid).ok());
    let users = options.value(&USER_LIST).custom::<UserList>();
    match number.and_then(|uid| users?.name(uid)) {
        Some(name) => {
            out.extend_from_slice(name);
            true
        }
        None => write_text(cells, user, uid, out),
    }
}

/// Writes a text, or a number if there is no text.
pub(crate) fn write_text(
    cells: &Cells<'_>,
    field: usize,
    number: usize,
    out: &mut Vec<u8>,
) -> bool {
    if let Some(text) = cells.text(field) {
        out.extend_from_slice(text);
        return true;
    }
    let Some(number) = cells.raw(number) else { return false };
    layout::number::push_u64(out, number);
    true
}

/// A measure that is a counter.
const fn counter(
    name: &'static str,
    unit: Unit,
    heading: &'static str,
    of: fn(&Cells<'_>) -> Option<f64>,
) -> Measure {
    Measure { name, unit, kind: Kind::Counter, heading, of }
}

/// A measure that is a gauge.
const fn level(
    name: &'static str,
    unit: Unit,
    heading: &'static str,
    of: fn(&Cells<'_>) -> Option<f64>,
) -> Measure {
    Measure { name, unit, kind: Kind::Gauge, heading, of }
}

use Unit::{Bytes, Count, Kibibytes, Nanoseconds};

pub(super) static ACCOUNT: Account = Account {
    role: Role::Living,
    title: "PROCESSES",
    counts: is_process,
    inferred: |_| false,
    groupings: &[
        Grouping {
            name: "command",
            write: |cells, _, out| {
                let text = cells.text(COMMAND);
                out.extend_from_slice(text.unwrap_or_default());
                text.is_some()
            },
        },
        Grouping { name: "user", write: write_user },
        Grouping {
            name: "cgroup",
            write: |cells, _, out| write_text(cells, CGROUP, CGROUP_ID, out),
        },
    ],
    number,
    parent: |cells| cells.raw(PARENT),
    label: |cells| cells.text(COMMAND),
    measures: &[
        counter("cpu", Nanoseconds, "CPU%", cpu_ns),
        counter("user", Nanoseconds, "User%", |cells| ticks(cells, USER_TIME)),
        counter("system", Nanoseconds, "Sys%", |cells| ticks(cells, SYSTEM_TIME)),
        level("threads", Count, "Thrds", |cells| cells.level(THREADS)),
        level("virtual", Kibibytes, "", |cells| cells.level(VIRTUAL)),
        level("resident", Kibibytes, "RSS", |cells| cells.level(RESIDENT)),
        counter("read_bytes", Bytes, "RKB", |cells| cells.count(READ_BYTES)),
        counter("write_bytes", Bytes, "WKB", |cells| cells.count(WRITE_BYTES)),
        counter("read_chars", Bytes, "", |cells| cells.count(READ_CHARS)),
        counter("write_chars", Bytes, "", |cells| cells.count(WRITE_CHARS)),
        counter("read_calls", Count, "", |cells| cells.count(READ_CALLS)),
        counter("write_calls", Count, "", |cells| cells.count(WRITE_CALLS)),
        counter("cancelled_write_bytes", Bytes, "", |cells| cells.count(CANCELLED_WRITE_BYTES)),
        counter("major_faults", Count, "MajF", |cells| cells.count(MAJOR_FAULTS)),
        counter("minor_faults", Count, "MinF", |cells| cells.count(MINOR_FAULTS)),
        counter("voluntary_switches", Count, "", |cells| cells.count(VOLUNTARY_SWITCHES)),
        counter("involuntary_switches", Count, "", |cells| cells.count(INVOLUNTARY_SWITCHES)),
    ],
    orders: &[
        order("time", &["cpu"]),
        order("syst", &["system"]),
        order("usrt", &["user"]),
        Order { name: "accum", measures: &["cpu"], whole_life: true },
        order("vsz", &["virtual"]),
        order("rss", &["resident"]),
        order("rkb", &["read_bytes"]),
        order("wkb", &["write_bytes"]),
        order("iokb", &["read_bytes", "write_bytes"]),
        order("rkbc", &["read_chars"]),
        order("wkbc", &["write_chars"]),
        order("iokbc", &["read_chars", "write_chars"]),
        order("ioall", &["read_bytes", "write_bytes", "read_chars", "write_chars"]),
        order("rsys", &["read_calls"]),
        order("wsys", &["write_calls"]),
        order("iosys", &["read_calls", "write_calls"]),
        order("iocncl", &["cancelled_write_bytes"]),
        order("majf", &["major_faults"]),
        order("minf", &["minor_faults"]),
        order("flt", &["major_faults", "minor_faults"]),
        order("vctx", &["voluntary_switches"]),
        order("nctx", &["involuntary_switches"]),
        order("thread", &["threads"]),
    ],
};

const fn order(name: &'static str, measures: &'static [&'static str]) -> Order {
    Order { name, measures, whole_life: false }
}

/// The change of a counter in the interval; for a new process its whole value.
fn gain(row: &Row<'_>, field: usize) -> Option<f64> {
    match row.is_new() {
        true => row.raw(field).map(|raw| raw as f64),
        false => row.delta(field),
    }
}

fn gains(row: &Row<'_>, fields: &[usize]) -> Option<f64> {
    fields.iter().map(|&field| gain(row, field)).sum()
}

/// How much counters of bytes grew, in KiB.
fn kibibytes(row: &Row<'_>, fields: &[usize]) -> Option<f64> {
    Some(gains(row, fields)? / 1024.0)
}

/// `None` under `--exact`: collectl does not implement this order, and sorts by process id.
fn unless_exact(row: &Row<'_>, value: Option<f64>) -> Option<f64> {
    if row.exact() { Some(0.0) } else { value }
}

const fn rank(
    kind: &'static str,
    name: &'static str,
    about: &'static str,
    of: fn(&Row<'_>) -> Option<f64>,
) -> Rank {
    Rank { name, about, kind, by: By::Most(of), shown_by: None }
}

pub(super) static TOP: Top = Top {
    title: |options| match options.value(&PROCESS_OPTIONS).has('f') {
        true => "TOP PROCESSES sorted by $order (counters are cumulative) $clock",
        false => "TOP PROCESSES sorted by $order (counters are $rate) $clock",
    },
    blocks: &[],
    keep: |row, value| !(row.options().value(&PROCESS_OPTIONS).has('z') && value == Some(0.0)),
    tie: |left, right| number(&left.now()).cmp(&number(&right.now())),
    ranks: &[
        rank("Memory", "vsz", "size of the address space", |row| memory(row, VIRTUAL)),
        rank("Memory", "rss", "resident memory", |row| memory(row, RESIDENT)),
        rank("Time", "syst", "CPU time in the kernel", |row| gain(row, SYSTEM_TIME)),
        rank("Time", "usrt", "CPU time in user mode", |row| gain(row, USER_TIME)),
        rank("Time", "time", "CPU time", |row| gains(row, &[SYSTEM_TIME, USER_TIME])),
        rank("Time", "accum", "CPU time since it began", |row| {
            Some(row.raw(SYSTEM_TIME)? as f64 + row.raw(USER_TIME)? as f64)
        }),
        rank("I/O", "rkb", "read from storage", |row| kibibytes(row, &[READ_BYTES])),
        rank("I/O", "wkb", "written to storage", |row| kibibytes(row, &[WRITE_BYTES])),
        rank("I/O", "iokb", "both", |row| kibibytes(row, &[READ_BYTES, WRITE_BYTES])),
        rank("I/O", "rkbc", "bytes requested by read system calls", |row| {
            unless_exact(row, kibibytes(row, &[READ_CHARS]))
        }),
        rank("I/O", "wkbc", "bytes passed to write system calls", |row| {
            kibibytes(row, &[WRITE_CHARS])
        }),
        rank("I/O", "iokbc", "both", |row| kibibytes(row, &[READ_CHARS, WRITE_CHARS])),
        rank("I/O", "ioall", "iokb and iokbc", |row| {
            kibibytes(row, &[READ_BYTES, WRITE_BYTES, READ_CHARS, WRITE_CHARS])
        }),
        rank("I/O", "rsys", "reading calls", |row| gain(row, READ_CALLS)),
        rank("I/O", "wsys", "writing calls", |row| gain(row, WRITE_CALLS)),
        rank("I/O", "iosys", "both", |row| gains(row, &[READ_CALLS, WRITE_CALLS])),
        rank("I/O", "iocncl", "cancelled writes", |row| kibibytes(row, &[CANCELLED_WRITE_BYTES])),
        rank("Page faults", "majf", "with I/O", |row| unless_exact(row, gain(row, MAJOR_FAULTS))),
        rank("Page faults", "minf", "without I/O", |row| gain(row, MINOR_FAULTS)),
        rank("Page faults", "flt", "both", |row| gains(row, &[MAJOR_FAULTS, MINOR_FAULTS])),
        Rank {
            shown_by: Some((&PROCESS_OPTIONS, 'x')),
            ..rank("Context switches", "vctx", "voluntary", |row| gain(row, VOLUNTARY_SWITCHES))
        },
        Rank {
            shown_by: Some((&PROCESS_OPTIONS, 'x')),
            ..rank("Context switches", "nctx", "forced", |row| gain(row, INVOLUNTARY_SWITCHES))
        },
        Rank {
            name: "cpu",
            about: "the CPU that it ran on, ascending",
            kind: "Others",
            by: By::Least(|row| row.gauge(PROCESSOR)),
            shown_by: None,
        },
        Rank {
            name: "pid",
            about: "process id, ascending",
            kind: "Others",
            by: By::Least(|row| number(&row.now()).map(|number| number as f64)),
            shown_by: None,
        },
        rank("Others", "thread", "threads", further_threads),
    ],
};
