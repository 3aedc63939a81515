//! System calls told one by one as they begin and end, with what their arguments point to: the
//! programs of `programs/events.bpf.c`.
//!
//! A watched call pays for two records of 112 bytes in a ring, and for each piece of memory that is
//! copied.  Records that find the ring full are counted and lost.  The reader fetches them every some
//! milliseconds ([`Events::drain`], no system call); the ring's descriptor becomes readable once when
//! a quarter of it is in use.

use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};

use aya::maps::{Array, MapData, RingBuf};
use aya::{Ebpf, Pod, include_bytes_aligned};

use crate::calls::{self, RunTime, SLOTS, Seeds, attach, take, wrong};
use crate::counts::CountSettings;
use crate::records::Record;
use crate::shared::Shared;
use crate::{Error, Kernel};

/// The object made of `programs/events.bpf.c`.
pub(crate) static OBJECT: &[u8] = include_bytes_aligned!("../objects/events.bpf.o");

/// Captures of one call: `CAPTURES_MAX` of the program.
pub const CAPTURES_MAX: usize = 8;
/// The longest piece: `PIECE_BYTES` of the program.
pub const PIECE_BYTES: u32 = 32768;
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
    pub captures: Vec<(usize, Vec<Capture>)>,
}

/// How much: `struct extent` of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// All that there is.
    #[default]
    All,
    /// So many.
    Fixed(u16),
    /// What this argument says.
    Argument(u8),
    /// What the call gives.
    Result,
    /// The 32-bit number behind this argument.
    Behind(u8),
}

/// What is copied: `enum copied` of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A text that a zero ends.
    Text = 1,
    /// An array of pointers to texts.
    Texts,
    /// An array of pointers that a null pointer ends.
    Pointers,
    /// So many elements of so many bytes.
    Bytes,
    /// `struct iovec`, and what they point to.
    Vectors,
    /// `struct msghdr`, and what it points to.
    Message,
    /// So many `struct mmsghdr`.
    Messages,
    /// The sixteen bytes and the mask of `pselect6`.
    Mask,
    /// What `struct clone_args` points to.
    CloneResults,
}

