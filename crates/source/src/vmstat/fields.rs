//! The columns of the source `vmstat`: lines of `/proc/vmstat` (kernel `mm/vmstat.c`) in the order of
//! the file.  Lines that the source `memory` gives by the same metric are left out, and those that
//! only kernels before 4.8 have.

use sample::fields;

/// Makes the fields, the beginnings of their lines and the names of node_exporter from one list.
macro_rules! lines {
    ($($field:ident: $kind:ident, $help:literal, from $name:literal;)*) => {
        fields! { $($field: $kind Count, $help;)* }

        /// The lines that are read, each with the blank after its name.
        pub(super) const LINES: &[&[u8]] = &[$(concat!($name, " ").as_bytes(),)*];

        /// The names of node_exporter, for each field.
        pub(super) const EXPORTED: &[&str] = &[$(concat!("node_vmstat_", $name),)*];
    };
}

lines! {
    NR_FREE_PAGES: gauge, "Pages free", from "nr_free_pages";
    NR_MLOCK: gauge, "Pages locked by mlock(2)", from "nr_mlock";
    NR_FREE_CMA: gauge, "Free pages of the contiguous memory allocator", from "nr_free_cma";
    NUMA_HIT: counter, "Pages allocated on the node that was meant", from "numa_hit";
    NUMA_MISS: counter,
        "Pages allocated on this node though another one was meant", from "numa_miss";
    NUMA_FOREIGN: counter,
        "Pages meant for this node and allocated on another one", from "numa_foreign";
    NUMA_INTERLEAVE: counter,
        "Pages allocated on the node that interleaving meant", from "numa_interleave";
    NUMA_LOCAL: counter, "Pages allocated on the node of the task", from "numa_local";
    NUMA_OTHER: counter, "Pages allocated for tasks of other nodes", from "numa_other";
    NR_INACTIVE_ANON: gauge, "Anonymous pages not used recently", from "nr_inactive_anon";
    NR_ACTIVE_ANON: gauge, "Recently used anonymous pages", from "nr_active_anon";
    NR_INACTIVE_FILE: gauge, "Pages of files not used recently", from "nr_inactive_file";
    NR_ACTIVE_FILE: gauge, "Recently used pages of files", from "nr_active_file";
    NR_UNEVICTABLE: gauge, "Pages that cannot be reclaimed", from "nr_unevictable";
    NR_SLAB_RECLAIMABLE: gauge, "Pages of slabs that can be reclaimed", from "nr_slab_reclaimable";
    NR_SLAB_UNRECLAIMABLE: gauge,
        "Pages of slabs that cannot be reclaimed", from "nr_slab_unreclaimable";
    NR_ISOLATED_ANON: gauge,
        "Anonymous pages taken off their list for reclaim", from "nr_isolated_anon";
    NR_ISOLATED_FILE: gauge,
        "Pages of files taken off their list for reclaim", from "nr_isolated_file";
    WORKINGSET_NODERECLAIM: counter,
        "Nodes of shadow entries reclaimed", from "workingset_nodereclaim";
    NR_ANON_PAGES: gauge, "Anonymous pages mapped by programs", from "nr_anon_pages";
    NR_MAPPED: gauge, "Pages of files mapped by programs", from "nr_mapped";
    NR_FILE_PAGES: gauge, "Pages of the page cache", from "nr_file_pages";
    NR_DIRTY: gauge, "Pages waiting to be written to disk", from "nr_dirty";
    NR_WRITEBACK: gauge, "Pages being written to disk", from "nr_writeback";
    NR_SHMEM: gauge, "Pages of shared memory and tmpfs", from "nr_shmem";
    NR_ANON_TRANSPARENT_HUGEPAGES: gauge,
        "Transparent huge pages of anonymous memory", from "nr_anon_transparent_hugepages";
    NR_VMSCAN_WRITE: counter, "Pages written by reclaim", from "nr_vmscan_write";
    NR_VMSCAN_IMMEDIATE_RECLAIM: counter,
        "Pages to be reclaimed as soon as they are written", from "nr_vmscan_immediate_reclaim";
    NR_DIRTIED: counter, "Pages made dirty", from "nr_dirtied";
    NR_WRITTEN: counter, "Pages written back", from "nr_written";
    NR_KERNEL_STACK: gauge, "Kibibytes of stacks of tasks in the kernel", from "nr_kernel_stack";
    NR_PAGE_TABLE_PAGES: gauge, "Pages of page tables", from "nr_page_table_pages";
    NR_DIRTY_THRESHOLD: gauge,
        "Dirty pages from which writers have to write", from "nr_dirty_threshold";
    NR_DIRTY_BACKGROUND_THRESHOLD: gauge,
        "Dirty pages from which they are written in the background", from "nr_dirty_background_threshold";
    PGPGIN: counter, "Kibibytes read from disks", from "pgpgin";
    PGPGOUT: counter, "Kibibytes written to disks", from "pgpgout";
    PSWPIN: counter, "Pages swapped in", from "pswpin";
    PSWPOUT: counter, "Pages swapped out", from "pswpout";
    PGALLOC_DMA: counter, "Pages allocated in the zone DMA", from "pgalloc_dma";
    PGALLOC_DMA32: counter, "Pages allocated in the zone DMA32", from "pgalloc_dma32";
    PGALLOC_NORMAL: counter, "Pages allocated in the zone Normal", from "pgalloc_normal";
    PGALLOC_MOVABLE: counter, "Pages allocated in the zone Movable", from "pgalloc_movable";
    PGFREE: counter, "Pages freed", from "pgfree";
    PGACTIVATE: counter, "Pages moved to the active list", from "pgactivate";
    PGDEACTIVATE: counter, "Pages moved to the inactive list", from "pgdeactivate";
    ZONE_RECLAIM_FAILED: counter,
        "Reclaims of a zone of the own node that freed too little", from "zone_reclaim_failed";
    PGINODESTEAL: counter, "Pages freed with inodes by allocating tasks", from "pginodesteal";
    KSWAPD_INODESTEAL: counter, "Pages freed with inodes by kswapd", from "kswapd_inodesteal";
    KSWAPD_LOW_WMARK_HIT_QUICKLY: counter,
        "Times free memory fell below the low watermark soon after kswapd slept", from "kswapd_low_wmark_hit_quickly";
    KSWAPD_HIGH_WMARK_HIT_QUICKLY: counter,
        "Times free memory fell below the high watermark soon after kswapd slept", from "kswapd_high_wmark_hit_quickly";
    PGROTATED: counter, "Pages moved to the end of the inactive list", from "pgrotated";
    NUMA_PTE_UPDATES: counter,
        "Page table entries marked to find the node that uses a page", from "numa_pte_updates";
    NUMA_HUGE_PTE_UPDATES: counter,
        "Huge page table entries marked to find the node that uses a page", from "numa_huge_pte_updates";
    NUMA_HINT_FAULTS: counter, "Page faults on marked entries", from "numa_hint_faults";
    NUMA_HINT_FAULTS_LOCAL: counter,
        "Page faults on marked entries of the own node", from "numa_hint_faults_local";
    NUMA_PAGES_MIGRATED: counter, "Pages migrated to another NUMA node", from "numa_pages_migrated";
    PGMIGRATE_SUCCESS: counter, "Pages migrated", from "pgmigrate_success";
    PGMIGRATE_FAIL: counter, "Pages that could not be migrated", from "pgmigrate_fail";
    COMPACT_MIGRATE_SCANNED: counter,
        "Pages scanned by compaction for pages to move", from "compact_migrate_scanned";
    COMPACT_FREE_SCANNED: counter,
        "Pages scanned by compaction for free pages", from "compact_free_scanned";
    COMPACT_ISOLATED: counter, "Pages taken off their list for compaction", from "compact_isolated";
    HTLB_BUDDY_ALLOC_SUCCESS: counter,
        "Huge pages of the pool allocated", from "htlb_buddy_alloc_success";
    HTLB_BUDDY_ALLOC_FAIL: counter,
        "Huge pages of the pool that could not be allocated", from "htlb_buddy_alloc_fail";
    UNEVICTABLE_PGS_CULLED: counter,
        "Pages moved to the unevictable list", from "unevictable_pgs_culled";
    UNEVICTABLE_PGS_SCANNED: counter, "Unevictable pages scanned", from "unevictable_pgs_scanned";
    UNEVICTABLE_PGS_RESCUED: counter,
        "Pages that became evictable again", from "unevictable_pgs_rescued";
    UNEVICTABLE_PGS_MLOCKED: counter, "Pages locked", from "unevictable_pgs_mlocked";
    UNEVICTABLE_PGS_MUNLOCKED: counter, "Pages unlocked", from "unevictable_pgs_munlocked";
    UNEVICTABLE_PGS_CLEARED: counter,
        "Locked pages of which the mapping was removed", from "unevictable_pgs_cleared";
    UNEVICTABLE_PGS_STRANDED: counter,
        "Pages that stay unevictable after they were unlocked", from "unevictable_pgs_stranded";
    THP_COLLAPSE_ALLOC_FAILED: counter,
        "Huge pages to collapse into that could not be allocated", from "thp_collapse_alloc_failed";
    THP_ZERO_PAGE_ALLOC: counter, "Huge zero pages allocated", from "thp_zero_page_alloc";
    THP_ZERO_PAGE_ALLOC_FAILED: counter,
        "Huge zero pages that could not be allocated", from "thp_zero_page_alloc_failed";
    NR_UNSTABLE: gauge, "Pages sent to NFS servers and not yet committed", from "nr_unstable";
}
