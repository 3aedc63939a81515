//! How collectl shows processes: three tables of lines (`--procopts i` and `m` select the second
//! and the third) and the lines of its `.prc` plot files.
//!
//! A line is a single cell that a function writes: its columns depend on too many letters of
//! `--procopts` for a table of cells.  [`super::values`] has the numbers, [`command`] the last
//! column.

use std::cmp::Ordering;

use layout::number::{Scale, pad_left, pad_right, push_scaled, push_whole};
use layout::text::escape_into;
use layout::{
    Block, Cell, DisplayOrder, Frame, Layout, Options, Part, Plot, PlotColumn, Row, Shape, Show,
};
use sample::Level;

use super::fields::*;
use super::selectors::{ProcessFacts, Selectors};
use super::switches::{PROCESS_FILTER, PROCESS_OPTIONS, PROCESS_STATE};
use super::values::{
    cpu_percent, cpu_ticks, cpu_total_ticks, faults, further_threads, kilobytes, memory, pid,
    process_of, push_accumulated, push_hours, push_seconds, push_start, switches, user,
};
use command::{command_line, push_command};

mod command;

/// The width of user names by default, and with `--procopts u` without a number.
const USER_WIDTH: usize = 8;
const USER_WIDTH_WIDE: usize = 12;

pub(super) const LAYOUTS: &[Layout] = &[Layout {
    level: Level::Detail,
    headings_each_time: Some(|options| options.value(&PROCESS_FILTER).is_set()),
    position: DisplayOrder {
        verbose: 120,
        plot: 110,
        lexpr: 1510,
        gexpr: 1510,
        ..DisplayOrder::LAST
    },
    verbose: &[
        Block { when: is_usual, show: Show::Headed(headings, &[Cell::written("", line)]), ..BLOCK },
        Block { when: is_io, show: Show::Headed(headings, &[Cell::written("", io_line)]), ..BLOCK },
        Block {
            when: is_memory,
            show: Show::Headed(headings, &[Cell::written("", memory_line)]),
            ..BLOCK
        },
    ],
    plot: Some(Plot {
        tag: "PRC",
        extension: "prc",
        shape: Shape::Lines,
        order: Some(by_digits),
        columns: PLOT_COLUMNS,
        ..Plot::EMPTY
    }),
    keep: keeps,
    keep_reads: |_| None,
    order: Some(by_number),
    from_second_reading: true,
    account: Some(&super::account::ACCOUNT),
    top: Some(&super::account::TOP),
    digest: Some(&super::digest::DIGEST),
    ..Layout::EMPTY
}];

const BLOCK: Block = Block { when: |_| true, title: "", headings: &[], show: Show::Cells(&[]) };

fn is_usual(options: &Options) -> bool {
    !is_io(options) && !is_memory(options)
}

fn is_io(options: &Options) -> bool {
    options.value(&PROCESS_OPTIONS).has('i')
}

fn is_memory(options: &Options) -> bool {
    options.value(&PROCESS_OPTIONS).has('m') && !is_io(options)
}

fn user_width(options: &Options) -> usize {
    let given = options.value(&PROCESS_OPTIONS);
    match given.has('u') {
        true => given.number_behind('u').unwrap_or(USER_WIDTH_WIDE),
        false => USER_WIDTH,
    }
}

/// Whether to show the columns of I/O: not with `--procopts I`, and not if the header of a collectl
/// recording says that it has none.
fn has_io(frame: &Frame<'_>) -> bool {
    let flags = frame.meta.get("flags").filter(|_| frame.meta.origin() == "collectl");
    !frame.options.value(&PROCESS_OPTIONS).has('I') && flags.is_none_or(|flags| flags.contains('i'))
}

