//! `/proc/vmstat` (kernel `mm/vmstat.c`): `pgpgin 3629317`.
//!
//! Events since boot, in pages, except `pgpgin` and `pgpgout`, which count kibibytes; the three
//! `nr_shmem` are gauges.  Kernels before 4.8 count refills, steals and scans per zone, those before
//! 4.10 the stalls.  Both forms are read; a kernel has one of them.

//!
//! The kernel returns at most a page per read, and sums up all counters for each read.  On most
//! kernels the first page has all lines that are used here, so the rest is not read.

use sample::State;

use crate::host::{FileId, Host, ReadMode};
use crate::scan::KeyIndex;

/// The lines that are read, in the file's order.
pub const KEYS: &[&[u8]] = &[
    b"workingset_refault ",
    b"workingset_refault_anon ",
    b"workingset_refault_file ",
    b"nr_shmem ",
    b"nr_shmem_hugepages ",
    b"nr_shmem_pmdmapped ",
    b"nr_dirtied ",
    b"nr_written ",
    b"pgpgin ",
    b"pgpgout ",
    b"pswpin ",
    b"pswpout ",
    b"pgalloc_dma ",
    b"pgalloc_dma32 ",
    b"pgalloc_normal ",
    b"pgalloc_movable ",
    b"allocstall ",
    b"allocstall_dma ",
    b"allocstall_dma32 ",
    b"allocstall_normal ",
    b"allocstall_movable ",
    b"pgfree ",
    b"pgactivate ",
    b"pgdeactivate ",
    b"pgfault ",
    b"pgmajfault ",
    b"pgrefill ",
    b"pgrefill_dma ",
    b"pgrefill_dma32 ",
    b"pgrefill_normal ",
    b"pgrefill_movable ",
    b"pgsteal_dma ",
    b"pgsteal_dma32 ",
    b"pgsteal_normal ",
    b"pgsteal_movable ",
    b"pgsteal_kswapd ",
    b"pgsteal_direct ",
    b"pgsteal_khugepaged ",
    b"pgsteal_proactive ",
    b"pgscan_kswapd ",
    b"pgscan_direct ",
    b"pgscan_khugepaged ",
    b"pgscan_proactive ",
    b"pgscan_kswapd_dma ",
    b"pgscan_kswapd_dma32 ",
    b"pgscan_kswapd_normal ",
    b"pgscan_kswapd_movable ",
    b"pgscan_direct_dma ",
    b"pgscan_direct_dma32 ",
    b"pgscan_direct_normal ",
    b"pgscan_direct_movable ",
    b"pgscan_direct_throttle ",
    b"slabs_scanned ",
    b"pageoutrun ",
    b"pgrotated ",
    b"drop_pagecache ",
    b"drop_slab ",
    b"oom_kill ",
    b"numa_pages_migrated ",
    b"pgmigrate_success ",
    b"pgmigrate_fail ",
    b"compact_stall ",
    b"compact_fail ",
    b"compact_success ",
    b"compact_daemon_wake ",
    b"thp_fault_alloc ",
    b"thp_fault_fallback ",
    b"thp_collapse_alloc ",
    b"thp_split_page ",
    b"swap_ra ",
    b"swap_ra_hit ",
    b"zswpin ",
    b"zswpout ",
    b"zswpwb ",
];

/// Finds [`KEYS`].
pub fn index() -> KeyIndex {
    KeyIndex::new(KEYS)
}

/// The file of a host, and the offsets of the wanted lines.
pub struct Vmstat {
    file: FileId,
    index: KeyIndex,
    needs: Needs,
}

/// How much of the file is read.  The set of lines does not change while a kernel runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    /// Not yet known.
    Unknown,
    /// The result of one read, as long as it has this many of the lines.
    First(usize),
    Whole,
}

