//! The words of a record, as docs/format-log-ring.md defines them: as much as carrying needs.

use logring::abi::{FLAG_CUT, FLAG_LOCAL};

use crate::bytes::u64_at;

/// Bytes before the arguments: two words, call site and context.
pub const RECORD_HEAD: usize = 24;

/// Most numbers of a stream that are possible: at ten nanoseconds a record a writer needs nearly three
/// years for them, and readers of JSON hold them exactly.  What claims more is damaged or made up.
pub const SEQUENCES_MAX: u64 = 1 << 53;

/// The first words of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordHead {
    /// Bytes of the whole record, a multiple of 8.
    pub bytes: usize,
    /// What it is, as `logring::abi::kind` says.
    pub kind: u8,
    /// 0 to 15.
    pub level: u8,
    /// It was made for local outputs alone.
    pub is_local: bool,
    /// The writer has cut a text of it.
    pub is_cut: bool,
    /// The low 32 bits.
    pub sequence: u32,
    /// When it was made.
    pub stamp: u64,
    /// The number of its call site.
    pub site: u32,
    /// The number of its context.
    pub context: u32,
}

impl RecordHead {
    /// The record that begins at an offset; `None` if it is cut or its size is impossible.
    #[inline]
    pub fn at(bytes: &[u8], at: usize) -> Option<Self> {
        let head: &[u8; RECORD_HEAD] = bytes.get(at..)?.first_chunk()?;
        let word0 = u64_at(head, 0);
        let size = (word0 & 0xFFFF) as usize * 8;
        if size < RECORD_HEAD || bytes.len() - at < size {
            return None;
        }
        Some(RecordHead {
            bytes: size,
            kind: (word0 >> 16) as u8,
            level: (word0 >> 24) as u8 & 0x0F,
            is_local: (word0 >> 24) as u8 & FLAG_LOCAL != 0,
            is_cut: (word0 >> 24) as u8 & FLAG_CUT != 0,
            sequence: (word0 >> 32) as u32,
            stamp: u64_at(head, 8),
            site: u64_at(head, 16) as u32,
            context: (u64_at(head, 16) >> 32) as u32,
        })
    }
}

/// Appends a record as it was before it was read.
pub fn put(out: &mut Vec<u8>, record: &logring::RingRecord<'_>) {
    let word0 = logring::abi::word0(record.length_bytes(), record.kind, record.flags);
    out.extend_from_slice(&(word0 | record.sequence << 32).to_le_bytes());
    out.extend_from_slice(&record.stamp.to_le_bytes());
    out.extend_from_slice(&record.site.to_le_bytes());
    out.extend_from_slice(&record.context.to_le_bytes());
    out.extend_from_slice(record.payload);
}

/// What checking the records of a frame found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sound {
    /// Bytes of records before the sequence number that was asked for.
    pub skip_bytes: usize,
    /// How many these are.
    pub skip_count: u32,
}

/// Checks that a body is `count` whole records with rising sequence numbers in `first..next`, and
/// finds the first that is not below `mark`.
pub fn check(body: &[u8], count: u32, first: u64, next: u64, mark: u64) -> Option<Sound> {
    let mut at = 0;
    let mut expected = first;
    let mut sound = Sound { skip_bytes: 0, skip_count: 0 };
    for _ in 0..count {
        let head = RecordHead::at(body, at)?;
        let sequence = extended(expected, head.sequence)?;
        at += head.bytes;
        if sequence < mark {
            sound = Sound { skip_bytes: at, skip_count: sound.skip_count + 1 };
        }
        expected = sequence.checked_add(1)?;
    }
    (at == body.len() && expected <= next).then_some(sound)
}

/// The sequence number with these low bits that is the first at or after the expected one.
#[inline]
pub fn extended(expected: u64, low: u32) -> Option<u64> {
    let ahead = low.wrapping_sub(expected as u32);
    if ahead > u32::MAX / 2 {
        return None;
    }
    expected.checked_add(u64::from(ahead))
}
