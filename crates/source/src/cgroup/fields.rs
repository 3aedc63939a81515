//! The fields of a cgroup: one row is one cgroup.

use sample::fields;

fields! {
    HIERARCHY: text, "Cgroup version that the numbers come from: v1 or v2";
    CPU_USAGE: counter Microseconds, "CPU time, groups below included";
    CPU_USER: counter Microseconds, "CPU time in user mode";
    CPU_SYSTEM: counter Microseconds, "CPU time in the kernel";
    CPU_PERIODS: counter Count, "Periods in which a CPU limit was in force";
    CPU_THROTTLED_PERIODS: counter Count, "Periods in which the CPU limit was reached";
    CPU_THROTTLED: counter Microseconds, "Time throttled by the CPU limit";
    MEMORY_CURRENT: gauge Bytes, "Memory in use, page cache included";
    MEMORY_PEAK: gauge Bytes, "The most memory it has used";
    MEMORY_MAX: gauge Bytes, "The memory limit, if it has one";
    MEMORY_LIMIT_HITS: counter Count, "Times the memory limit was reached";
    OOM_KILLS: counter Count, "Processes killed by the OOM killer";
    SWAP_CURRENT: gauge Bytes, "Swap in use";
    ANON: gauge Bytes, "Anonymous memory";
    FILE: gauge Bytes, "Page cache, shared memory included";
    SHMEM: gauge Bytes, "Shared memory and tmpfs";
    KERNEL: gauge Bytes, "Memory that the kernel uses for it";
    SLAB: gauge Bytes, "Kernel objects";
    SOCK: gauge Bytes, "Network buffers";
    FILE_DIRTY: gauge Bytes, "Page cache waiting to be written";
    FILE_WRITEBACK: gauge Bytes, "Page cache being written";
    PAGE_FAULTS: counter Count, "Page faults";
    MAJOR_FAULTS: counter Count, "Page faults that had to read a disk";
    IO_READ: counter Bytes, "Bytes read from disks";
    IO_WRITTEN: counter Bytes, "Bytes written to disks";
    IO_READS: counter Count, "Reads from disks";
    IO_WRITES: counter Count, "Writes to disks";
    PIDS: gauge Count, "Processes and threads";
    CPU_SOME: counter Microseconds, "Time some task waited for a CPU";
    CPU_FULL: counter Microseconds, "Time all tasks waited for a CPU";
    MEMORY_SOME: counter Microseconds, "Time some task waited for memory";
    MEMORY_FULL: counter Microseconds, "Time all tasks waited for memory";
    IO_SOME: counter Microseconds, "Time some task waited for I/O";
    IO_FULL: counter Microseconds, "Time all tasks waited for I/O";
    GROUPS: gauge Count, "All groups of the machine; in the row / only";
    GROUPS_LEFT_OUT: gauge Count, "Groups beyond the limit, not read; in the row / only";
}

/// How many fields there are.
pub(super) const COUNT: usize = FIELDS.len();