impl Vmstat {
    /// Reads the lines `keys`, given in the order of the file, such as [`KEYS`].
    pub fn new(host: &mut Host, keys: &'static [&'static [u8]]) -> Self {
        let file = host.file("/proc/vmstat", ReadMode::Records);
        Vmstat { file, index: KeyIndex::new(keys), needs: Needs::Unknown }
    }

    /// Calls `found` with the index and the value of each key that the file has; twice for a key
    /// if the first page was not enough, and then the last value is valid.
    ///
    /// # Errors
    /// As [`Host::read`].
    pub fn read(
        &mut self,
        host: &mut Host,
        mut found: impl FnMut(usize, u64),
    ) -> Result<(), State> {
        let mut scan = |text: &[u8]| {
            let mut count = 0;
            self.index.scan(text, |key, value| {
                count += 1;
                found(key, value);
            });
            count
        };
        let mut in_first = None;
        if self.needs != Needs::Whole {
            let (text, whole) = host.read_first(self.file)?;
            let count = scan(text);
            if whole || self.needs == Needs::First(count) {
                return Ok(());
            }
            in_first = Some(count);
        }
        let count = scan(host.read(self.file)?);
        self.needs = if in_first == Some(count) { Needs::First(count) } else { Needs::Whole };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(index: &mut KeyIndex, text: &str) -> Vec<(&'static str, u64)> {
        let mut out = Vec::new();
        let name = |key: usize| std::str::from_utf8(KEYS[key]).unwrap().trim_end();
        index.scan(text.as_bytes(), |key, value| out.push((name(key), value)));
        out
    }

    #[test]
    fn real_lines_growing_and_broken() {
        let mut index = index();
        let first = "nr_shmem 2197\nnr_shmem_hugepages 0\npgpgin 999\npgpgout 7144980\n\
            pswpin 0\npgalloc_dma 0\npgalloc_dma32 1\npgrefill 5\npgsteal_kswapd 4\noom_kill 0\n";
        let values = read(&mut index, first);
        assert_eq!(values.len(), 10);
        assert_eq!(values[1], ("nr_shmem_hugepages", 0));
        assert_eq!(values[5], ("pgalloc_dma", 0));
        assert_eq!(values[7], ("pgrefill", 5));
        let grown = first.replace("pgpgin 999", "pgpgin 10123").replace("2197", "3");
        let values = read(&mut index, &grown);
        assert_eq!(values.len(), 10);
        assert_eq!(values[2], ("pgpgin", 10_123));
        assert_eq!(values[9], ("oom_kill", 0));
        // A recorder that keeps only some lines of an old kernel's file.
        let old = "pgpgin 5\npgrefill_dma 3\npgsteal_normal 8\npgscan_kswapd_dma 1\n";
        let values = read(&mut index, old);
        let expected =
            [("pgpgin", 5), ("pgrefill_dma", 3), ("pgsteal_normal", 8), ("pgscan_kswapd_dma", 1)];
        assert_eq!(values, expected);
        assert_eq!(read(&mut index, "pgpgin\npgpgout x\npswpin -1\nxpgfault 1"), []);
    }

    #[test]
    fn the_running_kernel() {
        let text = std::fs::read("/proc/vmstat").unwrap();
        let mut found = 0;
        index().scan(&text, |_, _| found += 1);
        assert!(found > 30, "{found} of {}", KEYS.len());
    }
    #[test]
    fn no_more_is_read_than_is_wanted() {
        let mut host = Host::new("/");
        let whole = host.file("/proc/vmstat", ReadMode::Records);
        let text = host.read(whole).unwrap().to_vec();
        host.begin_tick();
        // The first line, and one after the first page if there is one.
        let first = text.split_inclusive(|&b| b == b' ').next().unwrap().to_vec().leak();
        let last = text[..text.len() - 1].rsplit(|&b| b == b'\n').next().unwrap();
        let last = last.split_inclusive(|&b| b == b' ').next().unwrap().to_vec().leak();
        let keys = |keys: Vec<&'static [u8]>| &*keys.leak();
        let mut near = Vmstat::new(&mut host, keys(vec![first]));
        let mut far = Vmstat::new(&mut host, keys(vec![first, last]));
        for tick in 0..5 {
            host.begin_tick();
            let before = host.cost();
            let mut seen = 0;
            near.read(&mut host, |_, _| seen += 1).unwrap();
            let once = host.cost().calls - before.calls;
            assert!(seen >= 1 && (tick == 0 || once == 1), "{once} calls for the first line");
            // Another reader of the same tick reads the whole file.
            let mut found = [false; 2];
            far.read(&mut host, |key, _| found[key] = true).unwrap();
            assert_eq!(found, [true; 2]);
        }
    }

    #[test]
    fn a_line_that_is_gone_from_the_first_page_is_looked_for_in_the_rest() {
        let mut host = Host::in_memory();
        let mut vmstat = Vmstat::new(&mut host, KEYS);
        assert_eq!(vmstat.read(&mut host, |_, _| ()), Err(State::Absent));
        host.begin_tick();
        host.put("/proc/vmstat", Some(b"pgpgin 5\npgpgout 6\n"));
        vmstat.needs = Needs::First(3);
        let mut values = Vec::new();
        vmstat.read(&mut host, |_, value| values.push(value)).unwrap();
        assert_eq!(values, [5, 6]);
    }
}
