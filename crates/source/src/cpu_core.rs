//! CPU time of each CPU.
//!
//! Reads `/proc/stat` (proc(5)), which `cpu` reads too: the host reads it once a tick for both; on
//! many CPUs a BPF program copies the counters instead (`counters.rs`).
//! Cost: parsing about 60 bytes a CPU.  An offline CPU has no line there; if the machine has it
//! (`/sys/devices/system/cpu/present` at the first reading, or an earlier line) it gets a row
//! without values, which `--exact` does not show.

use bpf::CpuCounters;
use layout::{
    Block, Cell, DisplayOrder, Frame, Layout, LetterRule, OptionKind, Part, Plot, PlotColumn, Row,
    Show, SourceOption,
};
use procfs::stat::{CpuTimes, StatLine, parse_stat};
use procfs::{FileId, Host, ReadMode};
use sample::{Cadence, Level, RowMut, State, Table};

use crate::counters::{self, CPUS_MAX, CounterSource, parse_cpus};
use crate::cpu::{
    CPU_FILTER, DISABLED, GUEST, GUEST_NICE, IDLE, IOWAIT, IRQ, NICE, SOFTIRQ, STEAL, SYSTEM, USER,
    busy, has_disabled, percent, set_times, system_total, user_total,
};
use crate::{Entry, interrupt};

/// The CPUs that the machine has, online or not (Documentation/admin-guide/cputopology.rst).
const PRESENT: &str = "/sys/devices/system/cpu/present";

struct CpuCore {
    stat: FileId,
    /// The machine's CPUs, ascending; `None` before the first reading.
    known: Option<Vec<u32>>,
    /// The CPUs of `known` that this reading has passed.
    at: usize,
    /// A buffer for the name of a row.
    name: Vec<u8>,
}

impl CounterSource for CpuCore {
    fn read_files(&mut self, host: &mut Host, table: &mut Table) -> State {
        self.begin(host, table);
        let text = match host.read(self.stat) {
            Ok(text) => text,
            Err(state) => return state,
        };
        for line in parse_stat(text) {
            if let StatLine::Cpu(number, times) = line {
                self.add_rows(table, number, &times);
            }
        }
        self.end(table)
    }

    fn read_counters(
        &mut self,
        counters: &CpuCounters,
        host: &mut Host,
        table: &mut Table,
    ) -> State {
        self.begin(host, table);
        for number in 0..counters.cpus() {
            if let Some(cpu) = counters.cpu(number).filter(|cpu| cpu.online != 0) {
                let times = counters::ticks(counters::times_ns(&cpu));
                self.add_rows(table, number as u32, &times);
            }
        }
        self.end(table)
    }

    fn check(&mut self, host: &mut Host, counters: &CpuCounters) -> Result<(), String> {
        counters::check(ENTRY.fields, self, host, counters)
    }
}

impl CpuCore {
    /// Begins a reading.
    fn begin(&mut self, host: &mut Host, table: &mut Table) {
        table.begin();
        self.at = 0;
        self.known.get_or_insert_with(|| {
            let present = host.read_once(PRESENT).unwrap_or_default();
            parse_cpus(&present)
        });
    }

    /// Adds the rows of the offline CPUs before this one, and its own.
    fn add_rows(&mut self, table: &mut Table, number: u32, times: &CpuTimes) {
        let CpuCore { known: Some(known), at, name, .. } = self else { return };
        while known.get(*at).is_some_and(|&offline| offline < number) {
            row_of(table, name, known[*at]);
            *at += 1;
        }
        set_times(&mut row_of(table, name, number), times);
        if known.get(*at) == Some(&number) {
            *at += 1;
        } else if known.len() < CPUS_MAX && (*at == 0 || known[*at - 1] < number) {
            known.insert(*at, number);
            *at += 1;
        }
    }

    /// Adds the rows of the offline CPUs after the last one that is online.
    fn end(&mut self, table: &mut Table) -> State {
        if table.rows() == 0 {
            return State::Failed(0);
        }
        for &offline in self.known.iter().flatten().skip(self.at) {
            row_of(table, &mut self.name, offline);
        }
        State::Ok
    }
}

/// Adds a row for a CPU.
fn row_of<'a>(table: &'a mut Table, name: &mut Vec<u8>, number: u32) -> RowMut<'a> {
    name.clear();
    layout::number::push_u64(name, number.into());
    table.row(name)
}

/// Whether the CPU is offline: it has no values.
fn is_offline(row: &Row<'_>) -> bool {
    (USER..=GUEST_NICE).all(|field| row.raw(field).is_none())
}

