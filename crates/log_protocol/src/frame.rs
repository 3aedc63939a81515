//! Frames: what goes from a proxy to the central server, and what a spool holds: the same bytes.
//!
//! A head of 64 bytes with its own checksum, then a body with its checksum; so a body that is
//! damaged still has an owner and an exact range.  `docs/format-log-frames.md` defines every byte.
//! Bodies are records as they are in a ring, stamps in nanoseconds since 1970: nothing is encoded
//! again on the way.

use crate::bytes::{ByteCursor, u32_at};
use crate::identity::{ProcessId, StreamId};

/// A frame begins so.
pub const MAGIC: [u8; 4] = *b"WLF1";
/// Bytes of a head.
pub const HEAD_BYTES: usize = 64;
/// Longest body: the longest record (512 KiB) and as much again.
pub const BODY_BYTES_MAX: usize = 1 << 20;
/// Bytes of records after which a proxy begins the next frame.
pub const RECORDS_BYTES: usize = 256 << 10;

/// What a frame carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum FrameKind {
    /// Client to server: who it is, and the proof that it knows the secret.
    Hello = 1,
    /// Server to client, first of all: a number that is used once.
    Challenge = 2,
    /// Server to client: accepted, and the server's own proof.
    Welcome = 3,
    /// Server to client: why the connection ends.
    Refused = 4,
    /// Client to server: streams whose marks it wants.
    Ask = 5,
    /// Server to client: marks of streams.
    Marks = 6,
    /// What is known of a process.
    Process = 7,
    /// What is known of a ring.
    Stream = 8,
    /// Bytes of a process's dictionary, as in its file.
    Dictionary = 9,
    /// Records of a ring.
    Records = 10,
    /// Records that cannot be delivered: their range and the reason.
    Lost = 11,
    /// Client to server: every process that it can still send anything of.
    Held = 12,
    /// Server to client: everything before these marks is committed.
    Ack = 13,
    /// Client to server, and on to proxies: set levels of loggers.
    SetLevel = 14,
    /// The answer: loggers whose level was set.
    LevelSet = 15,
    /// Client to server: asks for counters.
    Status = 16,
    /// The answer, as a JSON object.
    StatusText = 17,
    /// Client to server: asks for records of the store.
    Query = 18,
    /// The answer: records, after the processes, rings and dictionaries that they need.
    Found = 19,
    /// There is nothing more of what the store held.
    End = 20,
    /// Server to proxy: the levels that last, all of them.
    KeptLevels = 21,
    /// Recorder to server: a part of the name and the head of a recording.
    Recording = 22,
    /// Recorder to server: a part of samples of a recording.
    Samples = 23,
    /// Recorder to server: a recording was closed and has no more samples.
    RecordingEnd = 24,
}

impl FrameKind {
    /// The kind of a byte; `None` if a later version has it.
    #[must_use]
    pub fn of(byte: u8) -> Option<Self> {
        use FrameKind::{
            Ack, Ask, Challenge, Dictionary, End, Found, Held, Hello, KeptLevels, LevelSet, Lost,
            Marks, Process, Query, Recording, RecordingEnd, Records, Refused, Samples, SetLevel,
            Status, StatusText, Stream, Welcome,
        };
        let all = [
            Hello,
            Challenge,
            Welcome,
            Refused,
            Ask,
            Marks,
            Process,
            Stream,
            Dictionary,
            Records,
            Lost,
            Held,
            Ack,
            SetLevel,
            LevelSet,
            Status,
            StatusText,
            Query,
            Found,
            End,
            KeptLevels,
            Recording,
            Samples,
            RecordingEnd,
        ];
        all.into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// The head of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// What the frame carries.
    pub kind: FrameKind,
    /// Bytes of the body.
    pub body_bytes: u32,
    /// CRC-32C of the body.
    pub body_crc: u32,
    /// The stream, where there is one.
    pub stream: StreamId,
    /// Records in the body; bytes of a dictionary.
    pub count: u32,
    /// The sequence number that the first record may have at least; the first that is lost; offset
    /// of a dictionary's bytes.
    pub first: u64,
    /// The sequence number after the last record; after what is lost; after a dictionary's bytes.
    /// Where `next` is further from `first` than there are records, the writer dropped some, or the
    /// proxy left some out.
    pub next: u64,
    /// Records that the proxy left out between `first` and `next`: they are for local outputs alone.
    /// Of a recording: bytes of the same that are in the frames that follow.
    pub left_out: u32,
}

/// Why bytes are no frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// No frame begins here.
    #[error("no frame begins here")]
    NoHead,
    /// It is of a kind that this program does not know.
    #[error("a frame of kind {0}, which this version does not know")]
    UnknownKind(u8),
    /// The body is longer than any may be.
    #[error("a body of {0} bytes, more than any frame may have")]
    TooLong(u32),
}

impl Head {
    /// A frame without a stream.
    #[must_use]
    pub fn plain(kind: FrameKind) -> Self {
        let stream = StreamId { process: ProcessId::default(), ring: 0 };
        Head { kind, body_bytes: 0, body_crc: 0, stream, count: 0, first: 0, next: 0, left_out: 0 }
    }

    /// A frame of a stream.
    #[must_use]
    pub fn of(kind: FrameKind, stream: StreamId, first: u64, next: u64, count: u32) -> Self {
        Head { stream, first, next, count, ..Head::plain(kind) }
    }

