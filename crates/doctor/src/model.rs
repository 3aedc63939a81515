//! The estimated cost of the two files that grow with the machine on bigger machines.
//!
//! It is computed from their cost on this machine and from published measurements:
//!
//! - `/proc/stat` has a line for each CPU and a number for each interrupt line, and the kernel
//!   adds up every interrupt that ever fired over every CPU.  The time to format a byte is
//!   measured here; adding up takes [`SUM_NS`] for each pair, from a machine of 96 CPUs and 2,824
//!   interrupts, which needed 474 µs a read in 2019.
//! - `/proc/interrupts` has a cell of 11 characters for each CPU in each row, at [`CELL_NS`].
//!
//! Each CPU is assumed to add [`INTERRUPTS_PER_CPU`] interrupt lines: a network card and a few NVMe
//! disks with a queue for each CPU.

use std::time::Duration;

use procfs::{Host, ReadMode};

use super::measure::median;
use procfs::SystemClock;
use sample::Clock;

/// Nanoseconds for adding one interrupt of one CPU: (474 µs − 66 µs of formatting) over 96 × 2,824.
const SUM_NS: f64 = 1.5;

/// Nanoseconds for writing one cell of `/proc/interrupts`, a number padded to 11 characters.
const CELL_NS: f64 = 12.0;

/// Characters of one cell.
const CELL_BYTES: u64 = 11;

/// Interrupts for each additional CPU.
const INTERRUPTS_PER_CPU: u64 = 4;

/// Bytes of a CPU's line in `/proc/stat` on a machine that has been up for a while.
const CPU_LINE_BYTES: u64 = 60;

/// The machines for which costs are estimated.
const CPUS: [u64; 2] = [48, 256];

/// Readings; the median of their times counts.
const READS: usize = 15;

/// CPUs, and the time of one `/proc/stat` on them under Linux 2.6.32, which is why collectl checks.
pub(crate) const REGRESSION: (u64, Duration) = (48, Duration::from_millis(15));

/// The estimates, and the size of this machine.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) cpus: u64,
    /// Interrupt lines of the kernel (the numbers in the `intr` line).
    pub(crate) interrupts: u64,
    pub(crate) rows: Vec<Row>,
}

/// One file on one machine.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) file: &'static str,
    pub(crate) cpus: u64,
    pub(crate) interrupts: u64,
    pub(crate) bytes: u64,
    pub(crate) nanoseconds: u64,
    /// False if it was measured here.
    pub(crate) estimated: bool,
}

/// Measures the two files here and estimates their cost elsewhere.  `None` without a `/proc/stat`.
pub(crate) fn model(host: &mut Host) -> Option<Model> {
    let stat = read(host, "/proc/stat", ReadMode::Whole)?;
    let cpus = count(&stat.text, |line| {
        line.strip_prefix(b"cpu").is_some_and(|rest| rest.first().is_some_and(u8::is_ascii_digit))
    });
    let numbers = |line: &[u8]| line.split(|byte| *byte == b' ').count() as u64;
    let intr = stat.text.split(|byte| *byte == b'\n').find(|line| line.starts_with(b"intr "));
    // The word `intr` and the total precede the interrupts.
    let interrupts = intr.map_or(0, numbers).saturating_sub(2);
    let mut rows = vec![Row {
        file: "/proc/stat",
        cpus,
        interrupts,
        bytes: stat.text.len() as u64,
        nanoseconds: stat.nanoseconds,
        estimated: false,
    }];
    let table = read(host, "/proc/interrupts", ReadMode::Records);
    let lines = table.as_ref().map_or(0, |table| count(&table.text, |line| line.contains(&b':')));
    for &wanted in &CPUS {
        let more = wanted.saturating_sub(cpus);
        let all = interrupts + more * INTERRUPTS_PER_CPU;
        let bytes = stat.text.len() as u64 + more * (CPU_LINE_BYTES + 2 * INTERRUPTS_PER_CPU);
        let formatting = stat.nanoseconds as f64 / stat.text.len().max(1) as f64 * bytes as f64;
        let sum = SUM_NS * (wanted * all) as f64;
        rows.push(Row {
            file: "/proc/stat",
            cpus: wanted,
            interrupts: all,
            bytes,
            nanoseconds: (formatting + sum) as u64,
            estimated: true,
        });
    }
    if let Some(table) = table {
        rows.push(Row {
            file: "/proc/interrupts",
            cpus,
            interrupts: lines,
            bytes: table.text.len() as u64,
            nanoseconds: table.nanoseconds,
            estimated: false,
        });
        for &wanted in &CPUS {
            let more = wanted.saturating_sub(cpus);
            let all = lines + more * INTERRUPTS_PER_CPU;
            let cells = (all * wanted).saturating_sub(lines * cpus);
            // A row has some 30 characters besides its cells.
            let bytes = table.text.len() as u64 + cells * CELL_BYTES + (all - lines) * 30;
            rows.push(Row {
                file: "/proc/interrupts",
                cpus: wanted,
                interrupts: all,
                bytes,
                nanoseconds: table.nanoseconds + (CELL_NS * cells as f64) as u64,
                estimated: true,
            });
        }
    }
    rows.retain(|row| !row.estimated || row.cpus > cpus);
    Some(Model { cpus, interrupts, rows })
}

struct Base {
    text: Vec<u8>,
    nanoseconds: u64,
}

fn read(host: &mut Host, path: &str, mode: ReadMode) -> Option<Base> {
    let file = host.file(path, mode);
    let mut times = Vec::with_capacity(READS);
    for _ in 0..READS {
        host.begin_tick();
        let before = SystemClock.now().monotonic_ns;
        host.read(file).ok()?;
        times.push(SystemClock.now().monotonic_ns.saturating_sub(before));
    }
    let text = host.read(file).ok()?.to_vec();
    Some(Base { text, nanoseconds: median(&mut times) })
}

fn count(text: &[u8], mut is: impl FnMut(&[u8]) -> bool) -> u64 {
    text.split(|byte| *byte == b'\n').filter(|line| is(line)).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bigger_machines_cost_more() {
        let model = model(&mut Host::new("/")).unwrap();
        assert!(model.cpus >= 1 && model.interrupts >= 1);
        for pair in model.rows.windows(2) {
            if pair[0].file == pair[1].file {
                assert!(pair[0].nanoseconds < pair[1].nanoseconds, "{pair:?}");
                assert!(pair[0].bytes < pair[1].bytes, "{pair:?}");
            }
        }
    }

    #[test]
    fn counts_come_from_the_text() {
        let mut host = Host::in_memory();
        host.put("/proc/stat", Some(b"cpu  1 2\ncpu0 1 2\ncpu1 1 2\nintr 549787 0 9 7\nctxt 5\n"));
        let model = model(&mut host).unwrap();
        assert_eq!((model.cpus, model.interrupts), (2, 3));
        assert_eq!(model.rows.len(), 3, "no /proc/interrupts there");
        assert!(super::model(&mut Host::in_memory()).is_none());
    }
}