fn headings(frame: &Frame<'_>, part: Part, out: &mut Vec<u8>) {
    let options = frame.options;
    let given = options.value(&PROCESS_OPTIONS);
    let has = |letter| given.has(letter);
    if part == Part::Title {
        out.extend_from_slice(b"PROCESS SUMMARY (counters are ");
        out.extend_from_slice(if has('f') { b"cumulative)" } else { b"$rate)" });
        return;
    }
    out.extend_from_slice(b" PID  ");
    let start = out.len();
    out.extend_from_slice(b"User");
    pad_right(out, start, user_width(options));
    if is_io(options) {
        out.extend_from_slice(
            b"  PPID S  SysT  UsrT Pct  AccuTime   RKB   WKB  RKBC  WKBC  RSys  WSys  Cncl Command\n",
        );
        return;
    }
    if is_memory(options) {
        out.extend_from_slice(
            b" S VmSize  VmLck  VmRSS VmData  VmStk  VmExe  VmLib  VmSwp MajF MinF Command\n",
        );
        return;
    }
    out.extend_from_slice(if has('R') { b" PRIO" } else { b" PR" });
    out.extend_from_slice(b"  PPID THRD S   VSZ   RSS CP  SysT  UsrT Pct  AccuTime ");
    if has('s') {
        out.extend_from_slice(b"StrtTime ");
    } else if has('S') {
        out.extend_from_slice(b"StartTime      ");
    }
    if has_io(frame) {
        out.extend_from_slice(b" RKB  WKB ");
    }
    if has('x') {
        out.extend_from_slice(b"VCtx NCtx ");
    }
    out.extend_from_slice(b"MajF MinF Command\n");
}

/// By process id; rows with the same id, which was reused in the interval, keep the table's order.
fn by_number(left: &Row<'_>, right: &Row<'_>) -> Ordering {
    pid(left).cmp(&pid(right)).then(left.index.cmp(&right.index))
}

/// collectl's order of plot lines: ids are compared as text, `10` before `9`.
fn by_digits(left: &Row<'_>, right: &Row<'_>) -> Ordering {
    left.name().cmp(right.name())
}

/// The facts of a row that a filter uses.
fn facts<'a>(row: &Row<'a>) -> ProcessFacts<'a> {
    let signed = |field| row.raw(field).map(u64::cast_signed);
    let pid = pid(row);
    let group = signed(TGID).unwrap_or(pid);
    ProcessFacts {
        pid: group,
        parent: signed(PARENT),
        uid: signed(UID),
        user: user(row).unwrap_or_default(),
        command: row.text(COMMAND).unwrap_or_default(),
        command_line: row.text(COMMAND_LINE),
        is_thread: group != pid,
    }
}

fn keeps(row: &Row<'_>) -> bool {
    let options = row.options();
    let states = options.value(&PROCESS_STATE).text().as_bytes();
    if !states.is_empty() {
        let Some(&state) = row.text(STATE).and_then(<[u8]>::first) else { return false };
        // The kernel distinguishes traced (t) and stopped (T); the option's letter means both.
        let traced = state == b't' && states.contains(&b'T') && !row.exact();
        if !states.contains(&state) && !traced {
            return false;
        }
    }
    let Some(selectors) = options.value(&PROCESS_FILTER).custom::<Selectors>() else {
        return true;
    };
    let own = facts(row);
    if !own.is_thread {
        return selectors.shows(&own);
    }
    // A thread is selected by the facts of its process.
    let process = process_of(row);
    let process = process.map(|process| ProcessFacts { is_thread: true, ..facts(&process) });
    selectors.shows(&process.unwrap_or(own))
}

/// A number scaled to fit `width`, right-aligned to `column` characters.
fn push_fit(out: &mut Vec<u8>, column: usize, value: Option<f64>, scale: Scale, row: &Row<'_>) {
    let start = out.len();
    match value.or(row.exact().then_some(0.0)) {
        Some(value) => push_scaled(out, value, scale, row.options()),
        None => out.push(b'-'),
    }
    pad_left(out, start, column);
}

fn push_whole_in(out: &mut Vec<u8>, column: usize, value: Option<f64>, row: &Row<'_>) {
    let start = out.len();
    match value.or(row.exact().then_some(0.0)) {
        Some(value) => push_whole(out, value),
        None => out.push(b'-'),
    }
    pad_left(out, start, column);
}

