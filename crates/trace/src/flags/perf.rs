//! Names of `perf_event_open`'s attributes, from `linux/perf_event.h` and `linux/hw_breakpoint.h`.

use super::{Flags, Names, names};

/// Types of events.
#[rustfmt::skip]
pub(crate) static TYPE: Names = Names { unknown: "PERF_TYPE_???", names: names![
    (0, "PERF_TYPE_HARDWARE"), (1, "PERF_TYPE_SOFTWARE"), (2, "PERF_TYPE_TRACEPOINT"),
    (3, "PERF_TYPE_HW_CACHE"), (4, "PERF_TYPE_RAW"), (5, "PERF_TYPE_BREAKPOINT"),
] };

/// Sizes of the attributes, by version.
#[rustfmt::skip]
pub(crate) static SIZE: Names = Names { unknown: "PERF_ATTR_SIZE_???", names: names![
    (0x40, "PERF_ATTR_SIZE_VER0"), (0x48, "PERF_ATTR_SIZE_VER1"), (0x50, "PERF_ATTR_SIZE_VER2"),
    (0x60, "PERF_ATTR_SIZE_VER3"), (0x68, "PERF_ATTR_SIZE_VER4"), (0x70, "PERF_ATTR_SIZE_VER5"),
    (0x78, "PERF_ATTR_SIZE_VER6"), (0x80, "PERF_ATTR_SIZE_VER7"),
] };

/// Events of processors.
#[rustfmt::skip]
pub(crate) static HARDWARE: Names = Names { unknown: "PERF_COUNT_HW_???", names: names![
    (0, "PERF_COUNT_HW_CPU_CYCLES"), (1, "PERF_COUNT_HW_INSTRUCTIONS"),
    (2, "PERF_COUNT_HW_CACHE_REFERENCES"), (3, "PERF_COUNT_HW_CACHE_MISSES"),
    (4, "PERF_COUNT_HW_BRANCH_INSTRUCTIONS"), (5, "PERF_COUNT_HW_BRANCH_MISSES"),
    (6, "PERF_COUNT_HW_BUS_CYCLES"), (7, "PERF_COUNT_HW_STALLED_CYCLES_FRONTEND"),
    (8, "PERF_COUNT_HW_STALLED_CYCLES_BACKEND"), (9, "PERF_COUNT_HW_REF_CPU_CYCLES"),
] };

/// Events of the kernel.
#[rustfmt::skip]
pub(crate) static SOFTWARE: Names = Names { unknown: "PERF_COUNT_SW_???", names: names![
    (0, "PERF_COUNT_SW_CPU_CLOCK"), (1, "PERF_COUNT_SW_TASK_CLOCK"),
    (2, "PERF_COUNT_SW_PAGE_FAULTS"), (3, "PERF_COUNT_SW_CONTEXT_SWITCHES"),
    (4, "PERF_COUNT_SW_CPU_MIGRATIONS"), (5, "PERF_COUNT_SW_PAGE_FAULTS_MIN"),
    (6, "PERF_COUNT_SW_PAGE_FAULTS_MAJ"), (7, "PERF_COUNT_SW_ALIGNMENT_FAULTS"),
    (8, "PERF_COUNT_SW_EMULATION_FAULTS"), (9, "PERF_COUNT_SW_DUMMY"),
    (0xa, "PERF_COUNT_SW_BPF_OUTPUT"), (0xb, "PERF_COUNT_SW_CGROUP_SWITCHES"),
] };

/// Caches.
#[rustfmt::skip]
pub(crate) static CACHE: Names = Names { unknown: "PERF_COUNT_HW_CACHE_???", names: names![
    (0, "PERF_COUNT_HW_CACHE_L1D"), (1, "PERF_COUNT_HW_CACHE_L1I"), (2, "PERF_COUNT_HW_CACHE_LL"),
    (3, "PERF_COUNT_HW_CACHE_DTLB"), (4, "PERF_COUNT_HW_CACHE_ITLB"),
    (5, "PERF_COUNT_HW_CACHE_BPU"), (6, "PERF_COUNT_HW_CACHE_NODE"),
] };

/// What is done with a cache.
#[rustfmt::skip]
pub(crate) static CACHE_OPERATION: Names = Names { unknown: "PERF_COUNT_HW_CACHE_OP_???", names: names![
    (0, "PERF_COUNT_HW_CACHE_OP_READ"), (1, "PERF_COUNT_HW_CACHE_OP_WRITE"),
    (2, "PERF_COUNT_HW_CACHE_OP_PREFETCH"),
] };

