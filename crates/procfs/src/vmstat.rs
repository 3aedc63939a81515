//! `/proc/vmstat` (kernel `mm/vmstat.c`): `pgpgin 3629317`.
//!
//! Events since boot, in pages but for `pgpgin` and `pgpgout`, which count kibibytes; the three
//! `nr_shmem` are levels.  Kernels before 4.8 counted refills, steals and scans zone by zone; those
//! before 4.10 the stalls.  Both forms are read, and a kernel has one of them.

//!
//! The kernel hands the file out in pages, and adds up all counters for each.  What stands behind
//! the first page is not wanted by anybody here on most kernels, so it is not read there.

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

/// The file of a host, and where the lines that are wanted stand in it.
pub struct Vmstat {
    file: FileId,
    index: KeyIndex,
    needs: Needs,
}

/// How much of the file is read.  Which lines there are never changes while a kernel runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    /// Not found out yet.
    Unknown,
    /// What the first call gives, as long as it has so many of the lines.
    First(usize),
    Whole,
}

impl Vmstat {
    /// Looks for `keys` in the order of the file, such as [`KEYS`].
    pub fn new(host: &mut Host, keys: &'static [&'static [u8]]) -> Self {
        let file = host.file("/proc/vmstat", ReadMode::Records);
        Vmstat { file, index: KeyIndex::new(keys), needs: Needs::Unknown }
    }

    /// Calls `found` with the index of each key that is there and its number; more than once
    /// when the first page was not enough, and the latest number holds.
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
        // What a recorder that keeps only some of the lines leaves of an old kernel's file.
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
        // The first line and one that stands behind the first page, where there is one.
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
            // Another reader of the same tick wants more of it.
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
