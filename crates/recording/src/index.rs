//! The index at the end of a closed recording: the offset and the times of each block.

/// Bytes of an entry.
pub(crate) const INDEX_ENTRY_BYTES: usize = 40;

/// A block in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    pub(crate) at: u64,
    pub(crate) first_sequence: u64,
    pub(crate) first_realtime_ns: i64,
    pub(crate) latest_realtime_ns: i64,
    pub(crate) samples: u32,
    pub(crate) number: u32,
}

/// Appends the body of the end block: the entries, and the number of samples that could not be
/// written after the last one.
pub(crate) fn encode_index(index: &[IndexEntry], unwritten: u64, out: &mut Vec<u8>) {
    for entry in index {
        out.extend_from_slice(&entry.at.to_le_bytes());
        out.extend_from_slice(&entry.first_sequence.to_le_bytes());
        out.extend_from_slice(&entry.first_realtime_ns.to_le_bytes());
        out.extend_from_slice(&entry.latest_realtime_ns.to_le_bytes());
        out.extend_from_slice(&entry.samples.to_le_bytes());
        out.extend_from_slice(&entry.number.to_le_bytes());
    }
    out.extend_from_slice(&unwritten.to_le_bytes());
}

/// A little-endian number of any length up to eight bytes.
pub(crate) fn u64_of(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

/// Parses an entry of [`INDEX_ENTRY_BYTES`] bytes.
pub(crate) fn index_entry(bytes: &[u8]) -> IndexEntry {
    IndexEntry {
        at: u64_of(&bytes[..8]),
        first_sequence: u64_of(&bytes[8..16]),
        first_realtime_ns: u64_of(&bytes[16..24]).cast_signed(),
        latest_realtime_ns: u64_of(&bytes[24..32]).cast_signed(),
        samples: u64_of(&bytes[32..36]) as u32,
        number: u64_of(&bytes[36..40]) as u32,
    }
}
