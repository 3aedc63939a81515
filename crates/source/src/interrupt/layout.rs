//! How collectl shows interrupts: `-sj` has a column for each CPU, `-sJ` a line for each interrupt
//! that occurred; `--cpufilt` and `--intfilt` apply.  In plot format collectl has a column among
//! those of each CPU, and none for interrupts; whit has these for its own recordings.
//!
//! `--intfilt` is matched against `24: IO-APIC 5-edge ACPI:Ged`: the line of the file without its
//! counts.

use layout::number::{pad_left, pad_right, push_u64, push_whole};
use layout::text::escape_into;
use layout::{
    Block, Cell, DisplayOrder, Frame, Layout, OptionKind, Part, Plot, PlotColumn, Row, Show,
    SourceOption,
};
use sample::{Level, State};

use super::{COUNT, DEVICE, KIND};
use crate::cpu::{CPU_FILTER, DISABLED, has_disabled};
use crate::instance;

/// The most columns: as many as CPUs are read.
const COLUMNS_MAX: usize = super::CPUS_MAX;

pub(super) static INTERRUPT_FILTER: SourceOption = SourceOption {
    name: "intfilt",
    value_name: "LIST",
    help: "Interrupts to show: regular expressions, ^ in front to leave them out",
    kind: OptionKind::NamePatterns,
    letters: "jJ",
    ..SourceOption::EMPTY
};

/// Interrupts that a CPU served since the previous reading, filtered by `--intfilt`.  `row` is the
/// source as a whole (`row.other("interrupt")`), `cpu` the CPU's number.
pub(crate) fn served(row: &Row<'_>, cpu: &[u8]) -> Option<f64> {
    let mut filter = Filter::new(row);
    let mut sum = None;
    for row in row.rows_of_second_label(cpu) {
        if let Some(delta) = row.delta(COUNT).filter(|_| filter.keeps(&row)) {
            sum = Some(sum.unwrap_or(0.0) + delta);
        }
    }
    sum.or(row.exact().then_some(0.0))
}

/// How many interrupts a CPU served, a second.
pub(crate) fn served_rate(row: &Row<'_>, cpu: &[u8]) -> Option<f64> {
    let seconds = row.seconds()?;
    served(row, cpu).map(|count| count / seconds)
}

/// `--intfilt`, evaluated once for each interrupt, not for each of its CPUs.
struct Filter {
    is_set: bool,
    name: Vec<u8>,
    line: Vec<u8>,
    kept: bool,
}

impl Filter {
    fn new(row: &Row<'_>) -> Self {
        let is_set = row.options().value(&INTERRUPT_FILTER).is_set();
        Filter { is_set, name: Vec::new(), line: Vec::new(), kept: true }
    }

    fn keeps(&mut self, row: &Row<'_>) -> bool {
        if !self.is_set {
            return true;
        }
        let (name, _) = instance::split(row.name());
        if self.name != name {
            self.name.clear();
            self.name.extend_from_slice(name);
            self.line.clear();
            self.line.extend_from_slice(name);
            self.line.push(b':');
            for text in [row.text(KIND), row.text(DEVICE)].into_iter().flatten() {
                self.line.push(b' ');
                self.line.extend_from_slice(text);
            }
            self.kept = row.options().value(&INTERRUPT_FILTER).keeps(&self.line);
        }
        self.kept
    }
}

/// The number of the row's CPU.
fn number_of(row: &Row<'_>) -> Option<usize> {
    let (name, cpu) = instance::split(row.name());
    // collectl adds the counts of the whole machine to those of the first CPU.
    if cpu.is_empty() && row.collectl_digits() && matches!(name, b"ERR" | b"MIS") {
        return Some(0);
    }
    std::str::from_utf8(cpu).ok()?.parse().ok().filter(|&cpu| cpu < COLUMNS_MAX)
}