/// Interrupts that this CPU served per second, if the feed has the source that counts them.
fn interrupts(row: &Row<'_>) -> Option<f64> {
    interrupt::served_rate(&row.other("interrupt")?, row.name())
}

static CPU_OPTIONS: SourceOption = SourceOption {
    name: "cpuopts",
    help: "z: leave out idle CPUs",
    kind: OptionKind::Letters { known: "z", default: "" },
    letters: "C",
    rules: &[LetterRule::LeavesOutIdle("z")],
    ..SourceOption::EMPTY
};

/// Whether `--cpufilt` selects the CPU, and with `--cpuopts z` whether it was not idle.
fn keeps(row: &Row<'_>) -> bool {
    let options = row.options();
    let worked = |field: &usize| percent(row, *field).unwrap_or(0.0) != 0.0;
    options.value(&CPU_FILTER).keeps(row.name())
        && !(row.exact() && is_offline(row))
        && (!options.value(&CPU_OPTIONS).has('z')
            || [USER, NICE, SYSTEM, IOWAIT, IRQ, SOFTIRQ, STEAL].iter().any(worked))
}

fn heading(frame: &Frame<'_>, part: Part, out: &mut Vec<u8>) {
    if part == Part::Title {
        out.extend_from_slice(b"SINGLE CPU$hyper STATISTICS");
        // collectl reports offline CPUs only if the totals are shown, too.
        if frame.options.shows('c') && has_disabled(frame) {
            out.push(b':');
            out.extend_from_slice(DISABLED);
        }
    } else if part == Part::Heading {
        out.extend_from_slice(b"   Cpu  User Nice  Sys Wait IRQ  Soft Steal Guest NiceG Idle\n");
    }
}

const DETAIL: &[Cell] = &[
    Cell::right("   ", 4, |row| Some(row.name())),
    Cell::whole("   ", 3, |row| percent(row, USER)),
    Cell::whole("  ", 3, |row| percent(row, NICE)),
    Cell::whole("  ", 3, |row| percent(row, SYSTEM)),
    Cell::whole("  ", 3, |row| percent(row, IOWAIT)),
    Cell::whole("  ", 3, |row| percent(row, IRQ)),
    Cell::whole("  ", 3, |row| percent(row, SOFTIRQ)),
    Cell::whole("   ", 3, |row| percent(row, STEAL)),
    Cell::whole("   ", 3, |row| percent(row, GUEST)),
    Cell::whole("   ", 3, |row| percent(row, GUEST_NICE)),
    Cell::whole("  ", 3, |row| percent(row, IDLE)),
];

const DETAIL_INTERRUPTS: &[Cell] = &[Cell::whole(" ", 6, interrupts)];

// collectl writes interrupts under `Guest%`, guests under `GuestN%` and niced guests under
// `Intrpt`; `--exact` does too.
const PLOT: &[PlotColumn] = &[
    PlotColumn::new("User%", |row| percent(row, USER)),
    PlotColumn::new("Nice%", |row| percent(row, NICE)),
    PlotColumn::new("Sys%", |row| percent(row, SYSTEM)),
    PlotColumn::new("Wait%", |row| percent(row, IOWAIT)),
    PlotColumn::new("Irq%", |row| percent(row, IRQ)),
    PlotColumn::new("Soft%", |row| percent(row, SOFTIRQ)),
    PlotColumn::new("Steal%", |row| percent(row, STEAL)),
    PlotColumn::new("Idle%", |row| percent(row, IDLE)),
    PlotColumn::new("Totl%", |row| busy(row, percent)),
    PlotColumn::new("Guest%", |row| match row.exact() {
        true => interrupts(row),
        false => percent(row, GUEST),
    }),
    PlotColumn::new("GuestN%", |row| percent(row, if row.exact() { GUEST } else { GUEST_NICE })),
    PlotColumn::new("Intrpt", |row| match row.exact() {
        true => percent(row, GUEST_NICE),
        false => interrupts(row),
    }),
];

const METRICS: &[PlotColumn] = &[
    PlotColumn::new("cpuinfo.user.cpu{}", |row| percent(row, USER)).level(),
    PlotColumn::new("cpuinfo.nice.cpu{}", |row| percent(row, NICE)).level(),
    PlotColumn::new("cpuinfo.sys.cpu{}", |row| percent(row, SYSTEM)).level(),
    PlotColumn::new("cpuinfo.wait.cpu{}", |row| percent(row, IOWAIT)).level(),
    PlotColumn::new("cpuinfo.irq.cpu{}", |row| percent(row, IRQ)).level(),
    PlotColumn::new("cpuinfo.soft.cpu{}", |row| percent(row, SOFTIRQ)).level(),
    PlotColumn::new("cpuinfo.steal.cpu{}", |row| percent(row, STEAL)).level(),
    PlotColumn::new("cpuinfo.idle.cpu{}", |row| percent(row, IDLE)).level(),
    PlotColumn::new("cpuinfo.intrpt.cpu{}", |row| {
        interrupt::served(&row.other("interrupt")?, row.name())
    })
    .level(),
    PlotColumn::new("cputotals.systot.cpu{}", |row| system_total(row, percent)).level(),
    PlotColumn::new("cputotals.usertot.cpu{}", |row| user_total(row, percent)).level(),
];