/// `PID+ User    `: the plus sign marks threads.
fn push_who(out: &mut Vec<u8>, row: &Row<'_>) {
    push_whole_in(out, 5, Some(pid(row) as f64), row);
    let is_thread = facts(row).is_thread;
    out.extend_from_slice(if is_thread { b"+ " } else { b"  " });
    let (start, width) = (out.len(), user_width(row.options()));
    match user(row) {
        Some(name) => escape_into(out, &name[..name.len().min(width)]),
        None => push_whole_in(out, 0, row.gauge(UID), row),
    }
    pad_right(out, start, width);
    out.push(b' ');
}

/// The parent's id; for a thread, the id of its process.
fn push_parent(out: &mut Vec<u8>, row: &Row<'_>) {
    let facts = facts(row);
    let above = if facts.is_thread { Some(facts.pid) } else { facts.parent };
    push_whole_in(out, 5, above.map(|number| number as f64), row);
    out.push(b' ');
}

fn push_state(out: &mut Vec<u8>, row: &Row<'_>) {
    let start = out.len();
    escape_into(out, row.text(STATE).unwrap_or(b"-"));
    pad_left(out, start, 1);
    out.push(b' ');
}

fn push_priority(out: &mut Vec<u8>, row: &Row<'_>, as_number: bool) {
    match row.gauge(PRIORITY) {
        Some(priority) if priority < 0.0 && !as_number => out.extend_from_slice(b"RT"),
        priority => push_whole_in(out, 0, priority, row),
    }
}

/// `SysT UsrT Pct AccuTime `.
fn push_times(out: &mut Vec<u8>, row: &Row<'_>) {
    let (system, user) = cpu_ticks(row);
    push_seconds(out, system, 2, row);
    out.push(b' ');
    push_seconds(out, user, 2, row);
    out.push(b' ');
    push_whole_in(out, 3, cpu_percent(row), row);
    out.push(b' ');
    push_accumulated(out, cpu_total_ticks(row), row);
    out.push(b' ');
}

/// `MajF MinF `.
fn push_faults(out: &mut Vec<u8>, row: &Row<'_>) {
    for field in [MAJOR_FAULTS, MINOR_FAULTS] {
        let scale = Scale { width: 4, unit: 0, binary: false };
        push_fit(out, 4, faults(row, field), scale, row);
        out.push(b' ');
    }
}

fn line(row: &Row<'_>, out: &mut Vec<u8>) {
    let given = row.options().value(&PROCESS_OPTIONS);
    let has = |letter| given.has(letter);
    push_who(out, row);
    let start = out.len();
    push_priority(out, row, has('R'));
    pad_left(out, start, if has('R') { 4 } else { 2 });
    out.push(b' ');
    push_parent(out, row);
    push_whole_in(out, 4, further_threads(row), row);
    out.push(b' ');
    push_state(out, row);
    for field in [VIRTUAL, RESIDENT] {
        let scale = Scale { width: 4, unit: 1, binary: true };
        push_fit(out, 5, memory(row, field), scale, row);
        out.push(b' ');
    }
    push_whole_in(out, 2, row.gauge(PROCESSOR), row);
    out.push(b' ');
    push_times(out, row);
    if has('s') || has('S') {
        push_start(out, row, !has('s'));
        out.push(b' ');
    }
    let rate = Scale { width: 4, unit: 0, binary: true };
    if has_io(&row.frame) {
        for field in [READ_BYTES, WRITE_BYTES] {
            push_fit(out, 4, kilobytes(row, field), rate, row);
            out.push(b' ');
        }
    }
    if has('x') {
        for field in [VOLUNTARY_SWITCHES, INVOLUNTARY_SWITCHES] {
            push_fit(out, 4, switches(row, field), rate, row);
            out.push(b' ');
        }
    }
    push_faults(out, row);
    push_command(out, row);
}

