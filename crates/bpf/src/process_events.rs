//! Processes that call `execve` and processes that exit, reported by the kernel as it happens.
//!
//! Costs nothing while no process starts a program or exits.  A process that does pays some
//! microseconds for three events: its `execve`, its exit and, some milliseconds after its parent
//! has waited for it, its final CPU time.  Events wait in a ring buffer of 1 MiB, enough for about
//! 3,000 short processes, until they are read; its descriptor becomes readable when it is half
//! full.  Events that find it full are counted by the programs.

use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};

use aya::maps::{Array, MapData, RingBuf};
use aya::{Ebpf, include_bytes_aligned};

use crate::loader::{RUN_TIMES, take_map};
use crate::records::{ARGUMENTS_BYTES, ExecEvent, ExitEvent, FreeEvent, Record as _};
use crate::run_times::{RunTime, RunTimes};
use crate::{Error, KernelTypes, syscall_programs};

/// The object made of `programs/exit.bpf.c`.
pub(crate) static OBJECT: &[u8] = include_bytes_aligned!("../objects/exit.bpf.o");

/// `enum kind` of the program.
const EXEC: u32 = 1;
const EXIT: u32 = 2;
const FREE: u32 = 3;

/// The programs and their tracepoints.
const TRACEPOINTS: [(&str, &str); 3] = [
    ("execs", "sched_process_exec"),
    ("exits", "sched_process_exit"),
    ("frees", "sched_process_free"),
];

/// One event.
#[derive(Clone, Copy, Debug)]
pub enum ProcessEvent<'a> {
    /// A process has called `execve`: the event, and the first bytes of its command line with a
    /// zero byte after each argument.
    Exec(&'a ExecEvent, &'a [u8]),
    /// A process has exited.
    Exit(&'a ExitEvent),
    /// The kernel has released a process, some time after its exit.
    Free(&'a FreeEvent),
}

/// Events that found the ring full, since the program was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostEvents {
    /// `execve` events: the command lines of these programs are not known.
    pub execs: u64,
    /// Exit events: nothing is known of these processes.
    pub exits: u64,
}

/// The attached programs and their ring buffer.
pub struct ProcessEvents {
    ring: RingBuf<MapData>,
    lost: Array<MapData, u64>,
    run_times: RunTimes,
    // Dropping it detaches the programs.
    programs: Ebpf,
}

impl ProcessEvents {
    /// Loads and attaches the programs.  Every exit from now on is reported or counted as lost.
    ///
    /// # Errors
    /// As [`TaskIterator::open`](crate::TaskIterator::open).
    pub fn open(kernel: &KernelTypes) -> Result<Self, Error> {
        let mut object = kernel.load(OBJECT)?;
        for (name, tracepoint) in TRACEPOINTS {
            kernel.attach(&mut object, name, tracepoint)?;
        }
        let mut map = |name| take_map(&mut object, name);
        Ok(ProcessEvents {
            ring: map("events")?.try_into().map_err(|error| Error::from_loader(&error))?,
            lost: map("lost")?.try_into().map_err(|error| Error::from_loader(&error))?,
            run_times: RunTimes::map(&map(RUN_TIMES)?)?,
            programs: object,
        })
    }

    /// Calls `each` with every event since the last call, in the order in which they happened on
    /// each CPU.  Makes no system call.
    pub fn drain(&mut self, mut each: impl FnMut(ProcessEvent<'_>)) {
        while let Some(item) = self.ring.next() {
            if let Some(parsed) = parse(&item) {
                each(parsed.borrow());
            }
        }
    }

    /// The events that found the ring buffer full so far.  Two system calls.
    ///
    /// # Errors
    /// When the map cannot be read.
    pub fn lost(&self) -> Result<LostEvents, Error> {
        let count = |kind: u32| self.lost.get(&kind, 0).map_err(|error| Error::from_loader(&error));
        Ok(LostEvents { execs: count(EXEC)?, exits: count(EXIT)? })
    }

    /// The events of released processes that found the ring buffer full so far: of these processes
    /// the final CPU time is not known.
    ///
    /// # Errors
    /// When the map cannot be read.
    pub fn lost_frees(&self) -> Result<u64, Error> {
        self.lost.get(&FREE, 0).map_err(|error| Error::from_loader(&error))
    }

    /// The runs of the programs that wrote an event or lost one, and their CPU time, all of it in
    /// other tasks.  Makes no system call.
    #[must_use]
    pub fn run_time(&self) -> RunTime {
        [EXEC, EXIT, FREE].iter().fold(RunTime::default(), |sum, &kind| {
            let program = self.run_times.of(kind as usize);
            RunTime { runs: sum.runs + program.runs, ns: sum.ns + program.ns }
        })
    }

    /// The run time as the kernel has measured it, which it does while
    /// [`SyscallCounts::measure`](crate::SyscallCounts::measure) is on; runs without an event
    /// included.
    ///
    /// # Errors
    /// When the kernel cannot be asked.
    pub fn run_time_by_kernel(&self) -> Result<RunTime, Error> {
        TRACEPOINTS.iter().try_fold(RunTime::default(), |sum, (name, _)| {
            let program = syscall_programs::run_time(&self.programs, name)?;
            Ok(RunTime { runs: sum.runs + program.runs, ns: sum.ns + program.ns })
        })
    }
}

impl AsFd for ProcessEvents {
    /// Readable when the ring is half full.
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the ring owns the descriptor, and the borrow keeps the ring.
        unsafe { BorrowedFd::borrow_raw(self.ring.as_raw_fd()) }
    }
}

/// An event copied out of the ring buffer; the arguments stay in it.
enum Parsed<'a> {
    Exec(ExecEvent, &'a [u8]),
    Exit(ExitEvent),
    Free(FreeEvent),
}

impl Parsed<'_> {
    fn borrow(&self) -> ProcessEvent<'_> {
        match self {
            Parsed::Exec(exec, arguments) => ProcessEvent::Exec(exec, arguments),
            Parsed::Exit(exit) => ProcessEvent::Exit(exit),
            Parsed::Free(free) => ProcessEvent::Free(free),
        }
    }
}

/// The event in these bytes; `None` if they hold no valid event.
fn parse(bytes: &[u8]) -> Option<Parsed<'_>> {
    match u32::from_ne_bytes(*bytes.first_chunk()?) {
        EXEC => {
            let (exec, rest) = ExecEvent::split_first(bytes)?;
            let kept = (exec.arguments_bytes as usize).min(ARGUMENTS_BYTES).min(rest.len());
            Some(Parsed::Exec(exec, &rest[..kept]))
        }
        EXIT => Some(Parsed::Exit(ExitEvent::split_first(bytes)?.0)),
        FREE => Some(Parsed::Free(FreeEvent::split_first(bytes)?.0)),
        _ => None,
    }
}
