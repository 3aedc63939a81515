//! Little-endian numbers in bytes that may be hostile: whoever reads past the end gets `None`.

/// What is left to read of some bytes.
#[derive(Debug, Clone, Copy)]
pub struct ByteCursor<'a> {
    rest: &'a [u8],
}

impl<'a> ByteCursor<'a> {
    /// Begins at the first of the bytes.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        ByteCursor { rest: bytes }
    }

    /// The next bytes, if there are so many.
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    /// The next bytes as an array, if there are so many.
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    /// The next byte.
    pub fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// The next number of two bytes.
    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    /// The next number of four bytes.
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// The next number of eight bytes.
    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Bytes after their length of two bytes.
    pub fn short_bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.u16()?;
        self.take(usize::from(length))
    }

    /// Text after its length of two bytes; what is not UTF-8 is replaced.
    pub fn short_text(&mut self) -> Option<String> {
        self.short_bytes().map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    /// All bytes that are left.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Whether all bytes are read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }
}

/// Appends bytes after their length of two bytes; what is longer is cut.
pub fn put_short(out: &mut Vec<u8>, bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(usize::from(u16::MAX))];
    out.extend_from_slice(&(bytes.len() as u16).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// The number of four bytes at an offset; 0 past the end.
#[must_use]
pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).map_or(0, u32::from_le_bytes)
}

/// The number of eight bytes at an offset; 0 past the end.
#[must_use]
pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|eight| eight.try_into().ok()).map_or(0, u64::from_le_bytes)
}