pub(crate) static ENTRY: Entry = Entry {
    name: "cpu_core",
    about: "CPU time of each CPU",
    letters: "C",
    reads: &["/proc/stat", "/sys/devices/system/cpu/present"],
    instance: &["cpu"],
    fields: crate::cpu::TIMES,
    cadence: Cadence::First,
    layouts: &[Layout {
        level: Level::Detail,
        position: DisplayOrder {
            verbose: 10,
            plot: 10,
            lexpr: 110,
            gexpr: 20,
            ..DisplayOrder::LAST
        },
        verbose: &[
            Block { when: |_| true, title: "", headings: &[], show: Show::Headed(heading, DETAIL) },
            Block {
                when: |options| options.shows('j') || options.shows('J'),
                title: "",
                headings: &[" Intrpt"],
                show: Show::Cells(DETAIL_INTERRUPTS),
            },
        ],
        plot: Some(Plot { tag: "CPU", extension: "cpu", columns: PLOT, ..Plot::EMPTY }),
        keep: keeps,
        keep_reads: |options| match options.exact || options.value(&CPU_OPTIONS).has('z') {
            true => None,
            false => Some(&[]),
        },
        metrics: METRICS,
        ..Layout::EMPTY
    }],
    beside: &["interrupt"],
    options: &[&CPU_OPTIONS],
    open: |host, context| {
        let stat = host.file("/proc/stat", ReadMode::Whole);
        let source = CpuCore { stat, known: None, at: 0, name: Vec::new() };
        counters::open(&ENTRY, source, host, context)
    },
    ..Entry::EMPTY
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_that_goes_offline_keeps_a_row_without_values() {
        let mut host = Host::in_memory();
        host.put(PRESENT, Some(b"0-2\n"));
        let mut source = (ENTRY.open)(&mut host, &std::sync::Arc::default());
        let mut table = Table::new(ENTRY.fields.len());
        let mut rows = |stat: &[u8]| {
            host.put("/proc/stat", Some(stat));
            host.begin_tick();
            assert_eq!(source.read(&mut host, &mut table), State::Ok);
            let row = |at| {
                let name = String::from_utf8(table.name(at).to_vec()).unwrap();
                (name, table.get(at, USER))
            };
            (0..table.rows()).map(row).collect::<Vec<_>>()
        };
        let of = |name: &str, user| (name.to_owned(), user);
        let first = rows(b"cpu  9 0 1 5\ncpu0 4 0 1 2\ncpu2 5 0 0 3\ncpu7 6 0 0 3\n");
        assert_eq!(first, [of("0", Some(4)), of("1", None), of("2", Some(5)), of("7", Some(6))]);
        let second = rows(b"cpu  9 0 1 5\ncpu0 4 0 1 2\ncpu1 5 0 0 3\n");
        assert_eq!(second, [of("0", Some(4)), of("1", Some(5)), of("2", None), of("7", None)]);
    }

    #[test]
    fn lists_of_cpus() {
        assert_eq!(parse_cpus(b"0-3,8\n"), [0, 1, 2, 3, 8]);
        assert_eq!(parse_cpus(b"0\n"), [0]);
        assert_eq!(parse_cpus(b""), Vec::<u32>::new());
        assert_eq!(parse_cpus(b"5,x,1-2,6-4294967295").len(), CPUS_MAX);
    }

    #[test]
    fn a_row_for_each_cpu_that_is_online() {
        let mut host = Host::in_memory();
        let stat = b"cpu  9 0 1 5\ncpu0 4 0 1 2 0 0 0 0 0 0\ncpu3 5 0 0 3 0 0 0 0 7 0\nintr 5\n";
        host.put("/proc/stat", Some(stat));
        let mut source = (ENTRY.open)(&mut host, &std::sync::Arc::default());
        let mut table = Table::new(ENTRY.fields.len());
        host.begin_tick();
        assert_eq!(source.read(&mut host, &mut table), State::Ok);
        assert_eq!((table.rows(), table.name(0), table.name(1)), (2, &b"0"[..], &b"3"[..]));
        assert_eq!((table.get(1, USER), table.get(1, GUEST)), (Some(5), Some(7)));
    }
}
