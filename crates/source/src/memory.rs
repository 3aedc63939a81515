//! Memory of the whole machine: use, swap, paging, reclaim.
//!
//! Reads `/proc/meminfo` and `/proc/vmstat`.  Cost: one `pread` each; fields are looked for first
//! where the previous reading found them, 1.4 µs for both files.  For `vmstat` the kernel adds up
//! the counters of all CPUs, so its part of the cost grows with their number.
//!
//! The fields are the kernel's numbers; `memory/layout.rs` computes collectl's columns from them.

mod fields;
mod layout;

use ::layout::{DisplayOrder, Layout, Plot};
use procfs::scan::KeyIndex;
use procfs::vmstat::Vmstat;
use procfs::{FileId, Host, ReadMode};
use sample::{Cadence, Level, State, Table};

use self::fields::{FIELDS, MEMINFO_KEYS, REFAULTS, VMSTAT_KEYS};
pub(crate) use self::layout::MEMORY_OPTIONS;
use crate::{Entry, Source};

struct Memory {
    meminfo: FileId,
    meminfo_index: KeyIndex,
    vmstat: Vmstat,
}

impl Source for Memory {
    fn read(&mut self, host: &mut Host, table: &mut Table) -> State {
        table.begin();
        let text = match host.read(self.meminfo) {
            Ok(text) => text,
            Err(state) => return state,
        };
        let mut row = table.row(b"");
        self.meminfo_index.scan(text, |key, value| row.set(key, value));
        // A kernel without vmstat still has the fields of meminfo.
        let _ = self.vmstat.read(host, |key, value| row.set(REFAULTS + key, value));
        State::Ok
    }
}

pub(crate) static ENTRY: Entry = Entry {
    name: "memory",
    about: "Memory of the whole machine: use, swap, paging, reclaim",
    letters: "m",
    reads: &["/proc/meminfo", "/proc/vmstat"],
    instance: &[],
    fields: FIELDS,
    cadence: Cadence::First,
    layouts: &[Layout {
        level: Level::Summary,
        position: DisplayOrder { brief: 30, verbose: 50, plot: 20, lexpr: 50, gexpr: 70 },
        brief: layout::BRIEF,
        verbose: layout::VERBOSE,
        plot: Some(Plot { tag: "MEM", columns: layout::PLOT, ..Plot::EMPTY }),
        metrics: layout::METRICS,
        ..Layout::EMPTY
    }],
    options: &[&layout::MEMORY_OPTIONS],
    open: |host, _| {
        Box::new(Memory {
            meminfo: host.file("/proc/meminfo", ReadMode::Whole),
            meminfo_index: KeyIndex::new(MEMINFO_KEYS),
            vmstat: Vmstat::new(host, VMSTAT_KEYS),
        })
    },
    ..Entry::EMPTY
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_its_field() {
        assert_eq!(FIELDS.len(), fields::KEYS.len());
        let check = |name: &str, expected: &str| {
            let key = fields::KEYS[ENTRY.field(name).unwrap()];
            let found = std::str::from_utf8(key).unwrap();
            assert_eq!(found.trim_end_matches([':', ' ']), expected);
        };
        check("total", "MemTotal");
        check("locked", "Mlocked");
        check("anonymous", "AnonPages");
        check("slab_unreclaimable", "SUnreclaim");
        check("committed", "Committed_AS");
        check("anonymous_huge", "AnonHugePages");
        check("huge_reserved", "HugePages_Rsvd");
        check("hugetlb", "Hugetlb");
        check("shared_pages", "nr_shmem");
        check("page_in", "pgpgin");
        check("swap_out", "pswpout");
        check("alloc_movable", "pgalloc_movable");
        check("faults", "pgfault");
        check("refilled_dma", "pgrefill_dma");
        check("stolen_movable", "pgsteal_movable");
        check("scanned_direct", "pgscan_direct");
        check("scanned_direct_movable", "pgscan_direct_movable");
        check("oom_kills", "oom_kill");
        check("zswap_written", "zswpwb");
    }

    #[test]
    fn reads_both_files_and_either() {
        let mut host = Host::in_memory();
        let mut memory = (ENTRY.open)(&mut host, &std::sync::Arc::default());
        let mut table = Table::new(FIELDS.len());
        assert_eq!(memory.read(&mut host, &mut table), State::Absent);
        host.begin_tick();
        host.put("/proc/meminfo", Some(b"MemTotal: 8 kB\nMemFree: 3 kB\n"));
        assert_eq!(memory.read(&mut host, &mut table), State::Ok);
        assert_eq!(table.get(0, fields::FREE), Some(3));
        assert_eq!(table.get(0, fields::FAULTS), None);
        host.begin_tick();
        host.put("/proc/vmstat", Some(b"nr_free_pages 1\npgfault 77\noom_kill 0\n"));
        assert_eq!(memory.read(&mut host, &mut table), State::Ok);
        assert_eq!(table.get(0, fields::TOTAL), Some(8));
        assert_eq!(table.get(0, fields::FAULTS), Some(77));
        assert_eq!(table.get(0, fields::OOM_KILLS), Some(0));
        assert_eq!(table.get(0, fields::SLAB), None);
    }
}