/// The column of a CPU.
#[derive(Clone, Copy, Default)]
struct Column {
    /// Whether the kernel has a column for the CPU, that is, whether it is online.
    is_online: bool,
    /// Interrupts that it served since the previous reading.
    served: Option<f64>,
}

/// The columns of all CPUs that the machine has.
fn columns(frame: &Frame<'_>) -> Vec<Column> {
    let cpus = frame.meta.cpus().min(COLUMNS_MAX);
    let mut columns = vec![Column::default(); cpus];
    let Some(whole) = frame.source("interrupt") else { return columns };
    if whole.track.current.state != State::Ok {
        // Without a reading it is unknown whether CPUs are offline.
        columns.fill(Column { is_online: true, served: None });
        return columns;
    }
    let mut filter = Filter::new(&whole);
    for row in whole.rows() {
        let Some(cpu) = number_of(&row) else { continue };
        if cpu >= columns.len() {
            columns.resize(cpu + 1, Column::default());
        }
        let column = &mut columns[cpu];
        column.is_online = true;
        if let Some(delta) = row.delta(COUNT).filter(|_| filter.keeps(&row)) {
            column.served = Some(column.served.unwrap_or(0.0) + delta);
        }
    }
    columns
}

/// The columns that `--cpufilt` accepts, with their numbers.
fn shown(frame: &Frame<'_>) -> impl Iterator<Item = (usize, Column)> {
    let filter = frame.options.value(&CPU_FILTER);
    columns(frame).into_iter().enumerate().filter(move |(cpu, _)| filter.keeps(&digits(*cpu)))
}

fn digits(cpu: usize) -> Vec<u8> {
    let mut out = Vec::new();
    push_u64(&mut out, cpu as u64);
    out
}

/// The seconds between the two readings, if the latest was taken at this tick.
fn seconds(frame: &Frame<'_>) -> Option<f64> {
    frame.source("interrupt").filter(|row| row.track.fresh)?.seconds()
}

/// An integer, padded to `width`; `-` if it is missing, under `--exact` 0.
fn push_count(out: &mut Vec<u8>, frame: &Frame<'_>, value: Option<f64>, width: usize) {
    let start = out.len();
    match value.or(frame.options.exact.then_some(0.0)) {
        Some(value) => push_whole(out, value),
        None => out.push(b'-'),
    }
    pad_left(out, start, width);
}

/// Brief mode: `Cpu0 Cpu1`, and below each the interrupts that it served.
fn brief(frame: &Frame<'_>, part: Part, out: &mut Vec<u8>) {
    match part {
        Part::Notice if !frame.options.shows('c') && has_disabled(frame) => {
            out.extend_from_slice(DISABLED);
        }
        Part::Notice => {}
        Part::Title => {
            let dashes = shown(frame).count().saturating_sub(1) * 5 / 2;
            out.push(b'<');
            out.resize(out.len() + dashes, b'-');
            out.extend_from_slice(b"Int");
            out.resize(out.len() + dashes, b'-');
            out.extend_from_slice(b"->");
        }
        Part::Heading => {
            for (cpu, column) in shown(frame) {
                push_short_name(out, cpu, column.is_online);
                out.push(b' ');
            }
        }
        Part::Body => {
            let mut numbers = Vec::new();
            brief_numbers(frame, &mut numbers);
            for number in numbers {
                BRIEF_CELL.write_number(number, frame.options, out);
                out.push(b' ');
            }
        }
    }
}

/// The format of the numbers of brief mode.
const BRIEF_CELL: Cell = Cell::scaled("", 4, |_| None);

/// Appends the numbers of brief mode.
fn brief_numbers(frame: &Frame<'_>, out: &mut Vec<Option<f64>>) {
    let seconds = seconds(frame);
    out.extend(shown(frame).map(|(_, column)| Some(column.served? / seconds?)));
}

