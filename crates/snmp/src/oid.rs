//! Object identifiers, kept as they are sent: `1.3.6.1` is the bytes `2b 06 01`.
//!
//! Encoding one is a copy, comparing two for equality a comparison of bytes.  A sub-identifier has
//! 32 bits and an object identifier at most 128 of them (RFC 2578 section 3.5).  Up to 22 bytes, which
//! nearly all have, are kept in place, so an object identifier costs 24 bytes and no allocation.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use thiserror::Error;

use crate::ber::{BerReader, DecodeCause, DecodeError};

/// Most sub-identifiers (RFC 2578 section 3.5).
pub const SUB_IDENTIFIERS_MAX: usize = 128;

/// Not an object identifier.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OidError {
    /// Nothing is there.
    #[error("empty object identifier")]
    Empty,
    /// A part is no number.
    #[error("`{0}` is no number of an object identifier")]
    NoNumber(String),
    /// More than 128 sub-identifiers.
    #[error("more than {SUB_IDENTIFIERS_MAX} sub-identifiers")]
    Long,
    /// X.660: the first number is 0, 1 or 2, and the second below 40 unless the first is 2.
    #[error("an object identifier cannot begin with {0}.{1}")]
    Begin(u32, u32),
}

/// An object identifier in bytes of somebody else, checked.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct OidRef<'a>(&'a [u8]);

/// An object identifier of its own.
#[derive(Clone)]
pub struct Oid(Bytes);

/// Bytes that are kept in place.
const INLINE_MAX: usize = 22;

#[derive(Clone)]
enum Bytes {
    /// So many bytes, at most 22.
    Inline(u8, [u8; INLINE_MAX]),
    Heap(Box<[u8]>),
}

impl Bytes {
    #[inline]
    fn of(bytes: &[u8]) -> Self {
        let mut inline = [0; INLINE_MAX];
        match inline.get_mut(..bytes.len()) {
            Some(place) => {
                place.copy_from_slice(bytes);
                // No more than 22.
                Bytes::Inline(bytes.len() as u8, inline)
            }
            None => Bytes::Heap(bytes.into()),
        }
    }

    #[inline]
    fn as_slice(&self) -> &[u8] {
        match self {
            Bytes::Inline(length, bytes) => bytes.get(..usize::from(*length)).unwrap_or(bytes),
            Bytes::Heap(bytes) => bytes,
        }
    }
}

impl Default for Oid {
    fn default() -> Self {
        Oid(Bytes::of(&[]))
    }
}

impl PartialEq for Oid {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Oid {}

impl Hash for Oid {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl<'a> OidRef<'a> {
    /// The whole content of an element as an object identifier.
    #[inline]
    pub(crate) fn of_content(content: &BerReader<'a>) -> Result<Self, DecodeError> {
        let bytes = content.rest();
        let mut count = 1;
        let mut length = 0;
        for (index, &byte) in bytes.iter().enumerate() {
            let wrong = if length == 0 && byte == 0x80 {
                Some(DecodeCause::OidPadded)
            } else if length == 4 && bytes[index - 4] > 0x8f || length > 4 {
                Some(DecodeCause::OidWide)
            } else {
                None
            };
            if let Some(cause) = wrong {
                return Err(DecodeError { at: content.at() + index, cause });
            }
            length += 1;
            if byte & 0x80 == 0 {
                count += 1;
                length = 0;
            }
        }
        if length != 0 {
            return Err(content.error(DecodeCause::OidCut));
        }
        if count > SUB_IDENTIFIERS_MAX {
            return Err(content.error(DecodeCause::OidLong));
        }
        Ok(Self(bytes))
    }

    /// The bytes as they are sent, without tag and length.
    #[must_use]
    pub fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// The numbers, one after the other.  Bytes of no length are read as 0.0, as net-snmp does.
    #[must_use]
    pub fn sub_identifiers(self) -> SubIdentifiers<'a> {
        if self.0.is_empty() {
            return SubIdentifiers { rest: &[0], is_begin: true, second: None };
        }
        SubIdentifiers { rest: self.0, is_begin: true, second: None }
    }

    /// What follows `prefix`, if this begins with it.
    #[must_use]
    pub fn after(self, prefix: OidRef<'_>) -> Option<SubIdentifiers<'a>> {
        let rest = self.0.strip_prefix(prefix.0)?;
        Some(SubIdentifiers { rest, is_begin: prefix.0.is_empty(), second: None })
    }

    /// Whether this is `prefix` or below it.
    #[must_use]
    pub fn is_below(self, prefix: OidRef<'_>) -> bool {
        self.0.starts_with(prefix.0)
    }

    /// A copy.
    #[must_use]
    pub fn to_oid(self) -> Oid {
        Oid(Bytes::of(self.0))
    }
}

/// By their numbers, from the first that differs: the order in which GETNEXT walks.
impl Ord for OidRef<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let (one, two) = (self.0, other.0);
        let shared = one.iter().zip(two).take_while(|(a, b)| a == b).count();
        // The bytes of a number begin after the last that has no first bit.
        let begin = one[..shared].iter().rposition(|byte| byte & 0x80 == 0).map_or(0, |at| at + 1);
        let number = |bytes: &[u8]| next_number(&mut &bytes[begin..]);
        number(one).cmp(&number(two))
    }
}

