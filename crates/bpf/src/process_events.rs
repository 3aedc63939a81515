//! Processes that begin another program and processes that end, told by the kernel as it happens.
//!
//! Costs nothing while nothing begins or ends; a process that does pays some microseconds for its
//! three events: that it begins a program, that it ends, and, some milliseconds after its parent
//! has waited for it, what it used in all.  They wait in a ring of 1 MiB, enough for about 3,000
//! short processes, until they are fetched; when it is half full its descriptor becomes readable.
//! What does not fit is counted by the kernel's side.

use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};

use aya::maps::{Array, MapData, RingBuf};
use aya::{Ebpf, include_bytes_aligned};

use crate::loader::take_map;
use crate::records::{ARGUMENTS_BYTES, ExecEvent, ExitEvent, FreeEvent, Record as _};
use crate::{Error, KernelTypes};

/// The object made of `programs/exit.bpf.c`.
pub(crate) static OBJECT: &[u8] = include_bytes_aligned!("../objects/exit.bpf.o");

/// `enum kind` of the program.
const EXEC: u32 = 1;
const EXIT: u32 = 2;
const FREE: u32 = 3;

/// The programs and what they hang on.
const TRACEPOINTS: [(&str, &str); 3] = [
    ("execs", "sched_process_exec"),
    ("exits", "sched_process_exit"),
    ("frees", "sched_process_free"),
];

/// One thing that happened.
#[derive(Clone, Copy, Debug)]
pub enum ProcessEvent<'a> {
    /// A process has begun a program; with the first bytes of its command line, the arguments
    /// ended by a zero each.
    Exec(&'a ExecEvent, &'a [u8]),
    /// A process has ended.
    Exit(&'a ExitEvent),
    /// A process that has ended, maybe long ago, is gone for good.
    Free(&'a FreeEvent),
}

/// Events that found the ring full, since the program was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostEvents {
    /// Programs begun of which the command line is not known.
    pub execs: u64,
    /// Processes ended of which nothing is known.
    pub exits: u64,
}

/// The ring and what keeps it filled.
pub struct ProcessEvents {
    ring: RingBuf<MapData>,
    lost: Array<MapData, u64>,
    // Dropping it takes the programs off their tracepoints.
    _programs: Ebpf,
}

impl ProcessEvents {
    /// Loads and attaches the programs: from now on nothing that ends is missed.
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
            _programs: object,
        })
    }

    /// Calls `each` with every event since the last time, in the order in which they happened on
    /// each CPU.  Makes no system call.
    pub fn drain(&mut self, mut each: impl FnMut(ProcessEvent<'_>)) {
        while let Some(item) = self.ring.next() {
            if let Some(life) = parse(&item) {
                each(life.borrow());
            }
        }
    }

    /// What did not fit into the ring so far.  Two system calls.
    ///
    /// # Errors
    /// When the map cannot be read.
    pub fn lost(&self) -> Result<LostEvents, Error> {
        let count = |kind: u32| self.lost.get(&kind, 0).map_err(|error| Error::from_loader(&error));
        Ok(LostEvents { execs: count(EXEC)?, exits: count(EXIT)? })
    }
}

impl AsFd for ProcessEvents {
    /// Readable when the ring is half full.
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the ring owns the descriptor, and the borrow keeps the ring.
        unsafe { BorrowedFd::borrow_raw(self.ring.as_raw_fd()) }
    }
}

/// An event copied out of the ring; the arguments stay where they are.
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

/// The event in these bytes; `None` if they make no sense.
fn parse(bytes: &[u8]) -> Option<Parsed<'_>> {
    match u32::from_ne_bytes(*bytes.first_chunk()?) {
        EXEC => {
            let (exec, rest) = ExecEvent::take(bytes)?;
            let kept = (exec.arguments_bytes as usize).min(ARGUMENTS_BYTES).min(rest.len());
            Some(Parsed::Exec(exec, &rest[..kept]))
        }
        EXIT => Some(Parsed::Exit(ExitEvent::take(bytes)?.0)),
        FREE => Some(Parsed::Free(FreeEvent::take(bytes)?.0)),
        _ => None,
    }
}
