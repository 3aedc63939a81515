//! Bytes as text of few letters: hexadecimal digits, and the percent encoding of addresses.

use std::fmt;

/// Bytes that are shown as lower-case hexadecimal digits, two a byte.
#[derive(Clone, Copy, Debug)]
pub struct Hex<'a> {
    bytes: &'a [u8],
    between: &'a str,
}

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut between = "";
        for byte in self.bytes {
            write!(f, "{between}{byte:02x}")?;
            between = self.between;
        }
        Ok(())
    }
}

/// Shows bytes as hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> Hex<'_> {
    Hex { bytes, between: "" }
}

/// Shows bytes as hexadecimal digits with a text between each two, as `00-1b-2c` is an Ethernet address.
#[must_use]
pub fn hex_with<'a>(bytes: &'a [u8], between: &'a str) -> Hex<'a> {
    Hex { bytes, between }
}

/// The bytes whose hexadecimal digits a text is, in upper or lower case; none if it has something
/// else, or half a byte.
#[must_use]
pub fn hex_bytes(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|&[high, low]| Some(digit(high)? << 4 | digit(low)?)).collect()
}

/// Adds a text as it stands in the query of an address, or in a form: all but the unreserved
/// characters of RFC 3986 (section 2.3) become `%NN`.
pub fn push_percent_encoded(out: &mut String, text: &str) {
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            _ => push_percent(out, byte),
        }
    }
}

/// Adds a byte as `%NN` (RFC 3986, section 2.1).
pub fn push_percent(out: &mut String, byte: u8) {
    use fmt::Write as _;
    // Writing to a string cannot fail.
    let _ = write!(out, "%{byte:02X}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_come_back() {
        let bytes = [0, 9, 0x1b, 0xff];
        assert_eq!(hex(&bytes).to_string(), "00091bff");
        assert_eq!(hex_with(&bytes, "-").to_string(), "00-09-1b-ff");
        assert_eq!(hex(&[]).to_string(), "");
        assert_eq!(hex_bytes("00091BfF").as_deref(), Some(bytes.as_slice()));
        assert_eq!(hex_bytes(""), Some(Vec::new()));
        for wrong in ["0", "0g", "+1", "ü", "0x00"] {
            assert_eq!(hex_bytes(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_addresses_reserve_is_encoded() {
        let mut out = String::new();
        push_percent_encoded(&mut out, "a b/ü~-._?&=%");
        assert_eq!(out, "a%20b%2F%C3%BC~-._%3F%26%3D%25");
    }
}
