//! The cost of whit itself: CPU time, system calls, bytes read and written, memory, missed ticks.
//!
//! Reads only one kernel file, `/proc/self/statm`, at every [`MEMORY_EVERY`]th sample.
//! Costs one `getrusage` a sample, about 0.3 µs.
//!
//! `getrusage` is better than `/proc/self/schedstat`: both use the scheduler's nanosecond clock, but
//! the file covers only the first thread, does not separate user and system time, and costs three
//! times as much.  `time` and shells report `getrusage` too, so an observer sees the same number.
//!
//! The recorder's BPF programs run in the tasks that meet their tracepoints, so their CPU time is not
//! in `getrusage`; the sources that load them add it to [`RecorderCounters::bpf_ns`](crate::RecorderCounters::bpf_ns).  A BPF iterator
//! runs in the recorder's own `read`, so its time is in `system`.
//!
//! The recorder's own counts (written bytes, missed ticks) come through [`RecorderCounters`](crate::RecorderCounters), which
//! `cli` creates and passes in `SharedState::recorder`.

use std::sync::Arc;

use layout::{Block, Cell, DisplayOrder, Layout, Plot, PlotColumn, Row, Show};
use procfs::usage::{Whose, usage};
use procfs::{FileId, Host, ReadMode};
use sample::{Cadence, Level, State, Table, fields};

use crate::{Entry, Source, SourceContext};

/// Samples between two reads of our memory, which changes slowly; in between the latest value is
/// repeated.
const MEMORY_EVERY: u64 = 16;

fields! {
    USER: counter Microseconds, "CPU time of this process in user mode";
    SYSTEM: counter Microseconds, "CPU time of this process in the kernel";
    RESIDENT: gauge Bytes, "Memory in use, read every 16 samples";
    READ_CALLS: counter Count, "System calls to read kernel files";
    READ_BYTES: counter Bytes, "Bytes read from kernel files";
    OTHER_CALLS: counter Count, "System calls to wait and to write";
    WRITTEN: counter Bytes, "Bytes written to recordings and plot files";
    SAMPLES: counter Count, "Samples taken";
    TICKS_MISSED: counter Count, "Ticks that passed without a sample";
    SAMPLES_UNWRITTEN: counter Count, "Samples that could not be written";
    READS_SKIPPED: counter Count, "Readings skipped to stay within the budget";
    SWITCHES_VOLUNTARY: counter Count, "Voluntary context switches of this process";
    SWITCHES_FORCED: counter Count, "Involuntary context switches of this process";
    MAJOR_FAULTS: counter Count, "Page faults that had to read a disk";
    SOURCES_BY_BPF: gauge Count,
        "Sources whose counters of CPUs a BPF program copies, instead of files";
    BPF: counter Microseconds,
        "CPU time of the recorder's BPF programs in other processes; missing if none run there";
}

fn open(host: &mut Host, context: &Arc<SourceContext>) -> Box<dyn Source> {
    // On another root `/proc/self` is not us, if it is anything.
    let statm = host.is_this_machine().then(|| host.file("/proc/self/statm", ReadMode::Whole));
    let page_bytes = rustix::param::page_size() as u64;
    let context = Arc::clone(context);
    Box::new(Whit { statm, page_bytes, context, reads: 0, resident: None })
}

struct Whit {
    statm: Option<FileId>,
    page_bytes: u64,
    context: Arc<SourceContext>,
    reads: u64,
    resident: Option<u64>,
}

impl Source for Whit {
    fn read(&mut self, host: &mut Host, table: &mut Table) -> State {
        table.begin();
        if host.root().is_none() {
            // A host in memory is another program's recording: nothing of ours is in it.
            return State::Absent;
        }
        if let Some(statm) = self.statm
            && self.reads.is_multiple_of(MEMORY_EVERY)
        {
            self.resident = host.read(statm).ok().and_then(resident_pages);
        }
        self.reads += 1;
        let usage = usage(Whose::Own);
        let mut row = table.row(b"");
        row.set(USER, usage.user_us);
        row.set(SYSTEM, usage.system_us);
        row.set(SWITCHES_VOLUNTARY, usage.switches_voluntary);
        row.set(SWITCHES_FORCED, usage.switches_forced);
        row.set(MAJOR_FAULTS, usage.major_faults);
        row.set_some(RESIDENT, self.resident.and_then(|pages| pages.checked_mul(self.page_bytes)));
        let cost = host.cost();
        row.set(READ_CALLS, cost.calls + self.reads);
        row.set(READ_BYTES, cost.bytes);
        row.set(SOURCES_BY_BPF, self.context.shared.counters.count() as u64);
        if let Some(recorder) = &self.context.shared.recorder {
            row.set(OTHER_CALLS, recorder.calls.get());
            row.set(WRITTEN, recorder.written_bytes.get());
            row.set(SAMPLES, recorder.samples.get());
            row.set(TICKS_MISSED, recorder.ticks_missed.get());
            row.set(SAMPLES_UNWRITTEN, recorder.samples_unwritten.get());
            row.set(READS_SKIPPED, recorder.reads_skipped.get());
            let has_programs = recorder.bpf_sources.get() > 0;
            row.set_some(BPF, has_programs.then(|| recorder.bpf_ns.get() / 1_000));
        }
        State::Ok
    }
}

