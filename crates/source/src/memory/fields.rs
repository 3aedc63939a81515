//! The columns of the source `memory`, each with the line of `/proc/meminfo` or `/proc/vmstat` that
//! it comes from, in the order of the two files.

use sample::fields;

fields! {
    TOTAL: gauge Kibibytes, "Usable memory", from b"MemTotal:";
    FREE: gauge Kibibytes, "Free memory", from b"MemFree:";
    AVAILABLE: gauge Kibibytes,
        "Memory available to new programs without swapping", from b"MemAvailable:";
    BUFFERS: gauge Kibibytes, "Page cache of block devices", from b"Buffers:";
    CACHED: gauge Kibibytes, "Page cache of files, tmpfs included", from b"Cached:";
    SWAP_CACHED: gauge Kibibytes, "Memory that also has a copy in swap", from b"SwapCached:";
    ACTIVE: gauge Kibibytes, "Recently used memory", from b"Active:";
    INACTIVE: gauge Kibibytes, "Memory not used recently", from b"Inactive:";
    ACTIVE_ANON: gauge Kibibytes, "Recently used anonymous memory", from b"Active(anon):";
    INACTIVE_ANON: gauge Kibibytes, "Anonymous memory not used recently", from b"Inactive(anon):";
    ACTIVE_FILE: gauge Kibibytes, "Recently used page cache", from b"Active(file):";
    INACTIVE_FILE: gauge Kibibytes, "Page cache not used recently", from b"Inactive(file):";
    UNEVICTABLE: gauge Kibibytes, "Memory that cannot be reclaimed", from b"Unevictable:";
    LOCKED: gauge Kibibytes, "Memory locked by mlock(2)", from b"Mlocked:";
    SWAP_TOTAL: gauge Kibibytes, "Swap space", from b"SwapTotal:";
    SWAP_FREE: gauge Kibibytes, "Free swap space", from b"SwapFree:";
    ZSWAP: gauge Kibibytes, "Memory used by zswap's compressed pages", from b"Zswap:";
    ZSWAPPED: gauge Kibibytes, "Size of zswap's pages before compression", from b"Zswapped:";
    DIRTY: gauge Kibibytes, "Memory waiting to be written to disk", from b"Dirty:";
    WRITEBACK: gauge Kibibytes, "Memory being written to disk", from b"Writeback:";
    ANONYMOUS: gauge Kibibytes, "Anonymous memory mapped by programs", from b"AnonPages:";
    MAPPED: gauge Kibibytes, "Files mapped by programs", from b"Mapped:";
    SHARED: gauge Kibibytes, "Shared memory and tmpfs", from b"Shmem:";
    KERNEL_RECLAIMABLE: gauge Kibibytes,
        "Kernel memory that can be reclaimed", from b"KReclaimable:";
    SLAB: gauge Kibibytes, "Kernel slabs", from b"Slab:";
    SLAB_RECLAIMABLE: gauge Kibibytes, "Slabs that can be reclaimed", from b"SReclaimable:";
    SLAB_UNRECLAIMABLE: gauge Kibibytes, "Slabs that cannot be reclaimed", from b"SUnreclaim:";
    KERNEL_STACK: gauge Kibibytes, "Stacks of tasks in the kernel", from b"KernelStack:";
    PAGE_TABLES: gauge Kibibytes, "Page tables", from b"PageTables:";
    NFS_UNSTABLE: gauge Kibibytes,
        "Sent to NFS servers and not yet committed", from b"NFS_Unstable:";
    BOUNCE: gauge Kibibytes, "Bounce buffers of block devices", from b"Bounce:";
    COMMIT_LIMIT: gauge Kibibytes, "Commit limit under strict overcommit", from b"CommitLimit:";
    COMMITTED: gauge Kibibytes, "Committed memory", from b"Committed_AS:";
    VMALLOC_USED: gauge Kibibytes, "Kernel memory from vmalloc", from b"VmallocUsed:";
    PER_CPU: gauge Kibibytes, "Memory of per-CPU variables", from b"Percpu:";
    HARDWARE_CORRUPTED: gauge Kibibytes,
        "Memory taken out of use after hardware errors", from b"HardwareCorrupted:";
    ANONYMOUS_HUGE: gauge Kibibytes, "Anonymous memory in huge pages", from b"AnonHugePages:";
    SHARED_HUGE: gauge Kibibytes, "Shared memory in huge pages", from b"ShmemHugePages:";
    FILE_HUGE: gauge Kibibytes, "Page cache in huge pages", from b"FileHugePages:";
    HUGE_TOTAL: gauge Count, "Huge pages in the pool", from b"HugePages_Total:";
    HUGE_FREE: gauge Count, "Huge pages in the pool that are free", from b"HugePages_Free:";
    HUGE_RESERVED: gauge Count, "Huge pages reserved and not yet used", from b"HugePages_Rsvd:";
    HUGE_SURPLUS: gauge Count, "Huge pages beyond the pool's size", from b"HugePages_Surp:";
    HUGE_SIZE: gauge Kibibytes, "Size of a huge page", from b"Hugepagesize:";
    HUGETLB: gauge Kibibytes, "Memory in huge pages of all sizes", from b"Hugetlb:";
    REFAULTS: counter Pages,
        "Pages read again soon after their eviction, kernels before 5.9",
        from b"workingset_refault ";
    REFAULTS_ANON: counter Pages,
        "Anonymous pages swapped in again soon after their eviction",
        from b"workingset_refault_anon ";
    REFAULTS_FILE: counter Pages,
        "File pages read again soon after their eviction", from b"workingset_refault_file ";
    SHARED_PAGES: gauge Pages, "Shared memory and tmpfs, from /proc/vmstat", from b"nr_shmem ";
    SHARED_HUGE_PAGES: gauge Count,
        "Shared memory in huge pages, from /proc/vmstat", from b"nr_shmem_hugepages ";
    SHARED_PMD_PAGES: gauge Count,
        "Shared memory mapped as huge pages, from /proc/vmstat", from b"nr_shmem_pmdmapped ";
    DIRTIED: counter Pages, "Pages made dirty", from b"nr_dirtied ";
    WRITTEN: counter Pages, "Pages written back", from b"nr_written ";
    PAGE_IN: counter Kibibytes, "Read from disks", from b"pgpgin ";
    PAGE_OUT: counter Kibibytes, "Written to disks", from b"pgpgout ";
    SWAP_IN: counter Pages, "Swapped in", from b"pswpin ";
    SWAP_OUT: counter Pages, "Swapped out", from b"pswpout ";
    ALLOC_DMA: counter Pages, "Pages allocated in the zone DMA", from b"pgalloc_dma ";
    ALLOC_DMA32: counter Pages, "Pages allocated in the zone DMA32", from b"pgalloc_dma32 ";
    ALLOC_NORMAL: counter Pages, "Pages allocated in the zone Normal", from b"pgalloc_normal ";
    ALLOC_MOVABLE: counter Pages, "Pages allocated in the zone Movable", from b"pgalloc_movable ";
    STALLS: counter Count,
        "Allocations that had to reclaim first, kernels before 4.10", from b"allocstall ";
    STALLS_DMA: counter Count,
        "Allocations in the zone DMA that had to reclaim first", from b"allocstall_dma ";
    STALLS_DMA32: counter Count,
        "Allocations in the zone DMA32 that had to reclaim first", from b"allocstall_dma32 ";
    STALLS_NORMAL: counter Count,
        "Allocations in the zone Normal that had to reclaim first", from b"allocstall_normal ";
    STALLS_MOVABLE: counter Count,
        "Allocations in the zone Movable that had to reclaim first", from b"allocstall_movable ";
    FREED: counter Pages, "Pages freed", from b"pgfree ";
    ACTIVATED: counter Pages, "Pages moved to the active list", from b"pgactivate ";
    DEACTIVATED: counter Pages, "Pages moved to the inactive list", from b"pgdeactivate ";
    FAULTS: counter Count, "Page faults", from b"pgfault ";
    MAJOR_FAULTS: counter Count, "Page faults that needed a disk", from b"pgmajfault ";
    REFILLED: counter Pages, "Pages of active lists scanned for reclaim", from b"pgrefill ";
    REFILLED_DMA: counter Pages,
        "Active pages of the zone DMA scanned for reclaim, kernels before 4.8",
        from b"pgrefill_dma ";
    REFILLED_DMA32: counter Pages,
        "Active pages of the zone DMA32 scanned for reclaim, kernels before 4.8",
        from b"pgrefill_dma32 ";
    REFILLED_NORMAL: counter Pages,
        "Active pages of the zone Normal scanned for reclaim, kernels before 4.8",
        from b"pgrefill_normal ";
    REFILLED_MOVABLE: counter Pages,
        "Active pages of the zone Movable scanned for reclaim, kernels before 4.8",
        from b"pgrefill_movable ";
    STOLEN_DMA: counter Pages, "Pages reclaimed in the zone DMA, old kernels", from b"pgsteal_dma ";
    STOLEN_DMA32: counter Pages,
        "Pages reclaimed in the zone DMA32, old kernels", from b"pgsteal_dma32 ";
    STOLEN_NORMAL: counter Pages,
        "Pages reclaimed in the zone Normal, old kernels", from b"pgsteal_normal ";
    STOLEN_MOVABLE: counter Pages,
        "Pages reclaimed in the zone Movable, old kernels", from b"pgsteal_movable ";
    STOLEN_KSWAPD: counter Pages, "Pages reclaimed by kswapd", from b"pgsteal_kswapd ";
    STOLEN_DIRECT: counter Pages, "Pages reclaimed by allocating tasks", from b"pgsteal_direct ";
    STOLEN_KHUGEPAGED: counter Pages, "Pages reclaimed by khugepaged", from b"pgsteal_khugepaged ";
    STOLEN_PROACTIVE: counter Pages,
        "Pages reclaimed at the request of user space", from b"pgsteal_proactive ";
    SCANNED_KSWAPD: counter Pages, "Pages scanned by kswapd", from b"pgscan_kswapd ";
    SCANNED_DIRECT: counter Pages, "Pages scanned by allocating tasks", from b"pgscan_direct ";
    SCANNED_KHUGEPAGED: counter Pages, "Pages scanned by khugepaged", from b"pgscan_khugepaged ";
    SCANNED_PROACTIVE: counter Pages,
        "Pages scanned at the request of user space", from b"pgscan_proactive ";
    SCANNED_KSWAPD_DMA: counter Pages,
        "Pages of the zone DMA scanned by kswapd, kernels before 4.8", from b"pgscan_kswapd_dma ";
    SCANNED_KSWAPD_DMA32: counter Pages,
        "Pages of the zone DMA32 scanned by kswapd, kernels before 4.8",
        from b"pgscan_kswapd_dma32 ";
    SCANNED_KSWAPD_NORMAL: counter Pages,
        "Pages of the zone Normal scanned by kswapd, kernels before 4.8",
        from b"pgscan_kswapd_normal ";
    SCANNED_KSWAPD_MOVABLE: counter Pages,
        "Pages of the zone Movable scanned by kswapd, kernels before 4.8",
        from b"pgscan_kswapd_movable ";
    SCANNED_DIRECT_DMA: counter Pages,
        "Pages of the zone DMA scanned by allocating tasks, kernels before 4.8",
        from b"pgscan_direct_dma ";
    SCANNED_DIRECT_DMA32: counter Pages,
        "Pages of the zone DMA32 scanned by allocating tasks, kernels before 4.8",
        from b"pgscan_direct_dma32 ";
    SCANNED_DIRECT_NORMAL: counter Pages,
        "Pages of the zone Normal scanned by allocating tasks, kernels before 4.8",
        from b"pgscan_direct_normal ";
    SCANNED_DIRECT_MOVABLE: counter Pages,
        "Pages of the zone Movable scanned by allocating tasks, kernels before 4.8",
        from b"pgscan_direct_movable ";
    SCAN_THROTTLED: counter Count,
        "Times an allocating task waited for reclaim", from b"pgscan_direct_throttle ";
    SLABS_SCANNED: counter Count, "Slab objects scanned for reclaim", from b"slabs_scanned ";
    KSWAPD_RUNS: counter Count, "Times kswapd began to reclaim", from b"pageoutrun ";
    ROTATED: counter Pages, "Pages moved to the end of the inactive list", from b"pgrotated ";
    DROP_PAGE_CACHE: counter Count,
        "Times the page cache was dropped on request", from b"drop_pagecache ";
    DROP_SLAB: counter Count, "Times slabs were dropped on request", from b"drop_slab ";
    OOM_KILLS: counter Count, "Tasks killed by the OOM killer", from b"oom_kill ";
    NUMA_MIGRATED: counter Pages,
        "Pages migrated to another NUMA node", from b"numa_pages_migrated ";
    MIGRATED: counter Pages, "Pages migrated", from b"pgmigrate_success ";
    MIGRATE_FAILURES: counter Pages, "Pages that could not be migrated", from b"pgmigrate_fail ";
    COMPACT_STALLS: counter Count,
        "Allocations that had to compact memory first", from b"compact_stall ";
    COMPACT_FAILURES: counter Count, "Compactions that failed", from b"compact_fail ";
    COMPACT_SUCCESSES: counter Count, "Compactions that succeeded", from b"compact_success ";
    COMPACT_WAKES: counter Count, "Times kcompactd was woken", from b"compact_daemon_wake ";
    HUGE_FAULTS: counter Count, "Page faults served with a huge page", from b"thp_fault_alloc ";
    HUGE_FALLBACKS: counter Count,
        "Page faults for which no huge page was free", from b"thp_fault_fallback ";
    HUGE_COLLAPSES: counter Count,
        "Small pages collapsed into a huge one", from b"thp_collapse_alloc ";
    HUGE_SPLITS: counter Count, "Huge pages split", from b"thp_split_page ";
    SWAP_READAHEAD: counter Pages, "Pages swapped in by readahead", from b"swap_ra ";
    SWAP_READAHEAD_HITS: counter Pages,
        "Pages swapped in by readahead that were used", from b"swap_ra_hit ";
    ZSWAP_IN: counter Pages, "Pages loaded from zswap", from b"zswpin ";
    ZSWAP_OUT: counter Pages, "Pages stored in zswap", from b"zswpout ";
    ZSWAP_WRITTEN: counter Pages, "Pages written from zswap to the swap device", from b"zswpwb ";
}

