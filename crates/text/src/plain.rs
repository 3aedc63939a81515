//! Text that needs no escapes, which is nearly all: sixteen bytes are compared at once, then all of
//! it is copied.

/// Bytes that are looked at together.
const WIDTH: usize = 16;

/// Whether a text has none of the bytes that `is_special` names; `a` is none of them.
#[inline]
#[must_use]
pub fn is_plain(text: &[u8], is_special: impl Fn(u8) -> bool) -> bool {
    // Without an early end, so that the compiler takes all of them at once.
    let has = |piece: &[u8; WIDTH]| piece.iter().fold(false, |any, byte| any | is_special(*byte));
    let Some(last) = text.last_chunk() else {
        let mut piece = [b'a'; WIDTH];
        piece[..text.len()].copy_from_slice(text);
        return !has(&piece);
    };
    // The last piece may overlap the one before.
    !text.as_chunks().0.iter().fold(has(last), |any, piece| any | has(piece))
}

/// Control characters, and all bytes that are no ASCII.
#[inline]
#[must_use]
pub fn is_beyond_ascii(byte: u8) -> bool {
    // 0x20 to 0x7e.
    byte.wrapping_sub(0x20) > 0x5e
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_of_each_length_counts() {
        for length in 0..70 {
            let mut text = vec![b'x'; length];
            assert!(is_plain(&text, is_beyond_ascii), "{length}");
            for at in 0..length {
                for byte in [0, 0x1f, 0x7f, 0x80, 0xff] {
                    text[at] = byte;
                    assert!(!is_plain(&text, is_beyond_ascii), "{length} {at} {byte}");
                }
                for byte in [b' ', b'~'] {
                    text[at] = byte;
                    assert!(is_plain(&text, is_beyond_ascii), "{length} {at} {byte}");
                }
            }
        }
    }
}
