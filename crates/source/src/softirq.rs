//! Soft interrupts, the deferred work of hardware interrupts, by kind and by CPU.
//!
//! Reads `/proc/softirqs` with one `pread`: ten lines with a column for each possible CPU (110
//! bytes a CPU).  A row is a CPU and a field a kind: the kernel has ten fixed kinds, and rows of
//! ten cells take less space in a recording than a row for each kind and CPU.

use layout::{Block, Cell, DisplayOrder, Layout, Plot, PlotColumn, Row, Show};
use procfs::softirqs::parse_softirqs;
use procfs::{FileId, Host, ReadMode};
use sample::{Cadence, Level, State, Table, fields};

use crate::{Entry, Source};

/// The most columns that are read; Linux can be built for 8,192 CPUs.
const CPUS_MAX: usize = 8192;

fields! {
    HI: counter Count, "Runs of the handler of high-priority tasklets";
    TIMER: counter Count, "Runs of the handler of timers";
    NET_TX: counter Count, "Runs of the handler that transmits packets";
    NET_RX: counter Count, "Runs of the handler that receives packets";
    BLOCK: counter Count, "Runs of the handler of completed block requests";
    IRQ_POLL: counter Count, "Runs of the handler that polls block devices";
    TASKLET: counter Count, "Runs of the handler of tasklets";
    SCHED: counter Count, "Runs of the handler that balances load between CPUs";
    HRTIMER: counter Count, "Runs of the handler of high-resolution timers";
    RCU: counter Count, "Runs of the handler of RCU callbacks";
}

struct Softirq {
    file: FileId,
}

impl Source for Softirq {
    fn read(&mut self, host: &mut Host, table: &mut Table) -> State {
        table.begin();
        let text = match host.read(self.file) {
            Ok(text) => text,
            Err(state) => return state,
        };
        let Some(softirqs) = parse_softirqs(text) else { return State::Failed(0) };
        for cpu in softirqs.cpus().take(CPUS_MAX) {
            table.row(cpu);
        }
        let rows = table.rows();
        for (kind, counts) in softirqs.kinds() {
            let Some(field) = field_of(kind) else { continue };
            for (row, count) in (0..rows).zip(counts) {
                table.row_mut(row).set(field, count);
            }
        }
        State::Ok
    }
}

fn field_of(kind: &[u8]) -> Option<usize> {
    Some(match kind {
        b"HI" => HI,
        b"TIMER" => TIMER,
        b"NET_TX" => NET_TX,
        b"NET_RX" => NET_RX,
        b"BLOCK" => BLOCK,
        // The name before Linux 4.5.
        b"IRQ_POLL" | b"BLOCK_IOPOLL" => IRQ_POLL,
        b"TASKLET" => TASKLET,
        b"SCHED" => SCHED,
        b"HRTIMER" => HRTIMER,
        b"RCU" => RCU,
        _ => return None,
    })
}

/// The rate of all CPUs together.
fn total(row: &Row<'_>, field: usize) -> Option<f64> {
    row.sum(|_| true, |cpu| cpu.rate(field))
}

