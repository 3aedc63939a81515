//! Interrupts by number or name and by CPU.
//!
//! Reads `/proc/interrupts` (proc_interrupts(5)), only if `j` or `J` selects it: of the host's
//! files it is the most expensive, 59 µs for two CPUs and 40 lines, and its cost grows with the
//! number of CPUs times interrupts.  Parsing costs about 30 ns for each CPU and interrupt (4 ms for
//! 256 CPUs with 500).  A row is an interrupt on a CPU.  The kernel counts `ERR` and `MIS` for the
//! whole machine, so their names have no CPU.
//!
//! Where a BPF program reads the counters (`counters.rs`) and only the sums of CPUs are shown, a row
//! is a CPU, under the name `all`.

use std::num::NonZeroU64;

use bpf::CpuCounters;
use procfs::interrupts::{Interrupt, cpus, parse_interrupts};
use procfs::{FileId, Host, ReadMode};
use sample::{Cadence, Level, State, Table, fields};

use crate::counters::{self, CounterSource, FilesOnly};
use crate::instance::{self, PAIR_BYTES, RowName, digits};
use crate::{Entry, RecordFilter, SourceContext};

mod layout;

pub(crate) use layout::{served, served_rate};

fields! {
    COUNT: counter Count, "Interrupts served";
    KIND: text, "Interrupt controller";
    DEVICE: text, "Devices that raise it, or its purpose";
}

/// The most CPUs that are read, and the most for which Linux can be built.
const CPUS_MAX: usize = 8192;

/// The most rows, about 100 MB of them: 256 CPUs with 4,096 interrupts.  With more, the reading
/// fails, because sums over a part would be wrong.
const ROWS_MAX: usize = 1 << 20;

/// A line, and its rows.
#[derive(Default)]
struct Line {
    text: Vec<u8>,
    first: usize,
    rows: usize,
}

/// The label of the sum over all interrupts of a CPU.
const ALL: &[u8] = b"all";

/// Comparisons of the BPF program's sums with those of the file.
const SUMS_COMPARED: usize = 5;

struct Interrupts {
    file: FileId,
    /// The heading of the previous reading, and the CPUs that it names.
    heading: Vec<u8>,
    cpus: Vec<Vec<u8>>,
    name: RowName<PAIR_BYTES>,
    device: Vec<u8>,
    /// The lines of the previous reading, and its mark: most lines are those of interrupts that did
    /// not occur, and need not be parsed again.
    lines: Vec<Line>,
    mark: Option<NonZeroU64>,
    /// The interrupts of each CPU that the kernel has freed, and the file no longer shows.
    freed: Vec<u64>,
}

impl CounterSource for Interrupts {
    fn read_files(&mut self, host: &mut Host, table: &mut Table) -> State {
        let mut has_lines = table.begin_after(self.mark.take());
        let text = match host.read(self.file) {
            Ok(text) => text,
            Err(state) => return state,
        };
        let interrupts = parse_interrupts(text);
        if interrupts.heading != self.heading {
            has_lines = false;
            self.heading.clear();
            self.heading.extend_from_slice(interrupts.heading);
            self.cpus.clear();
            self.cpus.extend(cpus(interrupts.heading).take(CPUS_MAX).map(<[u8]>::to_vec));
        }
        for (number, interrupt) in interrupts.enumerate() {
            if number == self.lines.len() {
                self.lines.push(Line::default());
            }
            let first = table.rows();
            let line = &mut self.lines[number];
            if has_lines && line.first == first && line.text == interrupt.line {
                table.keep_rows(line.rows);
                continue;
            }
            line.text.clear();
            line.text.extend_from_slice(interrupt.line);
            if self.add_rows(interrupt, table).is_none() {
                return State::Failed(rustix::io::Errno::FBIG.raw_os_error());
            }
            let line = &mut self.lines[number];
            (line.first, line.rows) = (first, table.rows() - first);
        }
        self.mark = table.mark();
        if table.rows() > 0 { State::Ok } else { State::Failed(0) }
    }

    /// A row for each CPU, and one for `ERR`.
    fn read_counters(&mut self, counters: &CpuCounters, _: &mut Host, table: &mut Table) -> State {
        table.begin();
        for number in 0..counters.cpus() {
            let Some(cpu) = counters.cpu(number).filter(|cpu| cpu.online != 0) else { continue };
            let freed = self.freed.get(number).copied().unwrap_or(0);
            let mut space = [0; 20];
            if let Some(name) = self.name.join(ALL, digits(number as u64, &mut space)) {
                table.row(name).set(COUNT, cpu.interrupts_in_column().saturating_sub(freed));
            }
        }
        table.row(b"ERR").set(COUNT, counters.interrupt_errors());
        State::Ok
    }

