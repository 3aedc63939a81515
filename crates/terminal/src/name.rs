//! Names of others, which may contain any bytes.

/// Appends a name, escaped so that terminals do not interpret it; with `ascii` other characters
/// become `?`.
pub fn name(out: &mut String, bytes: &[u8], scratch: &mut Vec<u8>, ascii: bool) {
    // The common case: plain ASCII.
    let plain = |&byte: &u8| (0x20..0x7f).contains(&byte) && byte != b'\\';
    if bytes.iter().all(plain) {
        return out.push_str(std::str::from_utf8(bytes).unwrap_or_default());
    }
    scratch.clear();
    text::escape::escape_into(scratch, bytes);
    let text = std::str::from_utf8(scratch).unwrap_or_default();
    for c in text.chars() {
        match c {
            c if ascii && !c.is_ascii() => out.push('?'),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_are_told_and_not_obeyed() {
        let mut scratch = Vec::new();
        let mut shown = |bytes: &[u8], ascii| text_of(bytes, &mut scratch, ascii);
        assert_eq!(shown(b"ev) R 1 x", false), "ev) R 1 x");
        assert_eq!(shown(b"a\nb\x1b[2J\xff\\", false), "a\\x0ab\\x1b[2J\\xff\\\\");
        assert_eq!(shown("größe".as_bytes(), false), "größe");
        assert_eq!(shown("größe".as_bytes(), true), "gr??e");
        assert_eq!(shown("\u{202e}cod.exe".as_bytes(), false), "\\xe2\\x80\\xaecod.exe");
    }

    fn text_of(bytes: &[u8], scratch: &mut Vec<u8>, ascii: bool) -> String {
        let mut out = String::new();
        name(&mut out, bytes, scratch, ascii);
        out
    }
}