/// One thing to copy for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capture {
    /// The argument that points to it.
    pub argument: u8,
    /// As the call begins.
    pub at_enter: bool,
    /// As it ends.
    pub at_exit: bool,
    /// What.
    pub shape: Shape,
    /// How many elements.
    pub count: Extent,
    /// Bytes in all, of vectors.
    pub total: Extent,
    /// Bytes of an element.
    pub size: u32,
    /// Never more bytes than these.
    pub bytes_max: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct RawExtent {
    kind: u8,
    index: u8,
    fixed: u16,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct RawCapture {
    argument: u8,
    when: u8,
    kind: u8,
    unused: u8,
    count: RawExtent,
    total: RawExtent,
    size: u32,
    bytes_max: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct RawPlan {
    count: u32,
    when: u32,
    captures: [RawCapture; CAPTURES_MAX],
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

// SAFETY: integers and arrays of them, laid out by C without padding.
unsafe impl Pod for RawPlan {}
// SAFETY: likewise.
unsafe impl Pod for RawTelling {}

impl RawExtent {
    fn of(extent: Extent) -> Self {
        let (kind, index, fixed) = match extent {
            Extent::All => (0, 0, 0),
            Extent::Fixed(fixed) => (1, 0, fixed),
            Extent::Argument(index) => (2, index, 0),
            Extent::Result => (3, 0, 0),
            Extent::Behind(index) => (4, index, 0),
        };
        RawExtent { kind, index, fixed }
    }
}

impl RawPlan {
    fn of(captures: &[Capture]) -> Self {
        let mut plan = RawPlan::default();
        for (raw, capture) in plan.captures.iter_mut().zip(captures) {
            *raw = RawCapture {
                argument: capture.argument,
                when: u8::from(capture.at_enter) | u8::from(capture.at_exit) << 1,
                kind: capture.shape as u8,
                unused: 0,
                count: RawExtent::of(capture.count),
                total: RawExtent::of(capture.total),
                size: capture.size,
                bytes_max: capture.bytes_max.min(PIECE_BYTES),
            };
            plan.when |= u32::from(raw.when);
            plan.count += 1;
        }
        plan
    }
}

/// What every record begins with.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Head {
    /// When, on the monotonic clock.
    pub time_ns: u64,
    /// The thread.
    pub thread: i32,
    /// Its process.
    pub process: i32,
    kind: u32,
    flags: u32,
}

impl Head {
    /// The call is one of 32-bit programs.
    #[must_use]
    pub fn is_compat(&self) -> bool {
        self.flags & 1 != 0
    }

    /// Some memory could not be copied as it was not there; it comes with the end of the call.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        self.flags & 2 != 0
    }

    /// The signal does what it does by default.
    #[must_use]
    pub fn is_default(&self) -> bool {
        self.flags & 4 != 0
    }
}

/// A call that begins or ends.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CallRecord {
    /// Whose and when.
    pub head: Head,
    /// Its number.
    pub number: u64,
    /// Its words.
    pub arguments: [u64; 6],
    /// What it gave; 0 at its begin.
    pub result: i64,
    /// From begin to end.
    pub wall_ns: u64,
    /// Of that, on a CPU.
    pub cpu_ns: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct ValueRecord {
    head: Head,
    value: i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct SignalRecord {
    head: Head,
    siginfo: [u8; 48],
}

#[repr(C)]
#[derive(Clone, Copy)]
struct PieceRecord {
    address: u64,
    bytes: u32,
    phase: u32,
}

// SAFETY: integers and arrays of them, laid out by C without padding.
unsafe impl Record for Head {}
// SAFETY: likewise.
unsafe impl Record for CallRecord {}
// SAFETY: likewise.
unsafe impl Record for ValueRecord {}
// SAFETY: likewise.
unsafe impl Record for SignalRecord {}
// SAFETY: likewise.
unsafe impl Record for PieceRecord {}

/// Pieces of memory as they stand in a record: address, bytes, and whether they belong to the begin
/// of the call.
#[derive(Clone, Debug)]
pub struct Pieces<'a>(&'a [u8]);

impl<'a> Pieces<'a> {
    /// Those in these bytes, which were taken from [`Pieces::bytes`].
    #[must_use]
    pub fn of(bytes: &'a [u8]) -> Self {
        Pieces(bytes)
    }

    /// All of them, to be kept.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.0
    }
}

/// One piece of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<'a> {
    /// Where it stands.
    pub address: u64,
    /// What stands there.
    pub bytes: &'a [u8],
    /// It belongs to the begin of the call.
    pub is_of_enter: bool,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let (piece, rest) = PieceRecord::take(self.0)?;
        let bytes = piece.bytes as usize;
        let found = rest.get(..bytes)?;
        self.0 = rest.get(bytes.next_multiple_of(8)..).unwrap_or_default();
        Some(Piece { address: piece.address, bytes: found, is_of_enter: piece.phase == 1 })
    }
}

/// What has happened.
#[derive(Clone, Debug)]
pub enum Happening<'a> {
    /// A call begins.
    Enter(CallRecord, Pieces<'a>),
    /// A call ends.
    Exit(CallRecord, Pieces<'a>),
    /// A signal is delivered; the first bytes of `siginfo_t`.
    Signal(Head, [u8; 48]),
    /// A new task, of this process.
    Began(Head, i32),
    /// The task had this number before it began a program.
    Superseded(Head, i32),
    /// A task ends, with this code as `wait(2)` gives it.
    Ended(Head, u32),
}

impl<'a> Happening<'a> {
    /// What these bytes say; `None` if they make no sense.
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (head, _) = Head::take(bytes)?;
        let value = || ValueRecord::take(bytes).map(|(record, _)| record.value);
        Some(match head.kind {
            1 => CallRecord::take(bytes).map(|(call, rest)| Self::Enter(call, Pieces(rest)))?,
            2 => CallRecord::take(bytes).map(|(call, rest)| Self::Exit(call, Pieces(rest)))?,
            3 => Self::Signal(head, SignalRecord::take(bytes)?.0.siginfo),
            4 => Self::Began(head, value()? as i32),
            5 => Self::Superseded(head, value()? as i32),
            6 => Self::Ended(head, value()? as u32),
            _ => return None,
        })
    }
}

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
pub struct Events {
    ring: RingBuf<MapData>,
    counts: Shared<u64>,
    seeds: Seeds,
    // Dropping it takes the programs off their tracepoints.
    programs: Ebpf,
}

