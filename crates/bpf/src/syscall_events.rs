//! An event for the entry and the exit of each system call, with a copy of the memory that its
//! arguments point to: the programs of `programs/events.bpf.c`.
//!
//! A watched call pays for two records of 112 bytes in a ring buffer, and for each copy of memory.
//! Records that find the ring buffer full are counted and lost.  The reader takes them every few
//! milliseconds ([`SyscallEvents::append_records`], no system call); the descriptor becomes readable once
//! when a quarter of the ring buffer is in use.

mod capture;
mod record;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use aya::maps::Array;
use aya::{Ebpf, Pod, include_bytes_aligned};

use crate::loader::take_map;
use crate::mapped::MappedArray;
use crate::ring_buffer::RingBuffer;
use crate::settings::CountSettings;
use crate::syscall_programs::{self, CallStorage, ProgramRunTime, WatchedTasks, wrong};
use crate::{Error, KernelTypes, SLOTS};

use capture::RawCaptures;
pub use capture::{CAPTURES_MAX, CaptureKind, CaptureLength, MemoryCapture, PIECE_BYTES};
pub use record::{CallRecord, EventHeader, EventRecord, MemoryPiece, MemoryPieces, PieceOrigin};

/// The object made of `programs/events.bpf.c`.
pub(crate) static OBJECT: &[u8] = include_bytes_aligned!("../objects/events.bpf.o");
/// The object for kernels without task storage.
pub(crate) static OBJECT_BEFORE_5_12: &[u8] =
    include_bytes_aligned!("../objects/events_before_5_12.bpf.o");

/// `enum count` of the program.
const ALIVE: usize = 0;
const LOST: usize = 1;
const LOST_TASKS: usize = 2;
const COUNTS: usize = 3;

/// Which calls of which tasks are reported, and how.
#[derive(Clone, Debug, Default)]
pub struct EventSettings {
    /// Which tasks and calls; `split` is ignored.  If only errors or slow calls are wanted, a call
    /// is reported at its exit alone, except that the entry is reported too of each `execve` and of
    /// calls that overwrite the memory that they read.
    pub calls: CountSettings,
    /// Follow only threads of the process of a watched task, no other children.
    pub threads_only: bool,
    /// Bytes of the ring buffer, a power of two of at least 4096.
    pub ring_bytes: u32,
    /// Most bytes that are copied of data without a structure; at most [`PIECE_BYTES`] − 2.
    pub data_bytes: u32,
    /// What is copied for each call, by slot; no memory is copied if empty.
    pub captures: Vec<(usize, Vec<MemoryCapture>)>,
}

/// `struct reporting` of the program.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawReporting {
    wake_at: u32,
    captures: u32,
    data_bytes: u32,
    unused: u32,
}

// SAFETY: integers, laid out by C without padding.
unsafe impl Pod for RawReporting {}

/// The programs and their tracepoints, in the order of attaching: exits before entries.
const TRACEPOINTS: [(&str, &str); 7] = [
    ("end", "sched_process_exit"),
    ("exec", "sched_process_exec"),
    ("fork", "sched_process_fork"),
    ("deliver", "signal_deliver"),
    ("generate", "signal_generate"),
    ("leave", "sys_exit"),
    ("enter", "sys_enter"),
];

/// The attached programs and their ring buffer.
pub struct SyscallEvents {
    ring: RingBuffer,
    counts: MappedArray<u64>,
    watched: WatchedTasks,
    storage: CallStorage,
    // Dropping it detaches the programs.
    programs: Ebpf,
}

impl SyscallEvents {
    /// Loads and attaches the programs.  Unless every task is watched, none is before
    /// [`SyscallEvents::watch`].
    ///
    /// # Errors
    /// [`Error::Denied`] without permission; [`Error::Refused`] when the kernel rejects a program.
    pub fn open(kernel: &KernelTypes, settings: &EventSettings) -> Result<Self, Error> {
        CallStorage::first(|storage| Self::open_with(kernel, settings, storage))
    }

