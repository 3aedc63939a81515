//! The encoding: X.690's basic encoding rules, as far as RFC 3417 section 8 uses them.
//!
//! Tags are one byte, lengths are definite, and nothing nests deeper than the fixed frame of a
//! message: no recursion, no allocation.  Lengths that are longer than they need be are read, as
//! net-snmp writes them.  An encoder writes from the end of its buffer to the beginning, so that
//! every length is known when it is written and takes its fewest bytes.

use thiserror::Error;

/// Longest message: what a datagram of UDP can hold.
pub const MESSAGE_BYTES_MAX: usize = 65_535;

/// Tags of X.690 and of RFC 2578 that are used in more than one place.
pub(crate) mod tag {
    pub(crate) const INTEGER: u8 = 0x02;
    pub(crate) const OCTET_STRING: u8 = 0x04;
    pub(crate) const NULL: u8 = 0x05;
    pub(crate) const OBJECT_IDENTIFIER: u8 = 0x06;
    pub(crate) const SEQUENCE: u8 = 0x30;
}

/// Bytes that are no message, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("byte {at}: {cause}")]
pub struct DecodeError {
    /// Offset from the beginning of the message, in bytes.
    pub at: usize,
    /// What is wrong there.
    pub cause: DecodeCause,
}

/// What is wrong with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DecodeCause {
    /// The message ends within an element.
    #[error("the message ends here")]
    Truncated,
    /// Another element was expected.
    #[error("tag {found:#04x} where {expected:#04x} belongs")]
    Tag {
        /// The tag of the element that belongs here.
        expected: u8,
        /// The tag that is here.
        found: u8,
    },
    /// A tag of more than one byte; SNMP has none.
    #[error("a tag of several bytes")]
    LongTag,
    /// A length that is given by an end mark; SNMP has none.
    #[error("indefinite length")]
    Indefinite,
    /// A length of more than four bytes.
    #[error("a length of {0} bytes")]
    LongLength(u8),
    /// An element that is longer than the one around it.
    #[error("length {length}, but {left} bytes are left")]
    Overlong {
        /// What the element says, in bytes.
        length: usize,
        /// What there is, in bytes.
        left: usize,
    },
    /// Bytes after the last element.
    #[error("{0} bytes after the end")]
    Trailing(usize),
    /// A number of no bytes, or of more than its type has.
    #[error("a number of {0} bytes")]
    NumberLength(usize),
    /// A number that does not fit its type.
    #[error("number out of range")]
    NumberRange,
    /// A value that has another length than its type.
    #[error("{0} bytes where the type has another length")]
    ValueLength(usize),
    /// No PDU, or one that is not read here.
    #[error("unknown PDU {0:#04x}")]
    UnknownPdu(u8),
    /// Another version of the protocol.
    #[error("unknown version {0}")]
    UnknownVersion(i64),
    /// An object identifier whose last sub-identifier is not ended.
    #[error("an object identifier is cut off")]
    OidCut,
    /// A sub-identifier that begins with zeros.
    #[error("a sub-identifier with leading zeros")]
    OidPadded,
    /// A sub-identifier of more than 32 bits.
    #[error("a sub-identifier of more than 32 bits")]
    OidWide,
    /// An object identifier of more than 128 sub-identifiers.
    #[error("an object identifier of more than 128 sub-identifiers")]
    OidLong,
    /// Fields of the header of version 3 that contradict each other or the standard.
    #[error("{0}")]
    Header(&'static str),
}

/// A message that cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum EncodeError {
    /// The buffer is too small.
    #[error("the message is longer than the {0} bytes of its buffer")]
    Full(usize),
}

/// Reads elements one after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BerReader<'a> {
    bytes: &'a [u8],
    /// Offset of `bytes` in the message, for errors.
    at: usize,
}

impl<'a> BerReader<'a> {
    pub(crate) fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn error(&self, cause: DecodeCause) -> DecodeError {
        DecodeError { at: self.at, cause }
    }

    /// Nothing may follow.
    pub(crate) fn finish(&self) -> Result<(), DecodeError> {
        match self.bytes.len() {
            0 => Ok(()),
            left => Err(self.error(DecodeCause::Trailing(left))),
        }
    }

    /// The next element: its tag and a reader of its content.
    #[inline]
    pub(crate) fn element(&mut self) -> Result<(u8, BerReader<'a>), DecodeError> {
        let &[tag, first, ref after @ ..] = self.bytes else {
            return Err(self.error(DecodeCause::Truncated));
        };
        if tag & 0x1f == 0x1f {
            return Err(self.error(DecodeCause::LongTag));
        }
        let (length, head) = match first {
            0..0x80 => (usize::from(first), 2),
            _ => self.long_length(first, after)?,
        };
        let content = &self.bytes[head..];
        if length > content.len() {
            let cause = DecodeCause::Overlong { length, left: content.len() };
            return Err(self.error(cause));
        }
        let inside = BerReader { bytes: &content[..length], at: self.at + head };
        self.bytes = &content[length..];
        self.at += head + length;
        Ok((tag, inside))
    }

