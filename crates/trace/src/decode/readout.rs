//! Bytes read from the memory of a task.

/// Bytes that were read: a few need no allocation.
pub(crate) struct Readout {
    pub(super) small: [u8; Self::SMALL],
    pub(super) length: usize,
    /// All of them, if there are more than [`Readout::SMALL`].
    pub(super) large: Vec<u8>,
}

impl Readout {
    /// Most bytes that need no allocation.
    pub(crate) const SMALL: usize = 256;
}

impl Default for Readout {
    fn default() -> Self {
        Readout { small: [0; Self::SMALL], length: 0, large: Vec::new() }
    }
}

impl std::ops::Deref for Readout {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        if self.large.is_empty() { &self.small[..self.length] } else { &self.large }
    }
}

/// The bytes of a structure, with functions that read its fields by offset.
pub(crate) struct StructBytes<const N: usize>(pub(crate) [u8; N]);

impl<const N: usize> StructBytes<N> {
    fn piece<const M: usize>(&self, at: usize) -> [u8; M] {
        let mut piece = [0; M];
        piece.copy_from_slice(&self.0[at..at + M]);
        piece
    }

    pub(crate) fn u16(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.piece(at))
    }

    pub(crate) fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.piece(at))
    }

    pub(crate) fn i32(&self, at: usize) -> i32 {
        i32::from_le_bytes(self.piece(at))
    }

    pub(crate) fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.piece(at))
    }

    pub(crate) fn i64(&self, at: usize) -> i64 {
        i64::from_le_bytes(self.piece(at))
    }
}
