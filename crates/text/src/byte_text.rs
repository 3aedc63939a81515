//! Text in an unknown encoding as a `String`: what is UTF-8 is as it is, and every other byte is a
//! character of its own ([`FIRST`] and up), so that the text is searched and cut as any other and its
//! bytes come back.
//!
//! The characters are the last 128 of Unicode's private ones, which no text is known to have; where
//! one has them, their bytes are taken apart too.

use std::borrow::Cow;

/// The character of the byte 0x80; those of the others follow.
const FIRST: u32 = 0x0010_ff80;
/// The first byte of such a character in UTF-8.
const LEAD: u8 = 0xf4;

/// The byte that a character stands for.
#[must_use]
pub fn byte_of(c: char) -> Option<u8> {
    let place = u32::from(c).checked_sub(FIRST)?;
    u8::try_from(place).ok().map(|place| place | 0x80)
}

fn push(out: &mut String, byte: u8) {
    out.extend(char::from_u32(FIRST + u32::from(byte & 0x7f)));
}

/// Bytes as text.
#[must_use]
pub fn decode(bytes: Vec<u8>) -> String {
    let bytes = match String::from_utf8(bytes) {
        Ok(text) if !has_bytes(&text) => return text,
        Ok(text) => text.into_bytes(),
        Err(error) => error.into_bytes(),
    };
    let mut out = String::with_capacity(bytes.len() + bytes.len() / 8);
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match byte_of(c) {
                None => out.push(c),
                Some(_) => c.encode_utf8(&mut [0; 4]).bytes().for_each(|b| push(&mut out, b)),
            }
        }
        chunk.invalid().iter().for_each(|&byte| push(&mut out, byte));
    }
    out
}

/// Whether a text has characters that stand for bytes.
#[must_use]
pub fn has_bytes(text: &str) -> bool {
    text.as_bytes().contains(&LEAD) && text.chars().any(|c| byte_of(c).is_some())
}

/// The bytes of a text that [`decode`] has made, or any other.
#[must_use]
pub fn encode(text: &str) -> Cow<'_, [u8]> {
    if !has_bytes(text) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut out = Vec::with_capacity(text.len());
    for c in text.chars() {
        match byte_of(c) {
            Some(byte) => out.push(byte),
            None => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Cow::Owned(out)
}

/// The text for readers of UTF-8: bytes that are not UTF-8 are taken for ISO 8859-1, in which most
/// such texts are.
#[must_use]
pub fn shown(text: &str) -> Cow<'_, str> {
    if !has_bytes(text) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|c| byte_of(c).map_or(c, char::from)).collect())
}

/// The text with `%NN` for its bytes, for an address that leads to a file of that name.
#[must_use]
pub fn percent_encoded(text: &str) -> Cow<'_, str> {
    if !has_bytes(text) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match byte_of(c) {
            Some(byte) => crate::encoding::push_percent(&mut out, byte),
            None => out.push(c),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back() {
        let all: Vec<u8> = (0..=255).chain(*b"a\xc3\xa9\xf4\x8f\xbf\xa9\xf4\x8f\xbf").collect();
        for begin in 0..all.len() {
            let bytes = all[begin..].to_vec();
            assert_eq!(*encode(&decode(bytes.clone())), bytes);
        }
        assert_eq!(decode("é".into()), "é");
        assert_eq!(shown(&decode(b"\xe9 \xc3\xa9".to_vec())), "é é");
        assert_eq!(byte_of('\u{10ffff}'), Some(0xff));
        assert_eq!(byte_of('\u{10ff7f}'), None);
    }
}