    /// A length in the long form, and the bytes of tag and length.
    fn long_length(&self, first: u8, after: &[u8]) -> Result<(usize, usize), DecodeError> {
        let count = first & 0x7f;
        if count == 0 {
            return Err(self.error(DecodeCause::Indefinite));
        }
        if count > 4 {
            return Err(self.error(DecodeCause::LongLength(count)));
        }
        let Some(bytes) = after.get(..usize::from(count)) else {
            return Err(self.error(DecodeCause::Truncated));
        };
        let length = bytes.iter().fold(0_usize, |sum, byte| sum << 8 | usize::from(*byte));
        Ok((length, 2 + usize::from(count)))
    }

    /// The content of the next element, which must have this tag.
    #[inline]
    pub(crate) fn expect(&mut self, expected: u8) -> Result<BerReader<'a>, DecodeError> {
        let before = *self;
        let (found, inside) = self.element()?;
        if found == expected {
            return Ok(inside);
        }
        Err(before.error(DecodeCause::Tag { expected, found }))
    }

    /// The bytes of the next element, an octet string.
    pub(crate) fn octets(&mut self) -> Result<&'a [u8], DecodeError> {
        Ok(self.expect(tag::OCTET_STRING)?.bytes)
    }

    /// The next element, a number of at most 8 bytes.
    pub(crate) fn integer(&mut self) -> Result<i64, DecodeError> {
        self.expect(tag::INTEGER)?.signed()
    }

    /// The next element, a number of 32 bits.
    pub(crate) fn integer32(&mut self) -> Result<i32, DecodeError> {
        let at = self.at;
        let number = self.integer()?;
        i32::try_from(number).map_err(|_| DecodeError { at, cause: DecodeCause::NumberRange })
    }

    /// The whole content as a number in two's complement.
    #[inline]
    pub(crate) fn signed(&self) -> Result<i64, DecodeError> {
        let length = self.bytes.len();
        if length == 0 || length > 8 {
            return Err(self.error(DecodeCause::NumberLength(length)));
        }
        let sign = if self.bytes[0] & 0x80 == 0 { 0 } else { -1 };
        Ok(self.bytes.iter().fold(sign, |sum, byte| sum << 8 | i64::from(*byte)))
    }

    /// The whole content as a number that is never negative.
    ///
    /// Agents that leave out the zero before a first bit are understood: the bytes are a number
    /// without a sign, as they are to MRTG's library and to net-snmp.  Zeros before are skipped.
    #[inline]
    pub(crate) fn unsigned(&self) -> Result<u64, DecodeError> {
        let length = self.bytes.len();
        let zeros = match self.bytes {
            [0, ..] if length > 8 => self.bytes.iter().take_while(|byte| **byte == 0).count(),
            _ => 0,
        };
        if length == 0 || length - zeros > 8 {
            return Err(self.error(DecodeCause::NumberLength(length)));
        }
        let significant = &self.bytes[zeros..];
        Ok(significant.iter().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte)))
    }
}

/// Writes elements from the end of a buffer to its beginning.
///
/// What does not fit is noticed once, at the end: [`Encoder::finish`].
#[derive(Debug)]
pub(crate) struct Encoder<'a> {
    buffer: &'a mut [u8],
    start: usize,
    is_full: bool,
}

impl<'a> Encoder<'a> {
    pub(crate) fn new(buffer: &'a mut [u8]) -> Self {
        let start = buffer.len();
        Self { buffer, start, is_full: false }
    }

    /// Goes on before what is written from `start` to the end of the buffer.
    pub(crate) fn resume(buffer: &'a mut [u8], start: usize) -> Self {
        Self { buffer, start, is_full: false }
    }

    /// Where the next element will end: an element begun here is closed with [`Encoder::wrap`].
    pub(crate) fn mark(&self) -> usize {
        self.start
    }