/// The second number of `/proc/self/statm` (proc(5)).
fn resident_pages(mut text: &[u8]) -> Option<u64> {
    procfs::scan::take_number(&mut text)?;
    procfs::scan::take_number(&mut text)
}

/// CPU time as a share of one CPU, in per cent of the true interval.
fn percent(row: &Row<'_>, field: usize) -> Option<f64> {
    let seconds = row.interval_seconds()?;
    Some(row.delta(field)? / (seconds * 1e4))
}

/// All CPU time; that of BPF programs if there are any.
fn percent_all(row: &Row<'_>) -> Option<f64> {
    Some(percent(row, USER)? + percent(row, SYSTEM)? + percent(row, BPF).unwrap_or(0.0))
}

/// All system calls, including the recorder's own if it counts them.
fn calls(row: &Row<'_>) -> Option<f64> {
    Some(row.rate(READ_CALLS)? + row.rate(OTHER_CALLS).unwrap_or(0.0))
}

pub(crate) static ENTRY: Entry = Entry {
    name: crate::OWN_SOURCE,
    about: "Cost of the recorder itself: CPU time, system calls, bytes, memory, missed ticks",
    letters: "w",
    reads: &["/proc/self/statm"],
    instance: &[],
    fields: FIELDS,
    cadence: Cadence::First,
    layouts: &[Layout {
        level: Level::Summary,
        position: DisplayOrder { brief: 210, verbose: 195, plot: 210, lexpr: 1220, gexpr: 1220 },
        brief: &[Block {
            when: |_| true,
            title: "<------Whit------->",
            headings: &[" cpu% calls KBWrit "],
            show: Show::Cells(&[
                Cell::fixed("", 5, 2, percent_all),
                Cell::scaled(" ", 5, calls),
                Cell::scaled(" ", 6, |row| Some(row.rate(WRITTEN)? / 1024.0)),
            ]),
        }],
        verbose: &[Block {
            when: |_| true,
            title: "WHIT SUMMARY ($rate)",
            headings: &[
                "<------CPU------><---Calls----><---KBytes---><-----Samples------><Ticks><-Mem>",
                "User%  Sys%  Bpf% Kernel  Other ReadKB WritKB  Taken Unwrit Skipd Missed RSSKB",
            ],
            show: Show::Cells(&[
                Cell::fixed(" ", 5, 2, |row| percent(row, USER)),
                Cell::fixed(" ", 5, 2, |row| percent(row, SYSTEM)),
                Cell::fixed(" ", 5, 2, |row| percent(row, BPF)),
                Cell::whole(" ", 6, |row| row.rate(READ_CALLS)),
                Cell::whole(" ", 6, |row| row.rate(OTHER_CALLS)),
                Cell::whole(" ", 6, |row| Some(row.rate(READ_BYTES)? / 1024.0)),
                Cell::whole(" ", 6, |row| Some(row.rate(WRITTEN)? / 1024.0)),
                Cell::whole(" ", 6, |row| row.delta(SAMPLES)),
                Cell::whole(" ", 6, |row| row.delta(SAMPLES_UNWRITTEN)),
                Cell::whole(" ", 5, |row| row.delta(READS_SKIPPED)),
                Cell::whole(" ", 6, |row| row.delta(TICKS_MISSED)),
                Cell::whole(" ", 5, |row| Some(row.gauge(RESIDENT)? / 1024.0)),
            ]),
        }],
        plot: Some(Plot {
            tag: "WHIT",
            extension: "tab",
            columns: &[
                PlotColumn::fixed("User%", 3, |row| percent(row, USER)),
                PlotColumn::fixed("Sys%", 3, |row| percent(row, SYSTEM)),
                PlotColumn::new("KernelCalls", |row| row.rate(READ_CALLS)),
                PlotColumn::new("OtherCalls", |row| row.rate(OTHER_CALLS)),
                PlotColumn::new("ReadKB", |row| Some(row.rate(READ_BYTES)? / 1024.0)),
                PlotColumn::new("WriteKB", |row| Some(row.rate(WRITTEN)? / 1024.0)),
                PlotColumn::whole("Samples", |row| row.delta(SAMPLES)),
                PlotColumn::whole("Unwritten", |row| row.delta(SAMPLES_UNWRITTEN)),
                PlotColumn::whole("Skipped", |row| row.delta(READS_SKIPPED)),
                PlotColumn::whole("Missed", |row| row.delta(TICKS_MISSED)),
                PlotColumn::whole("RSSKB", |row| Some(row.gauge(RESIDENT)? / 1024.0)),
                PlotColumn::new("CtxVol", |row| row.rate(SWITCHES_VOLUNTARY)),
                PlotColumn::new("CtxForced", |row| row.rate(SWITCHES_FORCED)),
                PlotColumn::whole("MajFault", |row| row.delta(MAJOR_FAULTS)),
                PlotColumn::fixed("Bpf%", 3, |row| percent(row, BPF)),
            ],
            ..Plot::EMPTY
        }),
        metrics: &[
            PlotColumn::fixed("whit.user", 3, |row| percent(row, USER)),
            PlotColumn::fixed("whit.sys", 3, |row| percent(row, SYSTEM)),
            PlotColumn::fixed("whit.bpf", 3, |row| percent(row, BPF)),
            PlotColumn::new("whit.calls", calls),
            PlotColumn::new("whit.kbread", |row| Some(row.rate(READ_BYTES)? / 1024.0)),
            PlotColumn::new("whit.kbwritten", |row| Some(row.rate(WRITTEN)? / 1024.0)),
            PlotColumn::whole("whit.missed", |row| row.delta(TICKS_MISSED)),
            PlotColumn::whole("whit.unwritten", |row| row.delta(SAMPLES_UNWRITTEN)),
            PlotColumn::whole("whit.rsskb", |row| Some(row.gauge(RESIDENT)? / 1024.0)),
        ],
        ..Layout::EMPTY
    }],
    open,
    ..Entry::EMPTY
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RecorderCounters, SharedState};

    fn burn_cpu() -> u64 {
        let mut value = 1u64;
        for step in 0..30_000_000u64 {
            value = std::hint::black_box(value.wrapping_mul(6_364_136_223_846_793_005) ^ step);
        }
        value
    }

    #[test]
    fn agrees_with_an_outside_observer_of_cpu_time() {
        let mut host = Host::new("/");
        let counters = Arc::new(RecorderCounters::default());
        let shared = SharedState { recorder: Some(counters.clone()), ..SharedState::default() };
        let context = Arc::new(SourceContext { shared, ..SourceContext::default() });
        let mut source = (ENTRY.open)(&mut host, &context);
        let mut table = Table::new(ENTRY.fields.len());
        // Other tests of this process run meanwhile: the whole process is what is compared, and
        // the observer's readings enclose the source's.
        let observer = || {
            let text = std::fs::read_to_string("/proc/self/stat").unwrap();
            let after_name = &text[text.rfind(')').unwrap()..];
            let ticks: Vec<u64> =
                after_name.split(' ').skip(12).take(2).map(|n| n.parse().unwrap()).collect();
            (ticks[0] + ticks[1]) * 1_000_000 / rustix::param::clock_ticks_per_second()
        };
        let cpu = |table: &Table| table.get(0, USER).unwrap() + table.get(0, SYSTEM).unwrap();
        let outside_first = observer();
        assert_eq!(source.read(&mut host, &mut table), State::Ok);
        let first = cpu(&table);
        std::hint::black_box(burn_cpu());
        counters.samples.add(3);
        counters.written_bytes.add(4096);
        host.begin_tick();
        assert_eq!(source.read(&mut host, &mut table), State::Ok);
        let (ours, outside) = (cpu(&table) - first, observer() - outside_first);
        assert!(ours > 10_000, "burning took {ours} µs");
        // The kernel rounds the observer's two numbers down to ticks of 10 ms, at both ends.
        assert!(ours <= outside + 20_000, "{ours} {outside}");
        assert_eq!(table.get(0, SAMPLES), Some(3));
        assert_eq!(table.get(0, WRITTEN), Some(4096));
        assert_eq!(table.get(0, TICKS_MISSED), Some(0));
        assert_eq!(table.get(0, BPF), None, "no BPF program runs in other processes");
        assert!(table.get(0, RESIDENT).unwrap() > 1 << 20);
        assert!(table.get(0, READ_CALLS).unwrap() >= 4);
    }

    #[test]
    fn without_a_recorder_its_counts_are_missing_and_elsewhere_there_is_nothing() {
        let mut host = Host::new("/no_such_root");
        let mut source = (ENTRY.open)(&mut host, &Arc::default());
        let mut table = Table::new(ENTRY.fields.len());
        assert_eq!(source.read(&mut host, &mut table), State::Ok);
        assert!(table.get(0, USER).is_some());
        for field in [RESIDENT, OTHER_CALLS, SAMPLES, TICKS_MISSED, BPF] {
            assert_eq!(table.get(0, field), None);
        }
        let mut host = Host::in_memory();
        assert_eq!(source.read(&mut host, &mut table), State::Absent);
    }

    #[test]
    fn memory_is_looked_at_rarely() {
        let mut host = Host::new("/");
        let mut source = (ENTRY.open)(&mut host, &Arc::default());
        let mut table = Table::new(ENTRY.fields.len());
        source.read(&mut host, &mut table);
        let calls = host.cost().calls;
        for _ in 0..MEMORY_EVERY - 1 {
            host.begin_tick();
            source.read(&mut host, &mut table);
            assert!(table.get(0, RESIDENT).is_some());
        }
        assert_eq!(host.cost().calls, calls);
        host.begin_tick();
        source.read(&mut host, &mut table);
        assert_eq!(host.cost().calls, calls + 1);
    }
}