    /// The bytes of a head.
    #[must_use]
    pub fn encode(&self) -> [u8; HEAD_BYTES] {
        let mut head = [0; HEAD_BYTES];
        head[..4].copy_from_slice(&MAGIC);
        head[4] = self.kind as u8;
        head[8..12].copy_from_slice(&self.body_bytes.to_le_bytes());
        head[12..16].copy_from_slice(&self.body_crc.to_le_bytes());
        head[16..32].copy_from_slice(&self.stream.process.0);
        head[32..36].copy_from_slice(&self.stream.ring.to_le_bytes());
        head[36..40].copy_from_slice(&self.count.to_le_bytes());
        head[40..48].copy_from_slice(&self.first.to_le_bytes());
        head[48..56].copy_from_slice(&self.next.to_le_bytes());
        head[56..60].copy_from_slice(&self.left_out.to_le_bytes());
        let crc = crc32c::crc32c(&head[..60]);
        head[60..].copy_from_slice(&crc.to_le_bytes());
        head
    }

    /// Reads the head that these bytes begin with.
    ///
    /// # Errors
    /// If they begin with no sound head, or with one of a kind or length that is not known.
    pub fn decode(bytes: &[u8]) -> Result<Self, FrameError> {
        let head = bytes.get(..HEAD_BYTES).ok_or(FrameError::NoHead)?;
        if head[..4] != MAGIC || u32_at(head, 60) != crc32c::crc32c(&head[..60]) {
            return Err(FrameError::NoHead);
        }
        Self::decode_fields(&mut ByteCursor::new(&head[4..])).unwrap_or(Err(FrameError::NoHead))
    }

    fn decode_fields(from: &mut ByteCursor<'_>) -> Option<Result<Self, FrameError>> {
        let kind = from.u8()?;
        from.take(3)?;
        let body_bytes = from.u32()?;
        let Some(kind) = FrameKind::of(kind) else {
            return Some(Err(FrameError::UnknownKind(kind)));
        };
        if body_bytes as usize > BODY_BYTES_MAX {
            return Some(Err(FrameError::TooLong(body_bytes)));
        }
        let body_crc = from.u32()?;
        let stream = StreamId { process: ProcessId(from.array()?), ring: from.u32()? };
        let count = from.u32()?;
        Some(Ok(Head {
            kind,
            body_bytes,
            body_crc,
            stream,
            count,
            first: from.u64()?,
            next: from.u64()?,
            left_out: from.u32()?,
        }))
    }

    /// Whether these bytes are this head's body.
    #[must_use]
    pub fn is_body(&self, body: &[u8]) -> bool {
        body.len() == self.body_bytes as usize && crc32c::crc32c(body) == self.body_crc
    }
}

/// Appends a frame; gives the head as it was written.
pub fn put(out: &mut Vec<u8>, head: Head, body: &[u8]) -> Head {
    let head = Head { body_bytes: body.len() as u32, body_crc: crc32c::crc32c(body), ..head };
    out.extend_from_slice(&head.encode());
    out.extend_from_slice(body);
    head
}

/// Completes a frame whose head's place and body are written already, from `start` on.
pub fn seal(out: &mut [u8], start: usize, head: Head) -> Head {
    let body = &out[start + HEAD_BYTES..];
    let head = Head { body_bytes: body.len() as u32, body_crc: crc32c::crc32c(body), ..head };
    out[start..start + HEAD_BYTES].copy_from_slice(&head.encode());
    head
}

/// The mark of a stream: everything before it is committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamMark {
    /// The stream.
    pub stream: StreamId,
    /// The sequence number that comes next.
    pub next: u64,
}

/// Bytes of a mark in a body.
pub const MARK_BYTES: usize = 32;

/// Appends a mark.
pub fn put_mark(out: &mut Vec<u8>, mark: StreamMark) {
    out.extend_from_slice(&mark.stream.process.0);
    out.extend_from_slice(&mark.stream.ring.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&mark.next.to_le_bytes());
}

/// The marks in a body.
pub fn marks(body: &[u8]) -> impl Iterator<Item = StreamMark> + '_ {
    body.chunks_exact(MARK_BYTES).filter_map(|entry| {
        let mut from = ByteCursor::new(entry);
        let stream = StreamId { process: ProcessId(from.array()?), ring: from.u32()? };
        from.u32()?;
        Some(StreamMark { stream, next: from.u64()? })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_comes_back_and_no_damaged_byte_is_taken() {
        let stream = StreamId { process: ProcessId([7; 16]), ring: 3 };
        let mut out = Vec::new();
        let head = Head::of(FrameKind::Records, stream, 1 << 40, (1 << 40) + 12, 9);
        let head = Head { left_out: 3, ..head };
        let head = put(&mut out, head, b"twelve records");
        assert_eq!(Head::decode(&out), Ok(head));
        assert!(head.is_body(&out[HEAD_BYTES..]));
        for at in 0..HEAD_BYTES {
            let mut damaged = out.clone();
            damaged[at] ^= 0x40;
            assert_eq!(Head::decode(&damaged), Err(FrameError::NoHead), "byte {at}");
        }
    }

    #[test]
    fn marks_come_back() {
        let stream = StreamId { process: ProcessId([1; 16]), ring: 9 };
        let mut body = Vec::new();
        put_mark(&mut body, StreamMark { stream, next: 77 });
        put_mark(&mut body, StreamMark { stream, next: u64::MAX });
        let all: Vec<u64> = marks(&body).map(|mark| mark.next).collect();
        assert_eq!(all, [77, u64::MAX]);
    }
}
