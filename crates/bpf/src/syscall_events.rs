//! System calls told one by one as they begin and end, with what their arguments point to: the
//! programs of `programs/events.bpf.c`.
//!
//! A watched call pays for two records of 112 bytes in a ring, and for each piece of memory that is
//! copied.  Records that find the ring full are counted and lost.  The reader fetches them every some
//! milliseconds ([`SyscallEvents::take`], no system call); the ring's descriptor becomes readable once when
//! a quarter of it is in use.

mod capture;
mod record;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use aya::maps::Array;
use aya::{Ebpf, Pod, include_bytes_aligned};

use crate::loader::take_map;
use crate::mapped::MappedArray;
use crate::ring_buffer::RingBuffer;
use crate::settings::CountSettings;
use crate::syscall_programs::{self, ProgramRunTime, WatchedTasks, wrong};
use crate::{Error, KernelTypes, SLOTS};

use capture::RawCaptures;
pub use capture::{CAPTURES_MAX, CaptureKind, CaptureLength, MemoryCapture, PIECE_BYTES};
pub use record::{CallRecord, EventHeader, EventRecord, MemoryPiece, MemoryPieces};

/// The object made of `programs/events.bpf.c`.
pub(crate) static OBJECT: &[u8] = include_bytes_aligned!("../objects/events.bpf.o");

/// `enum count` of the program.
const ALIVE: usize = 0;
const LOST: usize = 1;
const LOST_TASKS: usize = 2;
const COUNTS: usize = 3;

/// What is told, and of whom.
#[derive(Clone, Debug, Default)]
pub struct EventSettings {
    /// Whose and which calls; what to split them by means nothing here.  Where only errors or slow
    /// calls are wanted, a call is told at its end alone.
    pub calls: CountSettings,
    /// Of the children of a watched task, only threads of its process are followed.
    pub threads_only: bool,
    /// Bytes of the ring, a power of two of at least 4096.
    pub ring_bytes: u32,
    /// Bytes of data without a form that are worth copying, at most [`PIECE_BYTES`] − 2.
    pub data_bytes: u32,
    /// What is copied for each call, by its place; nothing if empty.
    pub captures: Vec<(usize, Vec<MemoryCapture>)>,
}

/// `struct telling` of the program.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawTelling {
    wake_at: u32,
    captures: u32,
    data_bytes: u32,
    unused: u32,
}

// SAFETY: integers, laid out by C without padding.
unsafe impl Pod for RawTelling {}

/// The programs at tracepoints, in the order in which they are attached: the ends before the begins.
const TRACEPOINTS: [(&str, &str); 7] = [
    ("end", "sched_process_exit"),
    ("exec", "sched_process_exec"),
    ("fork", "sched_process_fork"),
    ("deliver", "signal_deliver"),
    ("generate", "signal_generate"),
    ("leave", "sys_exit"),
    ("enter", "sys_enter"),
];

/// The programs, attached, and their ring.
pub struct SyscallEvents {
    ring: RingBuffer,
    counts: MappedArray<u64>,
    watched: WatchedTasks,
    // Dropping it takes the programs off their tracepoints.
    programs: Ebpf,
}

impl SyscallEvents {
    /// Loads and attaches the programs.  Unless everybody is watched, nobody is before
    /// [`SyscallEvents::watch`].
    ///
    /// # Errors
    /// Without permission, or when the kernel does not take the programs.
    pub fn open(kernel: &KernelTypes, settings: &EventSettings) -> Result<Self, Error> {
        let mut raw = settings.calls.raw();
        raw.threads_only = u32::from(settings.threads_only);
        let telling = RawTelling {
            wake_at: settings.ring_bytes / 4,
            captures: u32::from(!settings.captures.is_empty()),
            data_bytes: settings.data_bytes.min(PIECE_BYTES - 2),
            unused: 0,
        };
        let cpus = aya::util::nr_cpus().map_err(|(_, error)| Error::Read(error))?;
        let mut object = kernel.load_with(OBJECT, |loader| {
            loader.allow_unsupported_maps();
            loader.override_global("settings", &raw, true);
            loader.override_global("telling", &telling, true);
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
        for (name, tracepoint) in TRACEPOINTS {
            if name != "fork" || settings.calls.follow {
                kernel.attach(&mut object, name, tracepoint)?;
            }
        }
        let watched = WatchedTasks::open(kernel, &mut object)?;
        Ok(SyscallEvents {
            ring: RingBuffer::map(take_map(&mut object, "events")?, settings.ring_bytes)?,
            counts: MappedArray::map(&take_map(&mut object, "counts")?, COUNTS)?,
            watched,
            programs: object,
        })
    }

    /// Watches these tasks from now on; gives the numbers of the threads that exist.
    ///
    /// # Errors
    /// When the kernel does not run the pass over all tasks.
    pub fn watch(&mut self, ids: &[i32]) -> Result<Vec<i32>, Error> {
        self.watched.watch(ids)
    }

    /// Moves what has happened out of the ring to the end of `into`, but no more than `room` bytes
    /// unless it is one record; whether nothing is left.  Makes no system call.
    /// [`EventRecord::first`] reads it.
    pub fn take(&mut self, into: &mut Vec<u8>, room: usize) -> bool {
        self.ring.take(into, room)
    }

    /// Bytes that were ever written into the ring, and of those how many were taken out.
    #[must_use]
    pub fn positions(&self) -> (u64, u64) {
        (self.ring.written(), self.ring.read())
    }

    /// Watched tasks that have not ended.
    #[must_use]
    pub fn alive(&self) -> u64 {
        self.counts.read(ALIVE).unwrap_or(0)
    }

    /// What could not be told so far: records that found the ring full, tasks that could not be
    /// watched for want of memory, and calls at which the kernel would not run a program within
    /// itself.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn lost(&self) -> Result<u64, Error> {
        let count = |index| self.counts.read(index).unwrap_or(0);
        let missed = syscall_programs::info(&self.programs, "leave", "recursion_misses")?
            + syscall_programs::info(&self.programs, "enter", "recursion_misses")?;
        Ok(count(LOST) + count(LOST_TASKS) + missed)
    }

    /// As [`SyscallCounts::measure`](crate::SyscallCounts::measure).
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn measure() -> Result<OwnedFd, Error> {
        syscall_programs::measure()
    }

    /// What was measured so far.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn run_time(&self) -> Result<ProgramRunTime, Error> {
        ProgramRunTime::of(&self.programs)
    }
}

impl AsFd for SyscallEvents {
    /// Readable once when a quarter of the ring is in use.
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