    /// Compares the sums of the columns.  The kernel's sums also have the interrupts that were
    /// freed, which are no longer in the file: their number must be the same at every attempt.
    fn check(&mut self, host: &mut Host, counters: &CpuCounters) -> Result<(), String> {
        let failed = |_| "/proc/interrupts cannot be read".to_owned();
        let mut limits = vec![(i64::MIN, i64::MAX); counters.cpus()];
        for _ in 0..SUMS_COMPARED {
            let before = self.sums(host, counters.cpus()).map_err(failed)?;
            counters.refresh().map_err(|error| error.to_string())?;
            let after = self.sums(host, counters.cpus()).map_err(failed)?;
            for (number, (least, most)) in limits.iter_mut().enumerate() {
                let Some(cpu) = counters.cpu(number).filter(|cpu| cpu.online != 0) else {
                    continue;
                };
                let counted = cpu.interrupts_in_column();
                *least = (*least).max(counted.wrapping_sub(after[number]).cast_signed());
                *most = (*most).min(counted.wrapping_sub(before[number]).cast_signed());
            }
        }
        self.freed = vec![0; limits.len()];
        for (number, (least, most)) in limits.into_iter().enumerate() {
            match u64::try_from(most.min(least.max(0))) {
                Ok(freed) if least <= most => self.freed[number] = freed,
                _ => {
                    return Err(format!(
                        "its values are not those of the file: CPU {number} differs by {least} \
                         to {most}"
                    ));
                }
            }
        }
        Ok(())
    }
}

impl Interrupts {
    /// The sum of each CPU's column of the file.
    fn sums(&mut self, host: &mut Host, cpus: usize) -> Result<Vec<u64>, State> {
        let mut table = Table::new(ENTRY.fields.len());
        host.begin_tick();
        match self.read_files(host, &mut table) {
            State::Ok => {}
            state => return Err(state),
        }
        let mut sums = vec![0; cpus];
        for row in 0..table.rows() {
            let (_, cpu) = instance::split(table.name(row));
            let number = std::str::from_utf8(cpu).ok().and_then(|cpu| cpu.parse::<usize>().ok());
            if let Some(sum) = number.and_then(|number| sums.get_mut(number)) {
                *sum += table.get(row, COUNT).unwrap_or(0);
            }
        }
        Ok(sums)
    }

    /// Adds the rows of one interrupt; `None` when the table is full.
    fn add_rows(&mut self, mut interrupt: Interrupt<'_>, table: &mut Table) -> Option<()> {
        let first = table.rows();
        if interrupt.is_single() {
            if let Some(count) = interrupt.take_count() {
                table.row(interrupt.name).set(COUNT, count);
            }
            return Some(());
        }
        let mut column = 0;
        while column < self.columns()
            && let Some(count) = interrupt.take_count()
        {
            if column == self.cpus.len() {
                self.cpus.push(column.to_string().into_bytes());
            }
            // The kernel has no names that are too long.
            if let Some(name) = self.name.join(interrupt.name, &self.cpus[column]) {
                table.row(name).set(COUNT, count);
            }
            column += 1;
        }
        if table.rows() > ROWS_MAX {
            return None;
        }
        if table.rows() > first {
            let (kind, device) = self.describe(interrupt);
            let mut row = table.row_mut(first);
            if !kind.is_empty() {
                row.set_text(KIND, kind);
            }
            row.set_text(DEVICE, device);
        }
        // The rows of the other CPUs refer to the same texts.
        let texts = [KIND, DEVICE].map(|field| (field, table.get(first, field)));
        for row in first + 1..table.rows() {
            let mut row = table.row_mut(row);
            for (field, text) in texts {
                row.set_some(field, text);
            }
        }
        Some(())
    }

    /// The number of columns to read: as many as the heading has; without a heading, all.
    fn columns(&self) -> usize {
        if self.heading.is_empty() { CPUS_MAX } else { self.cpus.len() }
    }

    /// The interrupt controller and the rest of an interrupt's description, with single blanks
    /// between words.  An interrupt with a name has no controller.
    fn describe<'a>(&'a mut self, interrupt: Interrupt<'a>) -> (&'a [u8], &'a [u8]) {
        let mut words = interrupt.description();
        let kind = match interrupt.name.first() {
            Some(b'0'..=b'9') => procfs::scan::take_word(&mut words),
            _ => &[],
        };
        self.device.clear();
        loop {
            let word = procfs::scan::take_word(&mut words);
            if word.is_empty() {
                return (kind, &self.device);
            }
            if !self.device.is_empty() {
                self.device.push(b' ');
            }
            self.device.extend_from_slice(word);
        }
    }
}

/// Whether only the sums of CPUs are shown, not the single interrupts.
fn only_sums(context: &SourceContext) -> bool {
    let RecordFilter { selection, given, .. } = &context.filter;
    let shown = selection.as_ref().is_some_and(|shown| !shown.asks(&ENTRY.def(), Level::Detail));
    shown && !given.of(&layout::INTERRUPT_FILTER).is_set()
}

