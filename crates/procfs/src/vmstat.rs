//! `/proc/vmstat` (kernel `mm/vmstat.c`): `pgpgin 3629317`.
//!
//! Events since boot, in pages but for `pgpgin` and `pgpgout`, which count kibibytes; the three
//! `nr_shmem` are levels.  Kernels before 4.8 counted refills, steals and scans zone by zone; those
//! before 4.10 the stalls.  Both forms are read, and a kernel has one of them.

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
}
