//! The records of system calls, as they are in the ring buffer.

use crate::records::Record;
use crate::ring_buffer;

/// The header of every record.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct EventHeader {
    /// When, on `CLOCK_MONOTONIC`.
    pub time_ns: u64,
    /// The thread.
    pub thread: i32,
    /// The process of the task.
    pub process: i32,
    kind: u32,
    flags: u32,
}

impl EventHeader {
    /// Whether the call is one of a 32-bit program.
    #[must_use]
    pub fn is_compat(&self) -> bool {
        self.flags & 1 != 0
    }

    /// Whether some memory was not resident at the entry; a copy of it comes with the exit.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        self.flags & 2 != 0
    }

    /// Whether the program that an `execve` began is the interpreter of the file.
    #[must_use]
    pub fn is_interpreted(&self) -> bool {
        self.flags & 8 != 0
    }

    /// Whether the signal has its default action.
    #[must_use]
    pub fn is_default(&self) -> bool {
        self.flags & 4 != 0
    }
}

/// The entry or the exit of a system call.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CallRecord {
    /// Task and time.
    pub head: EventHeader,
    /// The system call number.
    pub number: u64,
    /// The six arguments as they were in the registers.
    pub arguments: [u64; 6],
    /// The result; 0 at the entry.
    pub result: i64,
    /// Time from entry to exit.
    pub wall_ns: u64,
    /// The part of that time on a CPU.
    pub cpu_ns: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct ValueRecord {
    head: EventHeader,
    value: i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct SignalRecord {
    head: EventHeader,
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
unsafe impl Record for EventHeader {}
// SAFETY: as above.
unsafe impl Record for CallRecord {}
// SAFETY: as above.
unsafe impl Record for ValueRecord {}
// SAFETY: as above.
unsafe impl Record for SignalRecord {}
// SAFETY: as above.
unsafe impl Record for PieceRecord {}

/// The copies of memory in a record.
#[derive(Clone, Debug)]
pub struct MemoryPieces<'a>(&'a [u8]);

impl<'a> MemoryPieces<'a> {
    /// The pieces in these bytes, which [`MemoryPieces::bytes`] returned.
    #[must_use]
    pub fn of(bytes: &'a [u8]) -> Self {
        MemoryPieces(bytes)
    }

    /// The bytes of all pieces, to be kept.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.0
    }
}

/// One copy of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryPiece<'a> {
    /// The address in the task.
    pub address: u64,
    /// The bytes at that address.
    pub bytes: &'a [u8],
    /// When it was copied.
    pub origin: PieceOrigin,
}

/// When a piece was copied: `enum phase` of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceOrigin {
    /// At the entry of the call, or at its exit because it could not be copied before.
    Enter,
    /// At the exit of the call.
    Exit,
    /// From the stack of the program that an `execve` began: its path.
    NewPath,
    /// The strings of its arguments, each ended by a zero byte.
    NewArguments,
    /// The strings of its environment.
    NewEnvironment,
}

impl PieceOrigin {
    fn of(phase: u32) -> Self {
        match phase {
            1 => PieceOrigin::Enter,
            4 => PieceOrigin::NewPath,
            8 => PieceOrigin::NewArguments,
            16 => PieceOrigin::NewEnvironment,
            _ => PieceOrigin::Exit,
        }
    }
}

impl<'a> Iterator for MemoryPieces<'a> {
    type Item = MemoryPiece<'a>;

    fn next(&mut self) -> Option<MemoryPiece<'a>> {
        let (piece, rest) = PieceRecord::split_first(self.0)?;
        let bytes = piece.bytes as usize;
        let found = rest.get(..bytes)?;
        self.0 = rest.get(bytes.next_multiple_of(8)..).unwrap_or_default();
        let origin = PieceOrigin::of(piece.phase);
        Some(MemoryPiece { address: piece.address, bytes: found, origin })
    }
}

/// One record, parsed.
#[derive(Clone, Debug)]
pub enum EventRecord<'a> {
    /// The entry of a call.
    Enter(CallRecord, MemoryPieces<'a>),
    /// The exit of a call.
    Exit(CallRecord, MemoryPieces<'a>),
    /// A signal is delivered; the first 48 bytes of its `siginfo_t`.
    Signal(EventHeader, [u8; 48]),
    /// A new task, created by this process.
    Began(EventHeader, i32),
    /// A task that called `execve` had this number before.
    Superseded(EventHeader, i32),
    /// A task has exited, with this wait status (`wait(2)`).
    Ended(EventHeader, u32),
}

impl<'a> EventRecord<'a> {
    /// The first of the records that [`SyscallEvents::append_records`](super::SyscallEvents::append_records) copied,
    /// and how many bytes it takes; no record if its bytes are not valid, `None` at the end.
    #[must_use]
    pub fn first(bytes: &'a [u8]) -> Option<(Option<Self>, usize)> {
        let (record, room) = ring_buffer::first(bytes)?;
        Some((Self::parse(record), room))
    }

    /// Task and time.
    #[must_use]
    pub fn head(&self) -> &EventHeader {
        match self {
            Self::Enter(call, _) | Self::Exit(call, _) => &call.head,
            Self::Signal(head, _)
            | Self::Began(head, _)
            | Self::Superseded(head, _)
            | Self::Ended(head, _) => head,
        }
    }

    /// The record in these bytes; `None` if they are not valid.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (head, _) = EventHeader::split_first(bytes)?;
        let value = || ValueRecord::split_first(bytes).map(|(record, _)| record.value);
        Some(match head.kind {
            1 => CallRecord::split_first(bytes)
                .map(|(call, rest)| Self::Enter(call, MemoryPieces(rest)))?,
            2 => CallRecord::split_first(bytes)
                .map(|(call, rest)| Self::Exit(call, MemoryPieces(rest)))?,
            3 => Self::Signal(head, SignalRecord::split_first(bytes)?.0.siginfo),
            4 => Self::Began(head, value()? as i32),
            5 => Self::Superseded(head, value()? as i32),
            6 => Self::Ended(head, value()? as u32),
            _ => return None,
        })
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
        let pieces: Vec<_> =
            MemoryPieces::of(&bytes).map(|piece| (piece.address, piece.bytes)).collect();
        assert_eq!(pieces, [(0x1000, &b"one"[..]), (0x2000, b"12345678")]);
        assert_eq!(MemoryPieces::of(&bytes[..bytes.len() - 1]).count(), 1);
        assert!(EventRecord::parse(&bytes[..20]).is_none());
        assert!(EventRecord::parse(&[0xff; 256]).is_none());
    }
}