impl PartialOrd for OidRef<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Takes the next number from bytes that are checked.
#[inline]
fn next_number(rest: &mut &[u8]) -> Option<u32> {
    let mut number = 0_u32;
    while let [byte, after @ ..] = *rest {
        *rest = after;
        number = number << 7 | u32::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// The numbers of an object identifier.
#[derive(Clone, Debug)]
pub struct SubIdentifiers<'a> {
    rest: &'a [u8],
    /// The first bytes hold two numbers.
    is_begin: bool,
    second: Option<u32>,
}

impl Iterator for SubIdentifiers<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        if let Some(second) = self.second.take() {
            return Some(second);
        }
        let number = next_number(&mut self.rest)?;
        if !std::mem::take(&mut self.is_begin) {
            return Some(number);
        }
        let first = (number / 40).min(2);
        self.second = Some(number - 40 * first);
        Some(first)
    }
}

impl Oid {
    /// From its numbers.
    ///
    /// # Errors
    /// None or too many of them, or a beginning that no object identifier has.
    pub fn new(numbers: &[u32]) -> Result<Self, OidError> {
        if numbers.len() > SUB_IDENTIFIERS_MAX {
            return Err(OidError::Long);
        }
        let (first, second, rest) = match *numbers {
            [] => return Err(OidError::Empty),
            [first] => (first, 0, &[][..]),
            [first, second, ref rest @ ..] => (first, second, rest),
        };
        let begin = 40_u32.saturating_mul(first).checked_add(second);
        let begin = begin.filter(|_| first < 2 && second < 40 || first == 2);
        let begin = begin.ok_or(OidError::Begin(first, second))?;
        let mut bytes = Pushed::default();
        bytes.push_number(begin);
        rest.iter().for_each(|number| bytes.push_number(*number));
        Ok(Self(Bytes::of(bytes.as_slice())))
    }

    /// This one with numbers added at its end.
    ///
    /// # Errors
    /// If they become too many.
    pub fn child(&self, numbers: &[u32]) -> Result<Self, OidError> {
        let count = self.as_ref().sub_identifiers().count() + numbers.len();
        if count > SUB_IDENTIFIERS_MAX {
            return Err(OidError::Long);
        }
        let mut bytes = Pushed::default();
        self.as_bytes().iter().for_each(|byte| bytes.push(*byte));
        numbers.iter().for_each(|number| bytes.push_number(*number));
        Ok(Self(Bytes::of(bytes.as_slice())))
    }

    /// This one in bytes of somebody else.
    #[must_use]
    #[inline]
    pub fn as_ref(&self) -> OidRef<'_> {
        OidRef(self.0.as_slice())
    }

    /// The bytes as they are sent, without tag and length.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_slice()
    }

    /// Takes the numbers of another one.
    pub fn set(&mut self, other: OidRef<'_>) {
        self.0 = Bytes::of(other.0);
    }
}

/// Most bytes: each of 128 numbers has at most five.
const BYTES_MAX: usize = 5 * SUB_IDENTIFIERS_MAX;

/// The bytes of an object identifier that is being made.
struct Pushed {
    bytes: [u8; BYTES_MAX],
    length: usize,
}

impl Default for Pushed {
    fn default() -> Self {
        Pushed { bytes: [0; BYTES_MAX], length: 0 }
    }
}

impl Pushed {
    #[inline]
    fn push(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.length) {
            *place = byte;
            self.length += 1;
        }
    }

    #[inline]
    fn push_number(&mut self, number: u32) {
        for shift in [28, 21, 14, 7] {
            if number >> shift != 0 {
                self.push((number >> shift) as u8 & 0x7f | 0x80);
            }
        }
        self.push(number as u8 & 0x7f);
    }

    fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Numbers with dots between; a dot before the first is allowed.
impl FromStr for Oid {
    type Err = OidError;

    fn from_str(text: &str) -> Result<Self, OidError> {
        let text = text.strip_prefix('.').unwrap_or(text);
        if text.is_empty() {
            return Err(OidError::Empty);
        }
        let mut numbers = [0; SUB_IDENTIFIERS_MAX];
        let mut count = 0;
        for part in text.split('.') {
            let is_number = part.bytes().all(|byte| byte.is_ascii_digit());
            let number = part.parse().ok().filter(|_| is_number);
            let number = number.ok_or_else(|| OidError::NoNumber(part.to_owned()))?;
            *numbers.get_mut(count).ok_or(OidError::Long)? = number;
            count += 1;
        }
        Self::new(&numbers[..count])
    }
}

impl Ord for Oid {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_ref().cmp(&other.as_ref())
    }
}