    /// Opens with this storage.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(
        kernel: &KernelTypes,
        settings: &EventSettings,
        storage: CallStorage,
    ) -> Result<Self, Error> {
        let object = storage.object(OBJECT, OBJECT_BEFORE_5_12);
        let mut raw = settings.calls.raw();
        raw.threads_only = u32::from(settings.threads_only);
        let reporting = RawReporting {
            wake_at: settings.ring_bytes / 4,
            captures: u32::from(!settings.captures.is_empty()),
            data_bytes: settings.data_bytes.min(PIECE_BYTES - 2),
            unused: 0,
        };
        let cpus = aya::util::nr_cpus().map_err(|(_, error)| Error::Read(error))?;
        let mut object = kernel.load_with(object, |loader| {
            loader.allow_unsupported_maps();
            loader.override_global("settings", &raw, true);
            loader.override_global("reporting", &reporting, true);
            loader.map_max_entries("events", settings.ring_bytes);
            loader.map_max_entries("scratches", u32::try_from(cpus).unwrap_or(u32::MAX));
        })?;
        let fits = object.map_mut("plans").map(Array::<_, RawCaptures>::try_from);
        let mut plans = fits
            .ok_or_else(|| Error::Refused("no map `plans`".to_owned()))?
            .map_err(|e| wrong(&e))?;
        for (slot, captures) in settings.captures.iter().filter(|(slot, _)| *slot < SLOTS) {
            plans.set(*slot as u32, RawCaptures::of(captures), 0).map_err(|error| wrong(&error))?;
        }
        storage.attach(kernel, &mut object, &TRACEPOINTS, settings.calls.follow)?;
        let watched = WatchedTasks::open(kernel, &mut object)?;
        Ok(SyscallEvents {
            ring: RingBuffer::map(take_map(&mut object, "events")?, settings.ring_bytes)?,
            counts: MappedArray::map(&take_map(&mut object, "counts")?, COUNTS)?,
            watched,
            storage,
            programs: object,
        })
    }

    /// Where the call that a task is in is stored on this kernel.
    pub fn storage(&self) -> CallStorage {
        self.storage
    }

    /// Watches these tasks from now on; returns the numbers of the threads that exist.
    ///
    /// # Errors
    /// [`Error::Read`] when the kernel does not run the pass over all tasks.
    pub fn watch(&mut self, ids: &[i32]) -> Result<Vec<i32>, Error> {
        self.watched.watch(ids)
    }

    /// Appends records from the ring buffer to `into`, at most `room` bytes unless the first alone
    /// is longer.  Returns whether no record is left.  Makes no system call.
    /// [`EventRecord::first`] parses the records.
    pub fn append_records(&mut self, into: &mut Vec<u8>, room: usize) -> bool {
        self.ring.append_records(into, room)
    }

    /// The bytes ever written into the ring buffer, and how many of them were taken out.
    #[must_use]
    pub fn positions(&self) -> (u64, u64) {
        (self.ring.written(), self.ring.read())
    }

    /// Watched tasks that have not exited.
    #[must_use]
    pub fn alive(&self) -> u64 {
        self.counts.read(ALIVE).unwrap_or(0)
    }

    /// Events that are missing so far: records that found the ring buffer full, tasks that could
    /// not be watched because memory was short, and calls at which the kernel did not run a program
    /// because it does not run one recursively.
    ///
    /// # Errors
    /// When the kernel cannot be asked.
    pub fn lost(&self) -> Result<u64, Error> {
        let count = |index| self.counts.read(index).unwrap_or(0);
        let missed = syscall_programs::recursion_misses(&self.programs, "leave")?
            + syscall_programs::recursion_misses(&self.programs, "enter")?;
        Ok(count(LOST) + count(LOST_TASKS) + missed)
    }

    /// As [`SyscallCounts::measure`](crate::SyscallCounts::measure).
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn measure() -> Result<OwnedFd, Error> {
        syscall_programs::measure()
    }

    /// The run time measured so far.
    ///
    /// # Errors
    /// When the kernel cannot be asked.
    pub fn run_time(&self) -> Result<ProgramRunTime, Error> {
        ProgramRunTime::of(&self.programs)
    }
}

impl AsFd for SyscallEvents {
    /// Becomes readable once when a quarter of the ring buffer is in use.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ring.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_are_as_long_as_those_of_the_program() {
        assert_eq!(size_of::<RawCaptures>(), 8 + CAPTURES_MAX * 20);
        assert_eq!(size_of::<CallRecord>(), 104);
    }
}
