//! The head of a segment of logs: 64 bytes with a checksum.
//!
//! Magic number (8 bytes), version (4), four of zero, number of the segment (8), time of its making (8),
//! random number of the folder (16), twelve of zero, CRC-32C of all that (4); numbers are little-endian.

/// Bytes of a head.
pub const HEAD_BYTES: usize = 64;

/// Where the checksum stands.
const CRC_AT: usize = 60;

/// The head of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentHead {
    /// The number of the segment.
    pub number: u64,
    /// When it was made, in ns since 1970; 0: unknown.
    pub created_ns: u64,
    /// The random number of the folder.
    pub folder: [u8; 16],
}

/// Why bytes are no head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadError {
    /// They are cut or damaged, or another file begins so.
    Unsound,
    /// This version of the format wrote them.
    Version(u32),
}

impl SegmentHead {
    /// The bytes of a head.
    #[must_use]
    pub fn encode(&self, magic: [u8; 8], version: u32) -> [u8; HEAD_BYTES] {
        let mut head = [0; HEAD_BYTES];
        head[..8].copy_from_slice(&magic);
        head[8..12].copy_from_slice(&version.to_le_bytes());
        head[16..24].copy_from_slice(&self.number.to_le_bytes());
        head[24..32].copy_from_slice(&self.created_ns.to_le_bytes());
        head[32..48].copy_from_slice(&self.folder);
        let crc = crc32c::crc32c(&head[..CRC_AT]);
        head[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
        head
    }

    /// Reads the head that bytes begin with.
    ///
    /// # Errors
    /// If they begin with none, or with one of another version.
    pub fn decode(bytes: &[u8], magic: [u8; 8], version: u32) -> Result<Self, HeadError> {
        let head: &[u8; HEAD_BYTES] = bytes.first_chunk().ok_or(HeadError::Unsound)?;
        let crc = crc32c::crc32c(&head[..CRC_AT]).to_le_bytes();
        if head[..8] != magic || head[CRC_AT..] != crc {
            return Err(HeadError::Unsound);
        }
        let word = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().unwrap_or_default());
        match word(8) as u32 {
            own if own == version => Ok(Self {
                number: word(16),
                created_ns: word(24),
                folder: head[32..48].try_into().unwrap_or_default(),
            }),
            other => Err(HeadError::Version(other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_whole_or_not_at_all() {
        let (magic, head) =
            (*b"whitlogS", SegmentHead { number: 7, created_ns: 8, folder: [9; 16] });
        let bytes = head.encode(magic, 1);
        assert_eq!(SegmentHead::decode(&bytes, magic, 1), Ok(head));
        assert_eq!(SegmentHead::decode(&bytes, magic, 2), Err(HeadError::Version(1)));
        assert_eq!(SegmentHead::decode(&bytes, *b"whitlogF", 1), Err(HeadError::Unsound));
        for at in 0..HEAD_BYTES {
            let mut damaged = bytes;
            damaged[at] ^= 1;
            assert_eq!(SegmentHead::decode(&damaged, magic, 1), Err(HeadError::Unsound), "{at}");
            assert_eq!(SegmentHead::decode(&bytes[..at], magic, 1), Err(HeadError::Unsound));
        }
    }
}