impl PartialOrd for Oid {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl From<OidRef<'_>> for Oid {
    fn from(oid: OidRef<'_>) -> Self {
        oid.to_oid()
    }
}

impl fmt::Display for OidRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, number) in self.sub_identifiers().enumerate() {
            write!(f, "{}{number}", if index == 0 { "" } else { "." })?;
        }
        Ok(())
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}

impl fmt::Debug for OidRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oid(text: &str) -> Oid {
        text.parse().unwrap()
    }

    #[test]
    fn texts_bytes_and_numbers_are_the_same_thing() {
        for text in ["0.0", "1.3.6.1.2.1.2.2.1.10.4294967295", "2.999.3", "2.4294967215", "1.39"] {
            let one = oid(text);
            assert_eq!(one.to_string(), text);
            let numbers: Vec<u32> = one.as_ref().sub_identifiers().collect();
            assert_eq!(Oid::new(&numbers).unwrap(), one);
            let read = OidRef::of_content(&BerReader::new(one.as_bytes(), 0)).unwrap();
            assert_eq!(read.to_oid(), one);
        }
        assert_eq!(oid(".1.3.6.1").as_bytes(), [0x2b, 6, 1]);
        assert_eq!(oid("1.3.128.16384").as_bytes(), [0x2b, 0x81, 0, 0x81, 0x80, 0]);
        assert_eq!(oid("1").to_string(), "1.0");
        assert_eq!(Oid::default().to_string(), "0.0");
    }

    #[test]
    fn what_is_none_is_refused() {
        assert_eq!("".parse::<Oid>(), Err(OidError::Empty));
        assert_eq!(".".parse::<Oid>(), Err(OidError::Empty));
        for text in ["1..3", "1.3.", "1.x", "1.+3", "1.4294967296", "1.-3", "..1"] {
            assert!(matches!(text.parse::<Oid>(), Err(OidError::NoNumber(_))), "{text}");
        }
        for text in ["3.1", "1.40", "0.40", "2.4294967216"] {
            assert!(matches!(text.parse::<Oid>(), Err(OidError::Begin(..))), "{text}");
        }
        let long = "1.3".to_owned() + &".1".repeat(126);
        assert_eq!(oid(&long).as_ref().sub_identifiers().count(), 128);
        assert_eq!((long.clone() + ".1").parse::<Oid>(), Err(OidError::Long));
        assert_eq!(oid(&long).child(&[1]), Err(OidError::Long));
        let read = |bytes: &[u8]| OidRef::of_content(&BerReader::new(bytes, 0)).map(OidRef::to_oid);
        assert_eq!(read(&[0x2b, 0x80, 1]).unwrap_err().cause, DecodeCause::OidPadded);
        assert_eq!(read(&[0x2b, 0x81]).unwrap_err().cause, DecodeCause::OidCut);
        let most = [0x2b, 0x8f, 0xff, 0xff, 0xff, 0x7f];
        assert_eq!(read(&most).unwrap().to_string(), "1.3.4294967295");
        let above = [0x2b, 0x90, 0x80, 0x80, 0x80, 0];
        assert_eq!(read(&above).unwrap_err().cause, DecodeCause::OidWide);
        let wide = [0x2b, 0x81, 0x80, 0x80, 0x80, 0x80, 0];
        assert_eq!(read(&wide).unwrap_err().cause, DecodeCause::OidWide);
        assert_eq!(read(&[1; 128]).unwrap_err().cause, DecodeCause::OidLong);
        assert!(read(&[1; 127]).is_ok());
        assert_eq!(read(&[]).unwrap().to_string(), "0.0");
    }

    #[test]
    fn the_order_is_that_of_the_numbers() {
        let mut sorted: Vec<Oid> = ["1.3", "1.3.1", "1.3.127", "1.3.128", "1.3.128.1", "1.3.255"]
            .iter()
            .chain(&["1.3.256", "1.3.16383", "1.3.16384", "1.3.4294967295", "1.4", "2.5"])
            .map(|text| oid(text))
            .collect();
        let numbers = |oid: &Oid| oid.as_ref().sub_identifiers().collect::<Vec<_>>();
        for one in &sorted {
            for two in &sorted {
                assert_eq!(one.cmp(two), numbers(one).cmp(&numbers(two)), "{one} {two}");
            }
        }
        let before = sorted.clone();
        sorted.reverse();
        sorted.sort();
        assert_eq!(sorted, before);
    }

    #[test]
    fn below_a_column_is_an_index() {
        let column = oid("1.3.6.1.2.1.2.2.1.10");
        let cell = column.child(&[300, 7]).unwrap();
        assert!(cell.as_ref().is_below(column.as_ref()));
        let index: Vec<u32> = cell.as_ref().after(column.as_ref()).unwrap().collect();
        assert_eq!(index, [300, 7]);
        assert!(column.as_ref().after(cell.as_ref()).is_none());
        // 1.3.129 does not begin with 1.3.1, and no bytes of a number are taken for one.
        assert!(!oid("1.3.129").as_ref().is_below(oid("1.3.1").as_ref()));
    }
}
