//! Text that is safe and text that fits: escapes for hostile names, and collectl's scaling.

/// Appends `bytes` so that no terminal acts on them: printable UTF-8 as it is; control characters,
/// bytes that are no UTF-8, and the backslash as `\xNN` (the backslash as `\\`).
pub fn escape_into(out: &mut Vec<u8>, bytes: &[u8]) {
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' => out.extend_from_slice(b"\\\\"),
                c if c.is_control() => {
                    let mut utf8 = [0; 4];
                    for byte in c.encode_utf8(&mut utf8).bytes() {
                        push_hex(out, byte);
                    }
                }
                c => {
                    let mut utf8 = [0; 4];
                    out.extend_from_slice(c.encode_utf8(&mut utf8).as_bytes());
                }
            }
        }
        for &byte in chunk.invalid() {
            push_hex(out, byte);
        }
    }
}

fn push_hex(out: &mut Vec<u8>, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.extend_from_slice(&[
        b'\\',
        b'x',
        DIGITS[usize::from(byte >> 4)],
        DIGITS[usize::from(byte & 15)],
    ]);
}

/// `bytes` as [`escape_into`] writes them.
pub fn escape(bytes: &[u8]) -> String {
    let mut out = Vec::with_capacity(bytes.len());
    escape_into(&mut out, bytes);
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_what_a_terminal_would_act_on() {
        assert_eq!(escape(b"vda"), "vda");
        assert_eq!(escape("größe".as_bytes()), "größe");
        assert_eq!(escape(b"a\x1b[2Jb\n\\\xff"), "a\\x1b[2Jb\\x0a\\\\\\xff");
    }
}
