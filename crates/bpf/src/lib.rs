//! Programs that run in the kernel, and their loader.
//!
//! * [`TaskIterator`]: every task of the machine in one pass, as binary records (`iter/task`);
//! * [`ProcessEvents`]: an event for each `execve`, each exit and each release of a process
//!   (`tp_btf` at `sched_process_exec`, `_exit` and `_free`, through a ring buffer);
//! * [`SyscallCounts`]: system calls, counted and timed (`tp_btf` at `sys_enter` and `sys_exit`);
//! * [`SyscallEvents`]: an event for each system call, signal, new task and exit (`tp_btf`, through
//!   a ring buffer);
//! * [`CpuCounters`]: the counters of every CPU, copied by one run of a program (`raw_tp`);
//! * [`ProcessNet`]: bytes and packets by process (`cgroup_skb`, `cgroup/sock_create`, and an
//!   iterator over open files);
//! * [`EmptyPrograms`]: programs at every system call that do nothing, for benchmarks;
//! * [`CallId`] and [`Histogram`]: which system call a slot of these arrays stands for, and how its
//!   durations are distributed.
//!
//! The programs are C (`programs/*.bpf.c`), compiled by clang and checked in as objects
//! (`objects/*.bpf.o`, rebuilt by `cargo xtask bpf`), so building whit needs no clang.  The loader
//! relocates them for the running kernel by its BTF.  They need `CAP_BPF` and `CAP_PERFMON` (or
//! `CAP_SYS_ADMIN`) and a kernel with BTF, 5.8 or later; [`Error`] says what is missing, and
//! callers then read `/proc`.  No program uses kprobes or fentry, which some kernels do not have.
//!
//! Each start parses the kernel's BTF, which takes tens of milliseconds and memory that is released
//! afterwards.  The head of each file says what its programs cost.
//!
//! Uses no other crate of ours.  Begin with `loader.rs`, then `task_iterator.rs`, the shortest of
//! the programs.

mod attach_types;
mod call_id;
mod call_names;
mod cpu_counters;
mod cputime;
mod empty;
mod histogram;
mod loader;
mod mapped;
mod memory_limit;
mod name_list;
mod process_events;
mod process_net;
mod records;
mod ring_buffer;
mod run_times;
mod settings;
mod symbols;
mod syscall_counts;
mod syscall_events;
mod syscall_programs;
mod task_iterator;

pub use call_id::{Abi, CallId, SLOTS};
pub use cpu_counters::{CpuCounters, CpuValues, NodeValue, NodeValues};
pub use cputime::{CpuTime, adjusted};
pub use empty::EmptyPrograms;
pub use histogram::{Histogram, STEPS};
pub use loader::{Error, KernelTypes};
pub use name_list::{NameList, ends};
pub use process_events::{LostEvents, ProcessEvent, ProcessEvents};
pub use process_net::{NetCounts, NetOwner, ProcessNet, Unowned};
pub use records::{ExecEvent, ExitEvent, FreeEvent, TaskRecord, ThreadGroup};
pub use run_times::RunTime;
pub use settings::{CountSettings, Split};
pub use syscall_counts::{CallCount, SyscallCounts, Uncounted, UnitCount};
pub use syscall_events::{
    CAPTURES_MAX, CallRecord, CaptureKind, CaptureLength, EventHeader, EventRecord, EventSettings,
    MemoryCapture, MemoryPiece, MemoryPieces, PIECE_BYTES, PieceOrigin, SyscallEvents,
};
pub use syscall_programs::{CallStorage, ProgramRunTime};
pub use task_iterator::TaskIterator;