pub(crate) static ENTRY: Entry = Entry {
    name: "softirq",
    about: "Soft interrupts by kind and CPU",
    letters: "qQ",
    reads: &["/proc/softirqs"],
    instance: &["cpu"],
    fields: FIELDS,
    cadence: Cadence::First,
    layouts: &[
        Layout {
            level: Level::Summary,
            position: DisplayOrder {
                brief: 150,
                verbose: 140,
                plot: 150,
                lexpr: 1160,
                gexpr: 1160,
            },
            brief: &[Block {
                when: |_| true,
                title: "<-------SoftIrq-------->",
                headings: &["Timer NetRx Block   Rcu "],
                show: Show::Cells(&[
                    Cell::scaled("", 5, |row| total(row, TIMER)),
                    Cell::scaled(" ", 5, |row| total(row, NET_RX)),
                    Cell::scaled(" ", 5, |row| total(row, BLOCK)),
                    Cell::scaled(" ", 5, |row| total(row, RCU)),
                ]),
            }],
            verbose: &[Block {
                when: |_| true,
                title: "SOFT INTERRUPT SUMMARY ($rate)",
                headings: &["   Hi  Timer  NetTx  NetRx  Block IrqPol Taskle  Sched HrTimr    Rcu"],
                show: Show::Cells(&[
                    Cell::scaled(" ", 5, |row| total(row, HI)),
                    Cell::scaled(" ", 6, |row| total(row, TIMER)),
                    Cell::scaled(" ", 6, |row| total(row, NET_TX)),
                    Cell::scaled(" ", 6, |row| total(row, NET_RX)),
                    Cell::scaled(" ", 6, |row| total(row, BLOCK)),
                    Cell::scaled(" ", 6, |row| total(row, IRQ_POLL)),
                    Cell::scaled(" ", 6, |row| total(row, TASKLET)),
                    Cell::scaled(" ", 6, |row| total(row, SCHED)),
                    Cell::scaled(" ", 6, |row| total(row, HRTIMER)),
                    Cell::scaled(" ", 6, |row| total(row, RCU)),
                ]),
            }],
            plot: Some(Plot {
                tag: "SIRQ",
                columns: &[
                    PlotColumn::new("Hi", |row| total(row, HI)),
                    PlotColumn::new("Timer", |row| total(row, TIMER)),
                    PlotColumn::new("NetTx", |row| total(row, NET_TX)),
                    PlotColumn::new("NetRx", |row| total(row, NET_RX)),
                    PlotColumn::new("Block", |row| total(row, BLOCK)),
                    PlotColumn::new("IrqPoll", |row| total(row, IRQ_POLL)),
                    PlotColumn::new("Tasklet", |row| total(row, TASKLET)),
                    PlotColumn::new("Sched", |row| total(row, SCHED)),
                    PlotColumn::new("HrTimer", |row| total(row, HRTIMER)),
                    PlotColumn::new("Rcu", |row| total(row, RCU)),
                ],
                ..Plot::EMPTY
            }),
            metrics: &[
                PlotColumn::new("softirq.hi", |row| total(row, HI)),
                PlotColumn::new("softirq.timer", |row| total(row, TIMER)),
                PlotColumn::new("softirq.nettx", |row| total(row, NET_TX)),
                PlotColumn::new("softirq.netrx", |row| total(row, NET_RX)),
                PlotColumn::new("softirq.block", |row| total(row, BLOCK)),
                PlotColumn::new("softirq.irqpoll", |row| total(row, IRQ_POLL)),
                PlotColumn::new("softirq.tasklet", |row| total(row, TASKLET)),
                PlotColumn::new("softirq.sched", |row| total(row, SCHED)),
                PlotColumn::new("softirq.hrtimer", |row| total(row, HRTIMER)),
                PlotColumn::new("softirq.rcu", |row| total(row, RCU)),
            ],
            ..Layout::EMPTY
        },
        Layout {
            level: Level::Detail,
            position: DisplayOrder {
                verbose: 145,
                plot: 140,
                lexpr: 1420,
                gexpr: 1420,
                ..DisplayOrder::LAST
            },
            verbose: &[Block {
                when: |_| true,
                title: "SOFT INTERRUPTS PER CPU ($rate)",
                headings: &[
                    "Cpu     Hi  Timer  NetTx  NetRx  Block IrqPol Taskle  Sched HrTimr    Rcu",
                ],
                show: Show::Cells(&[
                    Cell::right("", 4, |row| Some(row.name())),
                    Cell::scaled(" ", 6, |row| row.rate(HI)),
                    Cell::scaled(" ", 6, |row| row.rate(TIMER)),
                    Cell::scaled(" ", 6, |row| row.rate(NET_TX)),
                    Cell::scaled(" ", 6, |row| row.rate(NET_RX)),
                    Cell::scaled(" ", 6, |row| row.rate(BLOCK)),
                    Cell::scaled(" ", 6, |row| row.rate(IRQ_POLL)),
                    Cell::scaled(" ", 6, |row| row.rate(TASKLET)),
                    Cell::scaled(" ", 6, |row| row.rate(SCHED)),
                    Cell::scaled(" ", 6, |row| row.rate(HRTIMER)),
                    Cell::scaled(" ", 6, |row| row.rate(RCU)),
                ]),
            }],
            plot: Some(Plot {
                tag: "SIRQ",
                extension: "sirq",
                columns: &[
                    PlotColumn::new("Hi", |row| row.rate(HI)),
                    PlotColumn::new("Timer", |row| row.rate(TIMER)),
                    PlotColumn::new("NetTx", |row| row.rate(NET_TX)),
                    PlotColumn::new("NetRx", |row| row.rate(NET_RX)),
                    PlotColumn::new("Block", |row| row.rate(BLOCK)),
                    PlotColumn::new("IrqPoll", |row| row.rate(IRQ_POLL)),
                    PlotColumn::new("Tasklet", |row| row.rate(TASKLET)),
                    PlotColumn::new("Sched", |row| row.rate(SCHED)),
                    PlotColumn::new("HrTimer", |row| row.rate(HRTIMER)),
                    PlotColumn::new("Rcu", |row| row.rate(RCU)),
                ],
                ..Plot::EMPTY
            }),
            metrics: &[
                PlotColumn::new("softirqinfo.timer.cpu{}", |row| row.rate(TIMER)),
                PlotColumn::new("softirqinfo.nettx.cpu{}", |row| row.rate(NET_TX)),
                PlotColumn::new("softirqinfo.netrx.cpu{}", |row| row.rate(NET_RX)),
                PlotColumn::new("softirqinfo.block.cpu{}", |row| row.rate(BLOCK)),
                PlotColumn::new("softirqinfo.tasklet.cpu{}", |row| row.rate(TASKLET)),
                PlotColumn::new("softirqinfo.sched.cpu{}", |row| row.rate(SCHED)),
                PlotColumn::new("softirqinfo.rcu.cpu{}", |row| row.rate(RCU)),
            ],
            ..Layout::EMPTY
        },
    ],
    open: |host, _| Box::new(Softirq { file: host.file("/proc/softirqs", ReadMode::Whole) }),
    ..Entry::EMPTY
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_for_each_cpu_and_missing_where_the_file_is_cut() {
        let mut host = Host::in_memory();
        let mut source = (ENTRY.open)(&mut host, &std::sync::Arc::default());
        let mut table = Table::new(ENTRY.fields.len());
        let text = b"       CPU0  CPU2\n  HI:  1  2\nBLOCK_IOPOLL: 3 4 5\n NEW: 8 8\n RCU:  7\n";
        host.put("/proc/softirqs", Some(text));
        assert_eq!(source.read(&mut host, &mut table), State::Ok);
        assert_eq!((table.rows(), table.name(1)), (2, &b"2"[..]));
        let row = |row| [HI, TIMER, IRQ_POLL, RCU].map(|field| table.get(row, field));
        assert_eq!(row(0), [Some(1), None, Some(3), Some(7)]);
        assert_eq!(row(1), [Some(2), None, Some(4), None]);
    }
}
