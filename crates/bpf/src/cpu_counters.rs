//! The counters of every CPU in one system call: the program of `programs/counters.bpf.c`.
//!
//! The kernel copies some 600 bytes a CPU into memory shared with user space.  For `/proc/stat` it
//! sums up every interrupt of every CPU and makes text of it, which takes longer on many CPUs.
//! Loading takes as long as for any program that is relocated by the kernel's BTF, and 30 to 60 ms
//! more for `/proc/kallsyms`.

use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};

use aya::programs::RawTracePoint;
use aya::{Ebpf, Pod, include_bytes_aligned};

use crate::loader::{run_once, take_map};
use crate::mapped::MappedArray;
use crate::symbols::addresses;
use crate::{Error, KernelTypes};

/// The object made of `programs/counters.bpf.c`.
pub(crate) static OBJECT: &[u8] = include_bytes_aligned!("../objects/counters.bpf.o");

/// The symbols whose addresses the program needs, in the order of its `struct settings`.
const SYMBOLS: [&str; 13] = [
    "kernel_cpustat",
    "kstat",
    "irq_stat",
    "tick_cpu_sched",
    "runqueues",
    "__per_cpu_offset",
    "total_forks",
    "irq_err_count",
    "mce_exception_count",
    "mce_poll_count",
    "node_data",
    "hstates",
    "default_hstate_idx",
];

/// The first of the symbols that not every kernel has, and `node_data` among these.
const OPTIONAL: usize = 7;
const NODE_DATA: usize = 3;

/// `CHUNK` of the program: the CPUs of a run.
const CHUNK: usize = 256;

/// The numbers of the CPUs and of the nodes that the machine can have.
const CPUS: &str = "/sys/devices/system/cpu/possible";
const NODES: &str = "/sys/devices/system/node/possible";

/// The most CPUs or nodes; the kernel can be built for 8,192 CPUs.
const NUMBERS_MAX: usize = 8192;

/// The counters of a CPU.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CpuValues {
    /// Where the CPU's variables are.
    offset: u64,
    /// User, nice, system, softirq, irq, idle, iowait, steal, guest and guest nice time (`enum
    /// cpu_usage_stat` of linux/kernel_stat.h); idle and iowait if the kernel stops no ticks.
    pub times_ns: [u64; 10],
    /// Idle time, if the kernel stops ticks while it is idle.
    pub idle_sleep_ns: u64,
    /// Idle time with a task that waits for I/O, if the kernel stops ticks while it is idle.
    pub iowait_sleep_ns: u64,
    /// Context switches.
    pub context_switches: u64,
    /// Interrupts with a number.
    pub interrupts_numbered: u64,
    /// Soft interrupts, in the order of `/proc/softirqs`.
    pub softirqs: [u32; 10],
    /// Runnable tasks.
    pub running: u32,
    /// Tasks that wait for I/O and last ran here.
    pub blocked: i32,
    /// Not 0 if the CPU is online.
    pub online: u32,
    /// Interrupts with a name; first those that `/proc/stat` counts.
    vectors: [u32; 21],
}

/// The vectors that the line `intr` of `/proc/stat` counts.
const VECTORS_IN_STAT: usize = 16;

impl CpuValues {
    /// All interrupts, as the line `intr` of `/proc/stat` counts them.
    #[must_use]
    pub fn interrupts(&self) -> u64 {
        self.sum(VECTORS_IN_STAT)
    }

    /// All interrupts, as the CPU's column of `/proc/interrupts` has them.
    #[must_use]
    pub fn interrupts_in_column(&self) -> u64 {
        self.sum(self.vectors.len())
    }

    fn sum(&self, vectors: usize) -> u64 {
        let named = self.vectors.iter().take(vectors).map(|&count| u64::from(count));
        self.interrupts_numbered + named.sum::<u64>()
    }
}

/// Values of [`NodeValues`] (`struct node` of the program).
const NODE_VALUES: usize = 26;
/// `ITEMS_MAX` of the program.
const NODE_ITEMS: usize = 64;
/// `NODES_OF_A_RUN` of the program.
const NODES_OF_A_RUN: usize = 16;

