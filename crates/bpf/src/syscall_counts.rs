//! System calls counted and timed in the kernel: the programs of `programs/count.bpf.c`.
//!
//! A watched call pays for two short programs, together some 0.2 µs; a call of any other task pays
//! for two lookups.  The counts are in memory shared with the kernel, so reading them takes no
//! system call.  They take 1.4 MB for each possible CPU.
//!
//! A slot stands for a system call ([`SLOTS`], [`CallId::slot`](crate::CallId::slot)).

use std::os::fd::OwnedFd;

use aya::maps::{Array, HashMap, MapData, PerCpuHashMap};
use aya::{Ebpf, Pod, include_bytes_aligned};

use crate::loader::{RUN_TIMES, take_map};
use crate::mapped::MappedArray;
use crate::run_times::RunTimes;
use crate::settings::{CountSettings, Split};
use crate::syscall_programs::{self, CallStorage, ProgramRunTime, WatchedTasks, words, wrong};
use crate::{Error, KernelTypes, SLOTS, STEPS};

/// The object made of `programs/count.bpf.c`.
pub(crate) static OBJECT: &[u8] = include_bytes_aligned!("../objects/count.bpf.o");
/// The object for kernels without task storage.
pub(crate) static OBJECT_BEFORE_5_12: &[u8] =
    include_bytes_aligned!("../objects/count_before_5_12.bpf.o");

/// `ALIVE` in the map `numbers`.
const ALIVE: u32 = 3;

/// Pairs of unit and call that are kept, of about 80 bytes each; more are counted as lost.
const UNITS_MAX: u32 = 1 << 18;

/// `struct stats`: what one CPU has counted for one system call.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct RawStats {
    calls: u64,
    errors: u64,
    wall_ns: u64,
    cpu_ns: u64,
    shortest_ns: u64,
    longest_ns: u64,
    cut_off: u64,
    steps: [u64; STEPS],
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Failure {
    slot: u32,
    error: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct RawUnit {
    command: [u8; 16],
    id: u32,
    slot: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct RawUnitStats {
    calls: u64,
    errors: u64,
    wall_ns: u64,
    cpu_ns: u64,
    shortest_ns: u64,
    longest_ns: u64,
}

macro_rules! plain {
    ($($record:ty),*) => {
        // SAFETY: integers and arrays of them, laid out by C without padding.
        $(unsafe impl Pod for $record {})*
    };
}

plain!(RawStats, Failure, RawUnit, RawUnitStats);

/// What was counted for one system call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallCount {
    /// Calls that ended.
    pub calls: u64,
    /// Calls that ended with an error.
    pub errors: u64,
    /// Time from entry to exit, summed.
    pub wall_ns: u64,
    /// The part of that time on a CPU.
    pub cpu_ns: u64,
    /// The shortest call.
    pub shortest_ns: u64,
    /// The longest call.
    pub longest_ns: u64,
    /// Calls within which the task exited.
    pub cut_off: u64,
    /// Calls by duration: one count for each step of a [`Histogram`](crate::Histogram).
    pub steps: [u64; STEPS],
}

/// What was counted for one system call of one unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitCount {
    /// The name (`comm`), ended by a zero byte unless it fills all bytes; empty when split by
    /// group.
    pub command: [u8; 16],
    /// The process, thread or process group; 0 when split by command.
    pub id: u32,
    /// The slot of the system call.
    pub slot: u32,
    /// Calls that ended.
    pub calls: u64,
    /// Calls that ended with an error.
    pub errors: u64,
    /// Time from entry to exit, summed.
    pub wall_ns: u64,
    /// The part of that time on a CPU.
    pub cpu_ns: u64,
    /// The shortest call.
    pub shortest_ns: u64,
    /// The longest call.
    pub longest_ns: u64,
}

/// What could not be counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uncounted {
    /// Calls that were missed because the kernel does not run a program recursively on a CPU.
    pub calls: u64,
    /// Errors that are in the sum of a call, but not in the counts by error number.
    pub errors: u64,
    /// Calls that are missing in the counts by unit.
    pub units: u64,
    /// Tasks that could not be watched because memory was short.
    pub tasks: u64,
}

/// The attached programs, and what they have counted.
pub struct SyscallCounts {
    counts: MappedArray<RawStats>,
    used: MappedArray<u64>,
    failures: PerCpuHashMap<MapData, Failure, u64>,
    units: HashMap<MapData, RawUnit, RawUnitStats>,
    watched: WatchedTasks,
    storage: CallStorage,
    /// What could not be counted by kind, and the watched tasks that are alive.
    numbers: Array<MapData, u64>,
    run_times: RunTimes,
    pending: OwnedFd,
    // Dropping it detaches the programs.
    programs: Ebpf,
}

