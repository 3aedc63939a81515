//! Pressure: the share of time in which tasks were stalled on CPU, I/O or memory.
//!
//! Reads `/proc/pressure/*`: one `pread` each, three or four in all (`irq` needs a kernel with
//! `CONFIG_IRQ_TIME_ACCOUNTING`).  Views show shares of the interval, computed from the totals in
//! µs.  The kernel's averages, which lag by 10 s and more, are recorded too.

use layout::{Block, Cell, DisplayOrder, Layout, Plot, PlotColumn, Row, Show};
use procfs::pressure::{Stall, parse_pressure};
use procfs::{FileId, Host, ReadMode};
use sample::{Cadence, Level, RowMut, State, Table, fields};

use crate::{Entry, Source};

fields! {
    SOME_TOTAL: counter Microseconds, "Time at least one task stalled";
    FULL_TOTAL: counter Microseconds, "Time all non-idle tasks stalled";
    SOME_AVG10: gauge PercentHundredths, "Some, average over 10 s";
    SOME_AVG60: gauge PercentHundredths, "Some, average over 60 s";
    SOME_AVG300: gauge PercentHundredths, "Some, average over 300 s";
    FULL_AVG10: gauge PercentHundredths, "Full, average over 10 s";
    FULL_AVG60: gauge PercentHundredths, "Full, average over 60 s";
    FULL_AVG300: gauge PercentHundredths, "Full, average over 300 s";
}
const SOME_AVERAGES: [usize; 3] = [SOME_AVG10, SOME_AVG60, SOME_AVG300];
const FULL_AVERAGES: [usize; 3] = [FULL_AVG10, FULL_AVG60, FULL_AVG300];

const FILES: [(&[u8], &str); 4] = [
    (b"cpu", "/proc/pressure/cpu"),
    (b"io", "/proc/pressure/io"),
    (b"memory", "/proc/pressure/memory"),
    (b"irq", "/proc/pressure/irq"),
];

struct Pressure {
    files: [FileId; 4],
}

impl Source for Pressure {
    fn read(&mut self, host: &mut Host, table: &mut Table) -> State {
        table.begin();
        let mut state = State::Absent;
        for ((name, _), file) in FILES.iter().zip(self.files) {
            let text = match host.read(file) {
                Ok(text) => text,
                Err(error) => {
                    // The first state other than absent is that of the source.
                    if state == State::Absent {
                        state = error;
                    }
                    continue;
                }
            };
            let pressure = parse_pressure(text);
            if pressure.some.is_none() && pressure.full.is_none() {
                if state == State::Absent {
                    state = State::Failed(0);
                }
                continue;
            }
            let mut row = table.row(name);
            set(&mut row, pressure.some, SOME_TOTAL, SOME_AVERAGES);
            set(&mut row, pressure.full, FULL_TOTAL, FULL_AVERAGES);
        }
        if table.rows() == 0 { state } else { State::Ok }
    }
}

fn set(row: &mut RowMut<'_>, stall: Option<Stall>, total: usize, averages: [usize; 3]) {
    let Some(stall) = stall else { return };
    row.set(total, stall.total_us);
    for (field, value) in averages.into_iter().zip(stall.average) {
        row.set(field, value);
    }
}

/// Share of the interval between the readings, in per cent.
fn percent(row: &Row<'_>, resource: &[u8], field: usize) -> Option<f64> {
    let row = row.rows().find(|row| row.name() == resource)?;
    Some(row.delta(field)? / (row.interval_seconds()? * 1e4))
}

/// One of the kernel's averages, in per cent.
fn average(row: &Row<'_>, resource: &[u8], field: usize) -> Option<f64> {
    let row = row.rows().find(|row| row.name() == resource)?;
    Some(row.gauge(field)? / 100.0)
}

fn cpu(row: &Row<'_>) -> Option<f64> {
    percent(row, b"cpu", SOME_TOTAL)
}

fn cpu_full(row: &Row<'_>) -> Option<f64> {
    percent(row, b"cpu", FULL_TOTAL)
}

fn io(row: &Row<'_>) -> Option<f64> {
    percent(row, b"io", SOME_TOTAL)
}

fn io_full(row: &Row<'_>) -> Option<f64> {
    percent(row, b"io", FULL_TOTAL)
}

fn memory(row: &Row<'_>) -> Option<f64> {
    percent(row, b"memory", SOME_TOTAL)
}

fn memory_full(row: &Row<'_>) -> Option<f64> {
    percent(row, b"memory", FULL_TOTAL)
}

fn irq_full(row: &Row<'_>) -> Option<f64> {
    percent(row, b"irq", FULL_TOTAL)
}

