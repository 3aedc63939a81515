//! Numbers and texts out of bytes that may be anything.

/// The u16 at an offset; 0 beyond the end.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |b| u16::from_le_bytes([b[0], b[1]]))
}

/// The u32 at an offset; 0 beyond the end.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}

/// The u64 at an offset; 0 beyond the end.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let whole = bytes.get(at..at + 8).and_then(|b| b.try_into().ok());
    whole.map_or(0, u64::from_le_bytes)
}

/// The 16 bytes at an offset; zeros beyond the end.
pub(crate) fn id_at(bytes: &[u8], at: usize) -> [u8; 16] {
    bytes.get(at..at + 16).and_then(|b| b.try_into().ok()).unwrap_or_default()
}

/// The text of a field that is padded with NUL.
pub(crate) fn text_at(bytes: &[u8], at: usize, length: usize) -> String {
    let field = bytes.get(at..at + length).unwrap_or_default();
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).into_owned()
}