/// What is known of a NUMA node's memory, in the order of the program: pages, but for the stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeValue {
    /// Pages that the kernel manages.
    Total,
    /// Free.
    Free,
    /// With a copy in swap.
    SwapCached,
    /// Anonymous, used recently.
    ActiveAnonymous,
    /// Anonymous, not used recently.
    InactiveAnonymous,
    /// Page cache, used recently.
    ActiveFile,
    /// Page cache, not used recently.
    InactiveFile,
    /// Not to be reclaimed.
    Unevictable,
    /// Locked.
    Locked,
    /// To be written.
    Dirty,
    /// Being written.
    Writeback,
    /// Page cache.
    FilePages,
    /// Mapped files.
    Mapped,
    /// Mapped anonymous memory.
    Anonymous,
    /// Shared memory and tmpfs.
    Shared,
    /// Stacks in the kernel, in KiB.
    StacksKib,
    /// Page tables.
    PageTables,
    /// Memory of the kernel, other than slabs, that can be reclaimed.
    MiscReclaimable,
    /// Slabs that can be reclaimed.
    SlabReclaimable,
    /// Slabs that cannot.
    SlabUnreclaimable,
    /// Anonymous huge pages.
    AnonymousHuge,
    /// Huge pages of shared memory.
    SharedHuge,
    /// Huge pages of files.
    FileHuge,
    /// The pool of huge pages.
    HugeTotal,
    /// Free ones of the pool.
    HugeFree,
    /// Huge pages beyond the pool's size.
    HugeSurplus,
}

/// The memory of a NUMA node.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct NodeValues {
    values: [i64; NODE_VALUES],
    /// Allocations, in the order of `numastat`.
    pub events: [u64; 6],
    items: [i64; NODE_ITEMS],
}

impl NodeValues {
    /// A value; `None` if the kernel does not have it.
    #[must_use]
    pub fn get(&self, value: NodeValue) -> Option<u64> {
        self.values.get(value as usize).and_then(|&value| u64::try_from(value).ok())
    }
}

/// `struct machine` of the program.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct MachineValues {
    forks: u64,
    errors: u64,
}

/// `struct settings` of the program.
#[repr(C)]
#[derive(Clone, Copy)]
struct Settings {
    addresses: [u64; SYMBOLS.len()],
    cpus: u64,
}

// SAFETY: integers and arrays of them, laid out by C without padding.
unsafe impl Pod for CpuValues {}
// SAFETY: as above.
unsafe impl Pod for NodeValues {}
// SAFETY: as above.
unsafe impl Pod for MachineValues {}
// SAFETY: as above.
unsafe impl Pod for Settings {}

/// The loaded program and its values.
#[derive(Debug)]
pub struct CpuCounters {
    cpus: MappedArray<CpuValues>,
    machine: MappedArray<MachineValues>,
    nodes: MappedArray<NodeValues>,
    program: OwnedFd,
    /// The program for nodes, or why it cannot be run.
    node_program: Result<OwnedFd, String>,
    _object: Ebpf,
}

impl CpuCounters {
    /// Loads the program.
    ///
    /// # Errors
    /// [`Error::Denied`] without permission; [`Error::NoSymbol`] when the kernel does not list where
    /// its counters are; [`Error::Refused`] when it rejects the program.
    pub fn open(kernel: &KernelTypes) -> Result<Self, Error> {
        let cpus = possible(CPUS)?;
        let addresses = addresses(&SYMBOLS);
        let missing = SYMBOLS[..OPTIONAL].iter().zip(addresses).find(|(_, at)| at.is_none());
        if let Some((name, _)) = missing {
            return Err(Error::NoSymbol(name));
        }
        let addresses = addresses.map(|address| address.unwrap_or(0));
        let settings = Settings { addresses, cpus: cpus as u64 };
        let nodes = possible(NODES)?;
        let mut object = kernel.load_with(OBJECT, |loader| {
            loader.override_global("settings", &settings, true);
            loader.map_max_entries("cpu_values", cpus as u32);
            loader.map_max_entries("node_values", nodes as u32);
        })?;
        let program = load(kernel, &mut object, "cpus")?;
        let node_program = match addresses[OPTIONAL..][NODE_DATA] {
            0 => Err(Error::NoSymbol("node_data")),
            _ => load(kernel, &mut object, "nodes"),
        };
        let counters = CpuCounters {
            cpus: MappedArray::map(&take_map(&mut object, "cpu_values")?, cpus)?,
            machine: MappedArray::map(&take_map(&mut object, "machine_values")?, 1)?,
            nodes: MappedArray::map(&take_map(&mut object, "node_values")?, nodes)?,
            program,
            node_program: node_program.map_err(|error| error.to_string()),
            _object: object,
        };
        counters.refresh()?;
        Ok(counters)
    }