    #[inline]
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        match self.start.checked_sub(bytes.len()) {
            Some(start) => {
                self.buffer[start..self.start].copy_from_slice(bytes);
                self.start = start;
            }
            None => self.is_full = true,
        }
    }

    #[inline]
    pub(crate) fn byte(&mut self, byte: u8) {
        match self.start.checked_sub(1) {
            Some(start) => {
                self.buffer[start] = byte;
                self.start = start;
            }
            None => self.is_full = true,
        }
    }

    /// Tag and length before what was written since `mark`.
    #[inline]
    pub(crate) fn wrap(&mut self, tag: u8, mark: usize) {
        let length = mark - self.start;
        match length {
            0..0x80 => self.byte(length as u8),
            0x80..0x100 => self.raw(&[0x81, length as u8]),
            0x100..0x1_0000 => self.raw(&[0x82, (length >> 8) as u8, length as u8]),
            _ => self.raw(&[0x83, (length >> 16) as u8, (length >> 8) as u8, length as u8]),
        }
        self.byte(tag);
    }

    #[inline]
    pub(crate) fn element(&mut self, tag: u8, content: &[u8]) {
        let mark = self.mark();
        self.raw(content);
        self.wrap(tag, mark);
    }

    /// A number in its fewest bytes.
    #[inline]
    pub(crate) fn signed(&mut self, tag: u8, number: i64) {
        let bytes = number.to_be_bytes();
        // A byte of nothing but the sign is left out.
        let extra = (if number < 0 { !number } else { number }).leading_zeros() - 1;
        self.element(tag, &bytes[extra as usize / 8..]);
    }

    /// A number that is never negative, in its fewest bytes.
    #[inline]
    pub(crate) fn unsigned(&mut self, tag: u8, number: u64) {
        match i64::try_from(number) {
            Ok(number) => self.signed(tag, number),
            Err(_) => {
                let mark = self.mark();
                self.raw(&number.to_be_bytes());
                self.byte(0);
                self.wrap(tag, mark);
            }
        }
    }

    /// Where the written bytes begin in the buffer.
    pub(crate) fn finish(self) -> Result<usize, EncodeError> {
        if self.is_full { Err(EncodeError::Full(self.buffer.len())) } else { Ok(self.start) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(write: impl FnOnce(&mut Encoder<'_>)) -> Vec<u8> {
        let mut buffer = [0; 400];
        let mut encoder = Encoder::new(&mut buffer);
        write(&mut encoder);
        let start = encoder.finish().unwrap();
        buffer[start..].to_vec()
    }

    #[test]
    fn numbers_take_their_fewest_bytes() {
        let cases: [(i64, &[u8]); 8] = [
            (0, &[2, 1, 0]),
            (127, &[2, 1, 0x7f]),
            (128, &[2, 2, 0, 0x80]),
            (-1, &[2, 1, 0xff]),
            (-128, &[2, 1, 0x80]),
            (-129, &[2, 2, 0xff, 0x7f]),
            (i64::MAX, &[2, 8, 0x7f, 255, 255, 255, 255, 255, 255, 255]),
            (i64::MIN, &[2, 8, 0x80, 0, 0, 0, 0, 0, 0, 0]),
        ];
        for (number, bytes) in cases {
            assert_eq!(encoded(|encoder| encoder.signed(2, number)), bytes);
            assert_eq!(BerReader::new(bytes, 0).integer(), Ok(number));
        }
        let most = [0x46, 9, 0, 255, 255, 255, 255, 255, 255, 255, 255];
        assert_eq!(encoded(|encoder| encoder.unsigned(0x46, u64::MAX)), most);
        assert_eq!(BerReader::new(&most[2..], 0).unsigned(), Ok(u64::MAX));
    }

    #[test]
    fn zeros_before_a_number_may_be_missing_or_many() {
        let number = |bytes: &[u8]| BerReader::new(bytes, 0).unsigned();
        for (bytes, expected) in [
            (&[0xc8][..], 200),
            (&[0, 0xc8], 200),
            (&[0xff, 0x7f], 0xff7f),
            (&[0xf0, 0, 0, 0], 0xf000_0000),
            (&[0, 0xf0, 0, 0, 0], 0xf000_0000),
            (&[0xff; 8], u64::MAX),
            (&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7], 7),
            (&[0; 9], 0),
        ] {
            assert_eq!(number(bytes), Ok(expected), "{bytes:?}");
        }
        for wrong in [&[][..], &[1, 0, 0, 0, 0, 0, 0, 0, 0], &[0, 1, 0, 0, 0, 0, 0, 0, 0, 0]] {
            assert!(number(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn lengths_have_limits() {
        let refused = |bytes: &[u8]| BerReader::new(bytes, 10).element().unwrap_err().cause;
        assert_eq!(refused(&[4]), DecodeCause::Truncated);
        assert_eq!(refused(&[4, 0x80, 1, 0, 0]), DecodeCause::Indefinite);
        assert_eq!(refused(&[4, 0x85, 0, 0, 0, 0, 1, 7]), DecodeCause::LongLength(5));
        assert_eq!(refused(&[4, 0x82, 1]), DecodeCause::Truncated);
        assert_eq!(refused(&[0x1f, 1, 1]), DecodeCause::LongTag);
        let overlong =
            DecodeCause::Overlong { length: usize::try_from(u32::MAX).unwrap(), left: 1 };
        assert_eq!(refused(&[4, 0x84, 255, 255, 255, 255, 1]), overlong);
        // net-snmp writes lengths that are longer than they need be.
        let mut reader = BerReader::new(&[4, 0x82, 0, 1, 7], 0);
        assert_eq!(reader.octets(), Ok(&[7][..]));
        assert_eq!(reader.finish(), Ok(()));
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let mut buffer = [0; 5];
        let mut encoder = Encoder::new(&mut buffer);
        encoder.element(4, b"abc");
        encoder.element(4, b"");
        assert_eq!(encoder.finish(), Err(EncodeError::Full(5)));
        for length in [0, 0x7f, 0x80, 0xff, 0x100, 0xffff, 0x1_0000] {
            let mut buffer = vec![0; length + 10];
            let mut encoder = Encoder::new(&mut buffer);
            encoder.element(4, &vec![7; length]);
            let start = encoder.finish().unwrap();
            let read = BerReader::new(&buffer[start..], 0).octets().unwrap();
            assert_eq!(read.len(), length);
        }
    }
}