fn io_line(row: &Row<'_>, out: &mut Vec<u8>) {
    push_who(out, row);
    push_parent(out, row);
    push_state(out, row);
    push_times(out, row);
    let amounts = [
        kilobytes(row, READ_BYTES),
        kilobytes(row, WRITE_BYTES),
        kilobytes(row, READ_CHARS),
        kilobytes(row, WRITE_CHARS),
        switches(row, READ_CALLS),
        switches(row, WRITE_CALLS),
        kilobytes(row, CANCELLED_WRITE_BYTES),
    ];
    for amount in amounts {
        push_fit(out, 5, amount, Scale { width: 5, unit: 0, binary: true }, row);
        out.push(b' ');
    }
    push_command(out, row);
}

fn memory_line(row: &Row<'_>, out: &mut Vec<u8>) {
    push_who(out, row);
    push_state(out, row);
    for field in [VIRTUAL, LOCKED, RESIDENT, DATA, STACK, CODE, LIBRARIES, SWAP] {
        let scale = Scale { width: 6, unit: 1, binary: true };
        push_fit(out, 6, memory(row, field), scale, row);
        out.push(b' ');
    }
    push_faults(out, row);
    push_command(out, row);
}

/// Page faults in a plot line are scaled, as on the screen; a missing number is empty.
fn plot_faults(row: &Row<'_>, field: usize, out: &mut Vec<u8>) {
    if let Some(value) = faults(row, field).or(row.exact().then_some(0.0)) {
        push_scaled(out, value, Scale { width: 4, unit: 0, binary: false }, row.options());
    }
}

const PLOT_COLUMNS: &[PlotColumn] = &[
    PlotColumn::whole("PID", |row| Some(pid(row) as f64)),
    PlotColumn::written("User", |row, out| match user(row) {
        Some(name) => escape_into(out, name),
        None => row.gauge(UID).into_iter().for_each(|uid| push_whole(out, uid)),
    }),
    PlotColumn::written("PR", |row, out| {
        push_priority(out, row, row.options().value(&PROCESS_OPTIONS).has('R'));
    }),
    PlotColumn::whole("PPID", |row| row.gauge(PARENT)),
    PlotColumn::whole("THRD", further_threads),
    PlotColumn::text("S", |row| row.text(STATE)),
    PlotColumn::whole("VmSize", |row| memory(row, VIRTUAL)),
    PlotColumn::whole("VmLck", |row| memory(row, LOCKED)),
    PlotColumn::whole("VmRSS", |row| memory(row, RESIDENT)),
    PlotColumn::whole("VmData", |row| memory(row, DATA)),
    PlotColumn::whole("VmStk", |row| memory(row, STACK)),
    PlotColumn::whole("VmExe", |row| memory(row, CODE)),
    PlotColumn::whole("VmLib", |row| memory(row, LIBRARIES)),
    PlotColumn::whole("CPU", |row| row.gauge(PROCESSOR)),
    PlotColumn::written("SysT", |row, out| push_seconds(out, cpu_ticks(row).0, 0, row)),
    PlotColumn::written("UsrT", |row, out| push_seconds(out, cpu_ticks(row).1, 0, row)),
    PlotColumn::whole("PCT", cpu_percent),
    PlotColumn::written("AccumT", |row, out| push_hours(out, cpu_total_ticks(row), row)),
    PlotColumn::whole("RKB", |row| kilobytes(row, READ_BYTES)),
    PlotColumn::whole("WKB", |row| kilobytes(row, WRITE_BYTES)),
    PlotColumn::whole("RKBC", |row| kilobytes(row, READ_CHARS)),
    PlotColumn::whole("WKBC", |row| kilobytes(row, WRITE_CHARS)),
    PlotColumn::whole("RSYS", |row| switches(row, READ_CALLS)),
    PlotColumn::whole("WSYS", |row| switches(row, WRITE_CALLS)),
    PlotColumn::whole("CNCL", |row| kilobytes(row, CANCELLED_WRITE_BYTES)),
    PlotColumn::written("MajF", |row, out| plot_faults(row, MAJOR_FAULTS, out)),
    PlotColumn::written("MinF", |row, out| plot_faults(row, MINOR_FAULTS, out)),
    PlotColumn::text("Command", command_line),
];