/// Four characters for a CPU: `Cpu0`, `Cp10`, `C100`; if it is offline, `CpuX` and so on.
fn push_short_name(out: &mut Vec<u8>, cpu: usize, is_online: bool) {
    let (letters, crosses): (&[u8], &[u8]) = match cpu {
        0..10 => (b"Cpu", b"X"),
        10..100 => (b"Cp", b"XX"),
        100..1000 => (b"C", b"XXX"),
        _ => (b"", b"XXXX"),
    };
    out.extend_from_slice(letters);
    if is_online { push_u64(out, cpu as u64) } else { out.extend_from_slice(crosses) }
}

/// ` %6s` of a CPU's name.
fn push_long_name(out: &mut Vec<u8>, cpu: usize, is_online: bool) {
    out.push(b' ');
    let start = out.len();
    out.extend_from_slice(b"Cpu");
    if is_online {
        push_u64(out, cpu as u64);
    } else {
        out.push(b'X');
    }
    pad_left(out, start, 6);
}

fn push_title(out: &mut Vec<u8>, frame: &Frame<'_>, title: &[u8]) {
    out.extend_from_slice(title);
    if has_disabled(frame) {
        out.push(b':');
        out.extend_from_slice(DISABLED);
    }
}

/// Verbose mode: a column for each CPU.
fn verbose(frame: &Frame<'_>, part: Part, out: &mut Vec<u8>) {
    match part {
        Part::Notice => {}
        Part::Title => push_title(out, frame, b"INTERRUPT SUMMARY"),
        Part::Heading => {
            out.push(b' ');
            for (cpu, column) in shown(frame) {
                push_long_name(out, cpu, column.is_online);
            }
            out.push(b'\n');
        }
        Part::Body => {
            out.extend_from_slice(b"  ");
            let whole = frame.source("interrupt");
            // collectl forgets to divide by the time here.
            let seconds = match whole {
                Some(row) if row.collectl_digits() => Some(1.0),
                _ => seconds(frame),
            };
            for (_, column) in shown(frame) {
                out.push(b' ');
                let rate = seconds.and_then(|seconds| Some(column.served? / seconds));
                push_count(out, frame, rate, 6);
            }
            out.push(b'\n');
        }
    }
}

/// Detail: a line for each interrupt that occurred.
fn detail(frame: &Frame<'_>, part: Part, out: &mut Vec<u8>) {
    match part {
        Part::Notice => {}
        Part::Title => push_title(out, frame, b"INTERRUPT DETAILS"),
        Part::Heading => {
            out.extend_from_slice(b" Int ");
            for (cpu, column) in shown(frame) {
                // collectl knows only from the source of CPUs which ones are offline.
                let is_online = column.is_online || !frame.options.subsystems.has_any(&['c', 'C']);
                push_long_name(out, cpu, is_online);
            }
            out.extend_from_slice(b"   Type            Device(s)\n");
        }
        Part::Body => {
            let Some(whole) = frame.source("interrupt") else { return };
            let numbers: Vec<usize> = shown(frame).map(|(cpu, _)| cpu).collect();
            let mut lines = lines(&whole);
            lines.sort_by(|left, right| left.key.cmp(&right.key));
            for line in &lines {
                line.write(&whole, &numbers, out);
            }
        }
    }
}

/// A line of the detail: one interrupt.
struct Line {
    /// The sort key, which is also printed: numbers have at least three digits.
    key: Vec<u8>,
    /// The range of its rows in the table.
    first: usize,
    end: usize,
}

/// The interrupts that `--intfilt` accepts, in the table's order.
fn lines(whole: &Row<'_>) -> Vec<Line> {
    let mut filter = Filter::new(whole);
    let mut lines: Vec<Line> = Vec::new();
    let mut latest: &[u8] = &[];
    for row in whole.rows() {
        let (name, cpu) = instance::split(row.name());
        if cpu.is_empty() || !filter.keeps(&row) {
            continue;
        }
        if name == latest
            && let Some(line) = lines.last_mut()
        {
            line.end = row.index + 1;
            continue;
        }
        latest = name;
        let mut key = Vec::new();
        if name.first().is_some_and(u8::is_ascii_digit) {
            key.resize(3_usize.saturating_sub(name.len()), b'0');
        }
        escape_into(&mut key, name);
        lines.push(Line { key, first: row.index, end: row.index + 1 });
    }
    lines
}