/// The lines of `/proc/meminfo` that are read.
pub(super) const MEMINFO_KEYS: &[&[u8]] = KEYS.split_at(REFAULTS).0;

/// The lines of `/proc/vmstat` that are read, for the fields from [`REFAULTS`] on.
pub(super) const VMSTAT_KEYS: &[&[u8]] = KEYS.split_at(REFAULTS).1;

#[cfg(test)]
mod tests {
    use procfs::scan::KeyIndex;

    use super::*;

    /// Linux 6.18, and the lines that a recording of 2.6.18 has.
    const NEW: &str = "MemTotal:       24684096 kB\nMemFree:        23556652 kB\n\
        MemAvailable:   24105844 kB\nBuffers:            4580 kB\nCached:           709780 kB\n\
        SwapCached:            0 kB\nActive:           257696 kB\nInactive:         566372 kB\n\
        Active(anon):       1576 kB\nHugePages_Total:       7\nDirectMap1G:    25165824 kB\n";
    const OLD: &str = "MemTotal:      1026204 kB\nMemFree:         24064 kB\nBuffers: 1 kB\n\
        Inactive:       306028 kB\nHighTotal:       0 kB\n";

    struct Index(KeyIndex, &'static [&'static [u8]]);

    /// The lines found in a text: key without the blank after it, and value.
    fn read(index: &mut Index, text: &str) -> Vec<(&'static str, u64)> {
        let (index, keys) = (&mut index.0, index.1);
        let mut out = Vec::new();
        let name = |key: usize| std::str::from_utf8(keys[key]).unwrap().trim_end();
        index.scan(text.as_bytes(), |key, value| out.push((name(key), value)));
        out
    }

    #[test]
    fn files_of_two_kernels_and_broken_ones() {
        let mut index = Index(KeyIndex::new(MEMINFO_KEYS), MEMINFO_KEYS);
        let new = read(&mut index, NEW);
        assert_eq!(new.len(), 10);
        assert_eq!(new[0], ("MemTotal:", 24_684_096));
        assert_eq!(new[7], ("Inactive:", 566_372));
        assert_eq!(new[9], ("HugePages_Total:", 7));
        let old = read(&mut index, OLD);
        let expected = [
            ("MemTotal:", 1_026_204),
            ("MemFree:", 24_064),
            ("Buffers:", 1),
            ("Inactive:", 306_028),
        ];
        assert_eq!(old, expected);
        assert_eq!(read(&mut index, "MemTotal:\nMemFree: kB\nMemFree"), []);
        assert_eq!(read(&mut index, "Mem"), []);
        assert_eq!(read(&mut index, NEW), new);
    }

    #[test]
    fn meminfo_of_the_running_kernel() {
        let text = std::fs::read("/proc/meminfo").unwrap();
        let mut found = 0;
        KeyIndex::new(MEMINFO_KEYS).scan(&text, |_, _| found += 1);
        assert!(found > 20, "{found} of {}", MEMINFO_KEYS.len());
    }

    #[test]
    fn real_lines_growing_and_broken() {
        let mut index = Index(KeyIndex::new(VMSTAT_KEYS), VMSTAT_KEYS);
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
    fn vmstat_of_the_running_kernel() {
        let text = std::fs::read("/proc/vmstat").unwrap();
        let mut found = 0;
        KeyIndex::new(VMSTAT_KEYS).scan(&text, |_, _| found += 1);
        assert!(found > 30, "{found} of {}", VMSTAT_KEYS.len());
    }
}
