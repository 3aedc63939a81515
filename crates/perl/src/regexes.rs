//! Translates Perl's patterns to those of crate regex: bytes instead of characters, and a few
//! syntax differences.
//!
//! Look-around and back-references are rejected: without them the time of a match is proportional
//! to the value, whatever the pattern.

use regex::bytes::{Regex, RegexBuilder};

/// Most memory of a compiled pattern in bytes: enough for `\w{1000}`.
const REGEX_BYTES_MAX: usize = 1 << 20;

/// Compiles a pattern of Perl; the flags are some of `i`, `m`, `s`, `x`.
///
/// # Errors
/// If the pattern is invalid, too large, or uses look-around or back-references.
pub fn compile(pattern: &[u8], flags: &str) -> Result<Regex, String> {
    let mut text = format!("(?{flags}-u)");
    let mut bytes = pattern.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => match bytes.next() {
                Some(b'Z') => text.push_str("\n?\\z"),
                Some(b'h') => text.push_str("[ \\t]"),
                Some(escaped @ (b'<' | b'>')) => text.push(char::from(escaped)),
                Some(escaped) if escaped.is_ascii() => text.extend(['\\', char::from(escaped)]),
                Some(other) => push_byte(other, &mut text),
                None => text.push('\\'),
            },
            byte if byte.is_ascii() => text.push(char::from(byte)),
            byte => push_byte(byte, &mut text),
        }
    }
    let shown = String::from_utf8_lossy(pattern);
    RegexBuilder::new(&text).size_limit(REGEX_BYTES_MAX).build().map_err(|error| {
        // The last line has the reason, those before show the rewritten pattern.
        let error = error.to_string();
        let why = error.lines().last().unwrap_or("").trim().trim_start_matches("error: ");
        format!("the pattern \"{shown}\" is invalid: {why}")
    })
}

fn push_byte(byte: u8, text: &mut String) {
    text.push_str(&format!("\\x{byte:02x}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_not_letters() {
        let regex = compile("^é.$".as_bytes(), "").unwrap();
        assert!(regex.is_match("éa".as_bytes()));
        assert!(regex.is_match(b"\xc3\xa9\xff"));
        assert!(!regex.is_match("éé".as_bytes()));
    }

    #[test]
    fn what_is_not_offered_says_so() {
        let error = compile(b"(?=x)", "").unwrap_err();
        assert!(error.contains("look-around"), "{error}");
        let error = compile(br"(a)\1", "").unwrap_err();
        assert!(error.contains("backreferences"), "{error}");
        assert!(compile(b"(", "").is_err());
        assert!(compile(b"((a{100}){100}){100}", "").is_err(), "too large");
    }
}