impl Line {
    fn write(&self, whole: &Row<'_>, cpus: &[usize], out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(b"  ");
        out.extend_from_slice(&self.key);
        out.extend_from_slice(b"  ");
        let mut total = 0.0;
        let mut rows = (self.first..self.end).map(|index| Row { index, ..*whole }).peekable();
        for &cpu in cpus {
            while rows.next_if(|row| number_of(row).is_none_or(|other| other < cpu)).is_some() {}
            let rate =
                rows.next_if(|row| number_of(row) == Some(cpu)).and_then(|row| row.rate(COUNT));
            total += rate.unwrap_or(0.0);
            push_count(out, &whole.frame, rate, 6);
            out.push(b' ');
        }
        if total == 0.0 {
            out.truncate(start);
            return;
        }
        out.extend_from_slice(b"  ");
        push_description(out, &Row { index: self.first, ..*whole });
        out.push(b'\n');
    }
}

/// The text after the counts: the interrupt controller, padded, and the devices without blanks; for
/// an interrupt with a name only its description, without the word `interrupts` at the end.
fn push_description(out: &mut Vec<u8>, row: &Row<'_>) {
    let device = row.text(DEVICE).unwrap_or_default();
    let words: Vec<u8> = device.iter().copied().filter(|byte| *byte != b' ').collect();
    if row.name().first().is_some_and(u8::is_ascii_digit) {
        let start = out.len();
        escape_into(out, row.text(KIND).unwrap_or_default());
        pad_right(out, start, 15);
        out.push(b' ');
        escape_into(out, &words);
    } else {
        escape_into(out, words.strip_suffix(b"interrupts").unwrap_or(&words));
    }
}

/// Writes `24-0`: interrupt and CPU.
fn plot_instance(row: &Row<'_>, out: &mut Vec<u8>) {
    let (name, cpu) = instance::split(row.name());
    out.extend_from_slice(name);
    if !cpu.is_empty() {
        out.push(b'-');
        out.extend_from_slice(cpu);
    }
}

pub(super) const SUMMARY: Layout = Layout {
    level: Level::Summary,
    shares_table_with: Some("cpu_core"),
    position: DisplayOrder { brief: 20, verbose: 15, plot: 120, lexpr: 1090, gexpr: 1090 },
    brief: &[Block {
        when: |_| true,
        title: "",
        headings: &[],
        show: Show::Repeated(brief, &BRIEF_CELL, brief_numbers),
    }],
    verbose: &[Block {
        // The detail of CPUs has a column for interrupts.
        when: |options| !options.shows('C'),
        title: "",
        headings: &[],
        show: Show::Custom(verbose),
    }],
    ..Layout::EMPTY
};

pub(super) const DETAIL: Layout = Layout {
    level: Level::Detail,
    position: DisplayOrder {
        verbose: 20,
        plot: 120,
        lexpr: 1350,
        gexpr: 1350,
        ..DisplayOrder::LAST
    },
    verbose: &[Block { when: |_| true, title: "", headings: &[], show: Show::Custom(detail) }],
    plot: Some(Plot {
        tag: "INT",
        extension: "int",
        instance: Some(plot_instance),
        columns: &[
            PlotColumn::new("Intrpt$rate", |row| row.rate(COUNT)).applies(|row| !row.exact())
        ],
        ..Plot::EMPTY
    }),
    keep: |row| {
        let (_, cpu) = instance::split(row.name());
        row.options().value(&CPU_FILTER).keeps(cpu) && Filter::new(row).keeps(row)
    },
    ..Layout::EMPTY
};