pub(crate) static ENTRY: Entry = Entry {
    name: "interrupt",
    about: "Interrupts by number or name and by CPU",
    letters: "jJ",
    reads: &["/proc/interrupts"],
    instance: &["irq", "cpu"],
    fields: FIELDS,
    cadence: Cadence::First,
    layouts: &[layout::SUMMARY, layout::DETAIL],
    options: &[&layout::INTERRUPT_FILTER],
    open: |host, context| {
        let interrupts = Interrupts {
            file: host.file("/proc/interrupts", ReadMode::Records),
            heading: Vec::new(),
            cpus: Vec::new(),
            name: RowName::default(),
            device: Vec::new(),
            lines: Vec::new(),
            mark: None,
            freed: Vec::new(),
        };
        if only_sums(context) {
            counters::open(&ENTRY, interrupts, host, context)
        } else {
            Box::new(FilesOnly(interrupts))
        }
    },
    ..Entry::EMPTY
};

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"           CPU0       CPU2       \n \
        24:          1          0  IO-APIC   5-edge      ACPI:Ged\n\
        LOC:      50944      55588   Local timer interrupts\nERR:          3\n";

    fn read(text: &[u8]) -> (State, Table) {
        let mut host = Host::in_memory();
        let mut interrupts = (ENTRY.open)(&mut host, &std::sync::Arc::default());
        host.put("/proc/interrupts", Some(text));
        let mut table = Table::new(ENTRY.fields.len());
        (interrupts.read(&mut host, &mut table), table)
    }

    fn names(table: &Table) -> Vec<String> {
        let name = |row| String::from_utf8_lossy(table.name(row)).replace('\x1f', "/");
        (0..table.rows()).map(name).collect()
    }

    #[test]
    fn rows_are_interrupts_on_cpus() {
        let (state, table) = read(TEXT);
        assert_eq!(state, State::Ok);
        assert_eq!(names(&table), ["24/0", "24/2", "LOC/0", "LOC/2", "ERR"]);
        assert_eq!(table.get(3, COUNT), Some(55_588));
        assert_eq!(table.get(4, COUNT), Some(3));
        assert_eq!(table.text(1, KIND), Some(&b"IO-APIC"[..]));
        assert_eq!(table.text(1, DEVICE), Some(&b"5-edge ACPI:Ged"[..]));
        assert_eq!(table.text(2, KIND), None);
        assert_eq!(table.text(2, DEVICE), Some(&b"Local timer interrupts"[..]));
        assert_eq!(table.text(4, DEVICE), None);
    }

    #[test]
    fn without_a_heading_cpus_are_numbered_as_they_stand() {
        let below = TEXT.splitn(2, |&byte| byte == b'\n').nth(1).unwrap();
        let (state, table) = read(below);
        assert_eq!(state, State::Ok);
        assert_eq!(names(&table), ["24/0", "24/1", "LOC/0", "LOC/1", "ERR"]);
    }

    #[test]
    fn a_cpu_that_goes_takes_its_column_along() {
        let mut host = Host::in_memory();
        let mut interrupts = (ENTRY.open)(&mut host, &std::sync::Arc::default());
        let mut table = Table::new(ENTRY.fields.len());
        for (text, expected) in [
            (&b"CPU0 CPU1 CPU2\n1: 1 2 3 a b\n"[..], &["1/0", "1/1", "1/2"][..]),
            (b"CPU0 CPU2\n1: 1 3 a b\n", &["1/0", "1/2"]),
        ] {
            host.begin_tick();
            host.put("/proc/interrupts", Some(text));
            assert_eq!(interrupts.read(&mut host, &mut table), State::Ok);
            assert_eq!(names(&table), expected);
        }
    }

    #[test]
    fn lines_that_did_not_change_keep_their_rows() {
        let mut host = Host::in_memory();
        let mut interrupts = (ENTRY.open)(&mut host, &std::sync::Arc::default());
        let mut table = Table::new(ENTRY.fields.len());
        let texts: [&[u8]; 6] = [
            b"CPU0 CPU1\n1: 1 2 a b\n2: 3 4 c d\nERR: 0\n",
            b"CPU0 CPU1\n1: 1 2 a b\n2: 3 5 c d\nERR: 0\n",
            b"CPU0 CPU1\n2: 3 5 c d\nERR: 0\n",
            b"CPU0 CPU1\n1: 1 2 a b\n2: 3 5 c d\nERR: 0\n",
            b"CPU0\n1: 1 a b\n2: 3 c d\nERR: 0\n",
            b"CPU1\n1: 1 a b\n2: 3 c d\nERR: 1\n",
        ];
        for text in texts {
            host.begin_tick();
            host.put("/proc/interrupts", Some(text));
            assert_eq!(interrupts.read(&mut host, &mut table), State::Ok);
            let (_, fresh) = read(text);
            assert_eq!(names(&table), names(&fresh));
            for row in 0..fresh.rows() {
                assert_eq!(table.get(row, COUNT), fresh.get(row, COUNT));
                for field in [KIND, DEVICE] {
                    assert_eq!(table.text(row, field), fresh.text(row, field));
                }
            }
        }
    }

    #[test]
    fn nothing_known_is_a_failure() {
        assert_eq!(read(b"").0, State::Failed(0));
        assert_eq!(read(b"CPU0 CPU1\n").0, State::Failed(0));
    }
}