    /// Copies the counters of all CPUs.  Returns the number of system calls made: one for each 256
    /// CPUs.
    ///
    /// # Errors
    /// [`Error::Read`] when the kernel does not run the program.
    pub fn refresh(&self) -> Result<u64, Error> {
        let mut calls = 0;
        for first in (0..self.cpus.len()).step_by(CHUNK) {
            run_once(self.program.as_raw_fd(), first as u64).map_err(Error::Read)?;
            calls += 1;
        }
        Ok(calls)
    }

    /// Copies the values of all NUMA nodes, after [`refresh`](Self::refresh).  Returns the number
    /// of system calls made.
    ///
    /// # Errors
    /// [`Error::Refused`] when the kernel does not have the program, [`Error::Read`] when it does
    /// not run it.
    pub fn refresh_nodes(&self) -> Result<u64, Error> {
        let program = self.node_program.as_ref().map_err(|why| Error::Refused(why.clone()))?;
        let mut calls = 0;
        for first in (0..self.nodes.len()).step_by(NODES_OF_A_RUN) {
            run_once(program.as_raw_fd(), first as u64).map_err(Error::Read)?;
            calls += 1;
        }
        Ok(calls)
    }

    /// The values of a NUMA node as of the last [`refresh_nodes`](Self::refresh_nodes); `None`
    /// beyond the last node.
    #[must_use]
    pub fn node(&self, number: usize) -> Option<NodeValues> {
        self.nodes.read(number)
    }

    /// The CPUs that the machine can have.
    pub fn cpus(&self) -> usize {
        self.cpus.len()
    }

    /// The counters of a CPU as of the last [`refresh`](Self::refresh); `None` beyond the last CPU.
    #[must_use]
    pub fn cpu(&self, number: usize) -> Option<CpuValues> {
        self.cpus.read(number)
    }

    /// Forks since boot.
    #[must_use]
    pub fn forks(&self) -> u64 {
        self.machine.read(0).map_or(0, |machine| machine.forks)
    }

    /// Spurious interrupts, which the kernel counts for the whole machine (`ERR`).
    #[must_use]
    pub fn interrupt_errors(&self) -> u64 {
        self.machine.read(0).map_or(0, |machine| machine.errors)
    }
}

/// Loads one of the programs.
fn load(kernel: &KernelTypes, object: &mut Ebpf, name: &str) -> Result<OwnedFd, Error> {
    let program: &mut RawTracePoint =
        kernel.program(object, name, |program: &mut RawTracePoint, _| program.load())?;
    let program = program.fd().map_err(|error| Error::from_loader(&error))?;
    program.as_fd().try_clone_to_owned().map_err(Error::Read)
}

/// The number of CPUs or nodes that the machine can have, by a list in the kernel's format (`0-3`).
fn possible(path: &str) -> Result<usize, Error> {
    let list = std::fs::read_to_string(path).map_err(Error::Read)?;
    let last = list.trim().strip_prefix("0-").unwrap_or(list.trim());
    last.parse().ok().filter(|last| *last < NUMBERS_MAX).map(|last: usize| last + 1).ok_or_else(
        || Error::Refused(format!("{path} has gaps between the numbers: {}", list.trim())),
    )
}
