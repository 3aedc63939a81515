//! The writer of a record: a process has 128 random bits, a stream is one of its rings.
//!
//! The identity of a record is (process, ring, sequence): it is the same wherever the record is.

use std::fmt;

use text::encoding::{hex, hex_bytes};

use crate::bytes::{ByteCursor, put_short};

/// 128 random bits that a process takes at its first log.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ProcessId(pub [u8; 16]);

impl fmt::Display for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex(&self.0).fmt(f)
    }
}

impl fmt::Debug for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl ProcessId {
    /// Reads what `Display` writes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        hex_bytes(text)?.try_into().ok().map(ProcessId)
    }
}

/// The ring number under which the bytes of a process's dictionary are carried: a sequence number
/// is there an offset in bytes.
pub const DICTIONARY: u32 = u32::MAX;

/// A ring of a process, or its dictionary.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StreamId {
    /// The process.
    pub process: ProcessId,
    /// The number of the ring, or [`DICTIONARY`].
    pub ring: u32,
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ring {
            DICTIONARY => write!(f, "{}/dictionary", self.process),
            ring => write!(f, "{}/{ring}", self.process),
        }
    }
}

impl StreamId {
    /// The stream of a recording's samples: its sequence numbers are those of the samples.
    #[must_use]
    pub fn of_recording(file_id: u64) -> Self {
        let mut id = [0; 16];
        id[..8].copy_from_slice(&file_id.to_le_bytes());
        StreamId { process: ProcessId(id), ring: 0 }
    }

    /// The number of the recording, if it is the stream of one.
    #[must_use]
    pub fn recording(&self) -> Option<u64> {
        let (id, rest) = self.process.0.split_first_chunk::<8>()?;
        (self.ring == 0 && rest == [0; 8]).then_some(u64::from_le_bytes(*id))
    }
}

/// What is known of a process that logs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProcessInfo {
    /// The random number of the process.
    pub id: ProcessId,
    /// Process id, of the host's own namespace.
    pub pid: u32,
    /// Start time in ticks since the boot.
    pub start_ticks: u64,
    /// The boot in which it ran.
    pub boot_id: [u8; 16],
    /// Name of the host.
    pub host: String,
    /// Name of the process.
    pub name: String,
}

impl ProcessInfo {
    /// Appends the bytes that a frame has of it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.id.0);
        out.extend_from_slice(&self.pid.to_le_bytes());
        out.extend_from_slice(&self.start_ticks.to_le_bytes());
        out.extend_from_slice(&self.boot_id);
        put_short(out, self.host.as_bytes());
        put_short(out, self.name.as_bytes());
    }

    /// Reads the bytes of a frame; `None` if they end too early.
    pub fn decode(from: &mut ByteCursor<'_>) -> Option<Self> {
        Some(ProcessInfo {
            id: ProcessId(from.array()?),
            pid: from.u32()?,
            start_ticks: from.u64()?,
            boot_id: from.array()?,
            host: from.short_text()?,
            name: from.short_text()?,
        })
    }
}

/// What is known of a ring.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StreamInfo {
    /// The process and the ring.
    pub id: StreamId,
    /// Thread id.
    pub tid: u32,
    /// Name of the thread.
    pub thread: String,
}

impl StreamInfo {
    /// Appends the bytes that a frame has of it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.id.process.0);
        out.extend_from_slice(&self.id.ring.to_le_bytes());
        out.extend_from_slice(&self.tid.to_le_bytes());
        put_short(out, self.thread.as_bytes());
    }

    /// Reads the bytes of a frame; `None` if they end too early.
    pub fn decode(from: &mut ByteCursor<'_>) -> Option<Self> {
        let id = StreamId { process: ProcessId(from.array()?), ring: from.u32()? };
        Some(StreamInfo { id, tid: from.u32()?, thread: from.short_text()? })
    }
}
