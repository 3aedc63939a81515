//! The columns of the source `memory`: first those of `/proc/meminfo`, in the order of
//! [`procfs::meminfo::KEYS`], then those of `/proc/vmstat`, in the order of
//! [`procfs::vmstat::KEYS`].  So the index of a key is the index of its field.

use sample::{Field, Unit};

/// The columns.
pub(super) const FIELDS: &[Field] = &[
    Field::gauge("total", Unit::Kibibytes, "Usable memory"),
    Field::gauge("free", Unit::Kibibytes, "Free memory"),
    Field::gauge("available", Unit::Kibibytes, "Memory available to new programs without swapping"),
    Field::gauge("buffers", Unit::Kibibytes, "Page cache of block devices"),
    Field::gauge("cached", Unit::Kibibytes, "Page cache of files, tmpfs included"),
    Field::gauge("swap_cached", Unit::Kibibytes, "Memory that also has a copy in swap"),
    Field::gauge("active", Unit::Kibibytes, "Recently used memory"),
    Field::gauge("inactive", Unit::Kibibytes, "Memory not used recently"),
    Field::gauge("active_anon", Unit::Kibibytes, "Recently used anonymous memory"),
    Field::gauge("inactive_anon", Unit::Kibibytes, "Anonymous memory not used recently"),
    Field::gauge("active_file", Unit::Kibibytes, "Recently used page cache"),
    Field::gauge("inactive_file", Unit::Kibibytes, "Page cache not used recently"),
    Field::gauge("unevictable", Unit::Kibibytes, "Memory that cannot be reclaimed"),
    Field::gauge("locked", Unit::Kibibytes, "Memory locked by mlock(2)"),
    Field::gauge("swap_total", Unit::Kibibytes, "Swap space"),
    Field::gauge("swap_free", Unit::Kibibytes, "Free swap space"),
    Field::gauge("zswap", Unit::Kibibytes, "Memory used by zswap's compressed pages"),
    Field::gauge("zswapped", Unit::Kibibytes, "Size of zswap's pages before compression"),
    Field::gauge("dirty", Unit::Kibibytes, "Memory waiting to be written to disk"),
    Field::gauge("writeback", Unit::Kibibytes, "Memory being written to disk"),
    Field::gauge("anonymous", Unit::Kibibytes, "Anonymous memory mapped by programs"),
    Field::gauge("mapped", Unit::Kibibytes, "Files mapped by programs"),
    Field::gauge("shared", Unit::Kibibytes, "Shared memory and tmpfs"),
    Field::gauge("kernel_reclaimable", Unit::Kibibytes, "Kernel memory that can be reclaimed"),
    Field::gauge("slab", Unit::Kibibytes, "Kernel slabs"),
    Field::gauge("slab_reclaimable", Unit::Kibibytes, "Slabs that can be reclaimed"),
    Field::gauge("slab_unreclaimable", Unit::Kibibytes, "Slabs that cannot be reclaimed"),
    Field::gauge("kernel_stack", Unit::Kibibytes, "Stacks of tasks in the kernel"),
    Field::gauge("page_tables", Unit::Kibibytes, "Page tables"),
    Field::gauge("nfs_unstable", Unit::Kibibytes, "Sent to NFS servers and not yet committed"),
    Field::gauge("bounce", Unit::Kibibytes, "Bounce buffers of block devices"),
    Field::gauge("commit_limit", Unit::Kibibytes, "Commit limit under strict overcommit"),
    Field::gauge("committed", Unit::Kibibytes, "Committed memory"),
    Field::gauge("vmalloc_used", Unit::Kibibytes, "Kernel memory from vmalloc"),
    Field::gauge("per_cpu", Unit::Kibibytes, "Memory of per-CPU variables"),
    Field::gauge(
        "hardware_corrupted",
        Unit::Kibibytes,
        "Memory taken out of use after hardware errors",
    ),
    Field::gauge("anonymous_huge", Unit::Kibibytes, "Anonymous memory in huge pages"),
    Field::gauge("shared_huge", Unit::Kibibytes, "Shared memory in huge pages"),
    Field::gauge("file_huge", Unit::Kibibytes, "Page cache in huge pages"),
    Field::gauge("huge_total", Unit::Count, "Huge pages in the pool"),
    Field::gauge("huge_free", Unit::Count, "Huge pages in the pool that are free"),
    Field::gauge("huge_reserved", Unit::Count, "Huge pages reserved and not yet used"),
    Field::gauge("huge_surplus", Unit::Count, "Huge pages beyond the pool's size"),
    Field::gauge("huge_size", Unit::Kibibytes, "Size of a huge page"),
    Field::gauge("hugetlb", Unit::Kibibytes, "Memory in huge pages of all sizes"),
    Field::counter(
        "refaults",
        Unit::Pages,
        "Pages read again soon after their eviction, kernels before 5.9",
    ),
    Field::counter(
        "refaults_anon",
        Unit::Pages,
        "Anonymous pages swapped in again soon after their eviction",
    ),
    Field::counter("refaults_file", Unit::Pages, "File pages read again soon after their eviction"),
    Field::gauge("shared_pages", Unit::Pages, "Shared memory and tmpfs, from /proc/vmstat"),
    Field::gauge(
        "shared_huge_pages",
        Unit::Count,
        "Shared memory in huge pages, from /proc/vmstat",
    ),
    Field::gauge(
        "shared_pmd_pages",
        Unit::Count,
        "Shared memory mapped as huge pages, from /proc/vmstat",
    ),
    Field::counter("dirtied", Unit::Pages, "Pages made dirty"),
    Field::counter("written", Unit::Pages, "Pages written back"),
    Field::counter("page_in", Unit::Kibibytes, "Read from disks"),
    Field::counter("page_out", Unit::Kibibytes, "Written to disks"),
    Field::counter("swap_in", Unit::Pages, "Swapped in"),
    Field::counter("swap_out", Unit::Pages, "Swapped out"),
    Field::counter("alloc_dma", Unit::Pages, "Pages allocated in the zone DMA"),
    Field::counter("alloc_dma32", Unit::Pages, "Pages allocated in the zone DMA32"),
    Field::counter("alloc_normal", Unit::Pages, "Pages allocated in the zone Normal"),
    Field::counter("alloc_movable", Unit::Pages, "Pages allocated in the zone Movable"),
    Field::counter(
        "stalls",
        Unit::Count,
        "Allocations that had to reclaim first, kernels before 4.10",
    ),
    Field::counter(
        "stalls_dma",
        Unit::Count,
        "Allocations in the zone DMA that had to reclaim first",
    ),
    Field::counter(
        "stalls_dma32",
        Unit::Count,
        "Allocations in the zone DMA32 that had to reclaim first",
    ),
    Field::counter(
        "stalls_normal",
        Unit::Count,
        "Allocations in the zone Normal that had to reclaim first",
    ),
    Field::counter(
        "stalls_movable",
        Unit::Count,
        "Allocations in the zone Movable that had to reclaim first",
    ),
    Field::counter("freed", Unit::Pages, "Pages freed"),
    Field::counter("activated", Unit::Pages, "Pages moved to the active list"),
    Field::counter("deactivated", Unit::Pages, "Pages moved to the inactive list"),
    Field::counter("faults", Unit::Count, "Page faults"),
    Field::counter("major_faults", Unit::Count, "Page faults that needed a disk"),
    Field::counter("refilled", Unit::Pages, "Pages of active lists scanned for reclaim"),
    Field::counter(
        "refilled_dma",
        Unit::Pages,
        "Active pages of the zone DMA scanned for reclaim, kernels before 4.8",
    ),
    Field::counter(
        "refilled_dma32",
        Unit::Pages,
        "Active pages of the zone DMA32 scanned for reclaim, kernels before 4.8",
    ),
    Field::counter(
        "refilled_normal",
        Unit::Pages,
        "Active pages of the zone Normal scanned for reclaim, kernels before 4.8",
    ),
    Field::counter(
        "refilled_movable",
        Unit::Pages,
        "Active pages of the zone Movable scanned for reclaim, kernels before 4.8",
    ),
    Field::counter("stolen_dma", Unit::Pages, "Pages reclaimed in the zone DMA, old kernels"),
    Field::counter("stolen_dma32", Unit::Pages, "Pages reclaimed in the zone DMA32, old kernels"),
    Field::counter("stolen_normal", Unit::Pages, "Pages reclaimed in the zone Normal, old kernels"),
    Field::counter(
        "stolen_movable",
        Unit::Pages,
        "Pages reclaimed in the zone Movable, old kernels",
    ),
    Field::counter("stolen_kswapd", Unit::Pages, "Pages reclaimed by kswapd"),
    Field::counter("stolen_direct", Unit::Pages, "Pages reclaimed by allocating tasks"),
    Field::counter("stolen_khugepaged", Unit::Pages, "Pages reclaimed by khugepaged"),
    Field::counter("stolen_proactive", Unit::Pages, "Pages reclaimed at the request of user space"),
    Field::counter("scanned_kswapd", Unit::Pages, "Pages scanned by kswapd"),
    Field::counter("scanned_direct", Unit::Pages, "Pages scanned by allocating tasks"),
    Field::counter("scanned_khugepaged", Unit::Pages, "Pages scanned by khugepaged"),
    Field::counter("scanned_proactive", Unit::Pages, "Pages scanned at the request of user space"),
    Field::counter(
        "scanned_kswapd_dma",
        Unit::Pages,
        "Pages of the zone DMA scanned by kswapd, kernels before 4.8",
    ),
    Field::counter(
        "scanned_kswapd_dma32",
        Unit::Pages,
        "Pages of the zone DMA32 scanned by kswapd, kernels before 4.8",
    ),
    Field::counter(
        "scanned_kswapd_normal",
        Unit::Pages,
        "Pages of the zone Normal scanned by kswapd, kernels before 4.8",
    ),
    Field::counter(
        "scanned_kswapd_movable",
        Unit::Pages,
        "Pages of the zone Movable scanned by kswapd, kernels before 4.8",
    ),
    Field::counter(
        "scanned_direct_dma",
        Unit::Pages,
        "Pages of the zone DMA scanned by allocating tasks, kernels before 4.8",
    ),
    Field::counter(
        "scanned_direct_dma32",
        Unit::Pages,
        "Pages of the zone DMA32 scanned by allocating tasks, kernels before 4.8",
    ),
    Field::counter(
        "scanned_direct_normal",
        Unit::Pages,
        "Pages of the zone Normal scanned by allocating tasks, kernels before 4.8",
    ),
    Field::counter(
        "scanned_direct_movable",
        Unit::Pages,
        "Pages of the zone Movable scanned by allocating tasks, kernels before 4.8",
    ),
    Field::counter("scan_throttled", Unit::Count, "Times an allocating task waited for reclaim"),
    Field::counter("slabs_scanned", Unit::Count, "Slab objects scanned for reclaim"),
    Field::counter("kswapd_runs", Unit::Count, "Times kswapd began to reclaim"),
    Field::counter("rotated", Unit::Pages, "Pages moved to the end of the inactive list"),
    Field::counter("drop_page_cache", Unit::Count, "Times the page cache was dropped on request"),
    Field::counter("drop_slab", Unit::Count, "Times slabs were dropped on request"),
    Field::counter("oom_kills", Unit::Count, "Tasks killed by the OOM killer"),
    Field::counter("numa_migrated", Unit::Pages, "Pages migrated to another NUMA node"),
    Field::counter("migrated", Unit::Pages, "Pages migrated"),
    Field::counter("migrate_failures", Unit::Pages, "Pages that could not be migrated"),
    Field::counter("compact_stalls", Unit::Count, "Allocations that had to compact memory first"),
    Field::counter("compact_failures", Unit::Count, "Compactions that failed"),
    Field::counter("compact_successes", Unit::Count, "Compactions that succeeded"),
    Field::counter("compact_wakes", Unit::Count, "Times kcompactd was woken"),
    Field::counter("huge_faults", Unit::Count, "Page faults served with a huge page"),
    Field::counter("huge_fallbacks", Unit::Count, "Page faults for which no huge page was free"),
    Field::counter("huge_collapses", Unit::Count, "Small pages collapsed into a huge one"),
    Field::counter("huge_splits", Unit::Count, "Huge pages split"),
    Field::counter("swap_readahead", Unit::Pages, "Pages swapped in by readahead"),
    Field::counter(
        "swap_readahead_hits",
        Unit::Pages,
        "Pages swapped in by readahead that were used",
    ),
    Field::counter("zswap_in", Unit::Pages, "Pages loaded from zswap"),
    Field::counter("zswap_out", Unit::Pages, "Pages stored in zswap"),
    Field::counter("zswap_written", Unit::Pages, "Pages written from zswap to the swap device"),
];

/// The index of a field, computed at compile time: an unknown name does not compile.
pub(super) const fn at(name: &str) -> usize {
    let mut index = 0;
    while index < FIELDS.len() {
        if same(FIELDS[index].static_name(), name) {
            return index;
        }
        index += 1;
    }
    panic!("no such field")
}

const fn same(left: &str, right: &str) -> bool {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    let mut index = 0;
    while index < left.len() && index < right.len() && left[index] == right[index] {
        index += 1;
    }
    index == left.len() && index == right.len()
}