/// `enum timed` of the program.
const ENTER: usize = 0;
const LEAVE: usize = 1;

/// The programs and their tracepoints, in the order of attaching: `sys_exit` before `sys_enter`, so
/// that no entry is seen whose exit would be missed.
const TRACEPOINTS: [(&str, &str); 4] = [
    ("end", "sched_process_exit"),
    ("fork", "sched_process_fork"),
    ("leave", "sys_exit"),
    ("enter", "sys_enter"),
];

impl SyscallCounts {
    /// Loads and attaches the programs.  Unless every task is watched, none is before
    /// [`SyscallCounts::watch`].
    ///
    /// # Errors
    /// [`Error::Denied`] without permission; [`Error::Refused`] when the kernel rejects a program.
    pub fn open(kernel: &KernelTypes, settings: &CountSettings) -> Result<Self, Error> {
        CallStorage::first(|storage| Self::open_with(kernel, settings, storage))
    }

    /// Opens with this storage.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(
        kernel: &KernelTypes,
        settings: &CountSettings,
        storage: CallStorage,
    ) -> Result<Self, Error> {
        let object = storage.object(OBJECT, OBJECT_BEFORE_5_12);
        let raw = settings.raw();
        let cpus = aya::util::nr_cpus().map_err(|(_, error)| Error::Read(error))?;
        let slots = u32::try_from(cpus * SLOTS).unwrap_or(u32::MAX);
        let units = if settings.split == Split::None { 1 } else { UNITS_MAX };
        let mut object = kernel.load_with(object, |loader| {
            loader.allow_unsupported_maps();
            loader.override_global("settings", &raw, true);
            loader.map_max_entries("counts", slots).map_max_entries("units", units);
        })?;
        let pending = kernel.iterator(&mut object, "pending", "task")?;
        storage.attach(kernel, &mut object, &TRACEPOINTS, settings.follow)?;
        // Only now: loading a program needs the descriptors of its maps.
        let watched = WatchedTasks::open(kernel, &mut object)?;
        let wrong = |error: aya::maps::MapError| wrong(&error);
        Ok(SyscallCounts {
            counts: MappedArray::map(&take_map(&mut object, "counts")?, cpus * SLOTS)?,
            used: MappedArray::map(&take_map(&mut object, "used")?, SLOTS)?,
            failures: take_map(&mut object, "failures")?.try_into().map_err(wrong)?,
            units: take_map(&mut object, "units")?.try_into().map_err(wrong)?,
            watched,
            storage,
            numbers: take_map(&mut object, "numbers")?.try_into().map_err(wrong)?,
            run_times: RunTimes::map(&take_map(&mut object, RUN_TIMES)?)?,
            pending,
            programs: object,
        })
    }

    /// Where the call that a task is in is stored on this kernel.
    pub fn storage(&self) -> CallStorage {
        self.storage
    }

    /// Watches these tasks from their next call on; returns the numbers of the threads that exist.
    ///
    /// # Errors
    /// [`Error::Read`] when the kernel does not run the pass over all tasks.
    pub fn watch(&mut self, ids: &[i32]) -> Result<Vec<i32>, Error> {
        self.watched.watch(ids)
    }

    /// Whether a call of this slot has ended so far: one load from an array of 8 KB.
    #[must_use]
    pub fn is_used(&self, slot: usize) -> bool {
        self.used.read(slot).is_some_and(|mark| mark != 0)
    }

    /// How often the call of this slot has ended: one load for each CPU.
    #[must_use]
    pub fn ended(&self, slot: usize) -> u64 {
        let indices = (slot..self.counts.len()).step_by(SLOTS);
        // `calls` is the first field.
        indices.filter_map(|index| self.counts.first_word(index)).sum()
    }

    /// What was counted for the call of this slot on all CPUs; `None` if it was not made.
    #[must_use]
    pub fn call(&self, slot: usize) -> Option<CallCount> {
        let mut sum = CallCount {
            calls: 0,
            errors: 0,
            wall_ns: 0,
            cpu_ns: 0,
            shortest_ns: u64::MAX,
            longest_ns: 0,
            cut_off: 0,
            steps: [0; STEPS],
        };
        for index in (slot..self.counts.len()).step_by(SLOTS) {
            let of_cpu = self.counts.read(index)?;
            if of_cpu.calls > 0 {
                sum.shortest_ns = sum.shortest_ns.min(of_cpu.shortest_ns);
            }
            sum.longest_ns = sum.longest_ns.max(of_cpu.longest_ns);
            sum.calls += of_cpu.calls;
            sum.errors += of_cpu.errors;
            sum.wall_ns += of_cpu.wall_ns;
            sum.cpu_ns += of_cpu.cpu_ns;
            sum.cut_off += of_cpu.cut_off;
            for (step, count) in sum.steps.iter_mut().zip(of_cpu.steps) {
                *step += count;
            }
        }
        (sum.calls + sum.cut_off > 0).then_some(sum)
    }

    /// For each slot and error number how often the call failed with it.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn failures(&self) -> Result<Vec<(u32, u32, u64)>, Error> {
        let mut failures = Vec::new();
        for entry in &self.failures {
            let (failure, counts) = entry.map_err(|error| wrong(&error))?;
            failures.push((failure.slot, failure.error, counts.iter().sum()));
        }
        Ok(failures)
    }

    /// What each unit has called; empty without a split.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn units(&self) -> Result<Vec<UnitCount>, Error> {
        let count = |(unit, stats): (RawUnit, RawUnitStats)| UnitCount {
            command: unit.command,
            id: unit.id,
            slot: unit.slot,
            calls: stats.calls,
            errors: stats.errors,
            wall_ns: stats.wall_ns,
            cpu_ns: stats.cpu_ns,
            shortest_ns: stats.shortest_ns,
            longest_ns: stats.longest_ns,
        };
        self.units.iter().map(|entry| entry.map(count).map_err(|error| wrong(&error))).collect()
    }

    /// Takes out what the units of the wanted ids have called.
    ///
    /// # Errors
    /// When the table cannot be read or changed.
    pub fn take_units(&mut self, wanted: impl Fn(u32) -> bool) -> Result<Vec<UnitCount>, Error> {
        let wrong = |error: aya::maps::MapError| Error::from_loader(&error);
        let mut units = self.units()?;
        units.retain(|unit| wanted(unit.id));
        for unit in &units {
            let key = RawUnit { command: unit.command, id: unit.id, slot: unit.slot };
            self.units.remove(&key).map_err(wrong)?;
        }
        Ok(units)
    }

    /// The slots of calls in which tasks are now, one entry for each task.
    ///
    /// # Errors
    /// [`Error::Read`] when the kernel does not run the pass over all tasks.
    pub fn pending(&self) -> Result<impl Iterator<Item = u32>, Error> {
        words(&self.pending)
    }

    /// Watched tasks that have not exited; without meaning if every task is watched.
    ///
    /// # Errors
    /// When the kernel cannot be asked.
    pub fn alive(&self) -> Result<u64, Error> {
        self.numbers.get(&ALIVE, 0).map_err(|error| wrong(&error))
    }

    /// What could not be counted so far.
    ///
    /// # Errors
    /// When the kernel cannot be asked.
    pub fn uncounted(&self) -> Result<Uncounted, Error> {
        let of_kind = |kind: u32| self.numbers.get(&kind, 0).map_err(|error| wrong(&error));
        let missed = syscall_programs::recursion_misses(&self.programs, "leave")?;
        Ok(Uncounted {
            calls: missed.max(syscall_programs::recursion_misses(&self.programs, "enter")?),
            errors: of_kind(0)?,
            units: of_kind(1)?,
            tasks: of_kind(2)?,
        })
    }

    /// Makes the kernel measure the run time of its programs while the descriptor is open, which
    /// costs each run some 40 ns more.
    ///
    /// # Errors
    /// When the kernel refuses (5.8 or later, with `CAP_SYS_ADMIN`).
    pub fn measure() -> Result<OwnedFd, Error> {
        syscall_programs::measure()
    }

    /// The run time of the programs for this many calls, by the mean of the runs that they have
    /// measured ([`CountSettings::measure`]); `None` before the first.  Makes no system call.
    #[must_use]
    pub fn run_time_of(&self, calls: u64) -> Option<u64> {
        let mean = |program: usize| {
            let measured = self.run_times.of(program);
            (measured.runs > 0).then(|| measured.ns as f64 / measured.runs as f64)
        };
        Some((calls as f64 * (mean(ENTER)? + mean(LEAVE)?)) as u64)
    }

    /// The run time that the kernel has measured so far.
    ///
    /// # Errors
    /// When the kernel cannot be asked.
    pub fn run_time(&self) -> Result<ProgramRunTime, Error> {
        ProgramRunTime::of(&self.programs)
    }
}