impl Events {
    /// Loads and attaches the programs.  Unless everybody is watched, nobody is before
    /// [`Events::seed`].
    ///
    /// # Errors
    /// Without permission, or when the kernel does not take the programs.
    pub fn open(kernel: &Kernel, settings: &EventSettings) -> Result<Self, Error> {
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
        let fits = object.map_mut("plans").map(Array::<_, RawPlan>::try_from);
        let mut plans = fits
            .ok_or_else(|| Error::Refused("no map `plans`".to_owned()))?
            .map_err(|e| wrong(&e))?;
        for (slot, captures) in settings.captures.iter().filter(|(slot, _)| *slot < SLOTS) {
            plans.set(*slot as u32, RawPlan::of(captures), 0).map_err(|error| wrong(&error))?;
        }
        for (name, tracepoint) in TRACEPOINTS {
            if name != "fork" || settings.calls.follow {
                attach(kernel, &mut object, name, tracepoint)?;
            }
        }
        let seeds = Seeds::open(kernel, &mut object)?;
        Ok(Events {
            ring: take(&mut object, "events")?.try_into().map_err(|error| wrong(&error))?,
            counts: Shared::map(&take(&mut object, "counts")?, COUNTS)?,
            seeds,
            programs: object,
        })
    }

    /// Watches these tasks from now on; gives the numbers of the threads that exist.
    ///
    /// # Errors
    /// When the kernel does not run the pass over all tasks.
    pub fn seed(&mut self, ids: &[i32]) -> Result<Vec<i32>, Error> {
        self.seeds.name(ids)
    }

    /// Calls `each` with what has happened since the last time, until nothing is left or it says
    /// that it wants no more.  Makes no system call.
    pub fn drain(&mut self, mut each: impl FnMut(Happening<'_>) -> bool) {
        while let Some(item) = self.ring.next() {
            if let Some(happening) = Happening::parse(&item)
                && !each(happening)
            {
                return;
            }
        }
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
        let missed = calls::info(&self.programs, "leave", "recursion_misses")?
            + calls::info(&self.programs, "enter", "recursion_misses")?;
        Ok(count(LOST) + count(LOST_TASKS) + missed)
    }

    /// As [`Counts::measure`](crate::Counts::measure).
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn measure() -> Result<OwnedFd, Error> {
        calls::measure()
    }

    /// What was measured so far.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn run_time(&self) -> Result<RunTime, Error> {
        RunTime::of(&self.programs)
    }
}

impl AsFd for Events {
    /// Readable once when a quarter of the ring is in use.
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the ring owns the descriptor, and the borrow keeps the ring.
        unsafe { BorrowedFd::borrow_raw(self.ring.as_raw_fd()) }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn pieces_are_taken_apart_and_nonsense_is_left() {
        let mut bytes = Vec::new();
        for (address, text) in [(0x1000_u64, &b"one"[..]), (0x2000, b"12345678")] {
            bytes.extend(address.to_ne_bytes());
            bytes.extend((text.len() as u32).to_ne_bytes());
            bytes.extend(2_u32.to_ne_bytes());
            bytes.extend(text);
            bytes.resize(bytes.len().next_multiple_of(8), 0);
        }
        let pieces: Vec<_> = Pieces::of(&bytes).map(|piece| (piece.address, piece.bytes)).collect();
        assert_eq!(pieces, [(0x1000, &b"one"[..]), (0x2000, b"12345678")]);
        assert_eq!(Pieces::of(&bytes[..bytes.len() - 1]).count(), 1);
        assert!(Happening::parse(&bytes[..20]).is_none());
        assert!(Happening::parse(&[0xff; 256]).is_none());
    }

    #[test]
    fn structures_are_as_long_as_those_of_the_program() {
        assert_eq!(size_of::<RawPlan>(), 8 + CAPTURES_MAX * 20);
        assert_eq!(size_of::<CallRecord>(), 104);
    }
}