pub(crate) static ENTRY: Entry = Entry {
    name: "pressure",
    about: "Share of time that tasks stalled on CPU, I/O, memory or interrupts",
    letters: "p",
    reads: &[
        "/proc/pressure/cpu",
        "/proc/pressure/io",
        "/proc/pressure/memory",
        "/proc/pressure/irq",
    ],
    instance: &["resource"],
    fields: FIELDS,
    cadence: Cadence::First,
    layouts: &[Layout {
        level: Level::Summary,
        position: DisplayOrder { brief: 130, verbose: 125, plot: 130, lexpr: 1150, gexpr: 1150 },
        brief: &[Block {
            when: |_| true,
            title: "<---Pressure%--->",
            headings: &["  Cpu   Io   Mem "],
            show: Show::Cells(&[
                Cell::fixed("", 5, 1, cpu),
                Cell::fixed("", 5, 1, io),
                Cell::fixed(" ", 5, 1, memory),
            ]),
        }],
        verbose: &[Block {
            when: |_| true,
            title: "PRESSURE SUMMARY (% of time)",
            headings: &[
                "<---------Cpu---------><----------Io----------><--------Memory--------><-Irq>",
                " Some  Full Avg10 Avg60  Some  Full Avg10 Avg60  Some  Full Avg10 Avg60  Full",
            ],
            show: Show::Cells(&[
                Cell::fixed(" ", 5, 1, cpu),
                Cell::fixed(" ", 5, 1, cpu_full),
                Cell::fixed(" ", 5, 1, |row| average(row, b"cpu", SOME_AVG10)),
                Cell::fixed(" ", 5, 1, |row| average(row, b"cpu", SOME_AVG60)),
                Cell::fixed(" ", 5, 1, io),
                Cell::fixed(" ", 5, 1, io_full),
                Cell::fixed(" ", 5, 1, |row| average(row, b"io", SOME_AVG10)),
                Cell::fixed(" ", 5, 1, |row| average(row, b"io", SOME_AVG60)),
                Cell::fixed(" ", 5, 1, memory),
                Cell::fixed(" ", 5, 1, memory_full),
                Cell::fixed(" ", 5, 1, |row| average(row, b"memory", SOME_AVG10)),
                Cell::fixed(" ", 5, 1, |row| average(row, b"memory", SOME_AVG60)),
                Cell::fixed(" ", 5, 1, irq_full),
            ]),
        }],
        plot: Some(Plot {
            tag: "PSI",
            columns: &[
                PlotColumn::fixed("CpuSome%", 2, cpu),
                PlotColumn::fixed("CpuFull%", 2, cpu_full),
                PlotColumn::fixed("IoSome%", 2, io),
                PlotColumn::fixed("IoFull%", 2, io_full),
                PlotColumn::fixed("MemSome%", 2, memory),
                PlotColumn::fixed("MemFull%", 2, memory_full),
                PlotColumn::fixed("IrqFull%", 2, irq_full),
            ],
            ..Plot::EMPTY
        }),
        metrics: &[
            PlotColumn::fixed("pressure.cpusome", 2, cpu).level(),
            PlotColumn::fixed("pressure.cpufull", 2, cpu_full).level(),
            PlotColumn::fixed("pressure.iosome", 2, io).level(),
            PlotColumn::fixed("pressure.iofull", 2, io_full).level(),
            PlotColumn::fixed("pressure.memsome", 2, memory).level(),
            PlotColumn::fixed("pressure.memfull", 2, memory_full).level(),
            PlotColumn::fixed("pressure.irqfull", 2, irq_full).level(),
        ],
        ..Layout::EMPTY
    }],
    open: |host, _| {
        let files = FILES.map(|(_, path)| host.file(path, ReadMode::Whole));
        Box::new(Pressure { files })
    },
    ..Entry::EMPTY
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_that_are_there_have_rows_and_without_any_the_source_is_absent() {
        let mut host = Host::in_memory();
        let mut source = (ENTRY.open)(&mut host, &std::sync::Arc::default());
        let mut table = Table::new(ENTRY.fields.len());
        assert_eq!(source.read(&mut host, &mut table), State::Absent);
        let some = b"some avg10=0.47 avg60=0.92 avg300=1.55 total=18778901\n";
        let full = b"full avg10=0.01 avg60=0.02 avg300=0.03 total=9\n";
        host.put("/proc/pressure/memory", Some(some));
        host.put("/proc/pressure/irq", Some(full));
        host.begin_tick();
        assert_eq!(source.read(&mut host, &mut table), State::Ok);
        assert_eq!((table.rows(), table.name(0), table.name(1)), (2, &b"memory"[..], &b"irq"[..]));
        assert_eq!(table.get(0, SOME_TOTAL), Some(18_778_901));
        assert_eq!(table.get(0, SOME_AVERAGES[2]), Some(155));
        assert_eq!(table.get(0, FULL_TOTAL), None);
        assert_eq!((table.get(1, SOME_TOTAL), table.get(1, FULL_TOTAL)), (None, Some(9)));
        host.put("/proc/pressure/memory", Some(b"rubbish"));
        host.put("/proc/pressure/irq", None);
        host.begin_tick();
        assert_eq!(source.read(&mut host, &mut table), State::Failed(0));
    }
}
