//! The fields of a cgroup: one row is one cgroup.

use sample::{Field, Unit};

pub(super) const HIERARCHY: usize = 0;
pub(super) const CPU_USAGE: usize = 1;
pub(super) const CPU_USER: usize = 2;
pub(super) const CPU_SYSTEM: usize = 3;
pub(super) const CPU_PERIODS: usize = 4;
pub(super) const CPU_THROTTLED_PERIODS: usize = 5;
pub(super) const CPU_THROTTLED: usize = 6;
pub(super) const MEMORY_CURRENT: usize = 7;
pub(super) const MEMORY_PEAK: usize = 8;
pub(super) const MEMORY_MAX: usize = 9;
pub(super) const MEMORY_LIMIT_HITS: usize = 10;
pub(super) const OOM_KILLS: usize = 11;
pub(super) const SWAP_CURRENT: usize = 12;
pub(super) const ANON: usize = 13;
pub(super) const FILE: usize = 14;
pub(super) const SHMEM: usize = 15;
pub(super) const KERNEL: usize = 16;
pub(super) const SLAB: usize = 17;
pub(super) const SOCK: usize = 18;
pub(super) const FILE_DIRTY: usize = 19;
pub(super) const FILE_WRITEBACK: usize = 20;
pub(super) const PAGE_FAULTS: usize = 21;
pub(super) const MAJOR_FAULTS: usize = 22;
pub(super) const IO_READ: usize = 23;
pub(super) const IO_WRITTEN: usize = 24;
pub(super) const IO_READS: usize = 25;
pub(super) const IO_WRITES: usize = 26;
pub(super) const PIDS: usize = 27;
pub(super) const CPU_SOME: usize = 28;
pub(super) const CPU_FULL: usize = 29;
pub(super) const MEMORY_SOME: usize = 30;
pub(super) const MEMORY_FULL: usize = 31;
pub(super) const IO_SOME: usize = 32;
pub(super) const IO_FULL: usize = 33;
pub(super) const GROUPS: usize = 34;
pub(super) const GROUPS_LEFT_OUT: usize = 35;

/// How many there are.
pub(super) const COUNT: usize = FIELDS.len();

pub(super) const FIELDS: &[Field] = &[
    Field::text("hierarchy", "Cgroup version that the numbers come from: v1 or v2"),
    Field::counter("cpu_usage", Unit::Microseconds, "CPU time, groups below included"),
    Field::counter("cpu_user", Unit::Microseconds, "CPU time in user mode"),
    Field::counter("cpu_system", Unit::Microseconds, "CPU time in the kernel"),
    Field::counter("cpu_periods", Unit::Count, "Periods in which a CPU limit was in force"),
    Field::counter(
        "cpu_throttled_periods",
        Unit::Count,
        "Periods in which the CPU limit was reached",
    ),
    Field::counter("cpu_throttled", Unit::Microseconds, "Time throttled by the CPU limit"),
    Field::gauge("memory_current", Unit::Bytes, "Memory in use, page cache included"),
    Field::gauge("memory_peak", Unit::Bytes, "The most memory it has used"),
    Field::gauge("memory_max", Unit::Bytes, "The memory limit, if it has one"),
    Field::counter("memory_limit_hits", Unit::Count, "Times the memory limit was reached"),
    Field::counter("oom_kills", Unit::Count, "Processes killed by the OOM killer"),
    Field::gauge("swap_current", Unit::Bytes, "Swap in use"),
    Field::gauge("anon", Unit::Bytes, "Anonymous memory"),
    Field::gauge("file", Unit::Bytes, "Page cache, shared memory included"),
    Field::gauge("shmem", Unit::Bytes, "Shared memory and tmpfs"),
    Field::gauge("kernel", Unit::Bytes, "Memory that the kernel uses for it"),
    Field::gauge("slab", Unit::Bytes, "Kernel objects"),
    Field::gauge("sock", Unit::Bytes, "Network buffers"),
    Field::gauge("file_dirty", Unit::Bytes, "Page cache waiting to be written"),
    Field::gauge("file_writeback", Unit::Bytes, "Page cache being written"),
    Field::counter("page_faults", Unit::Count, "Page faults"),
    Field::counter("major_faults", Unit::Count, "Page faults that had to read a disk"),
    Field::counter("io_read", Unit::Bytes, "Bytes read from disks"),
    Field::counter("io_written", Unit::Bytes, "Bytes written to disks"),
    Field::counter("io_reads", Unit::Count, "Reads from disks"),
    Field::counter("io_writes", Unit::Count, "Writes to disks"),
    Field::gauge("pids", Unit::Count, "Processes and threads"),
    Field::counter("cpu_some", Unit::Microseconds, "Time some task waited for a CPU"),
    Field::counter("cpu_full", Unit::Microseconds, "Time all tasks waited for a CPU"),
    Field::counter("memory_some", Unit::Microseconds, "Time some task waited for memory"),
    Field::counter("memory_full", Unit::Microseconds, "Time all tasks waited for memory"),
    Field::counter("io_some", Unit::Microseconds, "Time some task waited for I/O"),
    Field::counter("io_full", Unit::Microseconds, "Time all tasks waited for I/O"),
    Field::gauge("groups", Unit::Count, "All groups of the machine; in the row / only"),
    Field::gauge(
        "groups_left_out",
        Unit::Count,
        "Groups beyond the limit, not read; in the row / only",
    ),
];