/// Whether it was in the cache.
#[rustfmt::skip]
pub(crate) static CACHE_RESULT: Names = Names { unknown: "PERF_COUNT_HW_CACHE_RESULT_???", names: names![
    (0, "PERF_COUNT_HW_CACHE_RESULT_ACCESS"), (1, "PERF_COUNT_HW_CACHE_RESULT_MISS"),
] };

/// What a sample has.
#[rustfmt::skip]
pub(crate) static SAMPLE: Flags = Flags { unknown: "PERF_SAMPLE_???", names: names![
    (1, "PERF_SAMPLE_IP"), (2, "PERF_SAMPLE_TID"), (4, "PERF_SAMPLE_TIME"), (8, "PERF_SAMPLE_ADDR"),
    (0x10, "PERF_SAMPLE_READ"), (0x20, "PERF_SAMPLE_CALLCHAIN"), (0x40, "PERF_SAMPLE_ID"),
    (0x80, "PERF_SAMPLE_CPU"), (0x100, "PERF_SAMPLE_PERIOD"), (0x200, "PERF_SAMPLE_STREAM_ID"),
    (0x400, "PERF_SAMPLE_RAW"), (0x800, "PERF_SAMPLE_BRANCH_STACK"),
    (0x1000, "PERF_SAMPLE_REGS_USER"), (0x2000, "PERF_SAMPLE_STACK_USER"),
    (0x4000, "PERF_SAMPLE_WEIGHT"), (0x8000, "PERF_SAMPLE_DATA_SRC"),
    (0x10000, "PERF_SAMPLE_IDENTIFIER"), (0x20000, "PERF_SAMPLE_TRANSACTION"),
    (0x40000, "PERF_SAMPLE_REGS_INTR"), (0x80000, "PERF_SAMPLE_PHYS_ADDR"),
    (0x100000, "PERF_SAMPLE_AUX"), (0x200000, "PERF_SAMPLE_CGROUP"),
    (0x400000, "PERF_SAMPLE_DATA_PAGE_SIZE"), (0x800000, "PERF_SAMPLE_CODE_PAGE_SIZE"),
    (0x1000000, "PERF_SAMPLE_WEIGHT_STRUCT"),
] };

/// What a read of the descriptor gives.
#[rustfmt::skip]
pub(crate) static FORMAT: Flags = Flags { unknown: "PERF_FORMAT_???", names: names![
    (1, "PERF_FORMAT_TOTAL_TIME_ENABLED"), (2, "PERF_FORMAT_TOTAL_TIME_RUNNING"),
    (4, "PERF_FORMAT_ID"), (8, "PERF_FORMAT_GROUP"), (0x10, "PERF_FORMAT_LOST"),
] };

/// Which branches are sampled.
#[rustfmt::skip]
pub(crate) static BRANCH: Flags = Flags { unknown: "PERF_SAMPLE_BRANCH_???", names: names![
    (1, "PERF_SAMPLE_BRANCH_USER"), (2, "PERF_SAMPLE_BRANCH_KERNEL"), (4, "PERF_SAMPLE_BRANCH_HV"),
    (8, "PERF_SAMPLE_BRANCH_ANY"), (0x10, "PERF_SAMPLE_BRANCH_ANY_CALL"),
    (0x20, "PERF_SAMPLE_BRANCH_ANY_RETURN"), (0x40, "PERF_SAMPLE_BRANCH_IND_CALL"),
    (0x80, "PERF_SAMPLE_BRANCH_ABORT_TX"), (0x100, "PERF_SAMPLE_BRANCH_IN_TX"),
    (0x200, "PERF_SAMPLE_BRANCH_NO_TX"), (0x400, "PERF_SAMPLE_BRANCH_COND"),
    (0x800, "PERF_SAMPLE_BRANCH_CALL_STACK"), (0x1000, "PERF_SAMPLE_BRANCH_IND_JUMP"),
    (0x2000, "PERF_SAMPLE_BRANCH_CALL"), (0x4000, "PERF_SAMPLE_BRANCH_NO_FLAGS"),
    (0x8000, "PERF_SAMPLE_BRANCH_NO_CYCLES"), (0x10000, "PERF_SAMPLE_BRANCH_TYPE_SAVE"),
    (0x20000, "PERF_SAMPLE_BRANCH_HW_INDEX"), (0x40000, "PERF_SAMPLE_BRANCH_PRIV_SAVE"),
] };

/// What a breakpoint waits for.
#[rustfmt::skip]
pub(crate) static BREAKPOINT: Names = Names { unknown: "HW_BREAKPOINT_???", names: names![
    (0, "HW_BREAKPOINT_EMPTY"), (1, "HW_BREAKPOINT_R"), (2, "HW_BREAKPOINT_W"),
    (3, "HW_BREAKPOINT_RW"), (4, "HW_BREAKPOINT_X"),
] };
