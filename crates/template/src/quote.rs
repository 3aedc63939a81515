//! Quoting: values written so that a shell reads each as one word.
//!
//! The rule for Bourne shells is that of GNU parallel, byte for byte, as its `--dry-run` and joblog
//! show: a value of harmless bytes is unchanged, an empty one becomes `''`, any other is put in
//! single quotes, with each `'` in double quotes: `it's` is `'it'"'"'s'`.
//!
//! One pass over the value, written directly into the caller's buffer.

/// The dialect of a shell, which decides how values are quoted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shell {
    /// sh, dash, bash, ksh, zsh and everything not named below.
    #[default]
    Bourne,
    /// csh and tcsh.
    Csh,
    /// fish.
    Fish,
    /// rc, Plan 9's.
    Rc,
}

impl Shell {
    /// The dialect of the shell with this name or path: `/usr/bin/fish`, `-tcsh`.
    pub fn of_program(path: &[u8]) -> Self {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        match name.strip_prefix(b"-").unwrap_or(name) {
            b"csh" | b"tcsh" => Shell::Csh,
            b"fish" => Shell::Fish,
            b"rc" => Shell::Rc,
            _ => Shell::Bourne,
        }
    }
}

/// Appends `value` to `out` so that `shell` reads it as one word with the same bytes.
pub fn quote(shell: Shell, value: &[u8], out: &mut Vec<u8>) {
    match shell {
        Shell::Bourne => bourne(value, out),
        Shell::Csh => csh(value, out),
        Shell::Fish => fish(value, out),
        Shell::Rc => rc(value, out),
    }
}

/// Whether a shell reads this byte literally, anywhere in a word.
pub(crate) fn is_harmless(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'+' | b'/')
}

fn bourne(value: &[u8], out: &mut Vec<u8>) {
    if value.is_empty() {
        out.extend_from_slice(b"''");
        return;
    }
    if value.iter().all(|byte| is_harmless(*byte)) {
        out.extend_from_slice(value);
        return;
    }
    // Each `'` closes and reopens the quotes; at the ends there is nothing to close or to reopen.
    let last = value.len() - 1;
    if value[0] != b'\'' {
        out.push(b'\'');
    }
    let mut done = 0;
    for place in memchr::memchr_iter(b'\'', value) {
        out.extend_from_slice(&value[done..place]);
        let (before, after) =
            (if place > 0 { "'" } else { "" }, if place < last { "'" } else { "" });
        out.extend_from_slice(before.as_bytes());
        out.extend_from_slice(b"\"'\"");
        out.extend_from_slice(after.as_bytes());
        done = place + 1;
    }
    out.extend_from_slice(&value[done..]);
    if value[last] != b'\'' {
        out.push(b'\'');
    }
}

/// Whether csh and rc read this byte literally.
fn is_harmless_to_others(byte: u8) -> bool {
    is_harmless(byte) || matches!(byte, 1 | 0x1b..=0x1f | b'%' | b',' | b':' | b'@' | 0x7f..=0x81)
}

/// In csh a backslash escapes every byte; a newline needs quotes as well.
fn csh(value: &[u8], out: &mut Vec<u8>) {
    if value.is_empty() {
        out.extend_from_slice(b"''");
    }
    for byte in value {
        match byte {
            b'\n' => out.extend_from_slice(b"\"\\\n\""),
            byte if is_harmless_to_others(*byte) => out.push(*byte),
            byte => out.extend([b'\\', *byte]),
        }
    }
}

/// In fish only `'` and `\` are special in single quotes, and a backslash escapes them.  A value
/// without a backslash is written as for a Bourne shell, which fish reads in the same way.
fn fish(value: &[u8], out: &mut Vec<u8>) {
    if !value.contains(&b'\\') {
        bourne(value, out);
        return;
    }
    out.push(b'\'');
    for byte in value {
        if matches!(byte, b'\'' | b'\\') {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    out.push(b'\'');
}

/// In rc only `'` is special in single quotes, and is doubled.
fn rc(value: &[u8], out: &mut Vec<u8>) {
    if value.is_empty() {
        out.extend_from_slice(b"''");
    }
    let mut is_open = false;
    for byte in value {
        if is_open == is_harmless_to_others(*byte) {
            out.push(b'\'');
            is_open = !is_open;
        }
        if *byte == b'\'' {
            out.push(b'\'');
        }
        out.push(*byte);
    }
    if is_open {
        out.push(b'\'');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quoted(shell: Shell, value: &str) -> String {
        let mut out = Vec::new();
        quote(shell, value.as_bytes(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn bourne_shells() {
        for (value, expected) in [
            ("", "''"),
            ("a-b_c.d+e/f", "a-b_c.d+e/f"),
            ("a b", "'a b'"),
            ("it's", "'it'\"'\"'s'"),
            ("'", "\"'\""),
            ("''", "\"'\"''\"'\""),
            ("'a", "\"'\"'a'"),
            ("a'", "'a'\"'\""),
        ] {
            assert_eq!(quoted(Shell::Bourne, value), expected, "{value}");
        }
    }

    #[test]
    fn others() {
        assert_eq!(quoted(Shell::Csh, "a b\nc!"), "a\\ b\"\\\n\"c\\!");
        assert_eq!(quoted(Shell::Rc, "a'b c"), "a''''b' 'c");
        assert_eq!(quoted(Shell::Rc, "\"'x"), "'\"'''x");
        assert_eq!(quoted(Shell::Fish, "it's"), "'it'\"'\"'s'");
        assert_eq!(quoted(Shell::Fish, "a\\'b\\"), r"'a\\\'b\\'");
    }

    #[test]
    fn shells_by_name() {
        assert_eq!(Shell::of_program(b"/usr/bin/fish"), Shell::Fish);
        assert_eq!(Shell::of_program(b"-tcsh"), Shell::Csh);
        assert_eq!(Shell::of_program(b"rc"), Shell::Rc);
        assert_eq!(Shell::of_program(b"/bin/zsh"), Shell::Bourne);
    }
}
