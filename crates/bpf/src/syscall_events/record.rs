//! What has happened, as it stands in the ring.

use crate::records::Record;
use crate::ring_buffer;

/// What every record begins with.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct EventHeader {
    /// When, on the monotonic clock.
    pub time_ns: u64,
    /// The thread.
    pub thread: i32,
    /// Its process.
    pub process: i32,
    kind: u32,
    flags: u32,
}

impl EventHeader {
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
    pub head: EventHeader,
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
// SAFETY: likewise.
unsafe impl Record for CallRecord {}
// SAFETY: likewise.
unsafe impl Record for ValueRecord {}
// SAFETY: likewise.
unsafe impl Record for SignalRecord {}
// SAFETY: likewise.
unsafe impl Record for PieceRecord {}

/// MemoryPieces of memory as they stand in a record: address, bytes, and whether they belong to the begin
/// of the call.
#[derive(Clone, Debug)]
pub struct MemoryPieces<'a>(&'a [u8]);

impl<'a> MemoryPieces<'a> {
    /// Those in these bytes, which were taken from [`MemoryPieces::bytes`].
    #[must_use]
    pub fn of(bytes: &'a [u8]) -> Self {
        MemoryPieces(bytes)
    }

    /// All of them, to be kept.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.0
    }
}

/// One piece of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryPiece<'a> {
    /// Where it stands.
    pub address: u64,
    /// What stands there.
    pub bytes: &'a [u8],
    /// It belongs to the begin of the call.
    pub is_of_enter: bool,
}

impl<'a> Iterator for MemoryPieces<'a> {
    type Item = MemoryPiece<'a>;

    fn next(&mut self) -> Option<MemoryPiece<'a>> {
        let (piece, rest) = PieceRecord::take(self.0)?;
        let bytes = piece.bytes as usize;
        let found = rest.get(..bytes)?;
        self.0 = rest.get(bytes.next_multiple_of(8)..).unwrap_or_default();
        Some(MemoryPiece { address: piece.address, bytes: found, is_of_enter: piece.phase == 1 })
    }
}

/// What has happened.
#[derive(Clone, Debug)]
pub enum EventRecord<'a> {
    /// A call begins.
    Enter(CallRecord, MemoryPieces<'a>),
    /// A call ends.
    Exit(CallRecord, MemoryPieces<'a>),
    /// A signal is delivered; the first bytes of `siginfo_t`.
    Signal(EventHeader, [u8; 48]),
    /// A new task, of this process.
    Began(EventHeader, i32),
    /// The task had this number before it began a program.
    Superseded(EventHeader, i32),
    /// A task ends, with this code as `wait(2)` gives it.
    Ended(EventHeader, u32),
}

impl<'a> EventRecord<'a> {
    /// The first of those that [`SyscallEvents::take`](super::SyscallEvents::take) has moved, and how many bytes it
    /// takes; nothing in the place of what makes no sense, `None` at the end.
    #[must_use]
    pub fn first(bytes: &'a [u8]) -> Option<(Option<Self>, usize)> {
        let (record, room) = ring_buffer::first(bytes)?;
        Some((Self::parse(record), room))
    }

    /// Whose it is.
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

    /// What these bytes say; `None` if they make no sense.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (head, _) = EventHeader::take(bytes)?;
        let value = || ValueRecord::take(bytes).map(|(record, _)| record.value);
        Some(match head.kind {
            1 => {
                CallRecord::take(bytes).map(|(call, rest)| Self::Enter(call, MemoryPieces(rest)))?
            }
            2 => {
                CallRecord::take(bytes).map(|(call, rest)| Self::Exit(call, MemoryPieces(rest)))?
            }
            3 => Self::Signal(head, SignalRecord::take(bytes)?.0.siginfo),
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
